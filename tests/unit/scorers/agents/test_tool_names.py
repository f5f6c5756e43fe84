"""Names of tools in outputs, and JSON in blocks of text."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.scorers.agents.tool_names import ToolNamesF1, tool_names
from evenhand.scorers.json_blocks import TooTangled, json_blocks


@pytest.mark.parametrize(
    "output",
    [
        {"tool_calls": [{"function": {"name": "f"}}]},
        {"tool_calls": [{"name": "f"}]},
        [{"function": {"name": "f"}}],
        [{"name": "f"}],
        {"type": "function_call", "name": "f"},
        [{"type": "text", "text": "…"}, {"type": "tool_use", "name": "f"}],
        {"functionCall": {"name": "f"}},
        [{"functionCall": {"name": "f"}}],
        {"toolCall": {"functionCalls": [{"name": "f"}]}},
        '[{"name": "f"}]',
        '"[{\\"name\\": \\"f\\"}]"',
        'I call it:\n{"type": "tool_use", "name": "f"}\nnow.',
    ],
)
def test_a_name_is_found_wherever_vendors_put_it(output: object):
    """Also as JSON in a text."""
    assert list(tool_names(output)) == ["f"]


@pytest.mark.parametrize("output", [None, 5, "text", {"name": "f"}, {"content": [{"name": "f"}]}])
def test_other_names_are_no_tools(output: object):
    """An object with a name is not a call by itself."""
    assert list(tool_names(output)) == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('a\n{"n": 1}\nb', [{"n": 1}]),
        ('{"n": 1}\n[2]', [{"n": 1}, [2]]),
        ('see {"n": 1}', []),
        ('{"n": 1} see', []),
        ('```json\n{"n": 1}\n```', []),
        ('- ```\n  {"n": 1}\n{"n": 2}', [{"n": 2}]),
        ('{note:\n{"n": 1}\n}', [{"n": 1}]),
        ('an { open one\n{"n": 1}', [{"n": 1}]),
        ('"never closed {\n{"n": 1}', [{"n": 1}]),
        ('{"s": "}{\\""}', [{"s": '}{"'}]),
        ('{"n": NaN}', []),
        ("  {}  ", [{}]),
    ],
)
def test_a_block_begins_and_ends_a_line(text: str, values: list[Any]):
    """Outside of fenced code."""
    assert list(json_blocks(text)) == values


def test_what_takes_too_much_work_is_given_up():
    """Many brackets that close nothing, and braces in braces that are no JSON."""
    with pytest.raises(TooTangled):
        list(json_blocks("[" * 70_000))
    nested = "{x\n" * 300 + "\n}" * 300
    with pytest.raises(TooTangled):
        list(json_blocks(nested))
    tangled = ToolNamesF1(frozenset("f"), negated=True).score(nested)
    assert (tangled.value, tangled.passed) == (0.0, False)


def test_f1_is_the_harmonic_mean():
    """Of 2/3 precision and 1 recall: 0.8."""
    score = ToolNamesF1(frozenset({"a", "b"}), 0.8).score([{"name": n} for n in "abc"])
    assert (score.value, score.passed) == (pytest.approx(0.8), True)
    assert ToolNamesF1(frozenset("a")).score("none").value == 0.0
