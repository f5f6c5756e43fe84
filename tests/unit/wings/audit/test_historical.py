"""What earlier runs say of expectations."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.unit.wings.audit.audits import audit, case, check, config

from evenhand.core.score import State
from evenhand.wings.audit.case_audit import CaseAudit
from evenhand.wings.audit.earlier import Stored
from evenhand.wings.audit.historical import historical_findings

DAYS = check("contains", "30 days")


def cases(folder: Path, count: int, *asserts: dict[str, object]) -> Sequence[CaseAudit]:
    """Cases without a history."""
    tests = [case(f"How long, {n}?", *(asserts or (DAYS,))) for n in range(count)]
    return audit(config(folder, tests)).audits


def stored(run: str, state: State, text: str, names: Sequence[str]) -> Stored:
    """A trial of an earlier run in which all expectations came to the same."""
    return Stored(
        run=run,
        system=run,
        case="",
        output=text,
        state=state,
        expectations={f"{n} {name}": (state, "asks it") for n, name in enumerate(names)},
    )


def kinds(audits: Sequence[CaseAudit]) -> list[tuple[int, str]]:
    """The findings, each with the place of its case."""
    return [(one.case, one.kind) for one in historical_findings(audits)]


def test_an_expectation_that_never_differed_in_five_runs_says_nothing(tmp_path: Path):
    """Four are too few; five with the same output say nothing of the expectation; a guard may stay silent."""
    audits = cases(tmp_path, 4, DAYS, check("not-contains", "never"))
    names = ['contains "30 days"', 'not-contains "never"']
    for place, (count, texts) in enumerate([(5, 5), (4, 4), (5, 1)]):
        audits[place].stored = [
            stored(f"run {n}", "pass", f"text {n % texts}", names) for n in range(count)
        ]
    assert kinds(audits) == [], "where nothing differs, the systems may be alike"
    audits[3].stored = [
        stored(f"run {n}", state, f"text {n}", names) for n, state in enumerate(("pass", "fail"))
    ]
    assert kinds(audits) == [(0, "says_nothing")]
    audits[0].stored = [*audits[0].stored[:4], stored("run 5", "fail", "text 9", names)]
    assert kinds(audits) == []


def test_one_text_with_two_verdicts_is_flaky_unless_something_else_was_asked_then(tmp_path: Path):
    """What an expectation asked before it was changed doesn't count."""
    audits = cases(tmp_path, 1)
    newest = stored("run 2", "pass", "the text", ["a"])
    oldest = stored("run 1", "fail", "the text", ["a"])
    audits[0].stored = [newest, oldest]
    assert kinds(audits) == [(0, "flaky")]
    changed = Stored(
        run="run 1",
        system="run 1",
        case="",
        output="the text",
        state="fail",
        expectations={"0 a": ("fail", "asked something else")},
    )
    audits[0].stored = [newest, changed]
    assert kinds(audits) == []


def test_a_case_that_better_systems_fail_ranks_backwards_with_an_interval(tmp_path: Path):
    """Ten systems; the others are passed by the better ones."""
    audits = cases(tmp_path, 12)
    for place, one in enumerate(audits):
        one.stored = [
            stored(f"run {n}", "pass" if (n > place) is (place != 5) else "fail", f"{n}", ["a"])
            for n in range(12)
        ]
    (finding,) = (one for one in historical_findings(audits) if one.kind == "ranks_backwards")
    assert finding.case == 5
    assert finding.interval is not None
    assert -1 <= finding.interval[0] < finding.interval[1] < 0


@pytest.mark.thorough
def test_where_verdicts_are_chance_hardly_any_ranks_backwards(tmp_path: Path):
    """Of 300 cases at most a few, whatever the draw."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 (to draw the same again)
    draw = random.Random(seed)
    audits = cases(tmp_path, 300)
    for one in audits:
        one.stored = [
            stored(f"run {n}", "pass" if draw.random() < 0.6 else "fail", f"{n}", ["a"])
            for n in range(12)
        ]
    assert sum(kind == "ranks_backwards" for _, kind in kinds(audits)) <= 6
