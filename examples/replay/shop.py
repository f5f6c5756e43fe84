"""A small agent: it asks which order a message is about, looks it up, and answers with what it found."""

from __future__ import annotations

from openai import OpenAI

from evenhand import recording

client = OpenAI(http_client=recording.http_client())
ORDERS = {"1001": "sent on Monday", "1002": "waiting for payment"}


@recording.tool
def look_up(order: str) -> dict[str, str]:
    """What became of an order. A real shop would ask its database."""
    return {"order": order, "status": ORDERS.get(order, "unknown")}


def ask(text: str) -> str:
    """What the model answers."""
    messages = [{"role": "user", "content": text}]
    answer = client.chat.completions.create(model="gpt-5-mini", messages=messages)  # pyright: ignore[reportArgumentType] (plain dicts)
    return answer.choices[0].message.content or ""


def answer(message: str) -> str:
    """The agent's answer to a customer."""
    order = ask(f"Which order is this about? Only its number.\n\n{message}")
    found = look_up(order)
    return ask(f"Order {order} is {found['status']}. Answer in one sentence:\n\n{message}")
