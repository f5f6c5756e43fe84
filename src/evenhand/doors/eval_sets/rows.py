"""Rows of cases, read from files one at a time: CSV or TSV with a header, JSON, JSONL, YAML or Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from evenhand.core.encoding import decode_once
from evenhand.core.errors import ConfigError, Problem, UsageError
from evenhand.core.json_shapes import is_array, is_object
from evenhand.doors.eval_sets.json_lines import JsonLines, Row, no_json, object_in
from evenhand.doors.eval_sets.tables import DelimitedFile, Parquet
from evenhand.languages.documents.file_kinds import ending_hint, lines_hint, not_lines, other_kind
from evenhand.languages.documents.findings import unreadable as not_a_file
from evenhand.languages.documents.tree import (
    RESOLVE,
    UNRESOLVED,
    conflict_in,
    refuse_yaml_depth,
    safe_loader,
    yaml_mistake,
)

FORMATS = (".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".parquet")
_INSIDE = ("cases", "samples", "data", "tests")
"""The keys of an object that holds the list of cases."""


def source_in(file: Path) -> JsonLines | Parquet | DelimitedFile | None:
    """The file, whose rows are read one at a time, and found again by their place; None for JSON and YAML."""
    suffix = file.suffix.lower()
    if suffix == ".jsonl":
        return JsonLines(file)
    if suffix == ".parquet":
        return Parquet(file)
    return DelimitedFile(file) if suffix in {".csv", ".tsv"} else None


def rows_in(file: Path, problems: list[Problem]) -> Iterator[tuple[int, Row]]:
    """The rows of a file, each with its line; for JSON, YAML and Parquet with its number.

    Args:
        problems: Where to put what is wrong, to go on with the next row.

    Raises:
        UsageError: The file's ending says no format, or Parquet cannot be read here.
    """
    if not readable(file, problems):
        return
    source = source_in(file)
    with unreadable(file, problems):
        if source is not None:
            yield from ((line, row) for line, _, row in source.rows(problems))
        elif file.suffix.lower() == ".json":
            yield from _json(file, problems)
        else:
            yield from _yaml(file, problems)


def readable(file: Path, problems: list[Problem]) -> bool:
    """Whether there is a file of this name, and it is text where its ending says so.

    Raises:
        UsageError: Its ending says no format.
    """
    if file.is_dir():
        raise UsageError(f"{file} is a folder, not a dataset", hint="Name the file of cases in it.")
    if file.suffix.lower() not in FORMATS:
        raise UsageError(
            f"{file}: a dataset ends in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}, not '{file.suffix}'",
            hint=ending_hint(file.suffix),
        )
    wrong = not_a_file(file)
    if wrong is None and not file.is_file():
        wrong = "does not exist", f"Looked in {file.absolute().parent}."
    if wrong is None and file.suffix.lower() != ".parquet":
        wrong = other_kind(file, takes_parquet=True)
        if wrong is None and file.suffix.lower() == ".jsonl":
            wrong = not_lines(file)
    if wrong is not None:
        problems.append(Problem(str(file), 0, 0, *wrong))
        return False
    return True


@contextmanager
def unreadable(file: Path, problems: list[Problem]) -> Iterator[None]:
    """Inside, a file that cannot be read, or is no UTF-8, is a problem."""
    try:
        yield
    except UnicodeDecodeError:
        problems.append(Problem(str(file), _not_utf8(file), 0, "is not UTF-8", "Save it as UTF-8."))
    except OSError as error:
        problems.append(Problem(str(file), 0, 0, f"cannot be read: {error.strerror or error}"))


def _json(file: Path, problems: list[Problem]) -> Iterator[tuple[int, Row]]:
    raw = file.read_bytes().removeprefix(b"\xef\xbb\xbf")
    raw.decode()  # says so where it is not UTF-8
    try:
        value = decode_once(raw)
    except ValueError as error:
        # Before anything else: the marks of a merge are no JSON, and the reader would name some character of them.
        if _conflict(file, raw.decode(), problems):
            return
        try:
            # The fast reader knows no line and column; the slow one does.
            json.loads(raw)
        except json.JSONDecodeError as place:
            what, hint = f"is not JSON: {place.msg}", lines_hint(place)
            problems.append(Problem(str(file), place.lineno, place.colno, what, hint))
        except RecursionError:
            problems.append(no_json(file, 0, error))
        else:
            problems.append(no_json(file, 0, error))
        return
    yield from _items(file, value, problems)


def _yaml(file: Path, problems: list[Problem]) -> Iterator[tuple[int, Row]]:
    import yaml  # noqa: PLC0415 (only for YAML)

    loader = _loader()
    text = file.read_text("utf-8-sig")
    try:
        # Before the parser in C, which recurses until the process ends.
        refuse_yaml_depth(text)
        # Aliases are refused even once: nested, a few lines of them could fill all memory.
        value = _once(yaml.load(text, loader), set())  # noqa: S506 (a safe loader)
    except yaml.YAMLError as error:
        if _conflict(file, text, problems):
            return
        words, line, column = yaml_mistake(error)
        problems.append(Problem(str(file), line, column, f"is not YAML: {words}"))
    except (ValueError, RecursionError) as error:
        detail = "it is nested too deeply" if isinstance(error, RecursionError) else error
        problems.append(Problem(str(file), 0, 0, f"cannot be read: {detail}"))
    else:
        yield from _items(file, value, problems)


def _conflict(file: Path, text: str, problems: list[Problem]) -> bool:
    """Whether text that could not be read has a merge conflict in it, which is then the problem."""
    line = conflict_in(text)
    if line is not None:
        problems.append(Problem(str(file), line, 1, UNRESOLVED, RESOLVE))
    return line is not None


@lru_cache(maxsize=1)
def _loader() -> Any:
    """A safe loader that refuses a key that appears twice."""
    import yaml  # noqa: PLC0415 (only for YAML)

    safe = safe_loader()

    def mapping(loader: Any, node: Any, deep: bool = False) -> Any:
        names: set[str] = set()
        for key, _ in node.value:
            if isinstance(key.value, str) and key.value in names:
                raise yaml.MarkedYAMLError(
                    problem=f"the key '{key.value}' appears twice", problem_mark=key.start_mark
                )
            if isinstance(key.value, str) and key.value != "<<":
                names.add(key.value)
        return safe.construct_mapping(loader, node, deep)

    return type("Loader", (safe,), {"construct_mapping": mapping})


def _once(value: Any, parents: set[int]) -> Any:
    """What a YAML file says as JSON could: dates as text, and no part of it in two places."""
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, (dict, list)):
        return value
    if id(cast("object", value)) in parents:
        msg = "anchors and aliases are not followed; write the value out"
        raise ValueError(msg)
    parents.add(id(cast("object", value)))
    if is_array(value):
        return [_once(item, parents) for item in value]
    return {str(key): _once(item, parents) for key, item in cast("dict[Any, Any]", value).items()}


def _items(file: Path, value: object, problems: list[Problem]) -> Iterator[tuple[int, Row]]:
    """The cases of a document: a list of them, an object that holds the list, or a single one."""
    if is_object(value):
        inside = value
        lists = [inside[key] for key in _INSIDE if isinstance(inside.get(key), list)]
        value = lists[0] if lists else [inside]
    items = value if is_array(value) else [value]
    for number, item in enumerate(items, 1):
        row = object_in(file, 0, item, problems, f"case {number} ")
        if row is not None:
            yield number, row


def _not_utf8(file: Path) -> int:
    """The first line that is not UTF-8."""
    with file.open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            try:
                raw.decode()
            except UnicodeDecodeError:
                return number
    return 0


def problems_error(problems: Sequence[Problem]) -> ConfigError:
    """The error that says what is wrong, of very many problems the first."""
    ordered = sorted(problems)
    return ConfigError(ordered[:50], more=max(0, len(ordered) - 50))
