"""promptfoo's assertions as expectations.

An assertion is read once, by `prepared`, into a function that makes an expectation for each output. What does not
depend on the case is worked out there; what does (tags in its value) is filled in for each.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from evenhand.core.encoding import decode
from evenhand.core.errors import EvenhandError, ScoreError
from evenhand.core.expect import Expectation, Scorer, Trial
from evenhand.core.message import Message, Reply
from evenhand.core.provider import Provider
from evenhand.core.score import Score
from evenhand.promptfoo.code import filled_in
from evenhand.promptfoo.printing import printed
from evenhand.promptfoo.template import check as check_template
from evenhand.promptfoo.template import has_tags, render
from evenhand.promptfoo.transform import looks_like_javascript, split_reference, transformed
from evenhand.promptfoo.values import schema_text, texts
from evenhand.providers.prompt_text import parse_prompt
from evenhand.scorers.code import PythonCode, PythonFile, called, plain_copy, python_function
from evenhand.scorers.javascript_regex import javascript_pattern
from evenhand.scorers.judge import MeetsRubric
from evenhand.scorers.limits import Cost, Latency
from evenhand.scorers.structured import ContainsJson, IsJson, validator
from evenhand.scorers.text import (
    Contains,
    ContainsAll,
    ContainsAny,
    Equals,
    Matches,
    StartsWith,
    quoted,
)

SUPPORTED: frozenset[str] = frozenset(
    """
    equals contains icontains contains-any contains-all icontains-any icontains-all starts-with regex is-json
    contains-json python llm-rubric latency cost
    """.split()
)

KNOWN: frozenset[str] = SUPPORTED | frozenset(
    """
    answer-relevance agent-rubric assert-set bleu classifier contains-html contains-sql contains-xml
    context-faithfulness context-recall context-relevance conversation-relevance factuality finish-reason g-eval gleu
    guardrails human is-html is-refusal is-sql is-valid-function-call is-valid-openai-function-call
    is-valid-openai-tools-call is-xml javascript
    levenshtein max-score meteor model-graded-closedqa model-graded-factuality moderation perplexity perplexity-score pi
    rouge-n ruby search-rubric select-best similar similar:cosine similar:dot similar:euclidean skill-used tool-call-f1
    trace-error-spans trace-span-count trace-span-duration trajectory:goal-success trajectory:step-count
    trajectory:tool-args-match trajectory:tool-sequence trajectory:tool-used webhook word-count
    """.split()
)

DEVIATIONS: Mapping[str, str] = {
    "errors": "A grader that raises, hangs or returns nothing usable is an error, not a failed assertion with score 0; "
    "an error is never turned into a pass by not-.",
    "judge replies": "A judge's reply without a readable verdict is asked for once more and is then an error; `{}` is "
    "not a pass, a score alone decides only where a threshold is set, and two verdicts that differ, an answer that was "
    "cut off and a score off the scale that our own prompt sets are errors.",
    "data in code": "A variable filled into Python code stays a value: it is escaped inside quotes and written as a "
    "literal outside of them.",
    "file:// in CSV": "file://grader.py in an __expected cell is a Python assertion.",
    "unknown types": "An unknown assertion type, an invalid pattern or schema and a missing value are found when the "
    "file is read, before anything is sent.",
    "cached latency": "A reply from the cache has the latency of the call that made it.",
}
"""Where we differ from promptfoo on purpose, by subject."""

_LISTED = {"contains-any": (ContainsAny, False), "contains-all": (ContainsAll, False),
           "icontains-any": (ContainsAny, True), "icontains-all": (ContainsAll, True)}  # fmt: skip
_NEEDS_VALUE = SUPPORTED - {"is-json", "contains-json", "latency", "cost"}


@dataclass(frozen=True, slots=True)
class Assertion:
    """One assertion as a config has it.

    Attributes:
        type: Without `not-`.
        negated: It had `not-`.
        value: As written; schemas and rubrics from files are read already.
        threshold: As written.
        weight: Its share in the test's score.
        metric: Also count its score under this name; may have tags.
        judge: Who judges, where somebody does.
        rubric_prompt: The user's own judge prompt; empty for ours.
        transform: Changes the output before it is looked at.
        config: Passed to the user's code.
        base: The folder that paths start from.
        place: Where it stands, for people.
    """

    type: str
    negated: bool = False
    value: Any = None
    threshold: float | None = None
    weight: float = 1.0
    metric: str = ""
    judge: Provider | None = None
    rubric_prompt: str = ""
    transform: str = ""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    base: Path = Path()
    place: str = ""

    @property
    def written(self) -> str:
        """The type as written."""
        return f"not-{self.type}" if self.negated else self.type


@dataclass(slots=True)
class Cell:
    """What an assertion may look at, beside the output."""

    output: Any
    prompt: str
    variables: Mapping[str, Any]
    test: Mapping[str, Any]
    provider_id: str
    provider_label: str
    reply: Reply | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def context(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """What user code is given as `context`: plain copies, so that it can change nothing of ours."""
        reply = self.reply
        context: dict[str, Any] = {
            "prompt": self.prompt,
            "vars": plain_copy(dict(self.variables)),
            "test": plain_copy(dict(self.test)),
            "config": plain_copy(dict(config)),
            "provider": {"id": self.provider_id, "label": self.provider_label},
            "metadata": plain_copy(dict(self.metadata)),
            "logProbs": None,
            "providerResponse": {},
        }
        if reply is not None:
            context["logProbs"] = list(reply.logprobs) if reply.logprobs is not None else None
            context["providerResponse"] = {
                "output": plain_copy(self.output),
                "raw": reply.text,
                "cost": reply.cost_usd,
                "cached": reply.origin != "provider",
                "latencyMs": None if reply.latency_s is None else reply.latency_s * 1000,
                "finishReason": reply.finish_reason,
                "tokenUsage": {
                    "prompt": reply.usage.tokens_in,
                    "completion": reply.usage.tokens_out,
                },
                "metadata": plain_copy(dict(reply.metadata)),
            }
        return context


Make = Callable[[Cell], Expectation]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a question. An error stays an error."""

    scorer: Scorer

    def score(self, output: Any, trial: Trial) -> Any:
        score = self.scorer.score(output, trial)
        return self._opposite(score) if isinstance(score, Score) else self._later(score)

    async def _later(self, score: Any) -> Score:
        return self._opposite(await score)

    def _opposite(self, score: Score) -> Score:
        if score.value is None:
            return score
        return replace(score, value=min(1.0, max(0.0, 1.0 - score.value)), passed=not score.passed)

    def __str__(self) -> str:
        return f"not-{self.scorer}"


@dataclass(frozen=True, slots=True)
class AfterTransform:
    """A question asked of what the user's code makes of the output."""

    scorer: Scorer
    code: str
    context: Callable[[], Mapping[str, Any]] = field(repr=False)
    base: Path = Path()

    async def score(self, output: Any, trial: Trial) -> Score:
        context = dict(self.context())
        context["prompt"] = {"raw": context["prompt"], "label": context["prompt"]}
        changed = await transformed(self.code, output, context, self.base, trial)
        score = self.scorer.score(changed, trial)
        return score if isinstance(score, Score) else await score

    def __str__(self) -> str:
        return str(self.scorer)


@dataclass(frozen=True, slots=True)
class Computed:
    """A question whose value a function of the user's computes first: `value: file://value.py[:fn]`."""

    assertion: Assertion
    cell: Cell = field(repr=False)

    async def score(self, output: Any, trial: Trial) -> Score:
        path, name = split_reference(str(self.assertion.value), "get_assert")
        function = await trial.load(self.assertion.base / path, name)
        context = self.cell.context(self.assertion.config)
        value = await called(trial, function, output, context, f"{Path(path).name}:{name}")
        if (
            not isinstance(value, (str, int, float, list, Mapping))
            or isinstance(value, bool)
            or "pass" in _keys(value)
        ):
            kind = "a verdict" if isinstance(value, (bool, Mapping)) else f"{type(value).__name__}"
            raise ScoreError(
                f"{path}:{name} returned {kind}, not a value for '{self.assertion.written}'",
                hint=f"For a verdict of its own write type: python, value: {self.assertion.value}",
            )
        scorer = _scorer(replace(self.assertion, value=value, negated=False), self.cell, value)
        score = scorer.score(output, trial)
        return score if isinstance(score, Score) else await score

    def __str__(self) -> str:
        return f"{self.assertion.type} {self.assertion.value}"


def split(type_: str) -> tuple[str, bool]:
    """A type as written, as the type and whether it is negated."""
    return (type_[4:], True) if type_.startswith("not-") else (type_, False)


def unknown_type(type_: str) -> tuple[str, str]:
    """What to say of a type that cannot be run: what is wrong, and what to do."""
    name, _ = split(type_)
    if name in KNOWN:
        return (
            f"assertion type '{type_}' is not supported yet",
            "`evenhand scorers` lists what is; a Python assertion can stand in: type: python, value: file://grader.py",
        )
    near = difflib.get_close_matches(name, sorted(KNOWN), n=1)
    guess = f"Did you mean '{'not-' if type_ != name else ''}{near[0]}'? " if near else ""
    return f"assertion type '{type_}' is not known", f"{guess}`evenhand scorers` lists all of them."


def problems(assertion: Assertion) -> list[tuple[str, str]]:
    """What is wrong with an assertion, as far as can be seen before anything runs: (what, what to do)."""
    found: list[tuple[str, str]] = []
    type_, value = assertion.type, assertion.value
    if type_ in _NEEDS_VALUE and (value is None or (value == "" and type_ != "equals")):
        found.append((f"'{assertion.written}' has no value", "Say what to look for: value: …"))
    if type_ in ("latency", "cost") and assertion.threshold is None:
        unit = "milliseconds" if type_ == "latency" else "US dollars"
        found.append(
            (
                f"'{assertion.written}' has no threshold",
                f"Say what is allowed, in {unit}: threshold: …",
            )
        )
    if type_ == "llm-rubric" and assertion.judge is None:
        found.append(
            (
                "'llm-rubric' has no model to judge",
                "Name one in defaultTest.options.provider, or set OPENAI_API_KEY or ANTHROPIC_API_KEY.",
            )
        )
    written = (
        [value] if isinstance(value, str) else [v for v in _items(value) if isinstance(v, str)]
    )
    if type_ == "python":
        written = []
    if assertion.metric:
        written.append(assertion.metric)
    found += [(wrong, "") for wrong in map(check_template, written) if wrong]
    try:
        _compile_now(assertion)
    except EvenhandError as error:
        found.append((error.message, error.hint))
    if assertion.transform:
        found += transform_problems(assertion.transform, assertion.base)
    if isinstance(value, str) and value.startswith("file://") and not has_tags(value):
        found += file_problems(value, assertion.base, "get_assert")
    return found


def transform_problems(code: str, base: Path) -> list[tuple[str, str]]:
    """What is wrong with a transform, as far as can be seen before it runs."""
    if code.startswith("file://"):
        return file_problems(code, base, "get_transform")
    if looks_like_javascript(code):
        return [
            (
                f"transform {quoted(code)} is JavaScript, which is not supported yet",
                "Write it in Python: an expression that uses `output`, or file://transform.py.",
            )
        ]
    try:
        python_function(code)
    except EvenhandError as error:
        return [(f"transform: {error.message}", error.hint)]
    return []


def file_problems(reference: str, base: Path, default: str) -> list[tuple[str, str]]:
    """What is wrong with a reference to a function in a Python file, without importing it."""
    import ast  # noqa: PLC0415 (only for configs with code)

    path, name = split_reference(reference, default)
    file = base / path
    if file.suffix in (".js", ".ts", ".mjs", ".cjs", ".rb"):
        return [
            (
                f"{path}: only Python files can be run yet",
                "Write it in Python: file://grader.py[:function]",
            )
        ]
    if not file.is_file():
        near = difflib.get_close_matches(file.name, [p.name for p in file.parent.glob("*.py")], n=1)
        return [
            (
                f"{path} does not exist",
                f"Did you mean '{near[0]}'?" if near else f"Looked in {file.parent}.",
            )
        ]
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError) as error:
        return [(f"{path} is not Python: {error}", "")]
    names = {
        n.name
        for n in tree.body
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    others = {
        alias.asname or alias.name.split(".")[0]
        for n in tree.body
        if isinstance(n, (ast.Import, ast.ImportFrom))
        for alias in n.names
    } | {
        t.id
        for n in tree.body
        if isinstance(n, ast.Assign)
        for t in n.targets
        if isinstance(t, ast.Name)
    }
    first = name.split(".")[0]
    if first in names | others or "*" in others:
        return []
    near = difflib.get_close_matches(first, sorted(names), n=1)
    hint = (
        f"Did you mean '{near[0]}'?"
        if near
        else f"It has: {', '.join(sorted(names)) or 'no functions'}."
    )
    return [(f"{path} has no function '{name}'", hint)]


def prepared(assertion: Assertion) -> Make:
    """The assertion as a function that makes its expectation for a cell.

    Raises:
        EvenhandError: It cannot be one; `problems` says so before.
    """
    fixed = _fixed(assertion)
    metric = assertion.metric
    metric_tags = has_tags(metric)
    weight, transform = assertion.weight, assertion.transform
    negated = (
        assertion.negated and assertion.type != "python"
    )  # code turns its own verdict round and keeps its score
    value = assertion.value
    rendered = _renderer(assertion.type, value) if fixed is None else None
    computed = _is_file(value) and assertion.type not in ("python", "is-json", "contains-json")

    def make(cell: Cell) -> Expectation:
        scorer: Scorer
        if fixed is not None:
            scorer = fixed
        elif computed:
            scorer = Computed(assertion, cell)
        else:
            assert rendered is not None  # noqa: S101 (made above, where nothing is fixed)
            try:
                scorer = _scorer(assertion, cell, rendered(cell.variables))
            except EvenhandError as error:
                scorer = Broken(assertion.written, error)
        if negated:
            scorer = Not(scorer)
        if transform:
            scorer = AfterTransform(
                scorer, transform, partial(cell.context, assertion.config), assertion.base
            )
        return Expectation(
            cell.output,
            scorer,
            weight=weight,
            metric=render(metric, cell.variables) if metric_tags else metric,
        )

    return make


@dataclass(frozen=True, slots=True)
class Broken:
    """A question that could not be put; it is an error wherever it is asked."""

    name: str
    error: EvenhandError

    def score(self, output: Any, trial: Trial) -> Score:  # noqa: ARG002 (the Protocol's)
        raise self.error

    def __str__(self) -> str:
        return self.name


def _fixed(assertion: Assertion) -> Scorer | None:
    """The scorer of an assertion that is the same for every case; None where it depends on the case."""
    value = assertion.value
    if assertion.type in ("python", "llm-rubric") or _is_file(value):
        return None
    if any(isinstance(v, str) and has_tags(v) for v in (value, *_items(value))):
        return None
    return _scorer(assertion, None, value)


def _scorer(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    """The scorer of an assertion with this value, its tags filled in."""
    match assertion.type:
        case "equals":
            return Equals(value)
        case "contains":
            return Contains(printed(value))
        case "icontains":
            return Contains(printed(value), ignore_case=True)
        case "contains-any" | "contains-all" | "icontains-any" | "icontains-all":
            kind, ignore_case = _LISTED[assertion.type]
            return kind(tuple(texts(value)), ignore_case)
        case "starts-with":
            return StartsWith(printed(value))
        case "regex":
            pattern = printed(value)
            javascript_pattern(pattern)
            return Matches(pattern)
        case "is-json":
            return IsJson(schema_text(value))
        case "contains-json":
            return ContainsJson(schema_text(value))
        case "latency":
            return Latency(_bound(assertion))
        case "cost":
            return Cost(_bound(assertion))
        case "python":
            assert cell is not None  # noqa: S101 (code is never fixed)
            return _python(assertion, cell, value)
        case "llm-rubric":
            assert cell is not None  # noqa: S101 (a rubric is never fixed)
            return _rubric(assertion, cell, value)
        case _:
            what, hint = unknown_type(assertion.written)
            raise ScoreError(what, hint=hint)


def _python(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    context = partial(cell.context, assertion.config)
    text = str(value)
    if text.startswith("file://"):
        path, name = split_reference(text, "get_assert")
        return PythonFile(
            assertion.base / path, name, context, assertion.threshold, assertion.negated
        )
    return PythonCode(text, context, assertion.threshold, assertion.negated, assertion.place)


def _rubric(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    if assertion.judge is None:
        raise ScoreError("there is no model to judge")
    rubric = printed(value)
    return MeetsRubric(
        rubric,
        assertion.judge,
        assertion.threshold,
        partial(_rubric_messages, assertion.rubric_prompt, rubric, cell.variables)
        if assertion.rubric_prompt
        else None,
    )


def _rubric_messages(
    template: str, rubric: str, variables: Mapping[str, Any], output: str
) -> tuple[Message, ...]:
    return filled_messages(template, {**variables, "rubric": rubric, "output": output})


def filled_messages(template: str, variables: Mapping[str, Any]) -> tuple[Message, ...]:
    """A chat prompt with its tags filled in.

    Who says what is the template's to say: the tags in a chat are filled in message by message, so that no value can
    end a string or put words into another mouth.
    """
    chat = parse_prompt(template)
    if chat != (Message("user", template),):
        return tuple(Message(m.role, cast("str", _filled(m.content, variables))) for m in chat)
    if _is_json(template):
        return (Message("user", fill_json(template, variables)),)
    text = render(template, variables)
    # A chat with loops in it is JSON only once it is filled in.
    return parse_prompt(text) if template.lstrip()[:1] == "[" else (Message("user", text),)


def fill_json(template: str, variables: Mapping[str, Any]) -> str:
    """A JSON text with the tags in its strings filled in."""
    return json.dumps(_filled(decode(template), variables), indent=2, ensure_ascii=False)


def _filled(value: object, variables: Mapping[str, Any]) -> object:
    """A value made of dicts, lists and text, with the tags in its text filled in."""
    if isinstance(value, str):
        return render(value, variables)
    if isinstance(value, list):
        return [_filled(item, variables) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        given = cast("dict[str, object]", value)
        return {key: _filled(item, variables) for key, item in given.items()}
    return value


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        decode(text)
    except ValueError:
        return False
    return True


def _renderer(type_: str, value: Any) -> Callable[[Mapping[str, Any]], Any]:
    if isinstance(value, str):
        if value.startswith("file://") and not has_tags(value):
            return lambda _: value
        if type_ == "python" and not value.startswith("file://"):
            return lambda variables: filled_in(value, variables)
        return lambda variables: render(value, variables)
    if isinstance(value, list):
        items = cast("list[object]", value)
        return lambda variables: [render(v, variables) if isinstance(v, str) else v for v in items]
    return lambda _: value


def _compile_now(assertion: Assertion) -> None:
    """Reads what can be read before there is a case; raises what is wrong with it."""
    value = assertion.value
    if assertion.type == "python":
        if isinstance(value, str) and not value.startswith("file://"):
            python_function(filled_in(value, {}))
    elif assertion.type in ("is-json", "contains-json"):
        if value is not None and not (isinstance(value, str) and has_tags(value)):
            schema = schema_text(value)
            if schema:
                validator(schema)
    elif value is not None and value != "":
        _fixed(assertion)


def _bound(assertion: Assertion) -> float:
    if assertion.threshold is None:
        raise ScoreError(f"'{assertion.written}' has no threshold")
    return assertion.threshold


def _items(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()


def _keys(value: object) -> Sequence[object]:
    return tuple(cast("Mapping[object, object]", value)) if isinstance(value, Mapping) else ()


def _is_file(value: object) -> bool:
    return isinstance(value, str) and value.startswith("file://")
