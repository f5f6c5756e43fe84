"""Settings of the model that a prompt or a test brings along: sent, and minded when the reply is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.run import TrialResult
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script

SCHEMA = {"type": "object", "properties": {"why": {"type": "string"}, "answer": {"type": "string"}}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}
OBJECT = [{"type": "javascript", "value": "output.answer === 'a'"}]


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    """A model that answers in JSON."""
    with FakeProvider(Script([Rule((), '{"why":"w","answer":"a"}')])) as served:
        yield served


def ran(folder: Path, fake: FakeProvider, config: dict[str, Any]) -> list[TrialResult]:
    """What a config's trials come to."""
    whole = {
        "prompts": ["Say {{x}}"],
        "providers": ["openai:chat:gpt-4o-mini"],
        "tests": [{"vars": {"x": "1"}, "assert": OBJECT}],
        **config,
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(whole))
    plan = load(folder, Chosen(env=fake.env()))
    finished = door.run(plan, Settings(home=folder / "home", cache=False))
    with RunFile.open(finished.path) as run:
        return list(run.trials())


def test_a_response_format_of_a_prompt_makes_an_object_of_the_reply(tmp_path: Path, fake) -> None:
    """As one in the provider's config does."""
    prompts = [{"raw": "Say {{x}}", "config": {"response_format": FORMAT}}]
    (trial,) = ran(tmp_path, fake, {"prompts": prompts})
    assert (trial.outcome, trial.output) == ("pass", {"why": "w", "answer": "a"})
    assert fake.requests[0].schema == SCHEMA


def test_a_response_format_in_a_tests_options_is_sent_and_read(tmp_path: Path, fake) -> None:
    """For this test alone; in defaultTest, for all."""
    test = {"vars": {"x": "1"}, "assert": OBJECT}
    with_format = {**test, "options": {"response_format": FORMAT}}
    one, other = ran(tmp_path, fake, {"tests": [with_format, {**test, "vars": {"x": "2"}}]})
    assert (one.outcome, one.output) == ("pass", {"why": "w", "answer": "a"})
    assert (other.outcome, other.output) == ("fail", '{"why":"w","answer":"a"}')
    both = ran(tmp_path, fake, {"defaultTest": {"options": {"response_format": FORMAT}}})
    assert [trial.outcome for trial in both] == ["pass"]


def test_a_response_format_may_be_in_a_file(tmp_path: Path, fake) -> None:
    """Beside a prompt, and in a test's options."""
    (tmp_path / "format.json").write_text(json.dumps(FORMAT))
    settings = {"response_format": "file://format.json"}
    prompts = [{"raw": "Say {{x}}", "config": settings}]
    (trial,) = ran(tmp_path, fake, {"prompts": prompts})
    assert trial.outcome == "pass"
    (trial,) = ran(tmp_path, fake, {"defaultTest": {"options": settings}})
    assert trial.outcome == "pass"


def test_options_of_a_test_go_over_the_prompts_and_the_providers_settings(tmp_path: Path) -> None:
    """temperature, tools and all else that is no option of a test itself."""
    (tmp_path / "p.py").write_text(
        "def call_api(prompt, options, context):\n"
        "    c = options['config']\n"
        "    return f\"{c['temperature']} {c['n']} {c['m']}\"\n"
    )
    config = {
        "prompts": [{"raw": "x", "config": {"temperature": 2, "n": 2}}],
        "providers": [{"id": "file://p.py", "config": {"temperature": 1, "n": 1, "m": 1}}],
        "tests": [{"options": {"temperature": 3, "prefix": ""}}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    finished = door.run(
        load(tmp_path, Chosen(env={})), Settings(home=tmp_path / "home", cache=False)
    )
    with RunFile.open(finished.path) as run:
        assert [trial.output for trial in run.trials()] == ["3 2 1"]


def test_a_misspelt_option_is_sent_and_told(tmp_path: Path) -> None:
    """With the word that was probably meant."""
    config = {"prompts": ["x"], "providers": ["echo"], "tests": [{"options": {"prefx": "a"}}]}
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    hints = [str(hint) for hint in load(tmp_path, Chosen(env={})).hints]
    assert any("'prefx' is sent to the model" in hint and "'prefix'" in hint for hint in hints)
