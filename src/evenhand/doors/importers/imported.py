"""Runs of other tools, as an importer describes them, made into runs of ours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import msgspec

from evenhand.core.encoding import digest, encode
from evenhand.core.errors import UsageError
from evenhand.core.expect import share_passed
from evenhand.core.malformed import shape_fault
from evenhand.core.run import AnswerDetails, Judged, RunMeta, TrialError, TrialResult
from evenhand.core.score import LARGEST, Outcome, State, usable
from evenhand.core.secrets import redacted
from evenhand.core.step import Step
from evenhand.core.variant import Variant
from evenhand.core.version import __version__
from evenhand.store.labels.label import LabelField, LabelValue, NewLabel, checked
from evenhand.store.run_lookup import id_at

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

UNNAMED = "recorded outputs"
"""What a variant is called that a file gives no name."""
MOST_TOLD = 10
"""So many problems of a file are shown; the rest is counted."""


@runtime_checkable
class RecordedRun(Protocol):
    """A run that was recorded elsewhere, ready to be kept as a run file."""

    @property
    def meta(self) -> RunMeta:
        """What is known of the run as a whole."""
        ...

    def trials(self) -> Iterable[TrialResult]:
        """The trials, in the order in which they are shown.

        Raises:
            UsageError: One cannot be read.
        """
        ...

    def labels(self) -> Iterable[NewLabel]:
        """What people said of the trials."""
        ...


@dataclass(frozen=True, slots=True)
class ImportedTrial:
    """One output of another tool's run, and what its checks came to.

    Attributes:
        case: The id of its case. The trials of a case are compared with each other, and with those of other runs.
        variant: Its place among the run's variants, from 0.
        repeat: Which repeat of the case and variant it is, from 0.
        outcome: pass, fail, error or not_applicable; None for what its `outcomes` come to: all must pass.
        score: The tool's own score of it; None for the weighted share of its outcomes that passed.
        output: Text, or any JSON value.
        error: Why it has no verdict; needed where `outcome` is error and no outcome says why.
        expected: What a right answer would have been.
        prompt: The prompt as sent.
        vars: The case's variables.
        latency_s: Seconds; None where it is not known.
        cost_usd: US dollars; None where it is not known.
        tokens_in: None where it is not known.
        tokens_out: None where it is not known.
        metadata: Anything else worth keeping: JSON values.
        description: A line for people that says which case it is.
        finish_reason: Why the answer ended: `stop`, `length` or the vendor's own word.
        model: The model as it named itself in its answer.
        judged: What the judges' calls came to; None where none was asked. Not part of `tokens_in` and `tokens_out`.
        steps: What it did on its way: the calls of models and tools, and agents; empty where nobody says.
        labels: What people said of it: `verdict` (pass or fail), `score` (1 to 5), `note`, `star`.
    """

    case: str
    variant: int = 0
    repeat: int = 0
    outcome: State | None = None
    score: float | None = None
    output: object = None
    error: str = ""
    outcomes: Sequence[Outcome] = ()
    input: object = None
    expected: object = None
    prompt: str = ""
    vars: Mapping[str, object] = field(default_factory=dict[str, object])
    latency_s: float | None = None
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    description: str = ""
    finish_reason: str = ""
    model: str = ""
    judged: Judged | None = None
    steps: Sequence[Step] = ()
    labels: Mapping[LabelField, LabelValue] = field(
        default_factory=dict["LabelField", "LabelValue"]
    )


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """A run of another tool.

    Attributes:
        id: What the other tool calls it. A run with the same id and time is not imported twice.
        created_at: When it began: seconds since 1970, UTC.
        variants: What was compared, in the order of the trials' `variant`: names of models or prompts, or variants.
        trials: In the order in which they are shown. Read more than once, one at a time: it may read from a file.
        took_s: How long it took, in seconds; None where it is not known.
        settings: How the other tool was configured: JSON values.
    """

    id: str
    title: str
    created_at: float
    variants: Sequence[str | Variant]
    trials: Sequence[ImportedTrial]
    took_s: float | None = None
    settings: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class Imported:
    """An imported run as one of ours. Implements `RecordedRun`.

    Args:
        run: The run, as its importer describes it.
        path: The file that it was read from.

    Raises:
        UsageError: What is wrong with the run, all at once.
    """

    run: ImportedRun
    path: Path
    importer: str

    def __post_init__(self) -> None:
        problems = list(_problems(self.run))
        if problems:
            more = len(problems) - MOST_TOLD
            lines = problems[:MOST_TOLD] + ([f"and {more} more"] if more > 0 else [])
            raise UsageError(
                f"{self.path}: importer '{self.importer}' returned a run that cannot be kept: "
                + "; ".join(lines)
            )

    @property
    def meta(self) -> RunMeta:
        run = self.run
        name = digest(self.importer, run.id)
        repeats = 1 + max((one.repeat for one in run.trials), default=0)
        return RunMeta(
            id=id_at(run.created_at, name),
            title=run.title,
            source="",
            fingerprint=digest(name, run.title),
            planned=len(run.trials),
            case_count=len({one.case for one in run.trials}),
            repeats=repeats,
            variants=tuple(_variant(i, one) for i, one in enumerate(run.variants)),
            created_at=run.created_at,
            config=cast("Mapping[str, Any]", redacted(dict(run.settings))),
            settings={"imported": {"id": run.id, "file": self.path.name, "from": self.importer}},
            version=__version__,
            status="finished",
            finished_at=None if run.took_s is None else run.created_at + run.took_s,
        )

    def trials(self) -> Iterator[TrialResult]:
        """The trials, one at a time."""
        for index, one in enumerate(self.run.trials):
            yield _result(index, one)

    def labels(self) -> Iterator[NewLabel]:
        for index, one in enumerate(self.run.trials):
            for name, value in one.labels.items():
                yield NewLabel(index, name, value)


def _variant(index: int, variant: str | Variant) -> Variant:
    if isinstance(variant, str):
        return Variant(index, "", variant.strip() or UNNAMED)
    if not any((variant.prompt.strip(), variant.model.strip(), variant.axes)):
        variant = msgspec.structs.replace(variant, model=UNNAMED)
    return Variant(
        index, variant.prompt, variant.model, variant.prompt_raw, variant.provider_id, variant.axes
    )


def _result(index: int, trial: ImportedTrial) -> TrialResult:
    verdict = share_passed(trial.outcomes)
    state = trial.outcome or verdict.outcome
    score = verdict.score if trial.score is None else trial.score
    reason = trial.error or verdict.reason
    # No model answers without a token: other tools write 0 where nobody counted them.
    counted = bool(trial.tokens_in or trial.tokens_out)
    own = (trial.tokens_in, trial.tokens_out) if counted else (None, None)
    judged = trial.judged
    return TrialResult(
        index=index,
        case=trial.case,
        variant=trial.variant,
        repeat=trial.repeat,
        outcome=state,
        score=None if state in ("error", "not_applicable") else score,
        output=trial.output,
        reason=reason,
        error=TrialError("imported", reason) if state == "error" else None,
        outcomes=tuple(trial.outcomes),
        named_scores=verdict.named_scores,
        latency_s=trial.latency_s,
        cost_usd=trial.cost_usd,
        tokens_in=_plus(own[0], judged and judged.tokens_in),
        tokens_out=_plus(own[1], judged and judged.tokens_out),
        prompt=trial.prompt,
        vars=trial.vars,
        description=trial.description,
        metadata=trial.metadata,
        judged=judged,
        answer=AnswerDetails(model=trial.model, finish_reason=trial.finish_reason),
        input=trial.input,
        expected=trial.expected,
        steps=tuple(trial.steps),
    )


def _plus(own: int | None, judged: int | None) -> int | None:
    return own if judged is None else (own or 0) + judged


def _problems(run: ImportedRun) -> Iterator[str]:
    # A package's importer need not be type-checked: what is of the wrong type would fail later, far from here.
    # Trials are checked one at a time below, as they may be many and read from a file.
    problem = misfit(run, trials=())
    # An iterator would be used up by this check, and leave nothing to import.
    if not problem and not hasattr(run.trials, "__len__"):
        problem = f"trials are {type(run.trials).__name__}, not a sequence"
    if problem:
        yield problem
        return
    if not run.id.strip():
        yield "it has no id"
    if not run.variants:
        yield "it has no variants"
    if not run.trials:
        yield "it has no trials"
    if not math.isfinite(run.created_at) or run.created_at < 0:
        yield f"created_at is {run.created_at!r}, not seconds since 1970"
    known: set[tuple[str, int, int]] = set()
    for index, trial in enumerate(cast("Sequence[object]", run.trials)):
        problem = _misfit_of(trial)
        if problem or not isinstance(trial, ImportedTrial):
            yield f"trial {index + 1}: {problem}"
            continue
        place = (trial.case, trial.variant, trial.repeat)
        for problem in _problems_of(trial, len(run.variants)):
            yield f"trial {index + 1} ({trial.case!r}): {problem}"
        if place in known:
            yield (
                f"trial {index + 1} ({trial.case!r}): the case has a trial of variant"
                f" {trial.variant} and repeat {trial.repeat} already"
            )
        known.add(place)


def _misfit_of(trial: object) -> str:
    if not isinstance(trial, ImportedTrial):
        return f"it is {type(trial).__name__}, not an ImportedTrial"
    return misfit(trial) or next(filter(None, map(misfit, [*trial.outcomes, *trial.steps])), "")


def _problems_of(trial: ImportedTrial, variants: int) -> Iterator[str]:
    if not trial.case:
        yield "it has no case"
    if not 0 <= trial.variant < variants:
        yield f"variant is {trial.variant}, and there are {variants}, counted from 0"
    if trial.repeat < 0:
        yield f"repeat is {trial.repeat}, and repeats count from 0"
    if trial.score is not None and not usable(trial.score):
        yield f"score is {trial.score!r}, not a number up to {LARGEST:g}"
    if trial.outcome is None and not trial.outcomes:
        yield "it has neither an outcome nor outcomes"
    broken = any(one.outcome == "error" for one in trial.outcomes)
    if trial.outcome == "error" and not trial.error and not broken:
        yield "its outcome is error, and nothing says why"
    for name, value in trial.labels.items():
        try:
            checked(NewLabel(0, name, value))
        except UsageError as error:
            yield f"label {error.message}"
    try:
        encode([trial.output, trial.input, trial.expected, dict(trial.vars), dict(trial.metadata)])
    except (TypeError, ValueError) as error:
        yield f"it holds a value that is not JSON: {error}"


def misfit(record: object, **instead: object) -> str:
    """The first field that is not of the type that its class declares; empty where there is none.

    Args:
        record: A record or a dataclass, whose declared types are those of JSON and other records.
        instead: What to look at in place of a field's value, by name.
    """
    names = [one.name for one in fields(cast("DataclassInstance", record))]
    values = {name: getattr(record, name) for name in names} | instead
    # A float of NumPy's is one; msgspec takes no subclass.
    plain = {k: float(v) if isinstance(v, float) else v for k, v in values.items()}
    try:
        fit: object = msgspec.convert(plain, type(record))
    except msgspec.ValidationError as error:
        return shape_fault(error)
    unmade = (name for name in names if _is_unmade(plain[name], getattr(fit, name)))
    return next((f"`{name}` is not of a record's class" for name in unmade), "")


def _is_unmade(value: object, fit: object) -> bool:
    """Whether this is what a record could be made of, or a list of such, and not yet one."""
    if fit is value:
        return False
    if isinstance(fit, (list, tuple)):
        pairs = zip(cast("Sequence[object]", value), cast("Sequence[object]", fit), strict=True)
        return any(_is_unmade(*pair) for pair in pairs)
    return isinstance(fit, msgspec.Struct) and not isinstance(value, msgspec.Struct)
