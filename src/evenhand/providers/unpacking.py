"""Unpacks an answer that a server sends packed, and notices one that ends before its end.

libcurl would unpack, too. But where a server breaks off inside packed data, and ends the body properly, libcurl hands
over what was there as if it were all.
"""

from __future__ import annotations

import zlib
from typing import Any

_GZIP, _ZLIB, _RAW = 31, 15, -15  # what zlib calls `wbits`


class NotUnpackable(Exception):
    """The answer is in no encoding that was asked for, or damaged."""


class Unpacking:
    """Unpacks one answer, piece by piece.

    Args:
        encoding: The answer's `Content-Encoding`.

    Raises:
        NotUnpackable: It is another one than was asked for.
    """

    __slots__ = ("_encoding", "_unpacker")

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower().removeprefix("x-")
        if self._encoding not in ("gzip", "deflate"):
            raise NotUnpackable(
                f"the answer has the encoding {encoding!r:.60}, which was not asked for"
            )
        self._unpacker: Any = None

    def unpack(self, data: bytes, most: int) -> bytes:
        """The next piece, unpacked, as far as it has at most so many bytes.

        Raises:
            NotUnpackable: It is damaged.
        """
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
        """Whether the end has come."""
        return self._unpacker is None or bool(self._unpacker.eof)

    def _form(self, first: int) -> int:
        """How zlib has to read what begins with this byte: some servers' `deflate` has no header."""
        if self._encoding == "gzip":
            return _GZIP
        return _ZLIB if first & 0x0F == 8 else _RAW  # 8 is zlib's number of the method
