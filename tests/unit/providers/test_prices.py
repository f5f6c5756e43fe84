"""Prices that somebody wrote: numbers that a budget can go by, or a message."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from evenhand.core.errors import UsageError
from evenhand.core.message import Prompt, Usage
from evenhand.core.provider import Price
from evenhand.doors import recording
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.providers.catalog import create
from evenhand.providers.prices import cost, price_of

NO_PRICES = [-0.0001, -1, math.nan, math.inf, -math.inf, 1e300, "free", "nan", True, [], {}]


@pytest.mark.parametrize("key", ["cost", "inputCost", "outputCost"])
@pytest.mark.parametrize("value", NO_PRICES, ids=repr)
@pytest.mark.parametrize("id_", ["openai:m", "anthropic:m", "google:m", "ollama:m", "mistral:m"])
def test_what_is_no_price_is_refused(id_, key, value, tmp_path):
    """A negative one would make the budget larger with each call; NaN would switch it off."""
    with pytest.raises(UsageError, match=f"{key} is .*, which is not a price"):
        create(id_, config={"cost": 0.1, key: value}, env={}, base=tmp_path)


def test_a_price_may_be_written_as_text_and_may_be_0():
    """As a variable's value is."""
    assert price_of("", "m", {"cost": "0.000002"}) == Price(2.0, 2.0, as_of="config")
    assert price_of("", "m", {"cost": 0}) == Price(0.0, 0.0, as_of="config")
    assert price_of("", "m", {"cost": None}) is None


def test_a_model_with_such_a_price_is_refused_with_its_line(tmp_path):
    """Before anything is sent; the models beside it are asked."""
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(
        "prompts: [hi]\n"
        "providers:\n"
        "  - id: openai:chat:a\n"
        "    config: {cost: 0.1}\n"
        "  - id: openai:chat:b\n"
        "    config:\n"
        "      inputCost: -1\n"
        "tests: [{assert: [{type: contains, value: x}]}]\n"
    )
    plan = load(path, Chosen(env={"OPENAI_API_KEY": "k"}))
    (problem,) = plan.broken
    assert [bool(planned.problem) for planned in plan.trials()] == [False, True]
    assert (Path(problem.file).name, problem.line) == ("promptfooconfig.yaml", 5)
    assert "inputCost is -1, which is not a price" in problem.what


@pytest.mark.parametrize(
    "given", [(-1, 1), (1, math.nan), (1,), 5, "ab", (1, 2, -3), (1, 2, 3, 4)], ids=repr
)
def test_a_recording_client_takes_no_such_price_either(given):
    """It is said where the client is made, not in a trial."""
    for made in (recording.http_client, recording.async_http_client):
        with pytest.raises(UsageError, match="for 'm' isn't a pair of prices"):
            made(prices={"m": given})


def test_a_vendor_that_counts_more_cached_tokens_than_it_read_gives_no_money_back():
    """Those that were cached are a part of those that were read."""
    assert cost(Price(1e6, 1e6, 0.0), Usage(10, 1, 1_000_000)) == 1.0


def test_a_bound_that_nobody_can_pay_is_a_number(tmp_path):
    """So that sums of bounds stay numbers."""
    model = create("openai:m", config={"cost": 1e9, "max_tokens": 10**18}, env={}, base=tmp_path)
    bound = model.request(Prompt.of("x")).cost_bound_usd
    assert bound is not None
    assert 1e9 < bound < math.inf


@pytest.mark.parametrize(
    ("id_", "usd"),
    [
        ("openai:chat:gpt-5-mini", (0.25, 2.0)),
        ("openai:chat:claude-sonnet-4-5", (3.0, 15.0)),
        ("openai:chat:anthropic/claude-sonnet-4-5", (3.0, 15.0)),
        ("anthropic:messages:claude-opus-4-5-20251101", (5.0, 25.0)),
        ("openrouter:openai/gpt-5-mini", (0.25, 2.0)),
        ("mistral:mistral-large-latest", (0.5, 1.5)),
        ("deepseek:deepseek-chat", (0.14, 0.28)),
        ("xai:grok-4-fast-reasoning", (0.2, 0.5)),
    ],
)
def test_a_gateway_is_taken_to_charge_the_list_price_of_the_models_name(id_, usd):
    """Its own list is not known; what a config says goes over it."""
    base = {"apiBaseUrl": "http://gateway.example/v1", "apiKey": "k"}
    provider = create(id_, config=base, env={}, base=Path())
    assert (provider.price.usd_in, provider.price.usd_out) == usd
    assert provider.price.as_of in ("2025-11", "2026-09")
    own = create(id_, config={**base, "cost": 0.000001}, env={}, base=Path())
    assert (own.price.usd_in, own.price.as_of) == (pytest.approx(1.0), "config")


def test_who_sells_others_models_has_their_prices_at_home():
    """And no vendor of its own models has another one's."""
    price = price_of("openrouter", "openai/gpt-5-mini", {})
    assert price is not None
    assert (price.usd_in, price.usd_out) == (0.25, 2.0)
    assert price_of("anthropic", "gpt-5-mini", {}) is None
    assert price_of("anthropic", "gpt-5-mini", {}, at_home=False) is not None


@pytest.mark.parametrize(
    ("id_", "usd"),
    [
        ("groq:openai/gpt-oss-120b", (0.15, 0.6)),
        ("groq:llama-3.3-70b-versatile", (0.59, 0.79)),
        ("togetherai:deepseek-ai/DeepSeek-V3.1", (0.6, 1.7)),
        ("cohere:command-a-03-2025", (2.5, 10.0)),
        ("cerebras:gpt-oss-120b", (0.35, 0.75)),
    ],
)
def test_models_of_servers_that_speak_openais_api_have_their_list_prices(id_, usd):
    """At the vendor's own address, by the vendor's own name for the model."""
    provider = create(id_, config={"apiKey": "k"}, env={}, base=Path())
    assert (provider.price.usd_in, provider.price.usd_out) == usd


@pytest.mark.parametrize(
    "id_",
    [
        "perplexity:sonar",
        "openai:chat:my-own",
        "togetherai:openai/gpt-5-mini",
        "groq:gpt-5-mini",
        "ollama:gpt-4o",
    ],
)
def test_what_no_list_has_stays_without_a_price(id_):
    """A vendor that sells others' models at prices of its own has none of theirs."""
    provider = create(id_, config={"apiKey": "k"}, env={}, base=Path())
    assert provider.price is None


def test_the_newest_list_that_has_a_model_counts():
    """Prices fall."""
    found = price_of("deepseek", "deepseek-chat", {})
    assert found is not None
    assert (found.usd_in, found.as_of) == (0.14, "2026-09")


def test_a_snapshot_with_a_price_of_its_own_costs_that_and_not_its_familys():
    """`mistral-medium-2312` cost more than what `mistral-medium` is today."""
    own, family = (
        price_of("mistral", name, {}) for name in ("mistral-medium-2312", "mistral-medium")
    )
    assert own is not None
    assert family is not None
    assert (own.usd_in, own.usd_out) == (2.7, 8.1)
    assert own.usd_in > family.usd_in
