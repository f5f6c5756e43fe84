"""OpenAI's SDK, in a loop of one's own."""

import json

from openai import OpenAI

import shop

TOOL = {
    "type": "function",
    "function": {
        "name": "find_order",
        "description": "Says where an order is.",
        "parameters": {"type": "object", "properties": {"order": {"type": "integer"}}},
    },
}


def answer(question: str) -> str:
    """The agent's answer."""
    client = OpenAI()
    messages = [{"role": "system", "content": shop.RULES}, {"role": "user", "content": question}]
    while True:
        reply = client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=[TOOL])
        message = reply.choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            result = shop.find_order(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
