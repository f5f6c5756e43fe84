"""Values as JSON text for programs, a document at a time or piece by piece."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TextIO

import msgspec

from evenhand.core.encoding import encode

_LONE = re.compile("[\ud800-\udfff]")
_NOT_ASCII = re.compile("[^\x00-\x7f]")
_encoder = msgspec.json.Encoder()


def json_text(value: object) -> str:
    """A value as one line of JSON, its keys in their own order, whatever text a model wrote."""
    try:
        return _encoder.encode(value).decode()
    except (UnicodeEncodeError, ValueError, TypeError):  # a lone surrogate, as a rule
        pass
    if isinstance(value, msgspec.Struct):
        value = msgspec.to_builtins(value)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        text = encode(value).decode()
    # Half a character cannot be written as UTF-8; its escape can.
    return _LONE.sub(_escaped, text)


def writer(out: TextIO) -> Callable[[str], object]:
    """Writes JSON to a stream, with escapes where its encoding has no such character."""
    coding = (getattr(out, "encoding", None) or "utf-8").lower().replace("-", "")
    if coding in ("utf8", "utf16", "utf32"):
        return out.write
    return lambda text: out.write(_NOT_ASCII.sub(_escaped, text))


def _escaped(match: re.Match[str]) -> str:
    return json.dumps(match.group())[1:-1]
