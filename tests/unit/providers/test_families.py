"""Which family a model is of, by its names."""

from __future__ import annotations

import pytest

from evenhand.providers.families import FAMILIES, family_of


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-5-mini-2025-08-07", "openai"),
        ("openai/gpt-oss-120b", "openai"),
        ("ft:gpt-4o:org::x", "openai"),
        ("o3-mini", "openai"),
        ("us.anthropic.claude-3-5-sonnet", "anthropic"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "deepseek"),
        ("openrouter:meta-llama/llama-3.3-70b", "meta"),
        ("ollama:chat:llama3:8b", "meta"),
        ("ollama:chat:gemma3:27b", "google"),
        ("bedrock:us.amazon.nova-pro-v1:0", "amazon"),
        ("zai-org/GLM-5", "zhipu"),
        ("open-mixtral-8x7b", "mistral"),
    ],
)
def test_a_model_is_of_the_family_that_its_name_tells_whoever_serves_it(name: str, family: str):
    """By the beginning of a word in it, in any spelling."""
    assert family_of(name) == family


@pytest.mark.parametrize(
    "name",
    ["", "echo", "my-app", "o10", "mono1", "sophia-2", "llama", "openai:chat:prod", "judge-1"],
)
def test_a_name_that_tells_nothing_is_of_no_family(name: str):
    """Nor is a llama.cpp server, which serves whatever it was given, or a deployment with a name of one's own."""
    assert family_of(name) == ""


def test_the_first_name_that_tells_counts():
    """The model as it answered goes before the one that was asked for."""
    assert family_of("", "my-deployment", "gpt-4o") == "openai"
    assert family_of("claude-sonnet-4-5", "openai:chat:gpt-5") == "anthropic"
    assert family_of("llama:qwen-3") == "alibaba"


def test_no_beginning_belongs_to_two_families():
    """Each is in the table once."""
    starts = [start for each in FAMILIES.values() for start in each]
    assert len(starts) == len(set(starts))
