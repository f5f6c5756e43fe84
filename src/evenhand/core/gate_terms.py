"""What a gate goes by, as a project, a config or an eval set says it: a baseline, and how much worse is accepted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from evenhand.core.arguments import CheckedRecord
from evenhand.core.json_shapes import is_mapping
from evenhand.core.names import did_you_mean
from evenhand.core.ranges import MARGIN
from evenhand.core.record import Record

KEYS = ("baseline", "margin", "undecided", "metrics")
UNDECIDED = ("pass", "fail")
"""What an undecided gate may count as."""

TellProblem = Callable[[str, str, str], None]
"""Told the key, what is wrong with it, and what to do about it."""


class GateTerms(Record, frozen=True, metaclass=CheckedRecord):
    """What `evenhand gate` goes by. What is not said is None, or empty.

    Attributes:
        baseline: The file, as `evenhand baseline` writes it. Of an eval set it is beside the set's own file.
        margin: How much worse is accepted, in the metric's unit: 0.03 is 3 points of a pass rate.
        undecided: `pass` or `fail`: what an undecided gate counts as; without it, it exits with 3.
        metrics: What is compared; without any, `passed` and every metric of the baseline.
    """

    baseline: str = ""
    margin: float | None = None
    undecided: str = ""
    metrics: tuple[str, ...] = ()

    def over(self, other: GateTerms) -> GateTerms:
        """The terms of a gate, with those of another where they say nothing."""
        return GateTerms(
            self.baseline or other.baseline,
            other.margin if self.margin is None else self.margin,
            self.undecided or other.undecided,
            self.metrics or other.metrics,
        )

    def within(self, folder: Path) -> GateTerms:
        """The terms with the baseline's path from this folder."""
        baseline = str(folder / self.baseline) if self.baseline else ""
        return GateTerms(baseline, self.margin, self.undecided, self.metrics)


def read_gate_terms(table: object, tell: TellProblem) -> GateTerms:
    """The terms that a table of a file says; none where there is no table.

    Args:
        table: As the file has it.
        tell: Told each problem, by its key; the key of the table as a whole is empty.
    """
    if table is None:
        return GateTerms()
    if not is_mapping(table):
        tell("", f"gate is {table!r:.60}, not a table", "Write margin = 0.03 in it.")
        return GateTerms()
    keys = table
    for key in keys:
        if key not in KEYS:
            tell(
                str(key),
                f"gate has no {str(key)!r:.60}",
                did_you_mean(str(key), KEYS, f"There are: {', '.join(KEYS)}."),
            )
    return GateTerms(
        _baseline(keys.get("baseline"), tell),
        _margin(keys.get("margin"), tell),
        _undecided(keys.get("undecided"), tell),
        _metrics(keys.get("metrics"), tell),
    )


def _baseline(value: object, tell: TellProblem) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    what = f"gate.baseline is {value!r:.60}, not the name of a file"
    tell("baseline", what, "Write the name of the file: evals/baseline.evn.")
    return ""


def _margin(value: object, tell: TellProblem) -> float | None:
    problem = MARGIN.problem("gate.margin", value)
    if problem:
        tell("margin", problem, "Write 0.03 for 3 points of a pass rate.")
        return None
    return cast("float | None", value)


def _undecided(value: object, tell: TellProblem) -> str:
    if value is None or value in UNDECIDED:
        return cast("str", value or "")
    what = f"gate.undecided is {value!r:.60}"
    tell("undecided", what, "Write pass or fail, or leave it out (exit 3).")
    return ""


def _metrics(value: object, tell: TellProblem) -> tuple[str, ...]:
    names = cast("list[object]", value) if isinstance(value, list | tuple) else None
    if value is None:
        return ()
    if not names or not all(isinstance(name, str) and name for name in names):
        what = f"gate.metrics is {value!r:.60}, not a list of names"
        tell("metrics", what, "Write the metrics to compare: [passed].")
        return ()
    return cast("tuple[str, ...]", tuple(names))
