"""Answers of decision models, in the form of the API that was asked: OpenAI's, Gemini's, System One, SGLang's own.

Each question of a request looks for its own rule: `system` is the question's words, `last` the texts that it names. A
rule's reply is a probability of yes; an object, option → probability; an option's name, `yes` or `no`; `refusal` or
`missing`; or what a judge that writes would answer: `{"passes": true}`, `{"pass": true}`, `{"score": 4}`. Any other
text draws the probabilities by a hash of it, so that they are the same every time.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from evenhand.core.encoding import digest
from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_mapping, is_number
from evenhand.core.record import Record
from evenhand.testing.script import SPOILED, ScriptedRequest

SURE = 0.95
"""The probability of what a reply names."""
_VERDICTS = ("passes", "pass", "matches", "verdict")
_NAMED = re.compile(r"`(\w+)`")
_NOBODYS = "q0000000000"


class AskedQuestion(Record, frozen=True):
    """A question of a request, whichever form it came in.

    Attributes:
        kind: `predicate`, `noul`, `yes_no`, `choice` or `score`.
        options: The names of what there is to choose from; none for a yes or no.
    """

    name: str
    kind: str
    words: str
    options: tuple[str, ...] = ()


def questions_in(body: Mapping[str, Any]) -> list[AskedQuestion]:
    """The questions of a request."""
    requests = body.get("questions")
    rows = [as_mapping(row) for row in as_array(requests)]
    if is_mapping(requests):
        rows = [{"name": name, **as_mapping(row)} for name, row in requests.items()]
    return [_question(row) for row in rows]


def requests_in(body: Mapping[str, Any], path: str) -> list[ScriptedRequest]:
    """A request's questions, each as rules see it."""
    requests: list[ScriptedRequest] = []
    for question in questions_in(body):
        texts = _about(body, question.words)
        requests.append(
            ScriptedRequest(
                model=str(body.get("model") or ""),
                text=f"{question.words}\n{texts}",
                system=question.words,
                last=texts,
                path=path,
            )
        )
    return requests


def _about(body: Mapping[str, Any], words: str) -> str:
    """The texts of the state that a question names, a line for each; all of them where it names none."""
    state: Any = body.get("state", body.get("input"))
    if isinstance(state, str):
        try:
            state = json.loads(state)
        except ValueError:
            return state
    if not is_mapping(state):
        return str(state)
    named = [state[name] for name in dict.fromkeys(_NAMED.findall(words)) if name in state]
    return "\n".join(map(str, named or state.values()))


def answered(body: Mapping[str, Any], replies: Sequence[object], fault: str = "") -> dict[str, Any]:
    """The reply to a request, in its API's form.

    Args:
        replies: What a rule says to each question, in their order.
        fault: What is wrong with all answers; empty for nothing. See `SPOILED`.
    """
    listed = is_array(body.get("questions"))
    openai = listed and any("name" in as_mapping(row) for row in as_array(body.get("questions")))
    rows: list[tuple[str, dict[str, Any]]] = []
    for question, reply in zip(questions_in(body), replies, strict=True):
        answer = _answer(question, reply)
        if answer is not None:
            rows += _spoiled(question, answer, fault)
    tokens = max(1, len(json.dumps(body, default=str)) // 4)
    written: Any = {
        name: {key: value for key, value in row.items() if not key.startswith("_")}
        for name, row in rows
    }
    if openai:
        written = [_in_list(name, row) for name, row in rows]
    usage: dict[str, Any] = {"input_tokens": tokens, "output_tokens": 0, "total_tokens": tokens}
    if listed and not openai:
        usage = {"prompt_tokens": tokens, "completion_tokens": 0}
    elif "input" in body and not listed:
        usage = {"total_input_tokens": tokens, "total_output_tokens": 0, "total_tokens": tokens}
    return {"model": body.get("model") or "default", "answers": written, "usage": usage}


def _question(row: Mapping[str, Any]) -> AskedQuestion:
    kind = str(row.get("type"))
    options: list[Any] = []
    for key in ("choices", "options", "levels", "criteria"):
        value = row.get(key)
        options += list(value) if is_mapping(value) and kind == "choice" else as_array(value)
    names = [
        str(option.get("value", option.get("name", option.get("label"))))
        if is_mapping(option)
        else str(option)
        for option in options
    ]
    return AskedQuestion(
        name=str(row.get("name", row.get("id", ""))),
        kind=kind,
        words=str(row.get("instructions", row.get("question", ""))),
        options=tuple(names),
    )


def _answer(question: AskedQuestion, reply: object) -> dict[str, Any] | None:
    """One answer, as an object of System One has it; None where it is left out."""
    if callable(reply):
        reply = cast("Callable[[str], object]", reply)(question.words)
    if reply == "missing":
        return None
    if reply == "refusal":
        return {"type": "refusal"}
    if question.kind in ("predicate", "noul", "yes_no"):
        yes = _likely_yes(reply, question)
        if question.kind == "predicate":
            return {"type": "predicate", "probability": yes}
        if question.kind == "noul":
            return {"type": "noul", "noul": yes, "confidence": max(yes, 1 - yes)}
        return {"type": "yes_no", "probabilities": {"yes": yes, "no": 1 - yes}, "label_mass": 0.99}
    numbers = _shares(question, reply)
    best = max(range(len(numbers)), key=lambda place: _comparable(numbers[place]), default=0)
    by_name = dict(zip(question.options, numbers, strict=True))
    answer: dict[str, Any] = {"type": question.kind, "confidence": max(numbers, default=0.0)}
    if question.kind == "choice":
        return {**answer, "choice": question.options[best], "probabilities": by_name}
    by_place = {str(place): number for place, number in enumerate(numbers)}
    score = sum(place * number for place, number in enumerate(numbers))
    legend = dict(enumerate(question.options))
    return {
        **answer,
        "score": score,
        "probabilities": by_place,
        "legend": {str(place): words for place, words in legend.items()},
        "_options": question.options,
    }


def _likely_yes(reply: object, question: AskedQuestion) -> Any:
    if is_mapping(reply):
        reply = next((reply[key] for key in _VERDICTS if key in reply), reply.get("score", 0.5))
    if isinstance(reply, bool):
        return SURE if reply else round(1 - SURE, 2)
    if is_number(reply):
        return reply
    word = str(reply).strip().lower()
    if word in ("yes", "no", "true", "false"):
        return SURE if word in ("yes", "true") else round(1 - SURE, 2)
    return _drawn(f"{reply}\n{question.words}")


def _shares(question: AskedQuestion, reply: object) -> list[Any]:
    """A probability for each option."""
    options = question.options
    if is_mapping(reply) and set(reply) & set(options):
        return [reply.get(option, 0.0) for option in options]
    named = reply
    if is_mapping(reply):
        named = reply.get("score", reply.get("category"))
    if is_number(named) and not isinstance(named, bool):
        named = f"{named:g}"
    place = next((i for i, one in enumerate(options) if _names(one, str(named))), None)
    if place is not None:
        rest = (1 - SURE) / max(1, len(options) - 1)
        return [SURE if i == place else rest for i in range(len(options))]
    weights = [math.exp(4 * _drawn(f"{reply}\n{question.words}\n{one}")) for one in options]
    return [weight / sum(weights) for weight in weights]


def _names(option: str, word: str) -> bool:
    """Whether this word names an option; a level may be its name, a colon and what it means."""
    return word in (option, option.partition(": ")[0])


def _drawn(text: str) -> float:
    return int(digest(text)[:8], 16) / 0xFFFFFFFF


def _comparable(number: Any) -> float:
    return number if is_number(number) and not math.isnan(number) else -1.0


def _in_list(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """An answer in OpenAI's form."""
    rest = {k: v for k, v in row.items() if k not in ("legend", "_options", "probabilities")}
    by_name = row.get("probabilities")
    if row.get("type") == "choice" and is_mapping(by_name):
        rest["probabilities"] = [{"value": k, "probability": v} for k, v in by_name.items()]
    elif row.get("type") == "score" and is_mapping(by_name):
        labels = row.get("_options", ())
        rest["probabilities"] = [
            {"label": label, "value": place, "probability": number}
            for place, (label, number) in enumerate(zip(labels, by_name.values(), strict=True))
        ]
    return {"name": name, **rest}


def _spoiled(
    question: AskedQuestion, answer: dict[str, Any], fault: str
) -> list[tuple[str, dict[str, Any]]]:
    """The answer with what is wrong with it; none where it is left out."""
    if fault not in SPOILED or answer["type"] == "refusal":
        return [(question.name, answer)]
    if fault == "missing":
        return []
    if fault == "refused":
        return [(question.name, {"type": "refusal"})]
    if fault == "other_question":
        return [(_NOBODYS, answer)]
    change = {
        "nan": lambda _: math.nan,
        "above_one": lambda number: 1.0 + (number or 0.5),
        "unsummed": lambda number: number * 0.5 if question.options else -0.5,
    }[fault]

    def changed(value: Any) -> Any:
        if is_mapping(value):
            return {key: changed(one) for key, one in value.items()}
        return change(value) if is_number(value) else value

    numbers = ("probability", "probabilities", "noul")
    return [(question.name, {k: changed(v) if k in numbers else v for k, v in answer.items()})]
