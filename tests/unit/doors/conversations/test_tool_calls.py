"""A model whose calls of tools are made is told of the calls of its own conversation, and of no other."""

from __future__ import annotations

from typing import Any

from evenhand import Message, World
from evenhand.core.message import Prompt, Reply, ToolCall
from evenhand.doors.conversations.tool_calls import CallingModel


class Shop:
    """A model that looks up what it is asked for, and then says what it was told last."""

    name = "shop"

    def __init__(self) -> None:
        self.requests: list[tuple[Message, ...]] = []

    async def generate(self, prompt: Prompt) -> Reply:
        self.requests.append(prompt.messages)
        last = prompt.messages[-1]
        if last.role == "tool":
            return Reply(str(last.items[0]["content"]))
        call = ToolCall("find", {"order": str(last.content)}, id="1")
        return Reply("", tool_calls=(call,), items=({"role": "assistant", "tool_calls": []},))


def agent() -> tuple[CallingModel, Shop, Any]:
    """A shop's agent, its model, and the world of its tools."""
    world = World.copy(of={})

    @world.tool
    def find(order: str) -> str:
        return f"order {order} is late"

    shop = Shop()
    return CallingModel(shop, world, "openai", 10), shop, world  # type: ignore[arg-type]


async def test_another_question_to_the_same_agent_has_an_answer_of_its_own():
    """Another question to the same agent has an answer of its own, and so has the same one asked again."""
    model, _, world = agent()
    answers = [(await model.generate(order)).text for order in ("1", "2", "2")]
    assert answers == ["order 1 is late", "order 2 is late", "order 2 is late"]
    assert [call.arguments["order"] for call in world.calls] == ["1", "2", "2"]


async def test_the_next_turn_is_told_of_the_calls_of_earlier_ones():
    """The next turn is told of the calls of earlier ones, where they were made."""
    model, shop, _ = agent()
    said = [Message("user", "1"), Message("assistant", (await model.generate("1")).text)]
    await model.generate(Prompt((*said, Message("user", "2")), ""))
    roles = [message.role for message in shop.requests[-1]]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]
