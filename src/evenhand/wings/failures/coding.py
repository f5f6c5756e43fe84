"""A judge codes outputs: for each ratified kind, whether an output has it. It sees no verdict and no note."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from evenhand.analysis.reviews.reviewed import material_of
from evenhand.core.case import Case
from evenhand.core.errors import UsageError
from evenhand.core.plan import Plan
from evenhand.core.record import Record
from evenhand.core.wording.spreadsheet_cells import as_text
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.expect import Expect
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.languages.documents.codebook import Codebook, Kind, NoteId
from evenhand.scorers.avoids import need_ratified, question_of
from evenhand.store.runfile import RunFile

KEY = "failure_kinds"
"""The key of a run's settings that marks one in which a judge coded outputs."""
_METRIC = "avoids "

Codes = Mapping[NoteId, Mapping[str, bool]]
"""By output and kind, whether the judge says that the output has it; without what it gave no verdict on."""


class CodingRecord(Record, frozen=True, kw_only=True):
    """What a judge was asked: kept in the run's file, so that `resume` asks the same.

    Attributes:
        runs: The files of the runs whose outputs are coded.
        book: The kinds as they were.
        judge: The judge's id.
        folder: Where offline.jsonl is.
        offline: Whether the judge's answers come from there.
        html: The page that the count is written to; empty for none.
    """

    runs: tuple[str, ...]
    book: Codebook
    judge: str
    folder: str
    offline: bool = False
    html: str = ""

    def row(self) -> dict[str, object]:
        """As JSON."""
        return msgspec.to_builtins(self)

    def plan(self) -> Plan:
        """The plan that asks the judge about every output.

        Raises:
            UsageError: No kind is ratified, one of them has changed since, or a run is gone.
        """
        kinds = ratified_kinds(self.book)
        evals = EvalSet("failure kinds", data=list(self._cases()), judge=self.judge)

        @evals.eval
        async def codes(case: Case, expect: Expect) -> str:
            """Which kinds the output has."""
            for kind in kinds:
                question = question_of(kind, "\n".join(case.context))
                expect(case.input, question, metric=metric_of_kind(kind.name))
            return str(case.input)

        return plan_of([evals], env=os.environ)

    def _cases(self) -> Iterator[Case]:
        for path in self.runs:
            with RunFile.open(Path(path)) as run:
                for trial in run.trials():
                    if trial.output is not None:
                        note = NoteId(run.meta.id, trial.index)
                        context = material_of(trial)
                        yield Case(str(note), input=as_text(trial.output), context=(context,))


def ratified_kinds(book: Codebook) -> Sequence[Kind]:
    """The kinds that a judge may go by.

    Raises:
        UsageError: No kind is ratified, or one of them has changed since.
    """
    for kind in book.kinds:
        if kind.ratified is not None:
            need_ratified(kind)
    kinds = [kind for kind in book.kinds if kind.is_ratified]
    if not kinds:
        raise UsageError(
            "no kind of failure is ratified",
            hint="Read the file, then accept what is right: evenhand review ratify --by NAME",
        )
    return kinds


def metric_of_kind(name: str) -> str:
    """The metric under which a judge's codes of a kind are counted; people's labels of it have the same."""
    return f"{_METRIC}{name}"


def codes_of(run: RunFile) -> Codes:
    """What a judge said in a run of `CodingRecord.plan`."""
    codes: dict[NoteId, Mapping[str, bool]] = {}
    for trial in run.trials():
        codes[NoteId.of(trial.case)] = {
            outcome.metric.removeprefix(_METRIC): outcome.outcome == "fail"
            for outcome in trial.outcomes
            if outcome.outcome in ("pass", "fail") and outcome.metric.startswith(_METRIC)
        }
    return codes
