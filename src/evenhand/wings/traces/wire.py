"""The wire format of Protocol Buffers: a message is fields, each a number, a type and a value.

Source: protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


class Malformed(ValueError):
    """What should be a message is none, or only a part of one."""


def fields(
    data: bytes, start: int = 0, end: int | None = None
) -> Iterator[tuple[int, int, int, int]]:
    """The fields of a message: number, type, and its value, or where its bytes start and end.

    Of a varint and of a fixed number, the third is the value, unsigned, and the fourth is 0.

    Raises:
        Malformed: It ends in the middle of a field, or holds a type that there is not.

    >>> list(fields(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69])))
    [(1, 0, 150, 0), (2, 2, 5, 7)]
    """
    at = start
    stop = len(data) if end is None else end
    while at < stop:
        key = data[at]
        at += 1
        if key & 0x80:
            key, at = _varint(data, at - 1, stop)
        kind = key & 7
        if kind == BYTES:
            if at >= stop:
                raise Malformed(f"it ends at byte {at:,}, in the middle of a field")
            length = data[at]
            at += 1
            if length & 0x80:
                length, at = _varint(data, at - 1, stop)
            if at + length > stop:
                raise Malformed(f"it ends at byte {stop:,}, in the middle of a field")
            yield key >> 3, kind, at, at + length
            at += length
        elif kind == VARINT:
            value, at = _varint(data, at, stop)
            yield key >> 3, kind, value, 0
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
            if at + size > stop:
                raise Malformed(f"it ends at byte {stop:,}, in the middle of a number")
            yield key >> 3, kind, int.from_bytes(data[at : at + size], "little"), 0
            at += size
        else:
            raise Malformed(f"byte {at - 1:,} begins nothing that protobuf has")


def _varint(data: bytes, at: int, stop: int) -> tuple[int, int]:
    value = shift = 0
    for place in range(at, min(stop, at + _LONGEST_VARINT)):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place + 1
        shift += 7
    raise Malformed(f"it ends at byte {stop:,}, in the middle of a number")
