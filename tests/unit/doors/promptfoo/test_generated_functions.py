"""Tests that JavaScript makes keep the functions that stand in them, whatever they are made with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main
from evenhand.languages.javascript.node import found_node
from evenhand.store.run_lookup import find
from evenhand.store.runfile import RunFile

pytestmark = pytest.mark.skipif(not found_node(), reason="there is no Node here")

TEST = """{
  vars: { x: 'one ' + JSON.stringify(settings) },
  provider: { id: () => 'own', callApi: async (prompt) => ({ output: `own ${prompt}` }) },
  options: { transform: (output) => output + ' transformed' },
  assert: [
    { type: 'javascript', value: (output) => output.endsWith(JSON.stringify(settings) + ' transformed') },
    { type: 'contains', value: 'SHOUTED', transform: (output) => output + ' SHOUTED' },
  ],
}"""
EXPORTS = {
    "a list": ("const settings = undefined; module.exports = [TEST];", ""),
    "a function": ("module.exports = (settings) => [TEST];", ""),
    "a promise": ("module.exports = async (settings) => [TEST];", ""),
    "a named export": ("module.exports.make = (settings) => [TEST];", ":make"),
    "a named promise": ("module.exports.make = async (settings) => [TEST];", ":make"),
    "a module's default": ("export default async (settings) => [TEST];", ""),
}
SETTINGS = [
    None,
    {"n": 2},
    {"words": "file://words.json", "path": "a.b/c:d(e)'f", "ü": ["%", 1.5, None]},
]


@pytest.mark.thorough(after=6)
@pytest.mark.parametrize("settings", SETTINGS, ids=["without", "with", "with files and signs"])
@pytest.mark.parametrize("export", EXPORTS)
def test_functions_in_generated_tests_are_called_as_they_were_made(
    export: str, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value, a transform of a test and of an assertion, and a provider."""
    monkeypatch.chdir(tmp_path)
    code, name = EXPORTS[export]
    ending = "mjs" if code.startswith("export") else "cjs"
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / f"tests.{ending}").write_text(code.replace("TEST", TEST))
    (tmp_path / "words.json").write_text('["a", "b"]')
    path = f"file://made/tests.{ending}{name}"
    config = {
        "prompts": ["say {{x}}"],
        "providers": ["echo"],
        "tests": [path if settings is None else {"path": path, "config": settings}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    with pytest.raises(SystemExit) as ended:
        main(["run", "--no-progress"])
    with RunFile.open(find(tmp_path, None)) as run:
        (trial,) = run.trials()
    assert (ended.value.code or 0, trial.error) == (0, None)
    assert str(trial.output).startswith("own say one")
    assert str(trial.output).endswith("transformed")
