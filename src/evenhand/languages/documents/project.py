"""What a project says once for all its evals: the table `[tool.evenhand]` of its pyproject.toml.

Which file counts is a matter of where an eval file, a config or a prompt stands: the nearest pyproject.toml above it
that has the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

import msgspec
import msgspec.structs
from msgspec import field

from evenhand.core.errors import ConfigError, Problem
from evenhand.core.gate_terms import GateTerms, read_gate_terms
from evenhand.core.json_schema import TEXT, Part
from evenhand.core.json_shapes import is_mapping, is_texts
from evenhand.core.malformed import shape_fault
from evenhand.core.names import did_you_mean
from evenhand.core.provider import judge_id
from evenhand.core.ranges import CANARIES, NUMBER, RETRIES, SECONDS
from evenhand.core.record import Record
from evenhand.core.table import (
    TableKey,
    TableReader,
    choice,
    flag,
    names_of,
    number,
    own,
    schema_of,
)
from evenhand.core.wing import part

FILE = "pyproject.toml"
Calibrated = Literal["required", "accepted"]
"""Whether judged numbers need a calibration that holds, or pass without one."""
CALIBRATED: tuple[Calibrated, ...] = get_args(Calibrated)
_SECONDS: Part = {"type": "number", "exclusiveMinimum": 0}
_COUNT: Part = {"type": "integer", "minimum": 0}
S = TypeVar("S", bound=msgspec.Struct)
_PLACE = r"at line (\d+), column (\d+)"


class ProjectModel(Record, frozen=True):
    """A model that a project names: its id, and the file and line that say so."""

    id: str
    path: str
    line: int = 0


class Project(Record, frozen=True, kw_only=True):
    """What a project says. What it does not say is None, or empty.

    Attributes:
        path: The file; empty where there is none.
        calibrated: `required` or `accepted`; empty for neither.
        tables: The tables of wings, by name.
        lines: The lines of the settings that are there, `threshold.faithfulness` say.
    """

    path: str = ""
    judge: Annotated[
        ProjectModel | None, TableKey("Who judges, for whatever names nobody.", own(TEXT))
    ] = None
    timeout_s: Annotated[
        float | None,
        TableKey(
            "Seconds for one attempt at a model.",
            number(SECONDS, _SECONDS, "Write timeout = 60."),
            "timeout",
        ),
    ] = None
    retries: Annotated[
        int | None,
        TableKey(
            "How often a failed call is tried again.", number(RETRIES, _COUNT, "Write retries = 3.")
        ),
    ] = None
    time_limit_s: Annotated[
        float | None,
        TableKey(
            "Seconds for one call of a function of yours.",
            number(SECONDS, _SECONDS, "Write time-limit = 60."),
            "time-limit",
        ),
    ] = None
    thresholds: Annotated[
        Mapping[str, float],
        TableKey(
            "What metrics have to reach where an expectation has no bound.",
            own({"type": "object", "additionalProperties": {"type": "number"}}),
            "threshold",
        ),
    ] = field(default_factory=dict[str, float])
    calibrated: Annotated[
        str,
        TableKey(
            "Whether judged numbers need a calibration that holds.",
            choice(
                CALIBRATED,
                "Write required (a run without a fresh calibration has no verdict), or accepted.",
            ),
        ),
    ] = ""
    gate: Annotated[
        GateTerms, TableKey("What `evenhand gate` goes by.", own(schema_of(GateTerms)))
    ] = field(default_factory=GateTerms)
    lines: Mapping[str, int] = field(default_factory=dict[str, int])
    canaries: Annotated[
        int | None,
        TableKey(
            "How many canaries a run asks its judges about, for each metric.",
            number(CANARIES, _COUNT, "Write canaries = 3."),
        ),
    ] = None
    batch: Annotated[
        bool,
        TableKey(
            "Whether `evenhand run` asks in batches, as with --batch.", flag("Write batch = true.")
        ),
    ] = False
    tables: Mapping[str, Any] = field(default_factory=dict[str, Any])


def project_for(folder: Path) -> Project:
    """What the project of this folder says; nothing where there is none.

    Raises:
        ConfigError: All that is wrong with the project's table.
    """
    folder = folder.resolve()
    for parent in (folder, *folder.parents):
        path = parent / FILE
        if not path.is_file():
            continue
        try:
            text = path.read_bytes().decode("utf-8-sig", "surrogateescape")
        except OSError:
            continue
        if "evenhand" in text:  # most have nothing for us, and are not even parsed
            table = _table(path, text)
            if table is not None:
                return _TableReader(path, text).read(table)
    return Project()


def settings_of(name: str, kind: type[S], folder: Path | None = None) -> S:
    """A wing's table, `[tool.evenhand.NAME]`; its defaults where the project has no such table.

    Args:
        kind: The Struct that the wing's record names.
        folder: A folder of the project; None for the current one.

    Raises:
        ConfigError: All that is wrong with the project's table.
    """
    project = project_for(folder or Path.cwd())
    return msgspec.convert(project.tables.get(name, {}), kind)


def project_folder(folder: Path) -> Path:
    """The folder that eval files in this one belong to: the one above `evals`, or itself where there is none.

    A folder that holds `evals` is itself the project, whatever its name or that of a folder above it.

    >>> project_folder(Path("shop/evals/returns")).as_posix()
    'shop'
    """
    if (folder / "evals").is_dir():
        return folder
    return next((one.parent for one in (folder, *folder.parents) if one.name == "evals"), folder)


def calibrated_for(folders: Iterable[Path]) -> str:
    """Whether the projects of these folders need calibrated judges: `required` where one says so.

    Returns:
        `required` or `accepted`; empty where no project says either.

    Raises:
        ConfigError: All that is wrong with a project's table.
    """
    settings = {project_for(folder).calibrated for folder in set(folders)}
    return next((word for word in CALIBRATED if word in settings), "")


@lru_cache(
    maxsize=16
)  # a session of pytest asks with each evaluation, and a project's file may be long
def _table(path: Path, text: str) -> Mapping[str, Any] | None:
    import tomllib  # noqa: PLC0415 (only where there may be something in it)

    try:
        # Bytes that are not UTF-8 have become lone surrogates, which this finds.
        text.encode()
        tools: object = tomllib.loads(text).get("tool")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise ConfigError(
            [Problem(str(path), line, 0, "is not UTF-8", "Save it as UTF-8.")]
        ) from None
    except RecursionError:
        raise ConfigError([Problem(str(path), 0, 0, "is nested too deep")]) from None
    except ValueError as error:  # not TOML, or a number of more digits than Python reads
        place = re.search(_PLACE, str(error))
        line, column = (int(place[1]), int(place[2])) if place else (0, 0)
        hint = 'Names with other signs than letters, digits, - and _ need quotes: "P@5" = 0.5.'
        hint = hint if "after a key" in str(error) else ""
        raise ConfigError(
            [Problem(str(path), line, column, f"is not TOML: {error}", hint)]
        ) from None
    if not is_mapping(tools):
        return None
    table = tools.get("evenhand")
    if table is None or isinstance(table, Mapping):
        return cast("Mapping[str, Any] | None", table)
    raise ConfigError([Problem(str(path), 0, 0, f"tool.evenhand is {table!r}, not a table")])


def _hint_of(error: str, kind: type[msgspec.Struct]) -> str:
    """The names that are known where msgspec found one that isn't; empty for another error."""
    match = re.search(_UNKNOWN, error)
    if match is None:
        return ""
    for name in match[2].split(".")[1:]:
        types = [one.type for one in msgspec.structs.fields(kind) if one.encode_name == name]
        inner = [one for outer in types for one in (outer, *get_args(outer))]
        tables = [one for one in inner if isinstance(one, type) and issubclass(one, msgspec.Struct)]
        if not tables:
            return ""
        kind = tables[0]
    names = kind.__struct_encode_fields__
    return did_you_mean(match[1], names, f"There are: {', '.join(names)}.")


_UNKNOWN = r"unknown field `(.+?)` - at `([^`]*)`"
_FIELD = r"at `\$\.(\w+)"
"""The field of a table that a value of another kind is in."""


class _TableReader:
    """Reads one table, and notes all that is wrong with it."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = str(path)
        self._text = text
        self._problems: list[Problem] = []
        self._lines: dict[str, int] = {}
        self._tables: dict[str, Any] = {}

    def read(self, table: Mapping[str, Any]) -> Project:
        """The project that the table describes; raises ConfigError, which says what is wrong with it."""
        known = names_of(Project)
        for key in table:
            if key in known:
                self._lines[key] = self._line(key)
            elif not self._of_wing(key, table[key]):
                hint = did_you_mean(key, known, f"There are: {', '.join(known)}.")
                self._problem(key, f"[tool.evenhand] has no '{key}'", hint)
        project = TableReader(
            lambda at, what, hint: self._problem(str(at[0]), what, hint), lambda *_: None
        ).read(
            Project,
            {**table, "calibrated": table.get("calibrated") or None},  # "" says nothing
            path=self._path,
            judge=self._judge(table.get("judge")),
            thresholds=self._thresholds(table.get("threshold")),
            gate=self._gate(table.get("gate")),
            lines=self._lines,
            tables=self._tables,
        )
        if self._problems:
            raise ConfigError(self._problems)
        return project

    def _of_wing(self, key: str, value: object) -> bool:
        """Whether a wing has a table of this name; notes what is wrong with it. Packages are looked at for it."""
        brought = part("settings", key)
        if brought is None:
            return False
        kind = brought.load()
        if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
            raise brought.broken("is not a msgspec Struct, which settings have to be")
        names = kind.__struct_encode_fields__
        table = value if is_mapping(value) else {}
        for name in table:
            if name not in names:
                hint = did_you_mean(name, names, f"There are: {', '.join(names)}.")
                self._problem(f"{key}.{name}", f"[tool.evenhand.{key}] has no '{name}'", hint)
        try:
            # What is not known is said above, with a hint.
            msgspec.convert(
                {k: v for k, v in table.items() if k in names} if table else value, kind
            )
        except msgspec.ValidationError as error:
            field = re.search(_FIELD, str(error))
            line = f"{key}.{field[1]}" if field and self._line(f"{key}.{field[1]}") else key
            fault = shape_fault(error).replace("an object", "a table")
            hint = _hint_of(str(error), kind)
            self._problem(line, f"[tool.evenhand.{key}]: {fault}", hint)
        self._lines[key], self._tables[key] = self._line(key), value
        return True

    def _judge(self, judge: object) -> ProjectModel | None:
        if judge is None:
            return None
        if (is_texts(judge) and judge) or (
            is_mapping(judge) and ("first" in judge or "then" in judge)
        ):
            judge = judge_id(judge)
        if not (isinstance(judge, str) and judge.strip()):
            hint = "Write judge = 'anthropic:claude-sonnet-4-5'."
            self._problem("judge", f"judge is {judge!r}, not a model's id, or a list of them", hint)
            return None
        return ProjectModel(judge.strip(), self._path, self._line("judge"))

    def _thresholds(self, table: object) -> dict[str, float]:
        if table is None:
            return {}
        if not is_mapping(table):
            hint = "Write threshold.faithfulness = 0.8, one line for each metric."
            self._problem("threshold", f"threshold is {table!r}, not a table", hint)
            return {}
        thresholds: dict[str, float] = {}
        for metric, value in table.items():
            name = f"threshold.{metric}"
            problem = NUMBER.problem(name, value)
            if problem:
                self._problem(name, problem, f"Write {name} = 0.8.")
            else:
                thresholds[metric] = cast("float", value)
                self._lines[name] = self._line(name)
        return thresholds

    def _gate(self, table: object) -> GateTerms:
        if is_mapping(table):
            for key in table:
                self._lines[f"gate.{key}"] = self._line(f"gate.{key}")

        def tell(key: str, what: str, hint: str) -> None:
            self._problem(f"gate.{key}" if key else "gate", f"[tool.evenhand]: {what}", hint)

        return read_gate_terms(table, tell).within(Path(self._path).parent)

    def _problem(self, key: str, what: str, hint: str) -> None:
        self._problems.append(Problem(self._path, self._line(key), 0, what, hint))

    def _line(self, key: str) -> int:
        """The line that sets a key of our table, or opens a table of that name; 0 where it is written otherwise."""
        # tomllib does not say on which line a key stands, so the text is searched for it.
        section = ""
        for row, line in enumerate(self._text.splitlines(), 1):
            bare = re.sub(r"[\"'\s]", "", line.split("#")[0])
            if bare.startswith("["):
                section = bare.strip("[]")
                if section == f"tool.evenhand.{key}":
                    return row
            else:
                name = f"{section}.{bare.partition('=')[0]}"
                if "=" in bare and name == f"tool.evenhand.{key}":
                    return row
        return self._line(key.partition(".")[0]) if "." in key else 0
