"""Which model answers: the one that a test names, wherever it names one, and none of a column that can't be had."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main
from evenhand.core.errors import ConfigError
from evenhand.doors.promptfoo.checking import KEYS
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.store.run_lookup import find
from evenhand.store.runfile import RunFile

PROVIDER = """\
def call_api(prompt, options, context):
    mark = (options.get("config") or {}).get("mark", "plain")
    return {"output": f"own {mark}: {prompt}"}
"""
WRITTEN: Mapping[str, tuple[Any, str]] = {
    "an id": ("python:own.py", "own plain: hello x"),
    "a file": ("file://own.py", "own plain: hello x"),
    "an object": ({"id": "file://own.py"}, "own plain: hello x"),
    "an object with a config": (
        {"id": "python:own.py", "label": "L", "config": {"mark": "M"}},
        "own M: hello x",
    ),
    "a file of settings": ("file://own.yaml", "own Y: hello x"),
    "a label": ("second", "second: hello x"),
}


def answers(folder: Path, *args: str) -> tuple[list[str], int]:
    """What the trials of a folder came to, and the exit code."""
    code = exit_code("run", *args, "--no-table", "--no-progress")
    with RunFile.open(find(folder, None)) as run:
        return [
            str(trial.output) if trial.error is None else f"error: {trial.error.message}"
            for trial in run.trials()
        ], code


def exit_code(*words: str) -> int:
    """How a command line ends."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0)


def sources(folder: Path, test: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """A config for each place that a test may stand in."""
    text = json.dumps([test])
    (folder / "t.yaml").write_text(text)
    (folder / "t.json").write_text(text)
    (folder / "t.jsonl").write_text(json.dumps(test))
    return {
        "the config": {"tests": [test]},
        "beside a file": {"tests": [test, "none.yaml"]},
        "a YAML file": {"tests": "t.yaml"},
        "a list of YAML files": {"tests": ["file://t.yaml"]},
        "a JSON file": {"tests": "t.json"},
        "a list of JSON files": {"tests": ["t.json"]},
        "a JSONL file": {"tests": "t.jsonl"},
        "a list of JSONL files": {"tests": ["t.jsonl"]},
        "a scenario": {"scenarios": [{"config": [{"vars": {"x": "x"}}], "tests": [test]}]},
        "a scenario's file": {"scenarios": [{"config": [{}], "tests": "t.yaml"}]},
    }


@pytest.mark.parametrize("written", WRITTEN)
def test_the_provider_of_a_test_is_asked_from_wherever_it_is_written(
    written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place of each column's own: those are not called at all."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(PROVIDER)
    (tmp_path / "own.yaml").write_text("id: python:own.py\nconfig: {mark: Y}\n")
    (tmp_path / "none.yaml").write_text("[]")
    (tmp_path / "second.py").write_text("def call_api(p, o, c): return {'output': 'second: ' + p}")
    (tmp_path / "never.py").write_text("def call_api(p, o, c): raise RuntimeError('called')")
    provider, answer = WRITTEN[written]
    test = {"vars": {"x": "x"}, "provider": provider}
    for place, config in sources(tmp_path, test).items():
        both = ["python:never.py", {"id": "python:second.py", "label": "second"}]
        whole = {"prompts": ["hello {{x}}"], "providers": both, **config}
        (tmp_path / "promptfooconfig.json").write_text(json.dumps(whole))
        assert answers(tmp_path) == ([answer, answer], 0), place


def test_paths_of_a_tests_provider_start_from_the_file_that_it_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in promptfoo."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "own.py").write_text(PROVIDER)
    (tmp_path / "more" / "t.yaml").write_text("- provider: python:own.py\n")
    config = {"prompts": ["hello x"], "providers": ["echo"], "tests": ["more/t.yaml"]}
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    assert answers(tmp_path) == (["own plain: hello x"], 0)


@pytest.mark.parametrize(
    ("provider", "answer"),
    [
        ({"id": "python:own.py", "config": {"mark": "D"}}, "own D: hello x"),
        ("python:own.py", "hello x"),  # as text it only judges
    ],
)
def test_a_provider_of_all_tests_is_asked_where_promptfoo_asks_it(
    provider: object, answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object with an id; a test's own goes before it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(PROVIDER)
    tests = [{"vars": {"x": "x"}}, {"vars": {"x": "x"}, "provider": "python:own.py"}]
    config = {
        "prompts": ["hello {{x}}"],
        "providers": ["echo"],
        "defaultTest": {"provider": provider},
        "tests": tests,
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    assert answers(tmp_path) == ([answer, "own plain: hello x"], 0)


@pytest.mark.parametrize(
    "config",
    [
        {"tests": ["file://made.py:made"]},
        {"scenarios": [{"config": [{"provider": "python:own.py"}], "tests": [{"vars": {}}]}]},
        {"tests": [{"vars": {}, "provider": {"config": {"mark": 1}}}]},
    ],
    ids=["made by a function", "a scenario's config", "without an id"],
)
def test_a_provider_that_promptfoo_does_not_ask_is_named_in_a_hint(
    config: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The columns' own answer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(PROVIDER)
    (tmp_path / "made.py").write_text(
        "def made(): return [{'vars': {}, 'provider': 'python:own.py'}]"
    )
    whole = {"prompts": ["hello"], "providers": ["echo"], **config}
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(whole))
    plan = load(tmp_path, Chosen(env={}))
    assert any("of a test is not asked" in hint.what for hint in plan.hints), plan.hints
    assert answers(tmp_path) == (["hello"], 0)


def test_each_key_of_a_test_has_a_reader_or_a_hint(tmp_path: Path) -> None:
    """No key is accepted and left unread."""
    for key in ("id", "name", "answer"):
        config = {"prompts": ["x"], "providers": ["echo"], "tests": [{"vars": {}, key: "a"}]}
        (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
        hints = load(tmp_path, Chosen(env={})).hints
        assert key not in KEYS
        assert any(f"unknown key '{key}' of a test" in hint.what for hint in hints), key


BROKEN: Mapping[str, Any] = {
    "bedrock:anthropic.claude-3-haiku": "litellm:bedrock",
    "openai:image:dall-e-3": "openai:chat",
    "openai:assistant:asst_1": "openai:chat",
    "openai:realtime:gpt-4o": "openai:chat",
    "anthropic:": "anthropic:<model>",
    "portkey:gpt-4o": "evenhand info providers",
    "vercel:openai/gpt-4o": "evenhand info providers",
    "ws://127.0.0.1:9": "Python function",
    "mcp": "no model",
    "package:@x/y:Provider": "not loaded",
    "golang:provider.go": "exec:",
    "ruby:provider.rb": "exec:",
    "file://provider.go": "file://<file.py>",
    "promptfoo:manual-input": "not part of an evaluation",
    "nobody:knows": "evenhand info providers",
    "python:missing.py": "does not exist",
    "file://missing.js": "does not exist",
    "file://missing.yaml": "does not exist",
}


@pytest.mark.parametrize("provider", BROKEN)
def test_a_provider_that_cannot_be_had_costs_its_own_column_alone(
    provider: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The others have their verdicts; with it filtered out, there is no word of it."""
    monkeypatch.chdir(tmp_path)
    config = {
        "prompts": ["hello {{x}}"],
        "providers": [provider, "echo"],
        "tests": [{"vars": {"x": "x"}, "assert": [{"type": "contains", "value": "hello"}]}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    (broken, answer), code = answers(tmp_path)
    assert broken.startswith("error: "), broken
    assert BROKEN[provider] in str(load(tmp_path, Chosen(env={})).broken)
    assert (answer, code) == ("hello x", 3)
    capsys.readouterr()
    assert exit_code("run", "--filter-providers", "^echo$", "--no-progress") == 0
    assert exit_code("check", "--filter-providers", "^echo$") == 0
    assert provider not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "fields",
    [
        {"config": "x"},
        {"config": "file://none.json"},
        {"config": {"tools": "file://none.json"}},
        {"config": {"mcp": {"server": 7}}},
        {"delay": "soon"},
        {"prompts": 3},
        {"transform": "output +"},
    ],
    ids=str,
)
def test_settings_that_a_provider_cannot_have_cost_its_own_column_alone(
    fields: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong with them."""
    monkeypatch.chdir(tmp_path)
    config = {
        "prompts": ["hello"],
        "providers": ["echo", {"id": "openai:chat:m", "label": "bad", **fields}],
        "tests": [{"vars": {}}],
        "env": {"OPENAI_API_KEY": "k"},
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    (answer, broken), code = answers(tmp_path)
    assert (answer, broken.startswith("error: "), code) == ("hello", True, 3)


def test_where_no_provider_is_left_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    """Nothing is run."""
    config = {
        "prompts": ["x"],
        "providers": ["nobody:knows", "python:no.py"],
        "tests": [{"vars": {}}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError) as error:
        load(tmp_path, Chosen(env={}))
    assert len(error.value.problems) == 2


def test_a_provider_of_a_test_that_cannot_be_had_costs_that_test_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tests that name it say why."""
    monkeypatch.chdir(tmp_path)
    tests = [
        {"vars": {"n": n}, **({"provider": "nobody:knows"} if n < 2 else {})} for n in range(3)
    ]
    config = {"prompts": ["hello {{n}}"], "providers": ["echo"], "tests": tests}
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    (first, second, third), code = answers(tmp_path)
    assert "nobody:knows" in first
    assert "nobody:knows" in second
    assert (third, code) == ("hello 2", 3)
