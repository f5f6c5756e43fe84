"""Names of Python's own modules that the run needs, and what becomes of them if code of the user's replaces them.

How this works: as a run starts, the values of these names are noted, and how many files may be open. Whenever a call of
the user's code ends, they are compared, in C and by identity: some 3 µs. A name that a call has replaced, and not put
back, is put back, and is an error of the trial that the call belongs to. What a library replaces stays: it knows what
it does (`nest_asyncio` does it when it is imported, which may be in a trial).

A call that waits may have replaced a name for as long as it lasts, as `mock.patch` does. So if others are under way as
a name is found replaced, it is left until those are over; then any of them may have done it, and each is told so. A
name of `builtins` is put back at once, as nothing works without. Until it is back, nothing here uses a builtin.
"""

from __future__ import annotations

import builtins
import contextlib
import resource
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Mapping
from operator import itemgetter
from typing import Any, Protocol, TypeVar

from evenhand.core.case import Case
from evenhand.core.errors import CodeError
from evenhand.core.users_code import is_installed, is_users

T = TypeVar("T")

_NOT_USED = frozenset(
    "breakpoint copyright credits exit help input license print quit None True False".split()
)
"""Builtins that the run does not use, as names: they are for people, or words of the language."""
NEEDED: Mapping[str, frozenset[str]] = {
    "builtins": frozenset(
        name for name in vars(builtins) if name[0] != "_" and name not in _NOT_USED
    )
    | {"__import__", "__build_class__"},
    "asyncio": frozenset(
        "AbstractEventLoop BaseProtocol BaseTransport CancelledError Event FIRST_COMPLETED Future Handle Lock Protocol "
        "Queue ReadTransport Runner SelectorEventLoop Semaphore StreamReader StreamReaderProtocol Task TimerHandle "
        "Transport WriteTransport _get_running_loop _unregister_task all_tasks create_subprocess_exec create_task "
        "current_task ensure_future gather get_running_loop new_event_loop run run_coroutine_threadsafe set_event_loop "
        "shield subprocess timeout to_thread wait wait_for wrap_future".split()
    ),  # not `sleep`, which applications replace to lose no time: we use that of before
    "json": frozenset("JSONDecodeError JSONDecoder JSONEncoder dump dumps load loads".split()),
    "sqlite3": frozenset(
        "Connection Cursor DatabaseError Error IntegrityError OperationalError ProgrammingError Row SQLITE_AUTH "
        "SQLITE_BUSY SQLITE_CANTOPEN SQLITE_CORRUPT SQLITE_FULL SQLITE_IOERR SQLITE_LOCKED SQLITE_NOMEM SQLITE_NOTADB "
        "SQLITE_PERM SQLITE_READONLY SQLITE_READONLY_ROLLBACK SQLITE_TOOBIG connect".split()
    ),
}
"""The names that the run needs, by module."""
_FILES = resource.RLIMIT_NOFILE
_NONE_OF_OURS = frozenset(("unittest", "mock", "functools", "builtins", "types"))
"""What wraps or stands in for something in whoever's name."""
_NAMED = 3
_limits = resource.getrlimit
_Raised, _Missing = BaseException, object()


class Accused(Protocol):
    """A trial whose code may have done it."""

    @property
    def case(self) -> Case:
        """The trial's case."""
        ...

    def blame(self, problem: CodeError) -> None:
        """Keeps it from passing."""
        ...


class _Module:
    """The names of one module, and what they are."""

    __slots__ = ("name", "names", "pick", "saved", "values")

    def __init__(self, module: str, needed: frozenset[str]) -> None:
        self.name, self.names = module, vars(sys.modules[module])
        self.saved = {one: self.names[one] for one in needed if one in self.names}
        self.pick: Callable[[Mapping[str, Any]], tuple[Any, ...]] = itemgetter(*self.saved)
        self.values = self.pick(self.saved)

    def adopt(self, name: str, value: object) -> None:
        """Takes a value for the right one."""
        self.names[name] = self.saved[name] = value
        self.values = self.pick(self.saved)


class _Watch:
    """What is watched, and who is at work."""

    runs = 0
    modules: tuple[_Module, ...] = ()
    limit: tuple[int, int] = (0, 0)
    message = ""
    """What was replaced last, and by whom."""


_watch = _Watch()
_lock = threading.RLock()
_under_way: dict[object, users_call] = {}
_suspects: dict[object, users_call] = {}
"""The calls one of which has replaced something that is not put back yet."""


@contextlib.contextmanager
def names_watched() -> Iterator[None]:
    """Inside, what the run needs is watched; in the end all of it is what it was."""
    with _lock:
        if not _watch.runs:
            _watch.limit, _watch.message = _limits(_FILES), ""
            _watch.modules = tuple(_Module(*item) for item in NEEDED.items())
        _watch.runs += 1
    try:
        yield
    finally:
        _put_back()
        with _lock:
            _watch.runs -= 1
            if not _watch.runs:
                _watch.modules = ()
                _suspects.clear()


def told() -> str:
    """What code of the user's has replaced in the last run, and whose code it was; empty for nothing."""
    return _watch.message


def trouble() -> str:
    """What the user's code has replaced, after an error of ours that may come of it; what still is, is put back."""
    if _watch.modules and not _is_intact():
        _accuse({**_suspects, **_under_way})
    return _watch.message


class users_call:  # noqa: N801 (used like a function)
    """Around a call of the user's code: what it replaced and did not put back is an error of its trial.

    Args:
        trial: Whose code it is; None for none.
    """

    __slots__ = ("name", "trial")

    def __init__(self, name: str, trial: Accused | None) -> None:
        self.name, self.trial = name, trial

    def label(self) -> str:
        """What was called, and for which case."""
        return self.name if self.trial is None else f"{self.name} ({self.trial.case.id})"

    def __enter__(self) -> None:
        _under_way[self] = self
        # For `strays`, from the first call of each thread on. A run without the user's code makes coroutines only of
        # ours, and noting where each was made is a twentieth of what a call costs.
        if not sys.get_coroutine_origin_tracking_depth():
            sys.set_coroutine_origin_tracking_depth(1)

    def __exit__(self, *_: object) -> None:
        _under_way.pop(self, None)
        if _watch.modules:
            if _is_intact():
                if _suspects:
                    _suspects.clear()
            else:
                _look(self)


class Watched(Awaitable[T]):
    """What an async function of the user's returns, awaited as a call of it."""

    def __init__(self, work: Awaitable[T], name: str, trial: Accused) -> None:
        self._work, self._call = work, users_call(name, trial)

    def __await__(self) -> Generator[Any, Any, T]:
        with self._call:
            return (yield from self._work.__await__())

    def close(self) -> None:
        """Gives it up before it has begun."""
        if isinstance(self._work, Coroutine):
            self._work.close()


def _is_intact() -> bool:
    try:
        for one in _watch.modules:
            if one.pick(one.names) != one.values:
                return False
    except _Raised:  # one is gone, or can't be compared
        return False
    return _limits(_FILES) == _watch.limit


def _look(call: users_call) -> None:
    """At the end of a call, something is not what it was."""
    with _lock:
        if _suspects:
            _suspects[call] = call
        else:
            _suspects.update(_under_way)
            _suspects[call] = call
        first = _watch.modules[0]
        waits = False
        for one in _suspects:
            if one in _under_way:
                waits = True
        if waits and first.pick(first.names) == first.values and _limits(_FILES) == _watch.limit:
            return
        _accuse(_suspects.copy())


def _accuse(calls: Mapping[object, users_call]) -> None:
    """Puts everything back, and notes the error in the trials of which one has done it."""
    with _lock:
        replaced = _put_back()
        _suspects.clear()
    if not replaced:
        return
    what, place = " and ".join(name for name, _ in replaced[:_NAMED]), replaced[0][1]
    names = [*dict.fromkeys(call.label() for call in calls.values())]
    if len(names) > _NAMED:
        names[_NAMED:] = [f"one of {len(names) - _NAMED} more"]
    who = " or ".join(names) or "code of yours"
    message = f"{who} {what}, which the run needs, and did not put it back"
    _watch.message = message
    problem = CodeError(
        message, hint=f"Put it back before it ends, as mock.patch does. {place}".strip()
    )
    trials = [call.trial for call in calls.values() if call.trial is not None]
    for trial in trials:
        trial.blame(problem)
    if not trials and len(calls) == 1:
        raise problem


def _put_back() -> list[tuple[str, str]]:
    """Makes everything what it was. What had been replaced, each with where what stood in its place is from."""
    before: list[tuple[_Module, dict[str, Any]]] = []
    for one in _watch.modules:
        before += ((one, one.names.copy()),)
        one.names.update(one.saved)
    replaced: list[tuple[str, str]] = []
    for one, names in before:
        for name, own in list(one.saved.items()):
            value = names.get(name, _Missing)
            if value is own:
                continue
            if _is_of_library(name, value):
                one.adopt(name, value)
            else:
                replaced.append((f"replaced {one.name}.{name}", _place_of(value)))
    if _watch.modules and _is_lower():
        replaced.append(("lowered the limit of open files", ""))
    return replaced


def _is_lower() -> bool:
    """Whether fewer files may be open than before. As far as we may change that, there may be as many again."""
    (soft, hard), (was, most) = _limits(_FILES), _watch.limit
    infinite = resource.RLIM_INFINITY
    lower = soft not in (was, infinite) and (was == infinite or soft < was)
    if lower:
        for try_ in ((was, most), (hard if hard != infinite else was, hard)):
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(_FILES, try_)
                break
    _watch.limit = _limits(_FILES)
    return lower


def _is_of_library(name: str, value: object) -> bool:
    """Whether an installed library put this there, or it is Python's own of the same name."""
    code = getattr(value, "__code__", None)
    owner = value if isinstance(value, type) or code is not None else type(value)
    module = str(getattr(owner, "__module__", "")) or "builtins"
    file = code.co_filename if code is not None else _file_of(module)
    if not file or is_users(file) or module.partition(".")[0] in _NONE_OF_OURS:
        return False
    return is_installed(file) or getattr(owner, "__qualname__", "") == name


def _file_of(module: str) -> str:
    return str(getattr(sys.modules.get(module), "__file__", "") or "")


def _place_of(value: object) -> str:
    """Where a function is from, as `file:line`; empty for anything else."""
    code = getattr(value, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""
