"""The user's code: imported once, run off the event loop, its prints kept, its failures named.

How this works: a plain function runs in one of a few daemon threads of our own. They are cheaper to hand work to than
an executor's, and one that is stuck can be left behind, which an executor cannot do. A single heap holds the time
limits of all calls under way. An async function is awaited on the event loop.

A function that takes too long is given up: its trial gets an error that names it, its thread is abandoned and another
takes its place; when it comes back after all, it ends. Python cannot kill a thread, so this stops at 20 abandoned ones.
A function that takes the whole process down leaves a note behind: each thread writes what it is running into a small
mapped file, which `last_words` reads afterwards.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import contextvars
import functools
import hashlib
import heapq
import importlib.util
import inspect
import itertools
import linecache
import queue
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar, cast

from evenhand.core.errors import CodeError, EvenhandError, MissedAssert, UsageError, first_line
from evenhand.core.names import did_you_mean
from evenhand.core.provider import L, Lasting
from evenhand.core.record import MutableRecord
from evenhand.core.users_code import is_users
from evenhand.engine.breadcrumbs import Breadcrumbs
from evenhand.engine.capture import captured, current, user_code
from evenhand.engine.guardian import note_running, running
from evenhand.engine.importing import fresh_spec, look_first_in
from evenhand.engine.process import end_if_forked
from evenhand.engine.python_names import users_call
from evenhand.engine.suspending import Suspended
from evenhand.engine.tasks import ThreadLoop, cancelled_by_run, clear_frames, undo_own_cancel
from evenhand.engine.time_limit import TimeLimit, clock, left_until
from evenhand.engine.trial import present
from evenhand.engine.watchdog import TimeUp
from evenhand.languages.methods import HOW_TO_CALL, needs_object, takes_self

T = TypeVar("T")

THREADS = 16
ABANDONED = 20
WAITING = 64
"""Async functions under way that are noted in the breadcrumbs."""
HINT_LIMIT = 4096


class _Here(threading.local):
    """In a thread of ours: the host that it works for, and the job that it is at."""

    at: tuple[CodeHost, _Job] | None = None


_here = _Here()


class _Job(MutableRecord):
    function: Callable[..., Any]
    args: tuple[object, ...]
    name: str
    context: contextvars.Context
    future: asyncio.Future[Any]
    limit_s: float
    worker: _WorkerThread | None = None
    started_at: float = 0.0
    left_behind: bool = False
    waits: bool = False


class _WorkerThread(MutableRecord):
    slot: int
    thread: threading.Thread | None = None  # once it is started
    abandoned: bool = False


class CodeHost:
    """Runs the user's functions for one run. Implements `evenhand.core.provider.Host`.

    Args:
        limit_s: Seconds that one call may take, unless it says otherwise.
        breadcrumbs: Where to note what is running, for `last_words`; None for nowhere.
        threads: Plain functions that may run at once.
        barred: Functions that are not run, by their names, and why.
    """

    def __init__(
        self,
        limit_s: float = 60.0,
        breadcrumbs: Path | None = None,
        threads: int = THREADS,
        barred: Mapping[str, CodeError] = MappingProxyType({}),
    ) -> None:
        self.limit_s = limit_s
        self._barred = barred
        self._threads = threads
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._workers: list[_WorkerThread] = []
        self._busy = 0
        self._abandoned = 0
        self._waiting = 0
        self._modules: dict[Path, asyncio.Future[ModuleType]] = {}
        self._functions: dict[tuple[Path, str], Callable[..., Any]] = {}
        self._lasting: dict[Callable[[float], Any], Lasting] = {}
        self._deadlines: list[tuple[float, int, _Job]] = []
        self._count = 0
        self._sweep: asyncio.TimerHandle | None = None
        plain = threads + ABANDONED
        self.crumbs = Breadcrumbs(breadcrumbs, plain + WAITING) if breadcrumbs else None
        self._free_slots = list(range(plain, plain + WAITING))

    @contextlib.contextmanager
    def open(self) -> Iterator[CodeHost]:
        """Inside, user code can be run and what it prints is kept."""
        try:
            with captured():
                yield self
        finally:
            self.close()

    def close(self) -> None:
        """Lets the threads go. One that is stuck is left behind; it does not hold the process up."""
        for thing in self._lasting.values():
            thing.close()
        self._lasting.clear()
        for worker in self._workers:
            if not worker.abandoned:
                self._jobs.put(None)
        self._workers = []
        for module in self._modules.values():
            module.cancel()  # one that is still being imported, and that nobody waits for any more
        if self._sweep is not None:
            self._sweep.cancel()
        if self.crumbs is not None:
            self.crumbs.close()

    async def load(self, path: Path, name: str) -> Callable[..., Any]:
        """The function, or `Class.method`, of a file; see `evenhand.core.provider.Host.load`."""
        function = self._functions.get((path, name))
        if function is not None:
            return function
        file = path.resolve()  # noqa: ASYNC240 (once for each function)
        future = self._modules.get(file)
        if future is None:
            future = asyncio.ensure_future(
                self.call(_import, path, name=path.name, limit_s=max(60.0, self.limit_s))
            )
            self._modules[file] = future
        module = await asyncio.shield(future)
        function = _attribute(module, path, name)
        self._functions[path, name] = function
        return function

    async def call(
        self,
        function: Callable[..., Awaitable[T] | T],
        *args: object,
        name: str,
        limit_s: float | None = None,
    ) -> T:
        """Runs a function and waits for it; see `evenhand.core.provider.Host.call`."""
        limit = self.limit_s if limit_s is None else limit_s
        if name in self._barred:
            why = self._barred[name]
            raise CodeError(why.message, hint=why.hint)
        if inspect.iscoroutinefunction(function):
            try:
                coroutine = function(*args)
            except TypeError as error:  # it does not take what it is given
                raise _code_error(name, error) from error
            result = await self._await(cast("Awaitable[T]", coroutine), name, limit)
            if inspect.isawaitable(result):  # `return helper()`, and not `return await helper()`
                return await self._await(cast("Awaitable[T]", result), name, limit)
            return result
        try:
            result = await self._submit(function, args, name, limit)
        except asyncio.CancelledError:
            if cancelled_by_run():
                raise
            await undo_own_cancel()
            raise _cancelled_itself(name) from None
        if inspect.isawaitable(result):
            return await self._await(cast("Awaitable[T]", result), name, limit)
        return cast("T", result)

    def lasting(self, make: Callable[[float], L]) -> L:
        """What serves the whole run; see `evenhand.core.provider.Host.lasting`."""
        thing = self._lasting.get(make)
        if thing is None:
            thing = self._lasting[make] = make(self.limit_s)
        return cast("L", thing)

    async def _await(self, awaitable: Awaitable[T], name: str, limit_s: float) -> T:
        # Awaited in this very task: in one of its own, sys.exit() would stop the loop.
        slot, task = self._noted(name), asyncio.current_task()
        limit = TimeLimit(limit_s, functools.partial(self._leave_behind, name, limit_s))
        try:
            with user_code(), users_call(name, present.get()):
                result = await awaitable
        except BaseException as error:
            if isinstance(error, GeneratorExit) and asyncio.current_task() is not task:
                raise  # the coroutine is closed; inside of its task, it is the function that raised it
            limit.end()
            by_run = isinstance(error, asyncio.CancelledError) and cancelled_by_run()
            await undo_own_cancel()
            # What a model that the run lent has raised is its own error, not one of the code that asked. A scorer that
            # can't be made as a line says is a mistake in that line, as in a plain function.
            lent = isinstance(error, (EvenhandError, Suspended)) and type(error) is not UsageError
            if by_run or lent:
                raise
            if limit.expired and isinstance(error, asyncio.CancelledError):
                raise self._too_long(name, limit_s) from None
            if isinstance(error, TimeUp):
                raise self._too_long(name, limit_s, held=_user_frame(error)) from None
            raise _code_error(name, error) from error
        else:
            limit.end()
            if await undo_own_cancel():
                raise _cancelled_itself(name)
            return result
        finally:
            limit.end()
            end_if_forked(name)
            if slot >= 0 and self.crumbs is not None:
                self.crumbs.write(slot, "")
                self._free_slots.append(slot)

    def _noted(self, name: str) -> int:
        """Notes an async function in the breadcrumbs. The slot; -1 where none is free, or nothing is noted."""
        if self.crumbs is None or not self._free_slots:
            return -1
        slot, trial, sink = self._free_slots.pop(), present.get(), current.get()
        text = f"{name}  {sink.label if sink else ''}"
        self.crumbs.write(slot, text, -1 if trial is None else trial.planned.index, waits=True)
        return slot

    def _leave_behind(self, name: str, limit_s: float) -> None:
        """Gives up an async function that goes on though it was cancelled."""
        trial = present.get()
        abandon = None if trial is None else trial.abandon
        if abandon is not None:
            abandon(self._too_long(name, limit_s, swallows=True))

    def _submit(
        self, function: Callable[..., Any], args: tuple[object, ...], name: str, limit_s: float
    ) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        if self._abandoned >= ABANDONED:
            raise _stuck(name)
        job = _Job(function, args, name, contextvars.copy_context(), loop.create_future(), limit_s)
        self._busy += 1
        job.future.add_done_callback(self._done)
        self._hire_if_short(self._busy)
        self._count += 1
        heapq.heappush(self._deadlines, (loop.time() + limit_s, self._count, job))
        wait = min(limit_s, 1.0)
        if self._sweep is not None and self._sweep.when() > loop.time() + wait:
            self._sweep.cancel()
            self._sweep = None
        if self._sweep is None:
            self._sweep = loop.call_later(wait, self._give_up_late)
        self._jobs.put(job)
        return job.future

    def _done(self, _: asyncio.Future[Any]) -> None:
        self._busy -= 1

    def _hire_if_short(self, count: int) -> None:
        if count <= len(self._workers) - self._abandoned:
            return
        if len(self._workers) >= self._threads + self._waiting + min(self._abandoned, ABANDONED):
            return
        taken = {worker.slot for worker in self._workers}
        worker = _WorkerThread(next(slot for slot in itertools.count() if slot not in taken))
        worker.thread = threading.Thread(
            target=self._work, args=(worker,), name=f"evenhand-code-{worker.slot}", daemon=True
        )
        self._workers.append(worker)
        worker.thread.start()

    def wait(self, more: int) -> None:
        """Counts one more, or one less, plain function that waits for another's; called on the loop."""
        self._waiting += more
        if more > 0:
            self._hire_if_short(self._busy)

    def _work(self, worker: _WorkerThread) -> None:
        loop = ThreadLoop()
        try:
            self._do_jobs(worker, loop)
        finally:
            loop.close()

    def _do_jobs(self, worker: _WorkerThread, loop: ThreadLoop) -> None:
        while not worker.abandoned:
            job = self._jobs.get()
            if job is None:
                return
            if job.future.done():  # given up, or cancelled, before its turn came
                continue
            job.started_at = clock()
            job.worker = worker
            _here.at = (self, job)
            if self.crumbs is not None:
                sink = job.context.get(current)
                trial = job.context.get(present)
                text = f"{job.name}  {sink.label if sink else ''}"
                self.crumbs.write(worker.slot, text, -1 if trial is None else trial.planned.index)
            else:
                note_running(job.name)
            loop.set()
            try:
                result, error = job.context.run(_run, job), None
            except BaseException as failure:  # noqa: BLE001 (user code may raise anything, SystemExit too)
                result, error = None, failure
            if self.crumbs is not None:
                self.crumbs.write(worker.slot, "")
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                job.future.get_loop().call_soon_threadsafe(self._came_back, job, result, error)

    def _came_back(self, job: _Job, result: object, error: BaseException | None) -> None:
        # Its thread ends: there is room for another.
        if job.left_behind and job.worker in self._workers:
            self._workers.remove(job.worker)
            self._abandoned -= 1
        _resolve(job, result, error)

    def _give_up_late(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self._deadlines and (
            self._deadlines[0][2].future.done() or self._deadlines[0][0] <= now
        ):
            _, _, job = heapq.heappop(self._deadlines)
            if not job.future.done():
                self._judge(job, now)
        self._sweep = None
        if self._deadlines:
            wait = min(max(self._deadlines[0][0] - now, 0.01), 1.0)
            self._sweep = loop.call_later(wait, self._give_up_late)

    def _judge(self, job: _Job, now: float) -> None:
        """Gives a call up if it has had its time; time in the queue does not count."""
        if job.worker is None:
            if self._abandoned >= len(self._workers):  # no thread is left that could take it
                job.future.set_exception(_stuck(job.name))
                return
            left = job.limit_s
        elif job.waits:
            left = job.limit_s
        else:
            left = left_until(job.started_at + job.limit_s)
        if left > 0:
            self._count += 1
            heapq.heappush(self._deadlines, (now + left, self._count, job))
            return
        if job.worker is not None:
            job.left_behind = job.worker.abandoned = True
            self._abandoned += 1
        job.future.set_exception(self._too_long(job.name, job.limit_s))
        self._hire_if_short(self._busy - 1)

    def _too_long(
        self, name: str, limit_s: float, *, swallows: bool = False, held: str = ""
    ) -> CodeError:
        if held:
            return CodeError(
                f"{name} took longer than {limit_s:g} s without an await, held up all other trials, and was given up",
                hint=f"Look for a loop without an end, or make it a plain function. {held}",
            )
        if swallows:
            return CodeError(
                f"{name} took longer than {limit_s:g} s, went on though it was cancelled, and was left behind",
                hint="Look for an `except BaseException` or a bare `except` around an await: let CancelledError out.",
            )
        more = "Give it more time with --time-limit, or l" if limit_s >= self.limit_s else "L"
        return CodeError(
            f"{name} took longer than {limit_s:g} s and was given up",
            hint=f"{more}ook for what it waits for, or for a loop without an end.",
        )


@contextlib.contextmanager
def waiting(give_up: Callable[[], object]) -> Iterator[None]:
    """Around what a plain function waits for until another trial is done: meanwhile its thread is not counted.

    Otherwise, with all threads waiting, none would be left for the one that they wait for. Nor does this time count
    for the function's limit, as it is not its own.

    Args:
        give_up: Ends the wait. Called where nobody wants what the function returns any more: the run is ending.
    """
    if _here.at is None:
        yield
        return
    host, job = _here.at
    loop, since = job.future.get_loop(), clock()

    def begin() -> None:
        host.wait(1)
        job.future.add_done_callback(lambda _: give_up())

    job.waits = True
    loop.call_soon_threadsafe(begin)
    try:
        yield
    finally:
        job.started_at += clock() - since
        job.waits = False
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody counts any more
            loop.call_soon_threadsafe(host.wait, -1)


def _run(job: _Job) -> object:
    try:
        with user_code(), users_call(job.name, present.get()):
            return job.function(*job.args)
    finally:
        end_if_forked(job.name)


def _resolve(job: _Job, result: object, error: BaseException | None) -> None:
    if job.future.done():
        return
    if error is None:
        job.future.set_result(result)
    elif isinstance(error, (CodeError, Suspended)):
        job.future.set_exception(error)
    else:
        job.future.set_exception(_code_error(job.name, error))


def _stuck(name: str) -> CodeError:
    return CodeError(
        f"{name} was not run: {ABANDONED} functions are stuck already",
        hint="They took longer than their time limit and were left behind; `evenhand show` names them.",
    )


def _code_error(name: str, error: BaseException) -> CodeError:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 (an exception of the user's may not even be able to say what it is)
        text = ""
    message = f"{name} raised {type(error).__name__}" + (f": {text}" if text else "")
    # Libraries say that a connection failed, and keep why to themselves.
    why = _why_unreached(error)
    if why and why not in message:
        message = f"{message.removesuffix('.')} ({why})"
    if type(error).__name__ == "BdbQuit":
        message = f"{name} was given up in the debugger"
    hint = _user_frame(error)
    if isinstance(error, EvenhandError):  # its own words, and what to do before the line
        usage = isinstance(error, UsageError)
        message = f"{name}{'' if usage else f' raised {type(error).__name__}'}: {error.message}"
        hint = f"{error.hint} {hint}".strip()
    if isinstance(error, (AttributeError, TypeError)) and "'coroutine' object" in text:
        message = f"{name} looks into a coroutine that was not awaited: {text}"
        hint = f"Write await in front of the call that made it, in an async def. {hint}".strip()
    code_error = CodeError(message, hint=hint)
    if isinstance(error, AssertionError):
        code_error.missed = _missed_assert(error, text)
    if isinstance(error, KeyError) and error.args:
        code_error.key = str(error.args[0])
    if isinstance(error, AttributeError):
        code_error.key = error.name or ""
    # What it holds goes now: a coroutine that was never awaited has to be told of while its trial is there.
    clear_frames(error)
    if isinstance(error, AttributeError):
        error.obj = None
    return code_error


def _why_unreached(error: BaseException) -> str:
    """What the network or a vendor did that an exception of the user's came of; empty for nothing."""
    known = {id(error)}
    while (before := error.__cause__ or error.__context__) is not None and id(before) not in known:
        known.add(id(before))
        if isinstance(before, EvenhandError):
            return before.message
        if isinstance(before, OSError):
            return f"{type(before).__name__}: {before}"
        error = before
    return ""


def _missed_assert(error: AssertionError, message: str) -> MissedAssert | None:
    """The assert that raised this; None where something else than an assert in a file did."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return None
    last = frames[-1]
    first = last.lineno or 0
    lines = range(first, (last.end_lineno or first) + 1)
    text = " ".join(linecache.getline(last.filename, line).strip() for line in lines)
    with contextlib.suppress(SyntaxError):  # a line of something longer
        tree = ast.parse(text)
        # Other statements may share the line, even other asserts.
        column = (last.colno or 0) - _indent(linecache.getline(last.filename, first))
        asserts = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
        meant = [node for node in asserts if node.col_offset <= column] or asserts
        condition = meant[-1].test if meant else tree.body[0]
        text = f"assert {ast.unparse(condition)}"
    return MissedAssert(last.filename, first, text[:HINT_LIMIT], message) if text else None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _cancelled_itself(name: str) -> CodeError:
    return CodeError(
        f"{name} cancelled the task that it runs in",
        hint="To give up early, return, or raise an exception.",
    )


def _user_frame(error: BaseException) -> str:
    """The last line of the user's own code that the error passed through."""
    own = [f for f in traceback.extract_tb(error.__traceback__) if is_users(f.filename)]
    if not own:
        return ""
    last = own[-1]
    return f"{last.filename}:{last.lineno}: {last.line or ''}"[:HINT_LIMIT]


_import_lock = threading.Lock()


def _import(path: Path) -> ModuleType:
    """Imports a file under a name of its own. It finds its neighbours, whatever other folders have."""
    resolved = path.resolve()
    name = f"evenhand_user_{hashlib.sha256(str(resolved).encode()).hexdigest()[:16]}_{path.stem}"
    with _import_lock:
        spec = fresh_spec(name, resolved)
        if spec is None or spec.loader is None:
            raise CodeError(
                f"{path} cannot be imported", hint="It has to be a Python file that exists."
            )
        module = importlib.util.module_from_spec(spec)
        look_first_in(resolved.parent)
        sys.modules[name] = module
        try:
            with running(f"the import of {path.name}"):
                spec.loader.exec_module(module)
        except BaseException as error:
            sys.modules.pop(name, None)
            if isinstance(error, FileNotFoundError) and error.filename == str(resolved):
                raise CodeError(f"{path} does not exist") from None
            raise _import_error(path, error) from error
        return module


def _import_error(path: Path, error: BaseException) -> CodeError:
    if isinstance(error, SyntaxError):
        return CodeError(f"{path}:{error.lineno}: {error.msg}", hint=(error.text or "").strip())
    hint = _user_frame(error)
    if isinstance(error, ModuleNotFoundError):
        hint = f"Install it into the environment that runs evenhand: pip install {error.name}"
    return CodeError(f"{path.name} could not be imported: {first_line(error)}", hint=hint)


def _attribute(module: ModuleType, path: Path, name: str) -> Callable[..., Any]:
    value: object = module
    for part in name.split("."):
        if takes_self(value, part):
            raise CodeError(f"{path.name}: {needs_object(name)}", hint=HOW_TO_CALL)
        value = getattr(value, part, None)
    if callable(value):
        return value
    names = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
    hint = did_you_mean(name, names, f"It has: {', '.join(names) or 'no functions'}.")
    raise CodeError(f"{path.name} has no function '{name}'", hint=hint)
