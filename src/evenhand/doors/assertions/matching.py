"""Names of spans, tools and skills against patterns: `*` for anything, `?` for one character, capitals as you like."""

from __future__ import annotations

import re
from functools import lru_cache


def matches(name: str, pattern: str) -> bool:
    """Whether all of a name is what a pattern says."""
    return _compiled(pattern).fullmatch(name) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    # What `.` matches in JavaScript, in which promptfoo compares these names.
    escaped = re.escape(pattern).replace(r"\*", r"[^\n\r\u2028\u2029]*")
    return re.compile(escaped.replace(r"\?", r"[^\n\r\u2028\u2029]"), re.IGNORECASE)
