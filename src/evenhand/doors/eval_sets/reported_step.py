"""A step that an application reports: at once, or as a block that it is done in."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self, cast, get_args

from evenhand.core.errors import UsageError
from evenhand.core.expect import Trial
from evenhand.core.names import did_you_mean
from evenhand.core.step import Step, StepKind, StepStatus


class ReportedStep:
    """What `expect.step` returns. Further attributes say what came of it once that is known.

    Attributes:
        result: What came of it: a JSON value.
        status: How it ended; None for `error` where the block raises, and `ok` where it doesn't.
        error: Why it failed.
        tokens_in: Tokens that a model read.
        tokens_out: Tokens that a model wrote.
        cost_usd: Dollars.
    """

    def __init__(self, trial: Trial, step: Step) -> None:
        self._trial = trial
        self._place = trial.step(step)
        self._block: AbstractContextManager[None] | None = None
        self.result = step.result
        self.status: StepStatus | None = None if step.status == "unknown" else step.status
        self.error = step.error
        self.tokens_in, self.tokens_out = step.tokens_in, step.tokens_out
        self.cost_usd = step.cost_usd

    def __enter__(self) -> Self:
        self._block = self._trial.within(self._place)
        self._block.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._block is not None:
            self._block.__exit__(kind, error, trace)
        report: dict[str, Any] = {"result": self.result, "error": self.error}
        if error is not None:
            report["error"] = self.error or f"{type(error).__name__}: {error}".rstrip(": ")
        failed = error is not None or bool(self.error)
        self._trial.step_ended(
            self._place,
            status=self.status or ("error" if failed else "ok"),
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            cost_usd=self.cost_usd,
            **report,
        )


def checked_step(step: Step) -> Step:
    """The step, whose kind and status are words that there are.

    Raises:
        UsageError: One is not.
    """
    for name, words in (("kind", get_args(StepKind)), ("status", get_args(StepStatus))):
        word = cast("object", getattr(step, name))
        if word not in words:
            hint = did_you_mean(str(word), words, f"There are: {', '.join(words)}.")
            raise UsageError(f"expect.step({step.name!r}): {name} is {word!r}", hint=hint)
    return step
