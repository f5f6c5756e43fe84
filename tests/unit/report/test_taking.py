"""Which trials of a baseline are taken, and why others are not."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand import __version__
from evenhand.core.case import Case
from evenhand.core.plan import Step
from evenhand.core.variant import Variant
from evenhand.report.baseline import (
    SCHEMA,
    Baseline,
    BaselineExpectation,
    BaselineHeader,
    BaselineTrial,
    BaselineVariant,
)
from evenhand.report.taking import CHECKS, CODE, ERROR, NEW, REQUEST, SEVERAL, FromBaseline

KNOWN: dict[str, Any] = {"subject": ["key"], "checks": "checks"}


def baseline(evenhand: str = __version__, script: str = "", **trial: Any) -> Baseline:
    """One with one trial."""
    bound = {"script": script} if script else {}
    header = BaselineHeader(
        SCHEMA, "t", "RUN", 0.0, evenhand, [BaselineVariant("v", "p", "m")], 1, 1, bound, ""
    )
    fields = {"outcome": "pass", "score": 1.0, **KNOWN, **trial}
    return Baseline(header, [BaselineTrial("case", "v", 0, **fields)])


async def _body(trial: object) -> None:
    del trial


def step(case: str = "case", repeat: int = 0) -> Step:
    """The trial that is about to ask; its variant is called otherwise than in the baseline."""
    return Step(7, Case(case), Variant(3, "other", "m"), repeat, _body)


def test_a_trial_is_taken_where_request_and_checks_are_the_same():
    """In its own place, at no cost, with where it comes from."""
    broken = [BaselineExpectation("contains", "pass", 1.0)]
    taking = FromBaseline(baseline(expectations=broken, cost_usd=0.5))
    result = taking(step(), "key", "checks", by_request_alone=True)
    assert result is not None
    assert (result.index, result.variant, result.case) == (7, 3, "case")
    assert (result.outcome, result.score, result.taken, result.cost_usd) == ("pass", 1, "RUN", 0)
    assert taking.notes(0) == []


@pytest.mark.parametrize(
    ("trial", "call", "why"),
    [
        ({}, {"step": step("new")}, NEW),
        ({}, {"step": step(repeat=1)}, NEW),
        ({}, {"request": "another"}, REQUEST),
        ({}, {"checks": "others"}, CHECKS),
        ({}, {"checks": ""}, CODE),
        ({"checks": ""}, {}, CHECKS),
        ({}, {"by_request_alone": False}, CODE),
        ({"subject": ["key", "more"]}, {}, SEVERAL),
        ({"subject": []}, {}, REQUEST),
        ({"outcome": "error", "score": None}, {}, ERROR),
        ({"expectations": [BaselineExpectation("x", "error")]}, {}, ERROR),
    ],
)
def test_all_others_are_run_and_counted_by_why(
    trial: dict[str, Any], call: dict[str, Any], why: str
):
    """Each with one reason."""
    taking = FromBaseline(baseline(**trial))
    asked = {"step": step(), "request": "key", "checks": "checks", "by_request_alone": True, **call}
    assert taking(**asked) is None
    assert taking.asked == {why: 1}
    assert taking.notes(1) == [f"not taken: 1 trial ({why})"]
    assert "without a request" in taking.notes(3)[0]


def test_another_evenhand_or_script_takes_nothing():
    """Its scorers, or its replies, may be others."""
    for taking, why in (
        (FromBaseline(baseline(evenhand="0.0.1")), "by Evenhand 0.0.1"),
        (FromBaseline(baseline(script="abc"), "def"), "another script"),
        (FromBaseline(baseline(), "def"), "another script"),
    ):
        assert taking(step(), "key", "checks", by_request_alone=True) is None
        assert why in taking.notes(1)[0]
    assert FromBaseline(baseline(script="abc"), "abc")(
        step(), "key", "checks", by_request_alone=True
    )
