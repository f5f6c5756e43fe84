"""A loop of one's own around chat completions, for whatever client speaks them."""

import json
from typing import Any

import shop

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "find_order",
        "description": "Says where an order is.",
        "parameters": {"type": "object", "properties": {"order": {"type": "integer"}}},
    },
}


def looped(complete: Any, model: str, question: str) -> str:
    """The agent's answer.

    Args:
        complete: The SDK's method that asks.
        model: The model.
        question: The user's question.
    """
    messages = [{"role": "system", "content": shop.RULES}, {"role": "user", "content": question}]
    while True:
        message = complete(model=model, messages=messages, tools=[TOOL]).choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            result = shop.find_order(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
