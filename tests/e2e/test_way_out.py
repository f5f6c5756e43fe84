"""`evenhand init --from`: a promptfoo config as an eval set that comes to the same verdicts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from evenhand.cli.verbs import evenhand
from evenhand.store.catalogue import find
from evenhand.store.runfile import RunFile

FOLDERS = Path(__file__).parents[1] / "oracle" / "folders"

CONFIG = r"""
description: Everything at once
prompts:
  - "Say {{x}}"
  - "{% if loud %}{{ x | upper }}{% else %}{{x}}{% endif %}"
  - id: file://chat.json
    label: chat
providers:
  - echo
  - {id: "file://model.py", label: mine, config: {temperature: 0, apiKey: "sk-0123456789abcdefghij"}}
defaultTest:
  metadata: {part: a}
  assert: [{type: not-contains, value: "never"}]
tests:
  - description: simple
    vars: {x: hello, loud: false}
    assert:
      - {type: icontains, value: "{{x}}", weight: 2, metric: tone}
      - {type: equals, value: "Say hello"}
      - {type: regex, value: "h.l+o\\b"}
  - vars: {x: '{"a": 1}', loud: true}
    threshold: 0.4
    assert:
      - {type: contains-json, value: {required: [a]}}
      - {type: is-json}
      - {type: javascript, value: "output.length > 5"}
  - vars: {x: [one, two], loud: true}
    assert:
      - {type: contains-any, value: "one,Say"}
      - {type: starts-with, value: Say, weight: 0}
      - {type: levenshtein, value: "Say one", threshold: 2}
      - {type: assert-set, threshold: 0.5, assert: [{type: contains, value: one}, {type: contains, value: two}]}
  - vars: {x: boom, loud: false}
  - vars: {x: "it's \"quoted\"\nand {{ strange }} \\ é", loud: false}
    assert: [{type: python, value: file://grader.py}, {type: llm-rubric, value: is fine, provider: file://judge.py}]
  - description: cannot be carried over
    vars: {x: y}
    options: {transform: output.trim()}
"""
FILES = {
    "chat.json": '[{"role": "user", "content": "{{x}}"}]',
    "model.py": (
        "def call_api(prompt, options, context):\n"
        "    return {'error': 'boom'} if 'boom' in prompt else {'output': {'said': prompt}}\n"
    ),
    "grader.py": "def get_assert(output, context): return 'strange' in str(output)\n",
    "judge.py": (
        "def call_api(prompt, options, context):\n"
        '    return {\'output\': \'{"pass": true, "score": 1, "reason": "fine"}\'}\n'
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with something of everything."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG, "utf-8")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def verdicts(folder: Path, *paths: str) -> dict[tuple[str, str, str, int], str]:
    """What a run of these comes to, cell by cell."""
    result = CliRunner().invoke(
        evenhand, ["run", *paths, "--no-table", "--no-progress"], standalone_mode=False
    )
    if result.exception:
        raise result.exception
    with RunFile.open(find(folder, None)) as run:
        columns = [(v.prompt.removeprefix("answers · "), v.model) for v in run.meta.variants]
        return {
            (trial.case, *columns[trial.variant], trial.repeat): trial.outcome
            for trial in run.trials()
        }


def printed(folder: Path) -> tuple[str, str]:
    """The eval set, and what is said beside it."""
    result = CliRunner().invoke(evenhand, ["init", "--from", str(folder)], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.stdout, result.stderr


def test_the_eval_set_comes_to_the_same_verdicts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cell by cell; what is not carried over is named, and no secret is written."""
    monkeypatch.chdir(folder)
    wanted = verdicts(folder)
    text, said = printed(folder)
    assert "test cannot be carried over: it has a transform" in text
    assert "not carried over: test cannot be carried over" in said
    assert "sk-" not in text
    (folder / "same_evals.py").write_text(text, "utf-8")
    found = verdicts(folder, "same_evals.py")
    assert found == {cell: wanted[cell] for cell in found}
    assert len(found) == len(wanted) - 6
    assert {"pass", "fail", "error"} <= set(found.values())


@pytest.mark.parametrize("name", ["references", "repeats", "scenarios", "selection"])
def test_folders_that_promptfoo_ran_come_to_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever of them is carried over."""
    folder = tmp_path / name
    shutil.copytree(FOLDERS / name, folder)
    monkeypatch.chdir(folder)
    wanted = verdicts(folder)
    (folder / "same_evals.py").write_text(printed(folder)[0], "utf-8")
    found = verdicts(folder, "same_evals.py")
    assert found
    assert found == {cell: wanted[cell] for cell in found}


def test_scorers_are_used_where_there_are_any(folder: Path) -> None:
    """Their values filled in; the rest stays an assertion."""
    text, _ = printed(folder)
    assert "(Contains('hello', ignore_case=True), {'weight': 2.0, 'metric': 'tone'})" in text
    assert "(Equals('Say hello'), {})" in text
    assert "ContainsAny(('one', 'Say'))" in text
    assert "Asserts({'type': 'not-contains', 'value': 'never'})" in text
    compile(text, "evals", "exec")
