"""Checks a simulated user's turns by rules, before they count. Asks nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from evenhand.core.arguments import checked_class
from evenhand.doors.conversations.contract import UserContract
from evenhand.doors.conversations.fault import TOO_LONG, Fault
from evenhand.doors.conversations.rules.course import is_parting, of_course
from evenhand.doors.conversations.rules.facts import note_stated, of_facts
from evenhand.doors.conversations.rules.language import (
    expected_language,
    language_of,
    names_languages,
    of_language,
)
from evenhand.doors.conversations.rules.leaks import of_leaks
from evenhand.doors.conversations.rules.moment import REMEMBERED, Moment, SoFar, words
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


STOP = "###STOP###"
"""What a simulated user writes to end the conversation, as in τ-bench and promptfoo."""


def without_stop(text: str) -> tuple[str, bool, str]:
    """A turn as it was written: what it says, whether it ends the conversation, and what stands behind that."""
    before, mark, after = text.partition(STOP)
    return before.strip(), bool(mark), after.replace(STOP, "").strip()


@checked_class
class TurnChecks:
    """Finds the mistakes in a user's turns, one after the other.

    `faults` looks at a turn and changes nothing; `user_said` and `agent_said` take what counts into account. What is
    kept of a conversation does not grow with its length, but for the identifiers that were named in it.

    Args:
        contract: What the user is held to.

    >>> checks = TurnChecks(UserContract("You want to cancel order 1042."))
    >>> [fault.kind for fault in checks.faults("How can I help you today?")]
    ['swapped-roles']
    """

    def __init__(self, contract: UserContract) -> None:
        self._any_language = not contract.language and names_languages(contract.goal)
        spoken = "" if self._any_language else language_of(contract.goal)
        self._so_far = SoFar(contract=contract, language=spoken)

    def faults(self, text: str, *, ends: bool = False, after: str = "") -> list[Fault]:
        """The mistakes in a turn; empty for none.

        Args:
            text: What the user is about to say.
            ends: It ends the conversation with it.
            after: What it wrote behind the mark that ends it.
        """
        if len(text) > TOO_LONG:  # the rules would take seconds for a megabyte
            return [Fault("too-long", f"{len(text):,} characters")]
        moment = Moment(text, ends, after[:TOO_LONG], self._so_far)
        faults = [fault for rule in RULES for fault in rule(moment)]
        # Reversing twice keeps the first mistake of each kind, in the order in which they were found.
        return list({fault.kind: fault for fault in reversed(faults)}.values())[::-1]

    def user_said(self, text: str, *, ends: bool = False) -> None:
        """Takes a turn of the user's into account."""
        so_far = self._so_far
        sentence = " ".join(words(text))
        if len(so_far.own) == REMEMBERED:
            # The deque is full: the append below drops its oldest turn, which must no longer be counted.
            oldest = so_far.own[0]
            so_far.times[oldest] -= 1
            if not so_far.times[oldest]:
                del so_far.times[oldest]
        so_far.own.append(sentence)
        so_far.times[sentence] += 1
        so_far.farewells = so_far.farewells + 1 if is_parting(text) else 0
        so_far.over = so_far.over or ends
        note_stated(text, so_far)
        # The first turn whose language can be told sets the language of the whole conversation.
        if not (self._any_language or expected_language(so_far)):
            so_far.language = language_of(text)

    def agent_said(self, text: str) -> None:
        """Takes what the agent said into account: the user knows it from now on."""
        so_far = self._so_far
        so_far.agent_last = text
        so_far.agent_turns += 1
        so_far.learn(text)
