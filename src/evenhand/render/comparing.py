"""`compare(a, b)`: whether the second of two runs, or columns, is better than the first, on the cases of both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Any

from evenhand.analysis.comparison.case_values import BUILT_IN, CaseIds, Seen, read
from evenhand.analysis.comparison.comparison_results import Compared, ComparedRuns
from evenhand.analysis.comparison.comparison_rows import CASES, METRICS, case_rows, metric_rows
from evenhand.analysis.comparison.comparison_sides import LISTED, RunSource, Side, matched, side_of
from evenhand.analysis.comparison.judged_differences import JudgedRun, judged_differences
from evenhand.analysis.comparison.pairing import paired, with_verdicts
from evenhand.analysis.comparison.same_input import pairing_notes, same_input
from evenhand.analysis.comparison.same_test import (
    Likeness,
    other_evals,
    reach_note,
    same_outputs,
    withheld_of,
)
from evenhand.analysis.summaries.clusters import copies_note
from evenhand.analysis.summaries.column_names import column_names, full_names
from evenhand.analysis.summaries.frames import Framed, Table
from evenhand.core.arguments import checked
from evenhand.core.errors import UsageError
from evenhand.core.names import did_you_mean
from evenhand.core.variant import Variant
from evenhand.core.wording.words import safe
from evenhand.engine.replay.summary import replay_note
from evenhand.store.catalogue import called


class Comparison(ComparedRuns, Framed):
    """Two runs, or columns of runs, on the cases of both: printed, a line for each metric and what changed."""

    def __bool__(self) -> bool:
        """Raises: `assert compare(a, b)` would hold whatever the difference."""
        raise TypeError("a comparison is neither true nor false: ask comparison.verdict")

    def __repr__(self) -> str:
        return f"<Comparison {self.first} → {self.second}: {self.verdict}>"

    def __str__(self) -> str:
        from evenhand.render.comparison import lines  # noqa: PLC0415 (when it is asked for)

        return "\n".join(lines(self))

    def _repr_html_(self) -> str:
        """How notebooks show it."""
        from evenhand.render.comparison import html  # noqa: PLC0415 (when it is asked for)

        return html(self)

    def rows(self) -> list[dict[str, Any]]:
        """A flat dict for each case that changed in a metric, the worst change first, the same keys in all."""
        return case_rows(self)

    def summary_rows(self) -> list[dict[str, Any]]:
        """A flat dict for each metric of each pair of columns: means, difference, interval, p-value and verdict."""
        return metric_rows(self)

    def _tables(self) -> Mapping[str, Table]:
        return {"cases": Table(self.rows, CASES), "summary": Table(self.summary_rows, METRICS)}

    def of(self, metric: str) -> Comparison:
        """The comparison, had this metric alone been asked for: p-values are corrected for its columns only."""
        results = [result for result in self.results if result.metric == metric]
        judged = tuple(each for each in self.judged if each.metric == metric)
        return replace(self, results=tuple(with_verdicts(results, self.margin)), judged=judged)

    def document(self) -> dict[str, Any]:
        """The comparison as a JSON-ready dict, `evenhand.compare/1`: what `evenhand compare --json` prints."""
        from evenhand.render.comparison import document  # noqa: PLC0415 (when it is asked for)

        return document(self)


@checked
def compare(
    a: RunSource,
    b: RunSource,
    *,
    metric: str | Sequence[str] = (),
    margin: float | None = None,
    cluster: str = "",
    lower: str | Sequence[str] = (),
) -> Comparison:
    """Says whether the second is better than the first, on the cases that both have.

    Pairs go by case id, never by position. A case with repeats counts once, with its mean. A trial in error may have
    had any value: means and differences are ranges then, and where errors could turn the verdict it is *undecided*.

    Args:
        a: What to compare with: a run, `run.column("name")`, the path of a run file, or a text as on the command line:
            `RUN`, `RUN:COLUMN`, or `:COLUMN` of the latest run.
        b: What is judged.
        metric: The metrics: `passed`, `score`, `latency`, `cost`, the name of a metric or the label of an expectation.
            Without any, `passed` and every metric that both have. With several, p-values are corrected (Holm).
        margin: How much worse the second may be and still be accepted, in the metric's unit: 0.05 is 5 points of a pass
            rate. The verdict is then *non-inferior*, *better*, *worse* or *undecided*.
        cluster: The variable of the cases, or the key of their metadata, that says which belong together, such as the
            document that they ask about; without it, that of the eval set or config. Each cluster counts once. A case
            without it stands alone; copies of a case belong together.
        lower: The metrics of which less is better. Latency, cost, what has only upper bounds, and those of
            `score_batch`, are known to be.

    Raises:
        UsageError: Something that is named is not there, or the two have no case in common.
        StoreError: A run cannot be read.
    """
    chosen = [metric] if isinstance(metric, str) else list(dict.fromkeys(metric))
    less = {lower} if isinstance(lower, str) else set(lower)
    if margin is not None and not (math.isfinite(margin) and margin >= 0):
        raise UsageError(
            f"the margin is {margin!r}, not a number from 0 up",
            hint="It says how much worse is accepted: 0.05 is 5 points of a pass rate.",
        )
    with ExitStack() as stack:
        first, second = side_of(a, stack), side_of(b, stack)
        pairs, alone = matched(first, second)
        _check_sides(first, second, pairs)
        everywhere = withheld_of(first, second)
        judging = same_outputs(first.run.meta, second.run.meta)
        variants = first.run.meta.variants, second.run.meta.variants
        reach = reach_note(first.run.meta, second.run.meta)
        ids = CaseIds()
        mine = read(first.run, {i for i, _ in pairs}, chosen, cluster, ids)
        renamed = same_input(first.run, second.run)
        theirs = read(second.run, {j for _, j in pairs}, chosen, cluster, ids, renamed)
        names = column_names(first.run.meta.variants), column_names(second.run.meta.variants)
        columns_of = [(names[0][i], names[1][j]) for i, j in pairs]
        before = JudgedRun(first.run)
        # What the judges of one run said is read once for two of its columns.
        after = before if second.run is first.run else JudgedRun(second.run)
        judged = [
            each
            for each in judged_differences(before, after, pairs, columns_of)
            if not chosen or each.metric in chosen
        ]
        notes = [*_unfinished(first, second), *_unfinished(second, first)]
        notes += filter(None, (replay_note(side.run.meta) for side in (first, second)))
    _check_cases(first, second, [(mine[i], theirs[j]) for i, j in pairs])
    _check_names([*mine.values(), *theirs.values()], chosen, less, cluster)
    notes += [f"has no counterpart: {name}" for name in alone]
    notes += filter(None, (reach, *_unrecorded(first, second, mine.values(), theirs.values())))
    if renamed:
        common = {n for i, j in pairs for n in mine[i].cases if n in theirs[j].cases}
        shared = {ids[n] for n in common}
        notes += pairing_notes(sum(name in shared for name in renamed.values()), len(common))
    named = first.column is not None and second.column is not None
    notes += list(_copies([mine[i] for i, _ in pairs]))
    comparisons: list[Compared] = []
    for i, j in pairs:
        columns = names[0][i], names[1][j]
        both, note = _metrics(mine[i], theirs[j], chosen)
        other = other_evals(variants[0][i], variants[1][j])
        likeness = Likeness(
            mine[i],
            theirs[j],
            withheld=everywhere or (other if not named else ""),
            judging=judging,
            one_run=first.run.meta.id == second.run.meta.id,
        )
        note += [*([f"! {other}"] if other and named else []), *likeness.notes()]
        notes += [f"{columns[1]}: {text}" if len(pairs) > 1 else text for text in note]
        for name in both:
            several = len(pairs) > 1
            comparisons.append(
                paired(
                    name,
                    columns,
                    mine[i],
                    theirs[j],
                    name in less,
                    several=several,
                    likeness=likeness,
                )
            )
            # In large runs they take much memory.
            del mine[i].metrics[name], theirs[j].metrics[name]
    if not comparisons:
        what = ", ".join(chosen) or "anything"
        raise UsageError(
            f"no two variants of {first.beside(second)} and {second.beside(first)} measure {what}",
            hint="Both have to measure it: a metric of one run alone cannot be compared.",
        )
    for result in comparisons:
        if margin is not None and result.data.rates and margin > 1:
            raise UsageError(
                f"the margin is {margin:g}, and {result.metric} is a rate between 0 and 1",
                hint=f"{margin:g} points are {margin / 100:g}.",
            )
    # Where judges saw other cases, or were asked something else, their numbers say nothing about the two runs.
    apart = {(one.metric, one.columns) for one in comparisons if one.withheld or one.unlike}
    return Comparison(
        first=first.beside(second),
        second=second.beside(first),
        results=tuple(with_verdicts(comparisons, margin)),
        margin=margin,
        cluster=cluster or _cluster_of(first, second, pairs),
        notes=tuple(notes),
        judged=tuple(each for each in judged if each.place not in apart and not everywhere),
        in_full=_in_full(variants, pairs, columns_of),
    )


def _in_full(
    variants: tuple[Sequence[Variant], Sequence[Variant]],
    pairs: Sequence[tuple[int, int]],
    columns: Sequence[tuple[str, str]],
) -> dict[tuple[str, str], tuple[str, str]]:
    """The full names of each pair of columns, by their short ones."""
    first, second = (full_names(each) for each in variants)
    return {short: (first[i], second[j]) for short, (i, j) in zip(columns, pairs, strict=True)}


def _cluster_of(first: Side, second: Side, pairs: Sequence[tuple[int, int]]) -> str:
    """What the columns' own sets say that cases belong to; empty for nothing, and where they differ."""
    columns = (
        side.run.meta.variants[place[i]]
        for i, side in enumerate((first, second))
        for place in pairs
    )
    keys = {variant.cluster for variant in columns}
    return keys.pop() if len(keys) == 1 else ""


def _check_sides(first: Side, second: Side, pairs: Sequence[tuple[int, int]]) -> None:
    if first.run.meta.id == second.run.meta.id and all(i == j for i, j in pairs):
        name = called(Path.cwd(), first.run.path)
        known = column_names(first.run.meta.variants)
        hint = "Name two of its variants: " + " ".join(f"'{name}:{each}'" for each in known[:2])
        raise UsageError(
            f"{first} would be compared with itself",
            hint=hint if len(known) > 1 else "Name another run: `evenhand runs list` lists them.",
        )
    if not pairs:
        one, two = first.beside(second), second.beside(first)
        columns = [
            ", ".join(repr(safe(name)) for name in column_names(side.run.meta.variants)[:LISTED])
            for side in (first, second)
        ]
        raise UsageError(
            f"no variant of {one} matches one of {two}",
            hint=f"Name a variant of each: RUN:VARIANT. {one} has {columns[0]}; {two} has {columns[1]}.",
        )


def _check_cases(first: Side, second: Side, pairs: Iterable[tuple[Seen, Seen]]) -> None:
    mine: dict[str, None] = {}
    theirs: dict[str, None] = {}
    for a, b in pairs:
        if a.cases.meets(b.cases):
            return
        for few, sides in ((mine, a), (theirs, b)):
            few.update(dict.fromkeys(sides.cases.ids[n] for n in islice(sides.cases, 3)))
    names = first.beside(second), second.beside(first)
    examples = [
        f"{name} has {', '.join(repr(safe(case)) for case in list(cases)[:3]) or 'none'}"
        for name, cases in zip(names, (mine, theirs), strict=True)
    ]
    raise UsageError(
        f"{names[0]} and {names[1]} have no case in common: {'; '.join(examples)}",
        hint="Cases are paired by id. Give the rows of the dataset an `id` that stays.",
    )


def _check_names(
    sides: Sequence[Seen], metrics: Sequence[str], less: Iterable[str], cluster: str
) -> None:
    """That what is named is there, all that is not told at once."""
    known = dict.fromkeys((*BUILT_IN, *(name for one in sides for name in one.labels)))
    wrong = [
        f"there is no metric {name!r}{_nearest(name, list(known))}"
        for name in dict.fromkeys((*metrics, *less))
        if name not in known
    ]
    if cluster and not any(one.clustered for one in sides):
        keys = sorted({key for one in sides for key in one.keys})
        none = "\n  They have neither: give each row of the dataset a column that says what it belongs to."
        near = _nearest(cluster, keys) if keys else none
        wrong.append(f"no case has a variable or metadata called {cluster!r}{near}")
    if wrong:
        raise UsageError("\n".join(wrong))


def _copies(sides: Sequence[Seen]) -> Iterator[str]:
    """That cases are copies of others, of the column that has most of them."""
    copies = max((one.copies for one in sides), default=0)
    if copies:
        yield copies_note(copies)


def _nearest(name: str, known: Sequence[str]) -> str:
    listed = f"There are: {', '.join(map(safe, known[:LISTED]))}."
    return f"\n  {did_you_mean(name, known, listed)}"


def _unrecorded(
    first: Side, second: Side, mine: Iterable[Seen], theirs: Iterable[Seen]
) -> Iterator[str]:
    """That a run does not say what was asked in it, as those of earlier versions."""
    sides = [[one.tests for one in columns] for columns in (mine, theirs)]
    for side, other, (tests, others) in (
        (first, second, sides),
        (second, first, (sides[1], sides[0])),
    ):
        silent = not all(one.recorded or one.imported for one in tests)
        if silent and any(one.says_something for one in (*tests, *others)):
            yield (
                f"{side.beside(other)} does not say all that its cases and expectations were: whether the test has"
                " changed is known in part"
            )


def _unfinished(side: Side, other: Side) -> Iterator[str]:
    meta, name = side.run.meta, Side(side.run).beside(Side(other.run))
    settled = side.run.totals().trials
    if meta.status == "decided":
        yield (
            f"{name} stopped as soon as it was decided, after {settled:,} of {meta.planned:,} trials:"
            " the intervals and p-values here do not allow for that"
        )
    elif settled < meta.planned:
        warning = f"{name} did not finish: {settled:,} of {meta.planned:,} trials"
        if "asked" in meta.settings:
            warning += (
                f"; `evenhand resume {quote(called(Path.cwd(), side.run.path))}` continues it"
            )
        yield warning


def _metrics(mine: Seen, theirs: Seen, chosen: Sequence[str]) -> tuple[list[str], list[str]]:
    """What both columns measure, and what is to be said of the rest."""
    both = [
        name
        for name in chosen or mine.metrics
        if name in mine.metrics.keys() & theirs.metrics.keys()
    ]
    notes: list[str] = []
    for side, other, which in ((mine, theirs, "first"), (theirs, mine, "second")):
        lone = [safe(name) for name in side.metrics if name not in other.metrics]
        if lone:
            notes.append(f"measured in the {which} alone: {', '.join(lone[:LISTED])}")
    return both, notes
