"""The one door between ordinary code and the engine: makes or reopens a run file, runs a plan, says how it ended.

`run` is for code that waits (a script, a notebook cell, the command line); inside a loop that is already running it
takes a thread of its own. `settle` is the same for code that is async.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import inspect
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from msgspec import field
from msgspec.structs import replace

from evenhand.core.application_code import ApplicationCode, changed_modules
from evenhand.core.arguments import checked
from evenhand.core.errors import CodeError, ConfigError, UsageError
from evenhand.core.message import Prompt
from evenhand.core.plan import CassetteUse, Plan, look_at_size
from evenhand.core.ranges import BUDGET_USD, CONCURRENCY, RETRIES, SECONDS, SHARE
from evenhand.core.record import Record
from evenhand.core.requirement import PASSED, Bound, Requirement
from evenhand.core.run import CallRecord, RunMeta
from evenhand.core.shard import Shard, Sharded
from evenhand.core.shard_part import Part, look_at_part
from evenhand.core.version import __version__
from evenhand.core.wording.words import count
from evenhand.engine.agenda import Tell
from evenhand.engine.backing import Backing, Crew, Elsewhere, Terms
from evenhand.engine.breadcrumbs import Word, barred, last_words, to_set_aside
from evenhand.engine.budget import UNPRICED, Budget, asked_with, unpriced
from evenhand.engine.calls import CallDesk
from evenhand.engine.code import CodeHost
from evenhand.engine.rate_limits import Limits
from evenhand.engine.replay.answering import Replay, record_of
from evenhand.engine.retry_pauses import RetryPolicy
from evenhand.engine.reuse import Taking
from evenhand.engine.runner import Note, Runner, ShowProgress
from evenhand.engine.session import Decider, Ending, Session
from evenhand.engine.surroundings import need_open_files, open_files_allow, run_surrounded
from evenhand.engine.tasks import run_to_end
from evenhand.store.cache import Cache
from evenhand.store.home import lock_of, signed
from evenhand.store.journal import Journal
from evenhand.store.recordings import Recordings
from evenhand.store.replaced_outputs import LabelledOutputs
from evenhand.store.run_lookup import cache_folder, home_for, new_id, run_folder
from evenhand.store.runfile import RunFile

if TYPE_CHECKING:
    from evenhand.engine.batches.lane import BatchPolicy

P = ParamSpec("P")
T = TypeVar("T")
TellResumed = Callable[[Sequence[CallRecord], Sequence[str]], None]

CEILING = 32
"""Trials in flight where nobody says how many; the in-flight limit of an account starts lower and finds its own way."""
START = 10


class Settings(Record, frozen=True, kw_only=True):
    """How to run a plan. What is None is as the plan says.

    Attributes:
        home: The folder that keeps runs; None for EVENHAND_HOME, or `.evenhand` beside the plan's source.
        concurrency: Trials in flight, and calls in flight on any one account.
        cache: Whether replies may come from the cache, and go to it.
        max_cost_usd: No call is sent that could take the run past this.
        time_limit_s: For one call of a user's function.
        retries: How often a call that failed is tried again, rate limits not counted.
        free: Nothing is paid for, whatever prices say, and no budget is needed: replies come from a script.
        at_least: The share of trials, 0 to 1, that has to pass in each variant.
        anew: Of a run that is gone on with, trials in error ask again for what they were answered, and pay again.
        record: Kept in the run file, so that `resume` can build the same plan.
        cached_in: The home whose cache is used, where it is not the one that keeps the run.
        taking: Knows the results of trials that need not be run; None for nobody.
        decider: Ends the run as soon as enough is known; None for nobody.
        replay: What was recorded, and answers the calls; None to ask. Whoever opened it closes it.
        replay_asks: What is not recorded is asked.
        cassette: Answers all calls where the file is there, and is recorded otherwise; None for those of the plan.
        record_anew: Cassettes are recorded again.
        regrades: `replay` has outputs, and judges are asked about them.
        batch: What vendors take in batches goes there; None to ask everything live.
        shard: Only this part of the plan is run; None for all of it.
        elsewhere: Other processes that settle the trials; None to settle them here.
        id: The id of a new run; empty for any.
    """

    home: Path | None = None
    concurrency: int | None = None
    cache: bool | None = None
    max_cost_usd: float | None = None
    time_limit_s: float | None = None
    retries: int | None = None
    free: bool = False
    at_least: float | None = None
    anew: bool = False
    record: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cached_in: Path | None = None
    taking: Taking | None = None
    decider: Decider | None = None
    replay: Recordings | None = None
    replay_asks: bool = False
    cassette: Path | None = None
    record_anew: bool = False
    regrades: bool = False
    batch: BatchPolicy | None = None
    shard: Shard | None = None
    elsewhere: Elsewhere | None = None
    id: str = ""

    @property
    def sends(self) -> bool:
        """Whether anything may be sent."""
        return self.replay is None or self.replay_asks or self.regrades


class Finished(Record, frozen=True):
    """What became of a run."""

    path: Path
    ending: Ending


async def settle(
    plan: Plan,
    settings: Settings | None = None,
    *,
    resume: Path | None = None,
    progress: ShowProgress | None = None,
    note: Note | None = None,
    resumed: TellResumed | None = None,
    tell: Tell | None = None,
) -> Finished:
    """Runs a plan on the running loop; `run` waits for it.

    Args:
        settings: How; by default as the plan says.
        resume: The file of an unfinished run of this same plan, to go on with.
        progress: Told ten times a second how far it is.
        note: Told what should be known at once, a line at a time.
        resumed: Told, before anything is run, which calls an earlier session left in doubt, and what user code was
            running when it died.
        tell: Told each trial's result as soon as it is settled, in the plan's order.

    Raises:
        UsageError: `resume` is a run of another plan, a setting is out of its range, or a budget is set and the price
            of a model is not known.
        StoreError: The run cannot be kept, or another process is writing it.
    """
    settings = settings or Settings()
    _look_at_numbers(settings)
    look_at_size(plan)
    _look_at_prices(plan, settings)
    if settings.batch is not None:
        look_at_set_up(plan)
    note = note or (lambda _: None)
    uses = plan.options.cassettes
    if settings.cassette is not None:
        uses = (CassetteUse(settings.cassette, frozenset(one.index for one in plan.variants)),)
    if uses:
        from evenhand.engine.replay.cassettes import look_at_places  # noqa: PLC0415 (few plans have cassettes)

        look_at_places(uses, anew=settings.record_anew)
    part = Part(plan, settings.shard) if settings.shard is not None else None
    if part is not None:
        look_at_part(plan, part)
        uses = tuple(replace(use, whole=False) for use in uses)
    elsewhere = settings.elsewhere
    async with contextlib.AsyncExitStack() as opened:
        replays: Mapping[int, Replay] = {}
        missing: Sequence[CassetteUse] = ()
        if settings.replay is not None or uses:
            from evenhand.engine.replay.cassettes import recordings_for  # noqa: PLC0415 (as above)

            cassettes = opened.enter_context(
                recordings_for(
                    plan,
                    settings.replay,
                    uses,
                    asks=settings.replay_asks,
                    anew=settings.record_anew,
                    regrades=settings.regrades,
                )
            )
            replays, missing = cassettes.replays, cassettes.missing
        crew = None
        if elsewhere is not None:
            crew = await opened.enter_async_context(elsewhere.started(plan, _terms(plan, settings)))
        start = _Start(
            plan=plan,
            settings=settings,
            replays=replays,
            part=part,
            crew=crew,
            progress=progress,
            note=note,
            tell=tell,
        )
        finished = await start.run(resume, resumed)
    if missing and finished.ending.status == "finished":
        from evenhand.engine.replay.cassettes import record_cassettes  # noqa: PLC0415 (as above)

        record_cassettes(finished.path, missing, note)
    return finished


class _Start(Record, frozen=True, kw_only=True):
    """What one call of `settle` is to do, and with what; see there.

    Attributes:
        replays: What answers the calls of a variant, by its index.
        part: Only these trials are run; None for all.
        crew: Other processes that settle the trials, where there are such.
    """

    plan: Plan
    settings: Settings
    replays: Mapping[int, Replay]
    part: Part | None
    crew: Crew | None
    progress: ShowProgress | None
    note: Note
    tell: Tell | None

    async def run(self, resume: Path | None, resumed: TellResumed | None) -> Finished:
        """Makes or reopens the run's file, runs the plan, and notes in the file how that ended."""
        plan, settings = self.plan, self.settings
        if settings.elsewhere is None:
            need_open_files()
        home = resume.parent.parent if resume else home_of(plan, settings)
        words: list[Word] = []
        aside: Mapping[int, CodeError] = {}
        labelled: LabelledOutputs | None = None
        if resume is None:
            meta = _meta(plan, settings, self.replays, self.part)
            journal = Journal.create(run_folder(home), signed(meta, home))
        else:
            with RunFile.open(resume) as earlier:
                if earlier.meta.fingerprint != plan.fingerprint:
                    raise _changed(earlier.meta, plan)
                # Code that lies elsewhere, such as a library of the user's own, is no file of the plan's.
                if changed := changed_modules(earlier.meta.code, _code(plan, settings)):
                    raise changed_since(earlier.meta, changed)
            journal = Journal.reopen(resume, anew=settings.anew)
            # Under the lock: until then, another process may have been running what is read here.
            labelled = LabelledOutputs(resume)
            self._tell_labels(labelled.of_killed)
            words = last_words(_crumbs(resume))
            aside = to_set_aside(_crumbs(resume), words)
            if resumed is not None:
                resumed(journal.in_doubt(), _told(words))
        ending = Ending("stopped", "it ended with an error of Evenhand's own")
        try:
            not_run = barred(words, aside) if aside else {}
            ending = await self._settle(journal, home, aside, not_run)
        except (asyncio.CancelledError, KeyboardInterrupt):
            ending = Ending("interrupted", "interrupted by its caller")
            raise
        finally:
            decided = settings.decider.record() if settings.decider is not None else {}
            await journal.finish(ending.status, ending.message, decided, _code(plan, settings))
            if labelled is not None:
                self._tell_labels(labelled.take_back())
        # What an earlier run was answered is no evidence of anything new, and a part is none of the whole.
        whole = ending.status == "finished" and not self.replays and self.part is None
        if plan.options.closing is not None and whole:
            await asyncio.to_thread(plan.options.closing, journal.path)
        return Finished(journal.path, ending)

    def _tell_labels(self, taken_back: int) -> None:
        if taken_back:
            self.note(f"{count(taken_back, 'label')} taken back: of outputs that are others now")

    async def _settle(
        self,
        journal: Journal,
        home: Path,
        aside: Mapping[int, CodeError],
        not_run: Mapping[str, CodeError],
    ) -> Ending:
        """Runs the trials that the journal has no result of, but for those that are set aside."""
        plan, settings, crew = self.plan, self.settings, self.crew
        cached = _is_cached(plan, settings)
        cache = Cache.open(cache_folder(settings.cached_in or home), self.note) if cached else None
        budget = Budget(_most(plan, settings), journal.spent_usd, self.note)
        for bill in journal.bills:
            budget.remember(*bill)
        session = self._session(journal, cache, budget, not_run)
        runner = Runner(session, progress=self.progress, tell=self.tell, aside=aside)
        own = (
            journal.path,
            lock_of(journal.path),
            _crumbs(journal.path),
            cache_folder(settings.cached_in or home) / "answers.db",
        )
        try:
            return await run_surrounded(runner, session, own)
        finally:
            if crew is not None:
                await crew.over()  # as long as there is a journal
            if cache is not None:
                cache.close()

    def _session(
        self,
        journal: Journal,
        cache: Cache | None,
        budget: Budget,
        not_run: Mapping[str, CodeError],
    ) -> Session:
        """All that the trials share. Other processes that settle them are told of it."""
        plan, settings = self.plan, self.settings
        options = plan.options
        concurrency = self._within_open_files(_concurrency(plan, settings))
        retries = options.retries if settings.retries is None else settings.retries
        policy = RetryPolicy() if retries is None else RetryPolicy(attempts=retries + 1)
        limits = Limits(concurrency, settings.concurrency or options.concurrency or START, policy)
        time_limit_s = settings.time_limit_s or options.time_limit_s
        host = CodeHost(time_limit_s, _crumbs(journal.path), barred=not_run)
        lane = None
        if settings.batch is not None:
            from evenhand.engine.batches.lane import BatchLane  # noqa: PLC0415 (for runs in batches only)

            lane = BatchLane(journal, budget, settings.batch, plan.providers, self.note)
        desk = CallDesk(
            journal=journal,
            cache=cache,
            limits=limits,
            budget=budget,
            host=host,
            delay_s=options.delay_s,
            taking=settings.taking,
            replays=self.replays,
            lane=lane,
        )
        if self.crew is not None:
            self.crew.use(
                Backing(
                    journal=journal,
                    cache=cache,
                    limits=limits,
                    budget=budget,
                    counts=desk.counts,
                    note=self.note,
                )
            )
        return Session(
            plan=plan,
            journal=journal,
            desk=desk,
            limits=limits,
            budget=budget,
            host=host,
            concurrency=concurrency,
            note=self.note,
            decider=settings.decider,
            lane=lane,
            part=self.part,
            elsewhere=self.crew,
        )

    def _within_open_files(self, concurrency: int) -> int:
        """As many trials at once as files may be open for. Other processes open their own."""
        if self.settings.elsewhere is not None:
            return concurrency
        most = open_files_allow(concurrency)
        if most < concurrency:
            self.note(
                f"at most {most} at once, because few files may be open; "
                "allow more with `ulimit -n 4096`"
            )
        return most


def home_of(plan: Plan, settings: Settings) -> Path:
    """The folder that keeps a new run."""
    return settings.home or home_for(Path(plan.source) if plan.source else None)


def _told(words: Sequence[Word]) -> tuple[str, ...]:
    """What was running, for people. Of async functions, most were waiting."""
    return tuple(word.text for word in words if not word.waits)


def _concurrency(plan: Plan, settings: Settings) -> int:
    """Trials in flight, all workers together."""
    if plan.options.delay_s:
        return 1
    elsewhere = settings.elsewhere
    most = CEILING if elsewhere is None else elsewhere.workers * (elsewhere.seats or CEILING)
    return settings.concurrency or plan.options.concurrency or most


def _is_cached(plan: Plan, settings: Settings) -> bool:
    cache = plan.options.cache if settings.cache is None else settings.cache
    return cache and settings.sends and not settings.record_anew


def _terms(plan: Plan, settings: Settings) -> Terms:
    retries = plan.options.retries if settings.retries is None else settings.retries
    return Terms(
        concurrency=_concurrency(plan, settings),
        limited=_most(plan, settings) is not None,
        cached=_is_cached(plan, settings),
        attempts=None if retries is None else retries + 1,
        time_limit_s=settings.time_limit_s,
    )


def waiting(work: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """What an async function does, for code that is not: `score` is `waiting(score_async)`."""
    coroutine_of: Callable[P, Coroutine[Any, Any, T]] = inspect.unwrap(work)

    @wraps(work)
    def wait(*args: P.args, **kwargs: P.kwargs) -> T:
        return waited_for(coroutine_of(*args, **kwargs))

    wait.__name__ = wait.__qualname__ = work.__name__.removesuffix("_async")
    return checked(wait)


run = waiting(settle)
"""`settle`, waited for, from code that is not async."""


def waited_for(work: Coroutine[Any, Any, T]) -> T:
    """What this coroutine returns, from code that is not async, whether or not a loop is running in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run_to_end(work)
    results: list[T] = []
    errors: list[BaseException] = []
    begun: list[asyncio.Task[T]] = []
    over = threading.Event()

    async def noted() -> T:
        begun.append(cast("asyncio.Task[T]", asyncio.current_task()))
        return await work

    def elsewhere() -> None:
        try:
            results.append(run_to_end(noted()))
        except BaseException as error:  # noqa: BLE001 (raised again below, in the thread that asked)
            errors.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=elsewhere, name="evenhand-run")
    thread.start()
    try:
        over.wait()  # not the thread: interrupted, `join` takes it for ended (bpo-45274)
    except BaseException:  # nothing may go on, and be paid for, behind whoever waited
        while not (begun or over.is_set()):
            over.wait(0.01)
        for task in begun:
            with contextlib.suppress(RuntimeError):  # it has ended in this very moment
                task.get_loop().call_soon_threadsafe(task.cancel)
        over.wait()
        raise
    finally:
        if over.is_set():
            thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _look_at_numbers(settings: Settings) -> None:
    """Refuses what is in no range, before there is a run: with NaN for a budget, nothing would ever be too much."""
    for name, value, within in (
        ("concurrency", settings.concurrency, CONCURRENCY),
        ("max_cost_usd", settings.max_cost_usd, BUDGET_USD),
        ("time_limit_s", settings.time_limit_s, SECONDS),
        ("retries", settings.retries, RETRIES),
        ("at_least", settings.at_least, SHARE),
    ):
        if value is not None:
            within.check(name, value)


def _look_at_prices(plan: Plan, settings: Settings) -> None:
    """Refuses a budget that nobody could keep, before there is a run."""
    limit = _most(plan, settings)
    if limit is None:
        return
    for provider in plan.providers:
        request = provider.request(Prompt.of("")) if provider.paid else None
        if request is not None and request.cost_bound_usd is None:
            named = asked_with(provider.id, request.beyond)
            raise UsageError(unpriced(limit, named), hint=UNPRICED)


def look_at_set_up(plan: Plan) -> None:
    """Refuses batches where a trial may be set up only once: it runs in each wave, and is set up each time.

    Raises:
        ConfigError: A file says so.
    """
    hint = "With batches, a trial is set up again in each wave. Leave out --batch to ask live."
    problems = [dataclasses.replace(one, hint=hint) for one in plan.options.set_up_once]
    if problems:
        raise ConfigError(problems)


def _most(plan: Plan, settings: Settings) -> float | None:
    """What may be spent; None for no limit."""
    if settings.free or not settings.sends:
        return None
    return plan.options.max_cost_usd if settings.max_cost_usd is None else settings.max_cost_usd


def _crumbs(run_file: Path) -> Path:
    return run_file.parent.parent / "locks" / f"{run_file.stem}.running"


def _meta(
    plan: Plan,
    settings: Settings,
    replays: Mapping[int, Replay] | None = None,
    part: Part | None = None,
) -> RunMeta:
    sharded = None if part is None else Sharded(part.shard, plan.size, plan.case_count)
    return RunMeta(
        id=settings.id or new_id(home_of(plan, settings)),
        title=plan.title,
        source=plan.source,
        fingerprint=plan.fingerprint,
        planned=plan.size if part is None else part.size,
        case_count=plan.case_count if part is None else part.cases,
        repeats=plan.repeats,
        variants=tuple(plan.variants),
        created_at=time.time(),
        config=plan.config,
        settings={
            **settings.record,
            **(record_of(replays) if replays else {}),
            **({} if sharded is None else {"shard": sharded.record()}),
        },
        code=_code(plan, settings),
        pass_rate=plan.options.pass_rate,
        requirements=requirements(plan, settings),
        version=__version__,
    )


def _code(plan: Plan, settings: Settings) -> ApplicationCode:
    """The application's code. Where outputs are regraded, what has changed since is of neither version."""
    code = plan.code()
    if not settings.regrades or settings.replay is None:
        return code
    with RunFile.open(settings.replay.header.file) as graded:
        before = graded.meta.code
    return {
        name: part if before.get(name) == part else f"{before.get(name, '')}>{part}"
        for name, part in code.items()
    }


def requirements(plan: Plan, settings: Settings) -> tuple[Requirement, ...]:
    """What the variants have to reach. A share that the settings say takes the place of those that the plan says."""
    planned = plan.options.requirements
    if settings.at_least is None:
        return planned
    share = Requirement(
        PASSED, Bound(settings.at_least), tuple(variant.index for variant in plan.variants)
    )
    return (share, *(one for one in planned if one.metric != PASSED))


def _changed(meta: RunMeta, plan: Plan) -> UsageError:
    before, after = meta.config.get("files", {}), plan.config.get("files", {})
    return changed_since(
        meta, [name for name in {**before, **after} if before.get(name) != after.get(name)]
    )


def changed_since(meta: RunMeta, names: Sequence[str]) -> UsageError:
    """What is said of a run that can't be gone on with, as these files, or none that is known, are others now."""
    what = ", ".join(names) or "its prompts, tests, models or code"
    return UsageError(
        f"run {meta.id} cannot be resumed: {what} {'has' if len(names) == 1 else 'have'} changed since",
        hint="Start afresh: what is unchanged comes from the cache, and is not paid for again.",
    )
