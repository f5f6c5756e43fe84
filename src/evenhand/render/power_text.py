"""How many cases, repeats and labels a question takes, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator

from evenhand.analysis.gates.gate_rule import STEADY, VARYING, fewest_cases
from evenhand.analysis.summaries.variance_shares import REPEAT_SHOWS_IT, cost_words, shares_in_words
from evenhand.analysis.trust.power import ALIKE, JudgeWorth, Power
from evenhand.analysis.trust.power_document import PowerSample, PowerWording
from evenhand.core.wording.words import count, in_points, percent, rounded, safe, share_words
from evenhand.stats.variance_parts import FEWEST_UNITS


def lines(power: Power) -> Iterator[str]:
    """The answers in words."""
    pilot = power.pilot
    size = in_points(f"{power.difference * 100:g}")
    if pilot.eval:
        yield f"of the run's evals, this is about the first, {safe(pilot.eval)}; run another alone to ask about it"
    yield (
        f"{count(power.cases, 'case')} show a difference of {size} (--difference) four times in five, "
        f"if two variants disagree on {percent(power.differing)} of them{_basis(power)}"
    )
    steady = count(fewest_cases(power.difference), "cluster" if pilot.clusters else "case")
    yield f"  that is for {VARYING}; for {STEADY}, a gate with --margin {power.difference:g} needs {steady}"
    ends = power.cases_range
    if ends is not None and ends[0] != ends[1]:
        yield f"  between {ends[0]:,} and {ends[1]:,}, as far as the run can tell how alike they are"
    changes = power.changes()
    if len({change.cases for change in changes}) > 1:
        words = ("a drop", "a rise")
        each = zip(words, changes, strict=True)
        yield "  " + ", ".join(f"{w} to {percent(c.to)}: {c.cases:,}" for w, c in each)
    if power.rests_on_correlation:
        each = power.by_correlation()
        yield "  if their verdicts correlate at " + ", ".join(f"{r:g}: {n:,}" for r, n in each)
    if pilot.clusters:
        yield f"  cases belong together as in the run: {power.effect:.1f} times as many as of independent ones"
    if pilot.cases:
        smallest = power.could_show
        times = f" × {pilot.repeats:.2g} repeats" if pilot.repeats > 1 else ""
        inside = f" in {count(pilot.clusters, 'cluster')}" if pilot.clusters else ""
        cases = f"{count(pilot.cases, 'case')}{inside}{times}, as the run has,"
        if smallest is not None:
            points = rounded(smallest * 100, 0 if pilot.cases < 500 else 1)
            # `compare` knows which cases differ: of runs that hardly do, it says less.
            basis = (
                " (by that assumption; compare counts the cases that do differ)"
                if pilot.pair is None
                else ""
            )
            yield f"{cases} can show a difference of {in_points(points)}{basis}"
        else:
            few = "is too few" if pilot.cases == 1 else "are too few"
            rate = percent(pilot.rate)
            yield f"{cases} {few} to show any change of its pass rate, {rate}, four times in five"
    for k, cases in power.repeats():
        yield f"  with {count(k, 'repeat')}: {count(cases, 'case')}, {cases * k:,} trials"
    yield from _least(power)
    if pilot.sample is not None:
        yield _sample_line(pilot.sample)
    yield from _uncertainty(power)
    for judge in pilot.judges:
        yield _label_line(power, judge)


def _least(power: Power) -> Iterator[str]:
    """What shows the difference at the least cost."""
    least = power.least()
    if least is None:
        return
    cost = cost_words(least.calls, least.cost_usd)
    repeats = "no repeats" if least.repeats == 1 else count(least.repeats, "repeat")
    more = f", {least.more:,} more than the run has" if least.more and power.pilot.cases else ""
    price = f": {cost} for two variants" if cost else ""
    yield f"at the least cost: {count(least.cases, 'case')}{more}, {repeats}{price}"


def _sample_line(sample: PowerSample) -> str:
    """How many cases a gate has to run."""
    margin = in_points(f"{sample.margin * 100:g}")
    every = count(sample.of, "case")
    if sample.cases is None:
        return (
            f"against the baseline, all {every} pass an unchanged system four times in five only with a margin of"
            f" {rounded(sample.least_margin * 100, 1)} points, not with {margin}"
        )
    how = f"--sample {sample.cases}" if sample.cases < sample.of else "without --sample"
    return (
        f"against the baseline, a gate with --margin {sample.margin:g} {how} passes an unchanged system four times in"
        f" five: {sample.cases:,} of {every}, once each"
    )


def _uncertainty(power: Power) -> Iterator[str]:
    """What the uncertainty comes from, as far as the runs show it."""
    pilot = power.pilot
    of = "the first two variants' difference" if pilot.measured else "the pass rate"
    if pilot.parts and pilot.within is not None:
        yield f"sources of uncertainty of {of}: {shares_in_words(pilot.parts)} of the variance"
    elif pilot.parts:
        yield (
            f"no case was repeated, so how much of the uncertainty comes from repeats is unknown: {REPEAT_SHOWS_IT}"
        )
    elif pilot.spread is not None:
        yield f"all these cases had the same result, so the sources of uncertainty of {of} are unknown"
    elif pilot.cost is not None:
        yield f"with fewer than {FEWEST_UNITS} cases or clusters, the sources of uncertainty of {of} are unknown"
    for judge in pilot.again:
        another = 2 * judge.variance
        yield (
            f"{safe(judge.metric)}: {safe(judge.model)}, asked again about the same output, gives another verdict in "
            f"{share_words(another, another, 2 * judge.low, min(1.0, 2 * judge.high))} of pairs"
        )
    if pilot.judges and not pilot.again:
        yield (
            "how much the judge varies is unknown: judge the outputs again (evenhand regrade --no-cache), and name "
            "both runs"
        )
    if pilot.wording is not None:
        yield _wording_line(pilot.wording)


def _wording_line(wording: PowerWording) -> str:
    what = "prompt" if wording.of == "prompt" else "judge's prompt"
    low, value, high = (
        100 * min(1.0, math.sqrt(each)) for each in (wording.low, wording.variance, wording.high)
    )
    left = f", {count(wording.left_out, 'case')} left out" if wording.left_out else ""
    return (
        f"another wording of the {what} moves the pass rate by about {rounded(value, 1)} points "
        f"[{rounded(low, 1)}–{rounded(high, 1)}], which more cases don't change "
        f"({count(wording.wordings, 'wording')} × {count(wording.cases, 'case')}{left})"
    )


def _basis(power: Power) -> str:
    """What the share on which they disagree rests on, in words."""
    if not power.rests_on_correlation:
        return ""
    pilot = power.pilot
    alike = f"correlation {pilot.alike_or_assumed:.2f}"
    if pilot.measured and pilot.alike is not None:
        return f" ({alike}, measured)"
    if pilot.alike is not None and pilot.alike < ALIKE:
        return f" ({alike}: repeats of one variant are no more alike)"
    return f" ({alike}, assumed)"


def _label_line(power: Power, judge: JudgeWorth) -> str:
    name = f"{safe(judge.metric)}: " if judge.metric else ""
    size = in_points(f"±{power.half_width * 100:g}")
    labels, alone = power.labels(judge)
    unit = "cluster" if power.pilot.clusters else "case"
    if labels is None and judge.repeated:
        return (
            f"{name}even a label for each of {count(judge.cases or 0, f'judged {unit}')} doesn't give {size}: "
            f"judge more {unit}s"
        )
    if labels is None:
        return (
            f"{name}even a label for each of {count(judge.judged or 0, 'judged output')} doesn't give {size}: "
            "judge more outputs"
        )
    each = f", each of another {unit}," if judge.repeated else ""
    give = "gives" if labels == 1 else "give"
    if judge.rho2 is None:
        return (
            f"{name}{count(labels, 'label')}{each} {give} {size}, fewer if the judge is good; "
            "30 labels tell how good it is"
        )
    return (
        f"{name}{count(labels, 'label')}{each} {give} {size} with this judge (ρ² {judge.rho2:.2f}), "
        f"{alone:,} without it"
    )
