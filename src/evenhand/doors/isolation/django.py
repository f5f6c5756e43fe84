"""Django: its connections, inside transactions that are never committed.

How this works: Django keeps a connection for each thread, while the functions of one trial run in several: plain ones
in threads of ours, what `sync_to_async` is given in threads of its own. So each trial gets a connection for itself, and
while it lasts, Django's store of connections is asked for it first, wherever the trial's context is. A thread that the
trial left behind does not get back to the database by another way: it is told that the trial is over.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from typing import Any

from asgiref.sync import ThreadSensitiveContext
from django.core.exceptions import ImproperlyConfigured
from django.db import Error, connections, transaction

from evenhand.core.errors import CodeError, UsageError
from evenhand.core.names import did_you_mean
from evenhand.doors.isolation.trial_resources import MadeOnce, claimed, kept, must_be_alone, peek
from evenhand.doors.isolation.turns import PLAIN, Turns
from evenhand.engine.tasks import is_loop_here

_OVER = object()
_installing = threading.Lock()
_turns: dict[str, Turns] = {}


class RolledBack:
    """The block that `evenhand.doors.isolation.django_rolled_back` opens, plain or async."""

    def __init__(self, using: Sequence[str]) -> None:
        # In one order everywhere, or two trials would wait for each other.
        self._using = sorted(set(using))
        self._turns = [_turns_of(alias) for alias in self._using]
        self._stack = ExitStack()
        self._async_stack = AsyncExitStack()

    def __enter__(self) -> None:
        if is_loop_here():
            raise UsageError(
                "django_rolled_back is opened with `with` in an async function",
                hint="Write `async with django_rolled_back():` there.",
            )
        with ExitStack() as stack:
            self._claim(stack)
            for turns in self._turns:
                stack.enter_context(turns.taken(alone=must_be_alone()))
            self._open(stack, stack.enter_context(kept()))
            self._stack = stack.pop_all()

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    async def __aenter__(self) -> None:
        async with AsyncExitStack() as stack:
            self._claim(stack)
            here = stack.enter_context(kept())  # in this task, whose context the threads copy
            for turns in self._turns:
                await stack.enter_async_context(turns.awaited())
            # A thread of its own for what the trial gives to sync_to_async: in the one that Django has for all,
            # it could wait for another trial's lock, and that one for the thread.
            await stack.enter_async_context(ThreadSensitiveContext())
            stack.push_async_callback(_in_thread, self._stack.close)
            await _in_thread(self._open, self._stack, here)
            self._async_stack = stack.pop_all()

    async def __aexit__(self, *error: object) -> None:
        await self._async_stack.aclose()

    def _claim(self, stack: ExitStack | AsyncExitStack) -> None:
        for alias in self._using:
            stack.enter_context(claimed(("claim", alias), f"the database {alias!r}"))

    def _open(self, stack: ExitStack, here: MadeOnce) -> None:
        with ExitStack() as opening:
            for alias in self._using:
                opening.enter_context(_transaction(alias, here))
            stack.push(opening.pop_all())


async def _in_thread(function: Callable[..., None], *args: object) -> None:
    """Runs it where no loop is running, as Django demands; to its end, even if this task is cancelled."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *args))
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise


@contextmanager
def _transaction(alias: str, here: MadeOnce) -> Iterator[None]:
    key = ("django", alias)
    connection: Any = connections.create_connection(alias)
    connection.inc_thread_sharing()
    here[key] = connection
    try:
        atomic: Any = transaction.atomic(using=alias)
        atomic._from_testcase = True  # noqa: SLF001 (as TestCase does: atomic(durable=True) works inside)
        with atomic:
            savepoint = connection.savepoint()
            try:
                yield
            finally:
                try:
                    _check(connection, savepoint, alias)
                finally:
                    connection.set_rollback(True)
    finally:
        if here.trial:
            here[key] = _OVER
        else:
            del here[key]
        connection.close()


def _check(connection: Any, savepoint: object, alias: str) -> None:
    """Sees whether the transaction is still the one that was begun: then its savepoint is there."""
    if connection.closed_in_transaction:  # and so rolled back
        return
    connection.set_rollback(False)
    try:
        connection.savepoint_rollback(savepoint)
    except Error as error:
        raise CodeError(
            f"something ended the transaction of the database {alias!r}: what it had written stays",
            hint="A COMMIT or ROLLBACK in SQL does that, and so do a few statements on some databases.",
        ) from error


class _ByTrial:
    """Stands in for Django's store of connections: a trial's own come first."""

    def __init__(self, store: object) -> None:
        object.__setattr__(self, "_store", store)

    def __getattr__(self, alias: str) -> Any:
        connection = peek(("django", alias))
        if connection is None:
            return getattr(self._store, alias)
        if connection is _OVER:
            raise CodeError(
                f"the database {alias!r} is not rolled back any more in this trial",
                hint="What comes after its fixture would be written for good.",
            )
        return connection

    def __setattr__(self, alias: str, connection: object) -> None:
        setattr(self._store, alias, connection)

    def __delattr__(self, alias: str) -> None:
        delattr(self._store, alias)


def _turns_of(alias: str) -> Turns:
    """The queue for a database: SQLite has one writer at a time."""
    try:
        names = list(connections)
    except ImproperlyConfigured as error:
        raise UsageError(
            f"Django is not set up: {error}",
            hint="In evals/setup.py, set DJANGO_SETTINGS_MODULE and call django.setup().",
        ) from None
    if alias not in names:
        hint = did_you_mean(alias, names, f"There are: {', '.join(names)}.")
        raise UsageError(f"Django's settings have no database {alias!r}", hint=hint)
    connection: Any = connections.create_connection(alias)  # not connected yet
    _install()
    if connection.vendor != "sqlite":
        return _turns.setdefault(alias, Turns(PLAIN))
    if connection.is_in_memory_db():
        raise UsageError(
            f"the database {alias!r} is in memory, and so each connection has its own",
            hint="Use a file: it is rolled back, too.",
        )
    return _turns.setdefault(alias, Turns(1))


def _install() -> None:
    handler: Any = connections
    with _installing:
        store = handler._connections  # noqa: SLF001 (there is no public way to stand in for it)
        if not isinstance(store, _ByTrial):
            handler._connections = _ByTrial(store)  # noqa: SLF001 (the same)
