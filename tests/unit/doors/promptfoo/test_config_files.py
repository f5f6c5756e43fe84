"""Configs in JavaScript: read by Node, with the functions in them called where they stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evenhand.core.errors import ConfigError
from evenhand.doors.promptfoo.config_files import find_config
from evenhand.doors.promptfoo.load import load
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.languages.documents.findings import Findings
from evenhand.languages.javascript.node import found_node
from evenhand.store.runfile import RunFile

needs_node = pytest.mark.skipif(not found_node(), reason="there is no Node here")

CONFIG = """
const longer = (output, context) => output.length > context.vars.least;
module.exports = {
  prompts: [function greet({ vars }) { return `Hi ${vars.name}`; }, "Bye {{name}}"],
  providers: [
    async (prompt) => ({ output: `${prompt}.` }),
    { id: "echo", transform: (output) => output.toUpperCase() },
    { id: () => "mine", callApi: async (prompt) => ({ output: `mine: ${prompt}` }) },
  ],
  defaultTest: { assert: [{ type: "javascript", value: longer }] },
  tests: [
    { vars: { name: "Ada", least: 2 }, options: { transformVars: (vars) => ({ ...vars, name: vars.name + "!" }) } },
    { vars: { name: "Bob", least: 2 }, assertScoringFunction: () => ({ pass: false, score: 0.5, reason: "mine" }) },
  ],
};
"""


def results(folder: Path) -> list[tuple[object, str, float | None]]:
    """Output, outcome and score of each trial."""
    finished = door.run(load(folder), Settings(home=folder / "kept"))
    with RunFile.open(finished.path) as run:
        return [(trial.output, trial.outcome, trial.score) for trial in run.trials()]


@needs_node
def test_functions_in_a_config_are_called_where_they_stand(tmp_path: Path) -> None:
    """Prompts, providers, transforms, assertions and scoring functions alike."""
    (tmp_path / "promptfooconfig.js").write_text(CONFIG)
    assert results(tmp_path) == [
        ("Hi Ada!.", "pass", 1),
        ("Bye Ada!.", "pass", 1),
        ("HI ADA!", "pass", 1),
        ("BYE ADA!", "pass", 1),
        ("mine: Hi Ada!", "pass", 1),
        ("mine: Bye Ada!", "pass", 1),
        ("Hi Bob.", "fail", 0.5),
        ("Bye Bob.", "fail", 0.5),
        ("HI BOB", "fail", 0.5),
        ("BYE BOB", "fail", 0.5),
        ("mine: Hi Bob", "fail", 0.5),
        ("mine: Bye Bob", "fail", 0.5),
    ]
    labels = [variant.model for variant in load(tmp_path).variants[::2]]
    assert labels == ["custom-function-0", "echo", "mine"]


@needs_node
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("promptfooconfig.mjs", "export default {0};"),
        ("promptfooconfig.js", "export default async () => ({0});"),
        ("promptfooconfig.cjs", "module.exports = Promise.resolve({0});"),
    ],
)
def test_a_config_may_be_an_object_a_promise_or_a_function(
    tmp_path: Path, name: str, code: str
) -> None:
    """However it is exported; paths start from its folder, and what it prints is not the run's output."""
    (tmp_path / "prompt.txt").write_text("Say {{q}}")
    whole = {"prompts": ["file://prompt.txt"], "providers": ["echo"], "tests": [{"vars": {"q": 1}}]}
    text = 'console.log("hello");\n' + code.replace("{0}", json.dumps(whole))
    (tmp_path / name).write_text(text)
    assert results(tmp_path) == [("Say 1", "pass", 1)]


@needs_node
def test_a_config_that_was_changed_is_another_plan(tmp_path: Path) -> None:
    """Also where only the body of a function in it is another one."""
    path = tmp_path / "promptfooconfig.js"
    path.write_text(CONFIG)
    before = load(tmp_path).fingerprint
    assert load(tmp_path).fingerprint == before
    path.write_text(CONFIG.replace("length >", "length >="))
    assert load(tmp_path).fingerprint != before


@needs_node
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("throw new Error('no data')", "no data"),
        ("module.exports = () => { throw new Error('no data') }", "no data"),
        ("const a = {}; a.tests = [a]; module.exports = a", "stands inside itself"),
        ("module.exports = 7", "not an object"),
        ("module.exports = {", "promptfooconfig.js"),
        ("module.exports = {tests: [{vars: {q: () => 1}}]}", "tests.0.vars.q is a function"),
    ],
)
def test_a_config_that_cannot_be_read_says_why(tmp_path: Path, code: str, said: str) -> None:
    """In one line, with no trace of Node's."""
    (tmp_path / "promptfooconfig.js").write_text(code)
    with pytest.raises(ConfigError) as raised:
        load(tmp_path)
    assert said in str(raised.value)
    assert "at async" not in str(raised.value)


def test_without_node_a_config_in_javascript_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And where Node was looked for."""
    (tmp_path / "promptfooconfig.js").write_text(CONFIG)
    monkeypatch.setenv("EVENHAND_NODE", str(tmp_path / "no-node"))
    with pytest.raises(ConfigError, match=r"is a config in JavaScript, and so needs Node"):
        load(tmp_path)


def test_of_several_configs_in_a_folder_the_first_by_ending_counts(tmp_path: Path) -> None:
    """YAML before code, as in promptfoo."""
    for ending in ("ts", "js", "yaml"):
        path = tmp_path / f"promptfooconfig.{ending}"
        path.write_text("")
        assert find_config(tmp_path, Findings()) == path


@needs_node
@pytest.mark.parametrize(
    ("file", "exports", "named"),
    [
        ("tests.js", "module.exports =", ""),
        ("tests.js", "module.exports = { made: 5 }; exports = module.exports.make =", ":make"),
        ("tests.mjs", "export default [];\nexport const make =", ":make"),
    ],
)
def test_functions_in_tests_that_javascript_makes_are_called_where_they_stand(
    tmp_path: Path, file: str, exports: str, named: str
) -> None:
    """With what they keep of the program, from whatever folder it is in."""
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / file).write_text(
        f"{exports} async () => ['one', 'three'].map((q) => ({{ vars: {{ q }}, assert: [\n"
        "  { type: 'javascript', value: (output) => output === q && q.length < 4 }] }));\n"
    )
    (tmp_path / "promptfooconfig.json").write_text(
        json.dumps(
            {
                "prompts": ["{{q}}"],
                "providers": ["echo"],
                "tests": f"file://made/{file}{named}",
            }
        )
    )
    assert results(tmp_path) == [("one", "pass", 1), ("three", "fail", 0)]
