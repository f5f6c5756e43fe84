"""Unpacks an answer that a server sends packed, and notices one that ends before its end.

libcurl would unpack, too. But where a server breaks off inside packed data, and ends the body properly, libcurl hands
over what was there as if it were all.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

_GZIP, _ZLIB, _RAW = 31, 15, -15  # what zlib calls `wbits`
_MOST_LAYERS = 5


class NotUnpackable(Exception):
    """The answer is damaged."""


class UnknownEncoding(Exception):
    """The answer is in an encoding that was not asked for."""


class Unpacking:
    """Unpacks one answer, piece by piece.

    Args:
        headers: The answer's `Content-Encoding`, each header of this name: what was packed last is named last.

    Raises:
        UnknownEncoding: One is another than was asked for.
    """

    __slots__ = ("_layers",)

    def __init__(self, headers: Iterable[str]) -> None:
        names = [name.strip().lower() for name in ",".join(headers).split(",")]
        names = [name.removeprefix("x-") for name in names if name not in ("", "identity", "none")]
        if not {"gzip", "deflate"}.issuperset(names) or len(names) > _MOST_LAYERS:
            raise UnknownEncoding(", ".join(names))
        self._layers = [_Layer(name) for name in reversed(names)]

    def unpack(self, data: bytes, most: int) -> bytes:
        """The next piece, unpacked, as far as it has at most so many bytes.

        Raises:
            NotUnpackable: It is damaged.
        """
        for layer in self._layers:
            data = layer.unpack(data, most)
            if len(data) == most:  # it may go on; whoever asked wants no more
                break
        return data

    @property
    def is_whole(self) -> bool:
        """Whether the end has come."""
        return all(layer.is_whole for layer in self._layers)


class _Layer:
    """One encoding."""

    __slots__ = ("_encoding", "_unpacker")

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._unpacker: Any = None

    def unpack(self, data: bytes, most: int) -> bytes:
        unpacker = self._unpacker
        if not data:
            return data
        if unpacker is None:
            unpacker = self._unpacker = zlib.decompressobj(self._form(data[0]))
        try:
            plain = unpacker.decompress(data, most)
        except zlib.error as error:
            raise NotUnpackable(
                f"the answer, in the encoding {self._encoding}, is damaged: {error}"
            ) from None
        if unpacker.unused_data:
            raise NotUnpackable(f"the answer goes on after the end of its {self._encoding} data")
        return plain

    @property
    def is_whole(self) -> bool:
        return self._unpacker is None or bool(self._unpacker.eof)

    def _form(self, first: int) -> int:
        """How zlib has to read what begins with this byte: some servers' `deflate` has no header."""
        if self._encoding == "gzip":
            return _GZIP
        return _ZLIB if first & 0x0F == 8 else _RAW  # 8 is zlib's number of the method
