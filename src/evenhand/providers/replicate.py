"""Llama Guard on Replicate, as a moderation model: it says which of its categories a text violates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.errors import BadReply
from evenhand.core.json_shapes import as_array
from evenhand.core.message import Message, Reply, Usage
from evenhand.core.provider import Price
from evenhand.providers.chat import ChatProvider, Dialect, bearer, chat_provider
from evenhand.providers.embeddings import looked_up, plain
from evenhand.providers.openai import MODERATES
from evenhand.providers.wanted import Wanted

HOME = "https://api.replicate.com/v1"
MODEL = "meta/llama-guard-4-12b"
WAITS_S = 60
"""How long Replicate keeps the request open for the answer: the most that it allows."""
_KEYS = ("REPLICATE_API_TOKEN", "REPLICATE_API_KEY")


def make(wanted: Wanted) -> ChatProvider:
    """`replicate:moderation:<owner>/<model>`, or `…:<version>` of it; Llama Guard 4 where it names none."""
    kind, _, model = wanted.rest.partition(":")
    if kind != "moderation":
        raise wanted.refused(
            "asks Replicate for something else than moderation",
            f"Write litellm:replicate/{wanted.rest} (pip install 'evenhand[litellm]').",
        )
    model = model or MODEL
    _, _, version = model.partition(":")
    base = (wanted.setting("apiBaseUrl", "REPLICATE_API_BASE_URL") or HOME).rstrip("/")
    variable = str(wanted.config.get("apiKeyEnvar") or _KEYS[0])
    return chat_provider(
        wanted,
        DIALECT,
        model=model,
        url=f"{base}/predictions" if version else f"{base}/models/{model}/predictions",
        key=wanted.setting("apiKey", variable, *_KEYS).strip(),
        key_variable=variable,
    )


def _headers(key: str, config: Mapping[str, Any]) -> dict[str, str]:
    return {**bearer(key, config), "prefer": f"wait={WAITS_S}"}


def _messages(messages: Sequence[Message]) -> dict[str, Any]:
    return {"input": {"prompt": plain(messages)}}


def _settings(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """A version is named in the body; a model without one in the address."""
    version = model.partition(":")[2]
    return {**({"version": version} if version else {}), **(config.get("passthrough") or {})}


def _read(body: bytes, parsed: bool, price: Price | None) -> Reply:
    """`safe`, or `unsafe` and on the next line the categories, e.g. `S1,S10`."""
    del parsed
    answer, output = looked_up(body, lambda answer: answer["output"], "output")
    status = str(answer.get("status") or "")
    if status not in ("", "succeeded"):
        why = answer.get("error") or f"is {status} after {WAITS_S} s"
        raise BadReply(f"the prediction {why}", hint="A model that sleeps needs a while.")
    pieces = as_array(output)
    text = "".join(map(str, pieces)) if pieces else output
    verdict, _, rest = text.strip().partition("\n") if isinstance(text, str) else ("", "", "")
    if verdict.strip() not in ("safe", "unsafe"):
        raise BadReply("the reply's moderation cannot be read", billed=None)
    codes = [code.strip() for code in rest.split(",") if code.strip()]
    flagged = dict.fromkeys(codes or ["unsafe"], 1.0) if verdict.strip() == "unsafe" else {}
    return Reply(
        text="",
        output=flagged,
        usage=Usage(),
        cost_usd=0.0 if price is not None and price.usd_in == 0 else None,  # paid by the second
        model=str(answer.get("model") or ""),
    )


DIALECT = Dialect(
    vendor="replicate",
    headers=_headers,
    messages=_messages,
    settings=_settings,
    read=_read,
    chats=False,
    tasks=MODERATES,
)
