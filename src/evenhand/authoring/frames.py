"""Rows of frames: of pandas and polars, of pyarrow's tables, of Hugging Face's datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from evenhand.core.errors import UsageError


def rows_of(data: object) -> Iterator[Any]:
    """The rows of a frame of pandas or polars, a table of pyarrow, a dataset of Hugging Face, or of any iterable.

    A missing value (None, NaN, NaT, NA) in a frame is left out of its row. Values of numpy become Python's.

    Raises:
        UsageError: It holds no rows, or is several datasets at once.
    """
    frame = cast("Any", data)
    if isinstance(data, (str, bytes)):
        raise UsageError(f"{data!r} is a text, not cases", hint="To read a file: Dataset.read(…)")
    if isinstance(data, Mapping):
        splits = ", ".join(map(repr, cast("Mapping[object, object]", data)))
        raise UsageError(
            "cases are given as a dict, not a list", hint=f"Take one of its parts: {splits}."
        )
    if hasattr(data, "collect_schema") and not hasattr(data, "iter_rows"):
        raise UsageError("a lazy frame holds no rows yet", hint="Give frame.collect().")
    if hasattr(data, "iter_rows"):
        return map(plain_row, frame.iter_rows(named=True))
    if hasattr(data, "itertuples") and hasattr(data, "columns"):
        names = [str(name) for name in frame.columns]
        tuples = frame.itertuples(index=False, name=None)
        return (plain_row(dict(zip(names, values, strict=True))) for values in tuples)
    if hasattr(data, "to_batches"):
        return (plain_row(row) for batch in frame.to_batches() for row in batch.to_pylist())
    if hasattr(data, "features") and hasattr(data, "column_names"):
        return map(plain_row, frame)
    if not isinstance(data, Iterable):
        raise UsageError(f"cases are {data!r}, not a list")
    return iter(cast("Iterable[Any]", data))


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a frame with Python's own values, what is missing left out."""
    plain = {str(name): _plain(value) for name, value in row.items()}
    return {name: value for name, value in plain.items() if value is not None}


def _plain(value: Any) -> Any:
    """A value of a frame as Python's own; None for what is missing."""
    if value is None or isinstance(value, (str, int, bool)):
        return value
    if isinstance(value, float):
        return None if value != value else value  # noqa: PLR0124 (NaN is not itself)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    if hasattr(value, "tolist"):  # numpy's arrays and scalars
        return _plain(value.tolist())
    if type(value).__name__ in {"NAType", "NaTType"}:
        return None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
