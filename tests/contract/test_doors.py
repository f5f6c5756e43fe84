"""The three front doors give one answer to each question: promptfoo configs, eval sets and prompt directories.

Where promptfoo's files ask for another answer, the row says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import ConfigError
from evenhand.core.plan import Plan, Selection
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.doors.prompt_directories.library import prompts_at
from evenhand.doors.prompt_directories.plan import load as load_prompts
from evenhand.doors.promptfoo.load import load as load_folder
from evenhand.doors.promptfoo.overrides import Chosen

META = """\
id: greet
title: Greeter
summary: Greets somebody
status: draft
version: 0.1.0
created: 2026-01-02
updated: 2026-01-02
model: {model}
inputs: [{{name: x}}, {{name: a}}]
description: Greets somebody.
"""
SET = """\
from evenhand import Dataset, EvalSet, Prompt
from evenhand.scorers import Passes

evals = EvalSet("greet", data=Dataset.of(*{rows}), model={model!r}, {more})

@evals.eval
async def greets(case, model, expect):
    reply = await model.generate(Prompt("p", {prompt!r}).render(**case.vars))
    expect({scorer})
    return reply.text
"""


def folder(
    at: Path,
    prompt: str,
    rows: list[dict[str, Any]],
    *,
    model: str = "echo",
    judged: bool = False,
    env: Mapping[str, str] | None = None,
    selection: Selection | None = None,
) -> Plan:
    """A promptfoo config."""
    check = (
        {"type": "llm-rubric", "value": "is kind"} if judged else {"type": "contains", "value": "x"}
    )
    config = {
        "prompts": [prompt],
        "providers": [model],
        "tests": [{"vars": row, "assert": [check]} for row in rows],
        "defaultTest": {"options": {"disableVarExpansion": True}},
    }
    (at / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")
    return load_folder(at, Chosen(selection or Selection(), env=env or {}))


def eval_set(
    at: Path,
    prompt: str,
    rows: list[dict[str, Any]],
    *,
    model: str = "echo",
    judged: bool = False,
    env: Mapping[str, str] | None = None,
    selection: Selection | None = None,
) -> Plan:
    """An eval set."""
    from evenhand.doors.eval_sets.discovery import find

    scorer = 'reply.text, Passes("is kind")' if judged else "'x' in reply.text, 'has x'"
    text = SET.format(rows=rows, model=model, more="", prompt=prompt, scorer=scorer)
    file = at / "greet_evals.py"
    file.write_text(text, "utf-8")
    found = find([str(file)])
    assert not found.problems, found.problems
    return plan_of(found.sets, selection, env=env or {}, source=str(file))


def directory(
    at: Path,
    prompt: str,
    rows: list[dict[str, Any]],
    *,
    model: str = "echo",
    judged: bool = False,
    env: Mapping[str, str] | None = None,
    selection: Selection | None = None,
) -> Plan:
    """A prompt directory."""
    home = at / "prompts" / "greet"
    home.mkdir(parents=True, exist_ok=True)
    (home / "meta.yml").write_text(META.format(model=model), "utf-8")
    (home / "prompt.xml").write_text(prompt, "utf-8")
    check = {"type": "llm-rubric", "value": "is kind"} if judged else {"contains": "x"}
    cases = [{"name": f"case {i}", "inputs": row, "assert": [check]} for i, row in enumerate(rows)]
    (home / "eval.yml").write_text(json.dumps({"cases": cases}), "utf-8")
    found = prompts_at(home)
    assert found is not None
    return load_prompts(found[0], found[1], selection, env=env or {})


Door = Callable[..., Plan]
MODEL = "python:m.py"
DOORS: dict[str, Door] = {"promptfoo": folder, "eval sets": eval_set, "prompts": directory}
BY_DOOR = pytest.mark.parametrize("door", DOORS)


def outputs(plan: Plan, home: Path) -> list[Any]:
    """What `echo` answered: the prompts as they were sent."""
    from evenhand.engine import door
    from evenhand.engine.door import Settings
    from evenhand.store.runfile import RunFile

    finished = door.run(plan, Settings(home=home))
    with RunFile.open(finished.path) as run:
        return [trial.output for trial in run.trials()]


@BY_DOOR
def test_a_prompt_is_filled_in_alike(door: str, tmp_path: Path):
    """Nothing isn't text, booleans are JSON's, a part of an object is its value; lists are JSON, but promptfoo's."""
    row = {"x": None, "yes": True, "many": ["a", 1], "a": {"b": "part"}}
    plan = DOORS[door](tmp_path, "<p>[{{x}}|{{yes}}|{{many}}|{{a.b}}]</p>", [row])
    many = "a,1" if door == "promptfoo" else '["a",1]'
    (sent,) = outputs(plan, tmp_path)
    assert f"[|true|{many}|part]" in sent


@BY_DOOR
def test_a_judge_is_named_in_the_same_places(door: str, tmp_path: Path):
    """The project goes before EVENHAND_JUDGE."""
    (tmp_path / "m.py").write_text("def call_api(*_): return {'output': 'x'}", "utf-8")
    for variable, judge in (("echo", "echo"), (" claude-haiku-4-5 ", "anthropic:claude-haiku-4-5")):
        env = {"EVENHAND_JUDGE": variable, "ANTHROPIC_API_KEY": "k"}
        plan = DOORS[door](tmp_path, "Hi {{x}}", [{"x": "y"}], judged=True, env=env, model=MODEL)
        assert judge in [one.id for one in plan.providers]
    (tmp_path / "pyproject.toml").write_text("[tool.evenhand]\njudge = 'openai:of-the-project'\n")
    env = {"EVENHAND_JUDGE": "echo", "OPENAI_API_KEY": "k"}
    plan = DOORS[door](tmp_path, "Hi {{x}}", [{"x": "y"}], judged=True, env=env, model=MODEL)
    assert "openai:of-the-project" in [one.id for one in plan.providers]


@BY_DOOR
def test_nobody_judges_unless_somebody_is_named(door: str, tmp_path: Path):
    """The model that answers least of all. A promptfoo config goes by the first key that is set, as promptfoo does."""
    with pytest.raises(ConfigError, match=r"no model to judge|no judge is named"):
        DOORS[door](tmp_path, "Hi {{x}}", [{"x": "y"}], judged=True)
    keys = {"ANTHROPIC_API_KEY": "k"}
    if door == "promptfoo":
        plan = folder(tmp_path, "Hi {{x}}", [{"x": "y"}], judged=True, env=keys)
        assert "anthropic:messages:claude-sonnet-4-5" in [one.id for one in plan.providers]
    else:
        with pytest.raises(ConfigError):
            DOORS[door](tmp_path, "Hi {{x}}", [{"x": "y"}], judged=True, env=keys)


@BY_DOOR
def test_a_bare_name_of_a_model_finds_its_vendor(door: str, tmp_path: Path):
    """`gpt-5-mini` is OpenAI's."""
    plan = DOORS[door](
        tmp_path, "Hi {{x}}", [{"x": "y"}], model="gpt-5-mini", env={"OPENAI_API_KEY": "k"}
    )
    assert [one.id for one in plan.providers] == ["openai:gpt-5-mini"]


@BY_DOOR
def test_the_first_are_those_of_each_sheet(door: str, tmp_path: Path):
    """`--first 2` is two cases of each eval set, prompt or config."""
    rows = [{"x": str(i)} for i in range(5)]
    plan = DOORS[door](tmp_path, "Hi {{x}}", rows, selection=Selection(first=2))
    assert [sheet.case_count for sheet in plan.sheets] == [2]
    assert [sheet.size for sheet in plan.sheets] == [2]
    again = DOORS[door](
        tmp_path, "Hi {{x}}", rows, selection=Selection(range=(1, None), sample=2, seed=7)
    )
    drawn = [planned.case.vars["x"] for planned in again.trials()]
    assert len(drawn) == 2
    assert "0" not in drawn


def test_a_sample_draws_the_same_places_at_every_door(tmp_path: Path):
    """One seed, one sample."""
    rows = [{"x": str(i)} for i in range(40)]
    drawn = {
        name: [
            planned.case.vars["x"]
            for planned in door(
                tmp_path, "Hi {{x}}", rows, selection=Selection(sample=5, seed=3)
            ).trials()
        ]
        for name, door in DOORS.items()
    }
    assert drawn["promptfoo"] == drawn["eval sets"] == drawn["prompts"]


@BY_DOOR
def test_a_filter_looks_at_variables_at_every_door(door: str, tmp_path: Path):
    """`--filter` finds a text in a variable."""
    rows = [{"x": "apple"}, {"x": "pear"}, {"x": "grape"}]
    plan = DOORS[door](tmp_path, "Hi {{x}}", rows, selection=Selection(filter="^p|pp"))
    assert {planned.case.vars["x"] for planned in plan.trials()} == {"apple", "pear"}


def test_prompts_that_are_run_together_keep_to_their_own_pass_rates(tmp_path: Path):
    """As eval sets do: not the laxest, and not the strictest, for all."""
    for name, rate in (("one", 0.5), ("two", 0.9)):
        home = tmp_path / "prompts" / name
        home.mkdir(parents=True)
        (home / "meta.yml").write_text(META.format(model="echo").replace("greet", name), "utf-8")
        (home / "prompt.xml").write_text("<p>{{x}}</p>", "utf-8")
        cases = [{"name": "a", "inputs": {"x": "y"}, "assert": [{"contains": "y"}]}]
        said = {"defaults": {"pass_rate": rate}, "cases": cases}
        (home / "eval.yml").write_text(json.dumps(said), "utf-8")
    found = prompts_at(tmp_path / "prompts")
    assert found is not None
    prompts = load_prompts(*found, env={})
    sets = [EvalSet(name, pass_rate=rate) for name, rate in (("one", 0.5), ("two", 0.9))]
    for one in sets:

        @one.eval
        def holds(expect: Any) -> None:
            expect(True, "holds")

    for plan in (prompts, plan_of(sets, env={})):
        bounds = [(one.bound.at_least, one.variants) for one in plan.options.requirements]
        assert bounds == [(0.5, (0,)), (0.9, (1,))]
