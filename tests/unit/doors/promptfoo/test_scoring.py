"""assertScoringFunction: what it is given, what it may return, and what else counts as nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import ConfigError
from evenhand.core.run import TrialResult
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.render.promptfoo.row import graded
from evenhand.store.runfile import RunFile

PYTHON = """
import json

def get_score(named, context):
    return {"pass": True, "score": 7, "reason": json.dumps([named, context])}

def says(named, context):
    return SAYS

async def raises(named, context):
    raise KeyError("nothing")
"""
ASSERT = [
    {"type": "contains", "value": "a", "metric": "has a"},
    {"type": "contains", "value": "zz", "weight": 3},
]


def settled(folder: Path, scoring: str, says: Any = None, **test: Any) -> TrialResult:
    """The one trial of a test that is scored so."""
    (folder / "score.py").write_text(f"SAYS = {says!r}\n{PYTHON}")
    (folder / "score.js").write_text(
        "module.exports = (named, { threshold }) => ({pass: false, score: threshold, reason: 'js'});"
    )
    tests = [{"vars": {"t": "a b"}, "assert": ASSERT, **test, "assertScoringFunction": scoring}]
    config = {"prompts": ["{{t}}"], "providers": ["echo"], "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    finished = door.run(load(folder, Chosen(env={})), Settings(home=folder / "home"))
    with RunFile.open(finished.path) as run:
        return next(iter(run.trials()))


def test_a_function_is_given_the_named_scores_and_all_that_the_assertions_came_to(tmp_path: Path):
    """With the threshold, where there is one; its score is kept as it is."""
    trial = settled(tmp_path, "file://score.py", threshold=0.5)
    named, context = json.loads(trial.reason)
    assert named == {"has a": 1.0}
    assert context["threshold"] == 0.5
    assert [(p["pass"], p["score"]) for p in context["componentResults"]] == [(True, 1), (False, 0)]
    assert [p["assertion"] for p in context["componentResults"]] == ASSERT
    assert context["tokensUsed"]["total"] == 0
    assert (trial.outcome, trial.score, trial.named_scores) == ("pass", 7.0, {"has a": 1.0})
    assert trial.threshold == 0.5


def test_a_function_of_javascript_is_asked_as_well(tmp_path: Path):
    """The default export of its file."""
    trial = settled(tmp_path, "file://score.js", threshold=0.25)
    assert (trial.outcome, trial.score, trial.reason) == ("fail", 0.25, "js")


def test_named_scores_that_it_returns_take_the_place_of_the_others(tmp_path: Path):
    """All of them."""
    says = {"pass": True, "score": 1, "reason": "", "namedScores": {"own": 0.5}}
    assert settled(tmp_path, "file://score.py:says", says).named_scores == {"own": 0.5}


@pytest.mark.parametrize(
    "says",
    [None, True, 1.0, {}, {"pass": True, "score": 1}, {"pass": 1, "score": 1, "reason": ""},
     {"pass": True, "score": True, "reason": ""}, {"pass": True, "score": 1, "reason": None}],
)  # fmt: skip
def test_what_is_no_verdict_is_an_error_and_a_failed_test_in_promptfoos_results(
    tmp_path: Path, says: Any
):
    """Its outcomes and named scores are kept."""
    trial = settled(tmp_path, "file://score.py:says", says)
    assert (trial.outcome, trial.score) == ("error", None)
    assert len(trial.outcomes) == 2
    row = graded(trial)
    assert (row.passed, row.score, row.failure, row.named) == (False, 0.0, 1, {"has a": 1.0})


def test_a_function_that_raises_is_an_error_that_says_where(tmp_path: Path):
    """It may be async."""
    trial = settled(tmp_path, "file://score.py:raises")
    assert trial.outcome == "error"
    assert trial.error is not None
    assert "KeyError" in trial.error.message
    assert "score.py" in trial.error.message


def test_a_function_is_not_asked_where_an_assertion_is_in_error(tmp_path: Path):
    """Nobody knows what it would have said of the missing score."""
    broken = [*ASSERT, {"type": "python", "value": "1 / 0"}]
    trial = settled(tmp_path, "file://score.py", **{"assert": broken})
    assert (trial.outcome, trial.score) == ("error", None)
    assert "ZeroDivisionError" in trial.reason


def test_a_function_is_not_asked_where_nothing_is_asserted(tmp_path: Path):
    """As in promptfoo."""
    trial = settled(tmp_path, "file://score.py:raises", **{"assert": []})
    assert trial.outcome == "pass"


@pytest.mark.parametrize(
    ("scoring", "said"),
    [
        ("file://nowhere.py", "nowhere.py does not exist"),
        ("file://score.py:get_scores", "has no function 'get_scores'"),
        ("score.py", "not a file"),
        (5, "not a file"),
    ],
)
def test_what_is_wrong_with_a_function_is_said_before_anything_runs(
    tmp_path: Path, scoring: Any, said: str
):
    """With the place in the config."""
    with pytest.raises(ConfigError, match=said):
        settled(tmp_path, scoring)


def test_a_stored_answer_took_no_time_and_cost_nothing(tmp_path: Path):
    """Bounds on both hold; the prompt is shown all the same, and nobody is asked."""
    bounds = [{"type": "latency", "threshold": 1}, {"type": "cost", "threshold": 0}]
    config = {
        "prompts": ["Say {{t}}"],
        "providers": ["openai:chat:nobody"],
        "tests": [{"vars": {"t": "a"}, "providerOutput": {"b": 1}, "assert": bounds}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    finished = door.run(load(tmp_path, Chosen(env={})), Settings(home=tmp_path / "home"))
    with RunFile.open(finished.path) as run:
        (trial,) = run.trials()
    assert [outcome.outcome for outcome in trial.outcomes] == ["pass", "pass"]
    assert (trial.output, trial.prompt, trial.calls) == ({"b": 1}, "Say a", 0)
