"""Questions about steps: what failed and recovered, what was forbidden, what went round in circles."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.score import Score
from evenhand.core.step import Step
from evenhand.scorers import (
    CallsTool,
    CallsTools,
    NeverFails,
    NeverLoops,
    NeverRepeats,
    NeverSucceeds,
    OnlyCalls,
    Recovers,
    StepCost,
    StepCount,
    StepDuration,
    Succeeds,
    TokenCount,
)


def call(name: str, status: Any = "ok", result: Any = None, **arguments: Any) -> Step:
    """A tool's call."""
    return Step("tool", name, arguments, result, status)


class OneTrial:
    """A trial, as far as scorers of steps look at it."""

    def __init__(self, *steps: Step) -> None:
        self.steps = steps


MODEL = Step("model", "gpt", status="ok")
SHOP = [MODEL, call("find", id=7), call("refund", "error", id=7), MODEL, call("refund", id=7)]


def asked(scorer: Any, *steps: Step) -> Score:
    """What a scorer says of a trial with these steps."""
    return scorer.score("Done.", OneTrial(*steps))


def said(scorer: Any, *steps: Step) -> tuple[bool | None, list[int]]:
    """Its verdict, and the steps that it names."""
    score = asked(scorer, *steps)
    return score.passed, score.metadata.get("steps", [])


def test_a_call_succeeded_or_was_only_tried():
    """A forbidden one that failed is no offence; the steps that decide are named."""
    assert said(Succeeds("refund", {"id": 7}), *SHOP) == (True, [4])
    assert said(Succeeds("refund"), *SHOP[:3]) == (False, [2])
    assert said(NeverSucceeds("refund"), *SHOP[:3]) == (True, [2])
    assert said(NeverSucceeds("refund"), *SHOP) == (False, [4])
    assert said(NeverSucceeds("refund", {"id": 8}), *SHOP) == (True, [])
    assert said(NeverSucceeds("delete"), *SHOP) == (True, [])
    assert said(~NeverSucceeds("refund"), *SHOP) == (True, [4])
    assert asked(Succeeds("delete"), *SHOP).reason == "delete was not called"


def test_what_nobody_knows_the_end_of_is_no_verdict():
    """Unless another call decides, or a function says how to tell."""
    unknown = call("refund", "unknown", "error: gone", id=7)
    for scorer in (Succeeds("refund"), NeverSucceeds("refund"), NeverFails(), Recovers()):
        with pytest.raises(ScoreError, match=r"it is unknown whether step 1, refund, succeeded"):
            asked(scorer, unknown)

    def by_text(step: Step) -> bool:
        return "error" in str(step.result)

    assert said(NeverSucceeds("refund", failed=by_text), unknown) == (True, [0])
    assert said(Succeeds("refund"), unknown, call("refund", id=7)) == (True, [1])
    assert said(NeverFails("find"), unknown, call("find")) == (True, [])


def test_arguments_that_are_not_known_decide_nothing():
    """Neither that it was called so, nor that it was not."""
    unread = Step("tool", "refund", None, status="ok")
    with pytest.raises(ScoreError):
        asked(NeverSucceeds("refund", {"id": 7}), unread)
    with pytest.raises(ScoreError):
        asked(OnlyCalls([CallsTool("refund", {"id": 7})]), unread)
    assert said(NeverSucceeds("refund"), unread) == (False, [0])


def test_no_step_fails():
    """Of any kind, or of one tool."""
    broken = Step("model", "gpt", status="error", error="cut off")
    assert said(NeverFails(), *SHOP) == (False, [2])
    assert said(NeverFails("find"), *SHOP) == (True, [])
    score = asked(NeverFails(), broken)
    assert (score.passed, score.reason) == (False, 'step 1 model "gpt": "cut off" failed')


def test_an_agent_recovers_by_the_same_tool_or_by_another():
    """Where nothing failed there is nothing to recover from."""
    assert said(Recovers(), *SHOP) == (True, [2])
    assert said(Recovers("refund"), *SHOP[:4]) == (False, [2])
    assert said(Recovers("find"), *SHOP) == (None, [])
    assert asked(Recovers(), call("find")).value is None
    handed = [call("refund", "error"), call("transfer")]
    assert said(Recovers("refund", by=["transfer"]), *handed) == (True, [0])
    assert said(Recovers("refund"), *handed) == (False, [0])
    twice = [call("refund", "error"), call("refund"), call("refund", "error")]
    assert said(Recovers(), *twice) == (False, [2])


def test_a_call_that_nobody_knows_the_end_of_needs_to_be_recovered_too():
    """Beside one that was made up for, too; a failure that nothing made up for decides all the same."""
    made_up = [call("find", "error"), call("find")]
    open_ = call("refund", "unknown")
    with pytest.raises(ScoreError, match=r"it is unknown whether step 3, refund, succeeded"):
        asked(Recovers(), *made_up, open_)
    assert said(Recovers("find"), *made_up, open_) == (True, [0])
    assert said(Recovers(), *made_up, open_, call("refund")) == (True, [0])
    assert said(Recovers(), open_, call("find", "error")) == (False, [1])
    with pytest.raises(ScoreError, match=r"whether step 2, find, succeeded"):
        asked(Recovers(), call("find", "error"), call("find", "unknown"))


def test_calls_that_may_be_second_attempts_or_may_have_other_arguments_are_no_verdict():
    """Nobody knows whether the first one failed, or what the calls were given."""
    first, silent = call("find", "unknown", a=1), Step("tool", "find", None, status="ok")
    with pytest.raises(ScoreError, match=r"it is unknown whether step 1, find, succeeded"):
        asked(NeverRepeats(), first, call("find", a=1))
    assert said(NeverRepeats(), first, call("find", a=1), call("find", a=1)) == (False, [1, 2])
    assert said(NeverRepeats(), first, call("find", a=2)) == (True, [])
    assert said(NeverRepeats(), call("find", "error", a=1), first) == (True, [])
    for steps in ([silent, silent], [silent, call("find", a=1)]):
        with pytest.raises(ScoreError, match="the arguments of find are not known"):
            asked(NeverRepeats(), *steps)
        with pytest.raises(ScoreError, match="the arguments of find are not known"):
            asked(NeverLoops(2), *steps)
    assert said(NeverRepeats(), silent, call("other")) == (True, [])
    assert said(NeverRepeats(), silent, *[call("find", a=1)] * 2) == (False, [1, 2])
    assert said(NeverLoops(2), silent, *[call("find", a=1)] * 2) == (False, [1, 2])


def test_the_same_call_twice_is_told_from_a_second_attempt():
    """Other arguments are another call, in whatever order they stand."""
    assert said(NeverRepeats(), *SHOP) == (True, [])
    again = [call("find", a=1, b=2), MODEL, call("find", b=2, a=1), call("find", a=1)]
    assert said(NeverRepeats(), *again) == (False, [0, 2])
    assert said(NeverRepeats("other"), *again) == (True, [])


@pytest.mark.parametrize(
    ("names", "loop"),
    [
        ("aaa", [0, 1, 2]),
        ("aab", None),
        ("xababab", [1, 2, 3, 4, 5, 6]),
        ("ababa", None),
        ("aabaabaab", [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ("", None),
    ],
)
def test_cycles_of_calls_are_found(names: str, loop: list[int] | None):
    """Three times in direct succession, whatever stands between the calls."""
    steps = [call(name) for name in names] or [MODEL]
    score = asked(NeverLoops(), *steps)
    assert score.passed is (loop is None)
    if loop:
        assert score.reason.endswith(f" 3 times, from step {loop[0] + 1} to step {loop[-1] + 1}")
    assert score.metadata.get("steps") == loop
    if loop is None:
        assert asked(NeverLoops(), *(step for one in steps for step in (MODEL, one))).passed


def test_tools_beside_those_that_are_allowed_are_named():
    """None has to be called."""
    assert said(OnlyCalls(["find", CallsTool("refund", {"id": 7})]), *SHOP) == (True, [])
    assert said(OnlyCalls(["find", CallsTool("refund", {"id": 8})]), *SHOP) == (False, [2, 4])
    assert said(OnlyCalls([]), MODEL) == (True, [])


def test_calls_of_tools_are_looked_for_in_all_turns():
    """Of a text, the trial's steps count; of a reply, its own calls, as ever."""
    assert asked(CallsTool("refund", {"id": 7}), *SHOP).passed
    assert asked(~CallsTool("delete"), *SHOP).passed
    assert asked(CallsTools(["find", "refund"], "in_order"), *SHOP).passed
    assert not asked(CallsTools(["refund", "find"], "in_order"), *SHOP).passed
    assert asked(CallsTools(["find", "refund", "refund"], "exact"), *SHOP).passed
    reply = {"tool_calls": [{"name": "find", "arguments": {}}]}
    trial: Any = OneTrial(*SHOP)
    assert not CallsTool("refund").score(reply, trial).passed
    assert not CallsTool("refund").score({"tool_calls": [], "steps": []}, trial).passed
    assert CallsTool("refund").score(SHOP).passed
    with pytest.raises(ScoreError, match="lists no tool calls"):
        asked(CallsTool("refund"))


def test_an_output_with_steps_goes_before_the_trial_and_its_places_are_the_trials():
    """Rows of a document are steps, too; of others' steps, no places are kept."""
    trial: Any = OneTrial(*SHOP)
    assert Succeeds("refund").score(SHOP[3:], trial).metadata == {"steps": [4]}
    assert NeverFails().score({"steps": [call("x", "error")]}, trial).metadata == {}
    rows = [{"kind": "tool", "name": "find", "arguments": {}, "status": "ok", "more": 1}]
    assert Succeeds("find").score(rows).passed
    assert not Succeeds("find").score([]).passed
    with pytest.raises(ScoreError, match="there are no steps"):
        asked(NeverFails())


def test_what_an_agent_took_is_measured():
    """Of a step that says what steps within it say too, only theirs count."""
    steps = [
        Step("agent", "a", tokens_in=9, tokens_out=9, cost_usd=1.0, started_s=0.0, duration_s=3.5),
        Step("model", "m", tokens_in=2, tokens_out=3, cost_usd=0.25, parent=0, started_s=1.0),
        Step("tool", "find", parent=0, cost_usd=0.5, started_s=2.0, duration_s=2.0),
    ]
    assert asked(StepCount(), *steps).value == 3
    assert asked(StepCount("tool", "find"), *steps).metadata == {"steps": [2]}
    assert asked(StepCount("tool", "m"), *steps).value == 0
    assert asked(TokenCount(), *steps).value == 5
    assert asked(StepCost(), *steps).value == 0.75
    assert asked(StepDuration(), *steps).value == 4.0
    # Seconds, dollars and counts are in no overall number, and less of them is better.
    for one in (StepCount(), TokenCount(), StepCost(), StepDuration()):
        assert (one.traits.counted, one.traits.lower_is_better) == (False, True)
    priced = Step("agent", "a", cost_usd=1.0)
    silent = [Step("model", name, parent=0) for name in ("m", "n")]
    assert asked(StepCost(), priced, *silent).value == 1.0
    with pytest.raises(ScoreError, match=r"nobody says what m cost$"):
        asked(StepCost(), Step("model", "m"))
    with pytest.raises(ScoreError, match=r"nobody says what m cost and 1 more$"):
        asked(StepCost(), Step("agent", "a"), *silent)
    open_ = Step("tool", "slow", started_s=4.0)
    with pytest.raises(ScoreError, match="nobody says when the last step, slow, ended"):
        asked(StepDuration(), *steps, open_)
    said_after = Step("message", "assistant", started_s=4.5)
    assert asked(StepDuration(), *steps, open_, said_after).value == 4.5
    for scorer in (TokenCount(), StepCost(), StepDuration()):
        with pytest.raises(ScoreError):
            asked(scorer, MODEL)


def test_a_mistake_is_told_where_it_is_written():
    """Each with what to write instead."""
    for make in (
        lambda: Succeeds(" "),
        lambda: NeverFails(failed="no"),  # type: ignore[arg-type]
        lambda: Recovers(by="one"),
        lambda: NeverLoops(1),
        lambda: OnlyCalls("one"),
        lambda: StepCount("tol"),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError):
            make()
    assert str(~Succeeds("refund", {"id": 7})) == 'refund with {"id":7} never succeeds'
    assert pickle.loads(pickle.dumps(Recovers("a", by=["b"]))) == Recovers("a", by=["b"])
