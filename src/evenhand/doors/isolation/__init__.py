"""Databases as they were: what a trial writes is undone when it is over.

    @evals.fixture
    def session():
        with rolled_back(engine) as session:
            yield session

How this works: a trial gets a connection of its own, on which a transaction is begun that is never committed. When the
application commits, a savepoint is released; when it rolls back, it goes back to one. After the trial the transaction
is rolled back, whatever happened. Model calls are not part of it: they are in the run's own file.

SQLAlchemy and Django are imported when they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar, overload

from evenhand.core.arguments import checked
from evenhand.core.errors import UsageError

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
    from sqlalchemy.orm import Session

    from evenhand.doors.isolation.django import RolledBack

    S = TypeVar("S", bound=Session)
    A = TypeVar("A", bound=AsyncSession)

__all__ = ["django_rolled_back", "rolled_back"]


@overload
def rolled_back(engine: Engine) -> AbstractContextManager[Session]: ...
@overload
def rolled_back(engine: Engine, *, sessions: Callable[..., S]) -> AbstractContextManager[S]: ...
@overload
def rolled_back(engine: AsyncEngine) -> AbstractAsyncContextManager[AsyncSession]: ...
@overload
def rolled_back(
    engine: AsyncEngine, *, sessions: Callable[..., A]
) -> AbstractAsyncContextManager[A]: ...


@checked
def rolled_back(engine: Any, *, sessions: Callable[..., Any] | None = None) -> Any:
    """A session of SQLAlchemy's, everything it does being undone at the end of the block.

    `with` for an Engine, `async with` for an AsyncEngine. `session.commit()` and `session.rollback()` work as ever,
    for the length of the block. `session.connection()` is the connection, for code that wants one.

    Where the database or the pool has no room for another trial, it waits for its turn: a SQLite database has room for
    one at a time.

    Args:
        engine: An Engine or an AsyncEngine.
        sessions: Makes the session: the application's own sessionmaker, or a subclass of Session.

    Raises:
        UsageError: SQLAlchemy 2 is not installed, `engine` is no engine, its database lives in one thread only, its
            connections cannot hold a transaction open, or this trial has it rolled back already.
        CodeError: At the end: something ended the transaction from within, and what it had written stays.
    """
    _look_for_sqlalchemy()
    if any(kind.__module__.startswith("sqlalchemy.ext.asyncio") for kind in type(engine).__mro__):
        # For an async engine alone: SQLAlchemy's asyncio wants greenlet, which a plain one does without.
        from evenhand.doors.isolation.sqlalchemy_async import opened_async  # noqa: PLC0415 (imported on use)

        return opened_async(engine, sessions)
    from evenhand.doors.isolation.sqlalchemy import opened  # noqa: PLC0415 (heavy, and not everybody's)

    return opened(engine, sessions)


def _look_for_sqlalchemy() -> None:
    """Refuses what `rolled_back` cannot work with.

    It is looked at before our own module is imported: of one that failed to import, threads that come meanwhile would
    be told of a name that is missing in it, and not why.
    """
    try:
        import sqlalchemy  # noqa: PLC0415 (heavy, and not everybody's)
    except ImportError as error:
        raise UsageError(
            f"rolled_back needs SQLAlchemy 2: {error}", hint="pip install 'sqlalchemy>=2'"
        ) from None
    version = sqlalchemy.__version__
    if version.partition(".")[0] in ("0", "1"):
        raise UsageError(
            f"rolled_back needs SQLAlchemy 2, and this is {version}",
            hint="pip install 'sqlalchemy>=2'",
        )


@checked
def django_rolled_back(*using: str) -> RolledBack:
    """Django's databases, everything that is done to them being undone at the end of the block.

    `with` in plain functions, `async with` in async ones; inside, the ORM is used as ever, in plain and async
    functions, fixtures and evals alike. As in Django's TestCase, what waits for `transaction.on_commit` is not run.

    Where the database is SQLite, trials take turns.

    Args:
        *using: Names of databases in Django's settings; `default` where none is given.

    Raises:
        UsageError: Django is not installed or not set up, a database is not in its settings or in memory only, or
            this trial has it rolled back already.
        CodeError: At the end: something ended the transaction from within, and what it had written stays.
    """
    try:
        from evenhand.doors.isolation.django import RolledBack  # noqa: PLC0415 (heavy, and not everybody's)
    except ImportError as error:
        raise UsageError(
            f"django_rolled_back needs Django: {error}", hint="pip install django"
        ) from None
    return RolledBack(using or ("default",))
