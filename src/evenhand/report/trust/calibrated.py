"""The judged numbers of a run: as the judge has them, and corrected by a calibration that still holds.

A run with labels of its own is corrected by these. Any other is corrected by the `calibration.json` beside its config,
as long as everything that it is bound to is unchanged; else it says what has changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from evenhand.core.encoding import decode
from evenhand.core.errors import UsageError
from evenhand.core.malformed import document_fault
from evenhand.core.record import Record
from evenhand.core.run import RunMeta
from evenhand.documents.project import project_folder
from evenhand.report.judgements.judged import Item, JudgedMetric, Judgements, judgements
from evenhand.report.judgements.raw_rates import raw_mean, raw_rate
from evenhand.report.trust.calibration import (
    SCHEMA,
    Calibration,
    JudgeCalibration,
    calibrations,
)
from evenhand.report.trust.jury_rates import KeptJury, KeptVotes, weighted_verdicts
from evenhand.report.trust.labelled_cases import effects_of, few_cases, labels_from, scores_from
from evenhand.report.trust.scores_calibrated import JudgedMean, later_mean, scale_of
from evenhand.report.trust.trust_rules import (
    Evidence,
    bound_to,
    changed_since,
    estimate_row,
    evidence_of,
)
from evenhand.stats.correction import Estimate, Verdicts, corrected_rate
from evenhand.stats.design_effect import DesignEffects
from evenhand.stats.paired_scores import PairedScores, Spread
from evenhand.stats.weighted import UniformLabels, corrected_by_strata
from evenhand.store.runfile import RunFile

NAME = "calibration.json"
UNKNOWN_CASES = (
    "the calibration doesn't say which labels are of the same case, and cases are repeated:"
    " run `evenhand calibrate` on the labelled run again"
)
"""Of files that were made before cases were kept."""
Status = Literal["fresh", "stale", "missing"]


_Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
_Amount = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class _Uniform(msgspec.Struct):
    both_pass: _Amount
    missed: _Amount
    excused: _Amount
    both_fail: _Amount
    rate: Annotated[float, msgspec.Meta(ge=0, le=1)]
    size: _Amount


class _PairedScores(msgspec.Struct):
    labels: _Count
    free: Annotated[int, msgspec.Meta(ge=1, le=10**9)]
    people: float
    judge: float
    spread_people: Annotated[float, msgspec.Meta(ge=0)]
    spread_together: float
    spread_judge: Annotated[float, msgspec.Meta(ge=0)]
    labelled: list[str] | None = None

    def paired(self) -> PairedScores:
        """It as it was computed, as far as other outputs need it."""
        drawn = Spread(self.spread_people, self.spread_together, self.spread_judge)
        none = Spread(0.0, 0.0, 0.0)
        return PairedScores(self.labels, self.free, self.people, self.judge, drawn, none, 0.0, None)


class _ScoredOn(msgspec.Struct):
    scale: tuple[float, float]


class _Variant(msgspec.Struct):
    prompt: str
    model: str
    system: str
    both_pass: _Count
    missed: _Count
    excused: _Count
    both_fail: _Count
    weighted: _Uniform | None = None
    scores: _PairedScores | None = None
    votes: KeptVotes | None = None
    items: _Count = 0
    labelled: list[str] | None = None

    @property
    def cells(self) -> tuple[int, int, int, int]:
        """How many labelled outputs both pass, only people pass, only the judge passes, both fail."""
        return self.both_pass, self.missed, self.excused, self.both_fail


class _Judge(msgspec.Struct):
    metric: str
    model: str
    verdict: str
    variants: list[_Variant]
    bound: dict[str, str]
    seen: Evidence | None = None
    labelled_at: float | None = None
    corrected: dict[str, float] | None = None
    scores: _ScoredOn | None = None
    jury: KeptJury | None = None


class RankedSystem(msgspec.Struct):
    """A variant of a ranking that a calibration file holds."""

    prompt: str
    model: str
    system: str


class KeptRanking(msgspec.Struct):
    """A ranking that a calibration file holds."""

    name: str
    model: str
    verdict: str
    variants: list[RankedSystem]
    answers: list[str]
    bound: dict[str, str]
    seen: Evidence | None = None
    labelled_at: float | None = None


class _File(msgspec.Struct):
    schema: str
    judges: list[_Judge]
    rankings: list[KeptRanking] = []


class _Labels(Record, frozen=True):
    """What corrects a rate.

    Attributes:
        counts: The judge's verdicts beside people's, and on all outputs.
        effects: By how much less they say because trials of one case go together; None where that isn't known.
        weighted: Where labels were weighted, those of a uniform draw that say as much.
    """

    counts: Verdicts
    effects: DesignEffects | None
    weighted: UniformLabels | None = None

    @property
    def why(self) -> str:
        """Why they correct nothing; empty where they do."""
        if self.effects is None:
            return UNKNOWN_CASES
        return few_cases(self.effects) if self.effects.too_few else ""

    @property
    def corrected(self) -> Estimate | None:
        """The rate that people would have found; None where they correct nothing."""
        if self.effects is None:
            return None
        rate = corrected_rate(self.counts, effects=self.effects)
        if rate is None or self.weighted is None:
            return rate
        return corrected_by_strata(
            self.weighted, self.counts.passed, self.counts.items, effects=self.effects
        )


class JudgedRate(Record, frozen=True):
    """The pass rate of a judged metric in one variant.

    Attributes:
        metric: The metric.
        model: The judge, as its answers named it.
        variant: The variant's index.
        items: How many outputs it has a verdict on.
        raw: As the judge has it, each case counting once; see `raw_rate`.
        corrected: As people would have found it; None without a calibration that holds.
        labels: How many labels that rests on.
        labelled_at: When the last of them was given, seconds since 1970.
        status: Whether there is a calibration, and whether it still holds.
        changed: What has changed since it was made.
        verdict: What the calibration says of the judge; empty without one.
        mean: The mean of its scores; None where it gives none, or people gave none.
        by_votes: Whether the correction goes by a jury's weighted votes.
        errors: How many outputs the judge gave no verdict on. They are in none of the numbers.
        stopped: Whether the run stopped as soon as it was decided. The corrected numbers don't allow for having looked.
        why: Why there are labels that hold, but not of enough cases, or of cases that aren't known; otherwise empty.
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

    @property
    def trusted(self) -> bool:
        """Whether it may stand in a gate: it is corrected, and its judge may be used."""
        return self.corrected is not None and self.verdict in ("usable", "usable with labels")


def place_of(meta: RunMeta) -> Path:
    """Where the calibration of a run's judges is kept; see `kept_beside`."""
    return kept_beside(meta.source)


def kept_beside(source: str) -> Path:
    """Where the calibration is kept of what was made from this file or folder: beside the config, or in the folder.

    That of eval sets below a folder `evals` is beside that folder, whether the command ran them or a program.

    Args:
        source: See `RunMeta.source`; the current folder where it is empty.
    """
    path = Path(source) if source else Path.cwd()
    if path.suffix == ".py":
        return project_folder(path.parent) / NAME
    return (path if path.is_dir() or not path.suffix else path.parent) / NAME


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Writes a calibration: sorted and indented, so that a change shows in a diff.

    Raises:
        UsageError: The file cannot be written.
    """
    text = json.dumps(calibration.document(), ensure_ascii=False, indent=1, sort_keys=True)
    try:
        path.write_text(text + "\n", "utf-8")
    except (OSError, UnicodeEncodeError) as error:
        raise UsageError(f"{path} cannot be written: {error}") from error


def read_calibration(path: Path) -> dict[tuple[str, str], _Judge]:
    """The judges of a calibration file, by metric and model; empty where there is no file.

    Raises:
        UsageError: It is none.
    """
    return {(judge.metric, judge.model): judge for judge in _read(path).judges}


def read_rankings(path: Path) -> dict[tuple[str, str], KeptRanking]:
    """The rankings of a calibration file, by name and judge; empty where there is no file.

    Raises:
        UsageError: It is none.
    """
    return {(one.name, one.model): one for one in _read(path).rankings}


def _read(path: Path) -> _File:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return _File(SCHEMA, [])
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    try:
        file = msgspec.convert(decode(data), _File)
    except (ValueError, msgspec.ValidationError) as error:
        raise UsageError(
            f"{path} is not a calibration: {document_fault(data, error)}",
            hint="Make it anew with `evenhand calibrate`, or restore it.",
        ) from error
    if file.schema != SCHEMA:
        raise UsageError(
            f"{path}: its schema is {file.schema!r}; this Evenhand reads {SCHEMA}",
            hint="Make it anew with `evenhand calibrate`.",
        )
    return file


def judged_rates(run: RunFile) -> list[JudgedRate]:
    """The pass rates of all judged metrics, variant by variant; empty where no judge was asked.

    Of trials that were chosen by what came of them there are none: they are no draw of anything. Nor of probes, checks
    of canaries and tryouts: they are about judges.

    Raises:
        UsageError: `calibration.json` is damaged.
    """
    if run.by_outcome or not (sum(run.judge_calls()) or "imported" in run.meta.settings):
        return []
    if run.meta.is_judge_check:
        return []
    kept, draws = read_calibration(place_of(run.meta)), run.draws()
    judged = judgements(run, verdicts_only=not (kept or draws))
    own = (
        {(judge.metric, judge.model): judge for judge in calibrations(run, judged)} if draws else {}
    )
    rules = run.rules()
    rates: list[JudgedRate] = []
    for key, metric in judged.metrics.items():
        judge = own.get(key)
        file = kept.get(key)
        if judge is not None and judge.verdicts.labels:
            own_rates = _rates(
                run.meta,
                metric,
                _own_labels(metric, judge),
                judge.labelled_at,
                "fresh",
                verdict=judge.verdict,
            )
            rates += _with_means(own_rates, _own_means(metric, judge))
        elif file is not None:
            bound = bound_to(metric, judged, rules.get(metric.metric, ""))
            evidence, with_rule = evidence_of(metric, judged), metric.metric in rules
            changed = changed_since(file.bound, bound, file.seen, evidence, with_rule=with_rule)
            same = {} if changed else _same_variants(metric, file, judged, run.meta)
            place = place_of(run.meta)
            labels = _of_file(place, metric, file, same)
            votes = {index: one.votes for index, one in same.items() if one.votes is not None}
            weighted = any(one.weighted is not None for one in labels.values())
            by_votes = bool(labels and votes) and not weighted
            if file.jury is not None and file.jury.better and by_votes:
                labels |= _of_votes(place, run, metric, file, same)
            else:
                votes = {}
            status = "stale" if changed else "fresh"
            of_file = _rates(
                run.meta, metric, labels, file.labelled_at, status, changed, file.verdict
            )
            of_file = [replace(rate, by_votes=rate.variant in votes) for rate in of_file]
            rates += _with_means(of_file, _means_of_file(place, metric, file, same))
        else:
            rates += _rates(run.meta, metric, {}, None, "missing", _other_judge(metric, kept))
    return rates


def judged_rows(run: RunFile) -> list[dict[str, Any]]:
    """The same in the keys of `evenhand.run/1`."""
    variants = run.meta.variants
    return [
        {
            "metric": rate.metric,
            "model": rate.model,
            "variant": {
                "prompt": variants[rate.variant].prompt,
                "model": variants[rate.variant].model,
            },
            "judged": rate.items,
            "raw": estimate_row(rate.raw),
            "corrected": estimate_row(rate.corrected),
            "labels": rate.labels,
            "labelled_at": rate.labelled_at,
            "calibration": rate.status,
            "changed": list(rate.changed),
            "mean": rate.mean and rate.mean.row(),
            "by_votes": rate.by_votes,
            "why": rate.why,
        }
        for rate in judged_rates(run)
    ]


def _other_judge(metric: JudgedMetric, kept: Mapping[tuple[str, str], _Judge]) -> tuple[str, ...]:
    """Another judge was calibrated under this metric."""
    return ("judge model",) if any(name == metric.metric for name, _ in kept) else ()


def _same_variants(
    metric: JudgedMetric, judge: _Judge, judged: Judgements, meta: RunMeta
) -> dict[int, _Variant]:
    """For each variant of a run the one of the calibration that is the same system, whatever it was called then.

    Where several are, the one of the same name.
    """
    same: dict[int, _Variant] = {}
    for index in sorted({item.variant for item in metric.items}):
        names, system = meta.variants[index], judged.parts.system_of(index)
        alike = [one for one in judge.variants if one.system == system]
        named = [o for o in alike if (o.prompt, o.model) == (names.prompt, names.model)]
        if one := named or (alike if len(alike) == 1 else []):
            same[index] = one[0]
    return same


def _own_labels(metric: JudgedMetric, judge: JudgeCalibration) -> dict[int, _Labels]:
    """What was counted in this run, variant by variant."""
    if judge.corrected is None:
        return {}
    labels: dict[int, _Labels] = {}
    for variant, counts in judge.by_variant.items():
        of_variant = judge.labelled.get(variant, ())
        effects = effects_of(_of_variant(metric, variant), of_variant, same_trials=True)
        weighted = judge.weighted_by_variant.get(variant)
        labels[variant] = _Labels(counts, effects, weighted and weighted.uniform)
    return labels


def _of_file(
    place: Path, metric: JudgedMetric, judge: _Judge, same: Mapping[int, _Variant]
) -> dict[int, _Labels]:
    """What was counted when the calibration was made, beside this run's own verdicts, variant by variant."""
    if judge.corrected is None:
        return {}
    labels: dict[int, _Labels] = {}
    for index, one in same.items():
        items = _of_variant(metric, index)
        counts = Verdicts(*one.cells, sum(item.passed for item in items), len(items))
        weighted = one.weighted and UniformLabels(*msgspec.structs.astuple(one.weighted))
        effects = _effects(place, judge, one, items, one.labelled, one.cells)
        labels[index] = _Labels(counts, effects, weighted)
    return labels


def _of_votes(
    place: Path, run: RunFile, metric: JudgedMetric, judge: _Judge, same: Mapping[int, _Variant]
) -> dict[int, _Labels]:
    """The same by a jury's weighted votes."""
    if judge.jury is None:
        return {}
    passes = weighted_verdicts(run, metric, judge.jury)
    labels: dict[int, _Labels] = {}
    for index, one in same.items():
        if one.votes is None:
            continue
        items = [
            replace(item, passed=passes.get(item, item.passed))
            for item in _of_variant(metric, index)
        ]
        cells = one.votes.cells
        counts = Verdicts(*cells, sum(item.passed for item in items), len(items))
        effects = _effects(place, judge, one, items, one.votes.labelled, cells)
        labels[index] = _Labels(counts, effects)
    return labels


def _effects(
    place: Path,
    judge: _Judge,
    variant: _Variant,
    items: Sequence[Item],
    rows: Sequence[str] | None,
    cells: tuple[int, int, int, int],
) -> DesignEffects | None:
    """By how much less the labels of a file say of these outputs; None where their cases matter and aren't known.

    Files that were made before cases were kept don't tell. Without repeats, each label is of another case.
    """
    if rows is None:
        cases = len({item.case for item in items})
        return None if max(variant.items, len(items)) > cases else DesignEffects()
    try:
        labels = labels_from(rows, cells)
    except (ValueError, KeyError):
        raise _not_these(place, judge) from None
    return effects_of(items, labels, same_trials=False)


def _not_these(place: Path, judge: _Judge) -> UsageError:
    return UsageError(
        f"{place}: the labels of {judge.metric!r} don't add up to its counts",
        hint="Make it anew with `evenhand calibrate`, or restore it.",
    )


def _own_means(metric: JudgedMetric, judge: JudgeCalibration) -> dict[int, JudgedMean]:
    """The means of a run that people gave scores in, variant by variant."""
    scores = judge.scores
    if scores is None:
        return {}
    return {
        variant: JudgedMean(
            scores.scale,
            raw_mean(_of_variant(metric, variant), scores.scale),
            one.corrected,
            one.paired.labels,
        )
        for variant, one in scores.by_variant.items()
    }


def _means_of_file(
    place: Path, metric: JudgedMetric, judge: _Judge, same: Mapping[int, _Variant]
) -> dict[int, JudgedMean]:
    """The means as scores of an earlier run correct them, variant by variant; none on another scale."""
    if judge.scores is None or scale_of(metric) != judge.scores.scale:
        return {}
    scale = judge.scores.scale
    means: dict[int, JudgedMean] = {}
    for index, one in same.items():
        items = _of_variant(metric, index)
        if one.scores is None or all(item.score is None for item in items):
            continue
        try:
            rows = one.scores.labelled
            labels = None if rows is None else scores_from(rows, one.scores.labels)
        except ValueError:
            raise _not_these(place, judge) from None
        corrected = later_mean(one.scores.paired(), items, scale, labels)
        means[index] = JudgedMean(scale, raw_mean(items, scale), corrected, one.scores.labels)
    return means


def _of_variant(metric: JudgedMetric, variant: int) -> list[Item]:
    return [item for item in metric.items if item.variant == variant]


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
) -> list[JudgedRate]:
    rates: list[JudgedRate] = []
    for variant in sorted({item.variant for item in metric.items}):
        items = [item for item in metric.items if item.variant == variant]
        own = labels.get(variant)
        rates.append(
            JudgedRate(
                metric.metric,
                metric.model,
                variant,
                len(items),
                raw_rate(meta, items),
                own and own.corrected,
                0 if own is None else own.counts.labels,
                labelled_at,
                status,
                changed,
                verdict,
                errors=metric.errors[variant],
                why="" if own is None else own.why,
                stopped=meta.status == "decided",
            )
        )
    return rates
