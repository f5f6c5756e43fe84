"""Regular expressions that are compiled when they are first used, and not when their module is imported.

A plain run imports some hundred of them and uses a quarter: compiling the others was a fifteenth of its start.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast


class _Uncompiled(Generic[AnyStr]):
    """Stands for a compiled expression until something is asked of it."""

    def __init__(self, expression: AnyStr, flags: int) -> None:
        self._written = expression, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._written), name)
        setattr(self, name, value)  # so that this is asked for once
        return value


def pattern(expression: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The expression, to be used like what `re.compile` returns, but not as an argument of a function of `re`."""
    return cast("re.Pattern[AnyStr]", _Uncompiled(expression, flags))
