"""A shop's support agent: a model that may call five tools."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from evenhand import Message, Model
from evenhand import DatabaseWorld
from evenhand.core.message import ModelInput

RULES = """\
You are the support agent of a shop. Late orders are refunded in full if the customer asks for it. Delivered orders are
not. To use a tool, answer with one line and nothing else: CALL <tool> <arguments as JSON>.
Tools: find_order {"order"}, list_orders {"customer"}, refund {"order"}, cancel_order {"order"}, send_note {"text"}.
"""
CALL = re.compile(r"^CALL (\w+) (\{.*\})\s*$", re.DOTALL)
MOST_CALLS = 5


def add_tools(shop: DatabaseWorld) -> DatabaseWorld:
    """Gives the shop's tools to an agent."""

    @shop.tool
    def find_order(order: str) -> dict[str, Any]:
        found = shop.query("select * from orders where id = ?", order)
        if not found:
            raise LookupError(f"there is no order {order}")
        return found[0]

    @shop.tool
    def list_orders(customer: str) -> list[dict[str, Any]]:
        return shop.query("select id, item, state from orders where customer = ?", customer)

    @shop.tool
    def refund(order: str) -> dict[str, Any]:
        usd = find_order(order)["usd"]
        shop.execute("insert into refunds values (?, ?)", order, usd)
        shop.execute("update orders set state = 'refunded' where id = ?", order)
        return {"order": order, "usd": usd, "days": 5}

    @shop.tool
    def cancel_order(order: str) -> dict[str, Any]:
        shop.execute("update orders set state = 'cancelled' where id = ?", order)
        return {"order": order, "state": "cancelled"}

    @shop.tool
    def send_note(text: str) -> str:
        return f"noted: {text}"

    return shop


def support_agent(model: Model, shop: DatabaseWorld) -> Callable[..., Any]:
    """An agent that answers a conversation, calling tools on the way."""

    async def answer(messages: Sequence[dict[str, str]]) -> str:
        asked = [Message("system", RULES), *(Message(m["role"], m["content"]) for m in messages)]
        reply = ""
        for _ in range(MOST_CALLS):
            reply = (await model.generate(ModelInput(tuple(asked), asked[-1].content))).text
            call = CALL.match(reply)
            if call is None:
                return reply
            result = await shop.call(call[1], json.loads(call[2]))
            asked += [Message("assistant", reply), Message("user", f"RESULT {json.dumps(result)}")]
        return reply

    return answer
