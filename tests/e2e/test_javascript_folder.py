"""A folder with JavaScript wherever promptfoo takes it, run as a user runs it, without Node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evenhand.cli import main

CONFIG = r"""
prompts:
  - "Say {{ x | shout }} {{ env.WHO | upper }} {{ x.split(',')[0] }}"
  - file://p.js
  - p.js:chat
env: {WHO: me}
nunjucksFilters: {shout: ./shout.js}
providers:
  - echo
  - {id: file://provider.js, label: custom, config: {suffix: "!!"}, transform: output.trim()}
defaultTest:
  options:
    transform: |
      const t = output;
      return t + ' T';
tests:
  - vars: {x: "a,b", y: file://v.js}
    assert:
      - {type: javascript, value: "output.length > 3 && context.vars.x === '{{x}}'"}
      - {type: javascript, value: file://grade.js}
      - type: javascript
        value: |
          console.log('graded', output);
          return {pass: output.includes('a'), score: 0.75, reason: 'has a'};
      - {type: contains, value: A, transform: output.toUpperCase()}
      - {type: not-javascript, value: "output.includes('zzz')"}
  - vars: {x: "q'); process.exit(); ('"}
    options: {transformVars: "({...vars, y: vars.x.length})"}
    assert:
      - {type: javascript, value: "output.includes('{{x}}') && context.vars.y > 1"}
"""

FILES = {
    "shout.js": "module.exports = (value) => String(value).toUpperCase() + '?';",
    "p.js": "module.exports = async ({ vars, config }) => `From ${typeof config}: ${vars.x} ${vars.y}`;\n"
    "module.exports.chat = ({ vars }) => [{ role: 'user', content: vars.x }];",
    "v.js": "module.exports = (name, prompt, vars) => ({ output: `${name}:${vars.x}` });",
    "grade.js": "export default (output, context) => "
    "({ pass: output.length > 1, score: 1, reason: context.vars.x, namedScores: { len: 0.5 } });",
    "provider.js": "module.exports = class { constructor(o) { this.o = o } id() { return 'custom' }\n"
    "async callApi(prompt) { return { output: `  ${prompt}${this.o.config.suffix} ` } } }",
}

OUTPUTS = [
    "Say A,B? ME a T",
    "From object: a,b y:a,b T",
    '[\n  {\n    "role": "user",\n    "content": "a,b"\n  }\n] T',
    "Say A,B? ME a!! T",
    "From object: a,b y:a,b!! T",
    '[\n  {\n    "role": "user",\n    "content": "a,b"\n  }\n]!! T',
]


def test_a_folder_full_of_javascript_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Every trial passes, and each output is what promptfoo 0.123 made of the same folder."""
    monkeypatch.setenv("EVENHAND_NODE", "no-such-node")
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(SystemExit) as ended:
        main(["run", str(tmp_path), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0, document
    trials = [t for t in document["trials"] if t["vars"].get("y") == "y:a,b"]
    assert {t["outcome"] for t in document["trials"]} == {"pass"}
    assert len(document["trials"]) == 12
    assert sorted(t["output"] for t in trials) == sorted(OUTPUTS)
