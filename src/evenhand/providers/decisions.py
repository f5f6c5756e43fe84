"""Decision models over OpenAI's Decisions API, and what all decision APIs share: one state, typed questions, numbers.

The form is that of the types of `openai` 3.57 (`types/decision_create_params.py`, `types/decision.py`). The state goes
as a text, JSON, which the API takes beside its own parts, so that other servers of this form can be asked, too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evenhand.core.decision import TWICE, DecisionQuestion, DecisionRequest
from evenhand.core.encoding import encode
from evenhand.core.errors import BadReply
from evenhand.core.json_shapes import as_array, as_mapping, is_number, is_object
from evenhand.core.message import Message, Reply, Task, Usage
from evenhand.core.provider import Price
from evenhand.providers.answer_text import unfinished
from evenhand.providers.chat import Dialect, counted, rates
from evenhand.providers.prices import cost

DECIDES: frozenset[Task] = frozenset({"decide"})
"""The tasks of a decision model."""

OURS: Mapping[str, str] = {"predicate": "yes_no", "noul": "yes_no", "score": "level"}
"""What APIs call a kind of question → what it is called here, where that is another word."""

Answers = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Finds the answers in a reply's JSON: question → answer in our form (see `core.decision.read_decision`)."""


def said_of(request: DecisionRequest) -> dict[str, Any]:
    """The part of OpenAI's body that carries state and questions."""
    return {
        "input": encode(request.state, ordered=False).decode(),
        "questions": [_question(name, one) for name, one in request.questions.items()],
    }


def settings_of(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """The rest of the body: the model, and what the config passes on."""
    return {**({"model": model} if model else {}), **(config.get("passthrough") or {})}


def no_messages(messages: Sequence[Message]) -> dict[str, Any]:
    """What a decision model is told where there is nothing to decide: nothing."""
    del messages
    return {}


def reader(
    answers: Answers, tokens: Callable[[Mapping[str, Any]], Usage]
) -> Callable[[bytes, bool, Price | None], Reply]:
    """What reads the replies of an API whose answers and counts are found so."""

    def read(body: bytes, parsed: bool, price: Price | None) -> Reply:
        del parsed
        try:
            # Not `decode`: one NaN, which some servers write, would take all other answers with it.
            value: object = json.loads(
                body, parse_constant=str, parse_float=_finite, object_pairs_hook=_object
            )
            text = encode(as_mapping(value).get("answers"), ordered=False).decode()
        except (ValueError, RecursionError) as error:
            raise BadReply(f"the reply is not JSON: {error}", billed=None) from None
        if not is_object(value):
            raise BadReply("the reply is not a JSON object", billed=None)
        if value.get("error"):
            raise unfinished("error", value["error"])
        usage = tokens(value)
        output = dict(answers(value))
        return Reply(
            text=text,
            output=output,
            usage=usage,
            cost_usd=cost(price, usage),
            model=str(value.get("model") or ""),
            finish_reason="stop",
        )

    return read


def _finite(digits: str) -> object:
    """A number of a reply; one that is too large to be one stays a text."""
    number = float(digits)
    return number if math.isfinite(number) else digits


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a reply. A key that is there several times has no value that counts."""
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        value |= {name: TWICE for name in value if names.count(name) > 1}
    return value


def kind_in(raw: Mapping[str, Any]) -> object:
    """What an answer's `type` is called here."""
    kind = raw.get("type")
    return OURS.get(kind, kind) if isinstance(kind, str) else kind


def _question(name: str, question: DecisionQuestion) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "instructions": question.words}
    if question.kind == "yes_no":
        return {**row, "type": "predicate"}
    if question.kind == "choice":
        choices = [_described("value", *option) for option in question.options]
        return {**row, "type": "choice", "choices": choices}
    levels = [_described("label", *option) for option in question.options]
    return {**row, "type": "score", "levels": levels}


def _described(key: str, name: str, description: str) -> dict[str, str]:
    return {key: name, **({"description": description} if description else {})}


def _answers(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answers of a list, by the name of each. What has no name is nobody's."""
    answers: dict[str, Any] = {}
    for place, raw in enumerate(map(as_mapping, as_array(value.get("answers")))):
        name = raw.get("name")
        key = name if isinstance(name, str) else f"answer {place + 1}"
        if key in answers:
            answers[key] = TWICE
            continue
        rows = [as_mapping(row) for row in as_array(raw.get("probabilities"))]
        label = "label" if raw.get("type") == "score" else "value"
        names = [row.get(label) for row in rows]
        by_name = {str(one): row.get("probability") for one, row in zip(names, rows, strict=True)}
        if len(by_name) < len(rows) or not all(isinstance(one, str) for one in names):
            by_name = {}  # an option that appears twice has two probabilities
        answers[key] = {
            "type": kind_in(raw),
            "probability": raw.get("probability"),
            # Only options have several.
            "probabilities": by_name if rows and kind_in(raw) != "yes_no" else None,
            "choice": raw.get("choice"),
            "score": _from_first(raw.get("score"), rows),
        }
    return answers


def _from_first(score: object, rows: Sequence[Mapping[str, Any]]) -> object:
    """A score counted from the lowest level's value, which need not be 0."""
    values = [row.get("value") for row in rows]
    low = min((value for value in values if is_number(value)), default=0)
    return score - low if is_number(score) else score


def _tokens(value: Mapping[str, Any]) -> Usage:
    return counted(value, "input_tokens", "output_tokens", "input_tokens_details.cached_tokens")


DIALECT = Dialect(
    vendor="openai",
    messages=no_messages,
    settings=settings_of,
    read=reader(_answers, _tokens),
    rates=rates,
    tasks=DECIDES,
    decides=said_of,
    most_questions=400,
)
