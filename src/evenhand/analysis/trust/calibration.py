"""Whether a judge can be trusted: its verdicts beside those of people, and what its numbers come to once corrected.

The rules, in one place:

- *usable*: it tells good outputs from bad ones (the lower end of TPR + TNR − 1 is above .3), and the corrected interval
  lies within 5 points of its own pass rate.
- *usable with labels*: it tells them apart (the lower end is above 0); read the corrected number, not its own.
- *do not use*: it is not shown to be better than chance. At TPR + TNR ≤ 1 there is no corrected number.
- *no verdict*: there are fewer than 30 labels, they are of too few cases, or they are not a random draw of what was
  judged.

Audits take what is in the run's file: no model is asked. All tests of a run, over all its judges and metrics, are
corrected together by Holm's method: that any judge without a bias is called biased happens in at most 5 % of runs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import UNSET, UnsetType, field

from evenhand.analysis.trust.agreement import Agreement, agreement, apart_by, rate_of
from evenhand.analysis.trust.audit import SIGNIFICANT, Audit, CalibrationAudit
from evenhand.analysis.trust.calibration_document import (
    SCHEMA,
    CalibrationDocument,
    CalibrationEval,
    CalibrationJudge,
    CalibrationSelective,
    CalibrationSplit,
    CalibrationUniform,
    CalibrationVariant,
    random_draw_row,
)
from evenhand.analysis.trust.cascades import CascadeCalibration, cascade_calibration
from evenhand.analysis.trust.consistency import Key, order_audits, questions, repeat_audits
from evenhand.analysis.trust.group_audits import (
    LabelledOutput,
    OutputTraits,
    group_audits,
    traits_of,
)
from evenhand.analysis.trust.judgements.judged import (
    Item,
    JudgedMetric,
    Judgements,
    judgements,
    verdicts_of,
)
from evenhand.analysis.trust.judgements.raw_rates import raw_rate
from evenhand.analysis.trust.jury_weights import JuryWeights, jury_weights
from evenhand.analysis.trust.labelled_cases import few_cases, of_clusters, rows_of
from evenhand.analysis.trust.labels.peoples_verdicts import (
    LabelsOfItem,
    labels_of,
    peoples_verdicts,
    split_by_variant,
    split_items,
    split_on,
    verdicts_on,
)
from evenhand.analysis.trust.ranking_calibration import RankingCalibration, ranking_calibrations
from evenhand.analysis.trust.scores_calibrated import (
    ScoreCalibration,
    calibrate_scores,
    peoples_scores,
    scored_metrics,
)
from evenhand.analysis.trust.trust_rules import (
    EITHER,
    FEW_OF_A_KIND,
    LOOKED,
    NO_VERDICT,
    TELLS_APART,
    UNLIKELY,
    Bound,
    Evidence,
    TrustVerdict,
    bound_to,
    estimate_row,
    evidence_of,
    few_labels,
    is_equivalent,
    left_out,
    too_little,
)
from evenhand.core.document import as_object, filled
from evenhand.core.record import Record
from evenhand.core.run import RunMeta
from evenhand.core.variant import Variant
from evenhand.core.wording.words import count, in_points, percent, points
from evenhand.stats.agreement import Alternative, alpha, alternative_annotator
from evenhand.stats.correction import Estimate, Verdicts
from evenhand.stats.multiple import holm
from evenhand.stats.split_labels import SplitShare
from evenhand.store.labels.draw import Draw
from evenhand.store.labels.stored_draws import standing_labels
from evenhand.store.runfile import RunFile

WEIGHTED = "some outputs were likelier to be drawn than others, so labels are weighted"
NO_PEOPLE = "agreement between people is left out: with this draw it would not hold for all outputs"


class JudgeCalibration(Agreement, frozen=True, kw_only=True):
    """One judge under one metric, beside people: how far they agree, and what comes of it.

    Attributes:
        model: The judge, as its answers named it.
        verdict: Whether it can be used; see the module.
        why: The reason for the verdict, in words.
        raw: Its own pass rate, with its interval; see `raw_rate`.
        corrected: The rate that people would have found; None where there is none.
        people: Agreement beyond chance between people who labelled the same outputs; None with fewer than two.
        unused: Labels that count for nothing here, as they are outside a draw.
        split: Labelled outputs on which people are split: they are in no number but the ends of `corrected`.
        split_by_variant: The same of each variant that has some.
        labelled_at: When the last label was given, seconds since 1970; None without labels.
        by_variant: The counts of each variant alone: error rates of one system say nothing of another's.
        alternative: Whether it can stand in for a person; None unless two or more labelled the same outputs.
        orders: How its preferences depend on the order of the texts; see `JudgedMetric`.
        jury: What the votes of a jury are worth; None for one judge, and with fewer than 30 labels.
        shared: How many outputs two or more people labelled.
        scores: Its scores beside people's; None where either gave none.
        systems: A digest of what each variant is, whatever it is called.
        errors: How many outputs the judge gave no verdict on.
        seen: What later runs need to say what has changed since.
        evals: What it holds for in each eval alone; empty for one eval.
        repeated: Labels of repeats of a case of which another repeat has a label.
        stopped: Whether the run stopped as soon as it was decided. Corrected numbers don't allow for having looked.
        cascade: How sure the judges of a cascade have to be; None for one judge.
        clustered: That cases which belong together are counted each by itself; empty where none do.
    """

    metric: str
    model: str
    verdict: TrustVerdict
    why: str
    raw: Estimate
    corrected: Estimate | None
    people: float | None
    unused: int
    split: SplitShare | None = None
    split_by_variant: Mapping[int, SplitShare] = field(default_factory=dict[int, SplitShare])
    labelled_at: float | None
    bound: Bound
    by_variant: Mapping[int, Verdicts]
    alternative: Alternative | None
    orders: Mapping[str, int]
    jury: JuryWeights | None = None
    shared: int = 0
    scores: ScoreCalibration | None = None
    systems: Mapping[int, str] = field(default_factory=dict[int, str])
    errors: int = 0
    seen: Evidence
    evals: tuple[CalibrationEval, ...] = ()
    repeated: int = 0
    stopped: bool = False
    cascade: CascadeCalibration | None = None
    clustered: str = ""

    @property
    def pairs(self) -> int:
        """How many preferences were asked in both orders."""
        return sum(self.orders.values())

    @property
    def consistent(self) -> Estimate | None:
        """The share of preferences that the order did not change; None without preferences."""
        return rate_of(self.orders.get("consistent", 0), self.pairs)

    @property
    def first_place(self) -> Estimate | None:
        """Of the preferences that went by the place, the share that went to the first one; None for none."""
        first, second = self.orders.get("first", 0), self.orders.get("second", 0)
        return rate_of(first, first + second)

    @property
    def warnings(self) -> list[str]:
        """What to keep in mind, a line each."""
        notes: list[str] = []
        if few := few_labels(self.verdicts.labels, self.verdicts.items):
            notes.append(few)
        if self.errors:
            notes.append(f"{count(self.errors, 'output')} left out: {NO_VERDICT}")
        notes += left_out(self.unused, 0 if self.split is None else self.split.items, "output")
        if self.split is not None and self.corrected is not None:
            notes.append(EITHER)
        if self.repeated:
            notes.append(
                f"{count(self.repeated, 'label')} for further repeats of a case: the more alike repeats are,"
                " the less these add; labels of other cases add more"
            )
        if self.stopped and self.corrected is not None:
            notes.append(LOOKED)
        if self.weighted is not None:
            notes += [WEIGHTED, NO_PEOPLE] if self.shared else [WEIGHTED]
        if self.clustered:
            notes.append(self.clustered)
        if self.scores is not None:
            notes += self.scores.warnings
        return notes

    def row(
        self,
        variants: Sequence[Variant],
        audits: Sequence[CalibrationAudit] = (),
        selective: CalibrationSelective | UnsetType | None = UNSET,
    ) -> CalibrationJudge:
        """The judge's calibration in the keys of `evenhand.calibration/1`.

        Args:
            selective: What it may decide; unset for a file.
        """
        return filled(
            CalibrationJudge,
            self,
            labels=self.verdicts.labels,
            split=0 if self.split is None else self.split.items,
            weighted=self.weighted is not None,
            tpr=estimate_row(self.tpr),
            tnr=estimate_row(self.tnr),
            raw=self.raw._asdict(),
            corrected=estimate_row(self.corrected),
            random_draw=None if self.random_p is None else random_draw_row(self.random_p),
            run=UNSET,
            alternative=self.alternative and self.alternative._asdict(),
            orders={
                "pairs": self.pairs,
                "consistent": estimate_row(self.consistent),
                "first_place": estimate_row(self.first_place),
            }
            if self.pairs
            else None,
            jury=self.jury and self.jury.row(),
            probabilities=self.probabilities and self.probabilities.row(),
            scores=self.scores and self.scores.row(),
            variants=[
                self._variant_row(index, variants[index]) for index in sorted(self.by_variant)
            ],
            bound=dict(self.bound),
            audits=audits,
            selective=selective,
        )

    def _variant_row(self, index: int, variant: Variant) -> CalibrationVariant:
        weighted = self.weighted_by_variant.get(index)
        scores = self.scores and self.scores.by_variant.get(index)
        split = self.split_by_variant.get(index)
        return CalibrationVariant(
            prompt=variant.prompt,
            model=variant.model,
            eval=variant.eval,
            system=self.systems.get(index, ""),
            **self.by_variant[index]._asdict(),
            weighted=weighted and CalibrationUniform(**weighted.later._asdict()),
            scores=scores and scores.row(),
            votes=self.jury and self.jury.votes_row(index),
            split=split and CalibrationSplit(**split._asdict()),
            labelled=rows_of(self.labelled.get(index, ())),
        )


class Calibration(Record, frozen=True, kw_only=True):
    """The judges of a run beside people.

    Attributes:
        run: The run's id.
        judges: One for each judged metric and judge.
        made_at: Seconds since 1970.
        audits: What their verdicts depend on, by metric and judge; see `report.trust.auditing`.
        rankings: The judges that compared outputs in pairs.
        code: The application's code that the run was of; see `RunMeta.code`.
    """

    run: str
    variants: Sequence[Variant]
    judges: tuple[JudgeCalibration, ...]
    made_at: float
    audits: Audits
    rankings: tuple[RankingCalibration, ...] = ()
    code: Mapping[str, str] = field(default_factory=dict)

    @property
    def labelled(self) -> bool:
        """Whether people labelled anything that counts."""
        labels = [judge.verdicts.labels for judge in self.judges]
        return any(labels) or any(one.labels.pairs for one in self.rankings)

    def document(
        self, selective: Mapping[tuple[str, str], CalibrationSelective] | None = None
    ) -> dict[str, Any]:
        """The calibration as a document of the schema `evenhand.calibration/1`.

        Args:
            selective: What each judge may decide, by metric and judge, for a document that is printed; None for a file.
        """
        judges = [
            judge.row(
                self.variants,
                [one.row() for one in self.audits[judge.metric, judge.model]],
                UNSET if selective is None else selective.get((judge.metric, judge.model)),
            )
            for judge in self.judges
        ]
        return as_object(
            CalibrationDocument(
                schema=SCHEMA,
                run=self.run,
                made_at=self.made_at,
                code={self.run: dict(self.code)} if self.code else {},
                judges=judges,
                rankings=[one.row(self.variants) for one in self.rankings],
                cascades=[
                    row
                    for judge in self.judges
                    if judge.cascade is not None
                    and (row := judge.cascade.row(self.run)) is not None
                ],
            )
        )


def calibrate(run: RunFile) -> Calibration:
    """Holds the judges of a run against the labels in it. Only labels of drawn trials count.

    A trial that several people labelled has the verdict of most of them; where they are split it is left out.

    Raises:
        StoreError: The run cannot be read.
    """
    judged = judgements(run)
    judges = calibrations(run, judged)
    beside_people = [
        JudgeBesidePeople(
            metric := judged.metrics[judge.metric, judge.model],
            peoples_verdicts(run, metric),
            judge.random_p is None or judge.random_p >= UNLIKELY,
        )
        for judge in judges
    ]
    return Calibration(
        run=run.meta.id,
        variants=judged.parts.variants,
        judges=tuple(_with_votes(run, judged, one) for one in judges),
        made_at=time.time(),
        audits=audits(run, beside_people),
        rankings=tuple(ranking_calibrations(run, judged)),
        code=run.meta.code,
    )


def calibrations(run: RunFile, judged: Judgements) -> list[JudgeCalibration]:
    """Holds the judges of a run against the labels in it, going by judgements that were read before."""
    draws, labels, rules = run.draws(), standing_labels(run.metric_labels()), run.rules()
    metrics = [metric for metric in judged.metrics.values() if metric.items]
    scores, scored = peoples_scores(run.labels()), scored_metrics(metrics)
    return [
        replace(
            _calibrated(run.meta, metric, judged, draws, labels, rules.get(metric.metric, "")),
            scores=calibrate_scores(metric, scored, draws, scores),
        )
        for metric in metrics
    ]


def _by_eval(metric: JudgedMetric, judged: Judgements, rule: str) -> Iterator[CalibrationEval]:
    """What a calibration holds for in each of several evals: later runs may be of some of them."""
    if len(metric.evals) < 2:
        return
    for name, part in sorted(metric.by_eval(judged.parts.variants).items()):
        yield CalibrationEval(
            eval=name, bound=dict(bound_to(part, judged, rule)), seen=evidence_of(part, judged)
        )


def _with_votes(run: RunFile, judged: Judgements, judge: JudgeCalibration) -> JudgeCalibration:
    metric = judged.metrics[judge.metric, judge.model]
    return replace(judge, jury=jury_weights(run, metric, peoples_verdicts(run, metric)))


def _calibrated(
    meta: RunMeta,
    metric: JudgedMetric,
    judged: Judgements,
    draws: Sequence[Draw],
    labels: Mapping[tuple[int, str], LabelsOfItem],
    rule: str,
) -> JudgeCalibration:
    of_items = labels_of(metric, labels)
    verdicts = verdicts_on(metric, draws, of_items)
    counted = {item: passed for item, passed in verdicts.items() if passed is not None}
    split = split_on(metric, draws, verdicts)
    agrees = agreement(metric, counted, draws)
    tpr, tnr, random_p = agrees.tpr, agrees.tnr, agrees.random_p
    # The correction divides by TPR + TNR − 1: at 0 or below there is none.
    worse = tpr is not None and tnr is not None and tpr.value + tnr.value <= 1
    not_random = random_p is not None and random_p < UNLIKELY
    corrected = None if worse or not_random else agrees.corrected
    if corrected is not None and split is not None:
        corrected = split.around(corrected)
    raw = raw_rate(meta, metric.items)
    verdict, why = _trust(agrees, raw, corrected)
    return filled(
        JudgeCalibration,
        agrees,
        metric=metric.metric,
        model=metric.model,
        verdict=verdict,
        why=why,
        raw=raw,
        corrected=corrected,
        people=None
        if agrees.weighted is not None
        else alpha(
            [
                [float(label.verdict == "pass") for label in each.values()]
                for each in of_items.values()
            ]
        ),
        unused=sum(len(each) for item, each in of_items.items() if item not in verdicts),
        split=split,
        split_by_variant=split_by_variant(metric, draws, verdicts),
        labelled_at=max(
            (label.at for item in counted for label in of_items[item].values()), default=None
        ),
        bound=bound_to(metric, judged, rule),
        by_variant=_by_variant(metric, counted),
        alternative=None if agrees.weighted is not None else _alternative(of_items),
        orders=dict(metric.orders),
        jury=None,
        scores=None,
        shared=sum(len(each) > 1 for each in of_items.values()),
        systems={index: judged.parts.system_of(index) for index in metric.variants},
        errors=metric.errors.total(),
        seen=evidence_of(metric, judged),
        evals=tuple(_by_eval(metric, judged, rule)),
        repeated=len(counted) - len({(item.case, item.variant) for item in counted}),
        stopped=meta.ended_early,
        clustered=of_clusters(judged.parts.variants[index] for index in metric.variants),
        cascade=None
        if agrees.weighted is not None or not_random
        else cascade_calibration(metric, counted, draws, split_items(verdicts)),
    )


def _alternative(of_items: Mapping[Item, LabelsOfItem]) -> Alternative | None:
    people: dict[str, dict[int, bool]] = {}
    for item, labels in of_items.items():
        for author, label in labels.items():
            people.setdefault(author, {})[item.index] = label.verdict == "pass"
    return alternative_annotator(
        {item.index: item.passed for item in of_items},
        people,
        cases={item.index: item.unit for item in of_items},
    )


def _by_variant(metric: JudgedMetric, people: Mapping[Item, bool]) -> dict[int, Verdicts]:
    items = {variant: metric.of_variant(variant) for variant in metric.variants}
    return {
        variant: verdicts_of(own, {item: people[item] for item in own if item in people})
        for variant, own in items.items()
    }


def _trust(
    agrees: Agreement, raw: Estimate, corrected: Estimate | None
) -> tuple[TrustVerdict, str]:
    tpr, tnr = agrees.tpr, agrees.tnr
    if why := too_little(agrees.verdicts.labels, agrees.random_p, "judged"):
        return "no verdict", why
    if agrees.effects.too_few:
        return "no verdict", few_cases(agrees.effects)
    if tpr is None or tnr is None:
        what = "passes" if tpr is None else "failures"
        return "no verdict", f"people found no {what} among the labelled outputs"
    _, low = apart_by(tpr, tnr)
    misses = f"misses {percent(1 - tnr.value)} of real failures, fails {percent(1 - tpr.value)} of good outputs"
    if low <= 0:
        return (
            "do not use",
            f"not shown to be better than chance: {misses}{few_of_a_kind(agrees.verdicts)}",
        )
    if low > TELLS_APART and corrected and is_equivalent(raw.value, corrected.low, corrected.high):
        return "usable", misses
    if corrected is None:
        return "usable with labels", misses
    # The farther end: what the judge's own number may be off by at worst.
    off = max(raw.value - corrected.low, corrected.high - raw.value)
    size = in_points(points(off).removeprefix("+"))
    return "usable with labels", f"{misses}; its raw pass rate may be off by {size}"


def few_of_a_kind(v: Verdicts) -> str:
    """What to label where a judge isn't shown to tell outputs apart, with too few passes or failures to see it."""
    fails, passes = v.both_fail + v.excused, v.both_pass + v.missed
    number, what = (fails, "fail") if fails <= passes else (passes, "pass")
    if number >= FEW_OF_A_KIND:
        return ""
    verb = what if number != 1 else f"{what}es" if what == "pass" else f"{what}s"
    return f"; only {number} of the {v.labels:,} labelled outputs {verb}: label more, of a run with more that {what}"


Audits = Mapping[Key, Sequence[Audit]]


class JudgeBesidePeople(Record, frozen=True):
    """One judge under one metric, and what people say of the same outputs.

    Attributes:
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
