"""Questions that the user's own Python answers: an expression, a few lines, or a function in a file.

It runs off the event loop, imported once, its prints kept. What it returns is taken only where it means one thing; what
raises, hangs or returns something else is an error, never a score.
"""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from evenhand.core.errors import CodeError
from evenhand.core.expect import Trial
from evenhand.core.score import Score
from evenhand.scorers.text import quoted

_EPSILON = 2.2e-16
_SHAPE = "Return a bool, a number, or a dict with 'pass', 'score' and 'reason'."
_CAMEL = {"pass_": "pass", "named_scores": "namedScores", "component_results": "componentResults"}


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A function of a Python file passes the output: `get_assert(output, context)` unless another is named."""

    path: Path
    function: str
    context: Mapping[str, Any] = field(repr=False)
    threshold: float | None = None

    async def score(self, output: Any, trial: Trial) -> Score:  # noqa: ANN401
        name = f"{self.path.name}:{self.function}"
        function = await trial.load(self.path, self.function)
        return verdict_of(await trial.call(function, output, self.context, name=name), self.threshold, name)

    def __str__(self) -> str:
        return f"python {self.path.name}" + ("" if self.function == "get_assert" else f":{self.function}")


@dataclass(frozen=True, slots=True)
class PythonCode:
    """A Python expression, or the lines of a function body with a `return`, passes the output."""

    code: str
    context: Mapping[str, Any] = field(repr=False)
    threshold: float | None = None
    place: str = ""

    async def score(self, output: Any, trial: Trial) -> Score:  # noqa: ANN401
        function = python_function(self.code)
        name = self.place or "python"
        return verdict_of(await trial.call(function, output, self.context, name=name), self.threshold, name)

    def __str__(self) -> str:
        return f"python {quoted(self.code.strip().splitlines()[0] if self.code.strip() else '')}"


@lru_cache(maxsize=4096)
def python_function(code: str) -> Callable[[Any, Mapping[str, Any]], Awaitable[object] | object]:
    """A function of (output, context) from an expression, or from the lines of its body.

    Raises:
        CodeError: It is not Python.
    """
    text = code.strip("\n")
    if "\n" not in text.strip():
        text = text.strip()
        source = "def main(output, context):\n    return (" + text + "\n)"
    else:
        first, _, rest = text.partition("\n")
        # The first line may stand flush left while the others are indented, as YAML blocks leave them.
        body = textwrap.dedent(text) if first[:1].isspace() else first + "\n" + rest
        source = "def main(output, context):\n" + textwrap.indent(body, "    ")
    try:
        tree = ast.parse(source, "<python>")
    except SyntaxError as error:
        line = max(1, (error.lineno or 2) - 1)
        raise CodeError(f"line {line} is not Python: {error.msg}: {(error.text or '').strip()!r}") from None
    scope: dict[str, Any] = {"json": json, "__name__": "assertion"}
    exec(compile(tree, "<python>", "exec"), scope)  # noqa: S102 (the user's own code, from the user's own config)
    return cast("Callable[[Any, Mapping[str, Any]], object]", scope["main"])


def verdict_of(result: object, threshold: float | None, name: str) -> Score:
    """What the value that a user's function returned comes to.

    A bool is the verdict. A number is the score: it passes from the threshold on, or above 0 where there is none. A dict
    or an object with `pass`, `score` and `reason` says all three, and a score below the threshold fails it. Text is
    read as one of these. Scores are kept as they are, also above 1.

    Raises:
        CodeError: It is none of these.
    """
    if isinstance(result, str):
        result = _from_text(result, name)
    if isinstance(result, bool):
        return Score(1.0 if result else 0.0, result, f"{name} returned {result}")
    if isinstance(result, (int, float)):
        score = float(result)
        passed = score > 0 if threshold is None else score >= threshold - _EPSILON
        wanted = "above 0" if threshold is None else f"at least {threshold:g}"
        return Score(score, passed, f"{name} returned {score:g}, wanted {wanted}")
    fields = _fields(result)
    if fields is None:
        raise CodeError(f"{name} returned {_kind(result)}", hint=_SHAPE)
    return _graded(fields, threshold, name)


def _graded(fields: Mapping[str, object], threshold: float | None, name: str) -> Score:
    missing = [key for key in ("pass", "score", "reason") if fields.get(key) is None]
    if missing:
        raise CodeError(f"{name} returned a dict without {' and '.join(map(repr, missing))}", hint=_SHAPE)
    passed, score, reason = fields["pass"], fields["score"], fields["reason"]
    if not isinstance(passed, bool) and getattr(passed, "dtype", None) != bool:
        raise CodeError(f"{name} returned 'pass': {passed!r}, which is neither True nor False", hint=_SHAPE)
    if isinstance(score, bool) or not _is_number(score):
        raise CodeError(f"{name} returned 'score': {score!r}, which is not a number", hint=_SHAPE)
    value = float(cast("float", score))
    ok = bool(passed)
    why = str(reason)
    if threshold is not None and value < threshold - _EPSILON:
        ok, why = False, f"score {value:g}, wanted at least {threshold:g}: {why}"
    named = {
        str(key): float(cast("float", number))
        for key, number in _mapping(fields.get("namedScores")).items()
        if _is_number(number) and not isinstance(number, bool)
    }
    parts = fields.get("componentResults")
    metadata: dict[str, Any] = dict(_mapping(fields.get("metadata")))
    if isinstance(parts, (list, tuple)) and parts:
        metadata["components"] = [_component(part) for part in cast("list[object]", parts)]
    return Score(value, ok, why, metadata, named)


def _component(part: object) -> dict[str, object]:
    fields = _fields(part) or {}
    return {
        "pass": bool(fields.get("pass")),
        "score": fields.get("score"),
        "reason": str(fields.get("reason") or ""),
    }


def _fields(result: object) -> Mapping[str, object] | None:
    """The fields of a dict, or of an object that has `pass_`, `score` and `reason`; None for anything else."""
    if isinstance(result, Mapping):
        given = cast("Mapping[str, object]", result)
    elif hasattr(result, "score") and (hasattr(result, "pass_") or hasattr(result, "passed")):
        names = ("pass_", "passed", "score", "reason", "named_scores", "component_results", "metadata")
        given = {name: getattr(result, name) for name in names if hasattr(result, name)}
        given = {"pass" if name == "passed" else name: value for name, value in given.items()}
    else:
        return None
    return {_CAMEL.get(name, name): value for name, value in given.items()}


def _from_text(text: str, name: str) -> object:
    word = text.strip()
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    try:
        if word.startswith("{"):
            return json.loads(word)
        return float(word)
    except ValueError:
        raise CodeError(f"{name} returned the text {quoted(text)}", hint=_SHAPE) from None


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) or type(value).__module__ == "numpy"


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
