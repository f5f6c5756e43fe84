"""Compares two runs, or columns of runs: pairs what both have, and decides. `evenhand.compare` says it in words.

Most tools give results no ids, so a case is known by what it asks and what is expected, or by its number: a reworded
reference, or a row in front, makes it another one. A stored answer without an id is known by all of its row, so that
another answer makes it another one. What it asks tells it all the same, where no other case of either run asks that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from evenhand.analysis.comparison.case_values import BUILT_IN, CaseIds, Seen, read
from evenhand.analysis.comparison.comparison_results import Compared, ComparedRuns
from evenhand.analysis.comparison.comparison_sides import (
    LISTED,
    RunSource,
    Side,
    matched,
    matched_variants,
    side_of,
)
from evenhand.analysis.comparison.drawn_part import Earlier, drawn_of
from evenhand.analysis.comparison.earlier_runs import Scores, earlier_runs
from evenhand.analysis.comparison.judged_differences import (
    JudgedDifference,
    JudgedRun,
    beside_result,
    judged_differences,
    on_cases_of_both,
)
from evenhand.analysis.comparison.pairing import once, paired, undirected, with_verdicts
from evenhand.analysis.comparison.regraded_outputs import regraded_outputs
from evenhand.analysis.comparison.same_test import (
    Likeness,
    judged_again,
    other_evals,
    selection_words,
    withheld_of,
)
from evenhand.analysis.summaries.column_names import column_names, full_names
from evenhand.analysis.trust.run_basis import system_of
from evenhand.core.definition import brief
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import UsageError
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.run import RunMeta, TrialResult
from evenhand.core.variant import Variant
from evenhand.core.wording.words import safe
from evenhand.store.run_lookup import called
from evenhand.store.runfile import RunFile


class RunState(Record, frozen=True, kw_only=True):
    """One of the two runs, as far as it has come.

    Attributes:
        name: What it is called beside the other.
        side: The same, with the column where one of its columns is compared.
        settled: How many of its trials are settled.
        calls: How many calls they made.
        cached: How many of these the cache answered, or the record of an earlier run: not its own, where it was
            interrupted.
        unrecorded: Whether it doesn't say what was asked in it, as those of earlier versions.
    """

    name: str
    side: str
    path: Path
    meta: RunMeta
    settled: int
    calls: int
    cached: int
    unrecorded: bool


class PairState(Record, frozen=True, kw_only=True):
    """A pair of columns, beside what is decided of it.

    Attributes:
        columns: The two, as their tables name them.
        first_alone: The metrics that only the first measures.
        second_alone: Those that only the second measures.
        notes: How their tests differ where that decides nothing, in words.
    """

    columns: tuple[str, str]
    first_alone: Sequence[str]
    second_alone: Sequence[str]
    notes: Sequence[str]


class Circumstances(Record, frozen=True, kw_only=True):
    """What there is to know of a comparison beside what it decides.

    Attributes:
        runs: The first run and the second.
        without_counterpart: Variants that only one of them has.
        by_input: How many cases were paired by their input, as the two runs call them otherwise.
        common: How many cases both have, those among them; 0 where none could be paired so.
        copies: How many cases of a column are copies of others.
        earlier: What there is to know of the runs before the first, a line each.
    """

    runs: tuple[RunState, RunState]
    without_counterpart: Sequence[str]
    by_input: int
    common: int
    copies: int
    pairs: Sequence[PairState]
    earlier: Sequence[str] = ()


def compared_runs(
    a: RunSource,
    b: RunSource,
    *,
    metrics: Sequence[str],
    margin: float | None,
    cluster: str,
    lower: Sequence[str],
    earlier: Sequence[RunSource] = (),
) -> tuple[ComparedRuns, Circumstances]:
    """Whether the second is better than the first, on the cases that both have; see `evenhand.compare`.

    Args:
        a: What to compare with.
        metrics: Which; all that both have where there are none.
        margin: How much worse is still accepted; None where that is not asked.
        cluster: The variable or key that says which cases belong together; empty for that of the columns' own sets.
        lower: The metrics of which less is better.
        earlier: Runs before the first: of its system they are repeats of it, of others they say how hard cases are.

    Raises:
        UsageError: Something that is named is not there, or the two have no case in common.
        StoreError: A run cannot be read.
    """
    with ExitStack() as stack:
        first, second = side_of(a, stack), side_of(b, stack)
        pairs, alone = matched(first, second)
        _check_sides(first, second, pairs)
        variants = first.run.meta.variants, second.run.meta.variants
        ids = CaseIds()
        history = _history(first, second, earlier, stack)
        mine = read(first.run, {i for i, _ in pairs}, metrics, cluster, ids, more=history.repeats)
        renamed = same_input(first.run, second.run)
        theirs = read(second.run, {j for _, j in pairs}, metrics, cluster, ids, renamed)
        outputs, others = None, dict[tuple[int, int], Collection[str]]()
        # Another variant's outputs, which somebody may name, are judged again by nobody.
        if judged_again(first.run.meta, second.run.meta) and (
            {*pairs} <= {*matched_variants(*variants)[0]}
        ):
            outputs, others = regraded_outputs(first.run, second.run, pairs, renamed)
        everywhere = withheld_of(first, second, outputs)
        names = column_names(variants[0]), column_names(variants[1])
        columns_of = [(names[0][i], names[1][j]) for i, j in pairs]
        together = cluster or _only_cluster(first, second, pairs)
        before = JudgedRun(first.run, together)
        # What the judges of one run said is read once for two of its columns.
        after = before if second.run is first.run else JudgedRun(second.run, together)
        judged = [
            on_cases_of_both(each, before, after)
            for each in judged_differences(before, after, pairs, columns_of)
            if not metrics or each.metric in metrics
        ]
        carried = [
            run.compared_spending() if "cost" in metrics else {} for run in (first.run, second.run)
        ]
        runs = _state(first, second, mine, theirs), _state(second, first, theirs, mine)
    _check_cases(first, second, [(mine[i], theirs[j]) for i, j in pairs])
    _check_names([*mine.values(), *theirs.values()], metrics, lower, cluster)
    common: set[int] = set()
    if renamed:
        common = {n for i, j in pairs for n in mine[i].cases if n in theirs[j].cases}
    shared = {ids[n] for n in common}
    named = first.column is not None and second.column is not None
    states: list[PairState] = []
    comparisons: list[Compared] = []
    for (i, j), columns in zip(pairs, columns_of, strict=True):
        other = other_evals(variants[0][i], variants[1][j])
        likeness = Likeness(
            mine[i],
            theirs[j],
            withheld=everywhere or (other if not named else ""),
            others=None if outputs is None else others.get((i, j), ()),
            one_run=first.run.meta.id == second.run.meta.id,
        )
        measured = mine[i].metrics.keys(), theirs[j].metrics.keys()
        both = measured[0] & measured[1]
        chosen = [name for name in metrics or measured[0] if name in both]
        aimless = {
            name: note
            for name in chosen
            if name not in (*metrics, *lower) and (note := undirected(name, mine[i], theirs[j]))
        }
        states.append(
            PairState(
                columns=columns,
                first_alone=[name for name in measured[0] if name not in measured[1]],
                second_alone=[name for name in measured[1] if name not in measured[0]],
                notes=[
                    *([f"! {other}"] if other and named else []),
                    *_carried(carried, (variants[0][i].index, variants[1][j].index), columns),
                    *likeness.notes(),
                    *aimless.values(),
                ],
            )
        )
        for name in [name for name in chosen if name not in aimless]:
            comparisons.append(
                paired(
                    name,
                    columns,
                    mine[i],
                    theirs[j],
                    name in lower,
                    several=len(pairs) > 1,
                    likeness=likeness,
                    drawn=drawn_of(second.run.meta, mine[i], theirs[j], history.scores_of(i)),
                )
            )
            # In large runs they take much memory.
            del mine[i].metrics[name], theirs[j].metrics[name]
    _check_results(first, second, comparisons, metrics, margin)
    # Where judges saw other cases, or were asked something else, their numbers say nothing about the two runs.
    apart = {(one.metric, one.columns) for one in comparisons if one.withheld or one.unlike}
    compared = ComparedRuns(
        first=first.beside(second),
        second=second.beside(first),
        results=tuple(with_verdicts(comparisons if metrics else [*once(comparisons)], margin)),
        margin=margin,
        cluster=cluster or _cluster_of(first, second, pairs),
        judged=tuple(
            _beside_results(each, comparisons)
            for each in judged
            if each.place not in apart and not everywhere
        ),
        in_full=_in_full(variants, pairs, columns_of),
        outputs=outputs,
    )
    return compared, Circumstances(
        runs=runs,
        without_counterpart=alone,
        by_input=sum(name in shared for name in renamed.values()),
        common=len(common),
        copies=max((mine[i].copies for i, _ in pairs), default=0),
        pairs=states,
        earlier=tuple(history.notes),
    )


def _beside_results(each: JudgedDifference, results: Sequence[Compared]) -> JudgedDifference:
    """A judged difference as its metric's own result has it, if there is one: over the cases of both."""
    paired, alone, in_error = None, 0, 0
    for result in results:
        if result.columns == each.columns:
            alone = len(result.only_first) + len(result.only_second)
        if (result.metric, result.columns) == each.place and result.data.rates:
            paired = result.difference
        if (result.metric, result.columns) == each.place:
            in_error = result.trials_in_error
    return beside_result(each, paired, alone, in_error)


def _carried(
    carried: Sequence[Collection[int]], pair: tuple[int, int], columns: tuple[str, str]
) -> Iterator[str]:
    """That the cost of one of two columns holds the calls that compared all variants."""
    holds = [variant in of_run for of_run, variant in zip(carried, pair, strict=True)]
    if holds[0] != holds[1]:
        name = columns[holds.index(True)]
        yield f"! the cost of {name} includes the judge calls that compared the outputs of all variants"


class _History(Record, frozen=True):
    """What runs before the first say.

    Attributes:
        repeats: Trials of its own system, with its variants.
        scores: What each other system scored.
        notes: What is left out, and why.
    """

    repeats: Sequence[TrialResult]
    scores: Sequence[Scores]
    notes: Sequence[str]

    def scores_of(self, variant: int) -> Earlier:
        """What other systems scored on the cases of one of the first run's variants."""
        return lambda metric, case: [
            system.get((variant, case), {}).get(metric) for system in self.scores
        ]


def _history(first: Side, second: Side, earlier: Sequence[RunSource], stack: ExitStack) -> _History:
    repeats: list[TrialResult] = []
    scores: list[Scores] = []
    notes: list[str] = []
    if not earlier:
        return _History(repeats, scores, notes)
    sides = [side_of(one, stack) for one in earlier]
    taken = {first.run.meta.id, second.run.meta.id}
    for side in sides:
        if side.column is not None:
            raise UsageError(
                f"an earlier run is taken with all of its variants, and {side} is one of them",
                hint="Name the run alone. Its variants are matched with those of the first.",
            )
        if side.run.meta.id in taken:
            raise UsageError(
                f"{side} is named twice: it is one run, and no second draw",
                hint="Name each run once.",
            )
        if side.run.meta.created_at > first.run.meta.created_at:
            raise UsageError(
                f"{side} is newer than {first}: it is not an earlier run of it",
                hint="Compare with the newest run, and name those before it.",
            )
        taken.add(side.run.meta.id)
    runs = sorted((side.run for side in sides), key=lambda run: -run.meta.created_at)
    for one in earlier_runs(first.run, runs, system_of, notes.append):
        if one.repeats:
            repeats += [
                replace(trial, variant=one.variants[trial.variant])
                for trial in one.run.trials()
                if trial.variant in one.variants and trial.index not in one.copies
            ]
        else:
            scores.append(one.scores)
    return _History(repeats, scores, notes)


def _state(
    side: Side, other: Side, own: Mapping[int, Seen], theirs: Mapping[int, Seen]
) -> RunState:
    tests, others = ([column.tests for column in each.values()] for each in (own, theirs))
    silent = not all(one.recorded or one.imported for one in tests)
    totals = side.run.totals()
    cached = totals.cached
    if (
        side.run.meta.idle_s
    ):  # it was resumed, and its trials count what they read again from its own journal
        cached = min(cached, sum(one.cached for one in side.run.usage()))
    return RunState(
        name=Side(side.run).beside(Side(other.run)),
        side=side.beside(other),
        path=side.run.path,
        meta=side.run.meta,
        settled=totals.trials,
        calls=totals.calls,
        cached=totals.cached - side.run.read_again(),
        unrecorded=silent and any(one.says_something for one in (*tests, *others)),
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
    keys = _clusters_of(first, second, pairs)
    return keys.pop() if len(keys) == 1 else ""


def _only_cluster(first: Side, second: Side, pairs: Sequence[tuple[int, int]]) -> str:
    """What some of the columns' own sets say, where the others say nothing: it is about the cases of both."""
    keys = _clusters_of(first, second, pairs) - {""}
    return keys.pop() if len(keys) == 1 else ""


def _clusters_of(first: Side, second: Side, pairs: Sequence[tuple[int, int]]) -> set[str]:
    return {
        side.run.meta.variants[place[i]].cluster
        for i, side in enumerate((first, second))
        for place in pairs
    }


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
        mine, theirs = first.run.meta.variants, second.run.meta.variants
        sides = [column_names(mine), column_names(theirs)]
        if set(sides[0]) & set(sides[1]):
            # Alike within each side is what tells them apart, such as an eval.
            names = column_names([*mine, *theirs])
            sides = [names[: len(mine)], names[len(mine) :]]
        columns = [", ".join(repr(safe(name)) for name in side[:LISTED]) for side in sides]
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
    chosen = [
        f"{name} ran {words}"
        for name, side in zip(names, (first, second), strict=True)
        if (words := selection_words(side.run.meta))
    ]
    raise UsageError(
        f"{names[0]} and {names[1]} have no case in common: {'; '.join(examples)}",
        hint=f"Run the same cases in both, or all of them: {'; '.join(chosen)}."
        if chosen
        else "Cases are paired by id. Give the rows of the dataset an `id` that stays, and run both again.",
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


def _nearest(name: str, known: Sequence[str]) -> str:
    listed = f"There are: {', '.join(map(safe, known[:LISTED]))}."
    return f"\n  {did_you_mean(name, known, listed)}"


def _check_results(
    first: Side,
    second: Side,
    results: Sequence[Compared],
    metrics: Sequence[str],
    margin: float | None,
) -> None:
    if not results:
        what = ", ".join(metrics) or "anything"
        raise UsageError(
            f"no two variants of {first.beside(second)} and {second.beside(first)} measure {what}",
            hint="Both have to measure it: a metric of one run alone cannot be compared.",
        )
    for result in results:
        if margin is not None and result.data.rates and margin > 1:
            raise UsageError(
                f"the margin is {margin:g}, and {result.metric} is a rate between 0 and 1",
                hint=f"{margin:g} points are {margin / 100:g}.",
            )


def same_input(first: RunFile, second: RunFile) -> Mapping[str, str]:
    """By the second's id of a case what the first calls it, where their input alone tells that it is the same one.

    A case of the second whose id another one is called by now has an id of its own. Empty where neither was imported,
    or measured stored answers.
    """
    answers = any(run.meta.config.get("answers") == "stored" for run in (first, second))
    if not answers and not any("imported" in run.meta.settings for run in (first, second)):
        return {}
    mine, theirs = (_inputs(run, content=answers) for run in (first, second))
    left, right = (_unique(own, other) for own, other in ((mine, theirs), (theirs, mine)))
    pairs = {right[key]: left[key] for key in right.keys() & left.keys()}
    for case in pairs.keys() ^ {*pairs.values()}:
        if case in theirs and case not in pairs:
            other = f"{case} (second)"
            # A dataset may hold anything, such a name too.
            while other in mine or other in theirs:
                other += "′"
            pairs[case] = other
    return pairs


def _inputs(run: RunFile, *, content: bool) -> dict[str, str]:
    """By case a digest of what it asks.

    Args:
        content: As its content has it, of which an answer that the row held is no part, where what is shown has it.
    """
    inputs: dict[str, str] = {}
    for trial in run.trials():
        question = trial.vars if trial.input is None else trial.input
        # Of repeats the first; and an empty input tells no case from another.
        if trial.case in inputs or question in (None, {}, ""):
            continue
        part = "vars" if trial.input is None else "input"
        own = trial.content.get(part, "") if content else ""
        inputs[trial.case] = own or (brief(question) if content else digest(encode(question)))
    return inputs


def _unique(own: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """By its input each case whose id the other lacks, or has for another input; without those that ask the same."""
    cases: dict[str, list[str]] = {}
    for case, key in own.items():
        cases.setdefault(key, []).append(case)
    return {
        key: those[0]
        for key, those in cases.items()
        if len(those) == 1 and other.get(those[0]) != key
    }
