r"""JSON to bytes and back, without loss: the one way that anything is written to a file or sent to a vendor.

`encode` is canonical (keys sorted, no spaces), so equal values have equal bytes and a hash of them means something.
msgspec does the ordinary case fast. Three things it cannot do are handled here, because dropping them silently would be
a wrong number or a lost answer: lone surrogates in text (kept as `\ud800` escapes), NaN or infinities (refused), and
subclasses of text and numbers, as SDKs and enums have them (a text is a text).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from evenhand.core.json_shapes import is_array, is_mapping, is_object

type_error = "cannot be written as JSON"


class TooDeep(ValueError):
    """Lists and objects within each other, more than is read."""


def plain(value: object) -> object:
    """A text or a number of a subclass as the text or number that it is: the hook of encoders.

    Raises:
        TypeError: It is something else, which JSON has no form for.
    """
    if isinstance(value, str):  # by str's own method: a subclass may print itself as it likes
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


_encoder = msgspec.json.Encoder(order="sorted", enc_hook=plain)
_as_it_is = msgspec.json.Encoder(enc_hook=plain)
_decoder = msgspec.json.Decoder()
DEEPEST = 200
"""Levels of lists and objects in what people write and other tools export."""
_NESTED = frozenset({dict, list})
_NONE = type(None)
_PLAIN = frozenset({str, int, bool, bytes, type(None)})


def without_surrogates(text: str) -> str:
    """A text that any format can hold: U+FFFD stands for each lone surrogate.

    >>> without_surrogates("half " + chr(0xD83D))
    'half \ufffd'
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def encode(value: object, *, ordered: bool = True) -> bytes:
    """The value as canonical JSON.

    Args:
        ordered: Keys are sorted; otherwise they stay in the order that they have, for what people or programs read.

    Raises:
        ValueError: It holds NaN or an infinity, or is nested too deeply, or in itself.
        TypeError: It holds something that JSON has no form for.
    """
    try:
        try:
            data = (_encoder if ordered else _as_it_is).encode(value)
        except (UnicodeEncodeError, ValueError):
            return json.dumps(
                msgspec.to_builtins(value, order="sorted" if ordered else None, enc_hook=plain),
                allow_nan=False,
                sort_keys=ordered,
                separators=(",", ":"),
            ).encode()
    except RecursionError:
        raise _too_deep() from None
    # msgspec writes NaN as null: look again before believing it, unless there are as many in sight.
    nulls = data.count(b"null")
    if nulls and (type(value) is not list or nulls != [*map(type, value)].count(_NONE)):
        refuse_nan(value)
    return data


class LastEncoded:
    """The canonical JSON of a value that many rows have in common, written anew only for another object."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: tuple[object, bytes] = (None, b"null")

    def encode(self, value: object) -> bytes:
        """The value's JSON, as `encode` has it; raises what that does."""
        last, data = self._last
        if value is not last:
            data = encode(value)
            self._last = value, data  # at once, as several threads may ask
        return data


def decode(data: bytes | str) -> object:
    """The value that this JSON says. Integers of any size, escaped surrogates kept.

    Raises:
        ValueError: It is not JSON, or is nested too deeply to be read.
    """
    try:
        try:
            return _decoder.decode(data)
        except (msgspec.DecodeError, UnicodeError):
            # msgspec refuses lone surrogates, which Python's own reader keeps.
            return cast(object, json.loads(data, parse_constant=_no_constant))
    except RecursionError:
        raise _too_deep() from None


def decoded(data: bytes | str, default: Any = None) -> Any:
    """The value that this JSON says; `default` in place of what is no JSON, or nested too deeply.

    >>> decoded(b"[1]"), decoded("no JSON"), decoded("", {})
    ([1], None, {})
    """
    try:
        return decode(data)
    except ValueError:
        return default


def decode_once(data: bytes) -> object:
    """The value that people's JSON says; an object that has a key twice is refused, as only one could count.

    Raises:
        ValueError: As `decode`, it is nested more than DEEPEST levels deep, or a key appears twice.
    """
    value = decode(data)
    if data.count(b"[") + data.count(b"{") > DEEPEST:
        refuse_depth(value)
    # A key with a space before its colon would not be counted.
    if data.count(b'":') == _keys_in(value) and data.find(b'" :') < 0:
        return value  # all keys that are written are in it
    try:
        json.loads(data, object_pairs_hook=_once)
    except RecursionError:
        raise _too_deep() from None
    return value


def refuse_depth(value: object) -> None:
    """Raises where a value is nested deeper than anybody means, and than is written and shown without trouble.

    Raises:
        TooDeep: It is nested more than DEEPEST levels deep.
    """
    level: list[object] = [value]
    for _ in range(DEEPEST + 1):
        below: list[object] = []
        for one in level:
            if is_object(one):
                below += one.values()
            elif is_array(one):
                below += one
        if not below:
            return
        level = below
    raise TooDeep(f"it is nested more than {DEEPEST} levels deep")


def _keys_in(value: object) -> int:
    if is_object(value):
        count, inside = len(value), value.values()
    elif is_array(value):
        count, inside = 0, value
    else:
        return 0
    # Most items have nothing inside: a call for each of them would cost more than all else here.
    for item in inside:
        if type(item) in _NESTED:
            count += _keys_in(item)
    return count


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"the key {twice!r} appears twice"
        raise ValueError(msg)
    return fields


def digest(*parts: bytes | str) -> str:
    """A 128-bit name for these parts, in 32 hex digits; where one part ends and the next begins counts."""
    # As below, in one piece: nearly all are short.
    if len(parts) == 1 and isinstance(part := parts[0], bytes):
        whole = len(part).to_bytes(8, "big") + part
        return hashlib.blake2b(whole, digest_size=16).hexdigest()
    pieces: list[bytes] = []
    for part in parts:
        raw = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        pieces += (len(raw).to_bytes(8, "big"), raw)
    return hashlib.blake2b(b"".join(pieces), digest_size=16).hexdigest()


def digest_of(parts: Iterable[bytes | str]) -> str:
    """A 128-bit name for parts that come one by one, and need not fit into memory, in 32 hex digits."""
    h = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        h.update(len(raw).to_bytes(8, "big"))
        h.update(raw)
    return h.hexdigest()


def refuse_nan(value: object) -> None:
    """Raises a ValueError where the value holds NaN or an infinity, or is nested too deeply to tell."""
    try:
        _look(value)
    except RecursionError:
        raise _too_deep() from None


def _look(value: Any) -> None:
    kind = type(value)
    if kind is dict:
        items = value.values()
    elif kind is list or kind is tuple:
        items = value
    else:
        _look_closely(value)
        return
    for item in items:
        kind = type(item)
        if kind is float:
            _look_at_number(item)
        elif kind not in _PLAIN and item:  # there is nothing in an empty one
            _look(item)


def _look_closely(value: object) -> None:
    """Refuses NaN and infinities in a value that is not exactly a dict, a list or a tuple."""
    if isinstance(value, (str, bytes, int, type(None))):
        return
    if isinstance(value, float):
        _look_at_number(value)
    elif isinstance(value, msgspec.Struct):
        _look(msgspec.to_builtins(value, enc_hook=plain))
    elif is_mapping(value):
        for item in value.values():
            _look(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _look(item)
    else:
        _look(msgspec.to_builtins(value, enc_hook=plain))


def _look_at_number(value: float) -> None:
    if not math.isfinite(value):
        msg = f"{value} {type_error}"
        raise ValueError(msg)


def _no_constant(name: str) -> object:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


def _too_deep() -> ValueError:
    return ValueError("it is nested too deeply for JSON")
