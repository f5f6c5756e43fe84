"""What `evenhand check` says of the difference to promptfoo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from evenhand.doors.assertions.deviations import DEVIATIONS
from evenhand.doors.promptfoo.differences import APPLIES, differences
from evenhand.doors.promptfoo.load import read_folder
from evenhand.doors.promptfoo.overrides import Chosen


def told(folder: Path, tests: object, **other: Any) -> set[str]:
    """The subjects that are told of a config."""
    config = {"prompts": ["{{x}}"], "providers": ["echo"], "tests": tests, **other}
    (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(config))
    (folder / "p.py").write_text(
        "def said(x): return x\ndef call_api(p, o, c): return {'output': p}\n"
        "def afterEach(c, i): return c\ndef afterAll(c, i): return c\n"
    )
    (folder / "t.csv").write_text("x,__expected\nfile://y,file://p.py:said\n")
    (folder / "x.csv").write_text("x,__expected\na,contains:a\n")
    (folder / "tags.csv").write_text("x\n{{y}}\n")
    (folder / "data.json").write_text('[{"vars": {"x": "{{y}}", "y": "file://z"}}]')
    found = differences(read_folder(folder, Chosen(env={})))
    return {subject for subject, sentence in DEVIATIONS.items() if sentence in found}


def one(**assertion: Any) -> list[dict[str, Any]]:
    """A test with one assertion."""
    return [{"vars": {"x": "a"}, "assert": [assertion]}]


MCP = {"id": "openai:chat:m", "config": {"apiKey": "k", "mcp": {"server": {"command": "shop"}}}}
CALLING = {"id": "openai:chat:m", "config": {"apiKey": "k", "functionToolCallbacks": {"f": "x"}}}
CALLED = {
    "id": "openai:chat:m",
    "config": {"apiKey": "k", "mcp": {"server": {"command": "shop"}, "call": True}},
}
JUDGED = {"type": "llm-rubric", "value": "fine", "provider": "echo"}


@pytest.mark.parametrize(
    ("tests", "other", "wanted"),
    [
        (one(type="equals", value="a"), {}, set[str]()),
        (one(type="python", value="True"), {}, {"errors"}),
        (one(type="javascript", value="output == '{{x}}'"), {}, {"errors", "data in code"}),
        (one(**JUDGED), {}, {"errors", "judges", "judge replies"}),
        (one(type="assert-set", **{"assert": [JUDGED]}), {}, {"errors", "judges", "judge replies"}),
        (one(type="not-meteor", value="a"), {}, {"meteor"}),
        (one(type="latency", threshold=5), {}, {"cached latency"}),
        (one(type="latency", threshold=5), {"evaluateOptions": {"cache": False}}, set[str]()),
        ("t.csv", {}, {"errors", "file:// in CSV", "files in data"}),
        (
            "x.csv",
            {"defaultTest": {"assert": [{"type": "python", "value": "file://p.py:said"}]}},
            {"errors"},
        ),
        (one(), {"prompts": ["file://p.py:said"]}, {"Python prompts", "braces of functions"}),
        (one(), {"prompts": ["file://p.py:said"], "promptCompat": "promptfoo-strict"}, set[str]()),
        (one(), {"prompts": ["exec:echo a"]}, {"scripts as prompts", "braces of functions"}),
        (one(), {"prompts": ["{{x}}\n{% if x\n%}a{% endif %}"]}, {"unclosed tags"}),
        (one(), {"prompts": ["{{ x }} {# of\ntwo lines #}"]}, {"unclosed tags"}),
        (one(), {"prompts": ["{{ x }} 5 % {\n{% if x %}a{% endif %}\n}"]}, set[str]()),
        (one(), {"commandLineOptions": {"filterFirstN": 1}}, {"commandLineOptions"}),
        (one(), {"commandLineOptions": {"repeat": 1, "cache": True}}, set[str]()),
        (one(), {"providers": ["file://p.py"]}, {"cached code"}),
        (one(), {"evaluateOptions": {"delay": 5}}, {"delay"}),
        (one(), {"providers": [{"id": "echo", "delay": 5}]}, {"delay"}),
        (one(), {"providers": ["http://127.0.0.1:9/x"]}, {"answers of web services"}),
        (one(), {"providers": [MCP]}, {"MCP servers"}),
        (one(), {"providers": [CALLED]}, set[str]()),
        (one(), {"providers": [CALLING]}, {"callbacks"}),
        (
            one(),
            {
                "providers": [{"id": "http://127.0.0.1:9/x", "config": {"validateStatus": "true"}}],
            },
            set[str](),
        ),
        (
            one(),
            {
                "prompts": ["file://p.py:said"],
                "promptCompat": "promptfoo-strict",
                "defaultTest": {"options": {"prefix": "<"}},
            },
            {"prefixes of code"},
        ),
        (one(), {"derivedMetrics": [{"name": "d", "value": "1"}]}, {"derived metrics"}),
        (one(), {"outputPath": ["a.json", "b.csv"]}, {"objects in CSV"}),
        (
            one(type="max-score"),
            {"providers": ["echo", "file://p.py"]},
            {"contests", "cached code"},
        ),
        (
            [{"vars": {"x": "a"}, "assertScoringFunction": "file://p.py:said"}],
            {},
            {"scoring functions"},
        ),
        ("tags.csv", {}, {"tags in data"}),
        ("data.json", {}, {"tags in data", "files in data"}),
        ([{"vars": {"x": "a"}, "provider": "echo"}], {}, {"providers of tests"}),
        (
            [{"vars": {"x": [{"role": "user", "content": "a"}]}}],
            {},
            {"messages in variables"},
        ),
        ([{"vars": {"x": [{"a": 1}]}}], {"prompts": ["say {{x}}"]}, set()),
        (
            [{"vars": {"x": "a"}, "assert": [{"type": "finish-reason", "value": "stop"}]}],
            {"providers": [{"id": "mistral:x", "config": {"apiKey": "k", "tools": []}}]},
            {"finish reasons", "calls without output"},
        ),
        ([{"vars": {"x": "a"}}], {"providers": ["echo", "no:one"]}, {"absent providers"}),
        ([{"vars": {"x": "a {{y}}", "y": "b"}}], {}, set[str]()),
        ([{"vars": {"x": "a {{ y | upper }}", "y": "b"}}], {}, set()),
        (
            [{"vars": {"x": "a"}, "options": {"transformVars": "vars"}}],
            {},
            {"transformVars"},
        ),
        ([{"vars": {"x": "a {{y}}", "y": "{{x}}"}}], {}, {"circular variables"}),
        ([{"vars": {"x": "a"}}], {"extensions": ["file://p.py:afterEach"]}, {"afterEach"}),
        ([{"vars": {"x": "a"}}], {"extensions": ["file://p.py:afterAll"]}, set()),
    ],
)
def test_only_what_a_folder_meets_is_told(
    tmp_path: Path, tests: object, other: dict[str, Any], wanted: set[str]
) -> None:
    """By the assertions, prompts, files and options that it has."""
    if tests == [{"vars": {"x": "a"}, "assert": [{}]}]:
        tests = [{"vars": {"x": "a"}}]
    assert told(tmp_path, tests, **other) == wanted


def test_each_is_a_deviation_that_the_docs_list() -> None:
    """There is one table of them."""
    assert APPLIES.keys() <= DEVIATIONS.keys()
