"""The long tail of vendors, through LiteLLM: a proxy of its at an address, or the library in this process.

The library is no part of Evenhand: `pip install 'evenhand[litellm]'`. It is imported when it is first asked.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from evenhand.core.encoding import decode, digest, encode
from evenhand.core.errors import (
    AuthError,
    BadReply,
    BadRequest,
    ConnectionFailed,
    Overloaded,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    TimedOut,
    UnknownModel,
)
from evenhand.core.json_shapes import as_mapping
from evenhand.core.message import CHATS, Prompt, Reply, Task
from evenhand.core.own_requests import by_the_run
from evenhand.core.provider import Answer, Host, Provider, Request
from evenhand.core.secrets import redacted, secrets_mark, shown
from evenhand.providers.chat import chat_provider
from evenhand.providers.compatible import dialect_of, split_kind
from evenhand.providers.embeddings import EMBEDS
from evenhand.providers.refusals import refusal, refused
from evenhand.providers.wanted import Wanted

_MISSING = "Install the library, pip install 'evenhand[litellm]', or name a LiteLLM proxy with config: {apiBaseUrl: …}."
_PATHS = {"chat": "/chat/completions", "embedding": "/embeddings"}


def make(wanted: Wanted) -> Provider:
    """A model by LiteLLM's name for it, e.g. `litellm:bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0`."""
    kind, model = split_kind(wanted.rest)
    kind = kind or "chat"
    if kind not in _PATHS or not model:
        raise wanted.refused("names no model", "Write litellm:<vendor>/<model>.")
    base = wanted.setting("apiBaseUrl", "LITELLM_API_BASE_URL", "LITELLM_BASE_URL")
    if base:
        return chat_provider(
            wanted,
            dialect_of(kind),
            model=model,
            url=base.rstrip("/") + _PATHS[kind],
            key=wanted.setting("apiKey", "LITELLM_API_KEY"),
            key_variable="LITELLM_API_KEY",
        )
    if importlib.util.find_spec("litellm") is None:
        raise wanted.refused("needs LiteLLM", _MISSING)
    return LiteLlm(
        id=wanted.id,
        label=wanted.label or wanted.id,
        model=model,
        embeds=kind == "embedding",
        config=wanted.config,
        env=wanted.env,
    )


@dataclass(slots=True, kw_only=True)
class LiteLlm:
    """A model that the library asks. Implements `evenhand.core.provider.Provider`.

    Its answers are OpenAI's, and are read as those are. Retries are the engine's: the library's are off.
    """

    id: str
    label: str
    model: str
    embeds: bool
    config: Mapping[str, Any]
    env: Mapping[str, str] = field(repr=False)
    remote: ClassVar[bool] = True
    answers_by_request_alone: ClassVar[bool] = True
    account: str = field(init=False)
    paid: bool = field(init=False, default=True)
    tasks: frozenset[Task] = field(init=False)

    def __post_init__(self) -> None:
        self.account = f"litellm:{self.model.partition('/')[0]}"
        self.tasks = EMBEDS if self.embeds else CHATS

    def request(self, prompt: Prompt) -> Request:
        dialect = dialect_of("embedding" if self.embeds else "chat")
        settings = {
            k: v for k, v in {**self.config, **prompt.config}.items() if k != "showThinking"
        }
        if not self.embeds and not settings.get("omitDefaults"):
            settings = {"temperature": 0, "max_tokens": 1024, **settings}
        settings.pop("omitDefaults", None)
        body = {"model": self.model, **settings, **dialect.messages(prompt.messages)}
        identity = encode({"body": redacted(body), "through": "litellm"})
        return Request(
            identity=identity,
            key=digest(identity),
            payload=body,
            deterministic=self.embeds or body.get("temperature") == 0 or "seed" in body,
            tokens_in=len(identity) // 4,
            unsent=secrets_mark({k: v for k, v in body.items() if k != "api_key"}),
        )

    async def send(self, request: Request, host: Host) -> Answer:
        del host
        litellm = _library()
        ask = litellm.aembedding if self.embeds else litellm.acompletion
        started = time.perf_counter()
        try:
            with by_the_run():
                answer = await ask(
                    **request.payload, drop_params=True, num_retries=0, max_retries=0
                )
        except Exception as error:  # noqa: BLE001 (the library's errors have names of their own)
            block = None if self.embeds else _block(error)
            if block is None:
                raise _fault(self.id, error) from None
            return Answer(block, time.perf_counter() - started)
        body = answer.model_dump(mode="json")
        cost = as_mapping(getattr(answer, "_hidden_params", None)).get("response_cost")
        return Answer(
            encode(
                {"answer": body, "cost_usd": cost if isinstance(cost, float) else None},
                ordered=False,
            ),
            time.perf_counter() - started,
        )

    def reply(self, body: bytes) -> Reply:
        row = as_mapping(decode(body))
        dialect = dialect_of("embedding" if self.embeds else "chat")
        answer = encode(row.get("answer"), ordered=False)
        try:
            reply = dialect.read(answer, False, None)
        except BadReply:
            words = refusal(answer)
            if words is None:
                raise
            return refused(words, None)
        return replace(reply, cost_usd=row.get("cost_usd"))

    async def close(self) -> None:
        """Holds nothing of its own."""


def _library() -> Any:
    """LiteLLM, which takes seconds to import. It has its list of prices with it, and fetches no newer one."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm: Any = importlib.import_module("litellm")
    litellm.suppress_debug_info = True
    return litellm


_FAULTS: Mapping[str, type[ProviderError]] = {
    "AuthenticationError": AuthError,
    "PermissionDeniedError": AuthError,
    "NotFoundError": UnknownModel,
    "BudgetExceededError": QuotaExhausted,
    "RateLimitError": RateLimited,
    "Timeout": TimedOut,
    "APIConnectionError": ConnectionFailed,
    "ServiceUnavailableError": Overloaded,
    "InternalServerError": Overloaded,
    "BadGatewayError": Overloaded,
}


def _block(error: Exception) -> bytes | None:
    """A block by a filter, as an answer is kept; None for any other error."""
    kind, words = type(error).__name__, shown(" ".join(str(error).split()))[:2000]
    row = {"error": {"type": kind, "message": f"{kind}: {words}"}}
    return None if refusal(encode(row)) is None else encode({"answer": row})


def _fault(who: str, error: Exception) -> ProviderError:
    """What an error of the library's means; what is not known is not tried again."""
    name = type(error).__name__
    kind = _FAULTS.get(name, BadRequest)
    message = shown(" ".join(str(error).split()))[:300]
    billed = None if kind in (TimedOut, ConnectionFailed) else False
    return kind(
        f"{who}: {name}: {message}", status=getattr(error, "status_code", None), billed=billed
    )
