"""The models that a trial is lent, in which role and for which expectation it calls them, and calls of nobody's.

An application asks models by itself, with its vendor's SDK. Its calls are found by a context variable, which follows
into the threads that plain functions run in and into the tasks that they start; `evenhand.recording` makes them.

Calls that belong to no trial: a thread that was there before the run made them, or another process. Nobody can tell
whose such a call is. A run that replays, is offline, or has a budget, refuses it: it asks nobody, or nothing that could
pass the limit. Any other run lets it go, counts it and names it in its report. Whatever trial was under way meanwhile
may have made it: what such a trial cost, and what its application did, is then not known.

Other processes that code of a run starts are told by an environment variable what to do, and where to write down what
they sent. The first byte of that file says whether any of them wrote: it is mapped into memory, as it is looked at
several times for each trial, and asking for the size of the file takes longer.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, get_args
from weakref import WeakKeyDictionary

from evenhand.core.decision import Decision, DecisionQuestion
from evenhand.core.errors import CodeError, EvenhandError, ProviderError, UsageError
from evenhand.core.message import CallRole, Message, Messages, Prompt, Reply, Task, ToolCall
from evenhand.core.provider import Provider
from evenhand.core.run import REFUSED, UNSEEN
from evenhand.core.scratch import scratch_file
from evenhand.engine.budget import Spending
from evenhand.providers.configured import reading_by

if TYPE_CHECKING:
    from evenhand.engine.shared_workers import SharedWorkers

_ROLES: tuple[CallRole, ...] = get_args(CallRole)
phase: ContextVar[CallRole] = ContextVar("evenhand_phase", default="subject")
"""What a trial is doing: preparing, asking its subject, or judging."""


Asked = list[tuple[str, int]]
"""Calls of a trial, each by its request's key and its number among the trial's identical requests."""

scorer_calls: ContextVar[Asked | None] = ContextVar("evenhand_asked", default=None)
"""The calls that were made for the expectation that is being settled; None while none is."""


@contextmanager
def asking(calls: Asked) -> Iterator[None]:
    """Inside, calls are added to these."""
    token = scorer_calls.set(calls)
    try:
        yield
    finally:
        scorer_calls.reset(token)


def add_asked(calls: Iterable[tuple[str, int]]) -> None:
    """Has the expectation that is being settled, if any, rest on these calls, too."""
    mine = scorer_calls.get()
    if mine is not None:
        mine.extend(calls)


def checked_role(role: CallRole | None) -> CallRole | None:
    """A role that somebody has given, or None.

    Raises:
        UsageError: It isn't one.
    """
    if role is None or role in _ROLES:
        return role
    from evenhand.core.names import did_you_mean  # noqa: PLC0415 (for an error only)

    hint = did_you_mean(str(role), _ROLES, f"There are: {', '.join(_ROLES)}.")
    raise UsageError(f"role is {role!r:.60}, and there is no such role", hint=hint)


@contextmanager
def during(role: CallRole) -> Iterator[None]:
    """Inside, calls of the application's own have this role, unless it says another."""
    token = phase.set(checked_role(role) or "subject")
    try:
        yield
    finally:
        phase.reset(token)


class Home:
    """The loop that a run's trials live on, for as long as it lasts.

    Attributes:
        strangers: What becomes of calls that belong to no trial; None where nobody looks.
        workers: Finds what one trial starts and others use; None before any application has asked.
    """

    __slots__ = ("_visitors", "loop", "over", "process", "strangers", "workers")

    def __init__(self, loop: asyncio.AbstractEventLoop, strangers: Strangers | None = None) -> None:
        self.loop = loop
        self.over = False
        self.process = os.getpid()
        self.strangers = strangers
        self.workers: SharedWorkers | None = None
        self._visitors: dict[str, Provider] = {}

    def welcome(self, provider: Provider) -> None:
        """Remembers a provider that is in no plan, to close what it opened."""
        self._visitors[provider.account] = provider

    async def close(self) -> None:
        """Ends it: from now on an application's calls are no business of the run's."""
        self.over = True
        if self.strangers is not None:
            self.strangers.close()
        closing = (visitor.close() for visitor in self._visitors.values())
        await asyncio.gather(*closing, return_exceptions=True)


class OwnCalls:
    """The calls that one trial's application makes by itself.

    Attributes:
        tasks: Those under way.
        asked: The calls of tools that models asked it for.
        askers: The application's tasks that have asked, on the run's own loop, and its threads.
        halted: What keeps the trial from a verdict, whatever the application makes of it.
        given_up: The requests that never got an answer, by key, for SDKs that would ask again at once.
        returned: Whether the function under evaluation has returned.
        pending: What was asked in the background and isn't answered yet, by the address of its answer.
        unanswered: What the application got last, where that is no answer, and it hasn't asked again since.
    """

    __slots__ = (
        "asked",
        "askers",
        "given_up",
        "halted",
        "pending",
        "returned",
        "tasks",
        "unanswered",
    )

    def __init__(self) -> None:
        from evenhand.engine.shared_workers import Askers  # noqa: PLC0415 (most runs have none)

        self.asked: list[ToolCall] = []
        self.askers = Askers()
        self.tasks: set[asyncio.Task[object]] = set()
        self.halted: EvenhandError | None = None
        self.returned = False
        self.given_up: dict[str, ProviderError] = {}
        self.pending: dict[str, Provider] = {}
        self.unanswered: ProviderError | None = None

    async def over(self) -> None:
        """Waits for those that the application left running.

        Raises:
            EvenhandError: There can be no verdict.
        """
        self.returned = True
        if self.tasks:
            await asyncio.wait(self.tasks)
        error = self.halted or self.unanswered
        if error is not None:
            raise error

    def cancel(self) -> None:
        """Gives up those under way."""
        for task in self.tasks:
            task.cancel()


VARIABLE = "EVENHAND_RUN_CALLS"
_QUIET, _WRITTEN_TO = b"\n", b"!"
_HINT = (
    "Make the call in the trial's own thread, in one that it starts, or through asyncio.to_thread; or hand the context "
    "on with contextvars.copy_context().run."
)


class Witness(Protocol):
    """A trial that is under way when such a call is made."""

    over: bool
    watched: bool

    def halt(self, error: CodeError) -> None:
        """Keeps it from a verdict, whatever its code makes of the refusal."""
        ...

    def lose_sight(self, call: str) -> None:
        """Notes that not all is known of what the trial costs, and of what its application does."""
        ...


class LiveWitness(Witness, Protocol):
    """One that knows the run that it is of."""

    home: Home | None


class Strangers:
    """What one run does about calls that belong to none of its trials. Any thread may call it.

    Args:
        barred: Why nothing may be sent that isn't recorded; empty where it may.
        tell: Told the name of each call.
        always: Whether that holds between trials, too.
        but_to: A host and its port that calls may go to all the same; empty for none.
    """

    def __init__(
        self, barred: str, tell: Callable[[str], None], *, always: bool = True, but_to: str = ""
    ) -> None:
        self._barred = barred
        self._but_to = but_to
        self._tell = tell
        self._always = always
        self._lock = threading.Lock()
        self._present: WeakKeyDictionary[Witness, int] = WeakKeyDictionary()
        handle, path = scratch_file("calls")
        self._file, self._path = handle, path
        os.write(handle, _QUIET)
        self._read = len(_QUIET)
        self._map = mmap.mmap(handle, len(_QUIET), access=mmap.ACCESS_READ)
        self._flag: mmap.mmap | bytes = self._map
        self._before = os.environ.get(VARIABLE)
        self._setting = f"{'refuse' if barred else 'count'}|{but_to}|{path}"
        self.process = os.getpid()
        os.environ[VARIABLE] = self._setting
        alive.append(self)

    def look(self, trial: Witness) -> None:
        """A trial begins, is about to be judged, or to be over: what other processes sent meanwhile may be its own."""
        if trial.watched and self._flag[0] == _QUIET[0]:
            return  # nobody has sent anything
        trial.watched = True
        with self._lock:
            size = self._size()
            since = self._present.setdefault(trial, size)
            if size <= since:
                return
            self._present[trial] = size
        self._collect()
        for name in self._written(since, size):
            self._mark(trial, name.removeprefix(REFUSED), refused=name.startswith(REFUSED))

    def meet(self, call: str) -> CodeError | None:
        """Notes a call; returns why it must not be sent, where it must not."""
        with self._lock:
            trials = [trial for trial in self._present if not trial.over]
        if not trials and not self._always:
            return None
        barred = self._bars(call)
        for trial in trials:
            self._mark(trial, call, refused=barred)
        self._tell(f"{REFUSED if barred else ''}{call}")
        return refusal(call, self._barred) if barred else None

    def pass_by(self, call: str, trial: Witness) -> CodeError | None:
        """Notes a call of this trial's that can't be recorded; returns why it must not be sent, where it must not."""
        if self._bars(call):
            error = CodeError(
                f"a call can't be recorded, and was not sent as {self._barred}: {call}",
                hint="`print(recording.install())` says what can be recorded.",
            )
            trial.halt(error)
            self._tell(f"{REFUSED}{UNSEEN}{call}")
            return error
        trial.lose_sight(f"{UNSEEN}{call}")
        self._tell(f"{UNSEEN}{call}")
        return None

    def _bars(self, call: str) -> bool:
        return bool(self._barred) and not _goes_to(call, self._but_to)

    def close(self) -> None:
        """The run is over."""
        if self._file < 0:
            return
        alive.remove(self)
        self._collect()
        if os.environ.get(VARIABLE) == self._setting:
            if self._before is None:
                del os.environ[VARIABLE]
            else:
                os.environ[VARIABLE] = self._before
        self._flag = _QUIET
        self._map.close()
        os.close(self._file)
        self._file = -1
        self._path.unlink(missing_ok=True)

    def _size(self) -> int:
        """How long the file is; without asking for it, where nobody has written."""
        if self._flag[0] == _QUIET[0]:
            return len(_QUIET)
        return os.fstat(self._file).st_size

    def _mark(self, trial: Witness, call: str, *, refused: bool) -> None:
        if refused:
            trial.halt(refusal(call, self._barred))
        else:
            trial.lose_sight(call)

    def _collect(self) -> None:
        with self._lock:
            since, self._read = self._read, os.fstat(self._file).st_size
            names = self._written(since, self._read)
        for name in names:
            self._tell(name)

    def _written(self, since: int, size: int) -> list[str]:
        return os.pread(self._file, size - since, since).decode("utf-8", "replace").splitlines()


alive: list[Strangers] = []
"""The watchers of strangers' calls, one for each run that is under way in this process."""


def meet(call: str) -> CodeError | None:
    """Notes a call that belongs to no trial, in whatever run may be its; returns why it must not be sent.

    Args:
        call: What it is, such as `POST api.openai.com/v1/responses`.
    """
    here = [one for one in alive if one.process == os.getpid()]
    if here:
        errors = [one.meet(call) for one in here]
        return next(filter(None, errors), None)
    return _meet_outside(call)


def pass_by(call: str, trial: LiveWitness) -> CodeError | None:
    """Notes a call of a trial's that asks a model and can't be recorded; see `Strangers.pass_by`."""
    strangers = trial.home.strangers if trial.home is not None else None
    if strangers is not None:
        return strangers.pass_by(call, trial)
    trial.lose_sight(f"{UNSEEN}{call}")
    return None


def refusal(call: str, why: str) -> CodeError:
    """What to say of a call that was not sent."""
    return CodeError(
        f"a call of a recording client belongs to no trial, and was not sent as {why}: {call}",
        hint=_HINT,
    )


def _meet_outside(call: str) -> CodeError | None:
    """Refuses or notes a call that belongs to no trial, in another process than a run's own; None lets it pass."""
    what, _, rest = os.environ.get(VARIABLE, "").partition("|")
    but_to, _, path = rest.partition("|")
    if not path:
        return None
    refused = what == "refuse" and not _goes_to(call, but_to)
    line = f"{REFUSED if refused else ''}{' '.join(call.split())}\n".encode()
    try:
        # The flag first: whoever could read the line knows that there is one.
        _write(path, _WRITTEN_TO, 0)
        _write(path, line, os.O_APPEND)
    except OSError:  # the run is over
        return None
    why = "the run that this process belongs to replays, is offline, or has a budget"
    return refusal(call, why) if refused else None


def _goes_to(call: str, host: str) -> bool:
    """Whether a call with this name goes to this host and port."""
    return bool(host) and f" {host}/" in f" {call}"


def _write(path: str, data: bytes, flags: int) -> None:
    handle = os.open(path, os.O_WRONLY | flags | getattr(os, "O_NOFOLLOW", 0))
    try:
        os.write(handle, data)
    finally:
        os.close(handle)


class Borrower(Protocol):
    """The trial that a model is lent to, as far as the model tells it what it answered."""

    prompt_text: str
    reply: Reply | None
    spending: Spending

    async def decide(
        self, provider: Provider, role: CallRole, questions: Sequence[DecisionQuestion]
    ) -> list[tuple[Decision, Reply]]:
        """The decision on each question, in a request with whatever else the trial asks."""
        ...


Ask = Callable[[Provider, Prompt, CallRole], Awaitable[Reply]]
"""Asks for the trial, with journal, cache, limits, budget and retries."""


class LentModel:
    """A provider, lent to one trial in one role."""

    __slots__ = ("_ask", "_provider", "_role", "_trial")

    def __init__(self, trial: Borrower, ask: Ask, provider: Provider, role: CallRole) -> None:
        self._trial = trial
        self._ask = ask
        self._provider = provider
        self._role: CallRole = role

    @property
    def name(self) -> str:
        return self._provider.label

    @property
    def provider(self) -> Provider:
        """What is lent."""
        return self._provider

    async def generate(self, prompt: Prompt | str | Messages) -> Reply:
        prompt = prompt if isinstance(prompt, Prompt) else Prompt.of(prompt)
        trial, role = self._trial, self._role
        if role == "subject":
            if phase.get() == "setup":  # lent to an eval, and asked by what prepares it
                role = "setup"
            else:
                trial.prompt_text = prompt.text
        provider = reading_by(self._provider, prompt.config) if prompt.config else self._provider
        reply = await self._ask(provider, prompt, role)
        trial.spending.add(reply, role)
        if role == "subject":
            trial.reply = reply
        return reply

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if len(texts) == 1:
            return [await self._measure(texts[0], "embed")]
        unique = dict.fromkeys(texts)  # the same text twice is one question
        tasks = {text: asyncio.ensure_future(self._measure(text, "embed")) for text in unique}
        try:
            await asyncio.gather(*tasks.values())
        except BaseException:
            for task in tasks.values():
                task.cancel()
            await asyncio.wait(tasks.values())
            raise
        return [tasks[text].result() for text in texts]

    @property
    def decides(self) -> bool:
        return "decide" in self._provider.tasks and "generate" not in self._provider.tasks

    async def decide(self, questions: Sequence[DecisionQuestion]) -> list[tuple[Decision, Reply]]:
        return await self._trial.decide(self._provider, self._role, questions)

    async def classify(self, text: str) -> dict[str, float]:
        return await self._measure(text, "classify")

    async def moderate(self, text: str) -> dict[str, float]:
        return await self._measure(text, "moderate")

    async def _measure(self, text: str, task: Task) -> Any:
        prompt = Prompt((Message("user", text),), text, task=task)
        reply = await self._ask(self._provider, prompt, self._role)
        self._trial.spending.add(reply, self._role)
        return reply.output


T = TypeVar("T")


class Flight(Generic[T]):
    """What is under way, and how many wait for it."""

    __slots__ = ("task", "waiters")

    def __init__(self, task: asyncio.Task[T]) -> None:
        self.task = task
        self.waiters = 0

    async def landed(self) -> T:
        """The reply of the call. When all who wait are cancelled, so is the call; it is over when this returns."""
        self.waiters += 1
        try:
            return await asyncio.shield(self.task)
        except asyncio.CancelledError:
            if self.waiters == 1 and not self.task.done():
                self.task.cancel()
                await asyncio.wait([self.task])
            raise
        finally:
            self.waiters -= 1
