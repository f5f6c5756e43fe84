"""SQLAlchemy's AsyncEngine, as in `sqlalchemy`; a module of its own, as SQLAlchemy's asyncio wants greenlet."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from evenhand.doors.isolation.sqlalchemy import Transaction, check_pool, made, turns_of
from evenhand.doors.isolation.trial_resources import claimed


def opened_async(engine: object, sessions: Callable[..., Any] | None) -> Any:
    """The context manager for an AsyncEngine; see `evenhand.doors.isolation.rolled_back`."""
    return _session(cast("AsyncEngine", engine), sessions or AsyncSession)


@asynccontextmanager
async def _session(engine: AsyncEngine, sessions: Callable[..., Any]) -> AsyncIterator[Any]:
    check_pool(engine.sync_engine)
    with claimed(engine.sync_engine, str(engine.sync_engine)):
        async with turns_of(engine.sync_engine, math.inf).awaited(), engine.connect() as connection:
            transaction = await connection.run_sync(Transaction)
            await connection.run_sync(lambda _: transaction.begin())
            session = made(sessions, AsyncSession, connection)
            try:
                yield session
            finally:
                await connection.run_sync(lambda _: transaction.end(session.sync_session))
