"""What a case says, by part, as digests: which parts two columns can be told apart by."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Protocol

from evenhand.core.definition import USER, brief
from evenhand.core.run import TrialResult

_PARTS = ("input", "expected", "vars", "context", "tags", USER, "rule")
"""In the order in which they are told; the rule decides a case's verdict and score alone."""


class Told(Protocol):
    """A column, as far as its cases say something."""

    recorded: bool
    """Whether all trials say what they were given and asked."""

    @property
    def parts(self) -> Collection[str]:
        """The parts in which some case says something."""
        ...


def compared_parts(first: Told, second: Told) -> Iterator[str]:
    """The parts in which a case of one column may say something else than in the other."""
    both = first.recorded and second.recorded
    # Nobody knows of an earlier version's runs what was filled into a case on the way.
    known = _PARTS if first.recorded is second.recorded else ("input", "expected")
    for part in known:
        # A baseline of an earlier version has no texts at all, and earlier runs don't say who played the user.
        enough = any if both and part != USER else all
        if enough(part in side.parts for side in (first, second)):
            yield part
    # The code of users: digests of different versions of Python say nothing of each other.
    yield from sorted(
        part for part in first.parts if part.startswith(f"{USER} ") and part in second.parts
    )


def derived_content(trial: TrialResult, *, imported: bool) -> dict[str, str]:
    """What a case says, of a run that doesn't have its digests."""
    content: dict[str, str] = {}
    if trial.input is not None:
        content["input"] = brief(trial.input)
    if trial.expected is not None:
        content["expected"] = brief(trial.expected)
    if trial.vars and (trial.input is None or not imported):
        content["vars"] = brief(trial.vars)
    return content
