"""What evals in Python take over from promptfoo's dialect, used as a file of one's own would."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from evenhand.core.errors import ConfigError, UsageError
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.doors.promptfoo.adapter import (
    Compare,
    PromptFile,
    Transform,
    Variables,
    lend,
    provider,
)
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.store.runfile import RunFile

EVALS = """
from evenhand import EvalSet
from evenhand.doors.promptfoo.adapter import (
    Asserts, PromptFile, Template, Transform, Variables, lend, provider, stored
)

lend(env={"PLACE": "here"}, filters={"shout": "shout.js"})
TRANSFORM = Transform("file://transform.py")
VARIABLES = Variables("({...vars, size: vars.word.length})", files=["text"], tagged=["both"])

evals = EvalSet(
    "adapted",
    data=[{"id": "a", "vars": {"word": "hi", "text": "file://text.txt", "both": "{{word}}!"}}],
    over={
        "model": [provider("echo", label="again")],
        "prompt": [
            Template("loud", "{{ word | shout }} {{ env.PLACE }} {{ both }} {{ text }}"),
            PromptFile("prompts.py:made").between("<{{word}}>", ""),
        ],
    },
)


@evals.eval
async def answers(case, prompt, model, expect):
    variables = await VARIABLES(case.vars, prompt)
    reply = await model.generate(await prompt.filled(variables))
    output = await TRANSFORM(reply.text)
    expect(output, Asserts({"type": "javascript", "value": "context.vars.size === 2"}))
    return output


@evals.eval
async def is_there(case, prompt, model, expect):
    reply = stored(await prompt.filled({**case.vars, "size": 0}), {"said": 1})
    expect(reply.output, Asserts({"type": "cost", "threshold": 0}, {"type": "is-json"}))
    return reply.output
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an eval set, and what it names."""
    for name, text in {
        "some_evals.py": EVALS,
        "shout.js": "module.exports = (text) => text.toUpperCase();",
        "text.txt": "from a file\n",
        "prompts.py": "def made(context): return f\"made of {context['vars']['size']}\"\n",
        "transform.py": (
            "def get_transform(output, context):\n"
            "    return f\"{output} | {context['prompt']['label']} {context['vars']['text']}\"\n"
        ),
    }.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


async def test_paths_start_from_the_file_and_the_trial_is_found(folder: Path):
    """Variables, prompts and transforms see what they would in a config."""
    evals = runpy.run_path(str(folder / "some_evals.py"))["evals"]
    finished = await door.settle(plan_of([evals], env={}), Settings(home=folder, cache=False))
    with RunFile.open(finished.path) as run:
        trials = list(run.trials())
    assert [trial.outcome for trial in trials] == ["pass"] * 4
    assert [trial.output for trial in trials] == [
        "HI here hi! from a file | loud from a file",
        "<hi>made of 2 | prompts.py:made from a file",
        {"said": 1},
        {"said": 1},
    ]


async def test_outside_of_a_trial_it_says_so(tmp_path: Path):
    """There is nothing that it could know of."""
    with pytest.raises(UsageError, match="Transform is used outside of a trial"):
        await Transform("output.trim()")("x")
    with pytest.raises(UsageError, match="Variables is used outside of a trial"):
        await Variables()({})


def test_what_is_wrong_is_said_when_it_is_made():
    """A file that is not there, code that is none, an assertion that compares nothing."""
    with pytest.raises(UsageError, match=r"Transform: .*nowhere\.py"):
        Transform("file://nowhere.py")
    with pytest.raises(ConfigError, match=r"nowhere\.py"):
        PromptFile("nowhere.py:made")
    with pytest.raises(ConfigError, match="'contains' does not compare outputs"):
        Compare({"type": "contains", "value": "x"})
    with pytest.raises(ConfigError, match=r"nowhere\.js"):
        lend(filters={"shout": "nowhere.js"})
    with pytest.raises(ConfigError, match="no-such"):
        provider("no-such:model")
