"""Two small projects with a judge, one of YAML and one of Python, to be run, labelled and changed in many ways."""

from __future__ import annotations

import csv
import json
import os
import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import yaml

from evenhand.analysis.trust.calibrated import JudgedRate, judged_rates
from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.calibration_file import place_of, write_calibration
from evenhand.analysis.trust.labels.drawing import draw, drawn_items
from evenhand.core.plan import Plan
from evenhand.doors.eval_sets.discovery import find
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.doors.promptfoo.load import load
from evenhand.engine.door import Settings, run
from evenhand.store.labels.stored_draws import add_metric_labels, set_rule
from evenhand.store.runfile import RunFile
from evenhand.testing import Rule, Script

METRIC = "kindness"
RULE = "Passes if nobody would be hurt."
SUBJECTS = ("gpt-4.1-mini", "gpt-4o-mini", "gpt-4.1-nano")
JUDGES = ("gpt-4.1", "gpt-4o", "gpt-5")
QUESTIONS = [f"What about thing {i:02d}?" for i in range(10)]


def verdict(passes: bool) -> str:
    """What a judge answers."""
    return json.dumps({"reason": "so", "pass": passes, "score": float(passes)})


SCRIPT = Script(
    [
        *(Rule((r"thing \d[789]",), verdict(False), model=judge) for judge in JUDGES),
        *(Rule(reply=verdict(True), model=judge) for judge in JUDGES),
        Rule(reply=lambda text: f"An answer on {text.rpartition('What about ')[2].rstrip('?')}"),
    ]
)
"""What the vendor answers: every judge is strict with things that end in 7, 8 or 9."""


class Project(Protocol):
    """A project on disk."""

    def plan(self) -> Plan:
        """Writes it, and reads it as a user's command does."""
        ...


def folder() -> dict[str, Any]:
    """A promptfoo config as values."""
    return {
        "description": "kindness",
        "prompts": [{"id": "file://prompts/answer.txt", "label": "answer"}],
        "providers": [
            {"id": f"openai:chat:{SUBJECTS[0]}", "config": {"temperature": 0.2, "max_tokens": 200}}
        ],
        "defaultTest": {
            "options": {
                "provider": {
                    "id": f"openai:chat:{JUDGES[0]}",
                    "config": {"temperature": 0, "max_tokens": 300},
                },
                "rubricPrompt": "Is this kind, by the rubric?\n{{rubric}}\n---\n{{output}}",
            },
            "assert": [
                {"type": "llm-rubric", "value": "Is kind to the customer", "metric": METRIC},
                {"type": "contains", "value": "answer", "metric": "words"},
            ],
        },
        "tests": "file://cases.csv",
    }


@dataclass(slots=True)
class YamlProject:
    """A promptfoo folder.

    Attributes:
        place: Where.
        config: The config.
        name: The config's file.
        prompt: The prompt's text.
        questions: One for each case.
        comments: Lines to write between those of the config.
        layout: How the YAML is written.
    """

    place: Path
    config: dict[str, Any] = field(default_factory=folder)
    name: str = "promptfooconfig.yaml"
    prompt: str = "You answer the customers of a shop.\n{{question}}\n"
    questions: list[str] = field(default_factory=lambda: list(QUESTIONS))
    comments: random.Random | None = None
    layout: dict[str, Any] = field(default_factory=lambda: {"sort_keys": False})

    def plan(self) -> Plan:
        """Writes the folder, and reads it."""
        prompt = self.place / str(self.config["prompts"][0]["id"]).removeprefix("file://")
        prompt.parent.mkdir(exist_ok=True)
        prompt.write_text(self.prompt, "utf-8")
        table = self.place / str(self.config["tests"]).removeprefix("file://")
        with table.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["question"], *([one] for one in self.questions)])
        lines = yaml.safe_dump(self.config, **self.layout).splitlines()
        if self.comments is not None:
            lines = [self._with_comment(line) for line in lines]
        path = self.place / self.name
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return load(path)

    def _with_comment(self, line: str) -> str:
        """A comment above a line that begins with a key; other lines may be the middle of a text."""
        assert self.comments is not None
        dice = self.comments.random()
        return f"# {dice}\n{line}" if dice < 0.6 and re.match(r"[ -]*[a-zA-Z]+:", line) else line


EVALS = '''
"""Evals of a shop."""
import json
from dataclasses import replace
from pathlib import Path

from evenhand import Case, Dataset, EvalSet, Expect
from evenhand.core.errors import BadRequest
from evenhand.scorers import Contains, Passes
from evenhand.testing import Scripted

state = json.loads((Path(__file__).parent / "state.json").read_text())


class Versioned(Scripted):
    """Answers under the name of a version."""

    def reply(self, body):
        return replace(super().reply(body), model=state["versions"][self.id])


def answers(prompt):
    if state["down"] and state["down"] in prompt.text:
        return BadRequest("down")
    return "An answer on " + prompt.text.rpartition("What about ")[2]


def judges(prompt):
    kind = not any(f"{digit}?" in prompt.text for digit in "789")
    return json.dumps({"reasoning": "so", "passes": kind, "confidence": 0.9})


evals = EvalSet(
    "shop",
    data=Dataset.of(*state["cases"]),
    model=Versioned(answers, id="subject"),
    judge=Versioned(judges, id="judge"),
)
others = EvalSet(
    "stock",
    data=Dataset.of(*state["other cases"]),
    model=Versioned(answers, id=state["other subject"]),
    judge=Versioned(judges, id=state["other judge"]),
)


@evals.eval
async def is_kind(case: Case, expect: Expect, model) -> None:
    reply = await model.generate(state["prompt"] + case.input)
    more = {name: state[name] for name in ("examples", "context", "strict")}
    expect(reply, Passes(state["criteria"], **more), label="kindness")
    for word in state["words"]:
        expect(reply, Contains(word))


@others.eval
async def is_short(case: Case, expect: Expect, model) -> None:
    reply = await model.generate(state["other prompt"] + case.input)
    expect(reply, Passes(state["other criteria"]), label="shortness")
'''


def state() -> dict[str, Any]:
    """What the Python project consists of."""
    return {
        "cases": [
            {"id": f"c{i}", "input": one, "expected": "yes"} for i, one in enumerate(QUESTIONS)
        ],
        "versions": {"subject": "m-1", "judge": "j-1", "other": "o-1"},
        "prompt": "Answer briefly. ",
        "criteria": "is kind",
        "examples": [{"output": "Go away.", "passes": False, "reasoning": "Rude."}],
        "context": "A shop for shoes.",
        "strict": False,
        "words": ["answer"],
        "down": "",
        "other cases": [{"id": "s1", "input": "What about stock?"}],
        "other subject": "subject",
        "other judge": "judge",
        "other prompt": "Say it. ",
        "other criteria": "is short",
    }


@dataclass(slots=True)
class PythonProject:
    """A folder with eval sets.

    Attributes:
        place: Where.
        state: What the evals read.
        code: The evals.
    """

    place: Path
    state: dict[str, Any] = field(default_factory=state)
    code: str = EVALS

    def plan(self) -> Plan:
        """Writes the files, and imports them."""
        evals = self.place / "evals"
        evals.mkdir(exist_ok=True)
        (evals / "state.json").write_text(json.dumps(self.state), "utf-8")
        file = evals / "shop_evals.py"
        file.write_text(self.code, "utf-8")
        found = find([str(file)])
        return plan_of(found.sets, env=os.environ, source=str(self.place), title="shop")


def calibrated(project: Project, home: Path) -> Path:
    """Runs a project, labels every output, and calibrates its judge: the run's file."""
    finished = run(project.plan(), Settings(home=home, free=True))
    with RunFile.open(finished.path) as made:
        items = list(drawn_items(made, [draw(made, 10, 1, [METRIC])]))
        labels = [(item.trial.index, METRIC, _people(str(item.trial.output))) for item in items]
        add_metric_labels(made.path, "ann", labels)  # type: ignore[arg-type]
        set_rule(made.path, METRIC, RULE)
    with RunFile.open(finished.path) as labelled:
        write_calibration(calibrate(labelled), place_of(labelled.meta))
    return finished.path


def _people(output: str) -> str:
    return "fail" if any(digit in output for digit in "6789") else "pass"


def rate_of(project: Project, home: Path, rule: str = "", **settings: Any) -> JudgedRate:
    """Runs it again, and says what its judged metric comes to by the calibration."""
    finished = run(project.plan(), Settings(home=home, free=True, **settings))
    if rule:
        set_rule(finished.path, METRIC, rule)
    with RunFile.open(finished.path) as again:
        (rate,) = [rate for rate in judged_rates(again) if rate.metric == METRIC][:1]
        return rate
