"""What is a secret in a config: it is used, and written nowhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

HIDDEN = "[redacted]"
_SECRET = re.compile(
    r"(api[-_]?key|(access|private|secret)[-_]?key|secret|token|pass(word|wd|phrase)?|pwd|auth(orization)?|"
    r"credential|cookie)s?$",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"\b(?:sk-[\w-]{16,}|AIza[\w-]{30,}|(?:gsk|hf|xai)[_-]\w{20,}|Bearer\s+[\w.~+/-]{8,})"
    r"|(?<=://)[^/@\s:]+:[^/@\s]+(?=@)"  # who asks, in an address
    r"|(?<=[?&])(?i:[\w-]*(?:key|token|secret|password|sig|signature))=[^&#\s]+"
)
_VARIABLE = re.compile(r"[A-Z0-9_]*(KEY|PAT)")  # of an environment


def redacted(value: object) -> object:
    """A value without its secrets: text under a key such as apiKey or authorization, and what looks like a key."""
    if isinstance(value, str):
        return _KEY.sub(HIDDEN, value)
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value)
        return {
            k: HIDDEN
            if isinstance(v, str) and (_SECRET.search(k) or _VARIABLE.fullmatch(k))
            else redacted(v)
            for k, v in items.items()
        }
    if isinstance(value, list):
        return [redacted(item) for item in cast("list[object]", value)]
    return value
