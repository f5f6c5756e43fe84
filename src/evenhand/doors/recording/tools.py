"""A decorator that records what an application's own functions return, so that a run that replays need not run them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar, cast, overload

from evenhand.core.errors import CodeError, UsageError
from evenhand.core.record import Record
from evenhand.core.run import ToolRecord
from evenhand.engine.replay.application_calls import Begun, Tools, outcome
from evenhand.engine.strays import trial_here
from evenhand.engine.trial import LiveTrial

F = TypeVar("F", bound=Callable[..., Any])
_OWNERS = ("self", "cls")


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(*, name: str = ..., ignore: Iterable[str] = ...) -> Callable[[F], F]: ...


def tool(
    function: F | None = None, /, *, name: str = "", ignore: Iterable[str] = ()
) -> F | Callable[[F], F]:
    """Records the calls of a function, plain or async, in the trials of a run; elsewhere it is just the function.

    A run that replays gives back what was recorded for the same arguments, and does not run it: neither what it looks
    up nor what it changes happens. So decorate what only returns; what a trial checks the effects of, leave as it is.

    Args:
        function: Its arguments and what it returns are plain JSON. `self` and `cls` are no arguments.
        name: What the recording calls it; the function's own name by default.
        ignore: Parameters that are left out of the recording, as they have no form in JSON: a connection, say.

    Raises:
        UsageError: It is no function, a generator, or has no such parameter.
    """

    def wrap(function: F) -> F:
        return cast("F", _wrapped(function, name, frozenset(ignore)))

    return wrap if function is None else wrap(function)


def _wrapped(function: Callable[..., Any], name: str, ignore: frozenset[str]) -> Callable[..., Any]:
    if not callable(function) or isinstance(function, type):
        what = f"{function!r} is not a function"
        raise UsageError(what, hint="Write @recording.tool above a def.")
    recorded = _RecordedTool(function, name, ignore)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def called_async(*args: Any, **kwargs: Any) -> Any:
            call = recorded.begun(args, kwargs)
            if call is None:
                return await function(*args, **kwargs)
            if call.begun.known is not None:
                return call.replayed(call.begun.known)
            with call.noted() as result:
                result.append(await function(*args, **kwargs))
            return result[0]

        return called_async

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        call = recorded.begun(args, kwargs)
        if call is None:
            return function(*args, **kwargs)
        if call.begun.known is not None:
            return call.replayed(call.begun.known)
        with call.noted() as result:
            result.append(function(*args, **kwargs))
        return result[0]

    return called


class _Call(Record, frozen=True):
    """A call in a trial, which has begun."""

    tools: Tools
    trial: LiveTrial
    begun: Begun

    def replayed(self, known: ToolRecord) -> object:
        """What the recording says that it returned; raises what it raised."""
        with _halting(self.trial):
            return outcome(known)

    @contextmanager
    def noted(self) -> Iterator[list[Any]]:
        """Inside, the tool runs; what it returns is put into the list, and recorded, and so is what it raises."""
        results: list[Any] = []
        step = self.begun.step
        try:
            with nullcontext() if step is None else self.trial.within(step):
                yield results
        except Exception as error:
            self.tools.raised(self.trial, self.begun, error)
            raise
        with _halting(self.trial):
            self.tools.returned(self.trial, self.begun, results[0])


class _RecordedTool:
    """A function that is recorded, and how its arguments are named.

    Raises:
        UsageError: It is a generator, or has no such parameter.
    """

    def __init__(self, function: Callable[..., Any], name: str, ignore: frozenset[str]) -> None:
        self.name = name or function.__qualname__.rpartition("<locals>.")[2]
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise UsageError(f"the tool {self.name} is a generator", hint="Return a list instead.")
        self._signature = inspect.signature(function)
        parameters = list(self._signature.parameters)
        unknown = ", ".join(sorted(ignore.difference(parameters)))
        if unknown:
            raise UsageError(f"the tool {self.name} has no parameter {unknown} to ignore")
        owner = [one for one in parameters[:1] if one in _OWNERS]
        self._ignored = ignore.union(owner)

    def begun(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> _Call | None:
        """The call that begins; None where it is no trial's, and just runs.

        Raises:
            TypeError: It is called with what it does not take.
            CodeError: With what has no form in JSON.
            NotRecorded: It is not recorded, and nothing may run that is not.
        """
        trial = trial_here()
        tools = getattr(trial.asker, "tools", None) if trial is not None else None
        if trial is None or trial.over or not isinstance(tools, Tools):
            return None
        bound = self._signature.bind(*args, **kwargs)
        # A call that leaves a default out has the same recording as one that gives it.
        bound.apply_defaults()
        named = {key: v for key, v in bound.arguments.items() if key not in self._ignored}
        with _halting(trial):
            return _Call(tools, trial, tools.begin(trial, self.name, named))


@contextmanager
def _halting(trial: LiveTrial) -> Iterator[None]:
    """Sees to it that what cannot be recorded keeps its trial from a verdict, whatever the application makes of it."""
    try:
        yield
    except CodeError as error:
        trial.halt(error)
        raise
