"""LiteLLM, in a loop of one's own."""

import json

import litellm

import shop

TOOL = {
    "type": "function",
    "function": {
        "name": "find_order",
        "description": "Says where an order is.",
        "parameters": {"type": "object", "properties": {"order": {"type": "integer"}}},
    },
}


async def answer(question: str) -> str:
    """The agent's answer."""
    return await _answer(question, stream=False)


async def streamed(question: str) -> str:
    """The same, in pieces."""
    return await _answer(question, stream=True)


async def _answer(question: str, *, stream: bool) -> str:
    messages = [{"role": "system", "content": shop.RULES}, {"role": "user", "content": question}]
    more = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    while True:
        reply = await litellm.acompletion(
            "openai/gpt-5-mini", messages=messages, tools=[TOOL], **more
        )
        if stream:
            reply = litellm.stream_chunk_builder([chunk async for chunk in reply])
        message = reply.choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message.model_dump())
        for call in message.tool_calls:
            result = shop.find_order(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
