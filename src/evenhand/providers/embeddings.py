"""Embeddings over HTTP: a text in, a vector out. One text a call: it is paid for once, wherever it occurs."""

from __future__ import annotations

import array
import base64
import binascii
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from evenhand.core.encoding import decode
from evenhand.core.errors import BadReply
from evenhand.core.json_shapes import as_mapping, is_array
from evenhand.core.message import Message, Reply, Task, Usage
from evenhand.core.provider import Price
from evenhand.providers.chat import Dialect, passed_on, rates
from evenhand.providers.prices import cost

EMBEDS: frozenset[Task] = frozenset({"embed"})
"""The tasks of a model that makes vectors and nothing else."""

Find = Callable[[Any], object]
"""Where in an answer's JSON the vector is. May raise what looking into the wrong place raises."""


def first(answer: Any) -> object:
    """The vector in OpenAI's answer, and in those of its kin."""
    return answer["data"][0]["embedding"]


def reader(find: Find) -> Callable[[bytes, bool, Price | None], Reply]:
    """What reads the answers of an API whose vectors are found so."""

    def read(body: bytes, parsed: bool, price: Price | None) -> Reply:
        del parsed
        answer, embedding = looked_up(body, find, "embedding")
        vector = numbers(embedding)
        reported = answer.get("usage") if isinstance(answer, dict) else None
        usage = as_mapping(reported)
        counted = usage.get("prompt_tokens", usage.get("total_tokens"))
        tokens = Usage(counted if isinstance(counted, int) and counted >= 0 else None, 0)
        model = answer.get("model") if isinstance(answer, dict) else None
        return Reply(
            text="",
            output=vector,
            usage=tokens,
            cost_usd=cost(price, tokens),
            model=model if isinstance(model, str) else "",
        )

    return read


def looked_up(body: bytes, find: Find, what: str) -> tuple[Any, object]:
    """An answer's JSON, and what is found in it.

    Raises:
        BadReply: It is not JSON, or there is nothing in that place.
    """
    try:
        answer: Any = decode(body)
        return answer, find(answer)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadReply(f"the reply holds no {what}: {error!r}", billed=None) from None


def input_text(messages: Sequence[Message]) -> dict[str, Any]:
    """The part of the body that carries the text, as OpenAI calls it."""
    return {"input": plain(messages)}


def prompt_body(messages: Sequence[Message]) -> dict[str, Any]:
    """The body of a request that takes one text, under `prompt`."""
    return {"prompt": plain(messages)}


def plain(messages: Sequence[Message]) -> str:
    """The text that is to be measured."""
    return str(messages[-1].content) if messages else ""


def numbers(embedding: object) -> list[float]:
    """A vector, from a list of numbers, or from 32-bit floats in base64.

    Raises:
        BadReply: It is neither, or empty.
    """
    if isinstance(embedding, str):
        floats = array.array("f")
        try:
            floats.frombytes(base64.b64decode(embedding, validate=True))
        except (binascii.Error, ValueError):
            raise BadReply("the reply's embedding cannot be read", billed=None) from None
        if sys.byteorder == "big":  # they come little end first
            floats.byteswap()
        vector = floats.tolist()
    elif is_array(embedding):
        vector = embedding
    else:
        vector = []
    if not vector or not all(type(x) in (int, float) for x in vector):
        raise BadReply("the reply's embedding is not a list of numbers", billed=None)
    return [float(x) for x in vector]


def sized(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """The rest of the body: the model, how long a vector is wanted, and what is passed on as it is."""
    own = passed_on(config, ("dimensions", "encoding_format", "user"))
    return {"model": model, **own, **(config.get("passthrough") or {})}


DIALECT = Dialect(
    vendor="openai",
    messages=input_text,
    settings=sized,
    read=reader(first),
    rates=rates,
    chats=False,
    tasks=EMBEDS,
)


CLASSIFIES: frozenset[Task] = frozenset({"classify"})
"""The tasks of a model that classifies and does nothing else."""


def labelled(classification: object) -> dict[str, float]:
    """Label → score, from such an object, or from a list of `{"label": …, "score": …}`, also within a list.

    Raises:
        BadReply: It is neither, or a score is not a number.
    """
    while is_array(classification) and classification and isinstance(classification[0], list):
        classification = classification[0]
    if is_array(classification):
        rows = [r for r in classification if isinstance(r, Mapping)]
        classification = {str(row.get("label")): row.get("score") for row in rows}
    scores = as_mapping(classification)
    if not scores or not all(type(score) in (int, float) for score in scores.values()):
        raise BadReply("the reply's classification is not a score for each label", billed=None)
    return {str(label): cast("float", score) for label, score in scores.items()}
