"""What a file is that is no text, whatever its name ends in: told by the bytes that it begins with."""

from __future__ import annotations

import zipfile
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
_NO_PARQUET = "Save it as CSV: `evenhand dataset convert` does so."


def other_kind(path: Path, *, takes_parquet: bool = False) -> tuple[str, str] | None:
    """Why a file that should be text is none, and what to do; None for text, for the unknown and for the unreadable.

    Args:
        path: The file.
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


def is_database(path: Path) -> bool:
    """Whether it is a file of SQLite's; False where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def _archive(path: Path) -> tuple[str, str]:
    """What kind of zip archive it is."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        names = []
    if any(name.startswith("xl/") for name in names):
        return "is an Excel workbook (.xlsx), not text", _AS_CSV
    return "is a zip archive, not text", "Unpack it, and name a file in it."
