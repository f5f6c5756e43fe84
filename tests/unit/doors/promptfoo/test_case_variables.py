"""Variables that code computes, and filters that a config brings."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import CodeError
from evenhand.doors.promptfoo.case_variables import computed, is_code
from evenhand.engine.code import CodeHost
from evenhand.languages.documents.findings import Findings, Place
from evenhand.languages.templates.rendering import Templates, add_filters

PROVIDER = {"id": "echo", "label": "e"}


async def test_variables_are_computed_by_javascript_and_python(tmp_path: Path):
    """Each is told its name, the prompt, the other variables, and JavaScript also the provider."""
    (tmp_path / "v.js").write_text(
        "module.exports = (name, prompt, vars, provider) => "
        "({output: [name, prompt, vars.x, provider.id].join('/')});"
    )
    (tmp_path / "v.py").write_text(
        "def get_var(name, prompt, others): return {'output': f' {name}/{prompt}/{others[\"x\"]} '}\n"
    )
    (tmp_path / "t.txt").write_text("text")
    given = {"x": 1, "a": "file://v.js", "b": "file://v.py", "t": "file://t.txt"}
    with CodeHost().open() as host:
        found = await computed(given, ["a", "b", "t"], "P {{x}}", PROVIDER, tmp_path, host)
    assert found == {"x": 1, "a": "a/P {{x}}/1/echo", "b": "b/P {{x}}/1", "t": "file://t.txt"}
    assert [is_code(v) for v in (*given.values(), None)] == [False, True, True, False, False]


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("() => ({error: 'none left'})", "answered with an error: none left"),
        ("() => 'text'", "answered without an output"),
        ("() => ({})", "answered without an output"),
    ],
)
async def test_a_variable_without_an_output_is_an_error(tmp_path: Path, code, wrong):
    """It says what was wrong, or what to return."""
    (tmp_path / "v.js").write_text(f"module.exports = {code};")
    with CodeHost().open() as host, pytest.raises(CodeError, match=wrong):
        await computed({"a": "file://v.js"}, ["a"], "", PROVIDER, tmp_path, host)


def read(
    base: Path, value: dict[str, object], env: dict[str, str] | None = None
) -> tuple[Templates, Findings]:
    """The templates of a config, and what is wrong with them."""
    findings = Findings()
    templates = Templates(env)
    if "nunjucksFilters" in value:
        add_filters(templates, value["nunjucksFilters"], base, lambda *_: Place(base), findings)
    return templates, findings


def test_filters_and_the_environment_are_lent_to_templates(tmp_path: Path):
    """Filters are files of JavaScript; the environment is what the config says it is."""
    (tmp_path / "shout.js").write_text(
        "module.exports = (v, mark = '!') => v.toUpperCase() + mark;"
    )
    filters = {"nunjucksFilters": {"shout": "./shout.js"}}
    templates, findings = read(tmp_path, filters, {"LENT_PLACE": "here"})
    assert findings.problems == []
    assert templates.render("{{ x | shout }}{{ x | shout('?') }}", {"x": "a"}) == "A!A?"
    assert templates.render("{{ env.LENT_PLACE | upper }}", {}) == "HERE"


def test_two_configs_in_one_process_share_neither_filters_nor_environment(tmp_path: Path):
    """What one config lends its templates, those of another never see, whichever is read first."""
    (tmp_path / "a.js").write_text("module.exports = (v) => v + '-a';")
    (tmp_path / "b.js").write_text("module.exports = (v) => v + '-b';")
    one, _ = read(tmp_path, {"nunjucksFilters": {"mark": "a.js", "own": "a.js"}}, {"TONE": "warm"})
    two, _ = read(tmp_path, {"nunjucksFilters": {"mark": "b.js"}}, {"PLACE": "Ulm"})
    text = "{{ x | mark }} {{ env.TONE }}{{ env.PLACE }}"
    assert [one.render(text, {"x": "1"}), two.render(text, {"x": "1"})] == ["1-a warm", "1-b Ulm"]
    assert "filter not found: own" in str(two.problem("{{ x | own }}"))
    assert one.render("{% set seen = x %}{{ seen }}", {"x": "1"}) == "1"
    assert two.render("{{ seen | default('unseen') }}", {}) == "unseen"


def test_what_is_wrong_with_filters_is_said(tmp_path: Path):
    """All of it at once, before anything is sent."""
    (tmp_path / "n.js").write_text("const m = require('moment'); module.exports = (v) => m(v);")
    (tmp_path / "o.js").write_text("module.exports = {a: 1};")
    names = {"gone": "file://gone.js", "n": "n.js", "o": "o.js"}
    said = [one.what for one in read(tmp_path, {"nunjucksFilters": names})[1].problems]
    assert ["does not exist" in said[0], "uses require" in said[1]] == [True, True]
    assert "not a function" in said[2]
    assert "not an object" in read(tmp_path, {"nunjucksFilters": ["x"]})[1].problems[0].what
