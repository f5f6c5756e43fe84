"""Decision models by the System One API, which llama.cpp, Ollama, SGLang, vLLM and TypeSafe serve; and by SGLang's own.

`systemone:` is `POST /v1/systemone`: a `state`, and `questions` by name (`noul`, `choice`, `score`); each answer stands
under its question's name. `decisions:` is SGLang's `POST /v1/decisions`: an `input`, and a list of questions with an
`id` (`yes_no`, `choice`, `score`). Servers at other addresses that speak OpenAI's form are
`openai:decisions:<model>@<address>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from evenhand.core.decision import TWICE, DecisionQuestion, DecisionRequest
from evenhand.core.json_shapes import as_mapping, is_array
from evenhand.core.message import Usage
from evenhand.providers.chat import ChatProvider, Dialect, chat_provider, counted, rates
from evenhand.providers.decisions import DECIDES, kind_in, no_messages, reader, settings_of
from evenhand.providers.wanted import Wanted

_VENDOR = ("api.typesafe.ai", "TYPESAFE_API_KEY")


def make(wanted: Wanted) -> ChatProvider:
    """A decision model of a server: `systemone:http://…`, or `systemone:<model>@http://…`.

    The address may leave the path out. A model that the id does not name is the config's `model`.
    """
    model, _, address = wanted.rest.rpartition("@") if "@http" in wanted.rest else ("", "", "")
    address = address or (wanted.rest if wanted.rest.startswith("http") else "")
    model = model or ("" if address else wanted.rest)
    base = address or wanted.setting("apiBaseUrl", f"{wanted.kind.upper()}_API_BASE_URL")
    if not base:
        raise wanted.refused(
            "names no address",
            f"Write {wanted.kind}:<model>@http://localhost:8080, or config: {{apiBaseUrl: …}}.",
        )
    url = _whole(base.rstrip("/"), wanted.kind)
    host, vendors_key = _VENDOR
    own = vendors_key if urlsplit(url).hostname == host else f"{wanted.kind.upper()}_API_KEY"
    variable = str(wanted.config.get("apiKeyEnvar") or own)
    named = str(wanted.config.get("model") or model)
    return chat_provider(
        wanted,
        _DIALECTS[wanted.kind],
        model=named,
        url=url,
        key=wanted.setting("apiKey", variable).strip(),
        key_variable=variable if own == vendors_key or wanted.config.get("apiKeyEnvar") else "",
    )


def _whole(base: str, path: str) -> str:
    """An address with its path."""
    if base.endswith(f"/{path}"):
        return base
    return f"{base}/{path}" if urlsplit(base).path else f"{base}/v1/{path}"


def _state(request: DecisionRequest) -> dict[str, Any]:
    return {
        "state": request.state,
        "questions": {name: noul_question(one) for name, one in request.questions.items()},
    }


def noul_question(question: DecisionQuestion, blank: str | None = None) -> dict[str, Any]:
    """A question in the words of System One, which are Gemini's, too.

    Args:
        blank: What stands for an option's description where it has none.
    """
    row: dict[str, Any] = {"instructions": question.words}
    if question.kind == "yes_no":
        return {**row, "type": "noul"}
    if question.kind == "choice":
        return {
            **row,
            "type": "choice",
            "criteria": {name: words or blank for name, words in question.options},
        }
    levels = [_level(*option) for option in question.options]
    return {**row, "type": "score", "criteria": levels}


def _level(name: str, description: str) -> str:
    return f"{name}: {description}" if description else name


def answers_by_name(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answers of an object, by the name of each."""
    answers = as_mapping(value.get("answers"))
    return {
        name: raw if raw is TWICE else _answer(as_mapping(raw)) for name, raw in answers.items()
    }


def _answer(raw: Mapping[str, Any]) -> dict[str, Any]:
    probabilities: Any = raw.get("probabilities")
    if is_array(probabilities):
        probabilities = {str(place): number for place, number in enumerate(probabilities)}
    if raw.get("type") == "noul":
        probabilities = None  # nothing but the probability of yes is looked at
    elif raw.get("type") == "yes_no":
        probabilities = as_mapping(probabilities)
    return {
        "type": kind_in(raw),
        "probability": raw.get("noul"),
        "levels" if raw.get("type") == "score" else "probabilities": probabilities,
        "choice": raw.get("choice"),
        "score": raw.get("score"),
        "legend": raw.get("legend"),
    }


def _input(request: DecisionRequest) -> dict[str, Any]:
    return {
        "input": request.state,
        "questions": [_asked(name, one) for name, one in request.questions.items()],
    }


def _asked(name: str, question: DecisionQuestion) -> dict[str, Any]:
    row: dict[str, Any] = {"id": name, "question": question.words}
    if question.kind == "yes_no":
        return {**row, "type": "yes_no"}
    if question.kind == "choice":
        options = [
            {"name": name, **({"description": words} if words else {})}
            for name, words in question.options
        ]
        return {**row, "type": "choice", "options": options}
    return {**row, "type": "score", "levels": [_level(*one) for one in question.options]}


def _tokens(value: Mapping[str, Any]) -> Usage:
    usage = counted(value, "input_tokens", "output_tokens", "input_tokens_details.cached_tokens")
    if usage.tokens_in is None:
        usage = counted(value, "prompt_tokens", "completion_tokens")
    if usage.tokens_out is None:  # nothing is written
        usage = Usage(usage.tokens_in, 0, usage.tokens_cached)
    return usage


SYSTEM_ONE = Dialect(
    vendor="systemone",
    messages=no_messages,
    settings=settings_of,
    read=reader(answers_by_name, _tokens),
    rates=rates,
    tasks=DECIDES,
    decides=_state,
    most_questions=100,
)
_DIALECTS: Mapping[str, Dialect] = {
    "systemone": SYSTEM_ONE,
    "decisions": replace(SYSTEM_ONE, vendor="sglang", decides=_input),
}
