"""Instructor, which has a model fill a record in."""

import instructor
from openai import AsyncOpenAI
from pydantic import BaseModel


class Order(BaseModel):
    """Where an order is."""

    order: int
    state: str


async def answer(question: str) -> str:
    """What the record says."""
    client = instructor.from_openai(AsyncOpenAI())
    made = await client.chat.completions.create(
        model="gpt-5-mini",
        messages=[{"role": "user", "content": question}],
        response_model=Order,
    )
    return f"order {made.order} was {made.state}"


async def streamed(question: str) -> str:
    """The same, in pieces."""
    client = instructor.from_openai(AsyncOpenAI())
    stream = client.chat.completions.create_partial(
        model="gpt-5-mini",
        messages=[{"role": "user", "content": question}],
        response_model=Order,
        stream_options={"include_usage": True},
    )
    made = [partial async for partial in stream][-1]
    return f"order {made.order} was {made.state}"
