"""Rubrics: what each score stands for, in words. Checked for holes when they are made, not when they are used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

from evenhand.core.arguments import checked_class
from evenhand.core.errors import JudgeError, UsageError
from evenhand.scorers.constructor_checks import need_text

Level = int | float | range | tuple[int, int]
"""One score; or whole scores from … to …: a pair with both ends, or a Python range without its last."""

_MOST_STEPS = 20
_LEVELS = "Give words for each score: {3: '…', 2: '…', 1: '…'}, or for ranges: {(4, 5): '…', (1, 3): '…'}."


@checked_class
@dataclass(frozen=True, slots=True)
class Rubric:
    """What each score stands for: `Rubric("clarity", {3: "clear", 2: "muddled", 1: "unreadable"})`.

    A level is a score, or several whole scores that share their words: `{(9, 10): "excellent", (6, 8): "good", …}`.
    Scores without ranges must lie equally far apart; with ranges, each whole score from the lowest to the highest must
    have words, and only once. A plain text is a rubric as well: then any number on the scale is a score.

    Args:
        name: What is rated, in a word or two: the label in reports.
        levels: Words for each level, in the order in which a judge should read them; or a text.
        description: What is rated, in a sentence or two.
        scale: The lowest and the highest score, for a plain text.

    Raises:
        UsageError: All that is wrong with the levels: gaps, overlaps, missing words.
    """

    name: str
    levels: Mapping[Level, str] | str = field(hash=False)
    description: str = ""
    scale: tuple[float, float] = (1, 5)

    def __post_init__(self) -> None:
        need_text("Rubric", "its name", self.name)
        need_text("Rubric", "description", self.description)
        if not isinstance(self.levels, (str, Mapping)):  # pyright: ignore[reportUnnecessaryIsInstance] (a user may not type-check)
            raise UsageError(f"rubric {self.name!r}: its levels are {self.levels!r}", hint=_LEVELS)
        problems: list[str] = []
        if not self.name.strip() or "\n" in self.name:
            problems.append("a rubric needs a name of one line")
        if isinstance(self.levels, str):
            if not self.levels.strip():
                problems.append("it has no words")
            if not _is_scale(self.scale):
                problems.append(f"its scale is {self.scale!r}, not from a lower to a higher score")
        else:
            levels = dict(self.levels)
            object.__setattr__(self, "levels", levels)
            problems += _problems(levels)
            if not problems:
                scores = self._scores()
                object.__setattr__(self, "scale", (min(scores), max(scores)))
        if problems:
            raise UsageError(f"rubric {self.name!r}: {'; '.join(problems)}", hint=_LEVELS)

    @property
    def text(self) -> str:
        """The rubric as a judge reads it."""
        if isinstance(self.levels, str):
            lines = self.levels.strip()
        else:
            lines = "\n".join(f"{_named(key)}: {words}" for key, words in self.levels.items())
        return f"{self.description.strip()}\n\n{lines}" if self.description.strip() else lines

    @property
    def scores(self) -> str:
        """Which scores there are, in words."""
        low, high = self.scale
        if isinstance(self.levels, str):
            return f"a number from {low:g} to {high:g}"
        if any(not isinstance(key, (int, float)) for key in self.levels):
            return f"a whole number from {low:g} to {high:g}"
        return "one of " + ", ".join(f"{score:g}" for score in self._scores())

    @property
    def steps(self) -> tuple[tuple[str, str], ...]:
        """Each score from the lowest to the highest, with its words: the levels that a decision model chooses from.

        Of a plain text they are the whole scores of its scale, without words; none where there are more than 20, or its
        scale has no whole ends.
        """
        if isinstance(self.levels, str):
            low, high = self.scale
            if low != int(low) or high != int(high) or high - low > _MOST_STEPS:
                return ()
            return tuple((f"{score}", "") for score in range(int(low), int(high) + 1))
        words = [(score, text) for level, text in self.levels.items() for score in _covered(level)]
        return tuple((f"{score:g}", text) for score, text in sorted(words))

    @property
    def schema(self) -> dict[str, Any]:
        """Which scores there are, as a JSON Schema."""
        if isinstance(self.levels, str):
            return {"type": "number", "minimum": self.scale[0], "maximum": self.scale[1]}
        scores = sorted(self._scores())
        whole = all(isinstance(score, int) for score in scores)
        return {"type": "integer" if whole else "number", "enum": scores}

    def checked(self, score: float) -> float:
        """The score, if the rubric has it.

        Raises:
            JudgeError: It has not.
        """
        low, high = self.scale
        if isinstance(self.levels, str):
            there = low <= score <= high
        else:
            for known in self._scores():
                # A judge's 0.3 need not equal a level that was computed, such as 0.1 + 0.2.
                if math.isclose(score, known, abs_tol=1e-9):
                    return float(known)
            there = False
        if not there:
            raise JudgeError(
                f"the judge's score is {score:g}, and rubric '{self.name}' wants {self.scores}"
            )
        return score

    def _scores(self) -> list[float]:
        levels = cast("Mapping[Level, str]", self.levels)
        return [score for key in levels for score in _covered(key)]

    def __str__(self) -> str:
        return self.name


def _is_scale(value: object) -> bool:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return False
    ends = [e for e in value if isinstance(e, (int, float))]
    return len(ends) == 2 and all(map(math.isfinite, ends)) and ends[0] < ends[1]


def _covered(key: Level) -> list[float]:
    """The scores of a level."""
    if isinstance(key, tuple):
        return list(range(key[0], key[1] + 1))
    return list(key) if isinstance(key, range) else [key]


def _named(key: Level) -> str:
    scores = _covered(key)
    return f"{scores[0]:g}" if len(scores) == 1 else f"{scores[0]:g} to {scores[-1]:g}"


def _problems(levels: Mapping[Level, str]) -> list[str]:
    problems = [
        f"the level {key!r} {what}" for key, words in levels.items() if (what := _wrong(key, words))
    ]
    if problems:
        return problems
    scores = sorted(score for key in levels for score in _covered(key))
    if len(scores) < 2:
        return ["it has fewer than two scores"]
    twice = sorted({one for one, other in pairwise(scores) if one == other})
    if twice:
        listed = ", ".join(f"{score:g}" for score in twice)
        return [f"its levels overlap: more than one says what {listed} means"]
    ranged = any(not isinstance(key, (int, float)) for key in levels)
    steps = [other - one for one, other in pairwise(scores)]
    step = 1 if ranged else min(steps)
    return [
        f"it has a gap: nothing between {scores[i]:g} and {scores[i + 1]:g}"
        for i, wide in enumerate(steps)
        if not math.isclose(wide, step, abs_tol=1e-9)
    ]


def _wrong(key: object, words: object) -> str:
    """What is wrong with a level by itself; empty for nothing."""
    if not isinstance(words, str) or not words.strip():
        return "has no words"
    if isinstance(key, bool):
        return "is not a score"
    if isinstance(key, (int, float)):
        return "" if math.isfinite(key) else "is not a score"
    if isinstance(key, range):
        if key.step != 1:
            return "goes in steps"
        return "" if len(key) else "holds no score"
    if isinstance(key, tuple):
        ends = [end for end in key if type(end) is int]  # True is an int, and no score
        if len(key) != 2 or len(ends) != 2:
            return "is not a pair of whole numbers"
        return "" if ends[0] <= ends[1] else "ends before it begins"
    return "is neither a score nor a range of scores"


ACCURACY = Rubric(
    "accuracy",
    {
        5: "every statement is true, and as exact as the matter allows",
        4: "true in all that matters; a detail is loose",
        3: "mostly true, with a mistake or two that a reader could trip over",
        2: "true and false are mixed, and the false parts matter",
        1: "wrong in the main, or made up",
    },
    "How true and how exact is what it says?",
)
HELPFULNESS = Rubric(
    "helpfulness",
    {
        5: "does all that was asked for, and the reader can act on it at once",
        4: "does what was asked for; something small is left for the reader",
        3: "does part of it; the reader has to look further",
        2: "touches on it without helping much",
        1: "is no help, or leads the reader astray",
    },
    "How far does it get the reader who asked?",
)
CLARITY = Rubric(
    "clarity",
    {
        5: "understood at first reading, every sentence in its place",
        4: "understood without effort; a sentence could be plainer",
        3: "understood with some effort, by its order or its words",
        2: "has to be read several times, and parts stay dark",
        1: "cannot be understood",
    },
    "How easy is it to understand?",
)
