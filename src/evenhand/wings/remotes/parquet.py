"""Writes tables as Parquet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evenhand.core.errors import UsageError
from evenhand.wings.remotes.rows import Kind, Row, names

WriteTable = Callable[[Path, Sequence[tuple[str, Kind]], Sequence[Row]], None]


def parquet_writer() -> WriteTable:
    """What writes a file of these columns and rows.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 (heavy, and seldom wanted)
        from pyarrow import parquet  # noqa: PLC0415 (the same)
    except ImportError:
        raise UsageError(
            "runs are pushed with tables in Parquet, which pyarrow writes, and it is not installed",
            hint="Install it: pip install 'evenhand[remote]'",
        ) from None
    kinds: dict[Kind, Any] = {
        "text": pa.string(),
        "json": pa.string(),
        "whole": pa.int64(),
        "number": pa.float64(),
        "truth": pa.bool_(),
        "moment": pa.timestamp("us", tz="UTC"),
    }

    def write(file: Path, columns: Sequence[tuple[str, Kind]], rows: Sequence[Row]) -> None:
        schema = pa.schema([(name, kinds[kind]) for name, kind in columns])
        values = list(zip(*rows, strict=True)) or [()] * len(columns)
        arrays = [pa.array(v, kinds[k]) for v, (_, k) in zip(values, columns, strict=True)]
        table = pa.Table.from_arrays(arrays, names=names(columns)).cast(schema)
        parquet.write_table(table, file, compression="zstd")

    return write
