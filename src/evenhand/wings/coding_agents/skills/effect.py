"""What difference a skill makes: with it against without it, task by task, in words that the statistics allow."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.render.comparing import Comparison, compare
from evenhand.render.run import Run
from evenhand.wings.coding_agents.skills.plan import WITH, WITHOUT

Word = Literal["helps", "hurts", "no detectable difference", "undecided"]
DECIDES = "passed"
"""Whether all checks of a task passed: the one metric that the word goes by, so that few tasks can show something."""
_SHOWN = ("score", "cost", "latency")
_WORDS: Mapping[str, Word] = {"better": "helps", "worse": "hurts", "undecided": "undecided"}


class SkillEffect(Record, frozen=True):
    """A skill's effect.

    Attributes:
        word: What the data say.
        comparison: With against without: how often all checks passed.
        others: The same for the share of checks, cost and latency, as far as they are known; None where none is.
        tasks: How many tasks there are.
    """

    word: Word
    comparison: Comparison
    others: Comparison | None
    tasks: int

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "schema": "evenhand.skill/1",
            "verdict": self.word,
            "tasks": self.tasks,
            "comparison": self.comparison.document(),
            "others": self.others.document() if self.others is not None else None,
        }


def effect_of(run: Run) -> SkillEffect:
    """The effect of the skill of a run that `skill_plan` planned.

    Raises:
        UsageError: No task has a result with the skill and without it.
    """
    before, after = (run.column(name) for name in (WITHOUT, WITH))
    comparison = compare(before, after, metric=DECIDES)
    known: list[str] = []
    for metric in _SHOWN:
        with suppress(UsageError):  # neither has it
            known += [one.metric for one in compare(before, after, metric=metric).results if one.n]
    others = compare(before, after, metric=known) if known else None
    return SkillEffect(
        word_of(comparison.results[0].verdict),
        comparison,
        others,
        run.meta.case_count,
    )


def word_of(verdict: str) -> Word:
    """What a verdict on with against without says of the skill."""
    return _WORDS.get(verdict, "no detectable difference")
