"""Graders that are named by what they are for: nobody else is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import ConfigError
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen

KINDS = {
    "text": "openrouter:x/y",
    "embedding": "mistral:embedding:mistral-embed",
    "classification": "huggingface:text-classification:x/y",
    "moderation": "mistral:moderation:mistral-moderation-latest",
}
NEEDS: Mapping[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    "llm-rubric": ({"value": "polite"}, ("text",)),
    "factuality": ({"value": "polite"}, ("text",)),
    "similar": ({"value": "x"}, ("embedding",)),
    "answer-relevance": ({"threshold": 0.5}, ("text", "embedding")),
    "classifier": ({"value": "x"}, ("classification",)),
    "moderation": ({}, ("moderation",)),
}
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "MISTRAL_API_KEY", "HF_TOKEN")
PLACES = ("the assertion", "the test", "all tests")


def config_of(type_: str, grader: Mapping[str, str], place: str) -> dict[str, Any]:
    """A config whose first test has an assertion of this type, graded by these."""
    assertion = {"type": type_, **NEEDS[type_][0]}
    test: dict[str, Any] = {"vars": {"q": 1}, "assert": [assertion]}
    config = {"prompts": ["x"], "providers": ["echo"], "tests": [test, {"vars": {"q": 2}}]}
    if place == "the assertion":
        assertion["provider"] = grader
    elif place == "the test":
        test["options"] = {"provider": grader}
    else:
        config["defaultTest"] = {"options": {"provider": grader}}
    return config


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("type_", "without"),
    [(type_, kind) for type_, (_, kinds) in NEEDS.items() for kind in kinds],
)
def test_a_kind_that_is_missing_is_an_error_of_its_test_and_asks_nobody_else(
    type_: str, without: str, place: str, tmp_path: Path
) -> None:
    """Whatever keys the environment has; the other tests are run."""
    grader = {kind: model for kind, model in KINDS.items() if kind != without}
    path = tmp_path / "promptfooconfig.json"
    path.write_text(json.dumps(config_of(type_, grader, place)))
    plan = load(path, Chosen(env=dict.fromkeys(KEYS, "k")))
    first, second = (planned.problem for planned in plan.trials())
    assert first is not None
    assert f"none for {without}" in first.what
    assert second is None
    asked = {provider.id for provider in plan.providers}
    assert asked <= {"echo", *KINDS.values()}


@pytest.mark.parametrize("type_", NEEDS)
def test_a_grader_that_has_the_kind_that_is_needed_grades(type_: str, tmp_path: Path) -> None:
    """Each kind by its own model."""
    path = tmp_path / "promptfooconfig.json"
    path.write_text(json.dumps(config_of(type_, KINDS, "all tests")))
    plan = load(path, Chosen(env=dict.fromkeys(KEYS, "k")))
    assert [planned.problem for planned in plan.trials()] == [None, None]
    needed = {KINDS[kind] for kind in NEEDS[type_][1]}
    assert needed <= {provider.id for provider in plan.providers}


def test_where_all_tests_lack_a_kind_nothing_is_run(tmp_path: Path) -> None:
    """The config is refused, with what to write."""
    config = config_of("similar", {"text": "echo"}, "all tests")
    config["tests"] = config["tests"][:1]
    path = tmp_path / "promptfooconfig.json"
    path.write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="none for embedding"):
        load(path, Chosen(env={"OPENAI_API_KEY": "k"}))
