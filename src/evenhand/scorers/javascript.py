"""Questions that the user's own JavaScript answers: an expression, a few lines, or a function in a file.

What it returns is taken only where it means one thing: a boolean, a number, or an object with all of `pass`, `score`
and `reason`. Anything else is no answer and fails, under `not-` too; what raises or hangs is an error, never a score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.core.expect import Trial
from evenhand.core.score import Score
from evenhand.languages.javascript.running import JavaScriptCode, call
from evenhand.languages.javascript.wire import Returned
from evenhand.scorers.python_code import is_verdict, verdict_of


@dataclass(frozen=True, slots=True)
class JavaScriptVerdict:
    """A JavaScript function of (output, context) passes the output.

    Attributes:
        script: The code, or the function of a file.
        context: Makes the second argument.
        threshold: A number from here on passes; above 0 where there is none. Objects say themselves whether they pass.
        negated: What passes fails, and the other way round. Numbers keep their score, an error stays an error.
    """

    script: JavaScriptCode
    label: str
    context: Callable[[], Mapping[str, Any]] = field(repr=False)
    threshold: float | None = None
    negated: bool = False

    async def score(self, output: Any, trial: Trial) -> Score:
        returned = await call(trial, self.script, output, self.context())
        name, value = self.script.name, returned.value
        if returned.kind in ("boolean", "number"):
            number = float(value) if returned.kind == "number" else value
            return verdict_of(
                number, self.threshold, name, negated=self.negated, language="JavaScript"
            )
        if returned.kind == "object" and is_verdict(value):
            return verdict_of(value, None, name, negated=self.negated, language="JavaScript")
        return Score(
            0.0,
            passed=False,
            reason=f"{name} returned {_kind_of(returned)}, which is not a verdict",
        )

    def __str__(self) -> str:
        return f"{'not-' if self.negated else ''}javascript {self.label}"


def _kind_of(returned: Returned) -> str:
    if returned.kind == "object":
        return "an object without a pass (boolean), a score (number) and a reason (text)"
    if returned.kind in ("undefined", "null"):
        return returned.kind
    return f"{'an' if returned.kind == 'array' else 'a'} {returned.kind}"
