"""The members of an `.eval` file: a ZIP archive whose members are deflated, or compressed with Zstandard.

Inspect writes Zstandard (method 93) since 2026. Python's zipfile reads it from 3.14 on; before that pyarrow does, which
comes with the extra `parquet`.
"""

from __future__ import annotations

import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.languages.documents.files import unreadable
from evenhand.languages.documents.unpacking import too_packed

ZSTANDARD = 93
LARGEST_MEMBER = 1 << 30
"""Bytes of a member, once decompressed. A member says how long it is, and nothing more of it is read."""
_LOCAL_HEADER = 30


class Archive(Record, frozen=True):
    """An open `.eval` file."""

    path: Path
    _zip: zipfile.ZipFile
    _file: IO[bytes]

    def names(self) -> list[str]:
        """The members, in the order in which they were written."""
        return self._zip.namelist()

    def read(self, name: str) -> bytes:
        """A member, decompressed.

        Raises:
            UsageError: It is not there, too large, damaged, or compressed in a way that cannot be read here.
        """
        try:
            info = self._zip.getinfo(name)
        except KeyError:
            raise UsageError(f"{self.path} has no {name}") from None
        if info.file_size > LARGEST_MEMBER:
            raise UsageError(f"{self.path}: {name} has {info.file_size:,} bytes, more than is read")
        packed = too_packed(info.file_size, info.compress_size)
        if packed is not None:
            raise UsageError(f"{self.path}: {name} {packed}")
        try:
            if info.compress_type == ZSTANDARD and sys.version_info < (3, 14):
                return self._zstandard(info)
            with self._zip.open(info) as member:
                return member.read()
        except (zipfile.BadZipFile, OSError, EOFError, zlib.error) as error:
            raise UsageError(f"{self.path}: {name} is damaged: {error}") from None
        except (NotImplementedError, RuntimeError) as error:  # another method; a password
            raise UsageError(f"{self.path}: {name} cannot be read: {error}") from None

    def _zstandard(self, info: zipfile.ZipInfo) -> bytes:
        try:
            import pyarrow as pa  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs] (an extra, on use)
        except ImportError:
            raise UsageError(
                f"{self.path} is compressed with Zstandard, which Python reads from 3.14 on",
                hint="Install what reads it: pip install 'evenhand[parquet]'. Or convert the log: inspect log convert"
                " --to json --output-dir converted LOG.",
            ) from None
        self._file.seek(info.header_offset)
        head = self._file.read(_LOCAL_HEADER)
        if len(head) < _LOCAL_HEADER or not head.startswith(b"PK\x03\x04"):
            raise zipfile.BadZipFile("its local header is not where the directory says")
        skipped = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        self._file.seek(skipped, 1)
        packed = self._file.read(info.compress_size)
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            data: bytes = stream.read(info.file_size + 1)
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise zipfile.BadZipFile("its length or checksum is not what the directory says")
        return data


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """An `.eval` file, to read its members from.

    Raises:
        UsageError: It cannot be read, or is no ZIP archive.
    """
    problem = unreadable(path)
    if problem:
        raise UsageError(f"{path} {problem[0]}", hint=problem[1])
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            yield Archive(path, archive, file)
    except (zipfile.BadZipFile, ValueError) as error:
        raise UsageError(
            f"{path} is no log of Inspect's: {error}",
            hint="Logs end in .eval or .json, and are in the folder logs: inspect log list.",
        ) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
