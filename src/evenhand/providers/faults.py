"""What an HTTP answer that is not a reply means: which ProviderError, and so what happens next.

The order matters: a 429 is a rate limit only when it is not an empty account, a 400 is the request's fault only when
it is not a limit that the account's owner set. Bodies are read as text: vendors and proxies put these words anywhere.
"""

from __future__ import annotations

import re

from evenhand.core.encoding import decoded
from evenhand.core.errors import (
    AuthError,
    BadReply,
    BadRequest,
    Overloaded,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    TimedOut,
    UnknownModel,
)
from evenhand.core.json_shapes import is_object
from evenhand.core.scripted import NO_RULE, REPLY_LIKE
from evenhand.core.secrets import known, shown
from evenhand.providers.http import HttpAnswer
from evenhand.providers.refusals import error_codes
from evenhand.providers.retry_after import retry_after

_QUOTA = (
    r"(?i)insufficient_quota|exceeded your current quota|credit balance is too low|billing_hard_limit|"
    r"reached your specified (api )?usage limits|PerDay|daily (limit|quota)|payment required"
)
_CONTEXT = r"(?i)context_length_exceeded|maximum context length|prompt is too long|too many tokens"
_MODEL = r"(?i)model_not_found|not_found_error|does not exist|unknown model|no such model"
# For a model that is retired or unknown, some vendors answer 400, with one of these codes or words.
_MODEL_CODES = frozenset(
    {
        "model_not_found",
        "model_decommissioned",  # Groq
        "invalid_model",  # Mistral
        "model_not_available",  # Together
        "deploymentnotfound",  # Azure, from here on
        "servicemodeldeprecated",
        "modeldeprecated",
    }
)
_MODEL_WORDS = (
    r"(?s)Model Not Exist|"  # DeepSeek
    r"\S+ is not a valid model ID|"  # OpenRouter
    r"Invalid model name passed in model=.*"  # LiteLLM
)


def fault(answer: HttpAnswer, *, host: str, key_hint: str) -> ProviderError:
    """The error that an answer other than 200 stands for.

    Args:
        answer: The answer.
        host: Who sent it, for the message.
        key_hint: What to do about a key that is refused.
    """
    status = answer.status
    # A server may say again what it was sent.
    sent_back = known.without(answer.body)
    body = sent_back[:4096].decode("utf-8", "replace")
    explanation = shown(_message(sent_back) or " ".join(body.split())[:200])
    wait = retry_after(answer.headers)
    where = f"{host} answered {status}"
    message = f"{where}: {explanation}" if explanation else where
    # It says all, and which port of this machine it is at says nothing.
    if NO_RULE in explanation and host.startswith("127.0.0.1:"):
        message, _, shape = explanation.partition(REPLY_LIKE)
        hint = f"Its reply is like {shape}" if shape else ""
        return BadRequest(message, hint=hint, status=status, body=body)
    if status == 402 or (status in (400, 403, 429) and re.search(_QUOTA, body)):
        return QuotaExhausted(
            message,
            hint="Top up or raise the limit, then `evenhand resume`.",
            status=status,
            body=body,
        )
    if status == 429:
        return RateLimited(message, status=status, body=body, retry_after_s=wait)
    if status in (401, 403):
        return AuthError(message, hint=key_hint, status=status, body=body)
    is_retired = status == 410 or (status == 400 and _is_of_the_model(sent_back))
    if status == 404 or is_retired:
        what = (
            "Look at the model's name."
            if is_retired or re.search(_MODEL, body)
            else "Look at the address and the model's name."
        )
        return UnknownModel(message, hint=what, status=status, body=body)
    if status in (408, 504):
        return TimedOut(message, status=status, body=body, retry_after_s=wait, billed=None)
    if status >= 500 or "overloaded_error" in body:
        return Overloaded(message, status=status, body=body, retry_after_s=wait)
    if re.search(_CONTEXT, body):
        return BadRequest(
            message, hint="The prompt is longer than the model takes.", status=status, body=body
        )
    if status < 400:
        return BadReply(
            message,
            hint="A redirect, or no content, where a reply was due: a proxy? Look at the address.",
            status=status,
            body=body,
        )
    return BadRequest(message, status=status, body=body)


def unreadable(answer: HttpAnswer, *, host: str) -> BadReply | None:
    """The error for a 200 that cannot be a reply: a web page, or nothing. None where it looks like JSON."""
    start = answer.body[:200].lstrip()
    if start[:1] in (b"{", b"["):
        return None
    text = " ".join(answer.body[:200].decode("utf-8", "replace").split())
    kind = answer.headers.get("content-type", "no content type")
    what = f"{kind} instead of JSON" if "json" not in kind.lower() else "no JSON object"
    return BadReply(
        f"{host} answered 200 with {what}: {text or 'an empty body'}",
        hint="A proxy or a login page? Look at the address.",
        status=200,
        billed=None,
        body=text,
    )


def _is_of_the_model(body: bytes) -> bool:
    """Whether a 400 says that there is no such model: by a code or a message, never by what may be the request."""
    return bool(error_codes(body) & _MODEL_CODES or re.fullmatch(_MODEL_WORDS, _message(body)))


def _message(body: bytes) -> str:
    """The vendor's own words, from `{"error": {"message": …}}` and its kin."""
    value = decoded(body)
    for key in ("error", "message"):
        if is_object(value):
            value = value.get(key, value)
    text = " ".join(value.split()) if isinstance(value, str) else ""
    # Of a script, what it would take is said as well: the shape of a reply.
    return text[: 1200 if NO_RULE in text else 300]
