"""A baseline: what a run came to, in one small text file that lives with the code.

How this works: the first line is the header, and each line after it is a trial, sorted by case, variant and repeat, so
that a change of a result is a change of its line. The header counts the trials and has a digest of them: a file that
was cut off, merged badly or edited by hand is refused, and never taken for a baseline of something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from evenhand.analysis.comparison.case_values import Scales
from evenhand.core.definition import Definition
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome, Scale, State
from evenhand.core.variant import Variant

SCHEMA = "evenhand.baseline/1"


class BaselineVariant(Struct, omit_defaults=True, frozen=True):
    """A variant by its name in the run's table, and what that stands for."""

    name: str
    prompt: str
    model: str
    eval: str = ""
    axes: dict[str, Any] = {}


class BaselineScale(Struct, frozen=True):
    """The lowest and the highest number there can be of a metric in a variant; of trials' own scores for no metric."""

    variant: str
    metric: str
    low: float
    high: float


class BaselineHeader(Struct, omit_defaults=True, frozen=True):
    """What a baseline says of its run as a whole; the keys are those of the page on the format."""

    schema: str
    title: str
    run: str
    run_at: float
    evenhand: str
    variants: list[BaselineVariant]
    cases: int
    trials: int
    bound: dict[str, str]
    digest: str
    offline: bool = False
    scales: list[BaselineScale] = []


class BaselineExpectation(Struct, omit_defaults=True, frozen=True):
    """An outcome, without its texts."""

    name: str
    outcome: State
    score: float | None = None
    metric: str = ""
    weight: float | UnsetType = UNSET
    at_least: float | None = None
    at_most: float | None = None
    named: dict[str, float] = {}
    judge: dict[str, Any] = {}
    scale: Scale | None = None
    kind: str = ""
    settings: dict[str, str] = {}
    exact: bool = False


class BaselineTrial(Struct, omit_defaults=True, frozen=True):
    """A trial: what it came to, and hashes of what it sent."""

    case: str
    variant: str
    repeat: int
    outcome: State
    score: float | None = None
    name: str = ""
    metrics: dict[str, float] = {}
    expectations: list[BaselineExpectation] = []
    subject: list[str] = []
    judge: list[str] = []
    checks: str = ""
    content: dict[str, str] = {}
    cost_usd: float | None = None
    output: Any | UnsetType = UNSET

    @property
    def place(self) -> tuple[str, str, int]:
        """The case, variant and repeat by which a baseline sorts and finds the trial."""
        return self.case, self.variant, self.repeat


class Baseline(Record, frozen=True):
    """A baseline as read.

    Attributes:
        header: What it says of its run.
        trials: Its trials, sorted by case, variant and repeat.
    """

    header: BaselineHeader
    trials: Sequence[BaselineTrial]

    @property
    def variants(self) -> list[Variant]:
        """The baseline's variants, in the order of the run."""
        return [
            Variant(i, one.prompt, one.model, axes=one.axes, eval=one.eval)
            for i, one in enumerate(self.header.variants)
        ]

    @property
    def scales(self) -> Scales:
        """The lowest and the highest value there can be, by variant and metric."""
        places = self._places
        return {
            (places[one.variant], one.metric): (one.low, one.high) for one in self.header.scales
        }

    def results(self) -> list[TrialResult]:
        """The baseline's trials as results without texts. Their places are those in the file."""
        places = self._places
        return [
            result_of(trial, index, places[trial.variant])
            for index, trial in enumerate(self.trials)
        ]

    @property
    def _places(self) -> Mapping[str, int]:
        return {one.name: i for i, one in enumerate(self.header.variants)}


def result_of(trial: BaselineTrial, index: int, variant: int) -> TrialResult:
    """A trial of a baseline as a result.

    Args:
        trial: It.
        index: The place that it takes.
        variant: The index that its variant has there.
    """
    return TrialResult(
        index=index,
        case=trial.case,
        variant=variant,
        repeat=trial.repeat,
        outcome=trial.outcome,
        score=trial.score,
        outcomes=tuple(
            Outcome(
                one.name,
                one.outcome,
                one.score,
                weight=1.0 if one.weight is UNSET else one.weight,
                metric=one.metric,
                named=one.named,
                metadata=one.judge,
                at_least=one.at_least,
                at_most=one.at_most,
                scale=one.scale,
            )
            for one in trial.expectations
        ),
        named_scores=trial.metrics,
        description=trial.name,
        output=None if trial.output is UNSET else trial.output,
        cost_usd=trial.cost_usd,
        content=trial.content,
        definitions=tuple(
            Definition(one.kind, one.settings, one.exact) for one in trial.expectations
        )
        if any(one.kind for one in trial.expectations)
        else (),
    )
