"""Does the support agent give refunds to those who may have one, and to nobody else?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shop import add_tools, support_agent

from evenhand import Case, Conversation, EvalSet, Expect, Model, SimulatedUser, World
from evenhand import DatabaseWorld
from evenhand.scorers import Contains

evals = EvalSet(
    "shop support",
    data=[
        {
            "id": "late lamp",
            "input": "You want your money back for a lamp that is late.",
            "vars": {"order number": "1042", "refunded": True},
        },
        {
            "id": "unwanted rug",
            "input": "You don't like the rug that you got, and want your money back.",
            "vars": {"order number": "1043", "refunded": False},
        },
    ],
    model="openai:chat:gpt-5-mini",
)


@evals.fixture
def shop() -> Iterator[DatabaseWorld]:
    world = World.copy(of=Path(__file__).parent / "shop.sql")
    yield add_tools(world)
    world.close()


@evals.eval
async def refunds_what_is_late(
    case: Case, model: Model, shop: DatabaseWorld, expect: Expect
) -> None:
    user = SimulatedUser(
        case.input,
        facts={"order number": case.vars["order number"]},
        never_says=["I would also take a voucher"],
        model="openai:chat:gpt-5-nano",
    )
    talk = await Conversation(support_agent(model, shop), user, max_turns=6).run()

    refunds = shop.query("select order_id from refunds")
    wanted = [{"order_id": case.vars["order number"]}] if case.vars["refunded"] else []
    expect(refunds == wanted, "refunds what it should", refunds=refunds)
    expect(talk.ended == "user", "the customer is done")
    expect([call.name for call in shop.calls].count("find_order") >= 1, "looks the order up")
    if case.vars["refunded"]:
        expect(talk, Contains("5 days"))
