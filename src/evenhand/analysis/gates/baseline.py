"""A baseline: what a run came to, in one small text file that lives with the code.

How this works: the first line is the header, and each line after it is a trial, sorted by case, variant and repeat, so
that a change of a result is a change of its line. The header counts the trials and has a digest of them: a file that
was cut off, merged badly or edited by hand is refused, and never taken for a baseline of something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType

from evenhand.analysis.comparison.case_judges import AskedJudge, AskedJudges
from evenhand.analysis.comparison.case_values import Scales
from evenhand.analysis.comparison.drawn_part import Earlier
from evenhand.core.definition import Definition
from evenhand.core.document import Key
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome, Scale, State
from evenhand.core.variant import Variant

SCHEMA = "evenhand.baseline/1"


class BaselineVariant(Struct, omit_defaults=True, frozen=True):
    """A variant by its name in the run's table, and what that stands for."""

    name: Annotated[str, Key("as the run's table names it")]
    prompt: str
    model: str
    eval: Annotated[str, Key("set and function", null="not of an eval set")] = ""
    axes: Annotated[dict[str, Any], Key("further axes by name", null="none")] = {}
    cluster: Annotated[str, Key("what says which cases belong together", null="nothing")] = ""


class BaselineScale(Struct, frozen=True):
    """The lowest and the highest number there can be of a metric in a variant; of trials' own scores for no metric."""

    variant: Annotated[str, Key("its name")]
    metric: Annotated[str, Key("empty for the scores of trials")]
    low: Annotated[float, Key("", "the metric's")]
    high: Annotated[float, Key("", "the metric's")]


class BaselineRun(Struct, frozen=True):
    """A run that a baseline was made of, or knows of."""

    run: Annotated[str, Key("its id")]
    run_at: Annotated[float, Key("when it was started", "seconds since 1970")]


class BaselineJudge(Struct, omit_defaults=True, frozen=True):
    """What a judge of the baseline was asked by."""

    name: Annotated[str, Key("as its answers name it; empty if they name none")]
    ids: Annotated[list[str], Key("that were asked for")]
    settings: Annotated[
        list[str],
        Key(
            "digests of the settings that it was asked with; of a program each is followed by `+` and its code's",
            null="they aren't known",
        ),
    ] = []


class BaselineHeader(Struct, omit_defaults=True, frozen=True):
    """What a baseline says of its run as a whole; the keys are those of the page on the format."""

    schema: Annotated[str, Key("`evenhand.baseline/1`")]
    title: Annotated[str, Key("the run's title")]
    run: Annotated[str, Key("the run's id")]
    run_at: Annotated[float, Key("when the run was started", "seconds since 1970")]
    evenhand: Annotated[str, Key("the version that ran it")]
    variants: Annotated[list[BaselineVariant], Key("in the run's order")]
    cases: Annotated[int, Key("", "cases")]
    trials: Annotated[int, Key("how many lines follow", "trials")]
    bound: Annotated[
        dict[str, str],
        Key(
            "digests of what the numbers depend on, by name: `config`, `data` (the cases), `system` (prompts "
            "as sent, models as they answered, settings), `judge of METRIC, MODEL` (its prompt, criteria and "
            "settings), `judge settings of MODEL`, `calibration`, and `script` for scripted replies"
        ),
    ]
    digest: Annotated[str, Key("of the lines that follow")]
    offline: Annotated[
        bool, Key("whether the replies were scripted (`--offline`)", null="false")
    ] = False
    scales: Annotated[
        list[BaselineScale],
        Key("the lowest and the highest numbers there can be", null="none is known"),
    ] = []
    pooled: Annotated[
        list[BaselineRun],
        Key("earlier runs of the same system, whose trials are further repeats here", null="none"),
    ] = []
    systems: Annotated[
        list[BaselineRun],
        Key("runs of other systems, whose scores say how hard each case is", null="none"),
    ] = []
    judges: Annotated[
        list[BaselineJudge], Key("what judges were asked by", null="none, or not known")
    ] = []
    recorder: Annotated[
        str, Key("the tool that recorded the run, which was imported", null="Evenhand ran it")
    ] = ""


class BaselineExpectation(Struct, omit_defaults=True, frozen=True):
    """An outcome, without its texts."""

    name: str
    outcome: Annotated[State, Key("`pass`, `fail`, `error` or `not_applicable`")]
    score: Annotated[
        float | None, Key("", "the scorer's", null="in error, or it did not apply")
    ] = None
    metric: Annotated[str, Key("the name under which its score is counted", null="none")] = ""
    weight: Annotated[float | UnsetType, Key(null="1")] = UNSET
    at_least: Annotated[
        float | None, Key("the bound that the score had to reach", "the scorer's", null="none")
    ] = None
    at_most: Annotated[
        float | None, Key("the bound that it had to stay under", "the scorer's", null="none")
    ] = None
    named: Annotated[dict[str, float], Key("further numbers by name", null="none")] = {}
    judge: Annotated[
        dict[str, Any],
        Key(
            "who judged (`judge`), the version of the prompt (`prompt`), and a digest of what was asked "
            "(`instrument`); of a jury, `jury` has these of each",
            null="no judge",
        ),
    ] = {}
    scale: Annotated[
        Scale | None, Key("the lowest and the highest score", "the scorer's", null="not known")
    ] = None
    kind: Annotated[
        str, Key("what asks: the scorer's class, or the type in a config", null="not known")
    ] = ""
    settings: Annotated[
        dict[str, str], Key("a digest of each of its arguments, by name", null="none")
    ] = {}
    exact: Annotated[
        bool, Key("whether a file says it: no argument can be what was answered", null="false")
    ] = False


class BaselineTrial(Struct, omit_defaults=True, frozen=True):
    """A trial: what it came to, and hashes of what it sent."""

    case: Annotated[str, Key("its id")]
    variant: Annotated[str, Key("its name")]
    repeat: Annotated[int, Key("from 0")]
    outcome: Annotated[State, Key("`pass`, `fail`, `error` or `not_applicable`")]
    score: Annotated[float | None, Key(null="an error leaves it open, or nothing applied")] = None
    name: Annotated[str, Key("the case, for people", null="it has none")] = ""
    metrics: Annotated[dict[str, float], Key("numbers by the metric's name", null="none")] = {}
    expectations: Annotated[list[BaselineExpectation], Key("in their order", null="none")] = []
    subject: Annotated[
        list[str],
        Key(
            "hashes of the requests to the model under evaluation, answered or not",
            null="nothing was asked",
        ),
    ] = []
    judge: Annotated[
        list[str], Key("hashes of the requests to judges", null="no judge was asked")
    ] = []
    checks: Annotated[
        str,
        Key(
            "a hash of what the outcome depends on beside the answer: variables, expectations, judges, and code",
            null="that can't be known",
        ),
    ] = ""
    content: Annotated[
        dict[str, str],
        Key("a digest of each part of what the case says, by name", null="not known"),
    ] = {}
    cost_usd: Annotated[
        float | None, Key("of all its calls", "US dollars", null="a price is not known")
    ] = None
    output: Annotated[Any | UnsetType, Key("what was answered", null="without `--outputs`")] = UNSET
    earlier: Annotated[
        dict[str, list[float | None]],
        Key(
            "by metric what each earlier system scored on the case, on average, in the order of the header's "
            "`systems`; null where it has no value. In the case's first trial",
            null="none is known",
        ),
    ] = {}

    @property
    def place(self) -> tuple[str, str, int]:
        """The case, variant and repeat by which a baseline sorts and finds the trial."""
        return self.case, self.variant, self.repeat


class Baseline(Record, frozen=True):
    """A baseline as read.

    Attributes:
        trials: Its trials, sorted by case, variant and repeat.
    """

    header: BaselineHeader
    trials: Sequence[BaselineTrial]

    @property
    def variants(self) -> list[Variant]:
        """The baseline's variants, in the order of the run."""
        return [
            Variant(i, one.prompt, one.model, axes=one.axes, eval=one.eval, cluster=one.cluster)
            for i, one in enumerate(self.header.variants)
        ]

    @property
    def scales(self) -> Scales:
        """The lowest and the highest value there can be, by variant and metric."""
        places = self._places
        return {
            (places[one.variant], one.metric): (one.low, one.high) for one in self.header.scales
        }

    @property
    def judges(self) -> AskedJudges:
        """What its judges were asked by, as far as that is known."""
        return {
            one.name: AskedJudge(frozenset(one.ids), frozenset(one.settings))
            for one in self.header.judges
        }

    def results(self) -> list[TrialResult]:
        """The baseline's trials as results without texts. Their places are those in the file."""
        places = self._places
        return [
            result_of(trial, index, places[trial.variant])
            for index, trial in enumerate(self.trials)
        ]

    def earlier(self, variant: int) -> Earlier:
        """What each earlier system scored on a variant's cases, in the order of the header's `systems`.

        Args:
            variant: Its place in the baseline.
        """
        names = [one.name for one in self.header.variants]
        rows = {
            trial.case: trial.earlier
            for trial in self.trials
            if trial.earlier and trial.variant == names[variant]
        }
        return lambda metric, case: rows.get(case, {}).get(metric, ())

    @property
    def _places(self) -> Mapping[str, int]:
        return {one.name: i for i, one in enumerate(self.header.variants)}


def cost_of_case(baseline: Baseline, repeats: int) -> float | None:
    """What a case costs on average in all variants that have it, in US dollars.

    Args:
        repeats: How often each case is run.

    Returns:
        None where the cost of a trial is not known, or nothing was paid: the cache may have answered.
    """
    costs: dict[str, list[float]] = {}
    cases: dict[str, set[str]] = {}
    for trial in baseline.trials:
        if trial.cost_usd is None:
            return None
        cases.setdefault(trial.variant, set()).add(trial.case)
        # What the cache answered cost nothing, and would cost as much as the others.
        if trial.cost_usd > 0:
            costs.setdefault(trial.variant, []).append(trial.cost_usd)
    every = set[str]().union(*cases.values())
    paid = sum(len(cases[name]) * sum(each) / len(each) for name, each in costs.items())
    return repeats * paid / len(every) if paid else None


def result_of(trial: BaselineTrial, index: int, variant: int) -> TrialResult:
    """A trial of a baseline as a result.

    Args:
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
