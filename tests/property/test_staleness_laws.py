"""A calibration holds until something changes that it is bound to, and then names that: 200 changes, and 50 others.

Each change has a number, which is printed with the seed if it fails.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.property.judged_projects import (
    JUDGES,
    METRIC,
    RULE,
    SCRIPT,
    SUBJECTS,
    PythonProject,
    YamlProject,
    calibrated,
    rate_of,
)

from evenhand.render.judged_rates import standing
from evenhand.testing import FakeProvider

SEED = 20_261_123
CHANGES, OTHERS = 200, 50

Random = random.Random
OfYaml = Callable[[Random, YamlProject], None]
OfPython = Callable[[Random, PythonProject], None]


def edited(rng: Random, text: str) -> str:
    """A text with one letter put in, left out or replaced. Never only white space: some of that is not sent."""
    places = [i for i, letter in enumerate(text) if letter.isalpha()]
    place, letter = rng.choice(places), rng.choice("bdfghjk")
    if letter == text[place]:
        letter = "z"
    return rng.choice(
        (
            text[:place] + letter + text[place:],
            text[:place] + text[place + 1 :],
            text[:place] + letter + text[place + 1 :],
        )
    )


def edit(rng: Random, holder: dict[str, Any], key: str) -> None:
    """Edits a text that a mapping holds."""
    holder[key] = edited(rng, holder[key])


def judge_of(project: YamlProject) -> dict[str, Any]:
    """The model that judges."""
    return project.config["defaultTest"]["options"]["provider"]


def subject_of(project: YamlProject) -> dict[str, Any]:
    """The model that answers."""
    return project.config["providers"][0]


def rubric_of(project: YamlProject) -> dict[str, Any]:
    """The judged assertion."""
    return project.config["defaultTest"]["assert"][0]


def setting(rng: Random, config: dict[str, Any]) -> None:
    """Changes a model's settings."""
    name, value = rng.choice(
        [
            ("temperature", rng.uniform(0.3, 1)),
            ("max_tokens", rng.randint(400, 900)),
            ("top_p", 0.5),
        ]
    )
    config[name] = value


def schema(rng: Random, config: dict[str, Any]) -> None:
    """Asks for the judge's answer by another schema."""
    keys = rng.sample(["reason", "pass", "score", "doubt"], 3)
    config["response_format"] = {
        "type": "json_schema",
        "json_schema": {
            "name": "verdict",
            "schema": {"type": "object", "properties": {key: {} for key in keys}},
        },
    }


def of_prompt(rng: Random, project: YamlProject) -> None:
    """Edits the instruction; the place of the question stays."""
    project.prompt = edited(rng, project.prompt.partition("{{")[0]) + "{{question}}\n"


def of_cases(rng: Random, project: YamlProject) -> None:
    """A case more, a case less, or other words in one."""
    place = rng.randrange(len(project.questions))
    rng.choice(
        [
            lambda: project.questions.append(f"What about new thing {rng.randint(100, 999)}?"),
            lambda: project.questions.pop(place),
            lambda: project.questions.__setitem__(place, f"Now, {project.questions[place]}"),
        ]
    )()


YAML: list[tuple[str, OfYaml]] = [
    ("judge model", lambda r, p: judge_of(p).update(id=f"openai:chat:{r.choice(JUDGES[1:])}")),
    ("judge prompt", lambda r, p: edit(r, rubric_of(p), "value")),
    (
        "judge prompt",
        lambda r, p: p.config["defaultTest"]["options"].update(
            rubricPrompt=edited(r, "Is this kind, by the rubric?") + "\n{{rubric}}\n---\n{{output}}"
        ),
    ),
    ("judge settings", lambda r, p: setting(r, judge_of(p)["config"])),
    ("judge settings", lambda r, p: schema(r, judge_of(p)["config"])),
    ("criteria", lambda r, p: rubric_of(p).update(threshold=r.uniform(0.1, 0.9))),
    ("system", of_prompt),
    ("system", lambda r, p: subject_of(p).update(id=f"openai:chat:{r.choice(SUBJECTS[1:])}")),
    ("system", lambda r, p: setting(r, subject_of(p)["config"])),
    ("data", of_cases),
]


def of_versions(key: str) -> OfPython:
    """The model answers under another name than it is asked by."""
    return lambda r, p: p.state["versions"].update({key: f"v-{r.randint(2, 99)}"})


PYTHON: list[tuple[str, OfPython]] = [
    ("judge model", of_versions("judge")),
    ("system", of_versions("subject")),
    ("system", lambda r, p: edit(r, p.state, "prompt")),
    ("judge prompt", lambda r, p: edit(r, p.state, "criteria")),
    ("judge prompt", lambda r, p: edit(r, p.state, "context")),
    ("judge prompt", lambda r, p: edit(r, p.state["examples"][0], "reasoning")),
    ("judge prompt", lambda _, p: p.state.update(strict=True)),
    ("data", lambda r, p: edit(r, r.choice(p.state["cases"]), "expected")),
    ("data", lambda r, p: p.state["cases"].pop(r.randrange(10)) and None),
    ("rule", lambda _, __: None),
]


def another_layout(rng: Random, project: YamlProject) -> None:
    """Other indentation and line lengths, or braces."""
    project.layout = {
        "sort_keys": False,
        "indent": rng.randint(2, 8),
        "width": rng.randint(20, 200),
        "default_flow_style": rng.choice([True, False]),
    }


def another_assertion(rng: Random, project: YamlProject) -> None:
    """One more, of code or of the same judge under a metric of its own; or another word in one that is there."""
    checks = project.config["defaultTest"]["assert"]
    rng.choice(
        [
            lambda: checks.append({"type": "not-contains", "value": f"x{rng.random()}"}),
            lambda: checks.append({"type": "llm-rubric", "value": "Is brief", "metric": "brevity"}),
            lambda: checks[1].update(value=f"answer {rng.random()}"),
            checks.reverse,
        ]
    )()


def shuffled(rng: Random, value: Any) -> Any:
    """The same with the keys of its mappings in another order."""
    if isinstance(value, dict):
        keys = rng.sample(list(value), len(value))
        return {key: shuffled(rng, value[key]) for key in keys}
    return [shuffled(rng, one) for one in value] if isinstance(value, list) else value


def set_config(project: YamlProject, config: dict[str, Any]) -> None:
    """Gives it another config."""
    project.config = config


OTHER_YAML: list[OfYaml] = [
    lambda r, p: setattr(p, "comments", Random(r.random())),
    another_layout,
    lambda r, p: set_config(p, shuffled(r, p.config)),
    lambda r, p: setattr(p, "prompt", p.prompt + "\n" * r.randint(1, 3)),
    lambda r, p: p.config.update(tests=f"file://renamed{r.randint(0, 99)}.csv"),
    lambda r, p: p.config["prompts"][0].update(id=f"file://prompts/new{r.randint(0, 99)}.txt"),
    lambda r, p: p.config["prompts"][0].update(label=f"answer {r.random()}"),
    lambda r, p: setattr(p, "name", f"config{r.randint(0, 99)}.yaml"),
    lambda r, p: p.config.update(description=f"kindness {r.random()}"),
    another_assertion,
    lambda r, p: p.config.update(evaluateOptions={"maxConcurrency": r.randint(1, 9)}),
    lambda _, p: p.config.update(evaluateOptions={"repeat": 2}),
]
OTHER_PYTHON: list[OfPython] = [
    lambda r, p: p.state["other cases"].append({"id": "s2", "input": f"What about {r.random()}?"}),
    lambda r, p: edit(r, p.state, "other prompt"),
    lambda r, p: edit(r, p.state, "other criteria"),
    lambda _, p: p.state.update({"other subject": "other"}),
    lambda _, p: p.state.update({"other judge": "other"}),
    lambda r, p: p.state["words"].append(f"w{r.randint(0, 99)}"),
    lambda r, p: r.shuffle(p.state["cases"]),
    lambda r, p: setattr(p, "code", f"# {r.random()}\n\n\n" + p.code),
    lambda r, p: setattr(p, "code", p.code + f"\n\nUNUSED = {r.random()}\n"),
    lambda _, p: setattr(p, "code", p.code.replace("Evals of a shop.", "What a shop answers.")),
]


@pytest.fixture(scope="module")
def provider() -> Iterator[None]:
    """A vendor on this machine."""
    with FakeProvider(SCRIPT) as fake, pytest.MonkeyPatch.context() as patch:
        for name, value in fake.env().items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def place(provider: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two projects whose judges are calibrated, with an answer in the cache for whatever was asked."""
    del provider
    place = tmp_path_factory.mktemp("calibrated")
    for name, project in (("yaml", YamlProject), ("python", PythonProject)):
        (place / name).mkdir()
        calibrated(project(place / name), place / "home")
    return place


def project_of(place: Path, number: int, kind: type[Any]) -> Any:
    """The project as it was calibrated, in a folder of its own."""
    name = "yaml" if kind is YamlProject else "python"
    shutil.copytree(place / name, place / f"{name}{number}")
    return kind(place / f"{name}{number}")


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("part", range(10))
def test_whatever_a_calibration_is_bound_to_makes_it_stale_and_is_named(place: Path, part: int):
    """Judge, prompt, settings, criteria, system, data, rule: 200 changes, each named in the line on the rate."""
    changes = [*YAML, *PYTHON]
    for number in range(part, CHANGES, 10):
        rng = Random(SEED + number)
        name, change = changes[number % len(changes)]
        kind = YamlProject if number % len(changes) < len(YAML) else PythonProject
        project = project_of(place, number, kind)
        change(rng, project)
        rate = rate_of(project, place / "home", RULE + "!" if name == "rule" else "")
        told = f"change {number} of seed {SEED}, of the {name}: {rate.status}, {rate.changed}"
        assert rate.corrected is None, told
        assert name in rate.changed, told
        assert (rate.status == "stale") is (name != "judge model"), told
        word = {"judge model": "another judge", "data": "other cases"}.get(name, name)
        assert word in standing(rate), told


@pytest.mark.parametrize("part", range(5))
def test_nothing_else_makes_a_calibration_stale(place: Path, part: int):
    """Comments, layout, names of files, other metrics and other evals: 50 changes, and the rate stays calibrated."""
    others = [*OTHER_YAML, *OTHER_PYTHON]
    for number in range(part, OTHERS, 5):
        rng = Random(SEED - 1 - number)
        which = number % len(others)
        kind = YamlProject if which < len(OTHER_YAML) else PythonProject
        project = project_of(place, -1 - number, kind)
        others[which](rng, project)
        rate = rate_of(project, place / "home")
        told = f"change {number} of seed {SEED}, kind {which}: {rate.status}, {rate.changed}"
        assert (rate.metric, rate.status, rate.changed) == (METRIC, "fresh", ()), told


def test_a_trial_in_error_makes_no_calibration_stale(place: Path):
    """The vendor refused one question: nothing has changed that the judge's numbers depend on."""
    project = project_of(place, CHANGES, PythonProject)
    project.state["down"] = "thing 03"
    rate = rate_of(project, place / "home", cache=False)
    assert (rate.items, rate.status, rate.changed) == (9, "fresh", ())
