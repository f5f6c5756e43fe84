"""What trials write to a database is undone, on real SQLite and real PostgreSQL."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from sqlalchemy import Engine, String, create_engine, event, func, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine, async_sessionmaker, create_async_engine
from sqlalchemy.ext.asyncio import AsyncSession as PlainAsyncSession
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker
from sqlalchemy.orm import scoped_session as scoped
from sqlalchemy.pool import NullPool, StaticPool

from evenhand import EvalSet, Expect, Model, run
from evenhand.core.errors import CodeError, UsageError
from evenhand.doors.eval_sets import plan
from evenhand.doors.isolation import rolled_back


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "notes"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(String(40), unique=True)


@pytest.fixture(params=["file", "file, begun by events", "memory", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A database with one note in it."""
    if request.param == "postgresql":
        socket = request.getfixturevalue("postgresql")
        made = create_engine(
            f"postgresql+psycopg://postgres@/postgres?host={socket}", pool_size=2, max_overflow=1
        )
    elif request.param == "memory":
        made = create_engine(
            "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
        )
    else:
        made = create_engine(f"sqlite:///{tmp_path}/app.db")
    if request.param == "file, begun by events":

        @event.listens_for(made, "connect")
        def connect(connection, record):
            connection.isolation_level = None

        @event.listens_for(made, "begin")
        def begin(connection):
            connection.exec_driver_sql("BEGIN")

    Base.metadata.drop_all(made)
    Base.metadata.create_all(made)
    with Session(made) as session:
        session.add(Note(text="first"))
        session.commit()
    yield made
    with made.begin() as connection:
        connection.execute(text("DROP TABLE IF EXISTS extra"))
    made.dispose()


@pytest.fixture(params=["file", "memory", "psycopg", "asyncpg"])
async def async_engine(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[AsyncEngine]:
    """The same, asked asynchronously."""
    if request.param in ("psycopg", "asyncpg"):
        socket = request.getfixturevalue("postgresql")
        url = f"postgresql+{request.param}://postgres@/postgres?host={socket}"
        made = create_async_engine(url, pool_size=2, max_overflow=1)
    elif request.param == "memory":
        made = create_async_engine("sqlite+aiosqlite://")
    else:
        made = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/app.db")
    async with made.begin() as connection:
        await connection.run_sync(Base.metadata.drop_all)
        await connection.run_sync(Base.metadata.create_all)
        await connection.execute(Note.__table__.insert().values(text="first"))
    yield made
    await made.dispose()


def notes(engine: Engine) -> list[str]:
    """What is there for good."""
    with Session(engine) as session:
        return list(session.scalars(select(Note.text).order_by(Note.id)))


async def async_notes(engine: AsyncEngine) -> list[str]:
    """What is there for good."""
    async with PlainAsyncSession(engine) as session:
        return list(await session.scalars(select(Note.text).order_by(Note.id)))


def commits(session: Session) -> None:
    """A commit, seen by what comes after it."""
    session.add(Note(text="second"))
    session.commit()
    assert session.scalar(select(func.count()).select_from(Note)) == 2


def rolls_back(session: Session) -> None:
    """A rollback between two commits."""
    session.add(Note(text="second"))
    session.commit()
    session.add(Note(text="third"))
    session.rollback()
    assert list(session.scalars(select(Note.text).order_by(Note.id))) == ["first", "second"]
    session.add(Note(text="fourth"))
    session.commit()


def nests(session: Session) -> None:
    """Savepoints of the application's own, one of them given up."""
    with session.begin_nested():
        session.add(Note(text="second"))
        inner = session.begin_nested()
        session.add(Note(text="third"))
        session.flush()
        inner.rollback()
    session.commit()
    assert session.scalar(select(func.count()).select_from(Note)) == 2


def breaks_a_rule(session: Session) -> None:
    """An error of the database's, and on."""
    session.add(Note(text="first"))
    with pytest.raises(IntegrityError):
        session.flush()
    session.rollback()
    session.add(Note(text="second"))
    session.commit()


def changes_tables(session: Session) -> None:
    """Tables come and go."""
    session.execute(text("CREATE TABLE extra (x INTEGER)"))
    session.execute(text("INSERT INTO extra VALUES (1)"))
    session.execute(text("DROP TABLE notes"))
    session.commit()
    assert session.scalar(text("SELECT count(*) FROM extra")) == 1


def works_on_the_connection(session: Session) -> None:
    """The connection itself, and a second session on it."""
    session.connection().execute(text("DELETE FROM notes"))
    with Session(session.connection(), join_transaction_mode="create_savepoint") as other:
        other.add(Note(text="second"))
        other.commit()
    session.commit()


def leaves_it_open(session: Session) -> None:
    """Neither commit nor rollback."""
    session.add(Note(text="second"))
    session.flush()


def stop() -> None:
    """Raises what nobody expects."""
    raise LookupError


def ends_it_in_sql(session: Session) -> None:
    """What cannot be prevented."""
    session.add(Note(text="second"))
    session.flush()
    session.execute(text("COMMIT"))


WORK = [
    commits,
    rolls_back,
    nests,
    breaks_a_rule,
    changes_tables,
    works_on_the_connection,
    leaves_it_open,
]


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("raises", [False, True])
def test_whatever_the_application_does_is_undone(
    engine: Engine, work: Callable[[Session], None], raises: bool
):
    """Commits, rollbacks, savepoints, errors and new tables, whether the block raises or not; and then again."""
    for _ in range(2):
        with (
            pytest.raises(LookupError) if raises else nullcontext(),
            rolled_back(engine) as session,
        ):
            work(session)
            if raises:
                stop()
        assert notes(engine) == ["first"]
    with Session(engine) as session:  # what is written outside stays, as ever
        session.add(Note(text="kept"))
        session.commit()
    assert notes(engine) == ["first", "kept"]
    with engine.connect() as connection, pytest.raises(Exception, match="extra"):
        connection.execute(text("SELECT * FROM extra"))


@pytest.mark.parametrize("work", [w for w in WORK if w is not works_on_the_connection])
async def test_whatever_an_async_application_does_is_undone(
    async_engine: AsyncEngine, work: Callable[[Session], None]
):
    """The same through AsyncSession, on both kinds of drivers."""
    for _ in range(2):
        async with rolled_back(async_engine) as session:
            assert isinstance(session, PlainAsyncSession)
            await session.run_sync(work)
            await session.commit()
        assert await async_notes(async_engine) == ["first"]
    with pytest.raises(LookupError):  # noqa: PT012 (there is no shorter way in async)
        async with rolled_back(async_engine) as session:
            await session.run_sync(work)
            raise LookupError
    assert await async_notes(async_engine) == ["first"]


class Special(Session):
    pass


class AsyncSpecial(PlainAsyncSession):
    pass


def test_the_applications_own_sessionmaker_makes_the_session(engine: Engine):
    """Its class and options are used; what it is bound to is not; a scoped session's registry stays as it was."""
    maker = sessionmaker(engine, class_=Special, expire_on_commit=False, binds={Base: engine})
    for sessions in (maker, scoped(maker)):
        with rolled_back(engine, sessions=sessions) as session:
            assert isinstance(session, Special)
            note = Note(text="second")
            session.add(note)
            session.commit()
            assert note.text == "second"
        assert notes(engine) == ["first"]


async def test_the_applications_own_async_sessionmaker_makes_the_session(async_engine: AsyncEngine):
    """As with the plain one; the wrong kind of maker is told."""
    maker = async_sessionmaker(async_engine, class_=AsyncSpecial)
    async with rolled_back(async_engine, sessions=maker) as session:
        assert isinstance(session, AsyncSpecial)
        await session.run_sync(commits)
    assert await async_notes(async_engine) == ["first"]
    with pytest.raises(UsageError, match="made Session, not AsyncSession"):
        async with rolled_back(async_engine, sessions=sessionmaker()):
            raise AssertionError


def test_a_commit_of_the_connection_is_refused(engine: Engine):
    """It would be for good; the block goes on to be undone."""
    with rolled_back(engine) as session:
        session.add(Note(text="second"))
        session.commit()
        with pytest.raises(UsageError, match="cannot be committed"):
            session.connection().commit()
    assert notes(engine) == ["first"]
    with rolled_back(engine) as session:
        commits(session)
        session.connection().rollback()
    assert notes(engine) == ["first"]


def test_a_commit_in_sql_is_told(engine: Engine):
    """It cannot be prevented, so it is an error at the end; what comes after it is still undone."""
    stays = pytest.raises(CodeError, match="what it had written stays")
    with stays, rolled_back(engine) as session:
        ends_it_in_sql(session)
    assert notes(engine) == ["first", "second"]
    with rolled_back(engine) as session:
        session.add(Note(text="third"))
        session.commit()
    assert notes(engine) == ["first", "second"]


def test_what_cannot_be_rolled_back_is_refused(engine: Engine, postgresql: str):
    """No engine; a database in each thread; connections that commit each statement; an engine that is in use."""
    with Session(engine) as session:
        for wrong in (session, sessionmaker(engine), "default", None):
            with pytest.raises(UsageError, match="wants an Engine or an AsyncEngine"):
                rolled_back(wrong)
    each = create_engine("sqlite://")
    with pytest.raises(UsageError, match="in each thread"), rolled_back(each):
        raise AssertionError
    url = f"postgresql+psycopg://postgres@/postgres?host={postgresql}"
    auto = create_engine(url, isolation_level="AUTOCOMMIT")
    with pytest.raises(UsageError, match="cannot hold a transaction open"), rolled_back(auto):
        raise AssertionError
    with rolled_back(auto.execution_options(isolation_level="READ COMMITTED")) as session:
        session.execute(text("CREATE TABLE extra (x INTEGER)"))
    auto.dispose()
    with (
        rolled_back(engine),
        pytest.raises(UsageError, match="is rolled back in this trial already"),
        rolled_back(engine),
    ):
        raise AssertionError


def ran(evals: EvalSet, concurrency: int = 40) -> list[tuple[str, list[str]]]:
    """Outcome and reasons of each trial."""
    with run(evals, concurrency=concurrency) as found:
        return [
            (t.outcome, [o.reason for o in t.outcomes if o.outcome != "pass"])
            for t in found.trials()
        ]


def test_plain_trials_run_side_by_side(engine: Engine):
    """More of them than the pool has connections, and than there are threads, each alone with what it writes."""
    evals = EvalSet("side by side", data=[{"id": str(i)} for i in range(40)])
    threads: set[int] = set()

    @evals.fixture
    def session():
        with rolled_back(engine) as session:
            yield session

    @evals.eval
    def writes(case, session: Session, expect: Expect):
        threads.add(threading.get_ident())
        session.add(Note(text="the same for all"))
        session.commit()
        time.sleep(0.005)
        session.add(Note(text=case.id))
        session.commit()
        expect(session.scalar(select(func.count()).select_from(Note)) == 3, "is alone")

    assert ran(evals) == [("pass", [])] * 40
    assert notes(engine) == ["first"]
    assert len(threads) > 1


@pytest.mark.parametrize("kinds", ["plain", "async", "plain and async"])
def test_locks_never_bring_a_run_to_a_halt(postgresql: str, kinds: str):
    """All write the same unique value, and wait for each other in the database: in threads, and on the loop itself."""
    engine = create_engine(
        f"postgresql+psycopg://postgres@/postgres?host={postgresql}", poolclass=NullPool
    )
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    evals = EvalSet("locks", data=[{"id": str(i)} for i in range(20)])

    @evals.fixture
    def session():
        with rolled_back(engine) as session:
            yield session

    if "plain" in kinds:

        @evals.eval
        def writes(session: Session, expect: Expect):
            session.add(Note(text="the same for all"))
            session.commit()
            time.sleep(0.002)
            expect(session.scalar(select(func.count()).select_from(Note)) == 1, "is alone")

    if "async" in kinds:

        @evals.eval
        async def writes_and_waits(session: Session, expect: Expect):
            session.add(Note(text="the same for all"))
            session.commit()
            await asyncio.sleep(0.002)
            expect(session.scalar(select(func.count()).select_from(Note)) == 1, "is alone")

    assert ran(evals) == [("pass", [])] * 20 * len(evals.evals)
    assert notes(engine) == []


async def test_async_trials_run_side_by_side(async_engine: AsyncEngine):
    """The same with async functions; one that is cancelled while it waits leaves the queue."""

    async def trial(name: str) -> None:
        async with rolled_back(async_engine) as session:
            session.add(Note(text="the same for all"))
            await session.commit()
            await asyncio.sleep(0.002)
            session.add(Note(text=name))
            await session.commit()
            assert await session.scalar(select(func.count()).select_from(Note)) == 3

    tasks = [asyncio.create_task(trial(str(i))) for i in range(30)]
    await asyncio.sleep(0.01)
    for task in tasks[3::3]:
        task.cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert [d for d in done if d is not None and not isinstance(d, asyncio.CancelledError)] == []
    assert await async_notes(async_engine) == ["first"]


@pytest.mark.parametrize("plain_fixture", [True, False])
def test_a_body_that_takes_too_long_is_undone(
    postgresql: str, monkeypatch: pytest.MonkeyPatch, plain_fixture: bool
):
    """In the middle of a statement or not, the trial is an error, and nothing that it wrote stays."""
    monkeypatch.setattr(plan, "LIMIT_S", 0.3)
    url = f"postgresql+psycopg://postgres@/postgres?host={postgresql}"
    plain, asynchronous = create_engine(url), create_async_engine(url)
    Base.metadata.drop_all(plain)
    Base.metadata.create_all(plain)
    evals = EvalSet("slow")

    if plain_fixture:

        @evals.fixture
        def session():
            with rolled_back(plain) as session:
                yield session

        @evals.eval
        def sleeps(session: Session):
            session.add(Note(text="slow"))
            session.commit()
            time.sleep(0.6)
            session.add(Note(text="late"))  # the trial is over by now
            session.commit()
    else:

        @evals.fixture
        async def session():
            async with rolled_back(asynchronous) as session:
                yield session

        @evals.eval
        async def sleeps(session: PlainAsyncSession):
            session.add(Note(text="slow"))
            await session.commit()
            await session.execute(text("SELECT pg_sleep(3)"))

    [(outcome, reasons)] = ran(evals)
    assert outcome == "error"
    assert reasons[0] == "sleeps took longer than 0.3 s and was given up"
    time.sleep(0.6)
    assert notes(plain) == []
    plain.dispose()


def test_model_calls_survive_the_rollback(engine: Engine):
    """What a trial asked of a model is in the run, though all that it wrote to the database is gone."""
    evals = EvalSet("asks", model="echo", data=[{"id": "a"}, {"id": "b"}])

    @evals.fixture
    def session():
        with rolled_back(engine) as session:
            yield session

    @evals.eval
    async def asks(case, session: Session, model: Model, expect: Expect):
        reply = await model.generate(f"note {case.id}")
        session.add(Note(text=reply.text))
        session.commit()
        expect(session.scalar(select(func.count()).select_from(Note)) == 2, "is noted")
        raise LookupError

    with run(evals) as found:
        trials = list(found.trials())
        assert [t.outcome for t in trials] == ["error", "error"]
        assert [t.output for t in trials] == ["note a", "note b"]
        assert [t.calls for t in trials] == [1, 1]
        assert found.path.exists()
    assert notes(engine) == ["first"]
