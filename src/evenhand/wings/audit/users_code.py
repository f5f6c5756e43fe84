"""Code of the user's while made answers are scored: nothing is sent, and no text is given twice to a slow function.

How this works: an audit hook of the interpreter sees every connection that Python code makes, before it is made. Hooks
stay for as long as the process lasts; this one does nothing outside of `nothing_sent`. Addresses of this machine are
let through: an application may have its database there. Other processes that the code starts aren't seen.
"""

from __future__ import annotations

import ipaddress
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType

from evenhand.core.definition import definition_of
from evenhand.core.errors import CodeError
from evenhand.core.expect import Expectation
from evenhand.core.score import Outcome
from evenhand.scorers.function import FunctionScorer

_lock = threading.Lock()
_state = {"inside": 0, "hooked": 0}
refused: list[str] = []
"""The hosts to which connections were refused, one for each time."""


@contextmanager
def nothing_sent() -> Iterator[None]:
    """Inside, connections to other machines are refused, in all threads."""
    with _lock:
        if not _state["hooked"]:
            sys.addaudithook(_look)
            _state["hooked"] = 1
        _state["inside"] += 1
    try:
        yield
    finally:
        with _lock:
            _state["inside"] -= 1


def _look(event: str, arguments: tuple[object, ...], state: Mapping[str, int] = _state) -> None:
    # A hook outlives the names of its module: when Python ends, they are gone, and what it was given is not.
    if not state["inside"] or event not in ("socket.connect", "socket.getaddrinfo"):
        return
    address = arguments[1] if event == "socket.connect" else arguments[0]
    host = address[0] if isinstance(address, tuple) and address else address
    if isinstance(address, tuple | str | bytes) and not _is_here(host, event):
        refused.append(str(host))
        raise CodeError(
            f"the audit sends nothing, and the code connects to {host!r}",
            hint="Ask the `model` that the eval gets, or give the client evenhand.recording.http_client().",
        )


def _is_here(host: object, event: str) -> bool:
    """Whether a host is this machine: by its name or its address; a path of a Unix socket is."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if not isinstance(host, str) or host in ("", "localhost") or host.startswith(("/", "\0")):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return event == "socket.connect"  # a name: looking it up has been refused


MOST = 100_000


class Memory:
    """The outcomes of functions that are given nothing but the output, by what they are and what they were given."""

    def __init__(self) -> None:
        self._outcomes: dict[tuple[object, ...], Outcome] = {}

    def key(self, expectation: Expectation) -> tuple[object, ...] | None:
        """What its outcome hangs on; None where that is more than the text."""
        scorer, value = expectation.scorer, expectation.value
        if not isinstance(scorer, FunctionScorer) or not isinstance(value, str):
            return None
        function = scorer.function
        # What a function was given when it was made may be the case, or anything.
        if not isinstance(function, FunctionType) or function.__closure__ or function.__defaults__:
            return None
        if scorer.takes_case:
            return None
        terms = definition_of(scorer)
        bounds = (expectation.at_least, expectation.at_most, expectation.weight, expectation.metric)
        return (terms.kind, *sorted(terms.settings.items()), expectation.label, *bounds, value)

    def get(self, key: tuple[object, ...] | None) -> Outcome | None:
        """The outcome; None for one that isn't known."""
        return None if key is None else self._outcomes.get(key)

    def put(self, key: tuple[object, ...] | None, outcome: Outcome) -> None:
        """Remembers an outcome."""
        if key is not None and len(self._outcomes) < MOST:
            self._outcomes[key] = outcome
