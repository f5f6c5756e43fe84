"""Pass rates and mean scores with their intervals, and what repeats say: pass@k, pass^k, and which cases waver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from evenhand.analysis.summaries.clusters import Groups, clusters_among, rate_in, sums_in
from evenhand.analysis.summaries.means import Mean, known_scale, mean_cell, mean_of
from evenhand.core.record import Record
from evenhand.core.run import RunMeta
from evenhand.core.wording.words import counting, interval, money, percents, seconds
from evenhand.stats.repeats import OfTries, of_tries
from evenhand.stats.sequential import share_sequence
from evenhand.stats.tallies import Share, Tally, rate_of
from evenhand.store.counted import CaseTally
from evenhand.store.runfile import RunFile

HEADS = ("", "passed", "rate", "95 %", "score", "latency", "cost", "errors")


class Rate(Record, frozen=True, kw_only=True):
    """A column's pass rate. Every case counts once: repeats widen what is known of that case only.

    So does every cluster of cases that belong together.

    Attributes:
        variant: The column's index.
        passed: Trials that passed.
        trials: Trials that passed, failed or are in error.
        errors: Those of them that are in error.
        cases: Cases with such a trial.
        share: The mean of the cases' shares, or of their clusters', as far as errors leave it known, with its interval;
            None for no cases.
        clusters: How many clusters those make; as many as cases where each stands alone.
    """

    variant: int
    passed: int
    trials: int
    errors: int
    cases: int
    share: Share | None
    clusters: int = 0

    def __str__(self) -> str:
        """The rate as tables have it: `88 %`, or `50–90 %` where errors leave it open; a dash for no cases."""
        return "–" if self.share is None else percents(self.share.least, self.share.most)

    @property
    def reach(self) -> str:
        """The rate's interval as tables have it, in per cent; a dash for no cases."""
        return "–" if self.share is None else interval(self.share.low, self.share.high)


class Repeats(Record, frozen=True):
    """What repeats of a column's cases say.

    Attributes:
        variant: The column's index.
        cases: Cases with a trial that passed, failed or is in error.
        flaky: Those that passed in some repeats and failed in others, the ones that passed least first.
        tries: For each number of tries up to the most repeats that a case has: how many cases pass at least once, and
            how many every time. Empty without repeats.
    """

    variant: int
    cases: int
    flaky: tuple[CaseTally, ...]
    tries: tuple[OfTries, ...]


def share_of_cases(meta: RunMeta, tallies: Iterable[Tally]) -> Share | None:
    """The pass rate of cases of a run each of which stands alone; None for no cases. See `share_in`."""
    counted = [tally for tally in tallies if tally.n]
    share = rate_of(counted)
    if share is None or meta.status != "decided":
        return share
    return allowing_for_looks(share, len(counted))


def share_in(meta: RunMeta, tallies: Mapping[str, Tally], groups: Groups) -> Share | None:
    """The pass rate of some cases of a run, each cluster counting once; None for no cases.

    Of a run that stopped as soon as it was decided, the interval holds however often one looked.

    Args:
        meta: The run.
        tallies: By case.
        groups: What the cases belong to, of those that do not stand alone.
    """
    if not groups:
        return share_of_cases(meta, tallies.values())
    share = rate_in(tallies, groups)
    if share is None or meta.status != "decided":
        return share
    return allowing_for_looks(share, clusters_among((c for c, t in tallies.items() if t.n), groups))


def allowing_for_looks(share: Share, cases: int) -> Share:
    """A share over so many cases with an interval that holds however often one looked."""
    low, _ = share_sequence(share.least * cases, (1 - share.least) * cases)
    _, high = share_sequence(share.most * cases, (1 - share.most) * cases)
    return share._replace(low=low, high=high)


def mean_in(meta: RunMeta, mean: Mean | None) -> Mean | None:
    """A mean of a run; without an interval where it stopped as soon as it was decided: none allows for that."""
    return replace(mean, low=None, high=None) if mean and meta.status == "decided" else mean


def rates(run: RunFile) -> list[Rate]:
    """The pass rate of each column, in the order of `meta.variants`."""
    sums = run.sums()
    rates: list[Rate] = []
    for variant, totals, groups in zip(
        run.meta.variants, run.by_variant(), run.groups(), strict=True
    ):
        tallies = dict(sums.of_column(variant.index).items())
        rates.append(
            Rate(
                variant=variant.index,
                passed=totals.passed,
                trials=counting(totals),
                errors=totals.errors,
                cases=len(tallies),
                share=share_in(run.meta, tallies, groups),
                clusters=clusters_among(tallies, groups),
            )
        )
    return rates


def repeats(run: RunFile) -> list[Repeats]:
    """What repeats say of each column, in the order of `meta.variants`.

    Trials that were chosen by what came of them say nothing of repeats: `flaky` and `tries` are empty then.
    """
    columns: list[list[Tally]] = [[] for _ in run.meta.variants]
    flaky: list[list[CaseTally]] = [[] for _ in columns]
    for case in run.tallies():
        columns[case.variant].append(case.tally)
        if case.tally.flaky and not run.by_outcome:
            flaky[case.variant].append(case)
    return [
        Repeats(
            variant,
            len(tallies),
            tuple(sorted(flaky[variant], key=lambda case: case.tally.least)),
            () if run.by_outcome else _tries(run.meta, tallies),
        )
        for variant, tallies in enumerate(columns)
    ]


def _tries(meta: RunMeta, tallies: Sequence[Tally]) -> tuple[OfTries, ...]:
    most = max((tally.n for tally in tallies), default=0)
    if most < 2:
        return ()
    tries = (result for k in range(1, most + 1) if (result := of_tries(tallies, k)))
    if meta.status != "decided":
        return tuple(tries)
    return tuple(
        replace(
            one,
            once=allowing_for_looks(one.once, one.cases),
            always=allowing_for_looks(one.always, one.cases),
        )
        for one in tries
    )


def share_row(share: Share | None) -> dict[str, float | None]:
    """A rate, the two ends between which errors leave it, and the ends of its interval; null where nothing is known.

    `rate` itself is null where the two ends differ.
    """
    return {
        "rate": share and share.value,
        "rate_least": share and share.least,
        "rate_most": share and share.most,
        "low": share and share.low,
        "high": share and share.high,
    }


def scores(run: RunFile) -> list[Mean | None]:
    """The mean score of each column, in the order of `meta.variants`; None for a column without scores."""
    sums, declared = run.sums(), run.scales()
    means: list[Mean | None] = []
    for variant, groups in zip(run.meta.variants, run.groups(), strict=True):
        ends = sums.score_range(variant.index)
        scale = known_scale(declared.get((variant.index, "")), *ends) if ends else None
        cases = sums_in(sums.scores_by_case(variant.index), groups)
        means.append(mean_in(run.meta, mean_of(cases, scale)))
    return means


def latencies(run: RunFile) -> list[Mean | None]:
    """The mean latency of each column, in seconds; None for a column that was not asked."""
    sums = run.sums()
    return [
        mean_in(run.meta, mean_of(sums_in(sums.latencies_by_case(variant.index), groups)))
        for variant, groups in zip(run.meta.variants, run.groups(), strict=True)
    ]


def rate_texts(rates: Sequence[Rate], least: int = 1) -> list[str]:
    """`15/20   75 %  [52–90]` for each, in columns; the first has so many characters at least."""
    pairs = [f"{rate.passed}/{rate.trials}" for rate in rates]
    most = max(least, *map(len, pairs))
    wide = max(5, *(len(str(rate)) for rate in rates))
    return [
        "–".rjust(most)
        if rate.share is None
        else f"{pair:>{most}}  {rate!s:>{wide}}  [{rate.reach}]"
        for rate, pair in zip(rates, pairs, strict=True)
    ]


def rate_cells(run: RunFile, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """A row of texts for each column, under HEADS, for reports that have a table of their own; the name comes first."""
    columns = zip(names, rates(run), run.by_variant(), scores(run), latencies(run), strict=True)
    for name, rate, totals, score, latency in columns:
        yield (
            name,
            f"{rate.passed:,}/{rate.trials:,}",
            str(rate),
            rate.reach,
            mean_cell(score),
            mean_cell(latency, seconds, ""),
            money(totals.cost_usd),
            f"{totals.errors:,}",
        )
