"""Opens a run file for reading, and tells of a damaged one in one message."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import msgspec

from evenhand.core.encoding import decode
from evenhand.core.errors import StoreError
from evenhand.core.run import RunMeta
from evenhand.store.locks import held, lock_of
from evenhand.store.remarks import remarks_in
from evenhand.store.schema import RUN_FILE_ID, RUN_MIGRATIONS, check
from evenhand.store.sums import CaseSums


def _connected(path: Path, how: str) -> sqlite3.Connection:
    # Python's SQLite lets threads take turns: what is opened in one is read in another.
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, check_same_thread=False)


class Opened:
    """An open run file: what it says of the run as a whole."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db
        self.narrowed = False
        self.by_outcome = False
        self._sums: tuple[tuple[int, bool], CaseSums] | None = None
        with readable(path):
            row = db.execute("select meta from run").fetchone()
            if row is None:
                raise StoreError(f"{path} holds no run: it was cut off while being made")
            self.meta = msgspec.convert(decode(cast(bytes, row[0])), RunMeta)
            self.remarks = remarks_in(db)
            if self.remarks.title:
                self.meta = replace(self.meta, title=self.remarks.title)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Opens a run file for reading.

        Raises:
            StoreError: It does not exist, is not a run file, is damaged, or a newer Evenhand wrote it.
        """
        if not path.is_file():
            raise StoreError(f"{path}: there is no such run file")
        db: sqlite3.Connection | None = None
        try:
            with readable(path):
                db = _connected(path, "mode=ro")
                try:
                    db.execute("select count(*) from sqlite_master")
                except sqlite3.OperationalError:
                    # A read-only folder: SQLite cannot make the shared-memory file beside it, and needs none: none
                    # writes.
                    db.close()
                    db = _connected(path, "immutable=1")
                if not check(db, RUN_FILE_ID, len(RUN_MIGRATIONS), str(path)):
                    raise StoreError(f"{path} is not a run file")  # noqa: TRY301 (closed below, like the others)
            return cls(path, db)
        except StoreError:
            if db is not None:
                db.close()
            raise

    def close(self) -> None:
        """Lets go of the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether a process is writing it."""
        return held(lock_of(self.path))

    @property
    def _retaken(self) -> bool:
        """Whether some trial has been settled more than once."""
        found = self._db.execute("select 1 from trial where take > 0 limit 1").fetchone()
        return found is not None

    def _table(self) -> str:
        """What to count trials in: the table itself is read twice as fast as the view, and says the same as a rule."""
        return "latest" if self._retaken else "trial"


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turns what SQLite and the decoder say of a damaged file into one message."""
    try:
        yield
    except (
        sqlite3.Error,
        msgspec.MsgspecError,
        ValueError,
        TypeError,
        OverflowError,
        LookupError,
    ) as error:
        raise StoreError(
            f"{path} cannot be read: {error}",
            hint="It is damaged or not a run file. Other runs are not affected.",
        ) from error
