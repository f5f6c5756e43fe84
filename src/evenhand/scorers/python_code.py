"""Questions that the user's own Python answers: an expression, a few lines, or a function in a file.

It runs off the event loop, imported once, its prints kept. What it returns is taken only where it means one thing; what
raises, hangs or returns something else is an error, never a score.
"""

from __future__ import annotations

import ast
import json
import math
import re
import textwrap
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import Any, cast

from evenhand.core.encoding import encode
from evenhand.core.errors import CodeError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import as_mapping, is_array, is_mapping, is_number, is_object
from evenhand.core.score import Scale, Score
from evenhand.core.wording.bounds import as_written, beside, beside_least
from evenhand.scorers.code_languages import CODE_LANGUAGES
from evenhand.scorers.text import quoted

_EPSILON = 2.2e-16  # so that a sum of parts meets its threshold in spite of rounding
_DICT = {"Python": "dict", "JavaScript": "object"} | {
    language.name: language.mapping for language in CODE_LANGUAGES
}
_PLACE = re.compile(r"(.+\.py):(\d+): ")
_CAMEL = {
    "pass_": "pass",
    "named_scores": "namedScores",
    "component_results": "componentResults",
    "tokens_used": "tokensUsed",
}


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A function of a Python file passes the output: `get_assert(output, context)` unless another is named.

    Attributes:
        context: Makes the second argument, anew for each call: what one function changes in it, no other sees.
        threshold: A score from here on passes.
        negated: What passes fails, and the other way round. An error stays an error.
    """

    path: Path
    function: str
    context: Callable[[], Mapping[str, Any]] = field(repr=False)
    threshold: float | None = None
    negated: bool = False

    async def score(self, output: Any, trial: Trial) -> Score:
        name = f"{self.path.name}:{self.function}"
        function = await trial.load(self.path, self.function)
        result = await called(trial, function, output, self.context(), name)
        return verdict_of(result, self.threshold, name, negated=self.negated)

    def __str__(self) -> str:
        function = "" if self.function == "get_assert" else f":{self.function}"
        return f"{'not-' if self.negated else ''}python {self.path.name}{function}"


@dataclass(frozen=True, slots=True)
class PythonCode:
    """A Python expression, or the lines of a function body with a `return`, passes the output.

    Attributes:
        context: See `PythonFile`, as for the others.
        place: Where the code stands, for people.
    """

    code: str
    context: Callable[[], Mapping[str, Any]] = field(repr=False)
    threshold: float | None = None
    negated: bool = False
    place: str = ""

    async def score(self, output: Any, trial: Trial) -> Score:
        function = python_function(self.code)
        name = self.place or "python"
        result = await called(trial, function, output, self.context(), name)
        return verdict_of(result, self.threshold, name, negated=self.negated)

    def __str__(self) -> str:
        first = next((line for line in self.code.splitlines() if line.strip()), "").strip()
        return f"{'not-' if self.negated else ''}python {quoted(first)}"


async def called(
    trial: Trial,
    function: Callable[..., Any],
    output: object,
    context: Mapping[str, Any],
    name: str,
) -> object:
    """What the user's function returns for a copy of the output.

    Raises:
        CodeError: It raised or took too long. The message says in which file and line.
    """
    try:
        return await trial.call(function, plain_copy(output), context, name=name)
    except CodeError as error:
        where = _PLACE.match(error.hint)
        if where is None:
            raise
        raise CodeError(
            f"{error.message} ({Path(where[1]).name}:{where[2]})", hint=error.hint
        ) from error


def plain_copy(value: Any) -> Any:
    """A copy of a value made of dicts and lists; all else is taken as it is."""
    if is_object(value):
        return {key: plain_copy(item) for key, item in value.items()}
    if is_array(value):
        return [plain_copy(item) for item in value]
    return value


@lru_cache(maxsize=4096)
def python_function(
    code: str, first: str = "output"
) -> Callable[[Any, Mapping[str, Any]], Awaitable[object] | object]:
    """A function of (output, context) from an expression, or from the lines of its body.

    Args:
        first: The name of the first argument, if it is another.

    An expression may span lines. `json` is there without an import; `await` makes the function an async one.

    Raises:
        CodeError: It is not Python, or never returns anything.
    """
    body = _statements(code)
    shell = ast.parse(f"def main({first}, context): pass")
    main = cast("ast.FunctionDef", shell.body[0])
    main.body = body
    inside = list(_own_nodes(body))
    if not any(isinstance(node, (ast.Return, ast.Raise)) for node in inside):
        raise CodeError(
            "it never returns anything", hint="End it with: return <bool, number or dict>."
        )
    if any(isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith)) for node in inside):
        fields = {name: getattr(main, name) for name in main._fields}
        shell.body[0] = ast.copy_location(ast.AsyncFunctionDef(**fields), main)
    scope: dict[str, Any] = {"json": json, "__name__": "assertion"}
    try:
        exec(compile(ast.fix_missing_locations(shell), "<python>", "exec"), scope)  # noqa: S102 (the user's own code, from the user's own config)
    except (SyntaxError, ValueError) as error:
        raise CodeError(f"it is not Python: {error}") from None
    return scope["main"]


def _statements(code: str) -> list[ast.stmt]:
    text = code.strip("\n").rstrip()
    if not text:
        raise CodeError("it is empty", hint="Write an expression that uses `output`.")
    try:
        # In parentheses an expression may span lines. The line break ends a comment that its last line may have.
        expression = ast.parse("(" + text.strip() + "\n)", "<python>", mode="eval").body
    except (SyntaxError, ValueError):
        pass
    else:
        return [ast.copy_location(ast.Return(expression), expression)]
    # The first line may stand flush left while the others are indented, or all of them may be.
    try:
        return ast.parse(textwrap.dedent(text), "<python>").body
    except SyntaxError as error:
        raise CodeError(
            f"line {error.lineno or 1} is not Python: {error.msg}: {(error.text or '').strip()!r}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise CodeError(f"it is not Python: {error}") from None


def _own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of these statements, without those of functions defined inside of them."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)


def is_verdict(value: object) -> bool:
    """Whether a value is a whole verdict: `pass`, `score` and `reason`, each of its kind."""
    fields = as_mapping(value)
    score = fields.get("score")
    return (
        isinstance(fields.get("pass"), bool)
        and is_number(score)
        and isinstance(fields.get("reason"), str)
    )


def verdict_of(
    result: object,
    threshold: float | None,
    name: str,
    *,
    negated: bool = False,
    language: str = "Python",
) -> Score:
    """What the value that a user's function returned comes to.

    A bool is the verdict. A number is the score: it passes from the threshold on, or above 0 where there is none. A
    dict or an object with `pass`, `score` and `reason` says all three, and a score below the threshold fails it. Text
    is read as one of these. Scores are kept as they are, also above 1, and also where `not-` turns the verdict round.

    Args:
        threshold: A number from here on passes.
        name: What the function is called in reasons and errors.
        negated: What passes fails, and the other way round.
        language: What the function is written in: reasons show values as it writes them.

    Raises:
        CodeError: It is none of these.
    """
    if isinstance(result, str):
        result = _from_text(result, name, language)
    result = _scalar(result)
    if isinstance(result, bool):
        passed = result is not negated
        return Score(1.0 if passed else 0.0, passed, f"{name} returned {_shown(result, language)}")
    if isinstance(result, float):
        score = _finite(result, "a score", name)
        passed = score > 0 if threshold is None else score >= threshold - _EPSILON
        expected = "above 0" if threshold is None else f"at least {as_written(threshold)}"
        return Score(
            score,
            passed is not negated,
            f"{name} returned {beside(score, threshold)}, {'not ' if negated else ''}wanted {expected}",
        )
    fields = _fields(result)
    if fields is None:
        raise CodeError(f"{name} returned {_kind(result)}", hint=_shape(language))
    return _graded(fields, threshold, name, negated=negated, language=language)


def _graded(
    fields: Mapping[str, object],
    threshold: float | None,
    name: str,
    *,
    negated: bool,
    language: str,
) -> Score:
    shape = _shape(language)
    missing = [key for key in ("pass", "score", "reason") if fields.get(key) is None]
    if missing:
        raise CodeError(
            f"{name} returned a {_DICT[language]} without {' and '.join(map(repr, missing))}",
            hint=shape,
        )
    passed, score = _scalar(fields["pass"]), _scalar(fields["score"])
    if not isinstance(passed, bool):
        bools = "True nor False" if language == "Python" else "true nor false"
        raise CodeError(
            f"{name} returned 'pass': {_shown(passed, language)}, which is neither {bools}",
            hint=shape,
        )
    if not isinstance(score, float):
        raise CodeError(
            f"{name} returned 'score': {_shown(score, language)}, which is not a number", hint=shape
        )
    value = _finite(score, "a 'score'", name)
    why = str(fields["reason"])
    if threshold is not None and value < threshold - _EPSILON:
        passed, why = False, f"score {beside_least(value, threshold)}: {why}"
    named: dict[str, float] = {}
    for key, raw in as_mapping(fields.get("namedScores")).items():
        number = _scalar(raw)
        if isinstance(number, bool):
            number = float(number)
        if not isinstance(number, float):
            raise CodeError(
                f"{name} returned the named score {key!r}: {_shown(raw, language)}, which is not a number",
                hint=shape,
            )
        named[str(key)] = _finite(number, f"a named score {key!r}", name)
    scale = _scale(fields.get("scale"), value, name)
    parts = fields.get("componentResults")
    metadata: dict[str, Any] = dict(as_mapping(fields.get("metadata")))
    if isinstance(parts, (list, tuple)) and parts:
        metadata["components"] = [_component(part) for part in parts]
    return Score(value, passed is not negated, why, metadata, named, scale=scale)


def _scale(scale: object, score: float, name: str) -> Scale | None:
    """What a function says of the lowest and the highest score there can be; raises CodeError."""
    if scale is None:
        return None
    ends = [_scalar(end) for end in scale] if isinstance(scale, (list, tuple)) else []
    # NaN fails every comparison, so it is refused here, too.
    match ends:
        case [float(low), float(high)] if -math.inf < low < high < math.inf:
            pass
        case _:
            raise CodeError(
                f"{name} returned 'scale': {scale!r}, which is not a lowest and a highest score",
                hint="Return a list of two numbers, such as 'scale': [1, 5].",
            )
    if not low <= score <= high:
        raise CodeError(
            f"{name} returned 'score': {score:g}, which is off its scale from {low:g} to {high:g}",
            hint="Return a score on the scale, or another scale.",
        )
    return low, high


def _scalar(value: Any) -> object:
    """A bool as bool and a number as float, NumPy's too; anything else as it is."""
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    try:
        return float(value)
    except OverflowError:
        # A whole number that is too large for a float; infinity is refused with a message of its own.
        return math.inf


def _finite(value: float, what: str, name: str) -> float:
    if not math.isfinite(value):
        raise CodeError(
            f"{name} returned {what} of {value}",
            hint="Return a number, or raise an error that says what is wrong.",
        )
    return value


def _component(part: object) -> dict[str, object]:
    fields = _fields(part) or {}
    passed, score = _scalar(fields.get("pass")), _scalar(fields.get("score"))
    return {
        "pass": passed if isinstance(passed, bool) else None,
        "score": score if isinstance(score, float) and math.isfinite(score) else None,
        "reason": str(fields.get("reason") or ""),
    }


def _fields(result: object) -> Mapping[str, object] | None:
    """The fields of a dict, or of an object that has `pass_`, `score` and `reason`; None for anything else."""
    if is_mapping(result):
        fields = result
    elif hasattr(result, "score") and (hasattr(result, "pass_") or hasattr(result, "passed")):
        names = (
            "pass_",
            "passed",
            "score",
            "reason",
            "named_scores",
            "component_results",
            "metadata",
            "scale",
        )
        fields = {name: getattr(result, name) for name in names if hasattr(result, name)}
        fields = {"pass" if name == "passed" else name: value for name, value in fields.items()}
    else:
        return None
    # Python's names are read as those that promptfoo has in JSON.
    return {_CAMEL.get(name, name): value for name, value in fields.items()}


def _from_text(text: str, name: str, language: str) -> object:
    word = text.strip()
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    try:
        if word.startswith("{"):
            return json.loads(word)
        return float(word)
    except ValueError:
        raise CodeError(f"{name} returned the text {quoted(text)}", hint=_shape(language)) from None


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


def _shape(language: str) -> str:
    return f"Return a bool, a number, or a {_DICT[language]} with 'pass', 'score' and 'reason'."


def _shown(value: object, language: str) -> str:
    """A value as the language writes it."""
    return repr(value) if language == "Python" else encode(value).decode()
