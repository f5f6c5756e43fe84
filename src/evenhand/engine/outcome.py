"""What becomes of an expectation whose scorer answered or raised, and which errors end a run rather than a trial."""

from __future__ import annotations

import asyncio
import numbers
from collections.abc import Sequence

from msgspec.structs import replace

from evenhand.core.errors import (
    BudgetStop,
    CodeError,
    EvenhandError,
    ProviderError,
    ScoreError,
    StoreError,
)
from evenhand.core.expect import Expectation, outcome_of
from evenhand.core.run import TrialError
from evenhand.core.score import Outcome, Score, Verdict, usable
from evenhand.core.traits import label_of

ANYTHING = (Exception, SystemExit, asyncio.CancelledError)
"""What a user's function may raise. An interrupt is not its own to raise."""


def checked_outcome(expectation: Expectation, score: object) -> Outcome:
    """The outcome of what a scorer returned.

    Raises:
        CodeError: It is not a Score, or a number in it is none: NaN, an infinity, a text, or beyond 1e100.
    """
    if not isinstance(score, Score):
        raise not_a_score(expectation, score)
    value = score.value
    if value is not None and type(value) is not float:
        value = _number(expectation, value)
        score = replace(score, value=value)
    if value is not None and not usable(value):
        raise CodeError(f"{label_of(expectation.scorer)} gave {value} for a score")
    if score.named:
        named = {name: _number(expectation, number) for name, number in score.named.items()}
        score = replace(score, named=named)
    return outcome_of(expectation, score)


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
        metadata=expectation.metadata,
        error=slug_of(error),
        hint=error.hint if isinstance(error, EvenhandError) else "",
    )


def problem_outcome(error: EvenhandError) -> Outcome:
    """What a trial's code did wrong beside what it expects, as one of its outcomes."""
    return Outcome(
        name="the trial's own code",
        outcome="error",
        score=None,
        reason=first_line(error),
        error=error.slug,
        hint=error.hint,
    )


def with_problems(
    verdict: Verdict, outcomes: Sequence[Outcome], problems: Sequence[EvenhandError]
) -> tuple[Verdict, tuple[Outcome, ...]]:
    """A trial's verdict and outcomes with what its code did wrong: it does not pass then, whatever its rule says."""
    told = {(problem.message, problem.hint): problem for problem in problems}
    added = tuple(map(problem_outcome, told.values()))
    if added and verdict.outcome in ("pass", "not_applicable"):
        verdict = Verdict("error", None, added[0].reason, verdict.named_scores)
    return verdict, (*outcomes, *added)


def resting_on(calls: Sequence[tuple[str, int]], outcome: Outcome) -> Outcome:
    """The outcome, with the calls that were made for it; a call that was made for several of its parts counts once."""
    return replace(outcome, rests_on=tuple(dict.fromkeys(calls))) if calls else outcome


def not_a_score(expectation: Expectation, value: object) -> CodeError:
    """What to say of a scorer that returned something else."""
    return CodeError(
        f"{type(expectation.scorer).__name__}.score returned {type(value).__name__}, not a Score"
    )


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


def first_line(error: BaseException) -> str:
    """What is wrong, without the advice."""
    if isinstance(error, EvenhandError):
        return error.message
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 (a user's exception may not even be able to say what it is)
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
