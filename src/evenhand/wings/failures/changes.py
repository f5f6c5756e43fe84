"""What became of each kind of failure from one run to the next: by a judge's codes, case by case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from evenhand.core.document import Key
from evenhand.core.record import Record
from evenhand.core.wording.words import count, percent, safe, short_id
from evenhand.languages.documents.codebook import Codebook, NoteId
from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.multiple import holm
from evenhand.stats.permutation import sign_flip
from evenhand.store.runfile import RunFile
from evenhand.wings.failures.coding import Codes

Change = Literal["returned", "new", "growing", "gone", "shrinking", "no detectable change"]
ORDER: Sequence[Change] = (
    "returned", "new", "growing", "gone", "shrinking", "no detectable change",
)  # fmt: skip


class KindChange(Record, frozen=True, kw_only=True):
    """What `evenhand.failures/1` says of a kind in the last run and in the one before it."""

    name: Annotated[str, Key("the kind")]
    change: Annotated[
        Change,
        Key("`returned`, `new`, `growing`, `gone`, `shrinking` or `no detectable change`"),
    ]
    before: Annotated[float, Key("of the cases in both, by the judge, in the run before", "share")]
    after: Annotated[float, Key("the same in the last run", "share")]
    cases: Annotated[int, Key("cases that the judge coded in both runs", "cases")]
    p: Annotated[float, Key("the p-value, corrected for the number of kinds")]


def kind_changes(runs: Sequence[RunFile], book: Codebook, codes: Codes) -> list[KindChange]:
    """What changed from the last run but one to the last, kind by kind; what matters most comes first.

    A kind has returned where it was in an earlier run and in no case of the run before.

    Args:
        runs: The runs, in their order in time. With fewer than two, nothing changed.
        book: The kinds; only those that are ratified were coded.
        codes: What the judge says.

    Source: the differences of cases, their signs thrown (McNemar's exact test where a case has one output); the
        p-values are Holm's.
    """
    if len(runs) < 2:
        return []
    kinds = [kind.name for kind in book.kinds if kind.is_ratified]
    by_run = [_by_case(run, kinds, codes) for run in runs]
    rows: list[tuple[str, float, float, int, float]] = []
    for name in kinds:
        before, after = by_run[-2][name], by_run[-1][name]
        cases = sorted(before.keys() & after.keys())
        if not cases:
            continue
        p = sign_flip([after[case] - before[case] for case in cases])
        shares = [sum(of[case] for case in cases) / len(cases) for of in (before, after)]
        rows.append((name, shares[0], shares[1], len(cases), p))
    corrected = holm([row[-1] for row in rows])
    changes = [
        KindChange(
            name=name,
            change=_word(before, after, p, [any(of[name].values()) for of in by_run[:-2]]),
            before=before,
            after=after,
            cases=cases,
            p=p,
        )
        for (name, before, after, cases, _), p in zip(rows, corrected, strict=True)
    ]
    return sorted(changes, key=lambda one: (ORDER.index(one.change), one.p, one.name))


def change_lines(runs: Sequence[str], changes: Sequence[KindChange]) -> Iterator[str]:
    """Changes of kinds in words, a line for each.

    Args:
        runs: The runs' ids.
        changes: What changed.
    """
    if not changes:
        return
    kinds = count(len(changes), "kind")
    yield f"{short_id(runs[-2])} → {short_id(runs[-1])}, by the judge's codes, corrected for {kinds}"
    for one in changes:
        yield (
            f"  {one.change}: {safe(one.name)}, {percent(one.before)} → {percent(one.after)} of"
            f" {count(one.cases, 'case')}, p = {one.p:.3f}"
        )


def _by_case(run: RunFile, kinds: Sequence[str], codes: Codes) -> Mapping[str, Mapping[str, float]]:
    """By kind and case, the share of its outputs that the judge gives the kind."""
    marks: dict[str, dict[str, list[bool]]] = {name: defaultdict(list) for name in kinds}
    for trial in run.trials():
        for name, has in codes.get(NoteId(run.meta.id, trial.index), {}).items():
            if name in marks:
                marks[name][trial.case].append(has)
    return {
        name: {case: sum(each) / len(each) for case, each in of.items()}
        for name, of in marks.items()
    }


def _word(before: float, after: float, p: float, earlier: Sequence[bool]) -> Change:
    if p > 1 - CONFIDENCE:
        return "no detectable change"
    if after > before:
        if before > 0:
            return "growing"
        return "returned" if any(earlier) else "new"
    return "shrinking" if after > 0 else "gone"
