"""Objects in a folder: of this machine, or one that many machines share."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from evenhand.core.errors import StoreError
from evenhand.languages.documents.findings import unreadable
from evenhand.store.replacing import beside


class FolderObjects:
    """Objects as files. Implements `evenhand.wings.remotes.objects.Objects`."""

    def __init__(self, root: Path, name: str) -> None:
        self._root = root
        self.name = name

    def names(self, folder: str) -> list[str]:
        with self._told():
            if not (self._root / folder).is_dir():
                return []
            return [
                f"{folder}/{path.name}"
                for path in (self._root / folder).iterdir()
                if not path.name.startswith(".")
            ]

    def sizes(self, folder: str) -> dict[str, int]:
        with self._told():
            return {
                name: (self._root / name).stat().st_size
                for name in self.names(folder)
                if (self._root / name).is_file()
            }

    def get(self, name: str, most: int) -> bytes | None:
        with self._told():
            path = self._root / name
            problem = unreadable(path)  # a pipe would be waited for, and a device may never end
            if problem is not None:
                raise StoreError(f"{self.name}: {name} {problem[0]}")
            try:
                with path.open("rb") as file:
                    return file.read(most + 1)
            except FileNotFoundError:
                return None

    def put(self, name: str, data: bytes) -> None:
        path = self._root / name
        with self._told(), self._beside(path, data) as file:
            # The content is on disk already; without this, a power failure may take the name.
            file.replace(path)
            _synced(path.parent)

    def put_new(self, name: str, data: bytes) -> bool:
        path = self._root / name
        with self._told(), self._beside(path, data) as file:
            try:
                os.link(file, path)  # refused where there is one, on shared file systems, too
            except FileExistsError:
                return False
            _synced(path.parent)
            return True

    @contextlib.contextmanager
    def _beside(self, path: Path, data: bytes) -> Iterator[Path]:
        """A file with this in it, on disk, of a name that nobody looks at."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside(path) as file:
            with file.open("wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            yield file

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"{self.name}: {error.strerror or error}"
                + (f": {error.filename}" if error.filename else "")
            ) from error


def _synced(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
