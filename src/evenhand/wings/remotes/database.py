"""Runs in PostgreSQL: rows for SQL, and the run file in pieces for those who open it.

How this works: the pieces of the file are written one by one, each named by what is in it, so that a stop costs one
piece. The rows of all tables and the manifest are one transaction: with its end the run is there.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

from evenhand.core.errors import StoreError, UsageError
from evenhand.core.secrets import known
from evenhand.store.runfile import RunFile
from evenhand.wings.remotes.address import Address
from evenhand.wings.remotes.remote import (
    Manifest,
    Snapshot,
    lacking,
    read_manifest,
    refuse_lacking,
    write_manifest,
)
from evenhand.wings.remotes.rows import OUTCOMES, TRIALS, Kind, Row, names, rows_of

AT_ONCE = 5_000
"""Trials whose rows are in memory."""
_TYPES: dict[Kind, str] = {
    "text": "text",
    "json": "json",
    "whole": "bigint",
    "number": "double precision",
    "truth": "boolean",
    "moment": "timestamptz",
}
PATIENCE_S = 300.0
"""So long may a request take. One that is longer without an answer gets none: its server has stopped, or is gone."""
_ENCODINGS = ("UTF8", "SQL_ASCII")  # the second takes any bytes
_DENIED = "42501"  # the state of what this user may not do
_LOCK = 0x45766E31  # whoever makes the tables holds it
_TABLES = f"""
    create schema if not exists evenhand;
    create table if not exists evenhand.runs (
        run text primary key, title text not null, created_at timestamptz not null, trials bigint not null,
        digest text not null, pushed_at timestamptz not null default now(), manifest bytea not null
    );
    create table if not exists evenhand.parts (name text primary key, data bytea not null);
    create table if not exists evenhand.trials (
        {", ".join(f"{name} {_TYPES[kind]}" for name, kind in TRIALS)}, primary key (run, place)
    );
    create table if not exists evenhand.outcomes (
        {", ".join(f"{name} {_TYPES[kind]}" for name, kind in OUTCOMES)}, primary key (run, place, number)
    );
"""
_SAID = """
    create table if not exists evenhand.said (
        run text not null, name text not null, data bytea not null, pushed_at timestamptz not null default now(),
        primary key (run, name)
    );
"""


class DatabaseRemote:
    """Runs in the schema `evenhand` of a database. Implements `evenhand.wings.remotes.remote.Remote`.

    Raises:
        UsageError: psycopg is not installed.
        StoreError: The database cannot be reached.
    """

    def __init__(self, address: Address) -> None:
        try:
            import psycopg  # noqa: PLC0415 (an extra)
        except ImportError:
            raise UsageError(
                f"{address.name} is reached by psycopg, which is not installed",
                hint="Install it: pip install 'evenhand[remote]'",
            ) from None
        self.name = address.name
        self._broken, self._connected = psycopg.Error, False
        with self._told():
            # Some databases answer in the encoding that they keep texts in, or in bytes.
            self._db: Any = psycopg.connect(
                address.full, autocommit=True, connect_timeout=20, client_encoding="UTF8"
            )
        self._connected = True
        self._late = False

    def arrivals(self) -> dict[str, float]:
        query = "select run, extract(epoch from pushed_at) from evenhand.runs"
        return {str(run): float(moment) for run, moment in self._found(query)}

    def manifest(self, run: str) -> Manifest | None:
        for (data,) in self._found("select manifest from evenhand.runs where run = %s", run):
            return read_manifest(bytes(data), run, self.name)
        return None

    def add(self, run: Snapshot) -> bool:
        self._refuse_encoding()
        with self._told():
            if not self._has_table("outcomes"):
                with self._transaction():
                    # `create table if not exists` fails where two do it at once.
                    self._execute("select pg_advisory_xact_lock(%s)", _LOCK)
                    self._execute(_TABLES)
            # Not in the transaction: a push that breaks off goes on where it was, and nobody looks at pieces
            # that no manifest names.
            self._put_pieces(run)
            with self._transaction():
                manifest = run.manifest()
                values = (
                    manifest.id,
                    manifest.title,
                    manifest.created_at,
                    manifest.trials,
                    manifest.digest,
                    write_manifest(manifest),
                )
                added = self._execute(
                    "insert into evenhand.runs (run, title, created_at, trials, digest, manifest)"
                    " values (%s, %s, to_timestamp(%s), %s, %s, %s) on conflict do nothing",
                    *values,
                )
                if not added.rowcount:
                    return False
                with RunFile.open(run.path) as file:
                    for rows in rows_of(file, AT_ONCE):
                        self._copy("trials", names(TRIALS), rows.trials)
                        self._copy("outcomes", names(OUTCOMES), rows.outcomes)
        return True

    def _refuse_encoding(self) -> None:
        with self._told():
            (encoding,) = self._execute("show server_encoding").fetchone()
        if encoding not in _ENCODINGS:
            raise UsageError(
                f"{self.name}: the database keeps its texts in {encoding}, which lacks characters",
                hint="Push to one in UTF-8: create database NAME encoding 'UTF8' template template0.",
            )

    def restore(self, run: Snapshot, manifest: Manifest) -> bool:
        if not lacking(manifest, self._sizes(manifest.id)):
            return False
        with self._told():
            self._put_pieces(run)
        refuse_lacking(self.name, manifest, self._sizes(manifest.id))
        return True

    def _sizes(self, run: str) -> dict[str, int]:
        query = "select name, octet_length(data) from evenhand.parts where name like %s"
        return {str(name): int(size) for name, size in self._found(query, f"parts/{run}/%")}

    def _put_pieces(self, run: Snapshot) -> None:
        like = f"parts/{run.meta.id}/%"
        rows = self._execute("select name from evenhand.parts where name like %s", like)
        there = {str(name) for (name,) in rows}
        for (size, sha256), piece in zip(run.pieces, run.read(), strict=True):
            name = run.part("run", "db", size, sha256).name
            if name not in there:
                query = "insert into evenhand.parts values (%s, %s) on conflict do nothing"
                self._execute(query, name, piece)

    def _copy(self, table: str, columns: list[str], rows: list[Row]) -> None:
        query = f"copy evenhand.{table} ({', '.join(columns)}) from stdin"
        with self._in_time(), self._db.cursor().copy(query) as copy:
            for row in rows:
                copy.write_row(row)

    def read(self, manifest: Manifest) -> Iterator[bytes]:
        for part in manifest.file:
            rows = self._found("select data from evenhand.parts where name = %s", part.name)
            if not rows:
                raise StoreError(
                    f"{self.name}: run {manifest.id} lacks {part.name}",
                    hint="It was damaged or changed there: push the run again.",
                )
            yield bytes(rows[0][0])

    def said(self, run: str) -> list[str]:
        with self._told():
            there = self._has_table("said")
        query = "select name from evenhand.said where run = %s"
        return [str(name) for (name,) in self._found(query, run)] if there else []

    def add_said(self, run: str, name: str, data: bytes) -> None:
        with self._told(), self._transaction():
            if not self._has_table("said"):
                self._execute("select pg_advisory_xact_lock(%s)", _LOCK)
                self._execute(_SAID)
            self._execute(
                "insert into evenhand.said (run, name, data) values (%s, %s, %s) on conflict do nothing",
                run,
                name,
                data,
            )

    def read_said(self, run: str, name: str) -> bytes:
        query = "select data from evenhand.said where run = %s and name = %s"
        for (data,) in self._found(query, run, name):
            return bytes(data)
        raise StoreError(f"{self.name}: run {run} lacks {name}")

    def close(self) -> None:
        self._db.close()

    def _has_table(self, name: str) -> bool:
        row = self._execute("select to_regclass(%s) is not null", f"evenhand.{name}").fetchone()
        return bool(row[0])

    def _execute(self, query: str, *values: object) -> Any:
        with self._in_time():
            return self._db.execute(query, values or None)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        transaction = self._db.transaction()
        with self._in_time():
            transaction.__enter__()
        try:
            yield
        except BaseException as error:
            with self._in_time():
                transaction.__exit__(type(error), error, error.__traceback__)
            raise
        with self._in_time():
            transaction.__exit__(None, None, None)

    @contextlib.contextmanager
    def _in_time(self) -> Iterator[None]:
        """Ends the connection if what is inside takes too long: nothing else interrupts a wait for the server."""
        timer = threading.Timer(PATIENCE_S, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self) -> None:
        self._late = True
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._db.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)

    def _found(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What there is; nothing where nobody has pushed yet."""
        with self._told():
            return self._execute(query, *values).fetchall() if self._has_table("outcomes") else []

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except self._broken as error:
            if self._connected and self._late:
                raise StoreError(
                    f"{self.name}: no answer for {PATIENCE_S:g} seconds",
                    hint="Look after the server, then push the run again: only what is missing is sent.",
                ) from error
            raise StoreError(
                f"{self.name}: {known.text(' '.join(str(error).split()))[:300]}",
                hint="Users and passwords come from the address, PGUSER and PGPASSWORD, or ~/.pgpass."
                if not self._connected or error.sqlstate == _DENIED
                else "After a stop, push the run again: only what is missing is sent.",
            ) from error
