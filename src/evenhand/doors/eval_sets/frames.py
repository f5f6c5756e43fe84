"""Rows of frames: of pandas and polars, of pyarrow's tables, of Hugging Face's datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_mapping
from evenhand.core.wording.words import clip
from evenhand.languages.documents.delimited import column_name


def rows_of(data: object) -> Iterator[Any]:
    """The rows of a frame of pandas or polars, a table of pyarrow, a dataset of Hugging Face, or of any iterable.

    A missing value (None, NaN, NaT, NA) in a frame is left out of its row. Values of numpy become Python's. The named
    levels of an index are columns; a counter without a name is none.

    Raises:
        UsageError: It holds no rows, is several datasets at once, has two columns of a name, or values without one.
    """
    frame = cast("Any", data)
    if isinstance(data, (str, bytes)):
        file = repr(data) if isinstance(data, str) and len(data) <= 60 else "…"
        raise UsageError(
            f"{clip(repr(data), 60)} is a text, not cases",
            hint=f"To read a file: Dataset.read({file})",
        )
    if isinstance(data, Mapping):
        raise UsageError("cases are given as a dict, not a list", hint=_instead_of_dict(frame))
    if hasattr(data, "dtype") and hasattr(data, "shape"):
        what = "one column" if len(frame.shape) == 1 else "an array, whose columns have no names"
        hint = "Give a frame: its columns are input, expected and whatever else the cases have."
        raise UsageError(f"cases are given as {what}, not a frame", hint=hint)
    if hasattr(data, "collect_schema") and not hasattr(data, "iter_rows"):
        raise UsageError("a lazy frame holds no rows yet", hint="Give frame.collect().")
    if hasattr(data, "iter_rows"):
        return _named(frame.columns, frame.iter_rows())
    if hasattr(data, "itertuples") and hasattr(data, "columns"):
        levels = [_text(name) for name in frame.index.names]
        names = [*levels, *(_text(name) for name in frame.columns)]
        rows = frame.itertuples(index=True, name=None)
        if len(levels) > 1:
            rows = ((*first, *rest) for first, *rest in rows)
        return _named(names, rows)
    if hasattr(data, "schema") and hasattr(data, "to_pylist"):
        batches = frame.to_batches() if hasattr(data, "to_batches") else [frame]
        rows = (row for batch in batches for row in _of_batch(batch))
        return _named(frame.schema.names, rows)
    if hasattr(data, "features") and hasattr(data, "column_names"):
        rows = ([row[name] for name in frame.column_names] for row in frame)
        return _named(frame.column_names, rows)
    if not isinstance(data, Iterable):
        raise UsageError(f"cases are {data!r}, not a list")
    return iter(cast("Iterable[Any]", data))


def _instead_of_dict(data: Mapping[object, object]) -> str:
    plain = (str, bool, int, float, type(None))  # what a column holds; splits hold rows
    if all(isinstance(value, plain) for value in data.values()):
        return "Write a list of cases: [{…}]."
    values = [value for value in data.values() if isinstance(value, (list, tuple)) and value]
    if values and len(values) == len(data) and all(isinstance(each[0], plain) for each in values):
        return "To make rows of its columns: pandas.DataFrame(…), or polars.DataFrame(…)."
    return f"Take one of its parts: {', '.join(map(repr, data))}."


def _text(name: object) -> str:
    return "" if name is None else str(name)


def _of_batch(batch: Any) -> Iterator[Sequence[object]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _named(columns: Iterable[object], rows: Iterable[Sequence[object]]) -> Iterator[dict[str, Any]]:
    """The rows by the names of their columns, of which no two may be the same."""
    names = [column_name(_text(name)) for name in columns]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise UsageError(
            f"two columns are called {' and '.join(map(repr, twice))}",
            hint="Rename one. The index of a frame is a column, too, if it has a name.",
        )
    return (named_row(names, values) for values in rows)


def named_row(names: Sequence[str], values: Sequence[object]) -> dict[str, Any]:
    """A row of a frame with Python's own values, what is missing left out.

    Args:
        names: Those of its columns; empty for one without, which holds nothing, or counts the rows if it is the first.

    Raises:
        UsageError: A column without a name holds something else.
    """
    row: dict[str, Any] = {}
    for place, (name, value) in enumerate(zip(names, values, strict=True)):
        plain = _plain(value)
        if plain is None:
            continue
        if name:
            row[name] = plain
        elif plain != "" and not _counts(plain, place, names):
            raise UsageError(
                f"column {place + 1} of the frame has no name, and holds {plain!r:.40}",
                hint="Name it, or for an index: frame.index.name = 'id'.",
            )
    return row


def _counts(value: object, place: int, names: Sequence[str]) -> bool:
    """Whether a value may be the number of a row, of which the first columns may hold one each."""
    return type(value) is int and not any(names[:place])


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a frame with Python's own values, what is missing left out."""
    return named_row([column_name(str(name)) for name in row], list(row.values()))


def _plain(value: Any) -> Any:
    """A value of a frame as Python's own; None for what is missing."""
    if value is None or isinstance(value, (str, int, bool)):
        return value
    if isinstance(value, float):
        return None if value != value else value  # noqa: PLR0124 (NaN is not itself)
    if is_mapping(value):
        return {str(key): _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy's arrays and scalars
        return _plain(value.tolist())
    # By name, so that pandas is not imported to ask.
    if type(value).__name__ in {"NAType", "NaTType"}:
        return None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
