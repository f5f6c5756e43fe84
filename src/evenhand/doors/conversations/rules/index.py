"""Which rule finds which mistakes, and in which file of this folder it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from evenhand.doors.conversations.fault import Fault
from evenhand.doors.conversations.rules.course import of_course
from evenhand.doors.conversations.rules.facts import of_facts
from evenhand.doors.conversations.rules.language import of_language
from evenhand.doors.conversations.rules.leaks import of_leaks
from evenhand.doors.conversations.rules.moment import Moment
from evenhand.doors.conversations.rules.role import of_role

RULES: Mapping[Callable[[Moment], Iterator[Fault]], tuple[str, ...]] = {
    of_course: ("empty", "stopped-early", "after-end", "loops"),
    of_role: (
        "swapped-roles",
        "answered-for-agent",
        "broke-character",
        "placeholder",
        "called-tool",
    ),
    of_leaks: ("leaked-reasoning", "leaked-goal", "said-forbidden"),
    of_facts: ("invented-fact", "contradicted-fact"),
    of_language: ("wrong-language",),
}
"""The rules in the order in which they are asked: `of_course` is in `course.py`, and so on → the mistakes they find."""
