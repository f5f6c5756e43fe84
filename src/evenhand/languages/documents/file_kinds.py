"""What a file is that isn't what its name says, by what it begins with; and what to do with files of other endings."""

from __future__ import annotations

import json
from pathlib import Path

START_BYTES = 16
"""Enough of a file to tell its kind."""

_SQLITE = b"SQLite format 3\x00"
_ZIP = b"PK\x03\x04"
_AS_CSV = "Open it in a spreadsheet and save it as CSV, in UTF-8."
_KINDS: tuple[tuple[bytes, str, str], ...] = (
    (b"PAR1", "is a Parquet file", "Rename it, so that its name ends in .parquet."),
    (b"\x1f\x8b", "is compressed with gzip", "Unpack it with gunzip."),
    (b"BZh", "is compressed with bzip2", "Unpack it with bunzip2."),
    (b"\xfd7zXZ\x00", "is compressed with xz", "Unpack it with unxz."),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "Unpack it with unzstd."),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is an old Office file, such as .xls", _AS_CSV),
    (_SQLITE, "is an SQLite database", "Export its rows as CSV or JSON lines."),
    (b"%PDF-", "is a PDF", "Save its text as a text file."),
    (b"\xff\xfe", "is UTF-16, not UTF-8", "Save it as UTF-8."),
    (b"\xfe\xff", "is UTF-16, not UTF-8", "Save it as UTF-8."),
)
_WITH_PANDAS = "Read it with pandas, and save it as a table: frame.to_csv(…, index=False)."
_NO_PARQUET = "Save it as CSV: `evenhand data convert` does so."
_ENDINGS = {
    ".parquet": _NO_PARQUET,
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods", ".numbers"), _AS_CSV),
    **dict.fromkeys(
        (".ndjson", ".jsonlines", ".jl"), "Rename it, so that its name ends in .jsonl."
    ),
    **dict.fromkeys((".tab", ".txt"), "If it is a table with tabs, rename it to .tsv."),
    **dict.fromkeys(
        (".feather", ".arrow", ".pkl", ".pickle", ".h5", ".html", ".xml"), _WITH_PANDAS
    ),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), "Export its rows as CSV or JSON lines."),
    ".gz": "Unpack it with gunzip.",
    ".bz2": "Unpack it with bunzip2.",
    ".xz": "Unpack it with unxz.",
    ".zst": "Unpack it with unzstd.",
    ".zip": "Unpack it, and name a file in it.",
}
_WHOLE = 1 << 26
"""Bytes of a file that are read at once to see what it is."""


def other_kind(path: Path, *, takes_parquet: bool = False) -> tuple[str, str] | None:
    """Why a file that should be text is none, and what to do; None for text, for the unknown and for the unreadable.

    Args:
        takes_parquet: Whether Parquet could be read in its place, under another name.
    """
    try:
        with path.open("rb") as file:
            start = file.read(START_BYTES)
    except (OSError, ValueError):
        return None
    if start.startswith(_ZIP):
        return _archive(path)
    for mark, what, remedy in _KINDS:
        if start.startswith(mark):
            if mark == b"PAR1" and not takes_parquet:
                return what, _NO_PARQUET
            return what, remedy
    return None


def ending_hint(suffix: str) -> str:
    """What to do with a file of another ending than those that are read; empty where nobody knows."""
    return _ENDINGS.get(suffix.lower(), "")


def not_lines(path: Path) -> tuple[str, str] | None:
    """Why a file whose name ends in .jsonl has no JSON object on each line, and what to do; None where it may have.

    It is one document, or objects that go over several lines: that is told once, and not of each line.
    """
    with path.open("rb") as file:
        start = file.read(min(_WHOLE, 1 << 16)).removeprefix(b"\xef\xbb\xbf").lstrip()
        first = start.partition(b"\n")[0].strip()
        if first[:1] not in (b"[", b"{") or (first[:1] == b"{" and first[-1:] == b"}"):
            return None
        data = start + file.read(_WHOLE - len(start))
    try:
        whole: object = json.loads(data)
    except (ValueError, RecursionError):
        if first not in (b"[", b"{"):
            return None
        what = "is not JSON lines: its objects go over several lines"
        return what, f"Write each on one line: jq -c . {path.name} > lines.jsonl"
    kind = "list" if isinstance(whole, list) else "object"
    return (
        f"is one JSON {kind}, not an object on each line",
        "Rename it, so that its name ends in .json.",
    )


def lines_hint(error: json.JSONDecodeError) -> str:
    """What to do where a file whose name ends in .json is JSON lines; empty where it isn't."""
    # This is what Python's reader says where a second value begins on the second line.
    if error.msg == "Extra data" and error.lineno == 2 and error.colno == 1:
        return "If it has an object on each line, rename it, so that its name ends in .jsonl."
    return ""


def is_database(path: Path) -> bool:
    """Whether a file is an SQLite database; False where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def _archive(path: Path) -> tuple[str, str]:
    """What kind of zip archive it is."""
    import zipfile  # noqa: PLC0415 (only for a file that is one)

    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        names = []
    if any(name.startswith("xl/") for name in names):
        return "is an Excel workbook (.xlsx), not text", _AS_CSV
    return "is a zip archive, not text", "Unpack it, and name a file in it."
