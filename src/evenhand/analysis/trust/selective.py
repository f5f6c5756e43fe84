"""Selective verdicts: the judge decides where it is sure enough, and the rest is for a person."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evenhand.analysis.trust.calibration import peoples_verdicts
from evenhand.analysis.trust.calibration_document import CalibrationSelective
from evenhand.analysis.trust.judgements.judged import Item, JudgedMetric, certainties, judgements
from evenhand.analysis.trust.judgements.strata import in_order, uneven
from evenhand.analysis.trust.labels.drawing import DrawnItem
from evenhand.core.record import Record
from evenhand.core.wording.words import count, percent, safe, short_id
from evenhand.stats.selective import (
    DELTA,
    Acceptance,
    acceptable,
    labels_for_errors,
    labels_for_nothing_wrong,
)
from evenhand.store.runfile import RunFile


class SelectiveVerdicts(Record, frozen=True, kw_only=True):
    """What one judge may decide under one metric.

    Attributes:
        metric: The metric.
        model: The judge, as its answers named it.
        risk: The share of accepted verdicts that may be wrong.
        items: How many verdicts there are.
        labels: How many of them are labelled.
        wrong: How many of these people disagree with.
        acceptance: What can be accepted; None where nothing can.
        uneven: Whether labels are left out, as they are no uniform draw.
        cases: Of how many cases the labelled ones among the accepted verdicts are.
        for_people: The trials whose verdicts cannot, as places in the plan, the least sure first.
    """

    metric: str
    model: str
    risk: float
    items: int
    labels: int
    wrong: int
    acceptance: Acceptance | None
    for_people: tuple[int, ...]
    uneven: bool = False
    cases: int = 0

    def line(self) -> str:
        """What the judge may decide, in words."""
        risk = f"a risk of {self.risk * 100:g} %"
        if self.acceptance is not None:
            rest = self.items - self.acceptance.accepted
            left = (
                f"{count(rest, 'output')} {'is' if rest == 1 else 'are'} for a person"
                if rest
                else "none is left for a person"
            )
            return (
                f"decides {self.acceptance.accepted:,} of {count(self.items, 'output')} at {risk} "
                f"({percent(1 - DELTA)} confidence); {left}"
            )
        if self.labels == 0:
            fewest = labels_for_nothing_wrong(self.risk)
            return f"decides nothing at {risk} yet: that takes {fewest} labels{self._kind} or more"
        needed = labels_for_errors(self.risk, self.wrong / self.labels)
        if needed is None:
            return (
                f"decides nothing at {risk}: people disagree with {percent(self.wrong / self.labels)} of "
                f"{count(self.labels, 'labelled verdict')}{self._kind}; label more, or accept a higher risk"
            )
        about = f"that takes about {needed} labels{self._kind}, not {self.labels}"
        return f"decides nothing at {risk} yet: as it stands, {about}"

    @property
    def note(self) -> str:
        """That it holds for this run alone, where labels are of repeated cases; otherwise empty."""
        acceptance = self.acceptance
        if acceptance is None or self.cases == acceptance.labelled:
            return ""
        return (
            f"this holds for the outputs of this run: the {acceptance.labelled:,} labels among them are of"
            f" {count(self.cases, 'case')}, and say less of other cases"
        )

    @property
    def _kind(self) -> str:
        return " of a uniform draw" if self.uneven else ""

    def row(self) -> CalibrationSelective:
        """What the judge may decide, in the keys of `evenhand.calibration/1`."""
        acceptance = self.acceptance
        return CalibrationSelective(
            risk=self.risk,
            confidence=1 - DELTA,
            accepted=0 if acceptance is None else acceptance.accepted,
            items=self.items,
            threshold=None if acceptance is None else acceptance.threshold,
            labelled=0 if acceptance is None else acceptance.labelled,
            wrong=0 if acceptance is None else acceptance.wrong,
            cases=0 if acceptance is None else self.cases,
        )


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
    return {
        key: replace(
            _selected(metric, in_order(peoples_verdicts(run, metric), draws, metric), risk),
            uneven=bool(uneven(draws, metric.metric)),
        )
        for key, metric in judged.metrics.items()
        if metric.items
    }


def items_for_people(run: RunFile, risk: float, metrics: Sequence[str] = ()) -> list[DrawnItem]:
    """The outputs whose verdicts cannot stand, the least sure first, without those of a draw.

    Args:
        run: The run.
        risk: The share of accepted verdicts that may be wrong, between 0 and 1.
        metrics: Only these; all where there are none.

    Raises:
        StoreError: The run cannot be read.
    """
    drawn = {place for draw in run.draws() for place in draw.places}
    items: list[DrawnItem] = []
    for verdicts in selective_verdicts(run, risk).values():
        if metrics and verdicts.metric not in metrics:
            continue
        places = [place for place in verdicts.for_people if place not in drawn]
        items += [DrawnItem(trial, verdicts.metric, 0.0) for trial in run.at(places)]
    for metric in judgements(run, verdicts_only=True).metrics.values():
        if metric.undecided and (not metrics or metric.metric in metrics):
            places = [place for place in metric.undecided if place not in drawn]
            items += [DrawnItem(trial, metric.metric, 0.0) for trial in run.at(places)]
    return items


def _selected(metric: JudgedMetric, people: Mapping[Item, bool], risk: float) -> SelectiveVerdicts:
    sure = certainties(metric.items)
    # The order is a random one: the test of how far down to accept goes by it.
    labelled = [(sure[item], item.passed is passed) for item, passed in people.items()]
    acceptance = acceptable(labelled, list(sure.values()), risk) if labelled else None
    cases = {
        item.case
        for item in people
        if acceptance is not None and sure[item] >= acceptance.threshold
    }
    left = sorted(
        (
            item
            for item, certainty in sure.items()
            if acceptance is None or certainty < acceptance.threshold
        ),
        key=lambda item: (sure[item], item.index),
    )
    return SelectiveVerdicts(
        metric=metric.metric,
        model=metric.model,
        risk=risk,
        items=len(metric.items),
        labels=len(labelled),
        wrong=sum(not agrees for _, agrees in labelled),
        acceptance=acceptance,
        for_people=tuple(item.index for item in left),
        cases=len(cases),
    )


def lines_of(verdicts: SelectiveVerdicts, run: str) -> list[str]:
    """The lines below a judge's calibration, and the command that opens what is for a person in this run."""
    lines = [f"  {verdicts.line()}"]
    if verdicts.note:
        lines.append(f"    {verdicts.note}")
    if verdicts.acceptance is not None and verdicts.for_people:
        lines.append(
            f"    next: evenhand label {short_id(run)} --unsure {verdicts.risk:g}"
            f" --metric {shlex.quote(safe(verdicts.metric))}"
        )
    return lines
