"""Results and texts to bytes and back, for the tables."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import cast

import msgspec

from evenhand.core.encoding import decode, encode, refuse_nan
from evenhand.core.run import TrialError, TrialResult

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(TrialResult)


def write_result(result: TrialResult) -> bytes:
    """The result as JSON, in the form in which it can be kept."""
    return keep(result)[1]


def keep(result: TrialResult) -> tuple[TrialResult, bytes]:
    """The result as it can be kept, and its JSON.

    One that JSON has no form for (NaN in what a function returned, an object of the user's) becomes an error that
    says so: a result is never lost, and never something it is not.
    """
    try:
        refuse_nan(result.output)
        refuse_nan(result.metadata)
        refuse_nan(result.named_scores)
        refuse_nan(result.score)
        if result.kept is not None:
            refuse_nan(result.kept)
        if result.answer:
            refuse_nan(result.answer)
        for outcome in result.outcomes:
            if outcome.metadata:
                refuse_nan(outcome.metadata)
            if outcome.named:
                refuse_nan(outcome.named)
        try:
            return result, _encoder.encode(result)
        except UnicodeEncodeError:
            return result, encode(result)
    except (ValueError, TypeError, RecursionError) as error:
        instead = _unwritable(result, error)
        return instead, encode(instead)


def read_result(data: bytes) -> TrialResult:
    """The result that this JSON holds.

    Raises:
        ValueError: It holds none.
    """
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.convert(json.loads(data), TrialResult)


def write_text(text: str) -> bytes:
    """Text as JSON bytes; empty text as none."""
    return encode(text) if text else b""


def read_text(data: bytes) -> str:
    """The text again."""
    return cast(str, decode(data)) if data else ""


def _unwritable(result: TrialResult, error: Exception) -> TrialResult:
    message = f"the result cannot be kept: {error}"
    return replace(
        result,
        outcome="error",
        score=None,
        output=_shown(result.output, 10_000),
        reason=message,
        error=TrialError("code", message, "Return text, numbers, lists and dicts with text keys."),
        outcomes=(),
        named_scores={},
        metadata={},
        kept=None,
        answer={},
        test={},
        vars={str(name): _shown(value, 1000) for name, value in result.vars.items()},
    )


def _shown(value: object, length: int) -> str:
    """A value in Python's words; its type where even those fail, as they may for an object of the user's."""
    try:
        return repr(value)[:length]
    except Exception:  # noqa: BLE001 (the user's own __repr__ may raise anything)
        return f"<{type(value).__name__}>"
