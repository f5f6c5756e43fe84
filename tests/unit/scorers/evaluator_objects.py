"""Evaluators after the documented protocols of their libraries, which need none of them."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any


@dataclass
class Has42:
    """An evaluator as pydantic-evals wants it."""

    def evaluate(self, ctx: Any) -> bool:
        return "42" in str(ctx.output)


class Share42:
    """A metric as DeepEval wants it."""

    threshold = 0.5
    error: str | None = None
    score: float | None = None
    reason = ""
    evaluation_model = "none"

    async def a_measure(self, test_case: Any) -> float:
        self.score = float("42" in (test_case.actual_output or ""))
        self.reason = f"asked {test_case.input!r}"
        return self.score

    def measure(self, test_case: Any) -> float:
        raise AssertionError

    def is_successful(self) -> bool:
        return self.score is not None and self.score >= self.threshold

    @property
    def __name__(self) -> str:
        return "Share of 42"


class Ragas42:
    """A metric as Ragas wants it since 0.4."""

    name = "has_42"

    async def ascore(self, response: str, reference: str | None = None) -> Any:
        return SimpleNamespace(value=float("42" in response), reason=reference)


class Autoevals42:
    """A scorer as autoevals wants it."""

    async def eval_async(self, output: Any, expected: Any = None, **kwargs: Any) -> Any:
        score = float("42" in str(output))
        return SimpleNamespace(
            score=score, metadata={"rationale": str(kwargs.get("input"))}, error=None
        )

    def _name(self) -> str:
        return "has 42"
