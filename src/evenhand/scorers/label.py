"""Whether an output is the right one of some labels; a report makes a confusion matrix of it."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand.core.errors import UsageError
from evenhand.core.expect import Trial
from evenhand.core.score import Score, check
from evenhand.core.traits import Traits
from evenhand.scorers.constructor_checks import need_text
from evenhand.scorers.opposite import Question
from evenhand.scorers.text import text_of

METRIC = "label"
"""The name under which whether it was right is also counted."""
EXPECTED, ANSWERED = "expected_label", "answered_label"
"""The keys of an outcome's metadata that a confusion matrix is made of."""
LONGEST = 60
_AROUND = " \t\r\n\"'`*.“”‘’«»"


@dataclass(frozen=True, slots=True)
class Label(Question):
    """The output is this label, as the answer to a classification.

    Upper and lower case, spaces, quotes and a full stop around it do not count; anything else does: an answer that says
    more than its label is wrong. The report has precision and recall for each label, and which is taken for which.

    Args:
        wanted: The right label.
        among: All labels that there are; an answer that is none of them is wrong, and counted as no label.

    Raises:
        UsageError: The label isn't text, or not among those that there are.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")

    wanted: str
    among: Sequence[str] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        need_text("Label", "the label", self.wanted)
        if isinstance(self.among, str):
            raise UsageError(f"Label: among is {self.among!r}, not a list of labels")
        if self.among and plain(self.wanted) not in map(plain, self.among):
            listed = ", ".join(map(str, self.among))
            raise UsageError(
                f"Label: {self.wanted!r} is not among the labels", hint=f"There are: {listed}."
            )

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        answered, expected = plain(text_of(output)), plain(self.wanted)
        ok = answered == expected
        result = check(ok, "" if ok else f"answered {answered[:LONGEST]!r}, wanted {self.wanted!r}")
        known = not self.among or answered in map(plain, self.among)
        labels = {EXPECTED: expected, ANSWERED: answered[:LONGEST] if known else ""}
        return Score(result.value, ok, result.reason, labels, {METRIC: float(ok)})

    def __str__(self) -> str:
        # A member of a text enum would show its name, not the label.
        return f"label {str.__str__(self.wanted)!r}"


def plain(text: str) -> str:
    """A label without what does not count.

    >>> plain(' "Billing". ')
    'billing'
    """
    return " ".join(unicodedata.normalize("NFKC", text).strip(_AROUND).casefold().split())
