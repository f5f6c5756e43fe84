"""Which team should answer? Small, so that it is quickly read: what matters here is how it is asked."""

from evenhand import Case, EvalSet, Expect, Model
from evenhand.scorers import Equals, Passes

TICKETS = [
    {"id": "late", "input": "My parcel is a week late.", "expected": "delivery"},
    {"id": "twice", "input": "You charged me twice.", "expected": "billing"},
    {"id": "shoes", "input": "May I send the shoes back?", "expected": "returns"},
]

evals = EvalSet(
    "triage", data=TICKETS, model="openai:chat:gpt-5-mini", judge="anthropic:claude-haiku-4-5"
)


@evals.eval
async def names_the_team(case: Case, model: Model, expect: Expect) -> str:
    reply = await model.generate(f"Name the team for this ticket, in one word: {case.input}")
    expect(reply.text, Equals(case.expected))
    expect(reply.text, Passes("is one word"))
    return reply.text
