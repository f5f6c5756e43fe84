"""Tools that answer from a table: what they were called with → what they return. They change nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from weakref import WeakKeyDictionary

from evenhand.core.arguments import checked_class
from evenhand.core.encoding import decode, digest, encode
from evenhand.core.errors import CodeError, UsageError
from evenhand.core.run import ToolRecord
from evenhand.doors.conversations.toolbox import Toolbox
from evenhand.engine.replay.application_calls import outcome
from evenhand.engine.trial import LiveTrial, present
from evenhand.store.encoding import written_case
from evenhand.store.run_lookup import find
from evenhand.store.runfile import RunFile

Rows = Sequence[tuple[Mapping[str, Any], Any]]
_NOTHING = object()


@checked_class
class ToolTable(Toolbox):
    """Tools by name, each with what it returns for which arguments.

        ToolTable({"find_order": [({"id": "1042"}, {"state": "late"})]}, otherwise={"error": "not found"})

    Args:
        table: Tool → rows of arguments, by name, and a result, both plain JSON. Where arguments stand in several rows,
            a trial's first call gets the first result, and so on; the last one is given again.
        otherwise: What a tool returns for other arguments. Without it, the trial is an error: the table lacks a row.

    Raises:
        UsageError: It is no such table.
    """

    _for_several = True  # they change nothing

    def __init__(self, table: Mapping[str, Rows], *, otherwise: Any = _NOTHING) -> None:
        super().__init__()
        self._otherwise = otherwise
        for name, rows in table.items():
            self._tools[name] = self._noted(name, _looked_up(name, _results(name, rows), otherwise))

    @classmethod
    def recorded(
        cls,
        run: str | Path,
        case: str,
        *,
        repeat: int = 0,
        variant: int | None = None,
        otherwise: Any = _NOTHING,
    ) -> ToolTable:
        """The tools that an earlier run recorded for a case, with what they returned; see `recording.tool`.

        Args:
            run: The run: its file, its id, or `latest`.
            case: The case's id.
            repeat: Which of its repeats, from 0.
            variant: Which variant, by its index; the first that has recorded tools by default.
            otherwise: What a tool returns for arguments that were not recorded.

        Raises:
            UsageError: There is no such run, or it recorded no tools for this case.
            StoreError: Its file cannot be read.
        """
        path = run_path(run)
        with RunFile.open(path) as file:
            places = [
                place
                for place, id_, index, number in file.places()
                if (id_, number) == (written_case(case), repeat) and variant in (None, index)
            ]
            # Of a call that was made again after the trial was cut off, the last record counts.
            records: dict[int, dict[tuple[str, int], ToolRecord]] = {place: {} for place in places}
            for record in file.tools():
                if record.trial in records:
                    records[record.trial][record.key, record.nth] = record
        table: dict[str, list[tuple[Mapping[str, Any], Any]]] = {}
        for record in next(filter(None, records.values()), {}).values():
            if not record.error:
                arguments = cast("Mapping[str, Any]", decode(record.arguments))
                table.setdefault(record.name, []).append((arguments, outcome(record)))
        if not table:
            raise UsageError(
                f"run {path.stem} has no recorded calls of tools for case '{case}', repeat {repeat}",
                hint="Decorate the tools with @recording.tool, and run it once.",
            )
        return cls(table, otherwise=otherwise)


def run_path(run: str | Path) -> Path:
    """The file of a run that is named by its file, its id or `latest`, which in a trial is never its own run.

    Raises:
        UsageError: There is none.
    """
    if isinstance(run, Path):
        return run
    return find(Path.cwd(), run, ended=True)


def _results(name: str, rows: object) -> dict[str, list[Any]]:
    """What a tool returns for which arguments, by their digest."""
    if isinstance(rows, (str, Mapping)) or not isinstance(rows, Iterable):
        raise UsageError(f"ToolTable: {name} is {rows!r:.60}, not a list of (arguments, result)")
    results: dict[str, list[Any]] = {}
    for number, row in enumerate(rows, 1):
        pair = row if isinstance(row, (tuple, list)) else ()
        if len(pair) != 2 or not isinstance(pair[0], Mapping):
            hint = 'Write ({"id": "1042"}, {"state": "late"}).'
            raise UsageError(f"ToolTable: row {number} of {name} is {row!r:.60}", hint=hint)
        try:
            key = digest("row", encode(cast("Mapping[str, Any]", pair[0])))
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"ToolTable: row {number} of {name} is not plain JSON: {error}"
            ) from None
        results.setdefault(key, []).append(pair[1])
    return results


def _looked_up(
    name: str, results: Mapping[str, Sequence[Any]], otherwise: Any
) -> Callable[..., Any]:
    taken: WeakKeyDictionary[LiveTrial, dict[str, int]] = WeakKeyDictionary()
    outside: dict[str, int] = {}

    def look_up(**arguments: Any) -> Any:
        try:
            key = digest("row", encode(arguments))
        except (TypeError, ValueError) as error:
            raise CodeError(
                f"the tool {name} is called with what JSON has no form for: {error}"
            ) from None
        rows = results.get(key, ())
        trial = present.get()
        if not rows:
            if otherwise is not _NOTHING:
                return copy.deepcopy(otherwise)
            request = encode(arguments).decode()
            missing = CodeError(
                f"the table of the tool {name} has no row for {request:.200}",
                hint="Add one, or say what it returns otherwise: ToolTable(…, otherwise={'error': 'not found'}).",
            )
            if trial is not None and not trial.over:
                # An agent may catch the error and go on; the trial must end in it all the same.
                trial.halt(missing)
            raise missing
        # A table that several trials share begins anew for each, in whichever order they come.
        counts = outside if trial is None else taken.setdefault(trial, {})
        at = counts[key] = min(counts.get(key, -1) + 1, len(rows) - 1)
        return copy.deepcopy(rows[at])  # an agent may change what it is given

    look_up.__name__ = look_up.__qualname__ = name
    return look_up
