"""What a provider that is code is told of the test that it is asked for: `context.test`, as in promptfoo."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main
from evenhand.store.runfile import RunFile

PYTHON = """
import json
def call_api(prompt, options, context):
    return json.dumps(context["test"])
"""
JAVASCRIPT = """
module.exports = class { async callApi(prompt, context) { return { output: JSON.stringify(context.test) } } };
"""
PROGRAM = """
import sys
print(__import__("json").dumps(__import__("json").loads(sys.argv[3])["test"]))
"""
FILES = {"asks.py": PYTHON, "asks.js": JAVASCRIPT, "tells.py": PROGRAM}
PROVIDERS = ["file://asks.py", "file://asks.js", "exec:python tells.py"]
TEST: Mapping[str, Any] = {
    "description": "two turns",
    "vars": {"city": "Bern"},
    "metadata": {"session": "s1"},
    "turns": [{"user": "and then?"}],  # a key of the folder's own
    "options": {"temperature": 0.5},
    "assert": [{"type": "contains", "value": "Bern"}],
}


def answers(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    *tests: Mapping[str, Any],
    default: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """What a provider of this id answers to each test, and whether it comes from the cache."""
    monkeypatch.chdir(folder)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    config = {"prompts": ["{{city}}"], "providers": [provider], "tests": tests}
    if default is not None:
        config["defaultTest"] = default
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    with pytest.raises(SystemExit) as ended:
        main(["run", "."])
    assert ended.value.code == 0
    latest = max((folder / ".evenhand" / "runs").glob("*.db"), key=lambda file: file.name)
    with RunFile.open(latest) as run:
        return [{**json.loads(trial.output), "cached": trial.cached} for trial in run.trials()]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_code_is_told_the_test_with_its_own_keys_and_not_what_is_asserted(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Code is told the test with its own keys and not what is asserted."""
    (test,) = answers(tmp_path, monkeypatch, provider, TEST)
    assert (test["description"], test["vars"]) == ("two turns", {"city": "Bern"})
    assert test["metadata"] == {"session": "s1"}
    assert test["turns"] == [{"user": "and then?"}]
    assert test["options"] == {"temperature": 0.5}
    assert "assert" not in test


def test_the_test_has_the_metadata_and_options_of_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The test has the metadata and options of the defaults."""
    default = {"metadata": {"tier": "smoke"}, "options": {"temperature": 0.1}}
    (test,) = answers(
        tmp_path, monkeypatch, PROVIDERS[0], {"vars": {"city": "Bern"}}, default=default
    )
    assert (test["metadata"], test["options"]) == ({"tier": "smoke"}, {"temperature": 0.1})


def test_tests_that_differ_in_their_metadata_alone_get_answers_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Tests that differ in their metadata alone get answers of their own."""
    other = {**TEST, "metadata": {"session": "s2"}}
    first, second = answers(tmp_path, monkeypatch, PROVIDERS[0], TEST, other)
    assert (first["metadata"]["session"], second["metadata"]["session"]) == ("s1", "s2")


def test_another_assertion_asks_for_no_new_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Another assertion asks for no new answer."""
    (first,) = answers(tmp_path, monkeypatch, PROVIDERS[0], TEST)
    changed = {**TEST, "assert": [{"type": "contains", "value": "turns"}]}
    (again,) = answers(tmp_path, monkeypatch, PROVIDERS[0], changed)
    assert (first["cached"], again["cached"]) == (0, 1)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_code_is_told_which_repeat_it_answers(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Code is told which repeat it answers, and each has an answer of its own."""
    whole = {
        "asks.py": PYTHON.replace('context["test"]', "context"),
        "asks.js": JAVASCRIPT.replace("context.test", "context"),
        "tells.py": PROGRAM.replace('["test"]', ""),
    }
    for name, text in whole.items():
        monkeypatch.setitem(FILES, name, text)
    test = {**TEST, "options": {"repeat": 2}}
    first, second = answers(tmp_path, monkeypatch, provider, test)
    assert (first["repeatIndex"], second["repeatIndex"]) == (0, 1)
