"""Calls of an application's own tools: recorded in the run's file, and answered from recordings where a run replays."""

from __future__ import annotations

import builtins
import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from msgspec import field
from msgspec.structs import replace

from evenhand.core.encoding import decode, digest, encode
from evenhand.core.errors import CodeError, NotRecorded
from evenhand.core.json_shapes import as_mapping
from evenhand.core.record import Record
from evenhand.core.run import ToolRecord, ended
from evenhand.core.step import Step, record_of
from evenhand.engine.backing import RunJournal
from evenhand.engine.call_context import phase
from evenhand.engine.replay.answering import Replay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.engine.trial import LiveTrial


class Raised(CodeError):
    """A recorded tool raised an exception that can't be made again as it was: its class isn't loaded, for one."""


class Begun(Record, frozen=True):
    """A call of a tool that has begun.

    Attributes:
        record: What is known of it before it returns.
        known: What was recorded; None where the tool has to run.
        step: Its place among the trial's steps; None for a call that is none of the application under test.
    """

    record: ToolRecord
    known: ToolRecord | None
    step: int | None = None


class Tools(Record, frozen=True):
    """Records the calls of one run's tools. Any thread may call it.

    Attributes:
        replays: What answers them, by the variant's index; where there is nothing, they run.
        repeats: Trials run several times, and their tools once.
    """

    journal: RunJournal
    replays: Mapping[int, Replay]
    repeats: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, trial: LiveTrial, name: str, arguments: Mapping[str, Any]) -> Begun:
        """Looks a call up.

        Raises:
            CodeError: The arguments have no form in JSON.
            NotRecorded: It is not recorded, and nothing may run that is not.
        """
        try:
            data = encode(arguments)
        except (TypeError, ValueError) as error:
            raise CodeError(
                f"the tool {name} is called with what JSON has no form for: {error}",
                hint="Leave such arguments out of the recording: @recording.tool(ignore=('connection',)).",
            ) from None
        key = digest("tool", name, data)
        record = ToolRecord(trial.planned.index, name, key, self._nth(trial, key), data, b"null")
        step: int | None = None
        if phase.get() == "subject":
            own_step = Step("tool", name, decode(data), record=record_of("tool", key, record.nth))
            step = trial.step_log.add(own_step)
        replay = self.replays.get(trial.variant.index)
        if replay is None:
            # A trial that waited for a batch runs again, and goes on from what its tools returned the first time.
            earlier = self.journal.tool(record.trial, key, record.nth) if self.repeats else None
            if earlier is not None and step is not None:
                trial.step_ended(step, **ended(earlier))
            return Begun(record, earlier, step)
        known = replay.tool(trial, name, data, key, record.nth)
        if known is not None:
            self.journal.note_tool(
                replace(record, result=known.result, error=known.error, replayed=True)
            )
            if step is not None:
                seconds = replay.recordings.tool_seconds(known)
                trial.step_log.replayed(step, seconds, **ended(known))
        elif not replay.asks:
            raise missed(trial, replay.missed_tool(trial, name, data))
        return Begun(record, known, step)

    def _nth(self, trial: LiveTrial, key: str) -> int:
        """How many times the trial has made this very call before."""
        with self._lock:
            calls = trial.tools = trial.tools or {}
            calls[key] = calls.get(key, -1) + 1
            return calls[key]

    def returned(self, trial: LiveTrial, begun: Begun, value: object) -> None:
        """Records what a tool returned.

        Raises:
            CodeError: That is no plain JSON: replayed, it would be something else.
        """
        name = begun.record.name
        try:
            result = encode(value, ordered=False)
            same = decode(result) == value
        except (TypeError, ValueError) as error:
            message = f"the tool {name} returned what JSON has no form for: {error}"
            raise CodeError(message, hint=_RETURN) from None
        if not same:
            message = f"the tool {name} returned {type(value).__name__}, which JSON does not bring back as it is"
            raise CodeError(message, hint=_RETURN)
        self._noted(trial, begun, replace(begun.record, result=result))

    def raised(self, trial: LiveTrial, begun: Begun, error: Exception) -> None:
        """Records what a tool raised."""
        kind = type(error)
        try:
            arguments = decode(encode(list(error.args)))
        except (TypeError, ValueError):
            arguments = [str(error)]
        description = {
            "type": kind.__qualname__,
            "module": kind.__module__,
            "args": arguments,
            "text": _text(error),
            "attributes": dict(_attributes(error)),
        }
        self._noted(trial, begun, replace(begun.record, error=encode(description)))

    def _noted(self, trial: LiveTrial, begun: Begun, record: ToolRecord) -> None:
        self.journal.note_tool(record)
        if begun.step is not None:
            trial.step_ended(begun.step, **ended(record))


_RETURN = (
    "Return text, numbers, lists and dicts with text as keys; make it that before it is returned."
)


def outcome(record: ToolRecord) -> object:
    """What a recorded call returned.

    Raises:
        Exception: What it raised.
    """
    if record.error:
        raise exception(record)
    return decode(record.result)


def exception(record: ToolRecord) -> Exception:
    """What a recorded call raised: of the same class, with the same text and the attributes that JSON has a form for.

    Where that can't be, it is a `Raised`.
    """
    description = cast("dict[str, Any]", decode(record.error))
    name, module = str(description.get("type")), str(description.get("module"))
    where = builtins if module == "builtins" else sys.modules.get(module)
    kind = functools.reduce(lambda at, part: getattr(at, part, None), name.split("."), where)
    arguments = cast("list[Any]", description.get("args") or [])
    if isinstance(kind, type) and issubclass(kind, Exception):
        with suppress(Exception):  # whatever its class makes of being made like this
            error = cast("Exception", kind.__new__(kind, *arguments))
            error.args = tuple(arguments)
            for key, value in as_mapping(description.get("attributes")).items():
                setattr(error, key, value)
            if _text(error) == description.get("text", _text(error)):
                return error
    text = description.get("text") or " ".join(map(str, arguments))
    return Raised(
        f"the tool {record.name} raised {name}, which a replay can't bring back as it was: {text}",
        hint="Catch it in the tool and return what is made of it, or raise an exception of your own there.",
    )


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 (its class is the user's)
        return ""


_OF_THE_SYSTEM = ("errno", "strerror", "filename", "filename2")


def _attributes(error: Exception) -> Iterator[tuple[str, Any]]:
    """What an exception carries beside its arguments, where JSON brings it back as it is."""
    system = {name: getattr(error, name, None) for name in _OF_THE_SYSTEM}
    own = {name: value for name, value in vars(error).items() if name != "__notes__"}
    for name, value in {**(system if isinstance(error, OSError) else {}), **own}.items():
        with suppress(TypeError, ValueError):
            data = encode(value, ordered=False)
            if value is not None and decode(data) == value:
                yield name, decode(data)


def missed(trial: LiveTrial, error: NotRecorded) -> NotRecorded:
    """Sees to it that the trial has no verdict, whatever its code makes of the error."""
    trial.halt(error)
    return error
