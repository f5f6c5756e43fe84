"""Whether a test has put something of its own in place of the network, below what is wrapped here.

respx and VCR.py replace methods of httpcore, or the connections of urllib3: their answers are what the test wants.
"""

from __future__ import annotations

from typing import Any

_CONNECTIONS = ("urllib3", "botocore")


def answers_httpx(transport: Any, before: Any) -> bool:
    """Whether something else than the library answers what this transport sends.

    Args:
        transport: One of httpx's or httpx2's.
        before: Its method that sends, as it was before it was wrapped.
    """
    if _library(before) != _library(type(transport)) and _library(before) not in (
        "httpx",
        "httpx2",
    ):
        return True
    pool: Any = type(getattr(transport, "_pool", transport))
    methods = (getattr(pool, name, pool) for name in ("handle_request", "handle_async_request"))
    return any(_library(method) != _library(pool) for method in methods)


def answers_urllib3(pool: Any) -> bool:
    """Whether the connections of this pool are none of urllib3's or botocore's."""
    return _library(pool.ConnectionCls) not in _CONNECTIONS


def _library(thing: Any) -> str:
    return str(getattr(thing, "__module__", "")).partition(".")[0]
