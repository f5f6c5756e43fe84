"""What people say of judged outputs: what most of them say of each, and on how many they are split."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from evenhand.analysis.trust.judgements.judged import Item, JudgedMetric
from evenhand.analysis.trust.judgements.strata import strata_of, uneven, uniform_first
from evenhand.analysis.trust.labelled_cases import weights_of
from evenhand.stats.split_labels import SplitItem, SplitShare, split_share
from evenhand.store.labels.draw import Draw, MetricLabel
from evenhand.store.labels.stored_draws import standing_labels
from evenhand.store.runfile import RunFile

LabelsOfItem = Mapping[str, MetricLabel]
"""By person what they say of an output."""


def peoples_verdicts(run: RunFile, metric: JudgedMetric) -> dict[Item, bool]:
    """What most people say of each item of a metric that a uniform draw holds, without items on which they are split.

    Labels of another draw, and of later ones, would have to be weighted: they are left out.
    """
    draws = uniform_first(run.draws(), metric.metric)
    of_items = labels_of(metric, standing_labels(run.metric_labels()))
    return {item: ok for item, ok in verdicts_on(metric, draws, of_items).items() if ok is not None}


def labels_of(
    metric: JudgedMetric, labels: Mapping[tuple[int, str], LabelsOfItem]
) -> dict[Item, LabelsOfItem]:
    """What each person says of the items of a metric, of those that have labels."""
    return {
        item: labels[item.index, metric.metric]
        for item in metric.items
        if (item.index, metric.metric) in labels
    }


def verdicts_on(
    metric: JudgedMetric, draws: Sequence[Draw], of_items: Mapping[Item, LabelsOfItem]
) -> dict[Item, bool | None]:
    """What most people say of each labelled item of some draws; None where they are split."""
    drawn = {place for draw in draws if metric.metric in draw.metrics for place in draw.places}
    return {item: _majority(of_item) for item, of_item in of_items.items() if item.index in drawn}


def _majority(labels: LabelsOfItem) -> bool | None:
    # An even split is no verdict of people's.
    passes = sum(label.verdict == "pass" for label in labels.values())
    return None if passes * 2 == len(labels) else passes * 2 > len(labels)


def split_on(
    metric: JudgedMetric, draws: Sequence[Draw], verdicts: Mapping[Item, bool | None]
) -> SplitShare | None:
    """On how many of all items people are split, by the labelled ones; None for none."""
    strata = strata_of(draws, metric.metric) if uneven(draws, metric.metric) else None
    weight = weights_of(verdicts, metric.items, strata)
    return split_share([SplitItem(i.unit, ok is None, weight(i)) for i, ok in verdicts.items()])


def split_by_variant(
    metric: JudgedMetric, draws: Sequence[Draw], verdicts: Mapping[Item, bool | None]
) -> dict[int, SplitShare]:
    """On how many of the outputs of each variant they are split, of those variants that have some."""
    shares: dict[int, SplitShare] = {}
    for variant in sorted({item.variant for item, ok in verdicts.items() if ok is None}):
        own = {item: ok for item, ok in verdicts.items() if item.variant == variant}
        alone = JudgedMetric(
            metric=metric.metric, model=metric.model, items=metric.of_variant(variant)
        )
        if (share := split_on(alone, draws, own)) is not None:
            shares[variant] = share
    return shares


def split_items(verdicts: Mapping[Item, bool | None]) -> Collection[Item]:
    """The items on which people are split."""
    return {item for item, ok in verdicts.items() if ok is None}
