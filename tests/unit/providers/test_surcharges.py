"""What costs something else than tokens at their list price: no bound, and no cost, unless the user says one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.message import Message, Prompt
from evenhand.core.provider import Provider
from evenhand.providers.app_call import AppCall
from evenhand.providers.catalog import create
from evenhand.providers.configured import reading_by
from evenhand.providers.surcharges import billed_beyond, surcharges

CHAT, RESPONSES = "openai:chat:gpt-4o-mini", "openai:responses:gpt-4o-mini"
CLAUDE, GEMINI = "anthropic:messages:claude-haiku-4-5", "google:gemini-2.5-flash"
GROK, GROQ = "xai:grok-4", "groq:llama-3.1-8b-instant"
MISTRAL, ROUTER = "mistral:mistral-small-latest", "openrouter:openai/gpt-4o-mini"
FUNCTION = {"type": "function", "function": {"name": "look_up", "parameters": {}}}

FEES: list[tuple[str, dict[str, Any]]] = [
    *(
        (RESPONSES, {"tools": [{"type": kind}]})
        for kind in (
            "web_search",
            "web_search_preview",
            "web_search_2025_08_26",
            "file_search",
            "code_interpreter",
            "image_generation",
            "mcp",
            "computer_use_preview",
            "shell",
            "whatever_comes_next",
        )
    ),
    (RESPONSES, {"tools": [{"type": "function", "name": "f"}, {"type": "web_search"}]}),
    (CHAT, {"web_search_options": {"user_location": None}}),
    (CHAT, {"web_search_options": {}}),
    (CHAT, {"tools": [FUNCTION, {"type": "browser_search"}]}),
    (CHAT, {"modalities": ["text", "audio"]}),
    (CHAT, {"audio": {"voice": "alloy"}}),
    *(
        (CLAUDE, {"tools": [{"type": kind, "name": kind[:-9]}]})
        for kind in ("web_search_20250305", "web_fetch_20250910", "code_execution_20250825")
    ),
    (CLAUDE, {"mcp_servers": [{"type": "url", "url": "https://mcp.example"}]}),
    (CLAUDE, {"container": "c1"}),
    *(
        (GEMINI, {"tools": [{kind: {}}]})
        for kind in (
            "googleSearch",
            "google_search",
            "googleSearchRetrieval",
            "codeExecution",
            "urlContext",
            "googleMaps",
            "fileSearch",
            "whateverComesNext",
        )
    ),
    (GEMINI, {"tools": [{"functionDeclarations": [], "googleSearch": {}}]}),
    (GEMINI, {"generationConfig": {"responseModalities": ["TEXT", "IMAGE"]}}),
    (GEMINI, {"generationConfig": {"speechConfig": {"voice": "x"}}}),
    (GROK, {"search_parameters": {"mode": "auto"}}),
    (GROK, {"tools": [{"type": "x_search"}]}),
    (GROQ, {"search_settings": {"country": "ch"}}),
    (MISTRAL, {"tools": [{"type": "web_search_premium"}]}),
    (MISTRAL, {"tools": [{"type": "connector", "connector_id": "x"}]}),
    (ROUTER, {"plugins": [{"id": "web"}]}),
    (ROUTER, {"models": ["openai/gpt-5-pro"]}),
]
RATES: list[tuple[str, dict[str, Any]]] = [
    *((CHAT, {"service_tier": tier}) for tier in ("priority", "flex", "auto", "scale", "turbo")),
    (RESPONSES, {"service_tier": "priority"}),
    (CLAUDE, {"service_tier": "auto"}),
    (CLAUDE, {"inference_geo": "us"}),
    (CLAUDE, {"speed": "fast"}),
    (GEMINI, {"serviceTier": "priority"}),
    (GROQ, {"service_tier": "performance"}),
    (MISTRAL, {"service_tier": "priority"}),
    (ROUTER, {"provider": {"order": ["azure"]}}),
]
HARMLESS: list[tuple[str, dict[str, Any]]] = [
    (CHAT, {"tools": [FUNCTION, {"type": "custom", "custom": {"name": "f"}}]}),
    (CHAT, {"service_tier": "default", "modalities": ["text"], "web_search_options": None}),
    (CHAT, {"functions": [{"name": "web_search"}], "metadata": {"tier": "gold"}, "store": True}),
    (RESPONSES, {"tools": [{"type": "function", "name": "web_search"}], "tool_choice": "auto"}),
    (CLAUDE, {"tools": [{"name": "web_search", "input_schema": {}}]}),
    (
        CLAUDE,
        {"tools": [{"type": "bash_20250124", "name": "bash"}], "service_tier": "standard_only"},
    ),
    (GEMINI, {"tools": [{"functionDeclarations": [{"name": "googleSearch"}]}, FUNCTION]}),
    (GEMINI, {"generationConfig": {"responseModalities": ["TEXT"], "temperature": 0}}),
    (GROK, {"search_parameters": {"mode": "off"}}),
    (GROQ, {"service_tier": "on_demand"}),
]
PLACES = ("config", "passthrough", "prompt", "prompt's passthrough", "both")


def asked(
    model: str, setting: Mapping[str, Any], place: str, **more: Any
) -> tuple[Provider, Prompt]:
    """The model and the prompt, with a setting written in one of the places where it may be."""
    key = {"apiKey": "k", **more}
    if place == "config":
        config, prompt = {**key, **setting, "passthrough": setting}, {}
    elif place == "passthrough":
        config, prompt = {**key, "passthrough": setting}, {}
    elif place == "prompt":
        config, prompt = key, {**setting, "passthrough": setting}
    elif place == "prompt's passthrough":
        config, prompt = key, {"passthrough": setting}
    else:
        config, prompt = {**key, "passthrough": setting}, {"passthrough": setting, "top_p": 1}
    return made(model, config), Prompt.of("Hi", **prompt)


def made(model: str, config: Mapping[str, Any]) -> Provider:
    """A model with a config, and an environment that says nothing."""
    return create(model, config=config, env={}, base=Path())


ANSWERS: Mapping[str, dict[str, Any]] = {
    CHAT: {
        "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1},
    },
    RESPONSES: {
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    CLAUDE: {
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    GEMINI: {
        "candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1},
    },
}


def cost_of(provider: Provider, prompt: Prompt, model: str) -> float | None:
    """What an answer is said to have cost."""
    answer = json.dumps(ANSWERS.get(model, ANSWERS[CHAT])).encode()
    return reading_by(provider, prompt.config).reply(answer).cost_usd


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("model", "setting"), [*FEES, *RATES], ids=repr)
def test_what_no_list_price_covers_has_neither_a_bound_nor_a_cost(
    model: str, setting: dict[str, Any], place: str
):
    """Wherever it is written. With what a call costs at most it has a bound, and its cost is still not known."""
    provider, prompt = asked(model, setting, place)
    request = provider.request(prompt)
    assert request.cost_bound_usd is None
    assert request.beyond
    assert cost_of(provider, prompt, model) is None
    provider, prompt = asked(model, setting, place, maxCost=0.25)
    request = provider.request(prompt)
    assert (request.cost_bound_usd, request.stated) == (0.25, True)
    assert cost_of(provider, prompt, model) is None


def test_tools_of_no_known_kind_are_named_in_order():
    """Two runs of one config say the same, whatever order Python's sets have."""
    names = ("mapper", "browser", "zebra", "adder", "finder", "painter")
    fees = surcharges({"tools": [dict.fromkeys(names, True), {}]}).fees
    assert fees == (
        "tool 'adder, browser, finder, mapper, painter, zebra'",
        "tool 'of no known kind'",
    )


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("model", "setting"), HARMLESS, ids=repr)
def test_what_costs_its_tokens_alone_keeps_its_price(
    model: str, setting: dict[str, Any], place: str
):
    """Functions of the caller's, the standard tier, and settings that are off."""
    provider, prompt = asked(model, setting, place)
    request = provider.request(prompt)
    assert (request.beyond, request.stated) == ("", False)
    assert request.cost_bound_usd
    assert cost_of(provider, prompt, model)


@pytest.mark.parametrize(("model", "setting"), RATES, ids=repr)
def test_a_price_for_tokens_that_the_user_gives_is_that_of_the_tier(
    model: str, setting: dict[str, Any]
):
    """It is what tokens cost with it."""
    provider, prompt = asked(model, setting, "passthrough", cost=0.001)
    assert provider.request(prompt).cost_bound_usd
    assert cost_of(provider, prompt, model) == pytest.approx(0.002)


@pytest.mark.parametrize(("model", "setting"), FEES, ids=repr)
def test_a_price_for_tokens_that_the_user_gives_is_none_for_a_fee(
    model: str, setting: dict[str, Any]
):
    """A search has a price of its own."""
    provider, prompt = asked(model, setting, "passthrough", cost=0.001)
    assert provider.request(prompt).cost_bound_usd is None
    assert cost_of(provider, prompt, model) is None


@pytest.mark.parametrize("model", [CHAT, GEMINI])
def test_sound_has_a_price_of_its_own(model: str):
    """In a message, and where an answer counts it."""
    part = (
        {"type": "input_audio", "input_audio": {"data": "x"}}
        if model is CHAT
        else {"inlineData": {"mimeType": "audio/wav", "data": "x"}}
    )
    provider = made(model, {"apiKey": "k"})
    prompt = Prompt((Message("user", [part]),), "")
    assert provider.request(prompt).cost_bound_usd is None
    heard = {"usage": {"prompt_tokens_details": {"audio_tokens": 3}}}
    assert billed_beyond(json.dumps(heard).encode()).fees == ("sound",)
    heard = {"usageMetadata": {"promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 3}]}}
    assert billed_beyond(json.dumps(heard).encode()).fees == ("sound",)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (CHAT, {"service_tier": "priority"}),
        (RESPONSES, {"service_tier": "flex"}),
        (RESPONSES, {"output": [*ANSWERS[RESPONSES]["output"], {"type": "web_search_call"}]}),
        (CLAUDE, {"usage": {**ANSWERS[CLAUDE]["usage"], "service_tier": "priority"}}),
        (
            CLAUDE,
            {"usage": {**ANSWERS[CLAUDE]["usage"], "server_tool_use": {"web_search_requests": 1}}},
        ),
        (
            GEMINI,
            {"candidates": [{**ANSWERS[GEMINI]["candidates"][0], "groundingMetadata": {"a": 1}}]},
        ),
    ],
    ids=repr,
)
def test_an_answer_that_tells_of_more_has_no_known_cost(model: str, told: dict[str, Any]):
    """A project's own tier, a stored prompt's tools: the request doesn't say so."""
    provider = made(model, {"apiKey": "k"})
    assert provider.reply(json.dumps(ANSWERS[model]).encode()).cost_usd
    assert provider.reply(json.dumps({**ANSWERS[model], **told}).encode()).cost_usd is None


URLS = {
    CHAT: "https://api.openai.com/v1/chat/completions",
    RESPONSES: "https://api.openai.com/v1/responses",
    CLAUDE: "https://api.anthropic.com/v1/messages",
    GEMINI: "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
}


@pytest.mark.parametrize(
    ("model", "setting"), [one for one in (*FEES, *RATES) if one[0] in URLS], ids=repr
)
def test_an_applications_own_request_is_held_to_the_same(model: str, setting: dict[str, Any]):
    """Unless the recording client was told what one call costs at most."""
    name = model.rpartition(":")[2]
    body = {"model": name, "messages": ["Hi"], "input": "Hi", "contents": ["Hi"], **setting}
    if model is GEMINI:
        del body["model"]
    sent, answer = json.dumps(body).encode(), json.dumps(ANSWERS[model]).encode()
    dear = AppCall.of(URLS[model], {}, sent, 60, {})
    assert (dear.own_request.cost_bound_usd, dear.reply(answer).cost_usd) == (None, None)
    stated = AppCall.of(URLS[model], {}, sent, 60, {name: (1.0, 1.0, 0.25)})
    assert (
        stated.own_request.cost_bound_usd,
        stated.reply(answer).cost_usd == pytest.approx(2e-6),
    ) == (
        0.25,
        (model, setting) in RATES,
    )
    plain = json.dumps({k: v for k, v in body.items() if k not in setting}).encode()
    known = AppCall.of(URLS[model], {}, plain, 60, {})
    assert known.own_request.cost_bound_usd
    assert known.reply(answer).cost_usd


@pytest.mark.parametrize(
    "headers",
    [
        {"x-vertex-ai-llm-shared-request-type": "priority"},
        {"anthropic-beta": "a,context-1m-2025-08-07"},
    ],
    ids=repr,
)
def test_a_header_may_change_the_price(headers: dict[str, str]):
    """Of an application's request, and in a provider's config."""
    sent = json.dumps({"model": "claude-haiku-4-5", "messages": ["Hi"], "max_tokens": 1}).encode()
    assert AppCall.of(URLS[CLAUDE], headers, sent, 60, {}).own_request.cost_bound_usd is None
    provider = made(CLAUDE, {"apiKey": "k", "headers": headers})
    assert provider.request(Prompt.of("Hi")).cost_bound_usd is None
