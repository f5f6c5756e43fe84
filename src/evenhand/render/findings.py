"""What there is to know of a run beyond its rates: what beats what, which cases waver, and what is worth a look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evenhand.analysis.summaries.clusters import (
    FEWEST_CASES,
    cluster_hint,
    clusters_among,
    copies_note,
)
from evenhand.analysis.summaries.column_names import in_ranges
from evenhand.analysis.summaries.grid import Grid
from evenhand.analysis.summaries.marks import UNSURE, Marked, marked
from evenhand.analysis.summaries.rates import Repeats, repeats
from evenhand.core.score import SHARES
from evenhand.core.wording.words import clip, columns, count, padded, safe, share_words
from evenhand.render.outcome import unsure
from evenhand.stats.paired_difference import LEVEL
from evenhand.stats.standouts import dispersion_p
from evenhand.store.counted import CaseTally
from evenhand.store.groups import copies_among
from evenhand.store.runfile import RunFile

NAMED = 3
NAME = 40
TABLE = 3
"""From so many columns on, what repeats say is a table."""
ALIKE = "all cases may be equally likely to pass, so which ones are flaky may be chance: "


def findings(
    run: RunFile, grid: Grid, where: Marked | None = None, *, ranked: Sequence[str] | None = None
) -> list[str]:
    """The sentences below the table. Columns are not compared by trials that were chosen: the choice decides.

    Of those that were chosen by what came of them, only what their judges were not sure of is told.

    Args:
        where: Where to look, for those who know; without it every trial is looked at.
        ranked: The rankings in words, for lists that have a line for each finding; without it they are worked out.
    """
    # All findings share one reading of the trials; otherwise each of them would read every trial again.
    where = where or marked(run)
    if run.by_outcome:
        return _unsure(run, grid, where)
    lines: list[str] = []
    if where.triggers:
        from evenhand.analysis.summaries.skill_discovery import trigger_rates  # noqa: PLC0415 (imported on use)

        lines += [grid.line(one.variant, str(one)) for one in trigger_rates(run, where.triggers)]
    if where.judged:
        from evenhand.analysis.summaries.preferences import preferences  # noqa: PLC0415 (imported on use)

        lines += [grid.line(one.variant, str(one)) for one in preferences(run, where.judged)]
    one_each = ranked is not None
    if ranked is None:
        ranked = _rankings(run, grid, where)
    lines += ranked
    compared = _compared(run, grid)
    if ranked:  # these go by pass rate, not by rank
        compared = [f"by pass rate: {line}" for line in compared]
    clusters = [] if run.narrowed else list(cluster_lines(run))
    return [
        *lines,
        *compared,
        *_mixed(run),
        *_repeats(run, grid, one_each=one_each),
        *clusters,
        *_unsure(run, grid, where),
    ]


def _mixed(run: RunFile) -> list[str]:
    if run.narrowed or all(scale == SHARES for scale in run.scales().values()):
        return []
    from evenhand.analysis.comparison.same_test import VariantTests  # noqa: PLC0415 (imported on use)

    return list(VariantTests(run).mixed_scales())


def _rankings(run: RunFile, grid: Grid, where: Marked) -> list[str]:
    if not where.judged:
        return []
    from evenhand.render.standings import standing_lines  # noqa: PLC0415 (imported on use)

    return standing_lines(run, grid.names, where.judged)


def _compared(run: RunFile, grid: Grid) -> list[str]:
    if run.narrowed or len(grid.names) < 2:
        return []
    from evenhand.analysis.comparison.same_test import (  # noqa: PLC0415 (imported on use)
        VariantTests,
        chosen_by,
        chosen_note,
    )
    from evenhand.analysis.comparison.variants import sentences  # noqa: PLC0415 (imported on use)

    if chosen := chosen_by(run.meta):
        return [f"variants are not ranked, as {chosen_note('the cases of this run', chosen)}"]
    return sentences(grid, VariantTests(run).differ)


def _repeats(run: RunFile, grid: Grid, *, one_each: bool) -> list[str]:
    if run.meta.repeats < 2:
        return []
    results = repeats(run, each_k=False)
    if len(results) >= TABLE and not one_each:
        return _repeats_table(run, grid, results)
    lines: list[str] = []
    for result in results:
        if result.tries:
            tries = result.tries[-1]
            text = (
                f"pass@{tries.k} {share_words(*tries.once)}, pass^{tries.k} {share_words(*tries.always)} over "
                f"{count(tries.cases, 'case')} (at least once, and every time, in {tries.k} tries)"
            )
            lines.append(grid.line(result.variant, text))
        if result.flaky:
            named = ", ".join(_tally(run, case) for case in result.flaky[:NAMED])
            more = len(result.flaky) - NAMED
            text = (
                f"{ALIKE if _by_chance(run, result) else ''}"
                f"{len(result.flaky):,} of {count(result.cases, 'case')} "
                "passed in some repeats and failed in "
                f"others: {named}{f' and {more:,} more' if more > 0 else ''}"
            )
            lines.append(grid.line(result.variant, text))
    return lines


def _repeats_table(run: RunFile, grid: Grid, results: Sequence[Repeats]) -> list[str]:
    """A line for each column of many: how often its cases passed at least once and every time, and how many waver."""
    rows: list[tuple[str, ...]] = []
    for result in results:
        if result.tries:
            tries = result.tries[-1]
            name, k = f"of {tries.k} tries", tries.k
            head = (name, f"pass@{k} (any)", f"pass^{k} (all)", "flaky")
            if head not in rows:
                rows.append(head)
            flaky = f"{len(result.flaky):,} of {result.cases:,}"
            shares = (share_words(*tries.once), share_words(*tries.always))
            rows.append((grid.names[result.variant], *shares, flaky))
    wide = [max(map(columns, cells)) for cells in zip(*rows, strict=True)]
    lines = [
        "   ".join(padded(cell, wide[i]) for i, cell in enumerate(row)).rstrip() for row in rows
    ]
    chance = [grid.names[r.variant] for r in results if r.flaky and _by_chance(run, r)]
    if chance:
        some = len(chance) < sum(1 for r in results if r.flaky)
        which = f"{', '.join(in_ranges(chance))}: " if some else ""
        lines.append(f"{which}{ALIKE.removesuffix(': ')}")
    return lines


def _by_chance(run: RunFile, result: Repeats) -> bool:
    """Whether cases that waver need not be harder than others, as all may be equally likely to pass."""
    tallies = run.sums().of_column(result.variant).values()
    tries = [(t.passed, t.passed + t.failed) for t in tallies if t.passed + t.failed]
    return len(result.flaky) > 1 and dispersion_p(tries) > LEVEL


def _tally(run: RunFile, case: CaseTally) -> str:
    trial = run.trial(case.first)
    name = (trial.description or trial.case) if trial else case.case
    return f"{clip(safe(name), NAME)} ({case.tally.passed} of {case.tally.n} passed)"


def _unsure(run: RunFile, grid: Grid, where: Marked) -> list[str]:
    number, first = low_confidence(run, where.judged)
    if first is None:
        return []
    trial = run.trial(first)
    place = f", the first at {grid.place(trial)}" if trial else ""
    return [f"{count(number, 'judgement')} of low confidence{place}"]


def cluster_lines(run: RunFile) -> Iterator[str]:
    """The clusters that the run's sets name, copies, and a hint where neither is said."""
    groups = run.groups()
    columns_cases = [run.sums().of_column(variant.index) for variant in run.meta.variants]
    # A dict, because several variants of one eval give the same sentence.
    lines: dict[str, None] = {}
    for variant, cases, of_column in zip(run.meta.variants, columns_cases, groups, strict=True):
        if variant.cluster and cases:
            key = clip(safe(variant.cluster), NAME)
            number = clusters_among(cases, of_column)
            lines[
                f"{count(len(cases), 'case')} in {count(number, 'cluster')} by {key}: each cluster counts once in "
                "rates, intervals and comparisons"
            ] = None
    yield from lines
    copies = max((copies_among(each.values()) for each in run.groups(copies=True)), default=0)
    if copies:
        yield copies_note(copies)
    # The hint reads every trial, and fewer cases than this can never give one.
    if any(len(cases) >= FEWEST_CASES for cases in columns_cases) and (hint := cluster_hint(run)):
        yield hint


def low_confidence(run: RunFile, places: Sequence[int] | None = None) -> tuple[int, int | None]:
    """How many judgements their judge was not sure of, and the place in the plan of the first.

    Args:
        places: Where in the plan such trials are, and maybe others; without them every trial is looked at.
    """
    number, first = 0, None
    for trial in run.warned(UNSURE) if places is None else run.at(places):
        doubts = sum(map(unsure, trial.outcomes))
        number += doubts
        if doubts and first is None:
            first = trial.index
    return number, first
