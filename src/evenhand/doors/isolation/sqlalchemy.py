"""SQLAlchemy: a session inside a transaction that is never committed.

How this works: the session joins a connection that is in a transaction already, so that its own commits and rollbacks
are those of savepoints. Two things could still end the transaction itself. `Connection.commit()` is refused. A COMMIT
in SQL cannot be, so a savepoint of our own is set at the start: if it is gone at the end, that is an error.

Python's sqlite3 begins a transaction only before a statement that writes, and none before a savepoint; so on SQLite the
transaction is begun by hand, unless the engine's own events have done so.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.pool import AssertionPool, QueuePool, SingletonThreadPool, StaticPool

from evenhand.core.errors import CodeError, UsageError
from evenhand.doors.isolation.trial_resources import claimed, must_be_alone
from evenhand.doors.isolation.turns import PLAIN, Turns

SAVEPOINT = "evenhand"

_turns: WeakKeyDictionary[Engine, Turns] = WeakKeyDictionary()
_turns_lock = threading.Lock()


def opened(engine: object, sessions: Callable[..., Any] | None) -> Any:
    """The context manager for a plain engine; see `evenhand.doors.isolation.rolled_back`."""
    if isinstance(engine, Engine):
        return _session(engine, sessions or Session)
    raise UsageError(
        f"rolled_back wants an Engine or an AsyncEngine of SQLAlchemy's, not {type(engine).__name__}",
        hint="create_engine() makes one; for Django there is django_rolled_back().",
    )


@contextmanager
def _session(engine: Engine, sessions: Callable[..., Any]) -> Iterator[Any]:
    check_pool(engine)
    with (
        claimed(engine, str(engine)),
        turns_of(engine, PLAIN).taken(alone=must_be_alone()),
        engine.connect() as connection,
    ):
        transaction = Transaction(connection)
        transaction.begin()
        session = made(sessions, Session, connection)
        try:
            yield session
        finally:
            transaction.end(session)


def check_pool(engine: Engine) -> None:
    """Refuses an engine whose database lives in one thread.

    Raises:
        UsageError: It does.
    """
    if isinstance(engine.pool, SingletonThreadPool):
        raise UsageError(
            f"{engine} has an in-memory database in each thread, and a trial may use several threads",
            hint="Give create_engine() poolclass=StaticPool and "
            'connect_args={"check_same_thread": False}.',
        )


def turns_of(engine: Engine, most: float) -> Turns:
    """Who may hold a transaction of this engine open, at most so many at a time."""
    with _turns_lock:
        turns = _turns.get(engine)
        if turns is None:
            turns = _turns[engine] = Turns(min(most, _room(engine)))
    return turns


def _room(engine: Engine) -> float:
    """How many trials may hold a transaction open at a time: SQLite has one writer, a pool so many connections."""
    pool = engine.pool
    if engine.dialect.name == "sqlite" or isinstance(pool, (StaticPool, AssertionPool)):
        return 1
    if not isinstance(pool, QueuePool):
        return math.inf
    overflow: int = getattr(pool, "_max_overflow", 0)  # there is no public way to ask
    return math.inf if overflow < 0 else max(1, pool.size() + overflow)


def made(sessions: Callable[..., Any], kind: type, connection: object) -> Any:
    """A session on this connection and nothing else, whatever the maker is bound to."""
    factory = getattr(sessions, "session_factory", sessions)  # a scoped_session keeps what it makes
    session = factory(bind=connection, binds=None, join_transaction_mode="create_savepoint")
    if not isinstance(session, kind):
        raise UsageError(
            f"sessions= made {type(session).__name__}, not {kind.__name__}",
            hint="An Engine goes with sessionmaker, an AsyncEngine with async_sessionmaker.",
        )
    return session


class Transaction:
    """The transaction on a connection that is never committed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._root = connection.begin()
        self._by_hand = False
        self._level: str | None = None

    def begin(self) -> None:
        """Begins it, with a savepoint that says at the end whether it is still there."""
        connection = self._connection
        driver: Any = connection.connection.driver_connection
        if connection.dialect.name == "sqlite" and not driver.in_transaction:
            raw: Any = connection.connection.dbapi_connection
            self._by_hand, self._level = True, raw.isolation_level
            raw.isolation_level = None
            connection.exec_driver_sql("BEGIN")
        try:
            connection.dialect.do_savepoint(connection, SAVEPOINT)
        except DBAPIError as error:
            raise UsageError(
                f"{connection.engine} cannot hold a transaction open: {error.orig}",
                hint="With isolation_level='AUTOCOMMIT' it cannot; give rolled_back "
                "engine.execution_options(isolation_level='READ COMMITTED').",
            ) from error
        event.listen(connection, "commit", _refuse)

    def end(self, session: Session) -> None:
        """Rolls everything back.

        Raises:
            CodeError: The transaction was over already.
        """
        connection = self._connection
        try:
            session.close()
            if self._root.is_active:
                connection.dialect.do_rollback_to_savepoint(connection, SAVEPOINT)
        except SQLAlchemyError as error:
            if connection.invalidated:
                raise
            raise CodeError(
                f"something ended the transaction of {connection.engine}: what it had written stays",
                hint="A COMMIT or ROLLBACK in SQL does that, and so do a few statements on some "
                "databases (ALTER TABLE on MySQL). session.commit() does not.",
            ) from error
        finally:
            self._roll_back()

    def _roll_back(self) -> None:
        connection = self._connection
        with contextlib.suppress(SQLAlchemyError):  # it was told above, or the connection is gone
            connection.rollback()
        if connection.invalidated:
            return
        raw: Any = connection.connection.dbapi_connection
        raw.rollback()
        if self._by_hand:
            driver: Any = connection.connection.driver_connection
            if driver.in_transaction:  # with autocommit=True, rollback() does nothing
                cursor = raw.cursor()
                cursor.execute("ROLLBACK")
                cursor.close()
            raw.isolation_level = self._level


def _refuse(connection: Connection) -> None:
    raise UsageError(
        f"the transaction of {connection.engine} is rolled back after the trial and cannot be committed",
        hint="session.commit() can be called; commit() of its connection cannot.",
    )
