"""A key that several places need is one problem."""

from __future__ import annotations

from evenhand.cli.exits import complaint
from evenhand.core.errors import ConfigError, Problem
from evenhand.providers.missing_keys import NO_KEY, each_key_once, set_key


def lacking(line: int, model: str, variable: str, more: str = "") -> Problem:
    """That a model lacks its key, as every door says it."""
    return Problem(
        "c.yaml", line, 1, f"'x' asks m, and {NO_KEY.format(model)}", set_key(variable) + more
    )


def test_each_missing_key_is_listed_once_with_how_many_places_need_it():
    """By the variable that holds it, which several models share; all else stays as it is."""
    other = Problem("c.yaml", 3, 1, "'y' is not a key", "Leave it out.")
    problems = [
        lacking(1, "openai:a", "OPENAI_API_KEY"),
        lacking(2, "openai:b", "OPENAI_API_KEY"),
        other,
        other,
        lacking(4, "mistral:a", "MISTRAL_API_KEY"),
        lacking(
            5, "openai:a", "OPENAI_API_KEY", " Or let offline.jsonl answer: run with --offline."
        ),
    ]
    first, *others, mistral = each_key_once(problems)
    assert first.line == 1
    assert first.hint == (
        "Set OPENAI_API_KEY in the environment. 3 places need it."
        " Or let offline.jsonl answer: run with --offline."
    )
    assert (others, mistral) == ([other, other], problems[4])
    assert complaint(ConfigError(problems)).endswith("4 problems; nothing was sent\n")


def test_a_judge_that_nobody_names_is_wanted_once():
    """With how many assertions want it."""
    hint = "Name one: `provider` in the assertion."
    problems = [
        Problem("c.yaml", line, 1, f"{name!r} has no model to judge", hint)
        for line, name in enumerate(("llm-rubric", "g-eval"), 1)
    ]
    (only,) = each_key_once(problems)
    assert (only.line, only.hint) == (1, f"{hint} 2 places need one.")
    assert each_key_once(problems[:1]) == problems[:1]
