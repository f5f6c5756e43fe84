"""Results to bytes, and texts to bytes and back, for the tables. `store.decoding` reads results."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from evenhand.core.definition import Definition
from evenhand.core.encoding import decode, encode, plain, refuse_nan
from evenhand.core.errors import ScoreError
from evenhand.core.outputs import need_value
from evenhand.core.run import NO_DETAILS, TrialError, TrialResult
from evenhand.core.score import Outcome
from evenhand.store.detail import (
    WrittenResult,
    detail_of,
    numbers_of,
    part_of_case,
    part_of_test,
    put_together,
)

_encode = msgspec.json.Encoder(enc_hook=plain).encode
_EMPTY = b"{}"


def write_result(result: TrialResult) -> bytes:
    """The result as JSON, whole, as it is read back."""
    sound, written = keep(result)
    return put_together(numbers_of(sound), written)


def keep(result: TrialResult) -> tuple[TrialResult, WrittenResult]:
    """The result as it can be kept, and what is written of it beside its row of `trial`.

    An SDK's object is written as what it holds. A result with something in it that JSON has no form for (NaN in what
    a function returned, an object of the user's) becomes an error that says so, and keeps the rest: a result is never
    lost, and never something it is not.
    """
    try:
        return result, _written(result)
    except (ValueError, TypeError, RecursionError) as error:
        try:
            plain = replace(result, output=msgspec.to_builtins(result.output, enc_hook=_held))
            return plain, _written(plain)
        except Exception:  # noqa: BLE001 (an object of the user's may raise anything while it is written)
            instead = _unwritable(result, error)
            return instead, _encoded(instead, encode)


def _written(result: TrialResult) -> WrittenResult:
    if result.score is not None and not math.isfinite(result.score):
        refuse_nan(result.score)
    try:
        written = _encoded(result, _encode)
    # Half a character (a lone surrogate), which msgspec refuses and `encode` escapes, more slowly.
    except UnicodeEncodeError:
        return _encoded(result, encode)
    for part in written:
        if (
            part.find(b"null") >= 0
        ):  # `in` takes ten times as long: bytes are tried as a number first
            _refuse_nan_in(result)
            break
    return written


def _refuse_nan_in(result: TrialResult) -> None:
    """Raises a ValueError for NaN: msgspec writes it as null, which would be read back as a missing value."""
    parts: list[object] = [result.output, result.metadata, result.named_scores, result.kept]
    parts += [result.answer.cost_usd, result.answer.metadata, result.input, result.expected]
    for outcome in result.outcomes:
        parts += [outcome.metadata, outcome.named]
    for part in parts:
        refuse_nan(part)


def _encoded(result: TrialResult, encoder: Callable[[object], bytes]) -> WrittenResult:
    of_case, detail = encoder(part_of_case(result)), encoder(detail_of(result))
    return WrittenResult(
        of_case if of_case != _EMPTY else b"", _encoded_test(result, encoder), detail
    )


def _encoded_test(result: TrialResult, encoder: Callable[[object], bytes]) -> bytes:
    """The part of a test; that of the result before where both are of the same one, as most are."""
    global _last_test  # noqa: PLW0603 (set at once, as several threads may write)
    test, definitions, of_test = _last_test
    if result.test is test and result.definitions == definitions:
        return of_test
    of_test = encoder(part_of_test(result))
    if of_test == _EMPTY:
        of_test = b""
    _last_test = result.test, result.definitions, of_test
    return of_test


_last_test: tuple[Mapping[str, Any], Sequence[Definition], bytes] = ({}, (), b"")


def _held(value: object) -> object:
    """What an object of pydantic's holds: replies of vendors' SDKs are such, and structured answers."""
    dump = getattr(value, "model_dump", None)
    # A pydantic class has the method as well, but nothing to call it on.
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    return plain(value)


def written_case(case: str) -> str:
    """A case's id as a trial's row has it: in ASCII, other characters escaped."""
    return case if case.isascii() else case.encode("ascii", "backslashreplace").decode()


def write_text(text: str) -> bytes:
    """Text as JSON bytes; empty text as none."""
    return encode(text) if text else b""


def read_text(data: bytes) -> str:
    """The text again."""
    return cast(str, decode(data)) if data else ""


def _unwritable(result: TrialResult, error: Exception) -> TrialResult:
    """The result as an error, with all in it that can be kept."""
    what = "result" if _writable(result.output) else "output"
    if what == "output":
        try:
            need_value(result.output)
        except ScoreError as no_text:  # which says what was probably meant
            error = no_text
    message = (
        f"the {what} cannot be kept: {error.message if isinstance(error, ScoreError) else error}"
    )
    return replace(
        result,
        outcome="error",
        score=None,
        output=_kept(result.output, 10_000),
        reason=message,
        error=TrialError("code", message, "Return text, numbers, lists and dicts with text keys."),
        outcomes=tuple(o if _writable(o) else _mended(o) for o in result.outcomes),
        named_scores={name: n for name, n in result.named_scores.items() if _writable(n)},
        metadata=_each_kept(result.metadata),
        vars=_each_kept(result.vars),
        kept=None,
        answer=NO_DETAILS,
        test={},
        input=_kept(result.input, 1000),
        expected=_kept(result.expected, 1000),
    )


def _mended(outcome: Outcome) -> Outcome:
    named = {name: number for name, number in outcome.named.items() if _writable(number)}
    score = outcome.score if _writable(outcome.score) else None
    return replace(outcome, metadata=_each_kept(outcome.metadata), named=named, score=score)


def _each_kept(values: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): _kept(value, 1000) for name, value in values.items()}


def _kept(value: object, length: int) -> object:
    """The value; in Python's words where it cannot be written."""
    return value if _writable(value) else _shown(value, length)


def _writable(value: object) -> bool:
    try:
        encode(value)
    except Exception:  # noqa: BLE001 (an object of the user's may raise anything while it is written)
        return False
    return True


def _shown(value: object, length: int) -> str:
    """A value in Python's words; its type where even those fail, as they may for an object of the user's."""
    try:
        return repr(value)[:length]
    except Exception:  # noqa: BLE001 (the user's own __repr__ may raise anything)
        return f"<{type(value).__name__}>"
