"""Selective verdicts: the judge decides where it is sure enough, and the rest is for a person."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence

from evenhand.analysis.trust.calibration_document import CalibrationSelective
from evenhand.analysis.trust.cascades import (
    at_risk,
    is_right,
    missing_words,
    one_of_each,
    split_words,
)
from evenhand.analysis.trust.judgements.judged import Item, JudgedMetric, certainties, judgements
from evenhand.analysis.trust.judgements.strata import uneven, uniform_of
from evenhand.analysis.trust.labels.drawing import DrawnItem
from evenhand.analysis.trust.labels.peoples_verdicts import peoples_verdicts
from evenhand.core.cascade import JOINS
from evenhand.core.document import filled
from evenhand.core.record import Record
from evenhand.core.wording.words import count, percent, safe, short_id
from evenhand.stats.cascading import DELTA, JudgedTwice, labels_needed, limits_of
from evenhand.store.labels.draw import Draw
from evenhand.store.labels.stored_draws import standing_labels
from evenhand.store.runfile import RunFile


class SelectiveVerdicts(Record, frozen=True, kw_only=True):
    """What one judge may decide under one metric.

    Attributes:
        model: The judge, as its answers named it.
        risk: The share of accepted verdicts that may be wrong.
        units: How many cases or clusters they are of.
        clustered: Whether cases belong together: each cluster counts once.
        labels: How many outputs of the draws are labelled, one of each case or cluster.
        missing: How many are not yet.
        wrong: How many of the labelled ones people disagree with, or are split on.
        split: How many of these people are split on.
        threshold: How sure a verdict has to be that stands; None where none may.
        accepted: How many may stand.
        labelled: How many of these are labelled.
        labelled_wrong: How many of those people disagree with, or are split on.
        uneven: Whether labels are left out, as they are no uniform draw.
        for_people: The trials whose verdicts cannot, as places in the plan, the least sure first.
    """

    metric: str
    model: str
    risk: float
    items: int
    units: int
    clustered: bool
    labels: int
    missing: int
    wrong: int
    split: int
    threshold: float | None
    accepted: int
    labelled: int
    labelled_wrong: int
    for_people: tuple[int, ...]
    uneven: bool = False

    def line(self) -> str:
        """What the judge may decide, in words."""
        risk = f"at a risk of {self.risk * 100:g} %"
        if self.threshold is not None:
            rest = self.items - self.accepted
            left = (
                f"{count(rest, 'output')} {'is' if rest == 1 else 'are'} for a person"
                if rest
                else "none is left for a person"
            )
            return (
                f"decides {self.accepted:,} of {count(self.items, 'output')}"
                f" {at_risk(self.risk, clustered=self.clustered)}; {left}"
            )
        if self.labels == 0:
            fewest = labels_needed(self.risk) or 0
            takes = f"that takes {fewest:,} labels{self._kind} or more"
            return f"decides nothing {risk} yet: {takes}{self._more_cases(fewest)}"
        needed = labels_needed(self.risk, self.wrong / self.labels)
        if needed is None:
            or_split = "or are split on " if self.split else ""
            return (
                f"decides nothing {risk}: people disagree with {or_split}{percent(self.wrong / self.labels)} of "
                f"{count(self.labels, 'labelled verdict')}{self._kind}; label more, or accept a higher risk"
            )
        about = f"that takes about {needed:,} labels{self._kind}, not {self.labels:,}"
        return f"decides nothing {risk} yet: as it stands, {about}{self._more_cases(needed)}"

    @property
    def notes(self) -> list[str]:
        """What labels that are missing count as, and those on which people are split."""
        notes = [missing_words(self.missing)] if self.missing and self.labels else []
        return [*notes, *([split_words(self.split)] if self.split else [])]

    def _more_cases(self, needed: int) -> str:
        """That so many labels take more cases or clusters than there are; empty where they don't."""
        if needed <= self.units:
            return ""
        of = "cluster" if self.clustered else "output" if self.units == self.items else "case"
        there = f"there {'is' if self.units == 1 else 'are'} {count(self.units, of)}"
        add = "clusters" if self.clustered else "cases"
        return f"; {there}, so add {add}, or accept a higher risk"

    @property
    def _kind(self) -> str:
        """What labels count, where not all do."""
        different = (
            ""
            if self.units == self.items
            else f" of different {'clusters' if self.clustered else 'cases'}"
        )
        return f"{different} of a uniform draw" if self.uneven else different

    def row(self) -> CalibrationSelective:
        """What the judge may decide, in the keys of `evenhand.calibration/1`."""
        return filled(CalibrationSelective, self, confidence=1 - DELTA, wrong=self.labelled_wrong)


def selective_verdicts(run: RunFile, risk: float) -> dict[tuple[str, str], SelectiveVerdicts]:
    """What each judge may decide, by metric and judge.

    Args:
        run: The run, with labels of a draw.
        risk: The share of accepted verdicts that may be wrong, between 0 and 1.

    Raises:
        ValueError: The risk isn't between 0 and 1.
        StoreError: The run cannot be read.
    """
    judged, draws = judgements(run, verdicts_only=True), run.draws()
    labels = standing_labels(run.metric_labels()).keys()
    return {
        key: _selected(metric, peoples_verdicts(run, metric), draws, risk, labels)
        for key, metric in judged.metrics.items()
        if metric.items
    }


def items_for_people(run: RunFile, risk: float, metrics: Sequence[str] = ()) -> list[DrawnItem]:
    """The outputs whose verdicts cannot stand, the least sure first, without those of a draw.

    Verdicts that stand by a cascade's limits do so at its risk: without labels of this run, nothing speaks against it.

    Args:
        risk: The share of accepted verdicts that may be wrong, between 0 and 1.
        metrics: Only these; all where there are none.

    Raises:
        StoreError: The run cannot be read.
    """
    drawn = {place for draw in run.draws() for place in draw.places}
    items: list[DrawnItem] = []
    judged = judgements(run, verdicts_only=True).metrics
    for key, verdicts in selective_verdicts(run, risk).items():
        if metrics and verdicts.metric not in metrics:
            continue
        if not verdicts.labels and _stands_by_limits(judged[key], risk):
            continue
        places = [place for place in verdicts.for_people if place not in drawn]
        items += [DrawnItem.of(run, trial, verdicts.metric) for trial in run.at(places)]
    for metric in judged.values():
        if metric.undecided and (not metrics or metric.metric in metrics):
            places = [place for place in metric.undecided if place not in drawn]
            items += [DrawnItem.of(run, trial, metric.metric) for trial in run.at(places)]
    return items


def _stands_by_limits(metric: JudgedMetric, risk: float) -> bool:
    """Whether all verdicts stand by the limits of a cascade that accepts no more risk."""
    return JOINS in metric.model and all(
        item.stages is not None and item.stages.risk <= risk for item in metric.items
    )


def _selected(
    metric: JudgedMetric,
    people: Mapping[Item, bool],
    draws: Sequence[Draw],
    risk: float,
    labels: Collection[tuple[int, str]],
) -> SelectiveVerdicts:
    sure = certainties(metric.items)
    split = {
        item
        for item in metric.items
        if item not in people and (item.index, metric.metric) in labels
    }

    def judged(item: Item) -> JudgedTwice:
        right = is_right(item, item.passed, people, split)
        return JudgedTwice(first=None, then=sure[item], then_right=right)

    own_of = list(one_of_each(uniform_of(draws, metric.metric), metric.items))
    drawn = [[judged(item) for item in own] for own in own_of]
    everything = [judged(item) for item in metric.items]
    limits = limits_of(drawn, everything, risk)
    threshold = None if limits is None else limits.then
    labelled = [one for own in drawn for one in own if one.then_right is not None]
    standing = [one for one in labelled if threshold is not None and one.then >= threshold]
    left = sorted(
        (item for item in metric.items if threshold is None or sure[item] < threshold),
        key=lambda item: (sure[item], item.index),
    )
    return SelectiveVerdicts(
        metric=metric.metric,
        model=metric.model,
        risk=risk,
        items=len(metric.items),
        units=len({item.unit for item in metric.items}),
        clustered=any(item.cluster for item in metric.items),
        labels=len(labelled),
        missing=sum(map(len, drawn)) - len(labelled),
        wrong=sum(not one.then_right for one in labelled),
        split=sum(item in split for own in own_of for item in own),
        threshold=threshold,
        accepted=len(metric.items) - len(left),
        labelled=len(standing),
        labelled_wrong=sum(not one.then_right for one in standing),
        for_people=tuple(item.index for item in left),
        uneven=bool(uneven(draws, metric.metric)),
    )


def lines_of(verdicts: SelectiveVerdicts, run: str) -> list[str]:
    """The lines below a judge's calibration, and the command that opens what is for a person in this run."""
    lines = [f"  {verdicts.line()}"]
    lines += [f"    {note}" for note in verdicts.notes]
    if verdicts.threshold is not None and verdicts.for_people:
        lines.append(
            f"    next: evenhand label {short_id(run)} --unsure {verdicts.risk:g}"
            f" --metric {shlex.quote(safe(verdicts.metric))}"
        )
    return lines
