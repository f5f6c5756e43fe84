"""What expectations come to: the answer that is scored, what their scorers said or raised, and what ends a run instead.

Where a model's thoughts stand in its text, the answer is the text without them, unless somebody says otherwise.
"""

from __future__ import annotations

import asyncio
import numbers
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from inspect import isawaitable
from typing import Any, Protocol, cast

from msgspec.structs import replace

from evenhand.core.cascade import metric_asked
from evenhand.core.encoding import decoded
from evenhand.core.errors import (
    BudgetStop,
    CodeError,
    EvenhandError,
    ProviderError,
    ScoreError,
    StoreError,
    Undecided,
    UsageError,
    first_line,
)
from evenhand.core.expect import Expectation, Trial
from evenhand.core.json_shapes import is_mapping, is_sequence
from evenhand.core.message import Reply
from evenhand.core.plan import PlannedTrial
from evenhand.core.provider import Provider, says
from evenhand.core.requirement import CLOSE
from evenhand.core.run import TrialError
from evenhand.core.score import Outcome, Scale, Score, Verdict, usable
from evenhand.core.thoughts import MARKS, without_thoughts
from evenhand.core.traits import label_of, traits_of
from evenhand.core.users_code import users_line
from evenhand.core.wording.bounds import as_written, beside, beside_least
from evenhand.engine.call_context import Asked, asking, scorer_calls
from evenhand.engine.deciding import Deciding, as_scorer
from evenhand.engine.guardian import running
from evenhand.engine.python_names import Watched, users_call
from evenhand.providers.answer_text import CutShort
from evenhand.providers.wrapped import Paused

MORE_TOKENS = "The model ran out of tokens: give it more in its config, max_tokens: …"
_NOT_ALL = "it ends in the middle of a thought, or holds nothing else"


class Thinker(Protocol):
    """A trial, as far as its thoughts go.

    Attributes:
        shows_thoughts: Whether thoughts are a part of what is scored.
        left_out: Whether there were any that aren't.
    """

    shows_thoughts: bool
    left_out: bool


class Scored(Thinker, Trial, Protocol):
    """A trial whose expectations are settled.

    Attributes:
        planned: What it is of.
    """

    planned: PlannedTrial

    def blame(self, problem: CodeError) -> None:
        """Keeps it from passing."""
        ...


def answer_in(trial: Thinker, provider: Provider, reply: Reply) -> Reply:
    """A subject's reply, with the text that is its answer. The journal keeps all of it.

    Raises:
        CutShort: There are only thoughts in it.
    """
    if _shows(trial, provider):
        trial.shows_thoughts = True
        return reply
    if reply.spoken is not None and not reply.tool_calls:
        reply = _with_text(provider, reply, reply.spoken)
    if not isinstance(reply.output, str) or reply.output != reply.text:
        return reply
    if not _may_have_thoughts(reply.text):
        return reply
    text = without_thoughts(reply.text)
    if text == reply.text:
        return reply
    trial.left_out = True
    if text is not None:
        return _with_text(provider, reply, text)
    if hasattr(reply, "unanswered"):  # an application has been given it, and may ask again
        return replace(cast("Any", reply), text="", output=None, unanswered=_NOT_ALL)
    raise CutShort(f"the reply has no answer: {_NOT_ALL}", hint=MORE_TOKENS, billed=None)


def score_of(trial: Scored, expectation: Expectation) -> Awaitable[Score] | Score:
    """What a scorer says; one of the user's is noted, as it runs on the loop and may end the process.

    Raises:
        ScoreError: There is no answer to score.
    """
    scorer, value = expectation.scorer, scored(trial, expectation.value)
    if type(scorer).__module__.startswith("evenhand."):
        return scorer.score(value, trial)
    name = type(scorer).__name__
    with running(f"{name} {trial.planned.case.id}", trial.planned.index), users_call(name, trial):
        score = scorer.score(value, trial)
    return (
        score if isinstance(score, Score) or not isawaitable(score) else Watched(score, name, trial)
    )


def give_up(score: Awaitable[Score]) -> None:
    """Closes what a scorer returned, and nobody awaits any more."""
    if isinstance(score, (Coroutine, Watched)):
        score.close()


def _may_have_thoughts(text: str) -> bool:
    """A quick look, as most texts have none."""
    return any(mark in text for mark in MARKS)


def scored(trial: Thinker, value: object) -> object:
    """What a scorer is given of a value: a text without its thoughts, wherever it is from.

    Raises:
        ScoreError: There are only thoughts in it.
    """
    if trial.shows_thoughts or not isinstance(value, str):
        return value
    if not _may_have_thoughts(value):
        return value
    text = without_thoughts(value)
    if text is None:
        raise ScoreError(f"the output has no answer: {_NOT_ALL}", hint=MORE_TOKENS)
    if text != value:
        trial.left_out = True
    return text


def _shows(trial: Thinker, provider: Provider) -> bool:
    """Whether thoughts are a part of a model's answers: what is said of this model goes before what holds for all."""
    inner = provider.provider if isinstance(provider, Paused) else provider
    config = getattr(inner, "config", None)
    setting = config.get("showThinking") if is_mapping(config) else None
    if setting is None:
        setting = says(inner, "shows_thoughts") or trial.shows_thoughts
    return bool(setting)


def _with_text(provider: Provider, reply: Reply, text: str) -> Reply:
    output = decoded(text, text) if says(provider, "parses") else text
    return replace(reply, text=text, output=output, spoken=None)


ANYTHING = (Exception, SystemExit, asyncio.CancelledError)
"""What a user's function may raise. An interrupt is not its own to raise."""


def checked_outcome(expectation: Expectation, score: object) -> Outcome:
    """The outcome of what a scorer returned.

    Raises:
        CodeError: It is not a Score, its scale has no two ends, the number is off it, or a number in it is none: NaN,
            an infinity, a text, or beyond 1e100.
    """
    if not isinstance(score, Score):
        raise CodeError(
            f"{type(expectation.scorer).__name__}.score returned {type(score).__name__}, not a Score"
        )
    value = score.value
    if value is not None and type(value) is not float:
        value = _number(expectation, value)
        score = replace(score, value=value)
    if value is not None and not usable(value):
        raise CodeError(f"{label_of(expectation.scorer)} gave {value} for a score")
    if score.scale is not None:
        score = replace(score, scale=_scale(expectation, score.scale))
    scale = score.scale or traits_of(expectation.scorer).scale
    if value is not None and scale is not None:
        _check_scale(expectation, value, scale)
    if score.named or score.named_weights:
        named, weights = (
            {name: _number(expectation, number) for name, number in numbers_by_name.items()}
            for numbers_by_name in (score.named, score.named_weights)
        )
        score = replace(score, named=named, named_weights=weights)
    return _outcome_of(expectation, score)


def _check_scale(expectation: Expectation, value: float, scale: Scale) -> None:
    low, high = scale
    if not low - CLOSE <= value <= high + CLOSE:
        raise CodeError(
            f"{label_of(expectation.scorer)} gave {value:g}, which is off its scale from {low:g} to {high:g}",
            hint="Correct the scorer, or the scale that its traits or its Score say.",
        )


def _scale(expectation: Expectation, scale: object) -> Scale:
    """The ends of a scale as plain floats."""
    ends = tuple(scale) if is_sequence(scale) else ()
    if len(ends) == 2 and all(isinstance(end, numbers.Real) and usable(float(end)) for end in ends):
        low, high = map(float, ends)
        if low <= high:
            return low, high
    raise CodeError(
        f"{label_of(expectation.scorer)} gave {scale!r} for a scale",
        hint="Write its lowest and its highest score: scale=(1, 5).",
    )


def _outcome_of(expectation: Expectation, score: Score) -> Outcome:
    """What a score comes to, given the expectation's bounds; raises UsageError and ScoreError."""
    value, state = score.value, "not_applicable"
    reason = score.reason
    # A failure needs no number, nor does a pass where no bound has to be held.
    if value is None and score.passed is not None:
        if score.passed and _bounded(expectation):
            raise ScoreError(
                f"{label_of(expectation.scorer)} passes it without a number, which the bound needs",
                hint="Leave out at_least= and at_most=, or return Score(value, passed).",
                metadata=score.metadata,
            )
        state = "pass" if score.passed else "fail"
    if value is not None:
        if score.passed is None and not (_bounded(expectation) or expectation.only_measured):
            raise UsageError(
                f"{label_of(expectation.scorer)} gave {value:g} without a verdict, and there is no bound",
                hint="Write at_least= or at_most=, or return a Score that has `passed`.",
            )
        ok = score.passed is not False
        if expectation.at_least is not None and value < expectation.at_least - CLOSE:
            ok, reason = False, _why(reason, beside_least(value, expectation.at_least))
        if expectation.at_most is not None and value > expectation.at_most + CLOSE:
            most = f"wanted at most {as_written(expectation.at_most)}"
            ok, reason = False, _why(reason, f"{beside(value, expectation.at_most)}, {most}")
        state = "pass" if ok else "fail"
    why = expectation.metadata.get("why")
    if state == "fail" and isinstance(why, str) and why:
        reason = _why(why, reason) if reason else why
    return Outcome(
        name=expectation.label or label_of(expectation.scorer),
        outcome=state,
        score=value,
        reason=reason,
        weight=expectation.weight,
        metric=expectation.metric,
        named=score.named,
        metadata=_beside(expectation.metadata, score.metadata)
        if expectation.metadata
        else score.metadata,
        at_least=expectation.at_least,
        at_most=expectation.at_most,
        scale=score.scale,
        named_weights=score.named_weights,
    )


def _bounded(expectation: Expectation) -> bool:
    return expectation.at_least is not None or expectation.at_most is not None


def _why(reason: str, bound: str) -> str:
    return f"{bound}: {reason}" if reason else bound


def _beside(attached: Mapping[str, Any], metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the user attached, and what the scorer found. A key of both is the scorer's; the user's is in `given`."""
    if attached.keys().isdisjoint(metadata):
        return {**attached, **metadata}
    aside = {key: value for key, value in attached.items() if key in metadata or key == "given"}
    return {**attached, **metadata, "given": aside}


def _number(expectation: Expectation, value: object) -> float:
    """The number as a plain float: NumPy's and others look like one, but cannot be written."""
    if isinstance(value, numbers.Real) and usable(float(value)):
        return float(value)
    raise CodeError(f"{label_of(expectation.scorer)} gave {value!r} for a score")


def error_outcome(expectation: Expectation, error: BaseException) -> Outcome:
    """An expectation that could not be settled."""
    reason = first_line(error)
    if isinstance(error, ScoreError) and expectation.place and reason.startswith("got "):
        reason = f"{expectation.place}: expect {reason}"
    return Outcome(
        name=expectation.label or label_of(expectation.scorer),
        outcome="error",
        score=None,
        reason=reason,
        weight=expectation.weight,
        metric=expectation.metric,
        metadata=_beside(expectation.metadata, error.metadata)
        if isinstance(error, (Undecided, ScoreError))
        else expectation.metadata,
        error=slug_of(error),
        # The same test as where the scorer gave a number: comparisons leave cases out whose bounds differ.
        at_least=expectation.at_least,
        at_most=expectation.at_most,
        hint=error.hint if isinstance(error, EvenhandError) else "",
    )


def with_problems(
    verdict: Verdict, outcomes: Sequence[Outcome], problems: Sequence[EvenhandError]
) -> tuple[Verdict, tuple[Outcome, ...]]:
    """A trial's verdict and outcomes with what its code did wrong: it does not pass then, whatever its rule says."""
    unique = {(problem.message, problem.hint): problem for problem in problems}
    added = tuple(
        Outcome(
            name="the trial's own code",
            outcome="error",
            score=None,
            reason=first_line(error),
            error=error.slug,
            hint=error.hint,
        )
        for error in unique.values()
    )
    if added and verdict.outcome in ("pass", "not_applicable"):
        verdict = Verdict("error", None, added[0].reason, verdict.named_scores)
    return verdict, (*outcomes, *added)


def resting_on(calls: Sequence[tuple[str, int]], outcome: Outcome) -> Outcome:
    """The outcome, with the calls that were made for it; a call that was made for several of its parts counts once."""
    return replace(outcome, rests_on=tuple(dict.fromkeys(calls))) if calls else outcome


def raise_if_final(error: BaseException) -> None:
    """Lets through what leaves a trial without a result, or ends the run."""
    if is_final(error):
        raise error


def is_final(error: BaseException) -> bool:
    """Whether this leaves a trial without a result, or ends the run, rather than being an error of the trial.

    A CancelledError does where the run cancelled this task; one that user code let out of itself is just an error.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, (BudgetStop, StoreError)) or (
        isinstance(error, ProviderError) and error.fatal
    )


def problem_of(verdict: Verdict, outcomes: Sequence[Outcome]) -> TrialError | None:
    """Why a trial has no verdict; None where it has one."""
    if verdict.outcome != "error":
        return None
    broken = next((o for o in outcomes if o.outcome == "error"), None)
    if broken is None:
        return TrialError("error", verdict.reason)
    return TrialError(broken.error, broken.reason, broken.hint)


def trial_error(error: BaseException) -> TrialError:
    """What the results say of an exception."""
    hint = error.hint if isinstance(error, EvenhandError) else ""
    return TrialError(slug_of(error), first_line(error), hint)


def slug_of(error: BaseException) -> str:
    """The class of the error, as `docs/errors.md` names it."""
    return error.slug if isinstance(error, EvenhandError) else "code"


class Settling(Scored, Protocol):
    """A trial whose scorers are asked."""

    @property
    def deciding(self) -> Deciding:
        """What its scorers ask decision models."""
        ...


async def settle_all(
    trial: Settling, expectations: Sequence[Expectation], known: Mapping[int, Outcome]
) -> tuple[Outcome, ...]:
    """The outcomes of expectations, in their order: those that answer at once first, the others side by side.

    Args:
        known: Outcomes that are settled already, by place.
    """
    outcomes: list[Outcome | None] = [None] * len(expectations)
    waiting: list[tuple[int, Awaitable[Score], Asked]] = []
    for i, expectation in enumerate(expectations):
        if i in known:
            outcomes[i] = known[i]
            continue
        calls: Asked = []
        token = scorer_calls.set(calls)
        try:
            score = score_of(trial, expectation)
            if not isinstance(score, Score) and isawaitable(score):
                waiting.append((i, score, calls))
            else:
                outcomes[i] = resting_on(calls, checked_outcome(expectation, score))
        except ANYTHING as error:  # a scorer may raise anything; it is an outcome
            if is_final(error):
                for _, unwanted, _ in waiting:
                    give_up(unwanted)
                raise
            outcomes[i] = resting_on(calls, error_outcome(expectation, error))
        finally:
            scorer_calls.reset(token)
    if not waiting:
        return tuple(cast("list[Outcome]", outcomes))
    deciding = trial.deciding
    deciding.begin(len(waiting))
    if len(waiting) == 1:
        i, score, calls = waiting[0]
        outcomes[i] = await _outcome(expectations[i], score, calls, deciding)
    else:
        tasks = [
            asyncio.ensure_future(_outcome(expectations[i], s, c, deciding)) for i, s, c in waiting
        ]
        try:
            settled = await asyncio.gather(*tasks)
        except BaseException:  # the run ends, or all are cancelled: leave none behind
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            raise
        for (i, _, _), outcome in zip(waiting, settled, strict=True):
            outcomes[i] = outcome
    return tuple(cast("list[Outcome]", outcomes))


async def _outcome(
    expectation: Expectation, score: Awaitable[Score], calls: Asked, deciding: Deciding
) -> Outcome:
    metric_asked.set(expectation.metric or expectation.label or label_of(expectation.scorer))
    try:
        with asking(calls):
            outcome = checked_outcome(expectation, await as_scorer(score))
    except ANYTHING as error:  # a scorer may raise anything; it is an outcome
        raise_if_final(error)
        outcome = error_outcome(expectation, error)
    finally:
        deciding.end()
    return resting_on(calls, outcome)


def too_late(expectation: Expectation) -> CodeError:
    """What to say of an expectation that comes when its trial is settled."""
    name = expectation.label or label_of(expectation.scorer)
    return CodeError(
        f"expected after the trial had ended: {name}",
        hint=f"Await, or join, what expects before the function returns. {users_line()}".strip(),
    )


def task_name(task: asyncio.Task[Any]) -> str:
    """The function that a task runs."""
    name = getattr(task.get_coro(), "__qualname__", task.get_name())
    return str(name).rpartition("<locals>.")[2]


def task_error(task: asyncio.Task[Any], error: BaseException) -> CodeError:
    """What to say of a task that raised, and that nobody awaited."""
    return CodeError(f"the task {task_name(task)} raised {first_line(error)}")
