"""Whether the calls in an output are of functions that were declared, with arguments that fit their schemas.

An output that calls nothing fails. So does a call whose arguments are no JSON: a model wrote them, and that is what is
asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import as_array, is_array, is_mapping
from evenhand.core.outputs import need_value
from evenhand.core.score import Score, check
from evenhand.scorers.json_blocks import strict_json
from evenhand.scorers.structured import validator
from evenhand.scorers.text import quoted, text_of, value_text

_MCP_ERROR = re.compile(r"MCP Tool Error \(([^)]+)\): (.+)")


class _Wrong(Exception):
    """What is wrong with a call, for people."""


@dataclass(frozen=True, slots=True)
class CallsDeclaredFunction:
    """The output is one call of a declared function: OpenAI's older form, or Google's parts with calls.

    Attributes:
        functions: As declared, each with `name` and `parameters`, a JSON Schema.
    """

    functions: Sequence[Mapping[str, Any]] = field(repr=False)

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        need_value(output)
        try:
            google = _google_calls(output)
            if google is None:
                inner = output.get("function_call", output) if isinstance(output, Mapping) else None
                _check_call(inner, self.functions)
            for call in google or ():
                _check_google(call, self.functions)
        except _Wrong as wrong:
            return check(False, str(wrong))
        return check(True)

    def __str__(self) -> str:
        return "is-valid-function-call"


@dataclass(frozen=True, slots=True)
class CallsDeclaredTools:
    """The output is a list of calls of declared functions, as chat completions of OpenAI's have it.

    The text of an MCP tool's result passes, that of an MCP tool's error fails.
    """

    functions: Sequence[Mapping[str, Any]] = field(repr=False)

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        text = text_of(output)
        # promptfoo's OpenAI provider writes the end of an MCP call into the output's text in these words.
        if "MCP Tool Error" in text:
            match = _MCP_ERROR.search(text)
            name, problem = match.groups() if match else ("unknown", "unknown error")
            return check(False, f"the MCP tool {name} failed: {problem}")
        if "MCP Tool Result" in text:
            return check(True, "an MCP tool gave a result")
        listed = output.get("tool_calls", output) if isinstance(output, Mapping) else output
        calls = as_array(listed)
        inner = [c.get("function") for c in calls if is_mapping(c)]
        if not calls or len(inner) < len(calls) or not all(map(_readable, inner)):
            return check(False, f"{quoted(text)} is not a list of tool calls")
        try:
            for call in inner:
                _check_call(call, self.functions)
        except _Wrong as wrong:
            return check(False, str(wrong))
        return check(True)

    def __str__(self) -> str:
        return "is-valid-openai-tools-call"


def _readable(call: object) -> TypeGuard[Mapping[str, str]]:
    return is_mapping(call) and all(isinstance(call.get(key), str) for key in ("name", "arguments"))


def _check_call(call: object, functions: Sequence[Mapping[str, Any]]) -> None:
    if not _readable(call):
        raise _Wrong(f"{quoted(value_text(call))} is not a function call")
    try:
        arguments = strict_json(call["arguments"])
    except ValueError as error:
        raise _Wrong(f"the arguments of {call['name']} are not JSON: {error}") from None
    schema = _declared(call["name"], functions).get("parameters")
    if not schema:
        raise _Wrong(f"no function {call['name']} with parameters is declared")
    _check_arguments(call["name"], arguments, schema)


def _declared(name: object, functions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    declared = next((function for function in functions if function.get("name") == name), None)
    if declared is None:
        raise _Wrong(f"no function {name} is declared")
    return declared


def _check_arguments(name: str, arguments: object, schema: object) -> None:
    try:
        check_schema = validator(json.dumps(schema, sort_keys=True))
    except ScoreError as error:
        raise _Wrong(f"the parameters of {name} cannot be used: {error.message}") from None
    for error in check_schema.iter_errors(arguments):
        raise _Wrong(f"the arguments of {name} do not fit: {error.message}")


def _google_calls(output: object) -> Sequence[Mapping[str, Any]] | None:
    """The calls of an answer of Google's, which may be JSON text; None where it is none of theirs."""
    value = output
    if isinstance(value, str):
        try:
            value = strict_json(value)
        except ValueError:
            return None
    if is_mapping(value):
        live = value.get("toolCall")
        listed = live.get("functionCalls") if is_mapping(live) else None
        return listed if is_array(listed) else None
    if is_array(value):
        parts = [part for part in value if is_mapping(part)]
        return [
            part["functionCall"] for part in parts if is_mapping(part.get("functionCall"))
        ] or None
    return None


def _check_google(call: Mapping[str, Any], functions: Sequence[Mapping[str, Any]]) -> None:
    function = _declared(call.get("name"), functions)
    arguments = call.get("args")
    schema = function.get("parameters")
    if bool(schema) is not bool(arguments):
        raise _Wrong(f"{call.get('name')} takes {'some' if schema else 'no'} arguments")
    if schema:
        _check_arguments(str(call.get("name")), arguments, _lower_types(schema))


def _lower_types(schema: Any) -> Any:
    """A schema with the names of types as JSON Schema has them: Google's are in capitals."""
    if is_array(schema):
        return [_lower_types(item) for item in schema]
    if not is_mapping(schema):
        return schema
    return {
        key: value.lower() if key == "type" and isinstance(value, str) else _lower_types(value)
        for key, value in schema.items()
    }
