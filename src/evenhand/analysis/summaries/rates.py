"""Pass rates and means over cases with their intervals, and what repeats say: pass@k, pass^k, and which cases waver."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress, islice, repeat
from operator import add, truediv
from typing import TYPE_CHECKING

from evenhand.analysis.summaries.clusters import (
    Groups,
    OfCase,
    clusters_among,
    rate_in,
    sums_in,
    together,
)
from evenhand.core.json_shapes import finite
from evenhand.core.record import Record
from evenhand.core.run import RunMeta
from evenhand.core.score import SHARES, Scale
from evenhand.core.wording.words import (
    RESIDUE,
    counting,
    interval,
    number,
    paid,
    rounded,
    seconds,
    share_within,
    unlike_whole,
)
from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.interval import mean_of_sums
from evenhand.stats.sequential import share_sequence
from evenhand.stats.tallies import Share, Tally, rate_of
from evenhand.store.counted import CaseTally
from evenhand.store.runfile import RunFile

if TYPE_CHECKING:
    from evenhand.stats.tallies import OfTries

_AT_ONCE = 4096
"""Sums that are taken together: a large run has a million of them, and a loop of its own for each is slow."""
_LONG = 1e9
"""Scores from here on are written in digits that count."""
_NARROW = 0.02
"""An interval that is narrower has more digits than two."""
HEADS = ("", "passed", "rate", "95 %", "score", "latency", "cost", "errors")


class Rate(Record, frozen=True, kw_only=True):
    """A column's pass rate. Every case counts once: repeats widen what is known of that case only.

    So does every cluster of cases that belong together.

    Attributes:
        variant: The column's index.
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
        return "–" if self.share is None else share_within(*self.share)

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
    if not meta.ended_early:
        return rate_of(tallies)
    counted = [tally for tally in tallies if tally.n]
    share = rate_of(counted)
    return share and allowing_for_looks(share, len(counted))


def share_in(meta: RunMeta, tallies: Mapping[str, Tally], groups: Groups) -> Share | None:
    """The pass rate of some cases of a run, each cluster counting once; None for no cases.

    Of a run that stopped as soon as it was decided, the interval holds however often one looked.

    Args:
        tallies: By case.
        groups: What the cases belong to, of those that do not stand alone.
    """
    if not groups:
        return share_of_cases(meta, tallies.values())
    share = rate_in(tallies, groups)
    if share is None or not meta.ended_early:
        return share
    return allowing_for_looks(share, clusters_among((c for c, t in tallies.items() if t.n), groups))


def allowing_for_looks(share: Share, cases: int) -> Share:
    """A share over so many cases with an interval that holds however often one looked."""
    low, _ = share_sequence(share.least * cases, (1 - share.least) * cases)
    _, high = share_sequence(share.most * cases, (1 - share.most) * cases)
    return share._replace(low=low, high=high)


def mean_in(meta: RunMeta, mean: Mean | None) -> Mean | None:
    """A mean of a run; without an interval where it stopped as soon as it was decided: none allows for that."""
    return replace(mean, low=None, high=None) if mean and meta.ended_early else mean


def rates(run: RunFile) -> list[Rate]:
    """The pass rate of each column, in the order of `meta.variants`."""
    sums = run.sums()
    rates: list[Rate] = []
    for variant, totals, groups in zip(
        run.meta.variants, run.by_variant(), run.groups(), strict=True
    ):
        tallies = sums.of_column(variant.index)
        rates.append(
            Rate(
                variant=variant.index,
                passed=totals.passed,
                trials=counting(totals),
                errors=totals.errors,
                cases=len(tallies),
                share=share_in(run.meta, tallies, groups),
                clusters=clusters_among(tallies, groups) if groups else len(tallies),
            )
        )
    return rates


def repeats(run: RunFile, *, each_k: bool = True) -> list[Repeats]:
    """What repeats say of each column, in the order of `meta.variants`.

    Trials that were chosen by what came of them say nothing of repeats: `flaky` and `tries` are empty then.

    Args:
        each_k: Whether `tries` has each number of tries, and not the greatest alone.
    """
    columns: list[dict[str, Tally]] = [{} for _ in run.meta.variants]
    flaky: list[list[CaseTally]] = [[] for _ in columns]
    for case in run.tallies():
        columns[case.variant][case.case] = case.tally
        if case.tally.flaky and not run.by_outcome:
            flaky[case.variant].append(case)
    return [
        Repeats(
            variant,
            len(tallies),
            tuple(sorted(flaky[variant], key=lambda case: case.tally.least)),
            () if run.by_outcome else _tries(run, variant, tallies, each_k=each_k),
        )
        for variant, tallies in enumerate(columns)
    ]


def _tries(
    run: RunFile, variant: int, tallies: Mapping[str, Tally], *, each_k: bool
) -> tuple[OfTries, ...]:
    most = max((tally.n for tally in tallies.values()), default=0)
    if most < 2:
        return ()
    from evenhand.stats.tallies import of_tries  # noqa: PLC0415 (only for runs with repeats)

    units = list(together(tallies.items(), run.groups()[variant]))
    numbers = range(1 if each_k else most, most + 1)
    tries = (result for k in numbers if (result := of_tries(units, k)))
    if not run.meta.ended_early:
        return tuple(tries)
    return tuple(
        replace(
            one,
            once=allowing_for_looks(one.once, one.clusters),
            always=allowing_for_looks(one.always, one.clusters),
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
        cases = (
            sums_in(sums.scores_by_case(variant.index), groups)
            if groups
            else sums.scores(variant.index)
        )
        means.append(mean_in(run.meta, mean_of(cases, scale)))
    return means


def latencies(run: RunFile) -> list[Mean | None]:
    """The mean latency of each column, in seconds; None for a column that was not asked."""
    sums = run.sums()
    means: list[Mean | None] = []
    for variant, groups in zip(run.meta.variants, run.groups(), strict=True):
        cases = (
            sums_in(sums.latencies_by_case(variant.index), groups)
            if groups
            else sums.latencies(variant.index)
        )
        means.append(mean_in(run.meta, mean_of(cases, floor=0.0)))
    return means


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
    each = rates(run), run.by_variant(), scores(run), latencies(run), run.full_costs()
    for name, rate, totals, score, latency, cost in zip(names, *each, strict=True):
        yield (
            name,
            f"{rate.passed:,}/{rate.trials:,}",
            str(rate),
            rate.reach,
            mean_cell(score),
            mean_cell(latency, seconds, ""),
            paid(cost, scripted=run.meta.is_scripted, calls=totals.calls),
            f"{totals.errors:,}",
        )


def hundredths(value: float, digits: int = 2, *, end: bool = False) -> str:
    """A score for a table, rounded as rates are: `0.89` where they say `89 %`; as a whole number only if it is one.

    >>> hundredths(0.885), hundredths(0.0003), hundredths(0.9996), hundredths(1.0, 4), hundredths(-1e-17)
    ('0.89', '0.0003', '0.9996', '1.00', '0.00')

    Args:
        digits: So many after the point, of which zeros at the end are left out, but for two.
        end: It is the end of an interval, which may be rounded to a whole number.
    """
    if abs(value) >= _LONG:
        return number(value)
    text = rounded(value, digits) if end else unlike_whole(value, digits)
    whole, point, rest = text.partition(".")
    return f"{whole}{point}{rest.rstrip('0'):0<2}" if point else whole


def score_digits(low: float | None, high: float | None) -> int:
    """How many digits after the point a score has beside its interval.

    Two, and with a narrow one so many that neither its ends nor the score and the end of a scale look alike.
    """
    width = 0.0 if low is None or high is None else high - low
    if not RESIDUE < width < _NARROW:
        return 2
    return max(3, math.ceil(1 - math.log10(width)))


class Mean(Record, frozen=True):
    """A mean over cases, each of which counts once, in its own unit.

    Attributes:
        value: Over the trials that have one.
        low: The lower end of its 95 % interval, had all errors been as low as can be; None where it is not known.
        high: The upper end, had they been as high as can be.
        cases: How many cases, or clusters of them, have a value.
        on_scale: Whether the interval is that of a known scale, and so lies on it; otherwise it is Student's.
        ends: The lowest and the highest mean that errors leave possible, as those of the interval; None without errors.
            Both are NaN where an error may have had any value.
    """

    value: float
    low: float | None
    high: float | None
    cases: int
    on_scale: bool = False
    ends: tuple[float, float] | None = None

    @property
    def known(self) -> float | None:
        """The mean as one number; None where errors leave it open."""
        return self.value if self.ends is None or self.ends[0] == self.ends[1] else None

    @property
    def between(self) -> tuple[float | None, float | None]:
        """The ends between which errors leave it, one number without them; None where they may be any."""
        least, most = self.ends or (self.value, self.value)
        return finite(least), finite(most)

    def cell(self, text: Callable[[float], str] | None, unknown: str) -> str:
        """The mean for a table: `4.67 [3.81–4.95]` on a known scale, otherwise `104 ±8`.

        Where errors leave it open, it is a range as a rate is: `0.50–1.00 [0.09–1.00]`.

        Args:
            text: Writes a number; by default as a score.
            unknown: Stands in the place of an interval that nobody knows.
        """
        digits = score_digits(self.low, self.high)
        end = text or partial(hundredths, digits=digits, end=True)
        text = text or partial(hundredths, digits=digits)
        least, most = map(text, self.ends or (self.value, self.value))
        if self.ends and math.isnan(self.ends[0]):
            return f"{text(self.value)} {UNKNOWN}"
        mean = most if least == most else f"{least}–{most}"
        if self.low is None or self.high is None:
            return mean + unknown
        if self.on_scale or self.ends:
            return f"{mean} [{end(self.low)}–{end(self.high)}]"
        return f"{mean} ±{text(self.high - self.value)}"


UNKNOWN = "±?"
"""Stands behind a mean in the place of an interval that nobody knows."""


def unknown_notes(cells: Iterable[str]) -> list[str]:
    """What the sign for an unknown interval means, where a table has it in one of these cells."""
    note = (
        f"{UNKNOWN}: how far off the mean may be is not known: nor is the metric's scale, and cases are "
        "few, all alike or in error"
    )
    return [note] if any(cell.endswith(UNKNOWN) for cell in cells) else []


def mean_cell(
    mean: Mean | None, text: Callable[[float], str] | None = None, unknown: str = f" {UNKNOWN}"
) -> str:
    """A mean for a table; a dash for none. Arguments as `Mean.cell` has them."""
    return "–" if mean is None else mean.cell(text, unknown)


def known_scale(declared: Scale | None, least: float, most: float) -> Scale | None:
    """The lowest and the highest value a metric can have; None where nobody knows.

    That is what its scorers say. Values that all lie between 0 and 1 are taken to be on that scale, and values some of
    which lie there and the others on the scale that scorers say to be on a scale that holds both.

    Args:
        declared: What the scorers say, if any does.
        least: The lowest value there is.
    """
    # Some scorers of a metric may say their scale while others, from 0 to 1, say nothing.
    either = declared and (min(declared[0], SHARES[0]), max(declared[1], SHARES[1]))
    for scale in (declared, SHARES, either):
        if scale and scale[0] <= least and most <= scale[1]:
            return scale
    return None


def mean_of(
    cases: Iterable[OfCase], scale: Scale | None = None, *, floor: float | None = None
) -> Mean | None:
    """A mean over cases with its interval, 95 %; None where no trial has a value.

    On a known scale a trial in error may have had any value on it. Otherwise it may have had any that a case has, and
    of fewer than FEWEST cases, or of such as are all alike, nobody knows how far off the mean may be.

    Args:
        cases: For each case, or cluster of cases, the sum over its trials, how many have a value, and how many are in
            error.
        scale: The lowest and the highest value there can be; None where nobody knows.
        floor: The lowest alone, where there is no highest: seconds, dollars and words begin at 0.
    """
    from evenhand.stats.paired_difference import FEWEST  # noqa: PLC0415 (a run of checks alone has no mean)

    sums = _Sums(cases)
    means = sums.means()
    if not means:
        return None
    value, n = math.fsum(means) / len(means), len(means)
    ends = scale or (min(means), max(means))
    # A million floats, of which nothing is needed from here on.
    del means
    broken = any(sums.errors)
    # Student's interval of values that are all alike has no width: it would claim to be sure.
    if scale is None and (n < FEWEST or ends[0] == ends[1]):
        return Mean(value, None, None, n, ends=(math.nan, math.nan) if broken else None)
    interval = mean_of_sums if scale is None else partial(mean_on_scale, scale=scale)
    least = interval(sums.units(ends[0]))
    # Without errors both are the same, and the second costs as much as the first.
    most = interval(sums.units(ends[1])) if broken else least
    low = least and least[1]
    if low is not None and floor is not None:
        low = max(floor, low)
    open_ = (sums.mean(ends[0]), sums.mean(ends[1])) if broken else None
    return Mean(value, low, most and most[2], n, scale is not None, open_)


class _Sums:
    """The sums of cases that have a value, or may have one. Arrays: a large run has a million of them."""

    def __init__(self, cases: Iterable[OfCase]) -> None:
        self.totals, self.values, self.errors = array("d"), array("d"), array("d")
        rest = iter(cases)
        while chunk := list(islice(rest, _AT_ONCE)):
            totals, values, errors = zip(*chunk, strict=True)
            known = [*map(add, values, errors)]
            self.totals.extend(compress(totals, known))
            self.values.extend(compress(values, known))
            self.errors.extend(compress(errors, known))

    def means(self) -> array[float]:
        """The mean of each case that has a value."""
        have = self.values
        return array("d", map(truediv, compress(self.totals, have), compress(have, have)))

    def mean(self, end: float) -> float:
        """The mean over the cases, errors having this value."""
        return math.fsum(mean for mean, _ in self.units(end)) / len(self.totals)

    def units(self, end: float) -> Iterator[tuple[float, int]]:
        """Each case's mean, its errors having this value, and its weight."""
        if not any(self.errors):
            return zip(map(truediv, self.totals, self.values), repeat(1), strict=False)
        each = zip(self.totals, self.values, self.errors, strict=True)
        return (((total + errors * end) / (values + errors), 1) for total, values, errors in each)
