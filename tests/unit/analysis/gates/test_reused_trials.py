"""Which trials of a baseline are taken, and why others are not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from evenhand import __version__
from evenhand.analysis.gates.baseline import (
    SCHEMA,
    Baseline,
    BaselineExpectation,
    BaselineHeader,
    BaselineTrial,
    BaselineVariant,
)
from evenhand.analysis.gates.reused_trials import (
    CHECKS,
    CODE,
    ERROR,
    EVALS,
    NEW,
    REQUEST,
    SEVERAL,
    UNASKED,
    FromBaseline,
)
from evenhand.core.case import Case
from evenhand.core.plan import PlannedTrial
from evenhand.core.variant import Variant

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


def planned(case: str = "case", repeat: int = 0) -> PlannedTrial:
    """The trial that is about to ask; its variant is called otherwise than in the baseline."""
    return PlannedTrial(
        index=7, case=Case(case), variant=Variant(3, "other", "m"), repeat=repeat, body=_body
    )


def test_a_trial_is_taken_where_request_and_checks_are_the_same():
    """In its own place, at no cost, with where it comes from."""
    broken = [BaselineExpectation("contains", "pass", 1.0)]
    taking = FromBaseline(baseline(expectations=broken, cost_usd=0.5))
    result = taking(planned(), "key", "checks", by_request_alone=True)
    assert result is not None
    assert (result.index, result.variant, result.case) == (7, 3, "case")
    assert (result.outcome, result.score, result.taken, result.cost_usd) == ("pass", 1, "RUN", 0)
    # It is no cheaper than in the baseline: a gate on `cost` compares what the calls cost.
    assert result.full_cost_usd == 0.5
    assert taking.notes(0) == []


@pytest.mark.parametrize(
    ("trial", "call", "why"),
    [
        ({}, {"planned": planned("new")}, NEW),
        ({}, {"planned": planned(repeat=1)}, NEW),
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
    asked = {
        "planned": planned(),
        "request": "key",
        "checks": "checks",
        "by_request_alone": True,
        **call,
    }
    assert taking(**asked) is None
    assert taking.reasons == {why: 1}
    assert taking.notes(1) == [f"not taken from the baseline: 1 trial ({why})"]
    assert f"2 trials ({UNASKED})" in taking.notes(3)[0]


def test_trials_of_eval_sets_always_run_and_the_note_says_so():
    """Whatever their own calls were looked up for: code decides them, and nobody can change that."""
    taking = FromBaseline(baseline())
    assert taking(planned(), "key", "", by_request_alone=True) is None
    assert taking.notes(20, of_evals=True) == [EVALS]
    assert taking.notes(0, of_evals=True) == []


def test_another_evenhand_or_script_takes_nothing():
    """Its scorers, or its replies, may be others."""
    for taking, why in (
        (FromBaseline(baseline(evenhand="0.0.1")), "by Evenhand 0.0.1"),
        (FromBaseline(baseline(script="abc"), "def"), "another script"),
        (FromBaseline(baseline(), "def"), "another script"),
    ):
        assert taking(planned(), "key", "checks", by_request_alone=True) is None
        assert why in taking.notes(1)[0]
    assert FromBaseline(baseline(script="abc"), "abc")(
        planned(), "key", "checks", by_request_alone=True
    )


def test_a_variant_takes_from_the_one_that_it_is_compared_with_and_from_no_other():
    """Another one's result would say that nothing has changed, though this one's prompt or model is another now."""
    own, other = Variant(3, "p", "m"), Variant(4, "q", "m")
    here = replace(planned(), variant=own)
    header = replace(
        baseline().header, variants=[BaselineVariant("v", "p", "m"), BaselineVariant("w", "q", "m")]
    )
    for variant, is_taken in (("v", True), ("w", False)):
        trial = BaselineTrial("case", variant, 0, outcome="pass", score=1.0, **KNOWN)
        taking = FromBaseline(Baseline(header, [trial]), variants=[own, other])
        assert (taking(here, "key", "checks", by_request_alone=True) is not None) is is_taken
        assert taking.notes(0) == [f"not taken from the baseline: 1 trial ({NEW})"] * (not is_taken)
