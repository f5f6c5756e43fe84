"""Expectations, and how a trial's outcomes become its verdict."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar, runtime_checkable

from msgspec import field
from msgspec.structs import replace

from evenhand.core.case import Case
from evenhand.core.definition import Definition
from evenhand.core.message import CallRole, Model, Prompt, Reply
from evenhand.core.provider import Host, Provider
from evenhand.core.record import Record
from evenhand.core.score import SHARES, Outcome, Scale, Score, State, Verdict, unknown
from evenhand.core.step import Step
from evenhand.core.variant import Variant

Answer_co = TypeVar("Answer_co", covariant=True)
T = TypeVar("T")


class Trial(Host, Protocol):
    """A trial under way: what the run lends to a body and to scorers."""

    @property
    def case(self) -> Case: ...

    @property
    def variant(self) -> Variant: ...

    @property
    def repeat(self) -> int:
        """Counts from 0."""
        ...

    @property
    def reply(self) -> Reply | None:
        """The subject's last reply; None before there is one."""
        ...

    @property
    def vars(self) -> Mapping[str, Any]:
        """The trial's variables in the results: the case's, or what `show` was given."""
        ...

    @property
    def prompt_text(self) -> str:
        """The subject's last prompt as text; empty before there is one."""
        ...

    @property
    def unrecorded(self) -> Sequence[str]:
        """Calls that nobody recorded and that may be its own: what they came to, nobody knows."""
        ...

    @property
    def steps(self) -> Sequence[Step]:
        """What its application has done so far, as far as the run saw it or was told; none where nothing was."""
        ...

    def step(self, step: Step) -> int:
        """Notes a step that the application reports, and returns its place, for the steps that are part of it.

        It begins now where `started_s` is None; in seconds since the trial began otherwise. It is part of the step that
        the code is within, where `parent`, another step's place, is None. Any thread may.

        Raises:
            ValueError: Its parent is no earlier step.
        """
        ...

    def step_ended(self, place: int, **fields: Any) -> None:
        """Says how the step at a place ended, now: its `result`, `status`, and whatever else has become known of it."""
        ...

    def within(self, place: int) -> AbstractContextManager[None]:
        """Inside, whatever begins is part of the step at this place."""
        ...

    @property
    def judge(self) -> Provider | None:
        """Who judges, for scorers that name nobody; None where nobody is named at all."""
        ...

    def show(
        self,
        variables: Mapping[str, Any],
        description: str = "",
        test: Mapping[str, Any] | None = None,
    ) -> None:
        """Keeps these as the trial's variables in the results: what the case's came to once files were read.

        Args:
            description: The case's line for people, where it has become another; empty where it hasn't.
            test: What a config would write of its test, the same.
        """
        ...

    def answered(self, prompt: Prompt, reply: Reply) -> None:
        """Takes this for the subject's reply to the prompt, where nobody is asked."""
        ...

    def mark(self, metadata: Mapping[str, Any]) -> None:
        """Keeps these with the result, beside the case's metadata."""
        ...

    def keep(self, value: Any) -> None:
        """Keeps a JSON value with the result, for later trials; the last one counts."""
        ...

    def kept(self, index: int) -> Any:
        """What the trial at this place in the plan kept; None for nothing. It is one that the step comes after."""
        ...

    def provider(self, id: str | Mapping[str, Any]) -> Provider:  # noqa: A002 (the word that users write)
        """The provider with this id, or these settings, the same one each time. Lend it with `model`.

        Raises:
            UsageError: Nobody knows this id.
        """
        ...

    def model(self, provider: Provider, role: CallRole) -> Model:
        """A model to ask, with the run's journal, cache, limits and budget behind it."""
        ...

    async def once(self, key: Hashable, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `ask` comes to, for scorers of one trial that build on the same answer.

        Whoever comes first asks, and those who come with the same key, at the same time or later, are given the same.
        """
        ...

    def expect(self, expectation: Expectation) -> None:
        """Records an expectation. It is settled when the body is done, together with all the others."""
        ...

    async def settled(self, expectations: Sequence[Expectation]) -> Sequence[Outcome]:
        """Settles expectations that are parts of another one, side by side. They are not recorded."""
        ...

    async def now(self, expectation: Expectation) -> Outcome:
        """Records an expectation and settles it at once. It keeps its place among the others."""
        ...


class Scorer(Protocol):
    """A question asked of an output: anything that has `score`.

    What is known of it before it is asked is in its `traits`, where it has some (`evenhand.core.traits`). What people
    read is its `str`, or else its class with its arguments.
    """

    def score(self, output: Any, trial: Trial) -> Score | Awaitable[Score]:
        """Answers it.

        Raises:
            JudgeError: A judge gave no usable verdict. This, and anything else raised, is an error and not a score.
        """
        ...


@runtime_checkable
class Asks(Scorer, Protocol[Answer_co]):
    """A scorer whose answer is more than a score. `expect.now` gives this answer."""

    def judgement(self, outcome: Outcome) -> Answer_co:
        """The answer that is in an outcome of this scorer.

        Raises:
            JudgeError: There is none.
        """
        ...


class Expectation(Record, frozen=True):
    """One thing that is expected of one output. Recorded now, settled later; the value must not change in between.

    Attributes:
        value: The output, or whatever part of it is being looked at.
        at_least: A score below this fails.
        at_most: A score above this fails.
        weight: Its share in the trial's score; 0 keeps it out of score and verdict.
        metric: Also count its score under this name.
        label: What people read; empty for the scorer's own `str`.
        only_measured: The number is what is wanted: without a bound and a verdict, it passes.
        definition: What it asks, where that is known better than the scorer's arguments say.
        place: The line that expects it, where the value may be something that can't be graded; else empty.
    """

    value: Any
    scorer: Scorer
    at_least: float | None = None
    at_most: float | None = None
    weight: float = 1.0
    metric: str = ""
    label: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    only_measured: bool = False
    definition: Definition | None = None
    place: str = ""


class Recorder:
    """What user code is given to record expectations with; whatever can reach one can still expect something.

    Attributes:
        trial: The trial that it records for.
    """

    trial: Trial


VerdictRule = Callable[[Sequence[Outcome]], Verdict]
"""How a trial's outcomes, in the order in which they were recorded, become its verdict. Pure."""


def state_of(outcomes: Sequence[Outcome]) -> State:
    """What outcomes come to where all have to pass: a fail decides, then an error; pass for none."""
    states = {o.outcome for o in outcomes}
    if "fail" in states:
        return "fail"
    if "error" in states:
        return "error"
    return "not_applicable" if states == {"not_applicable"} else "pass"


def all_pass(outcomes: Sequence[Outcome]) -> Verdict:
    """The default rule: every expectation must pass. The score is their weighted mean.

    One that failed decides. With none failed, one error leaves the trial an error: it could still have failed.
    What did not apply takes no part; a trial in which nothing applied is itself not applicable. No expectations: pass.
    An error leaves the score open in any case.
    """
    counted = [o for o in outcomes if o.weight > 0]
    state = state_of(counted)
    return Verdict(
        outcome=state,
        score=weighted_mean(counted),
        reason=next((o.reason for o in counted if o.outcome == state), ""),
        named_scores=named_scores(outcomes),
        scale=scale_of_mean(counted),
    )


def share_passed(outcomes: Sequence[Outcome]) -> Verdict:
    """Every expectation must pass; the score is the weighted share of them that did.

    What expectations measure is on scales of their own (words, seconds, points of a rubric): a mean over those would
    say nothing. Each keeps its number in its outcome, and under its `metric`. A verdict without a number counts as one.
    """
    verdict = all_pass(outcomes)
    if any(o.outcome == "error" for o in outcomes if o.weight > 0):
        return replace(verdict, scale=SHARES)
    passed = sum(o.weight for o in outcomes if o.outcome == "pass")
    failed = sum(o.weight for o in outcomes if o.outcome == "fail")
    share = passed / (passed + failed) if passed + failed else None
    return Verdict(verdict.outcome, share, verdict.reason, verdict.named_scores, scale=SHARES)


def weighted_mean(outcomes: Sequence[Outcome]) -> float | None:
    """Σ score·weight / Σ weight over the outcomes that have a score; None where none has, or one isn't known."""
    if any(unknown(o.outcome, o.score) for o in outcomes):
        return None
    scored = [(o.score, o.weight) for o in outcomes if o.score is not None]
    total = sum(weight for _, weight in scored)
    return sum(score * weight for score, weight in scored) / total if total else None


def scale_of_mean(outcomes: Sequence[Outcome]) -> Scale | None:
    """The lowest and the highest weighted mean there can be; None where no scorer, or not every one, says its scale.

    Beside scores on a scale of their own, those from 0 to 1 are taken to be on that scale.
    """
    scored = [o for o in outcomes if o.score is not None and o.weight]
    if all(o.scale is None for o in scored):
        return None
    scales = [(o.scale or SHARES, o.weight) for o in scored]
    if any(o.scale is None and not 0 <= (o.score or 0.0) <= 1 for o in scored):
        return None
    total = sum(weight for _, weight in scales)
    return (
        sum(low * weight for (low, _), weight in scales) / total,
        sum(high * weight for (_, high), weight in scales) / total,
    )


def named_scores(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The weighted mean score by metric. Names without a score, or with one that isn't known, are left out.

    An outcome counts once for a name: its score, where its metric and one of its further numbers have the same name.
    """
    by_name: dict[str, list[tuple[float, float]]] = {}
    open_names: set[str] = set()
    for o in outcomes:
        if unknown(o.outcome, o.score):
            open_names.add(o.metric)
        for name, weight in _weights(o).items():
            value = o.score if name == o.metric else o.named.get(name)
            if value is not None:
                by_name.setdefault(name, []).append((value, weight))
    means: dict[str, float] = {}
    for name, pairs in by_name.items():
        total = sum(weight for _, weight in pairs)
        # The mean of the others would be one of other questions.
        if total and name not in open_names:
            means[name] = sum(value * weight for value, weight in pairs) / total
    return means


def named_weights(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The weight of all that `named_scores` takes a mean of, by name."""
    weights: dict[str, float] = {}
    for o in outcomes:
        for name, weight in _weights(o).items():
            weights[name] = weights.get(name, 0.0) + weight
    return weights


def _weights(o: Outcome) -> dict[str, float]:
    own = {o.metric: o.weight} if o.metric else {}
    if not o.named and not o.named_weights:
        return own
    # A name may have a weight and no number: that of an assertion in a set, which weighs nothing.
    names = {**o.named, **o.named_weights}
    return own | {name: o.weight * o.named_weights.get(name, 1.0) for name in names} | own
