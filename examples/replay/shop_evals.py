"""What is expected of the agent's answers. `evenhand run . --replay shop.cassette` asks no model."""

from __future__ import annotations

from shop import answer

from evenhand import Case, EvalSet, Expect
from evenhand.scorers import Contains

evals = EvalSet(
    "shop",
    data=[
        {"id": "sent", "input": "Where is my order 1001?", "expected": "Monday"},
        {"id": "unpaid", "input": "Why doesn't 1002 arrive?", "expected": "payment"},
    ],
)


@evals.eval
def says_what_became_of_the_order(case: Case, expect: Expect) -> str:
    """The status of the order is in the answer."""
    text = answer(str(case.input))
    expect(text, Contains(str(case.expected)))
    return text
