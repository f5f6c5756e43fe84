"""`Avoids`: a judge goes by the rule and the examples that a person ratified, and by nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import ConfigError, ScoreError, UsageError
from evenhand.doors.assertions.assertion import Assertion
from evenhand.doors.assertions.kinds import kind_of
from evenhand.scorers import Avoids
from evenhand.testing import Scripted

FAILURES = Path(__file__).parents[2] / "contract" / "failures.yml"
FREE = '{"reasoning": "it names 30 days", "passes": true, "confidence": 0.9}'
HAS = '{"reasoning": "any time is late", "passes": false, "confidence": 0.9}'


async def test_an_output_that_has_the_kind_fails_with_the_judges_reason(judged: Any):
    """Which is asked about the rule and the examples of the file."""
    prompts: list[str] = []

    def answer(request: Any) -> str:
        prompts.append(str(request))
        return HAS

    outcome = await judged(Avoids("late", kinds=FAILURES), answer)
    assert (outcome.outcome, outcome.score, outcome.name) == ("fail", 0.0, 'avoids "late"')
    assert outcome.reason == "any time is late"
    assert "Allows a return after 30 days." in prompts[0]
    assert "Send it back any time." in prompts[0]
    assert (await judged(Avoids("late", kinds=FAILURES), FREE)).outcome == "pass"


async def test_a_judge_without_a_verdict_is_an_error(judged: Any):
    """And neither 0 nor 1."""
    outcome = await judged(Avoids("late", rule="Is late."), "I can't say", "no", "no", "no")
    assert (outcome.outcome, outcome.score) == ("error", None)


def test_a_kind_has_to_be_known_and_ratified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A rule in Python needs no file; a file that changes is read again."""
    assert str(Avoids("late", rule="Is late.")) == 'avoids "late"'
    with pytest.raises(UsageError, match="no kind of failure is called 'lat'") as error:
        Avoids("lat", kinds=FAILURES)
    assert error.value.hint == "Did you mean 'late'?"
    with pytest.raises(UsageError, match="nobody has ratified 'rude'"):
        Avoids("rude", kinds=FAILURES)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="there is no such file"):
        Avoids("late")
    file = tmp_path / "failures.yml"
    file.write_text("kinds: [{name: late, rule: Is late., ratified: {by: A, on: 2026-01-01}}]")
    Avoids("late")
    file.write_text("kinds: [{name: late, rule: Is late.}]")
    os.utime(file, (1, 1))
    with pytest.raises(UsageError, match="nobody has ratified 'late'"):
        Avoids("late")


def test_in_yaml_a_kind_is_named_and_its_file_is_beside_the_config(tmp_path: Path):
    """Or wherever the value says."""
    (tmp_path / "failures.yml").write_text(FAILURES.read_text())
    judge = Scripted([FREE])

    def made(value: Any) -> Any:
        assertion = Assertion(type="avoids", value=value, base=tmp_path, judge=judge)
        return kind_of("avoids").make(assertion, None, value)

    assert made("late").judge is judge
    assert made({"kind": "late", "kinds": "failures.yml", "context": "x"}).context == "x"
    for wrong in (3, "", {"kind": 3}, {"name": "late"}):
        with pytest.raises(ScoreError, match="the value of 'avoids' is"):
            made(wrong)
