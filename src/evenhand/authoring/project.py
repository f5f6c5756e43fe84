"""What a project says once for all its evals: the table `[tool.evenhand]` of its pyproject.toml.

Which file counts is a matter of where an eval file stands: the nearest pyproject.toml above it that has the table.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from evenhand.core.errors import ConfigError, Problem

FILE = "pyproject.toml"
KEYS = ("judge",)
_PLACE = re.compile(r"at line (\d+), column (\d+)")


@dataclass(frozen=True, slots=True)
class Named:
    """A model that is named for all sets that name none: its id, and the file and line that say so.

    `path` is empty for the environment.
    """

    id: str
    path: str = ""
    line: int = 0


def judge_for(folder: Path, env: Mapping[str, str]) -> Named | None:
    """Who judges, for sets in this folder that name nobody: the project's judge, else EVENHAND_JUDGE, else None.

    Raises:
        ConfigError: All that is wrong with the project's table.
    """
    found = _project(folder)
    if found is not None:
        return found
    named = env.get("EVENHAND_JUDGE", "").strip()
    return Named(named) if named else None


def _project(folder: Path) -> Named | None:
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
                return _judge(path, text, table)
    return None


def _table(path: Path, text: str) -> Mapping[str, Any] | None:
    import tomllib  # noqa: PLC0415 (only where there may be something in it)

    try:
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
        place = _PLACE.search(str(error))
        line, column = (int(place[1]), int(place[2])) if place else (0, 0)
        raise ConfigError([Problem(str(path), line, column, f"is not TOML: {error}")]) from None
    if not isinstance(tools, Mapping):
        return None
    table = cast("Mapping[str, object]", tools).get("evenhand")
    if table is None or isinstance(table, Mapping):
        return cast("Mapping[str, Any] | None", table)
    raise ConfigError([Problem(str(path), 0, 0, f"tool.evenhand is {table!r}, not a table")])


def _judge(path: Path, text: str, table: Mapping[str, Any]) -> Named | None:
    problems: list[Problem] = []
    for key in table:
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, n=1)
            hint = f"Did you mean '{near[0]}'?" if near else f"There is: {', '.join(KEYS)}."
            what = f"[tool.evenhand] has no '{key}'"
            problems.append(Problem(str(path), _line(text, key), 0, what, hint))
    judge = table.get("judge")
    line = _line(text, "judge")
    if judge is not None and not (isinstance(judge, str) and judge.strip()):
        hint = "Write judge = 'anthropic:claude-sonnet-4-5'."
        problems.append(Problem(str(path), line, 0, f"judge is {judge!r}, not a model's id", hint))
    if problems:
        raise ConfigError(problems)
    return None if judge is None else Named(judge.strip(), str(path), line)


def _line(text: str, key: str) -> int:
    """The line that sets a key of our table; 0 where it is written in an unusual way."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("["):
            inside = line.split("#")[0].strip() == "[tool.evenhand]"
        elif inside and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
            return number
    return 0
