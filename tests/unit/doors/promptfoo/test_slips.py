"""What people get wrong in a promptfooconfig.yaml: each slip is one message with its place, and none is silent."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evenhand.cli import main
from evenhand.core.errors import ConfigError, Problem
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen

GOOD = """\
prompts:
  - "Hello {{name}}"
providers:
  - echo
tests:
  - vars:
      name: Ada
    assert:
      - type: contains
        value: Ada
"""
CONTAINS = "type: contains\n        value: Ada"
TESTS = GOOD[GOOD.index("tests:") :]
END = "evaluateOptions: {}\n"
SLIPS = [  # what is written, what is in its place, where, what is said
    ("prompts:", "propmts:", "1:1", "Did you mean 'prompts'?"),
    ("providers:", "provider:", "3:1", "Did you mean 'providers'?"),
    ("providers:", "Providers:", "3:1", "Did you mean 'providers'?"),
    ("tests:", "test:", "5:1", "Did you mean 'tests'?"),
    ("vars:", "var:", "6:5", "Did you mean 'vars'?"),
    ("vars:", "variables:", "6:5", "Did you mean 'vars'?"),
    ("assert:", "asserts:", "8:5", "Did you mean 'assert'?"),
    ("assert:", "assertions:", "8:5", "Did you mean 'assert'?"),
    ("value: Ada", "vlaue: Ada", "10:9", "Did you mean 'value'?"),
    ("type: contains", "typ: contains", "9:9", "Did you mean 'type'?"),
    ("type: contains", "type: contians", "9:9", "Did you mean 'contains'?"),
    ("type: contains", "type: Contains", "9:9", "Did you mean 'contains'?"),
    ("type: contains", "type: contains_any", "9:9", "Did you mean 'contains-any'?"),
    ("type: contains", "type: not_contains", "9:9", "Did you mean 'not-contains'?"),
    ("type: contains", "type: llmRubric", "9:9", "Did you mean 'llm-rubric'?"),
    ("type: contains", "type: promptfoo:redteam:bola", "9:9", "is of a red team"),
    (f"      - {CONTAINS}", "      type: contains\n      value: Ada", "8:5", "Begin each assertion with '- type"),
    ("- " + CONTAINS, "- contains: Ada", "9:9", "Write - type: contains"),
    ("- " + CONTAINS, "- Ada", "9:9", "an assertion is 'Ada', not an object"),
    ("\n        value: Ada", "", "9:9", "'contains' has no value"),
    (f"    assert:\n      - {CONTAINS}", f"      assert:\n      - {CONTAINS}", "8:7", "stands below 'vars'"),
    (CONTAINS, "type: assert-set", "9:9", "an assert-set without assertions"),
    (CONTAINS, "type: regex\n        value: '(['", "10:9", "is not a regular expression"),
    (CONTAINS, "type: is-json\n        value: {type: objct}", "10:9", "the schema is not valid"),
    (CONTAINS, "type: python\n        value: 'len(output >'", "10:9", "is not Python"),
    (CONTAINS, "type: python\n        value: file://none.py", "10:9", "none.py does not exist"),
    (CONTAINS, "type: javascript\n        value: 'output.includes('", "10:9", "is not JavaScript"),
    (CONTAINS, "type: latency", "9:9", "'latency' has no threshold"),
    (CONTAINS, "type: llm-rubric\n        value: kind", "10:9", "has no model to judge"),
    (CONTAINS, "$ref: '#/assertionTemplates/x'", "9:9", "there is no 'assertionTemplates'"),
    (CONTAINS, CONTAINS + "\n        threshold: 80%", "11:9", "threshold is '80%', not a number"),
    (CONTAINS, CONTAINS + "\n        weight: heavy", "11:9", "weight is 'heavy'"),
    ('"Hello {{name}}"', "file://none.txt", "2:5", "prompt file none.txt does not exist"),
    ('"Hello {{name}}"', "Hello: you: {{name}}", "2:15", "Text with ': ' in it has to be in quotes."),
    ('"Hello {{name}}"', "{{name}} hello", "2:14", "Text that begins with {{ has to be in quotes."),
    ('"Hello {{name}}"', '"Hello {{name}}', "2:5", "a quote is opened here and never closed"),
    (CONTAINS, 'type: regex\n        value: "\\d+ x"', "10:17", "\\d means nothing in double quotes"),
    (CONTAINS, 'type: regex\n        value: "a \\ud83d"', "10:19", "\\ud83d means nothing in double quotes"),
    ('"Hello {{name}}"', "Hello {name}", "2:5", "Write {{name}}."),
    ("{{name}}", "{{nme}}", "2:5", "Write one name in both."),
    ("{{name}}", "{{name", "2:5", "a tag is opened and not closed"),
    ("{{name}}", "{{ name | uppercase }}", "2:5", "filter not found: uppercase"),
    ('- "Hello', 'hi: "Hello', "2:3", "is what it is called"),
    ('- "Hello', '- content: "Hello', "2:5", "a prompt has neither 'raw' nor 'id'"),
    ("  - echo", "\t- echo", "4:1", "YAML is indented with spaces, not with tabs."),
    ("      name: Ada", "   name: Ada\n      x: b", "7:4", "Keys that belong together start in the same column."),
    ("name: Ada", "name: file://none.txt", "7:7", "none.txt does not exist"),
    ("name: Ada", "name: '{{env.API_KEY}}'", "7:7", "looks like a secret"),
    ("- echo", "- openai:gpt-5-mini", "4:5", "Set OPENAI_API_KEY"),
    ("- echo", "- openai/gpt-5-mini", "4:5", "Did you mean 'openai:gpt-5-mini'?"),
    ("- echo", "- opnai:gpt-5-mini", "4:5", "Did you mean 'openai'?"),
    ("- echo", "- file://none.py", "4:5", "none.py does not exist"),
    ("- echo", "- {name: openai, model: x}", "4:5", "a provider has no id"),
    ("- echo", "-", "4:4", "a provider is empty"),
    ("- echo", "- {id: echo, temperature: 0}", "4:5", "Settings of the model stand under config."),
    ("- echo", "- {id: echo, config: {key: '{{env.NONE}}'}}", "4:5", "{{env.NONE}} in a setting is not set"),
    ("- echo", "- {id: echo, config: {key: $SOME_KEY}}", "4:5", "Write {{env.NAME}}"),
    ("- echo", "- {id: echo, prompts: [nope]}", "4:5", "takes none of the prompts: nope"),
    ("    assert:", "    transform: output\n    assert:", "8:5", "It belongs below options of the test."),
    ("    assert:", "    options: {tranform: output}\n    assert:", "8:15", "Did you mean 'transform'?"),
    ("    assert:", "    providers: [ehco]\n    assert:", "8:5", "Did you mean 'echo'?"),
    (TESTS, "tests: none.csv\n", "5:1", "tests file none.csv does not exist"),
    (TESTS, "tests: {vars: {name: Ada}}\n", "5:1", "Begin each of them with '- '."),
    (TESTS, "scenarios:\n  - configs: [{vars: {name: A}}]\n", "6:5", "Did you mean 'config'?"),
    (TESTS, f"{TESTS}maxConcurrency: 3\n", "11:1", "It belongs below evaluateOptions."),
    (TESTS, f"{TESTS}evaluateOptions: {{maxConcurency: 3}}\n", "11:19", "Did you mean 'maxConcurrency'?"),
    (TESTS, f"{TESTS}extends: base.yaml\n", "11:1", "inserts a part of another file"),
    (TESTS, f"{TESTS}redteam: {{plugins: [bola]}}\n", "11:1", "only the evaluation is run"),
    (TESTS, f"{TESTS}defaultTests: {{}}\n", "11:1", "Did you mean 'defaultTest'?"),
    (TESTS, f"{TESTS}defaultTest: []\n", "11:1", "defaultTest is [], not an object"),
    (TESTS, f"{TESTS}assert: []\n", "11:1", "It belongs below a test, or below defaultTest."),
    (TESTS, f"{TESTS}output: r.json\n", "11:1", "It is called outputPath."),
    (TESTS, f"{TESTS}tags: [a]\n", "11:1", "not an object of names and values"),
    (TESTS, f"{TESTS}prompts: [x]\n", "11:1", "the key 'prompts' appears twice"),
    (TESTS, f"{TESTS}targets: [echo]\n", "11:1", "there can be only one"),
    (TESTS, f"{TESTS}env: [A=b]\n", "11:1", "env is ['A=b'], not an object"),
    (TESTS, f"{TESTS}extensions: [file://h.py]\n", "11:14", "Write file://hooks.py:beforeEach"),
]  # fmt: skip


def told(folder: Path, text: str) -> list[Problem]:
    """All that is said of a config with this text: problems and hints."""
    path = folder / "promptfooconfig.yaml"
    path.write_text(text, "utf-8")
    try:
        plan = load(path, Chosen(env={}))
    except ConfigError as error:
        return [*error.problems, *error.hints]
    return [*plan.broken, *plan.hints]


def test_nothing_is_said_of_what_is_right(tmp_path: Path) -> None:
    """Nor of one that was written on Windows."""
    assert told(tmp_path, GOOD) == []
    assert told(tmp_path, GOOD.replace("\n", "\r\n")) == []


@pytest.mark.parametrize(("written", "slip", "where", "words"), SLIPS, ids=lambda text: text[:30])
def test_a_slip_is_one_message_with_line_and_column(
    written: str, slip: str, where: str, words: str, tmp_path: Path
) -> None:
    """Where it is, what is wrong, and what to do."""
    assert written in GOOD
    messages = told(tmp_path, GOOD.replace(written, slip, 1))
    fitting = [one for one in messages if words in f"{one.what}\n{one.hint}"]
    assert [f"{one.line}:{one.column}" for one in fitting] == [where], list(map(str, messages))
    assert "Traceback" not in str(fitting[0])


def test_slips_are_named_all_at_once(tmp_path: Path) -> None:
    """One in each part of a config."""
    text = GOOD.replace("- echo", "- opnai:x").replace("type: contains", "type: contians")
    text = (
        text.replace('"Hello {{name}}"', "file://none.txt")
        + "evaluateOptions: {repeat: 0}\nrepeat: 3\n"
    )
    lines = {one.line for one in told(tmp_path, text)}
    assert {2, 9, 11, 12} <= lines


REFUSED = [
    ("prompts:", "promts:"),
    ("tests:", "test:"),
    (TESTS, f"tests: [{{vars: {{name: Ada}}}}]\ndefaultTests: {{assert: [{{{CONTAINS.replace(chr(10), ',')}}}]}}\n"),
    ("vars:", "var:"),
    ("assert:", "asserts:"),
    ("assert:", "assertions:"),
    ("name: Ada", "nmae: Ada"),
    ("{{name}}", "{{nmae}}"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "slip"), REFUSED, ids=lambda text: text[:30])
def test_a_misspelling_of_what_is_missing_is_refused(
    written: str, slip: str, tmp_path: Path
) -> None:
    """A run would pay for empty prompts, or for answers that nothing checks."""
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(GOOD.replace(written, slip, 1), "utf-8")
    with pytest.raises(ConfigError) as refused:
        load(path, Chosen(env={}))
    assert len(refused.value.problems) == 1


@pytest.mark.parametrize(
    ("written", "slip"),
    [
        ("prompts:", "promts: [x]\nprompts:"),
        (TESTS, f"{TESTS}test: 1\n"),
        (TESTS, "scenarios: [{config: [{vars: {name: Ada}}], tests: [{}]}]\ntest: 1\n"),
        ("    assert:", "    var: {}\n    assert:"),
        ("- vars:", "- asserted: by Ann\n    vars:"),
        ("{{name}}", "{{name}}{{names}}"),
        ("value: Ada", "value: '{{nick}}'"),
    ],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_unknown_keys_beside_those_that_they_resemble_are_hints(
    written: str, slip: str, tmp_path: Path
) -> None:
    """As in promptfoo: folders that it runs must run."""
    path = tmp_path / "promptfooconfig.yaml"
    text = GOOD.replace(written, slip, 1)
    if "nick" in text:  # a variable for the assertion alone, beside one that only some tests set
        text = text.replace("name: Ada", "name: Ada\n      nick: Ada").replace(
            "{{name}}", "{{name}}{{nik}}"
        )
    path.write_text(text, "utf-8")
    assert load(path, Chosen(env={})).hints


def test_a_threshold_that_no_score_reaches_is_a_hint(tmp_path: Path) -> None:
    """It decides nothing, as in promptfoo: it fails, and its opposite passes, whatever is answered."""
    checks = [
        {"type": "bleu", "value": "a", "threshold": 1.5},
        {"type": "not-rouge-n", "value": "a", "threshold": 70},
        {"type": "bleu", "value": "a", "threshold": 1},
    ]
    whole = {"prompts": ["a"], "providers": ["echo"], "tests": [{"assert": checks}]}
    (tmp_path / "promptfooconfig.yaml").write_text(yaml.safe_dump(whole), "utf-8")
    assert [hint.what for hint in load(tmp_path).hints] == [
        "'bleu' scores at most 1, and always fails at the threshold 1.5",
        "'not-rouge-n' scores at most 1, and always passes at the threshold 70",
    ]


@pytest.mark.parametrize("command", ["check", "run"])
def test_an_output_path_without_an_ending_is_named_by_its_key_before_anything_is_sent(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An outputPath without an ending is named by its key before anything is sent."""
    monkeypatch.chdir(tmp_path)
    Path("promptfooconfig.yaml").write_text(GOOD + "outputPath: ./results\n")
    with pytest.raises(SystemExit) as ended:
        main([command, "."])
    assert ended.value.code == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "outputPath" in message
    assert "results: the name has no ending" in message
    assert "-o " not in message
