"""Prices that somebody wrote: numbers that a budget can go by, or a message."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import yaml

from evenhand.core.errors import UsageError
from evenhand.core.message import Prompt, Usage
from evenhand.core.provider import Price
from evenhand.doors import recording
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.providers.catalog import create
from evenhand.providers.prices import _LISTED, _lists, bound, cost, is_price, price_of

NO_PRICES = [-0.0001, -1, math.nan, math.inf, -math.inf, 1e300, "free", "nan", True, [], {}]

ROOT = Path(__file__).parents[3]


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
        ("google:gemini-2.5-pro", (1.25, 10.0)),
        ("xai:grok-4-fast-reasoning", (0.2, 0.5)),
    ],
)
def test_a_gateway_is_taken_to_charge_the_list_price_of_the_models_name(id_, usd):
    """Its own list is not known; what a config says goes over it."""
    base = {"apiBaseUrl": "http://gateway.example/v1", "apiKey": "k"}
    provider = create(id_, config=base, env={}, base=Path())
    assert (provider.price.usd_in, provider.price.usd_out) == usd
    assert provider.price.as_of >= "2026-09"
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


def test_long_input_has_the_price_of_long_input_for_all_of_its_tokens():
    """A call is bounded by it, too. What is read from the cache is a part of the input."""
    price = price_of("google", "gemini-2.5-pro", {})
    assert price is not None
    short, long = (cost(price, Usage(n, 1_000, tokens_cached=100_000)) for n in (200_000, 200_001))
    assert short == pytest.approx((100_000 * 1.25 + 100_000 * 0.125 + 1_000 * 10) / 1e6)
    assert long == pytest.approx((100_001 * 2.5 + 100_000 * 0.25 + 1_000 * 15) / 1e6)
    assert bound(price, 200_001, 1_000) == pytest.approx((200_001 * 2.5 + 1_000 * 15) / 1e6)


def test_a_vendor_that_charges_by_the_hour_of_the_day_has_no_list_price():
    """Any number would be wrong for some of the calls."""
    assert price_of("deepseek", "deepseek-v4-flash", {}) is None


def test_each_listed_price_is_one():
    """From 0 on, answers cost no less than 0, and long input no less than short."""
    for vendor, models in _lists().items():
        for name, price in models.items():
            assert is_price(price.usd_in), (vendor, name)
            assert is_price(price.usd_out), (vendor, name)
            assert price.usd_cached is not None, (vendor, name)
            assert 0 <= price.usd_cached <= price.usd_in, (vendor, name)
            if price.long is not None:
                assert price.long.usd_in >= price.usd_in, (vendor, name)
                assert price.long_from >= 100_000, (vendor, name)


def test_every_price_that_we_keep_is_listed():
    """After an edit of `kept_prices.yml`, `just prices` has been run."""
    kept = yaml.safe_load((ROOT / "packaging" / "kept_prices.yml").read_text("utf-8"))
    listed = json.loads(_LISTED.read_bytes())
    rows = [
        (month, vendor, name, row)
        for month, vendors in kept.items()
        for vendor, names in vendors.items()
        for name, row in names.items()
    ]
    assert len(rows) > 50
    assert [row for row in rows if listed[row[0]][row[1]].get(row[2]) != row[3]] == []


def test_a_price_that_we_keep_counts_whatever_the_other_list_says_of_its_family():
    """The longest name counts: `mistral-large` is an older model's name in the other list."""
    kept, family = (
        price_of("mistral", name, {}) for name in ("mistral-large-latest", "mistral-large")
    )
    assert kept is not None
    assert family is not None
    assert (kept.usd_in, kept.as_of) == (0.5, "2026-09")
    assert family.usd_in == 2


def test_a_snapshot_with_a_price_of_its_own_costs_that_and_not_its_familys():
    """`mistral-medium-2312` cost more than what `mistral-medium` is today."""
    own, family = (
        price_of("mistral", name, {}) for name in ("mistral-medium-2312", "mistral-medium")
    )
    assert own is not None
    assert family is not None
    assert (own.usd_in, own.usd_out) == (2.7, 8.1)
    assert own.usd_in > family.usd_in
