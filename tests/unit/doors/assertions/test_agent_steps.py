"""The scorers of steps under their names in YAML: what they take, and what is said of what they don't."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.core.step import Step
from evenhand.doors.assertions.agent_steps import KINDS
from evenhand.doors.assertions.assertion import Assertion
from evenhand.doors.assertions.kinds import kind_of

DONE = [Step("tool", "refund", {"id": 7}, status="ok", cost_usd=0.2)]


@pytest.mark.parametrize(
    ("type_", "keys", "said"),
    [
        ("calls", {"value": 7}, "Write a tool's name"),
        ("calls", {"value": {"tools": ["a"], "order": "sorted"}}, "'in_order'"),
        ("succeeds", {"value": {"nam": "a"}}, "Did you mean 'name'?"),
        ("never-loops", {"value": "often"}, "a whole number from 2 on"),
        ("recovers", {"value": {"by": "retry"}}, "['retry']"),
        ("count", {"value": {"kind": "toll", "max": 2}}, "Did you mean 'tool'?"),
        ("count", {"value": {"kind": "tool"}}, "{kind: tool, max: 5}"),
        ("cost", {}, "has no threshold"),
        ("passes", {"value": " "}, "Say what is wanted"),
    ],
)
def test_what_is_no_value_of_theirs(type_: str, keys: dict[str, Any], said: str):
    """It is said before anything runs."""
    wrong = kind_of(f"steps:{type_}").check(Assertion(type=f"steps:{type_}", **keys))
    assert said in str(wrong)


def test_values_with_tags_and_files_are_looked_at_later():
    """What they come to is not known before."""
    for kind in KINDS:
        assert kind.check(Assertion(type=kind.name, value="{{ tool }}", threshold=1.0)) == ()


def test_a_measure_is_1_or_0():
    """As the other bounds have it, so that a test's score stays between them."""
    kind = kind_of("steps:cost")
    for most, value in ((0.5, 1.0), (0.1, 0.0)):
        assertion = Assertion(type="steps:cost", threshold=most)
        scorer: Any = kind.make(assertion, None, None)
        score = scorer.score(DONE, None)
        assert (score.value, score.passed, score.metadata["measured"]) == (value, bool(value), 0.2)
