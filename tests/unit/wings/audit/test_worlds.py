"""Agents that act wrongly: which cases let them through."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.wings.audit.audits import audit, evals, findings, subjects

from evenhand.wings.audit.given import sample
from evenhand.wings.audit.worlds import changes

CODE = """
from evenhand import Case, EvalSet, Expect, Model
from evenhand.core.message import Prompt
from evenhand.scorers import CallsTools, Contains, LeavesState, NeverFails, NeverSucceeds, Succeeds

evals = EvalSet("shop", data=[Case("late", input="Refund order 1042.")], model="openai:gpt-5-mini")
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {
        "type": "object", "properties": {"id": {"type": "integer"}}}}}
    for name in ("find_order", "refund", "cancel")
]


@evals.eval
async def acts(case: Case, model: Model, expect: Expect) -> str:
    world = {"1042": "late", "1": "sent"}
    reply = await model.generate(Prompt.of(case.input, tools=TOOLS))
    for call in reply.tool_calls:
        with expect.step(call.name, dict(call.arguments)) as step:
            order = str(call.arguments["id"])
            if call.name != "find_order":
                world[order] = call.name + "ed"
            step.result = world[order]
    if reply.tool_calls:
        reply = await model.generate("What did you do?")
    EXPECTED
    return reply.text
"""


@pytest.mark.parametrize(
    ("expected", "passing"),
    [
        ("expect(reply.text, NeverFails())", {"idle", "busy", "claims"}),
        ("expect(reply.text, Contains('refunded'))", {"busy", "claims"}),
        ("expect(reply.text, CallsTools(['refund'], 'subset'))", {"busy", "undoes"}),
        ("expect(reply.text, Succeeds('refund', {'id': 1042}))", {"busy", "undoes"}),
        ("expect(world, LeavesState({'1042': 'refunded', '1': 'sent'}))", set()),
        ("expect(reply.text, NeverSucceeds('refund')); expect(world, LeavesState({'1042': 'late'}))", set()),
    ],
)  # fmt: skip
def test_agents_that_act_wrongly_get_through_where_their_world_is_not_looked_at(
    tmp_path: Path, expected: str, passing: set[str]
):
    """The more of the world a case looks at, the fewer of them pass."""
    report = audit(evals(tmp_path, CODE.replace("EXPECTED", expected)))
    agents = {"idle", "busy", "claims", "undoes"}
    assert {kind for _, _, kind in findings(report)} & agents == passing


def test_where_nothing_is_to_be_done_whoever_does_nothing_is_right(tmp_path: Path):
    """Only the agent that does everything must fail there."""
    expected = "expect(reply.text, NeverSucceeds('refund'))"
    report = audit(evals(tmp_path, CODE.replace("EXPECTED", expected)))
    assert subjects(report) == {"busy": "fail"}


@pytest.mark.parametrize(
    ("tool", "does"),
    [
        *(("refund", True), ("cancelOrder", True), ("update-address", True), ("send_mail", True)),
        *(("find_order", False), ("listOrders", False), ("weather", False), ("get_refund", False)),
    ],
)
def test_a_tool_that_changes_its_world_is_known_by_its_name(tool: str, does: bool):
    """What only looks may be called by anybody."""
    assert changes(tool) is does


def test_a_made_argument_fits_its_schema():
    """Defaults and choices come first."""
    schema = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "why": {"enum": ["late", "lost"]},
            "note": {"type": "string", "default": "none"},
            "at": {"type": "object", "properties": {"street": {"type": "string"}}},
        },
    }
    assert sample(schema) == {"id": 1, "why": "late", "note": "none", "at": {"street": "x"}}
