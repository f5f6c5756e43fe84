"""How much a body lets a model write: all that a budget sets aside for an answer hangs on it."""

from __future__ import annotations

import json

import pytest

from evenhand.core.message import Prompt
from evenhand.core.provider import Price
from evenhand.providers.allowance import LONGEST_REPLY, most_written
from evenhand.providers.app_call import AppCall
from evenhand.providers.catalog import create

OPENAI = ("max_tokens", "max_completion_tokens")


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({}, LONGEST_REPLY),
        ({"max_tokens": 100}, 100),
        ({"max_tokens": 1024, "max_completion_tokens": 9000}, 9000),
        ({"max_tokens": 9000, "max_completion_tokens": 5}, 9000),
        ({"max_tokens": 5, "max_output_tokens": 9000}, 9000),
        ({"max_tokens": 5, "generationConfig": {"maxOutputTokens": 9000}}, 9000),
        ({"max_tokens": 5, "options": {"num_predict": 9000}}, 9000),
        ({"max_tokens": 5, "thinking": {"type": "enabled", "budget_tokens": 9000}}, 9000),
        ({"max_tokens": 5, "reasoning": {"max_tokens": 9000}}, 9000),
        ({"max_tokens": None, "max_completion_tokens": 7}, 7),
        ({"max_tokens": 300_000}, 300_000),
        # What the vendor does not go by makes no reply shorter.
        ({"num_predict": 5}, LONGEST_REPLY),
        # What bounds nothing.
        ({"max_tokens": -1}, LONGEST_REPLY),
        ({"max_tokens": 0}, LONGEST_REPLY),
        ({"max_tokens": True}, LONGEST_REPLY),
        ({"max_tokens": "100"}, LONGEST_REPLY),
        ({"max_tokens": "500000"}, 500_000),
        ({"max_tokens": 1e400}, LONGEST_REPLY),
        ({"max_tokens": [5]}, LONGEST_REPLY),
        ({"max_tokens": 10**400}, 10**12),
        # Each answer that is asked for is paid for.
        ({"max_tokens": 10, "n": 3}, 30),
        ({"max_tokens": 10, "n": 3.0}, 30),
        ({"max_tokens": 10, "best_of": 5, "n": 2}, 50),
        ({"max_tokens": 10, "generationConfig": {"candidateCount": 4}}, 40),
    ],
)
def test_the_largest_of_several_limits_counts(body, tokens):
    """Servers differ in which of them they go by; one that is no bound is the longest reply there is."""
    assert most_written(body, OPENAI) == tokens


@pytest.mark.parametrize(
    ("id_", "config"),
    [
        ("openai:chat:m", {"max_completion_tokens": 9000}),
        ("openai:chat:m", {"max_tokens": 5, "passthrough": {"max_completion_tokens": 9000}}),
        ("openai:chat:m", {"max_tokens": 5, "passthrough": {"max_output_tokens": 9000}}),
        ("openai:chat:o3", {"max_completion_tokens": 9000}),
        ("openai:responses:m", {"max_output_tokens": 9000}),
        ("openai:responses:m", {"max_tokens": 5, "passthrough": {"max_output_tokens": 9000}}),
        ("openai:completion:m", {"max_tokens": 5, "passthrough": {"max_tokens": 9000}}),
        ("azure:d", {"max_completion_tokens": 9000, "apiHost": "h"}),
        ("anthropic:m", {"max_tokens": 9000}),
        ("anthropic:m", {"max_tokens": 5, "extra_body": {"max_tokens": 9000}}),
        ("google:m", {"generationConfig": {"maxOutputTokens": 9000}, "max_tokens": 5}),
        (
            "google:m",
            {"max_tokens": 5, "passthrough": {"generation_config": {"max_output_tokens": 9000}}},
        ),
        ("ollama:chat:m", {"num_predict": 9000, "max_tokens": 5}),
        ("ollama:chat:m", {"max_tokens": 5, "passthrough": {"num_predict": 9000}}),
        ("huggingface:chat:m", {"max_new_tokens": 9000}),
        ("mistral:m", {"max_completion_tokens": 9000}),
    ],
)
def test_the_bound_of_a_call_is_of_what_its_body_allows(id_, config, tmp_path):
    """Whatever key of whatever vendor says it, and wherever in a config it was written."""
    model = create(
        id_, config={"outputCost": 1.0, "inputCost": 0.0, **config}, env={}, base=tmp_path
    )
    bound = model.request(Prompt.of("x")).cost_bound_usd
    assert bound == 9000


@pytest.mark.parametrize(
    ("endpoint", "body", "tokens"),
    [
        ("chat/completions", {"max_tokens": 9000, "max_completion_tokens": 5}, 9000),
        ("chat/completions", {"max_completion_tokens": 5}, 5),
        ("responses", {"max_output_tokens": 7}, 7),
        ("responses", {"max_tokens": 7}, LONGEST_REPLY),
        ("messages", {"max_tokens": 7}, 7),
        ("completions", {"max_tokens": 7, "best_of": 3}, 21),
        ("completions", {"max_tokens": 7, "prompt": ["a", "b"]}, 14),
    ],
)
def test_so_is_that_of_a_call_of_the_applications_own(endpoint, body, tokens):
    """A list of prompts is answered one by one."""
    asked = {"model": "m", "messages" if endpoint != "completions" else "prompt": "x", **body}
    sent = json.dumps(asked).encode()
    call = AppCall.of(f"http://box/v1/{endpoint}", {}, sent, 1.0, {"m": (0.0, 1e6)})
    assert call is not None
    assert call.price == Price(0.0, 1e6, as_of="given")
    assert call.own_request.cost_bound_usd == tokens


def test_vectors_are_not_written_by_anybody(tmp_path):
    """What embeds bills what it reads."""
    model = create("openai:embedding:m", config={"cost": 1.0}, env={}, base=tmp_path)
    request = model.request(Prompt.of("x"))
    assert request.cost_bound_usd == len(request.payload)
