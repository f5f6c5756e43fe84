"""What a gate goes by, as a project, a config or an eval set says it: a baseline, and how much worse is accepted."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated

from evenhand.core.arguments import CheckedRecord
from evenhand.core.json_schema import TEXTS
from evenhand.core.json_shapes import is_mapping, is_sequence
from evenhand.core.names import did_you_mean
from evenhand.core.ranges import MARGIN
from evenhand.core.record import Record
from evenhand.core.table import Form, Path_, TableKey, TableReader, choice, number, text

UNDECIDED = ("pass", "fail")
"""What an undecided gate may count as."""

TellProblem = Callable[[str, str, str], None]
"""Told the key, what is wrong with it, and what to do about it."""


_QUOTED = 60
"""Characters of a wrong value that a message quotes."""


def _names_problem(name: str, value: object) -> str:
    items = value if is_sequence(value) and not isinstance(value, str) else ()
    fits = items and all(isinstance(item, str) and item for item in items)
    return "" if fits else f"{name} is {value!r:.{_QUOTED}}, not a list of names"


_BASELINE = text(
    "not the name of a file", "Write the name of the file: evals/baseline.evn.", _QUOTED
)
_MARGIN = number(
    MARGIN,
    {"type": "number", "minimum": 0, "maximum": 1},
    "Write 0.03 for 3 points of a pass rate.",
)
_UNDECIDED = choice(UNDECIDED, "Write pass or fail, or leave it out (exit 3).", _QUOTED)
_METRICS = Form(
    schema=TEXTS,
    problem=_names_problem,
    hint="Write the metrics to compare: [passed].",
    value=tuple,
)


class GateTerms(Record, frozen=True, metaclass=CheckedRecord):
    """What `evenhand gate` goes by. What is not said is None, or empty.

    Attributes:
        baseline: The file, as `evenhand baseline` writes it. Of an eval set it is beside the set's own file.
        margin: How much worse is accepted, in the metric's unit: 0.03 is 3 points of a pass rate.
        undecided: `pass` or `fail`: what an undecided gate counts as; without it, it exits with 3.
        metrics: What is compared; without any, `passed` and every metric of the baseline.
    """

    baseline: Annotated[
        str, TableKey("The file to compare with: evals/baseline.evn.", _BASELINE)
    ] = ""
    margin: Annotated[
        float | None, TableKey("What may be lost: 0.03 for 3 points of a pass rate.", _MARGIN)
    ] = None
    undecided: Annotated[str, TableKey("What to do when it can't be told.", _UNDECIDED)] = ""
    metrics: Annotated[
        tuple[str, ...], TableKey("The metrics to compare: [passed].", _METRICS)
    ] = ()

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

    def problem(at: Path_, what: str, hint: str) -> None:
        tell(str(at[0]), what, hint)

    def unknown(at: Path_, known: Collection[str]) -> None:
        hint = did_you_mean(str(at[0]), known, f"There are: {', '.join(known)}.")
        tell(str(at[0]), f"gate has no {str(at[0])!r:.60}", hint)

    return TableReader(problem, unknown).read(GateTerms, table, before="gate.")
