"""What the calls of a trial come to, and what its own code's problems do to its verdict."""

from __future__ import annotations

import pytest

from evenhand.core.errors import CodeError
from evenhand.core.message import Reply
from evenhand.core.score import Verdict
from evenhand.engine.budget import Spending
from evenhand.engine.outcome import with_problems


def test_a_judges_reply_from_the_cache_costs_the_judges_nothing() -> None:
    """It is counted as a call, and its price was paid by an earlier run."""
    spending = Spending()
    spending.add(Reply(text="yes", output="yes", cost_usd=0.5, origin="cache"), "judge")
    assert spending.judged is not None
    assert (spending.judged.calls, spending.judged.cost_usd) == (1, 0.0)


@pytest.mark.parametrize("outcome", ["pass", "not_applicable"])
def test_a_trial_whose_own_code_failed_does_not_pass_and_is_not_left_out(outcome: str) -> None:
    """Its verdict is an error, also where nothing applied."""
    before = Verdict("pass" if outcome == "pass" else "not_applicable", None, "")
    verdict, outcomes = with_problems(before, (), [CodeError("it broke")])
    assert verdict.outcome == "error"
    assert [one.outcome for one in outcomes] == ["error"]
