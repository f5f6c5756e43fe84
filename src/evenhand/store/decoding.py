"""Stored results, read back: whole, or as much of them as a reader needs. Nothing else decodes them.

A result is decoded in one step. What msgspec does not read (half a character in what a model said, kept as an escaped
surrogate) is decoded by `core.encoding`, at a tenth of the speed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

from evenhand.core.encoding import decode, encode
from evenhand.core.run import TrialResult, full_cost
from evenhand.core.score import Scale

T = TypeVar("T")
NO_JSON = msgspec.Raw(b"{}")


class OutputOnly(msgspec.Struct):
    """As much of a result as it takes to look at the output."""

    case: str
    output: object = None


class PlacedOutput(msgspec.Struct):
    """As much of a result as it takes to look whether another run has that output in the same place."""

    case: str
    variant: int
    repeat: int
    outcome: str
    output: object = None


class CostedTrial(msgspec.Struct, gc=False):
    """As much of a result as it takes to know what its calls cost, whoever paid for them."""

    cost_usd: float | None = None
    cached: int = 0
    taken: str = ""
    unpaid_usd: float | None = None


class NamedOutcome(msgspec.Struct, gc=False):
    """As much of an expectation's outcome as it takes to see whether its metric has a number."""

    outcome: str
    name: str = ""
    score: float | None = None
    metric: str = ""
    named: dict[str, float] = {}


class NamedScores(msgspec.Struct, gc=False):
    """As much of a result as it takes to read its metrics."""

    case: str
    variant: int
    outcome: str
    named_scores: dict[str, float] = {}
    outcomes: tuple[NamedOutcome, ...] = ()


class GroupedCase(msgspec.Struct, gc=False):
    """As much of a result as it takes to know which case belongs to which."""

    case: str
    variant: int = 0
    copy_key: str = ""
    vars: dict[str, Any] = {}
    metadata: dict[str, Any] = {}


class MeasuredOutcome(msgspec.Struct, kw_only=True):
    """As much of an expectation's outcome as it takes to read its numbers."""

    name: str = ""
    outcome: str = ""
    score: float | None = None
    weight: float = 1.0
    metric: str = ""
    named: dict[str, float] = {}
    scale: Scale | None = None
    metadata: dict[str, Any] = {}


class MeasuredTrial(msgspec.Struct, kw_only=True):
    """As much of a trial's result as it takes to read its numbers."""

    variant: int
    case: str
    outcome: str
    score: float | None = None
    latency_s: float | None = None
    cost_usd: float | None = None
    unpaid_usd: float | None = None
    calls: int = 0
    cached: int = 0
    taken: str = ""
    scale: Scale | None = None
    outcomes: list[MeasuredOutcome] = []
    named_scores: dict[str, float] = {}
    metadata: dict[str, Any] = {}
    expected: Any = None

    @property
    def full_cost_usd(self) -> float | None:
        """What its calls cost, whoever paid for them."""
        return full_cost(self)


class SearchedError(msgspec.Struct, gc=False):
    """Why a trial has no verdict."""

    slug: str
    message: str


class SearchedOutcome(msgspec.Struct, gc=False):
    """As much of an outcome as columns and search take."""

    name: str
    outcome: str
    score: float | None = None
    metric: str = ""
    reason: str = ""
    named: msgspec.Raw = NO_JSON
    metadata: msgspec.Raw = NO_JSON


class SearchedTrial(msgspec.Struct, gc=False, kw_only=True):
    """As much of a result as columns and search take. What is looked at as bytes is not decoded."""

    index: int
    case: str
    variant: int
    repeat: int
    outcome: str
    score: float | None
    output: Any = None
    reason: str = ""
    error: SearchedError | None = None
    outcomes: tuple[SearchedOutcome, ...] = ()
    named_scores: dict[str, float] = {}
    latency_s: float | None = None
    cost_usd: float | None = None
    unpaid_usd: float | None = None
    taken: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    calls: int = 0
    cached: int = 0
    vars: msgspec.Raw = NO_JSON
    description: str = ""
    metadata: msgspec.Raw = NO_JSON
    input: Any = None


_Value = dict[str, Any]


def _reader(
    shape: type[T], mended: Callable[[_Value], _Value] = lambda value: value
) -> Callable[[bytes], T]:
    """Reads results into a shape; `mended` makes a value fit it that does not as it was decoded."""
    decoder: msgspec.json.Decoder[T] | None = None

    def read(data: bytes) -> T:
        nonlocal decoder
        if decoder is None:  # not at import: a run that only writes results reads none
            decoder = msgspec.json.Decoder(shape)
        try:
            return decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            value = decode(data)
            if isinstance(value, dict):
                value = mended(cast("_Value", value))
            return msgspec.convert(value, shape)

    return read


_ANSWER = {
    "id": str,
    "model": str,
    "finish_reason": str,
    "metadata": dict,
    "cost_usd": (int, float),
    "refused": bool,
    "left_out": bool,
}


def _with_sound_answer(value: _Value) -> _Value:
    """Without what no reply says: earlier versions kept whatever another program's results had there."""
    answer = value.get("answer")
    if isinstance(answer, dict):
        fields = cast("_Value", answer)
        value["answer"] = {
            name: item
            for name, item in fields.items()
            if name in _ANSWER and isinstance(item, _ANSWER[name])
        }
    return value


def _with_raw_parts(value: _Value) -> _Value:
    """With JSON in the places where a searched trial has bytes."""
    _encode_parts(value, "vars", "metadata")
    for outcome in value.get("outcomes", ()):
        _encode_parts(outcome, "named", "metadata")
    return value


def _encode_parts(value: _Value, *names: str) -> None:
    value.update({name: msgspec.Raw(encode(value.get(name, {}))) for name in names})


read_result = _reader(TrialResult, _with_sound_answer)
"""The result that this JSON holds. Raises what `store.opened.readable` tells as a damaged file."""

read_output = _reader(OutputOnly)
read_placed_output = _reader(PlacedOutput)
read_costed = _reader(CostedTrial)
read_named_scores = _reader(NamedScores)
read_measured = _reader(MeasuredTrial)
read_grouped = _reader(GroupedCase)
read_searched = _reader(SearchedTrial, _with_raw_parts)
