"""Whether a test has put something of its own in place of the network, below what is wrapped here.

respx and VCR.py replace methods of httpx or httpcore, or the connections of urllib3: their answers are what the test
wants. Tools that only watch, such as OpenTelemetry's, wrap a method as well, and go on to it.
"""

from __future__ import annotations

import inspect
from typing import Any

_HTTPX = ("httpx", "httpx2")
_URLLIB3 = ("urllib3", "botocore")
_MOCKS = ("vcr", "respx", "pytest_httpx", "responses", "requests_mock", "pook", "mocket")
"""These say which method they stand in for, as those do that only watch."""


def answers_httpx(transport: Any, before: Any) -> bool:
    """Whether something else than the library answers what this transport sends.

    Args:
        transport: One of httpx's or httpx2's.
        before: Its method that sends, as it was before it was wrapped.
    """
    if _is_replaced(before, *_HTTPX):
        return True
    pool: Any = type(getattr(transport, "_pool", transport))
    methods = (getattr(pool, name, None) for name in ("handle_request", "handle_async_request"))
    return any(_is_replaced(method, _library(pool)) for method in methods if method is not None)


def answers_urllib3(pool: Any, before: Any) -> bool:
    """Whether something else than urllib3 or botocore answers what this pool sends; see `answers_httpx`."""
    return _is_replaced(before, *_URLLIB3) or _is_replaced(pool.ConnectionCls, *_URLLIB3)


def _is_replaced(thing: Any, *libraries: str) -> bool:
    """Whether a method or a class that belongs to one of these libraries has been replaced."""
    code = getattr(thing, "__globals__", {}).get("__name__", "")
    if code.partition(".")[0] in _MOCKS:
        return True
    return _library(thing if isinstance(thing, type) else inspect.unwrap(thing)) not in libraries


def _library(thing: Any) -> str:
    return str(getattr(thing, "__module__", "")).partition(".")[0]
