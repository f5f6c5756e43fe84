"""What became of each kind of failure from one run to the next: a judge codes outputs, without a verdict or a note."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from evenhand.analysis.trust.labels.drawing import material_of
from evenhand.core.case import Case
from evenhand.core.document import Key, filled
from evenhand.core.errors import UsageError
from evenhand.core.plan import Plan
from evenhand.core.record import Record
from evenhand.core.wording.spreadsheet_cells import as_text
from evenhand.core.wording.words import count, p_value, percent, safe, short_id
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.expect import Expect
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.languages.documents.failures_yml import Codebook, Kind, NoteId
from evenhand.scorers.avoids import need_ratified, question_of
from evenhand.stats.distributions import chances
from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.kind_shares import difference_p
from evenhand.stats.multiple import holm
from evenhand.stats.paired_difference import sign_flip
from evenhand.store.runfile import RunFile
from evenhand.wings.failures.shares import RunOutputs, peoples_code, share_of

Change = Literal["returned", "new", "growing", "gone", "shrinking", "no detectable change"]
FEW = 30
"""With fewer reviewed outputs of a run, people's codes say little."""
ORDER: Sequence[Change] = (
    "returned", "new", "growing", "gone", "shrinking", "no detectable change",
)  # fmt: skip


class KindChange(Record, frozen=True, kw_only=True):
    """What `evenhand.failures/1` says of a kind in the last run and in the one before it."""

    name: Annotated[str, Key("the kind")]
    change: Annotated[
        Change, Key("`returned`, `new`, `growing`, `gone`, `shrinking` or `no detectable change`")
    ]
    before: Annotated[float, Key("of the cases in both, in the run before", "share")]
    after: Annotated[float, Key("the same in the last run", "share")]
    cases: Annotated[int, Key("cases of which both runs have an output that counts", "cases")]
    p: Annotated[float, Key("the p-value, corrected for the number of kinds")]
    corrected: Annotated[
        bool, Key("whether people's codes correct both shares; otherwise they are the judge's own")
    ]


class KindMove(Record, frozen=True, kw_only=True):
    """What `evenhand.failures/1` says of cases that changed from one kind to another."""

    source: Annotated[str, Key("the kind that they had in the run before")]
    target: Annotated[str, Key("the kind that they have instead")]
    cases: Annotated[int, Key("cases that changed so", "cases")]
    out_of: Annotated[int, Key("all cases that lost the first kind", "cases")]
    p: Annotated[float, Key("the p-value, corrected for the number of pairs of kinds")]


class _Row(Record, frozen=True, kw_only=True):
    """A kind in the last two runs.

    Attributes:
        before: Its share in the run before.
        after: Its share in the last run.
        cases: Of how many cases.
        was: Whether it was there in the run before.
        is_: Whether it is there now.
        earlier: Whether it was there in a run before both.
        corrected: Whether people's codes correct the shares.
    """

    name: str
    before: float
    after: float
    cases: int
    p: float
    was: bool
    is_: bool
    earlier: bool
    corrected: bool


def kind_changes(outputs: Sequence[RunOutputs], book: Codebook, codes: Codes) -> list[KindChange]:
    """What changed from the last run but one to the last, kind by kind; what matters most comes first.

    Where people reviewed FEW outputs or more of both runs, their codes correct both shares. Otherwise the judge's codes
    are compared case by case. A kind has returned where it was in an earlier run and in no case of the run before.

    Args:
        outputs: The runs' outputs, in their order in time. With fewer than two, nothing changed.
        book: The kinds; only those that are ratified count.
        codes: What the judge says.

    Source: of judge's codes, the differences of cases, their signs thrown (McNemar's exact test where a case has one
        output). Of corrected shares, `difference_p`: that the cases are the same is left out. The p-values are Holm's.
    """
    if len(outputs) < 2:
        return []
    rows: list[_Row] = []
    for kind in book.kinds:
        if kind.is_ratified:
            row = _corrected(outputs, book, kind, codes) or _by_judge(outputs, kind, codes)
            rows += [row] if row is not None else []
    corrected = holm([row.p for row in rows])
    changes = [
        filled(KindChange, row, change=_word(row, p), p=p)
        for row, p in zip(rows, corrected, strict=True)
    ]
    return sorted(changes, key=lambda one: (ORDER.index(one.change), one.p, one.name))


def kind_moves(outputs: Sequence[RunOutputs], book: Codebook, codes: Codes) -> list[KindMove]:
    """From which kind to which cases changed between the last two runs, more often than chance has it.

    Source: Fisher's exact test, one-sided, of which cases lost one kind and which gained the other; the p-values are
        Holm's.
    """
    if len(outputs) < 2:
        return []
    kinds = [kind.name for kind in book.kinds if kind.is_ratified]
    before, after = (_by_case(one, book, codes) for one in outputs[-2:])
    leaving: dict[str, set[str]] = {}
    entering: dict[str, set[str]] = {}
    cases: dict[str, set[str]] = {}
    for name in kinds:
        first, second = before[name], after[name]
        cases[name] = first.keys() & second.keys()
        leaving[name] = {case for case in cases[name] if first[case] > second[case] == 0}
        entering[name] = {case for case in cases[name] if 0 == first[case] < second[case]}
    rows: list[tuple[str, str, int, int, float]] = []
    for source in kinds:
        for target in kinds:
            every = cases[source] & cases[target]
            out, into = leaving[source] & every, entering[target] & every
            if source != target and out and into:
                both = len(out & into)
                by_chance = chances(len(into), len(every), len(out))
                p = math.fsum(chance for number, chance in by_chance.items() if number >= both)
                rows.append((source, target, both, len(out), p))
    corrected = holm([row[-1] for row in rows])
    moves = [
        KindMove(source=source, target=target, cases=both, out_of=out, p=p)
        for (source, target, both, out, _), p in zip(rows, corrected, strict=True)
        if p <= 1 - CONFIDENCE
    ]
    return sorted(moves, key=lambda one: (one.p, -one.cases, one.source, one.target))


def change_lines(
    runs: Sequence[str], changes: Sequence[KindChange], moves: Sequence[KindMove] = ()
) -> Iterator[str]:
    """Changes of kinds in words, a line for each.

    Args:
        runs: The runs' ids.
        moves: Which cases have another kind now.
    """
    if not changes:
        return
    kinds = count(len(changes), "kind")
    yield f"{short_id(runs[-2])} → {short_id(runs[-1])}, corrected for {kinds}"
    for one in changes:
        yield (
            f"  {one.change}: {safe(one.name)}, {percent(one.before)} → {percent(one.after)} of"
            f" {count(one.cases, 'case')}, {p_value(one.p)}"
            f"{'' if one.corrected else ', by the judge alone'}"
        )
    for one in moves:
        yield (
            f"  moved: {one.cases:,} of {count(one.out_of, 'case')} that lost {safe(one.source)} now have"
            f" {safe(one.target)}, {p_value(one.p)} corrected for all pairs of kinds"
        )


def _corrected(
    outputs: Sequence[RunOutputs], book: Codebook, kind: Kind, codes: Codes
) -> _Row | None:
    """A kind's shares in the last two runs, corrected by people's codes of both; None without these."""
    code = peoples_code(book, kind)
    marks = {note: has[kind.name] for note, has in codes.items() if kind.name in has}
    common = set(outputs[-2].cases.values()) & set(outputs[-1].cases.values())
    shares = [
        share_of([one], code, marks, lambda own, place: own.cases[place] in common)
        for one in outputs[-2:]
    ]
    before, after = shares
    few = any(len(one.reviews) < FEW for one in outputs[-2:])
    if few or before is None or after is None:
        return None
    earlier = [share_of([one], code, marks) for one in outputs[:-2]]
    return _Row(
        name=kind.name,
        before=before.value,
        after=after.value,
        cases=len(common),
        p=difference_p(before, after),
        # Where people found none, the interval begins at 0.
        was=before.low > 0,
        is_=after.low > 0,
        earlier=any(one is not None and one.low > 0 for one in earlier),
        corrected=True,
    )


def _by_judge(outputs: Sequence[RunOutputs], kind: Kind, codes: Codes) -> _Row | None:
    """A kind's shares in the last two runs, as the judge has them; None where it coded no case in both."""
    by_run = [_by_case(one, Codebook((kind,)), codes, people=False)[kind.name] for one in outputs]
    first, second = by_run[-2:]
    cases = sorted(first.keys() & second.keys())
    if not cases:
        return None
    before, after = (sum(of[case] for case in cases) / len(cases) for of in (first, second))
    return _Row(
        name=kind.name,
        before=before,
        after=after,
        cases=len(cases),
        p=sign_flip([second[case] - first[case] for case in cases]),
        was=before > 0,
        is_=after > 0,
        earlier=any(any(of.values()) for of in by_run[:-2]),
        corrected=False,
    )


def _by_case(
    outputs: RunOutputs, book: Codebook, codes: Codes, *, people: bool = True
) -> Mapping[str, Mapping[str, float]]:
    """By kind and case, the share of its outputs that have the kind: as people say, otherwise as the judge does."""
    shares: dict[str, Mapping[str, float]] = {}
    for kind in book.kinds:
        code, marks = peoples_code(book, kind), defaultdict[str, list[bool]](list)
        for place in outputs.places:
            review = outputs.reviews.get(place) if people else None
            has = None if review is None else code(review)
            if has is None:
                has = codes.get(outputs.note(place), {}).get(kind.name)
            if has is not None:
                marks[outputs.cases[place]].append(has)
        shares[kind.name] = {case: sum(each) / len(each) for case, each in marks.items()}
    return shares


def _word(row: _Row, p: float) -> Change:
    if p > 1 - CONFIDENCE:
        return "no detectable change"
    if row.after > row.before:
        if row.was:
            return "growing"
        return "returned" if row.earlier else "new"
    return "shrinking" if row.is_ else "gone"


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
