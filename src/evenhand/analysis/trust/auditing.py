"""The audits of a run's judges, from what is in the run's file: no model is asked.

All tests of a run, over all its judges and metrics, are corrected together by Holm's method: that any judge without a
bias is called biased happens in at most 5 % of runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evenhand.analysis.trust.audit import SIGNIFICANT, Audit
from evenhand.analysis.trust.consistency import Key, order_audits, questions, repeat_audits
from evenhand.analysis.trust.group_audits import (
    LabelledOutput,
    OutputTraits,
    group_audits,
    traits_of,
)
from evenhand.analysis.trust.judgements.judged import Item, JudgedMetric
from evenhand.core.record import Record
from evenhand.stats.multiple import holm
from evenhand.store.runfile import RunFile

Audits = Mapping[Key, Sequence[Audit]]


class JudgeBesidePeople(Record, frozen=True):
    """One judge under one metric, and what people say of the same outputs.

    Attributes:
        metric: What the judge said.
        people: What most people say of the drawn outputs that they labelled.
        random: Whether these can be a random draw of what was judged.
    """

    metric: JudgedMetric
    people: Mapping[Item, bool]
    random: bool


def audits(run: RunFile, judges: Sequence[JudgeBesidePeople]) -> Audits:
    """The audits of each judge, by metric and judge: the same ones for all, also those that are not applicable.

    Raises:
        StoreError: The run cannot be read.
    """
    metrics = {(one.metric.metric, one.metric.model): one.metric for one in judges}
    again = repeat_audits(run, metrics)
    labelled = _labelled(run, judges)
    drafts = {
        key: [
            again[key],
            *order_audits(one.metric),
            *group_audits(one.metric.model, labelled[key], random=one.random),
        ]
        for key, one in zip(metrics, judges, strict=True)
    }
    return corrected(drafts)


def corrected(drafts: Mapping[Key, Sequence[Audit]]) -> Audits:
    """The audits with p-values corrected for the number of tests among them all, and what that makes of each."""
    tested = [
        (key, i) for key, each in drafts.items() for i, one in enumerate(each) if one.p is not None
    ]
    # All tests of all judges at once: that is what Holm's method has to know.
    p_values = holm([drafts[key][i].p or 0.0 for key, i in tested])
    by_place = dict(zip(tested, p_values, strict=True))
    return {
        key: [_decided(one, by_place.get((key, i))) for i, one in enumerate(each)]
        for key, each in drafts.items()
    }


def _decided(draft: Audit, p: float | None) -> Audit:
    if p is None:
        return draft
    return replace(draft, corrected_p=p, result="biased" if p <= SIGNIFICANT else "not shown")


def _labelled(run: RunFile, judges: Sequence[JudgeBesidePeople]) -> dict[Key, list[LabelledOutput]]:
    """The labelled outputs of each judge; of repeats in which it was asked the same question, the first."""
    places = sorted({item.index for one in judges for item in one.people})
    traits: dict[int, OutputTraits] = {}
    digests: dict[int, dict[Key, str]] = {}
    for trial in run.at(places):
        traits[trial.index] = traits_of(trial, run.meta.variants)
        digests[trial.index] = questions(trial)
    labelled: dict[Key, list[LabelledOutput]] = {}
    for one in judges:
        key = one.metric.metric, one.metric.model
        first: dict[tuple[str, int, str], LabelledOutput] = {}
        for item, people in sorted(one.people.items(), key=lambda each: each[0].index):
            question = item.case, item.variant, digests[item.index].get(key, str(item.index))
            # The same question asked again is no further evidence.
            first.setdefault(question, LabelledOutput(traits[item.index], people, item.passed))
        labelled[key] = list(first.values())
    return labelled
