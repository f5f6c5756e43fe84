"""`evenhand init --from`: a promptfoo config as an eval set that comes to the same verdicts."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from evenhand.cli.verbs import evenhand
from evenhand.core.expect import weighted_mean
from evenhand.doors.promptfoo.load import read_folder
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.doors.promptfoo.porting.as_python import as_python
from evenhand.store.run_lookup import find
from evenhand.store.runfile import RunFile

FOLDERS = Path(__file__).parents[1] / "oracle" / "folders"
SUMMARIES = Path(__file__).parents[2] / "examples" / "summaries"

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
  options: {provider: file://judge.py}
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
  - description: changed on its way
    vars: {x: " y ", part: one}
    options:
      prefix: "<{{part}}> "
      transform: file://transform.py
      transformVars: "({...vars, x: vars.x + vars.part})"
    assert:
      - {type: contains, value: "{{x}}", transform: "output.said || output"}
      - {type: contains, value: "[y one]"}
      - {type: assert-set, assert: [{type: llm-rubric, value: is fine}]}
  - vars: {x: "{{ y | upper }}", y: shout, loud: false}
    providers: [echo]
    options: {postprocess: "output + '!'", repeat: 2}
    assert: [{type: contains, value: "SHOUT"}, {type: contains, value: "{{x}}", weight: 0}]
  - vars: {x: nobody is asked}
    providerOutput: {said: "It's there: {{x}}"}
    assert: [{type: is-json}, {type: javascript, value: file://grader.js}]
    assertScoringFunction: file://score.py
"""
FILES = {
    "chat.json": '[{"role": "user", "content": "{{x}}"}]',
    "model.py": (
        "def call_api(prompt, options, context):\n"
        "    return {'error': 'boom'} if 'boom' in prompt else {'output': {'said': prompt}}\n"
    ),
    "grader.py": "def get_assert(output, context): return 'strange' in str(output)\n",
    "grader.js": "module.exports = (output, context) => 'said' in output && !!context.vars.x;\n",
    "score.py": (
        "def get_score(scores, context):\n"
        "    return {'pass': True, 'score': 0.25, 'reason': str(context['componentResults'])}\n"
    ),
    "transform.py": (
        "def get_transform(output, context):\n"
        "    return f\"{output} [{context['vars']['x'].strip()}] {context['prompt']['label']}\"\n"
    ),
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


def settled(folder: Path, *paths: str) -> dict[tuple[str, str, int], list[tuple[object, ...]]]:
    """What a run of these comes to: for each case, model and repeat, what its prompts come to.

    The score of a trial of an eval set is the share of its expectations that passed; what promptfoo calls its score is
    the mean of theirs, or 0 for who lost a contest: of contestants the verdict alone is looked at. A test without
    assertions passes in promptfoo; an eval that expects nothing has no verdict.
    """
    offline = ["--offline"] if (folder / "offline.jsonl").is_file() else []
    result = CliRunner().invoke(
        evenhand, ["run", *paths, "--no-table", "--no-progress", *offline], standalone_mode=False
    )
    if result.exception:
        raise result.exception
    found: dict[tuple[str, str, int], list[tuple[object, ...]]] = {}
    with RunFile.open(find(folder, None)) as run:
        for trial in run.trials():
            variant = run.meta.variants[trial.variant]
            score = trial.score
            if variant.axes:
                score = weighted_mean([one for one in trial.outcomes if one.weight > 0])
            if score is None or trial.outcome == "error" or trial.before is not None:
                score = 1.0
            unasked = trial.outcome == "not_applicable" and not trial.outcomes
            outcome = "pass" if unasked else trial.outcome
            cell = (outcome, round(score, 9), repr(trial.output))
            found.setdefault((trial.case, variant.model, trial.repeat), []).append(cell)
    return {key: sorted(cells) for key, cells in found.items()}


def printed(folder: Path) -> tuple[str, str, int]:
    """The eval set, what is said beside it, and the exit code."""
    result = CliRunner().invoke(evenhand, ["init", "--from", str(folder)], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.stdout, result.stderr, result.return_value


def test_the_eval_set_comes_to_the_same_verdicts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cell by cell, scores and outputs as well; no secret is written."""
    monkeypatch.chdir(folder)
    wanted = settled(folder)
    text, said, code = printed(folder)
    assert code == 0
    assert said.splitlines()[:-1] == [
        "not carried over: secrets of provider mine: set them in the environment"
    ]
    assert "sk-" not in text
    (folder / "same_evals.py").write_text(text, "utf-8")
    assert settled(folder, "same_evals.py") == wanted
    assert {"pass", "fail", "error"} <= {cell[0] for cells in wanted.values() for cell in cells}


LEFT = {
    "conversations": "it continues a conversation",
    "extensions": "write what they do into the eval",
    "multi-turn": "it continues a conversation",
    "serial-first": "the stored output of an earlier test",
    "stored-outputs": "the stored output of an earlier test",
    "templates-that-fail": "template: could not be filled in: Unable to call",
}
"""The folders that are not carried over whole, and what is said of it."""


@pytest.mark.thorough(after=20)
@pytest.mark.parametrize(
    "source",
    [
        *sorted(path for path in FOLDERS.iterdir() if any(path.glob("promptfooconfig.*"))),
        SUMMARIES,
    ],
    ids=lambda path: path.name,
)
def test_folders_come_to_the_same(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verdict, score and output of each cell that is carried over; what is not is named, in the file as well."""
    folder = tmp_path / source.name
    shutil.copytree(source, folder)
    monkeypatch.chdir(folder)
    wanted = settled(folder)
    text, said, code = printed(folder)
    (folder / "same_evals.py").write_text(text, "utf-8")
    reason = LEFT.get(source.name, "")
    assert reason in text
    assert reason in said
    if code:
        assert "# This cannot be run: none of the tests could be carried over." in text
        assert "what is printed cannot be run" in said
        return
    found = settled(folder, "same_evals.py")
    assert found
    # What hooks do is missing; code that can't be filled in is an error of the trial, which has an output by then.
    if source.name in ("extensions", "templates-that-fail"):
        return
    for key, cells in found.items():
        if reason:
            assert set(cells) <= set(wanted[key])
        else:
            assert cells == wanted[key]
    if not reason:
        assert found.keys() == wanted.keys()


def test_scorers_are_used_where_there_are_any(folder: Path) -> None:
    """Their values filled in; the rest stays an assertion."""
    text, _, _ = printed(folder)
    assert '(Contains("hello", ignore_case=True), {"weight": 2.0, "metric": "tone"})' in text
    assert '(Equals("Say hello"), {})' in text
    assert 'ContainsAny(("one", "Say"))' in text
    assert 'Asserts({"type": "not-contains", "value": "never"})' in text
    compile(text, "evals", "exec")


def test_what_all_tests_share_is_said_once(tmp_path: Path) -> None:
    """A transform of defaultTest is a constant, and the eval calls it; so are assertions that are the same for all."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        """
description: Shared
prompts: ["Say {{x}}"]
providers: [{id: echo, transform: output.trim()}]
defaultTest:
  options: {transform: file://transform.py}
  assert: [{type: contains, value: a}]
tests: [{vars: {x: a}}, {vars: {x: b}}]
""",
        "utf-8",
    )
    (tmp_path / "transform.py").write_text(FILES["transform.py"], "utf-8")
    text, _, _ = printed(tmp_path)
    assert 'TRANSFORM = Transform("file://transform.py")\n' in text
    assert 'EXPECTED = [Contains("a")]\n' in text
    assert text.endswith(
        """\
    reply = await model.generate(prompt.render(**case.vars))
    output = reply.text if reply.output is None else reply.output
    output = await MODEL_TRANSFORM(output)
    output = await TRANSFORM(output)
    for scorer in EXPECTED:
        expect(output, scorer)
    return output
"""
    )


def test_what_is_printed_is_laid_out_like_code(folder: Path) -> None:
    """A formatter has hardly anything to do: no line is too long but for texts, and all names are imported."""
    text, _, _ = printed(folder)
    for line in text.splitlines():
        assert len(line) <= 100 or line.lstrip().startswith(('"', "'", "# "))
    tree = ast.parse(text)
    imported = {a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
    named = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    assert imported <= named


def test_settings_of_tests_are_told_and_those_of_prompts_are_printed(tmp_path: Path) -> None:
    """An eval set has the former in the model's config; a prompt keeps its own."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        """
prompts: [{raw: "Say {{x}}", label: say, config: {response_format: {type: json_schema}}}]
providers: [echo]
tests: [{vars: {x: 1}, options: {temperature: 0.5}, assert: [{type: contains, value: "1"}]}]
"""
    )
    text = as_python(read_folder(tmp_path, Chosen(env={}))).text
    assert "options temperature: write them into the config of the model" in text
    assert "response_format of prompt" not in text
    assert 'config={"response_format": {"type": "json_schema"}}' in text
