"""Rows as data frames of pandas and polars: the same columns of the same types, whatever one run happens to hold.

A column of rows that says what it comes from, as in `score:faithfulness` or `axis:tone`, has its plain name in a frame,
unless another column is called so. What is missing is null in every type, and never 0.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from evenhand.core.errors import UsageError
from evenhand.core.names import did_you_mean, nearest
from evenhand.core.record import Record

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Kind = Literal["text", "boolean", "whole", "number"]
Kinds = Mapping[str, Kind]
"""The columns that some rows always have, in their order, and what is in each."""

_PREFIXES = ("score:", "axis:", "var:", "meta:")
"""Where a column comes from. Of several with one name, the first kind has it."""
_PANDAS: Mapping[Kind, str] = {
    "text": "string",
    "boolean": "boolean",
    "whole": "Int64",
    "number": "float64",
}
_POLARS: Mapping[Kind, str] = {
    "text": "String",
    "boolean": "Boolean",
    "whole": "Int64",
    "number": "Float64",
}
_KIND_OF: Mapping[type, Kind] = {str: "text", bool: "boolean", int: "whole", float: "number"}
_WHOLE = range(-(1 << 63), 1 << 63)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character: in a run file it stays as it is, but what frames keep text in has no place for it."""


class Table(Record, frozen=True):
    """Rows that a frame can be made of.

    Attributes:
        rows: What gives them, the same keys in each.
        kinds: What their fixed columns hold.
    """

    rows: Callable[[], Sequence[Mapping[str, Any]]]
    kinds: Kinds


class Framed:
    """What has rows gives them as data frames."""

    __slots__ = ()

    if not TYPE_CHECKING:  # type checkers know better what there is

        def __getattr__(self, name: str) -> Any:
            """Raises: for `df`, `to_csv` and the like, with what there is instead."""
            kind = type(self).__name__
            if name.startswith("_") or hasattr(type(self), name):  # a notebook's, or its own error
                return object.__getattribute__(self, name)
            near = nearest(name, [known for known in dir(type(self)) if not known.startswith("_")])
            instead = "to_pandas() and to_polars() have what was measured"
            hint = f"did you mean {near!r}?" if near else instead
            raise AttributeError(f"{kind} has no {name!r}: {hint}")

    def to_pandas(self, rows: str = "") -> pd.DataFrame:
        """The rows as a frame of pandas.

        Its columns are those of `rows()`, but metrics, axes and variables have their plain names where no other column
        is called so. Types don't depend on the values: `string`, `boolean`, `Int64` and `float64`, and what is missing
        is null.

        Args:
            rows: What is a row. Of a run `trials` or `outcomes`, which are its expectations; of `score_batch` also
                `summary`, of a comparison `cases` or `summary`, of `score` `metrics`. The first of these by default.

        Raises:
            UsageError: pandas is not installed, or there are no such rows.
        """
        columns = self._columns(rows)
        pandas = _library("pandas")
        return pandas.DataFrame(
            {one.name: pandas.Series(one.values, dtype=_PANDAS[one.kind]) for one in columns}
        )

    def to_polars(self, rows: str = "") -> pl.DataFrame:
        """The rows as a frame of polars; as `to_pandas`, with `String`, `Boolean`, `Int64` and `Float64`.

        Raises:
            UsageError: polars is not installed, or there are no such rows.
        """
        columns = self._columns(rows)
        polars = _library("polars")
        return polars.DataFrame(
            [
                polars.Series(one.name, one.values, dtype=getattr(polars, _POLARS[one.kind]))
                for one in columns
            ]
        )

    def _tables(self) -> Mapping[str, Table]:
        """What rows there are, by name; those that are meant where none is named come first."""
        raise NotImplementedError

    def _columns(self, name: str) -> list[FrameColumn]:
        tables = self._tables()
        table = tables.get(name or next(iter(tables)))
        if table is None:
            listed = f"There are: {', '.join(map(repr, tables))}."
            hint = did_you_mean(str(name), list(tables), listed)
            raise UsageError(f"there are no rows called {name!r}", hint=hint)
        return frame_columns(table.rows(), table.kinds)


class FrameColumn(Record, frozen=True):
    """One column of a frame: Python's own values, None for what is missing."""

    name: str
    kind: Kind
    values: Sequence[Any]


def frame_columns(rows: Sequence[Mapping[str, Any]], kinds: Kinds) -> list[FrameColumn]:
    """The columns of rows that all have the same keys; without rows those that there always are.

    Args:
        rows: Their values are texts, numbers, booleans and None, those of a column of one type.
        kinds: What their fixed columns hold. Scores are numbers; other columns hold what their values are.
    """
    keys = list(rows[0]) if rows else list(kinds)
    names = _plain_names(keys, kinds)
    columns: list[FrameColumn] = []
    for key in keys:
        values = [row[key] for row in rows]
        kind = kinds.get(key) or _kind(key, values)
        if kind == "text":
            values = [None if value is None else _text(value) for value in values]
        columns.append(FrameColumn(names[key], kind, values))
    return columns


def _library(name: Literal["pandas", "polars"]) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(
            f"to_{name}() needs {name}, which cannot be imported: {error}",
            hint=f"Install it: pip install {name}. Without it, rows() has the same as dicts.",
        ) from None


def _plain_names(keys: Sequence[str], kinds: Kinds) -> dict[str, str]:
    names = {key: key for key in keys}
    taken = {*keys, *kinds}
    for prefix in _PREFIXES:
        for key in keys:
            plain = key.removeprefix(prefix)
            if plain and plain != key and plain not in taken and key not in kinds:
                taken.add(plain)
                names[key] = plain
    return names


def _kind(key: str, values: Sequence[Any]) -> Kind:
    if key.startswith(_PREFIXES[0]):
        return "number"
    present = [value for value in values if value is not None]
    # By type(), as a bool is an int for isinstance().
    kind = _KIND_OF[type(present[0])] if present else "text"
    if kind == "whole" and not all(value in _WHOLE for value in present):
        return "text"  # rather than rounded
    return kind


def _text(value: object) -> str:
    return _LONE_SURROGATE.sub("\ufffd", str(value))
