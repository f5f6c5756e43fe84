"""Tools that an agent is given in a trial, and what it did with them."""

from __future__ import annotations

import copy
import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, TypeVar, cast

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import EvenhandError, UsageError, first_line
from evenhand.core.json_shapes import as_mapping
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.step import Step
from evenhand.doors.conversations.users import named
from evenhand.engine.call_context import phase
from evenhand.engine.trial import LiveTrial, present

F = TypeVar("F", bound=Callable[..., Any])

_failure: ContextVar[list[str] | None] = ContextVar("evenhand_tool_failure", default=None)
"""Where the tool that is called for a model puts why it failed: it makes the first entry, and those that it calls see
that there is one. None where no model asked."""


NO_ARGUMENTS: Mapping[str, Any] = MappingProxyType({})


class Called(Record, frozen=True):
    """A call of a tool.

    Attributes:
        arguments: What it was called with, by name.
        result: What it returned; None where it failed.
        error: Why it failed, in words; empty where it did not.
    """

    name: str
    arguments: Mapping[str, Any]
    result: Any = None
    error: str = ""


class ToolFailedError(Exception):
    """A tool failed, and its message is for the agent as it stands."""


class Toolbox:
    """Tools, by name, and the calls that were made of them, in their order."""

    _for_several = False
    """Whether the tools of one box may be called in several trials: not where they act on one state."""

    def __init__(self) -> None:
        self._tools: dict[str, Callable[..., Any]] = {}
        self._calls: list[tuple[weakref.ref[LiveTrial] | None, Called]] = []
        self._owner: weakref.ref[LiveTrial] | None = None
        self._lock = threading.Lock()

    @property
    def tools(self) -> Mapping[str, Callable[..., Any]]:
        """The tools by name: functions to give to an agent. Their calls are noted."""
        return dict(self._tools)

    @property
    def calls(self) -> tuple[Called, ...]:
        """The calls so far, those that failed too; in a trial, its own and those that belong to none."""
        trial = present.get()
        calls = list(self._calls)
        return tuple(call for of, call in calls if None in (trial, of) or (of and of() is trial))

    def tool(self, function: F, /) -> F:
        """Makes a function, plain or async, a tool: a decorator. Its calls are noted; it does what it does.

        Raises:
            UsageError: It is no function, or there is a tool of this name.
        """
        if not callable(function) or isinstance(function, type):
            raise UsageError(
                f"{function!r:.60} is not a function", hint="Write @world.tool above a def."
            )
        name = named(function).rpartition(".")[2]
        if name in self._tools:
            raise UsageError(f"there is a tool {name} already", hint="Rename one.")
        noted = self._noted(name, function)
        self._tools[name] = noted
        return cast("F", noted)

    def _noted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)

        def by_name(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                self._refused(name, _copied(kwargs), f"{name}: {error}")
                raise
            named = dict(bound.arguments)
            for parameter in signature.parameters.values():
                if parameter.kind is parameter.VAR_KEYWORD:  # `**arguments`: each is one of its own
                    named |= named.pop(parameter.name, {})
            # A tool may change what it is given; what is noted is what the agent sent.
            return {parameter: _copied(value) for parameter, value in named.items()}

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def called_async(*args: Any, **kwargs: Any) -> Any:
                with self._calling(name, by_name(args, kwargs)) as results:
                    results.append(await function(*args, **kwargs))
                return results[0]

            return called_async

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self._calling(name, by_name(args, kwargs)) as results:
                results.append(function(*args, **kwargs))
            return results[0]

        return called

    @contextmanager
    def _calling(self, name: str, arguments: Mapping[str, Any]) -> Generator[list[Any]]:
        """Inside, a tool runs; its result is put into the list. The call is noted, and is a step of its trial."""
        self._need_one_trial()
        results: list[Any] = []
        failure = _failure.get()
        if failure:  # it is called by the tool that a model asked for
            failure = None
        elif failure is not None:
            failure.append("")
        with _step_of(name, arguments) as ended:
            try:
                yield results
            except Exception as error:
                message = _said(error)
                if failure is not None:
                    failure[0] = message
                self._note(Called(name, arguments, error=message))
                ended(status="error", error=message)
                raise
            self._note(Called(name, arguments, _copied(results[0])))
            ended(status="ok", result=_plain(results[0]))

    def _refused(
        self, name: str, arguments: Mapping[str, Any] | None, error: str
    ) -> dict[str, str]:
        """A call that reaches no tool is a call that failed: what the model is told of it."""
        self._need_one_trial()
        call_arguments = dict(arguments or {})
        self._note(Called(name, call_arguments, error=error))
        with _step_of(name, call_arguments) as ended:
            ended(status="error", error=error)
        return {"error": error}

    def _note(self, call: Called) -> None:
        trial = present.get()
        # Plain tools run in threads, several at a time.
        with self._lock:
            self._calls.append((None if trial is None else weakref.ref(trial), call))

    def _need_one_trial(self) -> None:
        """Refuses calls of a second trial, which would act on what the first one left.

        Raises:
            UsageError: Another trial has called tools of this box. The trial is an error, whatever its agent makes of
                that.
        """
        trial = present.get()
        if self._for_several or trial is None or trial.over:
            return
        with self._lock:
            owner = self._owner = self._owner or weakref.ref(trial)
        if owner() is not trial:
            error = UsageError(
                "several trials call the tools of one world, and each would find what another one left",
                hint="Make the world in a fixture, so that each trial has its own: @evals.fixture.",
            )
            trial.halt(error)
            raise error

    async def call(self, name: str, arguments: Mapping[str, Any] | None = NO_ARGUMENTS) -> Any:
        """Calls a tool as a model asks for it. What goes wrong is what it returns, for the model: `{"error": …}`.

        Args:
            arguments: By name, by default none; None where the model's arguments were no JSON.
        """
        tool = self._tools.get(name)
        if tool is None:
            there = did_you_mean(name, self._tools) or f"There are: {', '.join(self._tools)}."
            return self._refused(name, arguments, f"there is no tool '{name}'. {there}")
        if arguments is None:
            return self._refused(name, None, "the arguments are not a JSON object")
        try:
            # Checked before the call, because a TypeError from inside the tool looks the same.
            inspect.signature(tool).bind(**arguments)
        except TypeError as error:
            return self._refused(name, arguments, f"{name}: {error}")
        failure: list[str] = []
        _failure.set(failure)
        try:
            trial = present.get()
            if trial is not None and not trial.over:
                return await trial.call(
                    functools.partial(tool, **arguments), name=f"the tool {name}"
                )
            result = tool(**arguments)
            return await result if inspect.isawaitable(result) else result
        except EvenhandError as error:
            # The trial wraps what a tool raised, and raises by itself where the tool takes too long.
            if any(failure):
                return {"error": failure[0]}
            raise error from None
        except Exception as error:  # noqa: BLE001 (a tool may raise anything: the model is told)
            return {"error": _said(error)}
        finally:
            # Not reset: what is closed at the end of the run is closed in another context.
            _failure.set(None)

    def redo(self, calls: Iterable[Called | Mapping[str, Any]]) -> None:
        """Makes calls again that changed the world in an earlier conversation, to go on where it was.

        Those that failed are left out. Tools that are async cannot be called from here.

        Raises:
            UsageError: There is no such tool, or it is async.
        """
        for one in calls:
            call = one if isinstance(one, Called) else called_of(one)
            if call.error:
                continue
            tool = self._tools.get(call.name)
            if tool is None or inspect.iscoroutinefunction(tool):
                what = "is async" if tool else "is not here"
                raise UsageError(
                    f"the tool {call.name}, which an earlier conversation called, {what}"
                )
            tool(**call.arguments)


@contextmanager
def _step_of(name: str, arguments: Mapping[str, Any]) -> Generator[Callable[..., None]]:
    """Inside, a tool runs, as a step of the trial whose agent calls it; of none while the trial is prepared."""
    trial = present.get()
    if trial is None or trial.over or phase.get() != "subject":
        yield lambda **_: None
        return
    place = trial.step(Step("tool", name, _plain(arguments)))
    with trial.within(place):
        yield functools.partial(trial.step_ended, place)


def _plain(value: object) -> Any:
    """A value as JSON has it; in words where JSON has no form for it."""
    try:
        return decode(encode(value, ordered=False))
    except (TypeError, ValueError):
        return f"{value!r:.500}"


def _copied(value: Any) -> Any:
    """A copy of a value, which stays as it is whatever becomes of the value; in words where there can be none."""
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 (a lock or a connection can't be copied, and says so in its own way)
        return f"{value!r:.500}"


def called_of(fields: Mapping[str, Any]) -> Called:
    """A call, as a run keeps it."""
    arguments = fields.get("arguments")
    return Called(
        str(fields.get("name", "")),
        as_mapping(arguments),
        fields.get("result"),
        str(fields.get("error") or ""),
    )


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, ToolFailedError) else first_line(error)
