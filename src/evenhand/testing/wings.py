"""The promises of a wing, as a check to call from a test of the package that brings it: docs/write-a-wing.md."""

from __future__ import annotations

import inspect
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO, cast

import msgspec

from evenhand.core.errors import EvenhandError
from evenhand.core.plugins import IMPORTERS, Plugin
from evenhand.core.wing import Command, Wing, imported
from evenhand.doors.importers.packaged import recordings_of
from evenhand.store.runfile import RunFile

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_FORMAT = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)+/\d+")


def check_wing(
    wing: Wing, *, run: RunFile | None = None, files: Mapping[str, Sequence[Path]] | None = None
) -> None:
    """A wing keeps its promises: whatever its record names is there, and is what it has to be.

    Args:
        wing: The wing.
        run: A run that its exporters write; None to write none.
        files: Files that its importers read, by the importer's name.

    Raises:
        AssertionError: It names the promise that is broken.
    """
    _promise(bool(_NAME.fullmatch(wing.name)), f"{wing.name!r}: a wing's name is in lower case")
    _promise(wing.summary.endswith("."), f"{wing.name}: the summary is a sentence")
    for name, command in wing.commands.items():
        _check_command(name, command, _at(command.place))
    for name, exporter in wing.exporters.items():
        _check_exporter(name, _at(exporter.place), run, compares=exporter.compares)
    for name, importer in wing.importers.items():
        _check_importer(wing, name, importer.place, (files or {}).get(name, ()))
    for name, place in wing.documents.items():
        _check_struct("document", name, _at(place))
    for name, place in wing.settings.items():
        _check_struct("settings", name, _at(place))
    for takes_two in (wing.folders, wing.datasets, wing.studies):
        for name, place in takes_two.items():
            _check_function(repr(name), _at(place), 2)
    for name, place in wing.destinations.items():
        _check_function(repr(name), _at(place), 1)
    for name, place in (*wing.run_names.items(), *wing.hooks.items()):
        _promise(_at(place) is not None, f"{name!r} is there")


def _at(place: str) -> object:
    _promise(place.count(":") == 1, f"{place!r} is module:attribute")
    try:
        return imported(place)
    except Exception as error:
        raise AssertionError(f"{place!r} is there: {type(error).__name__}: {error}") from error


def _check_command(name: str, entry: Command, command: object) -> None:
    import click  # noqa: PLC0415 (for those who check commands)

    _promise(isinstance(command, click.Command), f"command {name!r} is made with @click.command")
    command = cast("click.Command", command)
    _promise(bool(entry.summary), f"command {name!r} has a line for `evenhand --help`")
    _promise(bool(command.help), f"command {name!r} says in its docstring what it does")
    _promise(1 < len(entry.examples) < 5, f"command {name!r} has two to four examples")
    _promise(
        f"evenhand {name}" in entry.examples[0], f"command {name!r}: its first example is of it"
    )
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    for option in options:
        _promise(bool(option.help), f"command {name!r}: {option.opts[-1]} says what it is for")


def _check_struct(kind: str, name: str, struct: object) -> None:
    of = f"{kind} {name!r}"
    is_struct = isinstance(struct, type) and issubclass(struct, msgspec.Struct)
    _promise(is_struct, f"{of} is a msgspec Struct")
    struct = cast("type[msgspec.Struct]", struct)
    msgspec.json.schema(struct)
    if kind == "settings":
        _promise(bool(_NAME.fullmatch(name)), f"{of}: a table's name is in lower case")
        try:
            msgspec.convert({}, struct)
        except msgspec.ValidationError as error:
            _promise(False, f"{of}: every setting has a default ({error})")
    else:
        _promise(bool(_FORMAT.fullmatch(name)), f"{of} is a format such as acme.report/1")


def _check_exporter(name: str, export: object, run: RunFile | None, *, compares: bool) -> None:
    _check_function(f"exporter {name!r}", export, 3 if compares else 2)
    if run is None:
        return
    with io.TextIOWrapper(io.BytesIO(), "utf-8") as out:
        more = (None,) if compares else ()
        count = cast("Callable[..., int]", export)(run, cast("TextIO", out), *more)
        out.flush()
        written = len(out.buffer.getvalue())
    trials = sum(1 for _ in run.trials())
    _promise(count == trials, f"exporter {name!r} returns how many trials it wrote: {trials}")
    _promise(written > 0, f"exporter {name!r} writes something")


def _check_importer(wing: Wing, name: str, place: str, files: Sequence[Path]) -> None:
    _check_function(f"importer {name!r}", _at(place), 1)
    if not files:
        return
    recordings = recordings_of(Plugin(IMPORTERS, name, wing.name, "", place), files)
    _promise(
        bool(recordings.runs or recordings.datasets),
        f"importer {name!r} finds something in {files}",
    )
    for one in recordings.runs:
        for _ in one.trials():
            pass
    try:
        recordings_of(Plugin(IMPORTERS, name, wing.name, "", place), [Path("/no/such/file")])
    except EvenhandError:
        return
    _promise(False, f"importer {name!r} says that a file isn't there")


def _check_function(of: str, function: object, arguments: int) -> None:
    _promise(callable(function), f"{of} is a function")
    try:
        inspect.signature(cast("Callable[..., object]", function)).bind(*range(arguments))
    except TypeError:
        _promise(False, f"{of} takes {arguments} arguments")


def _promise(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)
