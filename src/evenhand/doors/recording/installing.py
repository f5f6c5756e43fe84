"""One line that has the model calls of a whole process recorded, whichever clients make them.

How this works: the classes with which HTTP libraries send are wrapped, so that clients that already exist are
recorded, too. A library that isn't imported yet is wrapped when it is: an import hook waits for it. A request goes
through the run where a trial is at work and it asks a model (`vendor_hosts`). All else is sent as it would be.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.abc
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Literal, Self

from evenhand.core.arguments import checked
from evenhand.core.message import CallRole
from evenhand.core.record import Record
from evenhand.doors.recording.wrapping import (
    aiohttp_sessions,
    framework_tools,
    httpx_transports,
    unseen,
    urllib3_pools,
)
from evenhand.doors.recording.wrapping.recorder import Recorder, Replaced, recorders
from evenhand.engine.call_context import checked_role
from evenhand.providers.app_call import Prices, checked_prices

CANNOT = (
    "gRPC, websockets (realtime models), http.client, other processes, models inside this process"
)
"""What isn't recorded. The first three are named in the run's report when they are used."""


class _Way(Record, frozen=True):
    """A library, and what is done about it once it is imported.

    Attributes:
        what: Whether its calls are recorded, its calls of tools are steps, or it is only watched.
        problem: Returns why this release can't be wrapped; empty where it can.
    """

    wrap: Callable[[Any], list[Replaced]]
    what: Literal["calls", "tools", "watched"] = "calls"
    problem: Callable[[Any], str] = lambda _: ""


_WAYS: Mapping[str, _Way] = {
    "httpx": _Way(httpx_transports.wrap),
    "httpx2": _Way(httpx_transports.wrap),
    "aiohttp": _Way(aiohttp_sessions.wrap, problem=aiohttp_sessions.problem),
    "urllib3": _Way(urllib3_pools.wrap),
    "http.client": _Way(unseen.watch_http_client, what="watched"),
    "grpc": _Way(unseen.watch_grpc, what="watched"),
    "websockets.asyncio.client": _Way(unseen.watch_websockets, what="watched"),
    "websockets.sync.client": _Way(unseen.watch_websockets, what="watched"),
    **{
        name: _Way(functools.partial(framework_tools.wrap, methods), what="tools")
        for name, methods in framework_tools.METHODS.items()
    },
}

_lock = threading.RLock()
_replaced: dict[str, list[Replaced]] = {}
_problems: dict[str, str] = {}


class Installed:
    """What `install` has put in place. As a context manager, it undoes that at its end.

    Attributes:
        recorder: How calls are recorded.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    @property
    def wrapped(self) -> tuple[str, ...]:
        """The libraries that are imported, and whose calls are recorded."""
        return tuple(
            name for name, way in _WAYS.items() if way.what == "calls" and name in _replaced
        )

    @property
    def frameworks(self) -> tuple[str, ...]:
        """The agent frameworks that are imported, and whose calls of tools become steps."""
        there = (
            n.partition(".")[0] for n, w in _WAYS.items() if w.what == "tools" and n in _replaced
        )
        return tuple(dict.fromkeys(there))

    @property
    def waiting(self) -> tuple[str, ...]:
        """The libraries that will be wrapped when they are imported."""
        missing = {*_WAYS}.difference(_replaced, _problems)
        return tuple(name for name, way in _WAYS.items() if way.what == "calls" and name in missing)

    @property
    def problems(self) -> tuple[str, ...]:
        """What couldn't be wrapped, and why; empty for nothing."""
        return tuple(_problems.values())

    def undo(self) -> None:
        """Takes it away again. A second time does nothing."""
        with _lock:
            mine = [i for i, one in enumerate(recorders) if one is self.recorder]
            if not mine:
                return
            del recorders[mine[0]]
            if recorders:
                return
            sys.meta_path.remove(_hook)
            for replaced in _replaced.values():
                for one in reversed(replaced):
                    one.put_back()
            _replaced.clear()
            _problems.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def __str__(self) -> str:
        versions = [
            f"{name} {getattr(sys.modules[name], '__version__', '')}".strip()
            for name in self.wrapped
        ]
        lines = [
            f"model calls are recorded through: {', '.join(versions) or 'nothing yet'}",
            *([f"and, once imported: {', '.join(self.waiting)}"] if self.waiting else []),
            *(
                [f"calls of tools are steps: {', '.join(self.frameworks)}"]
                if self.frameworks
                else []
            ),
            *(f"not recorded: {problem}" for problem in self.problems),
            f"can't be recorded: {CANNOT}",
        ]
        return "\n".join(lines)


@checked
def install(
    *, role: CallRole | None = None, prices: Prices | None = None, strict: bool = True
) -> Installed:
    """Records the model calls of the whole process, in trials; elsewhere, nothing changes.

        print(recording.install())

    Clients that are recording clients already stay so, and no call is recorded twice.

    Args:
        role: What calls are recorded as; None for set-up in a fixture, judge in a scorer, and subject elsewhere.
        prices: What models cost that the price list does not know: name → (US dollars per million tokens in, out).
        strict: Whether a call that can't be recorded, such as one of a plain client on the event loop, is an error.
            Otherwise it is sent, and the report names it.

    Returns:
        What is in place. Printed, it says which libraries are wrapped, and what can't be recorded.

    Raises:
        UsageError: A price is none.
    """
    recorder = Recorder(checked_role(role), checked_prices(prices), strict)
    with _lock:
        _begin(len(recorders), recorder)
    return Installed(recorder)


@contextlib.contextmanager
def recorded(*, strict: bool = False) -> Iterator[Installed]:
    """Inside, calls are recorded as a run does by itself; where `install` was called, as that was told.

    Args:
        strict: See `install`.
    """
    recorder = Recorder(None, {}, strict)
    with _lock:
        _begin(0, recorder)
    with Installed(recorder) as installed:
        yield installed


def _begin(place: int, recorder: Recorder) -> None:
    recorders.insert(place, recorder)
    if len(recorders) > 1:
        return
    sys.meta_path.insert(0, _hook)
    for name in _WAYS:
        if name in sys.modules:
            _wrap(name)


def _wrap(name: str) -> None:
    """Wraps a module that is imported."""
    with _lock:
        if not recorders or name in _replaced:
            return
        module, way = sys.modules[name], _WAYS[name]
        try:
            problem = way.problem(module)
            if not problem:
                _replaced[name] = way.wrap(module)
        except AttributeError as error:  # another module of this name, or one that is half imported
            problem = f"{name}: {error}"
        if problem:
            _problems[name] = problem


class _OnImport(importlib.abc.MetaPathFinder):
    """Wraps modules when they have been imported."""

    def __init__(self) -> None:
        self._asking = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders have, which wraps the module at its end; None for other modules."""
        del path, target  # the other finders are asked by name
        if fullname not in _WAYS or getattr(self._asking, "name", "") == fullname:
            return None
        self._asking.name = fullname
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asking.name = ""
        loader: Any = spec.loader if spec is not None else None
        if spec is None or loader is None:
            return None

        # A loader is made for its spec, so that this is said of one module.
        loader.exec_module = functools.partial(_executed, loader.exec_module, fullname)
        return spec


def _executed(before: Callable[[ModuleType], None], name: str, module: ModuleType) -> None:
    before(module)
    _wrap(name)


_hook = _OnImport()
