"""How far a judge and people agree on the labelled items, and what that says of all items."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from evenhand.analysis.trust.judgements.judged import Item, JudgedMetric, verdicts_of
from evenhand.analysis.trust.judgements.strata import (
    Key,
    is_undrawn,
    strata_of,
    uneven,
    weights,
)
from evenhand.analysis.trust.labelled_cases import case_labels, effects_of
from evenhand.analysis.trust.probabilities import (
    ProbabilityCalibration,
    graded,
    probability_calibration,
)
from evenhand.core.document import filled
from evenhand.core.record import Record
from evenhand.stats.agreement import ac1, kappa
from evenhand.stats.correction import (
    Estimate,
    Verdicts,
    corrected_rate,
    drawn_at_random,
    replaced_share,
)
from evenhand.stats.design_effect import CaseLabel, DesignEffects, share_effect
from evenhand.stats.interval import clopper_pearson
from evenhand.stats.weighted import Weighted, corrected_by_strata
from evenhand.store.labels.draw import Draw


class AgreementStatistics(Record, frozen=True, kw_only=True):
    """How far a judge and people agree, in one number each: keys of judges and of rankings in documents.

    A statistic is declared here: its field, what computes it, and how texts have it. For labels of an uneven draw,
    `Weighted` has an attribute of the same name.

    Attributes:
        kappa: Agreement beyond chance; None where it is not defined.
        ac1: The same by Gwet.
        rho2: The share of labels that the judge replaces; None where it is not defined.
    """

    kappa: float | None
    ac1: float | None
    rho2: float | None

    @classmethod
    def of_pairs(
        cls,
        pairs: Sequence[tuple[float, float]],
        shares: Sequence[tuple[float, float]] | None = None,
    ) -> AgreementStatistics:
        """The statistics of items that count alike.

        Args:
            pairs: What people and what the judge say of each item.
            shares: The same, where the judge says something in between; `pairs` by default.
        """
        return AgreementStatistics(
            kappa=kappa(pairs),
            ac1=ac1(pairs),
            rho2=replaced_share(pairs if shares is None else shares),
        )

    @property
    def beyond_chance(self) -> str:
        """Agreement beyond chance, as texts have it: `0.64 κ, 0.74 AC1`."""
        return f"{coefficient(self.kappa)} κ, {coefficient(self.ac1)} AC1"


def coefficient(value: float | None) -> str:
    """A coefficient of agreement, as texts have it."""
    return "–" if value is None else f"{value:.2f}"


class Agreement(AgreementStatistics, frozen=True, kw_only=True):
    """How far a judge and people agree. All but `verdicts` and `random_p` hold for all items, drawn or not.

    Attributes:
        tpr: Of what people pass, the share that the judge passes; None where they pass nothing.
        tnr: Of what people fail, the share that the judge fails; None where they fail nothing.
        corrected: The rate that people would have found; None without labels, and with labels of too few cases.
        random_p: How likely a random draw would be to look like the labels; None without labels.
        weighted: What the labels say once each counts by how likely it was to be drawn; None for uniform draws.
        weighted_by_variant: The same of each variant that has labels; empty for uniform draws.
        effects: By how much less the labels say because trials of one case go together.
        labelled: The labels of each variant, with their cases.
        probabilities: What its probabilities are worth; None for a judge that gives none, and for uneven draws.
    """

    verdicts: Verdicts
    tpr: Estimate | None
    tnr: Estimate | None
    corrected: Estimate | None
    random_p: float | None
    weighted: Weighted | None
    weighted_by_variant: Mapping[int, Weighted]
    effects: DesignEffects
    labelled: Mapping[int, Sequence[CaseLabel]]
    probabilities: ProbabilityCalibration | None = None


def agreement(
    metric: JudgedMetric, people: Mapping[Item, bool], draws: Sequence[Draw]
) -> Agreement:
    """How far a judge agrees with people.

    Args:
        people: People's on drawn items.
    """
    v = verdicts_of(metric.items, people)
    agrees = _agreement(metric, people, draws, v)
    if v.labels and is_undrawn(draws, metric.metric, metric.items):
        return replace(agrees, random_p=0.0)
    return agrees


def _agreement(
    metric: JudgedMetric, people: Mapping[Item, bool], draws: Sequence[Draw], v: Verdicts
) -> Agreement:
    # Outputs that were likelier to be drawn would count for too much: each label is weighted.
    if v.labels and uneven(draws, metric.metric):
        return _of_strata(metric, people, v, strata_of(draws, metric.metric))
    drawn = v.both_pass + v.excused, v.labels
    labels = case_labels(people)
    effects = effects_of(metric.items, labels, same_trials=True)
    by_probability = graded(metric.items, labels, effects)
    corrected = corrected_rate(v, effects=effects) if by_probability is None else by_probability[0]
    return filled(
        Agreement,
        AgreementStatistics.of_pairs(v.pairs),
        verdicts=v,
        tpr=rate_of(v.both_pass, v.both_pass + v.missed, effects.tpr),
        tnr=rate_of(v.both_fail, v.both_fail + v.excused, effects.tnr),
        corrected=corrected,
        probabilities=by_probability and probability_calibration(labels, by_probability.explained),
        random_p=drawn_at_random(drawn, (v.passed, v.items)) if v.labels else None,
        weighted=None,
        weighted_by_variant={},
        effects=effects,
        labelled={
            variant: case_labels(own) for variant, own in _by_variant(metric.items, people).items()
        },
    )


def rate_of(successes: int, n: int, effect: float = 1.0) -> Estimate | None:
    """A rate with its exact interval; None for none.

    Args:
        successes: How many of `n`.
        n: How many in all.
        effect: How many say as much as one that is a case of its own.
    """
    if not n:
        return None
    return Estimate(successes / n, *clopper_pearson(successes / effect, n / effect))


def apart_by(tpr: Estimate, tnr: Estimate) -> tuple[float, float]:
    """How well a judge tells good outputs from bad ones, TPR + TNR − 1, and its lower end.

    The two rates come from different outputs, so their errors add up as squares do (Newcombe's way).
    """
    apart = tpr.value + tnr.value - 1
    return apart, apart - math.hypot(tpr.value - tpr.low, tnr.value - tnr.low)


def tells_apart(verdicts: Sequence[tuple[bool, bool]]) -> bool:
    """Whether a judge is shown to tell good outputs from bad ones, by its verdicts and people's."""
    passes = [passed for passed, good in verdicts if good]
    fails = [not passed for passed, good in verdicts if not good]
    tpr, tnr = rate_of(sum(passes), len(passes)), rate_of(sum(fails), len(fails))
    return tpr is not None and tnr is not None and apart_by(tpr, tnr)[1] > 0


def share_of(verdicts: Sequence[tuple[str, bool]]) -> Estimate:
    """The share of labelled outputs that count, with its exact interval; outputs of a case go together.

    Args:
        verdicts: Each output, one at least: its case, and whether it counts.
    """
    right, n, effect = sum(ok for _, ok in verdicts), len(verdicts), share_effect(verdicts)
    return Estimate(right / n, *clopper_pearson(right / effect, n / effect))


def _of_strata(
    metric: JudgedMetric, people: Mapping[Item, bool], v: Verdicts, strata: Callable[[int], Key]
) -> Agreement:
    of_all = case_labels(people, metric.items, strata)
    effects = effects_of(metric.items, of_all, same_trials=True)
    whole, random_p = weights(metric.items, people, strata, effects)
    by_variant: dict[int, Weighted] = {}
    labels: dict[int, Sequence[CaseLabel]] = {}
    for variant, own in _by_variant(metric.items, people).items():
        items = metric.of_variant(variant)
        by_variant[variant], _ = weights(items, own, strata)
        labels[variant] = case_labels(own, items, strata)
    return filled(
        Agreement,
        whole,
        verdicts=v,
        corrected=corrected_rate(v, effects=effects)
        if v.whole
        else corrected_by_strata(whole.uniform, v.passed, v.items, effects=effects),
        random_p=random_p,
        weighted=whole,
        weighted_by_variant=by_variant,
        effects=effects,
        labelled=labels,
        probabilities=None,
    )


def _by_variant(items: Sequence[Item], people: Mapping[Item, bool]) -> dict[int, dict[Item, bool]]:
    """People's verdicts of each variant that has some."""
    return {
        variant: {
            item: people[item] for item in items if item.variant == variant and item in people
        }
        for variant in sorted({item.variant for item in people})
    }
