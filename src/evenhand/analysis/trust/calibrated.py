"""The judged numbers of a run: as the judge has them, and corrected by a calibration that still holds.

A run with labels of its own is corrected by these. Any other is corrected by the `calibration.json` beside its config,
as long as everything that it is bound to is unchanged; else it says what has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from evenhand.analysis.trust.calibration import JudgeCalibration, calibrations
from evenhand.analysis.trust.calibration_document import (
    CalibrationJudge,
    CalibrationJury,
    CalibrationVariant,
)
from evenhand.analysis.trust.calibration_file import place_of, read_calibration
from evenhand.analysis.trust.judgements.judged import Item, JudgedMetric, Judgements, judgements
from evenhand.analysis.trust.judgements.judged_basis import is_called
from evenhand.analysis.trust.judgements.raw_rates import raw_mean, raw_rate
from evenhand.analysis.trust.jury_weights import ballot_of, turned
from evenhand.analysis.trust.labelled_cases import effects_of, few_cases, labels_from, scores_from
from evenhand.analysis.trust.probabilities import graded
from evenhand.analysis.trust.scores_calibrated import (
    JudgedMean,
    later_mean,
    mean_has_moved,
    scale_of,
)
from evenhand.analysis.trust.trust_rules import (
    FEWEST,
    SURE,
    TELLS_NOTHING,
    UNLIKELY,
    Bound,
    Evidence,
    bound_to,
    changed_since,
    evidence_of,
    not_alike,
)
from evenhand.core.application_code import changed_code
from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.run import RunMeta
from evenhand.core.score import Scale
from evenhand.stats.correction import Estimate, Verdicts, corrected_rate
from evenhand.stats.design_effect import CaseLabel, DesignEffects, ScoreLabel
from evenhand.stats.interval import wilson
from evenhand.stats.split_labels import SplitShare
from evenhand.stats.votes import VoteWeights
from evenhand.stats.weighted import UniformLabels, corrected_by_strata
from evenhand.store.runfile import RunFile

SHARE = "judge's pass rate"
"""What is said to have changed where nothing else has, and the judge passes another share of the outputs."""
MEAN = "judge's mean score"
"""What is said to have changed where its pass rate may be as before, and the mean of its scores is another one."""
OTHER_EVALS = "evals"
"""What is said to have changed where a calibration is of other evals, which share the metric's name."""
Status = Literal["fresh", "stale", "missing"]


class JudgedRate(Record, frozen=True, kw_only=True):
    """The pass rate of a judged metric in one variant.

    Attributes:
        model: The judge, as its answers named it.
        variant: The variant's index.
        items: How many outputs it has a verdict on.
        raw: As the judge has it, each case counting once; see `raw_rate`.
        corrected: As people would have found it; None without a calibration that holds. The interval holds whichever
            way people decide on the outputs on which they are split.
        labels: How many labels that rests on.
        labelled_at: When the last of them was given, seconds since 1970.
        status: Whether there is a calibration, and whether it still holds.
        changed: What has changed since it was made.
        verdict: What the calibration says of the judge; empty without one.
        mean: The mean of its scores; None where it gives none, or people gave none.
        by_votes: Whether the correction goes by a jury's weighted votes.
        errors: How many outputs the judge gave no verdict on. They are in none of the numbers.
        stopped: Whether the run stopped as soon as it was decided. The corrected numbers don't allow for having looked.
        why: Why labels that hold correct nothing, as they are of too few cases, or of unknown ones; otherwise empty.
        fallback: Whether the judge was asked in place of another one, which was out of reach.
        own: Whether the labels are of this run, and not of the one that `calibration.json` is of.
        split: The labelled outputs on which people are split; None for none.
        agreed: As `corrected`, of outputs on which they agree; None where they are split on none.
    """

    metric: str
    model: str
    variant: int
    items: int
    raw: Estimate
    corrected: Estimate | None
    labels: int
    labelled_at: float | None
    status: Status
    changed: tuple[str, ...] = ()
    verdict: str = ""
    mean: JudgedMean | None = None
    by_votes: bool = False
    errors: int = 0
    why: str = ""
    stopped: bool = False
    fallback: bool = False
    own: bool = False
    split: SplitShare | None = None
    agreed: Estimate | None = None

    @property
    def split_items(self) -> int:
        """On how many labelled outputs people are split."""
        return 0 if self.split is None else self.split.items

    @property
    def values(self) -> tuple[float, ...]:
        """The corrected rate; both ends of it where people are split on some outputs, and none without it."""
        if self.corrected is None or self.split is None:
            return () if self.corrected is None else (self.corrected.value,)
        return self.split.ends(self.corrected.value)

    @property
    def trusted(self) -> bool:
        """Whether a run's bounds may go by the rate: it is corrected, and its judge may be used."""
        return self.corrected is not None and not self.doubt

    @property
    def doubt(self) -> str:
        """Why its labels don't say that the judge may be used, in words; empty where they do."""
        if self.verdict in ("usable", "usable with labels"):
            return ""
        if self.verdict == "do not use":
            return "do not use this judge"
        return "too few labels" if self.labels < FEWEST else "too little data"


def judged_rates(run: RunFile, cluster: str = "") -> list[JudgedRate]:
    """The pass rates of all judged metrics, variant by variant; empty where no judge was asked.

    Of trials that were chosen by what came of them there are none: they are no draw of anything. Nor of probes, checks
    of canaries and tryouts: they are about judges.

    Args:
        cluster: What says which cases belong together, instead of the run's own; empty for these.

    Raises:
        UsageError: `calibration.json` is damaged.
    """
    # Imported runs have verdicts of judges, but no calls.
    if run.by_outcome or not (run.asks_judges() or "imported" in run.meta.settings):
        return []
    if run.meta.is_judge_check:
        return []
    file, draws = read_calibration(place_of(run.meta)), run.draws()
    known = _labelled(file.judges)
    # Digests take as long again, and are only held against a calibration.
    judged = judgements(run, verdicts_only=not (known or draws), cluster=cluster)
    own = (
        {(judge.metric, judge.model): judge for judge in calibrations(run, judged)} if draws else {}
    )
    rates: list[JudgedRate] = []
    for key, metric in judged.metrics.items():
        judge = own.get(key)
        files = known.get(key, ())
        if judge is not None and judge.verdicts.labels:
            own_rates = _rates(
                run.meta,
                metric,
                _own_labels(metric, judge),
                judge.labelled_at,
                "fresh",
                verdict=judge.verdict,
                why=_why(judge),
            )
            own_rates = [replace(rate, own=True) for rate in own_rates]
            rates += _with_means(own_rates, _own_means(metric, judge))
        elif files:
            of_metric: list[JudgedRate] = []
            for part, row, changed in calibrated_parts(run, metric, judged, files, file.code_of):
                if row is None:
                    of_metric += _rates(run.meta, part, {}, None, "missing", (OTHER_EVALS,))
                else:
                    of_metric += _rates_by_file(run, part, judged, row, changed)
            rates += sorted(of_metric, key=lambda rate: rate.variant)
        else:
            rates += _rates(run.meta, metric, {}, None, "missing", _other_judge(metric, known))
    return rates


def _labelled(judges: Iterable[CalibrationJudge]) -> dict[tuple[str, str], list[CalibrationJudge]]:
    """By metric and model; without the metrics that nobody labelled: they say nothing, and can't be stale."""
    labelled: dict[tuple[str, str], list[CalibrationJudge]] = {}
    for judge in judges:
        if judge.labelled_at is not None:
            labelled.setdefault((judge.metric, judge.model), []).append(judge)
    return labelled


def _rates_by_file(
    run: RunFile,
    metric: JudgedMetric,
    judged: Judgements,
    file: CalibrationJudge,
    changed: tuple[str, ...],
) -> list[JudgedRate]:
    """The rates of a metric as a calibration file corrects them, unless something has changed since."""
    same = {} if changed else _same_variants(metric, file, judged, run.meta)
    place = place_of(run.meta)
    moved = {index: _moved(place, metric, file, index, one) for index, one in same.items()}
    same = {index: one for index, one in same.items() if not moved[index]}
    # Of a judge that tells nothing apart, the corrected rate would be that of the run that was labelled.
    tells = file.verdict != "do not use"
    labels = _of_file(place, metric, file, same) if tells else {}
    votes = {index: one.votes for index, one in same.items() if one.votes is not None}
    weighted = any(one.weighted is not None for one in labels.values())
    # Votes were counted label by label, without weights: they go with uniform draws only.
    by_votes = bool(labels and votes) and not weighted
    if file.jury is not None and file.jury.better and by_votes:
        passes = weighted_verdicts(run, metric, file.jury)
        labels |= _of_file(place, metric, file, same, passes)
    else:
        votes = {}
    status = "stale" if changed else "fresh"
    why = "" if changed else _why_of_file(file)
    of_file = _rates(
        run.meta,
        metric,
        labels=labels,
        labelled_at=file.labelled_at,
        status=status,
        changed=changed,
        verdict=file.verdict,
        why=why,
    )
    of_file = [
        replace(rate, status="stale", changed=(what,))
        if (what := moved.get(rate.variant))
        else replace(rate, by_votes=rate.variant in votes)
        for rate in of_file
    ]
    return _with_means(of_file, _means_of_file(place, metric, file, same))


def _moved(
    place: Path,
    metric: JudgedMetric,
    judge: CalibrationJudge,
    index: int,
    one: CalibrationVariant,
) -> str:
    """What the judge finds otherwise than of the outputs that labels were drawn of; empty for nothing.

    Then something is otherwise that no digest has, such as a model behind its old name: what people said of the old
    outputs says nothing of these. Cases count, not outputs, so that it is seen too late rather than too early.

    Source: Newcombe, Statistics in Medicine 17 (1998), 873–890, method 10, at 99 %.
    """
    items = metric.of_variant(index)
    if items and one.items:
        cases = len({item.unit for item in items})
        then, now = (
            Estimate(share, *wilson(share * cases, cases, SURE))
            for share in (one.passed / one.items, sum(item.passed for item in items) / len(items))
        )
        if not_alike(then, now):
            return SHARE
    scores = _scores_of_file(place, metric, judge, one)
    return MEAN if scores and mean_has_moved(scores[1], items, scores[0]) else ""


class _Labels(Record, frozen=True):
    """What corrects a rate.

    Attributes:
        counts: The judge's verdicts beside people's, and on all outputs.
        effects: By how much less they say because trials of one case go together.
        weighted: Where labels were weighted, those of a uniform draw that say as much.
        items: The outputs that they correct the rate of.
        labels: The labels themselves, where they are known.
        split: The labelled outputs on which people are split; None for none.
        own: Whether the labelled outputs are among these, and not those of an earlier run.
    """

    counts: Verdicts
    effects: DesignEffects
    weighted: UniformLabels | None = None
    items: Sequence[Item] = ()
    labels: Sequence[CaseLabel] = ()
    split: SplitShare | None = None
    own: bool = False

    @property
    def why(self) -> str:
        """Why they correct nothing; empty where they do."""
        return few_cases(self.effects) if self.effects.too_few else ""

    @property
    def agreed(self) -> Estimate | None:
        """The rate that people would have found of outputs on which they agree; None where they correct nothing."""
        if self.weighted is None:
            by_probability = graded(self.items, self.labels, self.effects, same_items=self.own)
            if by_probability is not None:
                return by_probability.estimate
        rate = corrected_rate(self.counts, effects=self.effects, same_items=self.own)
        if rate is None or self.weighted is None or self.counts.whole:
            return rate
        return corrected_by_strata(
            self.weighted, self.counts.passed, self.counts.items, effects=self.effects
        )


def _other_judge(
    metric: JudgedMetric, known: Mapping[tuple[str, str], Sequence[CalibrationJudge]]
) -> tuple[str, ...]:
    """Another judge was calibrated under this metric."""
    return ("judge model",) if any(name == metric.metric for name, _ in known) else ()


def _same_variants(
    metric: JudgedMetric, judge: CalibrationJudge, judged: Judgements, meta: RunMeta
) -> dict[int, CalibrationVariant]:
    """For each variant of a run the one of the calibration that is the same system, whatever it was called then.

    Where several are, the one of the same name.
    """
    same: dict[int, CalibrationVariant] = {}
    for index in metric.variants:
        variant = meta.variants[index]
        alike = [one for one in judge.variants if judged.parts.system_of(index) == one.system]
        named = [o for o in alike if is_called(variant, o.prompt, o.model)]
        # Two variants that are the same system, under other names: neither is the one that was labelled.
        if one := named or (alike if len(alike) == 1 else []):
            same[index] = one[0]
    return same


def _own_labels(metric: JudgedMetric, judge: JudgeCalibration) -> dict[int, _Labels]:
    """What was counted in this run, variant by variant."""
    if judge.corrected is None:
        return {}
    labels: dict[int, _Labels] = {}
    for variant, counts in judge.by_variant.items():
        of_variant, items = judge.labelled.get(variant, ()), metric.of_variant(variant)
        effects = effects_of(items, of_variant, same_trials=True)
        weighted = judge.weighted_by_variant.get(variant)
        uniform = weighted and weighted.uniform
        split = judge.split_by_variant.get(variant)
        labels[variant] = _Labels(counts, effects, uniform, items, of_variant, split, own=True)
    return labels


def _why(judge: JudgeCalibration) -> str:
    """That the labels of all variants are of too few cases; empty where they aren't, or are no random draw."""
    at_random = judge.random_p is not None and judge.random_p >= UNLIKELY
    return few_cases(judge.effects) if at_random and judge.effects.too_few else ""


def _why_of_file(judge: CalibrationJudge) -> str:
    """Why a calibration file corrects nothing in other runs than its own; empty where it does, or says so itself."""
    if judge.verdict == "do not use":
        return TELLS_NOTHING
    cases = [row.partition(" ")[0] for one in judge.variants for row in one.labelled]
    labels = DesignEffects(cases=len(set(cases)), labels=len(cases))
    return few_cases(labels) if judge.corrected is None and labels.too_few else ""


def _of_file(
    place: Path,
    metric: JudgedMetric,
    judge: CalibrationJudge,
    same: Mapping[int, CalibrationVariant],
    passes: Mapping[Item, bool] | None = None,
) -> dict[int, _Labels]:
    """What was counted when the calibration was made, beside this run's own verdicts, variant by variant.

    Args:
        place: The calibration's file, for messages.
        metric: The run's verdicts.
        judge: What the file says of the judge.
        same: The variants of the file, by those of the run that are the same.
        passes: A jury's weighted votes, which count in place of its verdicts; None for those.
    """
    if judge.corrected is None:
        return {}
    labels: dict[int, _Labels] = {}
    for index, one in same.items():
        items = metric.of_variant(index)
        counted, weighted = one, one.weighted and one.weighted.labels()
        if passes is not None:
            items = [replace(item, passed=passes.get(item, item.passed)) for item in items]
            counted, weighted = one.votes, None
        if counted is None:
            continue
        counts = Verdicts(*counted.cells, sum(item.passed for item in items), len(items))
        try:
            rows = labels_from(counted.labelled, counted.cells)
        except (ValueError, KeyError, TypeError):
            raise _not_these(place, judge) from None
        effects = effects_of(items, rows, same_trials=False)
        split = one.split and SplitShare(one.split.items, one.split.share, one.split.most)
        labels[index] = _Labels(counts, effects, weighted, items, rows, split)
    return labels


def _not_these(place: Path, judge: CalibrationJudge) -> UsageError:
    return UsageError(
        f"{place}: the labels of {judge.metric!r} don't add up to its counts",
        hint="Make it again with `evenhand calibrate`, or restore it.",
    )


def _own_means(metric: JudgedMetric, judge: JudgeCalibration) -> dict[int, JudgedMean]:
    """The means of a run that people gave scores in, variant by variant."""
    scores = judge.scores
    if scores is None:
        return {}
    return {
        variant: JudgedMean(
            scores.scale,
            raw_mean(metric.of_variant(variant), scores.scale),
            one.corrected,
            one.paired.labels,
        )
        for variant, one in scores.by_variant.items()
    }


def _scores_of_file(
    place: Path, metric: JudgedMetric, judge: CalibrationJudge, one: CalibrationVariant
) -> tuple[Scale, list[ScoreLabel]] | None:
    """The scale of a variant's scores, and people's scores beside the judge's; None for none on the run's scale."""
    if one.scores is None or judge.scores is None or scale_of(metric) != judge.scores.scale:
        return None
    try:
        return judge.scores.scale, scores_from(one.scores.labelled, one.scores.labels)
    except ValueError:
        raise _not_these(place, judge) from None


def _means_of_file(
    place: Path,
    metric: JudgedMetric,
    judge: CalibrationJudge,
    same: Mapping[int, CalibrationVariant],
) -> dict[int, JudgedMean]:
    """The means as scores of an earlier run correct them, variant by variant; none on another scale."""
    means: dict[int, JudgedMean] = {}
    for index, one in same.items():
        items, scores = metric.of_variant(index), _scores_of_file(place, metric, judge, one)
        if one.scores is None or scores is None or all(item.score is None for item in items):
            continue
        scale, labels = scores
        corrected = later_mean(one.scores.paired(), items, scale, labels)
        means[index] = JudgedMean(scale, raw_mean(items, scale), corrected, one.scores.labels)
    return means


def _with_means(rates: Sequence[JudgedRate], means: Mapping[int, JudgedMean]) -> list[JudgedRate]:
    return [replace(rate, mean=means.get(rate.variant)) for rate in rates]


def _rates(
    meta: RunMeta,
    metric: JudgedMetric,
    labels: Mapping[int, _Labels],
    labelled_at: float | None,
    status: Status,
    changed: tuple[str, ...] = (),
    verdict: str = "",
    why: str = "",
) -> list[JudgedRate]:
    """The rates of all variants; `why` nothing is corrected where a variant has no labels of its own that say so."""
    rates: list[JudgedRate] = []
    for variant in metric.variants:
        items = metric.of_variant(variant)
        own = labels.get(variant)
        agreed, split = (None, None) if own is None else (own.agreed, own.split)
        rates.append(
            JudgedRate(
                metric=metric.metric,
                model=metric.model,
                variant=variant,
                items=len(items),
                raw=raw_rate(meta, items),
                corrected=agreed if agreed is None or split is None else split.around(agreed),
                agreed=None if split is None else agreed,
                split=split,
                labels=0 if own is None else own.counts.labels,
                labelled_at=labelled_at,
                status=status,
                changed=changed,
                verdict=verdict,
                errors=metric.errors[variant],
                why=why if own is None else own.why,
                stopped=meta.ended_early,
                fallback=metric.fallback,
            )
        )
    return rates


def weighted_verdicts(
    run: RunFile, metric: JudgedMetric, jury: CalibrationJury
) -> dict[Item, bool]:
    """Whether the weighted votes pass each output.

    The jury's own verdicts stay what they are: only the corrected rate goes by these, and only where the calibration
    showed that they agree with people more often than the majority does, on outputs that they were not fitted to.

    Returns:
        Without outputs whose votes aren't in the run.

    Raises:
        StoreError: The run cannot be read.
    """
    items = {item.index: item for item in metric.items}
    models = [member.model for member in jury.members]
    weights = VoteWeights(jury.intercept, tuple(member.weight for member in jury.members))
    rows: list[tuple[Item, list[float]]] = []
    for trial in run.at(sorted(items)):
        if ballot := ballot_of(trial.outcomes, metric.metric, metric.model):
            votes = [float(ballot.get(model, 0)) for model in models]
            rows.append((items[trial.index], votes))
    right = turned([votes for _, votes in rows], [item.passed for item, _ in rows])
    return {item: weights.passes(votes) for (item, _), votes in zip(rows, right, strict=True)}


def calibrated_parts(
    run: RunFile,
    metric: JudgedMetric,
    judged: Judgements,
    files: Sequence[CalibrationJudge],
    code_of: Callable[[CalibrationJudge], Mapping[str, str]],
) -> Iterator[tuple[JudgedMetric, CalibrationJudge | None, tuple[str, ...]]]:
    """What a judge said in the evals of each calibration of it, and what has changed since; last, in all other evals.

    Evals that share a criterion share its name: a calibration of some says nothing of the others.
    """
    rule = run.rules().get(metric.metric)

    def changes(
        part: JudgedMetric, file: CalibrationJudge, bound: Bound, seen: Evidence
    ) -> tuple[str, ...]:
        code = changed_code(code_of(file), run.meta.code, part.evals)
        return (*_changed(part, judged, bound, seen, rule), *code)

    for file in files:
        # Whatever its evals are called by now. Of fewer evals, a file may still be bound to what they were with others.
        as_many = len(file.of_evals) == len(metric.evals)
        if as_many and not changes(metric, file, file.bound, file.seen):
            yield metric, file, ()
            return
    remaining, each = metric.evals, metric.by_eval(judged.parts.variants)
    for file in files:
        for evals, bound, evidence in _bindings(file):
            names = evals & remaining
            alone = each[next(iter(names))] if len(names) == 1 else None
            part = alone or metric.within(names, judged.parts.variants)
            remaining -= evals
            if part.items:
                yield part, file, changes(part, file, bound, evidence)
    others = metric.within(remaining, judged.parts.variants)
    if others.items:
        yield others, None, ()


def _bindings(file: CalibrationJudge) -> Iterator[tuple[set[str], Bound, Evidence]]:
    """The evals that a calibration is of, each with what it holds for."""
    for one in file.evals:
        yield {one.eval}, one.bound, one.seen
    if not file.evals:
        yield file.of_evals, file.bound, file.seen


def _changed(
    metric: JudgedMetric, judged: Judgements, before: Bound, seen: Evidence, rule: str | None
) -> tuple[str, ...]:
    """What a calibration is bound to and is otherwise in a run; `rule` is the run's own, None where it has none."""
    bound, evidence = bound_to(metric, judged, rule or ""), evidence_of(metric, judged)
    return changed_since(before, bound, seen, evidence, with_rule=rule is not None)
