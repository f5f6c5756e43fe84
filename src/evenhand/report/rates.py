"""Pass rates and mean scores with their intervals, and what repeats say: pass@k, pass^k, and which cases waver."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from evenhand.report.words import interval, money, percent, seconds
from evenhand.stats.interval import mean_of_sums, wilson_of_clusters
from evenhand.stats.paired import FEWEST
from evenhand.stats.repeats import OfTries, of_tries
from evenhand.store.counted import Tally
from evenhand.store.runfile import RunFile

HEADS = ("", "passed", "rate", "95 %", "score", "latency", "cost", "errors")


@dataclass(frozen=True, slots=True)
class Rate:
    """A column's pass rate. Repeats of a case are not taken for more cases: they widen what is known of that case only.

    Attributes:
        variant: The column's index.
        passed: Trials that passed.
        trials: Trials with a verdict.
        cases: Cases with a verdict.
        low: The lower end of the interval, 95 %; 0 where nothing is known.
        high: The upper end; 1 where nothing is known.
        flaky: Its cases that passed in some repeats and failed in others, the ones that passed least first.
        tries: For each number of tries up to the most repeats that a case has: how many cases pass at least once, and
            how many every time. Empty without repeats.
    """

    variant: int
    passed: int
    trials: int
    cases: int
    low: float
    high: float
    flaky: tuple[Tally, ...]
    tries: tuple[OfTries, ...] = ()

    @property
    def rate(self) -> float | None:
        """The share that passed; None for none with a verdict."""
        return self.passed / self.trials if self.trials else None


def rates(run: RunFile) -> list[Rate]:
    """The pass rate of each column, in the order of `meta.variants`.

    Trials that were chosen by what came of them say nothing of repeats: `flaky` and `tries` are empty then.
    """
    clusters: list[list[tuple[int, int]]] = [[] for _ in run.meta.variants]
    flaky: list[list[Tally]] = [[] for _ in run.meta.variants]
    shared: dict[
        tuple[int, int], tuple[int, int]
    ] = {}  # a few different pairs for any number of cases
    for tally in run.tallies():
        pair = (tally.passed, tally.n)
        clusters[tally.variant].append(shared.setdefault(pair, pair))
        if 0 < tally.passed < tally.n and not run.by_outcome:
            flaky[tally.variant].append(tally)
    return [
        Rate(
            variant,
            sum(passed for passed, _ in found),
            sum(n for _, n in found),
            len(found),
            *wilson_of_clusters(found),
            tuple(sorted(flaky[variant], key=lambda tally: tally.passed / tally.n)),
            () if run.by_outcome else _tries(found),
        )
        for variant, found in enumerate(clusters)
    ]


def _tries(tallies: Sequence[tuple[int, int]]) -> tuple[OfTries, ...]:
    most = max((n for _, n in tallies), default=0)
    if most < 2:
        return ()
    return tuple(found for k in range(1, most + 1) if (found := of_tries(tallies, k)))


Mean = tuple[float, float, float] | None


def mean_of(cases: Sequence[tuple[float, int]]) -> Mean:
    """A mean over cases and its interval, 95 %, repeats of a case not taken for more cases; None for no cases.

    The ends are infinite where cases are fewer than FEWEST: what t makes of two or three reaches beyond any scale.
    """
    found = mean_of_sums(cases)
    return found if found is None or len(cases) >= FEWEST else (found[0], -math.inf, math.inf)


def mean_cell(found: Mean, told: Callable[[float], str] = "{:.2f}".format) -> str:
    """A mean for a table, with half the width of its interval; a question mark where that is not known."""
    if found is None:
        return "–"
    mean, _, high = found
    return f"{told(mean)} ±{'?' if math.isinf(high) else told(high - mean)}"


def rate_cells(run: RunFile, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """A row of texts for each column, under HEADS, for reports that have a table of their own; the name comes first."""
    sums = zip(run.score_sums(), run.latency_sums(), strict=True)
    for name, rate, totals, (scores, latencies) in zip(
        names, rates(run), run.by_variant(), sums, strict=True
    ):
        yield (
            name,
            f"{rate.passed:,}/{rate.trials:,}",
            "–" if rate.rate is None else percent(rate.rate),
            interval(rate.low, rate.high) if rate.trials else "–",
            mean_cell(mean_of(scores)),
            mean_cell(mean_of(latencies), seconds),
            money(totals.cost_usd),
            f"{totals.errors:,}",
        )
