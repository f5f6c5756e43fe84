"""A shop's agent: a model with five tools on a database of orders."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from openai import OpenAI

from evenhand import recording

client = OpenAI(http_client=recording.http_client())
POLICY = (
    "You help customers of a shop. Refund only what is late. Look an order up before you change it."
)
ORDERS = """
create table orders (id integer primary key, goods text, address text, state text);
insert into orders values
    (1042, 'lamp', '5 Mill Lane', 'late'),
    (1043, 'desk', '9 High Street', 'sent'),
    (1044, 'chair', '2 Park Road', 'packed');
"""
MOST_TURNS = 8
tool = recording.tool(ignore=("shop",))


def open_shop() -> sqlite3.Connection:
    """A shop with three orders."""
    shop = sqlite3.connect(":memory:", check_same_thread=False)
    shop.executescript(ORDERS)
    return shop


@tool
def find_order(shop: sqlite3.Connection, id: int) -> dict[str, Any]:
    """One order."""
    row = shop.execute("select goods, address, state from orders where id = ?", (id,)).fetchone()
    if row is None:
        raise LookupError(f"there is no order {id}")
    return {"id": id, "goods": row[0], "address": row[1], "state": row[2]}


@tool
def search_orders(shop: sqlite3.Connection, goods: str) -> list[int]:
    """The orders of some goods, by their numbers."""
    return [id_ for (id_,) in shop.execute("select id from orders where goods = ?", (goods,))]


@tool
def change_address(shop: sqlite3.Connection, id: int, address: str) -> str:
    """Changes the address of an order that has not been sent."""
    if shop.execute("select state from orders where id = ?", (id,)).fetchone() == ("sent",):
        raise ValueError("the order has been sent")
    shop.execute("update orders set address = ? where id = ?", (address, id))
    return "changed"


@tool
def redirect_parcel(shop: sqlite3.Connection, id: int, address: str) -> str:
    """Has the carrier take a parcel elsewhere."""
    shop.execute("update orders set address = ?, state = 'redirected' where id = ?", (address, id))
    return "redirected"


@tool
def refund(shop: sqlite3.Connection, id: int) -> str:
    """Refunds an order that is late."""
    if shop.execute("select state from orders where id = ?", (id,)).fetchone() != ("late",):
        raise PermissionError("only late orders are refunded")
    shop.execute("update orders set state = 'refunded' where id = ?", (id,))
    return "refunded"


TOOLS = {
    f.__name__: f for f in (find_order, search_orders, change_address, redirect_parcel, refund)
}


def answer(shop: sqlite3.Connection, message: str) -> str:
    """The agent's answer to a customer."""
    offered = [
        {"type": "function", "function": {"name": name, "description": function.__doc__}}
        for name, function in TOOLS.items()
    ]
    messages: list[Any] = [
        {"role": "system", "content": POLICY},
        {"role": "user", "content": message},
    ]
    for _ in range(MOST_TURNS):
        reply = client.chat.completions.create(
            model="gpt-5-mini",
            messages=messages,
            tools=offered,  # pyright: ignore[reportArgumentType] (plain dicts)
        ).choices[0].message  # fmt: skip
        if not reply.tool_calls:
            return reply.content or ""
        messages.append(reply.model_dump(exclude_none=True))
        for call in reply.tool_calls:
            asked: Any = call.function  # pyright: ignore[reportAttributeAccessIssue] (no custom tools)
            said = {"role": "tool", "tool_call_id": call.id, "content": used(shop, asked)}
            messages.append(said)
    return "A colleague will call you."


def used(shop: sqlite3.Connection, asked: Any) -> str:
    """What a tool returned, or why it failed, as the model is told."""
    try:
        return json.dumps(TOOLS[asked.name](shop, **json.loads(asked.arguments)))
    except Exception as error:  # noqa: BLE001 (the model is to know)
        return f"Error: {error}"
