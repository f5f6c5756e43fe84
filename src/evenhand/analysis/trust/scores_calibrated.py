"""A judge's scores beside people's: how far they agree, and the mean that people would have given all outputs.

The rules, in one place:

- People's scores are those of the label `score`, from 1 to 5, that were given to drawn outputs while the judge's were
  hidden. They are put on the judge's scale: 1 is its lowest score, 5 its highest.
- A score is about an output, not about a metric. It counts for a metric if no other metric with scores was to be
  labelled in the same draw.
- Of several people's scores of one output, the mean counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import atanh, sqrt
from statistics import correlation, fmean

from evenhand.analysis.summaries.rates import known_scale
from evenhand.analysis.trust.calibration_document import (
    CalibrationMeans,
    CalibrationScores,
    random_draw_row,
)
from evenhand.analysis.trust.judgements.judged import Item, JudgedMetric, verdicts_of
from evenhand.analysis.trust.judgements.raw_rates import raw_mean
from evenhand.analysis.trust.judgements.strata import (
    Key,
    drawn_within_strata,
    is_undrawn,
    strata_of,
)
from evenhand.analysis.trust.labelled_cases import case_of, few_cases, rows_of_scores
from evenhand.analysis.trust.trust_rules import SURE, UNLIKELY, estimate_row, not_alike
from evenhand.core.record import Record
from evenhand.core.score import SHARES, Scale
from evenhand.stats.agreement import quadratic_kappa, weighted_tau_b
from evenhand.stats.bounded import mean_by_judge, mean_on_scale
from evenhand.stats.correction import Estimate
from evenhand.stats.design_effect import MeanEffect, ScoreLabel, mean_effect
from evenhand.stats.interval import CONFIDENCE, z_of
from evenhand.stats.paired_scores import (
    PairedScores,
    ScoredStratum,
    half_width_of_mean,
    paired_scores,
    weight_of_judge,
)
from evenhand.store.labels.draw import Draw
from evenhand.store.labels.label import Label, standing

PEOPLES: Scale = (1.0, 5.0)
"""The scale of the label `score`."""
SCORES_ARE_NO_DRAW = (
    "the outputs that people gave scores are not a random draw, so the mean is not corrected: "
    "score all that you label"
)


class JudgedMean(Record, frozen=True):
    """The mean of a judge's scores in one variant, beside its pass rate.

    Attributes:
        scale: The lowest and the highest score there can be.
        raw: As the judge has it, with its interval.
        corrected: As people would have given it; None without people's scores that hold.
        labels: How many of people's scores that rests on.
    """

    scale: Scale
    raw: Estimate
    corrected: Estimate | None
    labels: int


class VariantScores(Record, frozen=True):
    """People's scores of one variant beside the judge's.

    Attributes:
        corrected: The mean that people would have given all of its outputs; None with labels of too few cases.
        effect: By how much less they say because trials of one case go together.
    """

    paired: PairedScores
    corrected: Estimate | None
    labels: Sequence[ScoreLabel]
    effect: MeanEffect

    def row(self) -> CalibrationMeans:
        """What later runs need of the scores, in the keys of `evenhand.calibration/1`."""
        paired = self.paired
        return CalibrationMeans(
            labels=paired.labels,
            free=paired.free,
            people=paired.people,
            judge=paired.judge,
            labelled=rows_of_scores(self.labels),
            spread_people=paired.drawn.people,
            spread_together=paired.drawn.together,
            spread_judge=paired.drawn.judge,
        )


class ScoreCalibration(Record, frozen=True, kw_only=True):
    """One judge's scores under one metric, beside people's.

    Attributes:
        scale: The lowest and the highest score there can be.
        labels: How many outputs people scored that count.
        kappa: Agreement beyond chance with quadratic weights; None where it is not defined.
        tau: Whether the judge puts outputs in people's order, τ_b; None where it is not defined.
        raw: The judge's own mean over all outputs.
        corrected: The mean that people would have given; None where the scored outputs are no random draw.
        random_p: How likely a random draw would be to look like the scored outputs.
        paired: What the labels say; None with fewer than two.
        by_variant: The same of each variant with two or more labels.
        newest: When the last score was given, seconds since 1970.
        effect: By how much less the labels say because trials of one case go together.
    """

    scale: Scale
    labels: int
    kappa: float | None
    tau: float | None
    raw: Estimate
    corrected: Estimate | None
    random_p: float
    paired: PairedScores | None
    by_variant: Mapping[int, VariantScores]
    newest: float
    effect: MeanEffect = MeanEffect()

    def half_width(self, labels: int) -> float | None:
        """About how far the corrected mean can be off with so many labels; None where that is not known."""
        if self.paired is None:
            return None
        # More labels of the same cases go together more.
        effect = 1 + (self.effect.variance - 1) * labels / self.paired.labels
        return half_width_of_mean(self.paired, labels) * effect**0.5

    def row(self) -> CalibrationScores:
        """The calibration of the judge's scores in the keys of `evenhand.calibration/1`."""
        return CalibrationScores(
            scale=self.scale,
            labels=self.labels,
            kappa=self.kappa,
            tau_b=self.tau,
            rho2=self.paired and self.paired.rho2,
            raw=self.raw._asdict(),
            corrected=estimate_row(self.corrected),
            random_draw=random_draw_row(self.random_p),
        )

    @property
    def warnings(self) -> list[str]:
        """What to keep in mind, a line each."""
        if self.random_p < UNLIKELY:
            return [SCORES_ARE_NO_DRAW]
        if self.effect.too_few:
            return [f"the mean is not corrected: {few_cases(self.effect)}"]
        return []


def peoples_scores(labels: Iterable[Label]) -> dict[int, dict[str, Label]]:
    """People's scores by place in the plan and author: those given without the judge's in sight."""
    scores: dict[int, dict[str, Label]] = {}
    for index, each in standing(labels).items():
        if own := {one.author: one for one in each if one.field == "score" and one.blind}:
            scores[index] = own
    return scores


def scored_metrics(metrics: Sequence[JudgedMetric]) -> frozenset[str]:
    """The metrics under which a judge gives scores, and not only passes and fails."""
    return frozenset(metric.metric for metric in metrics if scale_of(metric) is not None)


def calibrate_scores(
    metric: JudgedMetric,
    scored: frozenset[str],
    draws: Sequence[Draw],
    labels: Mapping[int, Mapping[str, Label]],
) -> ScoreCalibration | None:
    """Holds a judge's scores against people's.

    Args:
        scored: All metrics with scores.
        labels: People's scores, by place and author.

    Returns:
        None where the judge gives no scores, or people gave none that count.
    """
    scale = scale_of(metric)
    if scale is None:
        return None
    alone = {
        place
        for draw in draws
        if {name for name in draw.metrics if name in scored} == {metric.metric}
        for place in draw.places
    }
    items = [item for item in metric.items if item.score is not None]
    people = {
        item: _on_scale(fmean(_number(label) for label in labels[item.index].values()), scale)
        for item in items
        if item.index in alone and item.index in labels
    }
    if not people:
        return None
    strata = _strata(metric, draws, items)
    random_p = drawn_within_strata(
        [
            verdicts_of(own, {item: True for item in own if item in people})
            for own in strata.values()
        ]
    )
    if is_undrawn(draws, metric.metric, items):
        random_p = 0.0
    pairs, weights = _pairs(strata, people)
    whole = _corrected(strata, people, scale)
    return ScoreCalibration(
        scale=scale,
        labels=len(people),
        kappa=quadratic_kappa(pairs, weights),
        tau=weighted_tau_b(pairs, weights),
        raw=raw_mean(items, scale),
        corrected=None if whole is None or random_p < UNLIKELY else whole.corrected,
        random_p=random_p,
        paired=whole and whole.paired,
        by_variant={} if random_p < UNLIKELY else _by_variant(strata, people, scale),
        newest=max(label.at for item in people for label in labels[item.index].values()),
        effect=MeanEffect() if whole is None else whole.effect,
    )


def later_mean(
    paired: PairedScores, items: Sequence[Item], scale: Scale, labels: Sequence[ScoreLabel]
) -> Estimate | None:
    """The mean that people would have given the outputs of a later run, none of which they scored.

    Args:
        items: The judge's, in the later run.
        scale: The lowest and the highest score there can be.
        labels: People's scores with their cases; none where only their sums are known, as a calibration of an earlier
            version has them.

    Returns:
        None without labels, with labels of too few cases, and where the judge's scores aren't shown to rise with
        people's: the mean would be that of the run that was scored.
    """
    scored = [(case_of(item.unit), item.score) for item in items if item.score is not None]
    if not scored or not rise_together(labels):
        return None
    weight = weight_of_judge(paired)
    effect = mean_effect(scored, labels, weight, same_trials=False)
    if effect.too_few:
        return None
    return mean_by_judge(scored, labels, weight, scale)


def mean_has_moved(labels: Sequence[ScoreLabel], items: Sequence[Item], scale: Scale) -> bool:
    """Whether the mean of a judge's scores is another one than on the outputs that people scored, for sure.

    Args:
        labels: People's scores with the judge's; none where only their sums are known.
        items: The judge's, in a later run.
        scale: The lowest and the highest score there can be.
    """
    then = _by_case((one.case, one.judge, one.weight) for one in labels)
    now = _by_case((item.unit, item.score, 1.0) for item in items if item.score is not None)
    before, after = mean_on_scale(then, scale, SURE), mean_on_scale(now, scale, SURE)
    if before is None or after is None:
        return False
    return not_alike(Estimate(*before), Estimate(*after))


def rise_together(labels: Sequence[ScoreLabel]) -> bool:
    """Whether the judge's scores are shown to rise with people's: the 95 % interval of their correlation is above 0.

    Cases count, not outputs: those of a case may be alike. With fewer than four, nothing is shown.

    Source: Fisher's transformation of Pearson's r, whose variance is 1/(n − 3).
    """
    people, judge = [one.people for one in labels], [one.judge for one in labels]
    cases = len({one.case for one in labels})
    if cases < 4 or len(set(people)) < 2 or len(set(judge)) < 2:
        return False
    r = correlation(people, judge)
    return r > 1 - 1e-12 or atanh(max(r, 0.0)) > z_of(CONFIDENCE) / sqrt(cases - 3)


def _corrected(
    strata: Mapping[Key, Sequence[Item]], people: Mapping[Item, float], scale: Scale
) -> VariantScores | None:
    """The mean that people would have given all outputs; None with one label."""
    paired = paired_scores(
        [
            ScoredStratum(len(own), [(people[i], i.score or 0.0) for i in own if i in people])
            for own in strata.values()
        ]
    )
    if paired is None:
        return None
    labels = _labels(strata, people)
    judged = [(case_of(i.unit), i.score or 0.0) for own in strata.values() for i in own]
    effect = mean_effect(judged, labels, weight_of_judge(paired), same_trials=True)
    if effect.too_few:
        return VariantScores(paired, None, labels, effect)
    estimate = mean_by_judge(judged, labels, weight_of_judge(paired), scale)
    return VariantScores(paired, estimate or _alone(labels, scale), labels, effect)


def _alone(labels: Sequence[ScoreLabel], scale: Scale) -> Estimate:
    """The mean of the labels alone; those of a case go together."""
    cases = _by_case((one.case, one.people, one.weight) for one in labels)
    return Estimate(*(mean_on_scale(cases, scale) or (scale[0], *scale)))


def _by_case(scores: Iterable[tuple[str, float, float]]) -> Collection[tuple[float, float]]:
    """Of each case the sum of its scores and its weight, from cases, scores and their weights."""
    cases: dict[str, tuple[float, float]] = {}
    for case, score, each in scores:
        total, weight = cases.get(case, (0.0, 0.0))
        cases[case] = total + score * each, weight + each
    return cases.values()


def scale_of(metric: JudgedMetric) -> Scale | None:
    """The scale of a judge's scores; None where it only passes and fails, or nobody knows the scale."""
    values = [item.score for item in metric.items if item.score is not None]
    if not values:
        return None
    scale = known_scale(metric.scale, min(values), max(values))
    # Only 0 and 1: these are verdicts, which are corrected as such.
    if scale == SHARES and all(value in SHARES for value in values):
        return None
    return scale


def _strata(
    metric: JudgedMetric, draws: Sequence[Draw], items: Sequence[Item]
) -> dict[Key, list[Item]]:
    key = strata_of(draws, metric.metric)
    strata: dict[Key, list[Item]] = {}
    for item in items:
        strata.setdefault(key(item.index), []).append(item)
    return dict(sorted(strata.items()))


def _labels(strata: Mapping[Key, Sequence[Item]], people: Mapping[Item, float]) -> list[ScoreLabel]:
    """The labels with their cases."""
    labelled = [item for own in strata.values() for item in own if item in people]
    pairs, weights = _pairs(strata, people)
    return [
        ScoreLabel(case_of(item.unit), *pair, weight)
        for item, pair, weight in zip(labelled, pairs, weights, strict=True)
    ]


def _pairs(
    strata: Mapping[Key, Sequence[Item]], people: Mapping[Item, float]
) -> tuple[list[tuple[float, float]], list[float]]:
    """People's score and the judge's of each labelled output, and for how many outputs each stands."""
    pairs: list[tuple[float, float]] = []
    weights: list[float] = []
    for own in strata.values():
        labelled = [(people[i], i.score or 0.0) for i in own if i in people]
        pairs += labelled
        weights += [len(own) / len(labelled)] * len(labelled) if labelled else []
    return pairs, weights


def _by_variant(
    strata: Mapping[Key, Sequence[Item]], people: Mapping[Item, float], scale: Scale
) -> dict[int, VariantScores]:
    scores: dict[int, VariantScores] = {}
    for variant in sorted({item.variant for item in people}):
        own = {key: [i for i in items if i.variant == variant] for key, items in strata.items()}
        one = _corrected({key: items for key, items in own.items() if items}, people, scale)
        if one is not None:
            scores[variant] = one
    return scores


def _on_scale(score: float, scale: Scale) -> float:
    """A person's score on the judge's scale."""
    low, high = PEOPLES
    return scale[0] + (score - low) / (high - low) * (scale[1] - scale[0])


def _number(label: Label) -> float:
    return float(label.value) if isinstance(label.value, int | float) else 0.0
