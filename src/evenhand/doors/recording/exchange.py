"""One request of an application's in a trial: asked on the run's loop, told to the application wherever that is.

How this works: the asking is a task on the run's loop, and goes through the run's desk like a model's that was lent.
What the application waits for (the head of the answer, each piece of a stream) is awaited on that same loop; code on
another thread or another loop hops over for each. The last piece of a stream is held back until the whole is recorded,
so what an application has read to its end is never paid for again. A stream that is closed before its end is given up:
its call stays in doubt, and counts at the worst price that it can have.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from evenhand.core.encoding import encode
from evenhand.core.errors import (
    CodeError,
    ConnectionFailed,
    EvenhandError,
    ProviderError,
    TimedOut,
    UsageError,
)
from evenhand.core.message import CallRole, Prompt, Reply
from evenhand.core.record import Record
from evenhand.doors.recording.background import note
from evenhand.engine.call_context import OwnCalls, phase
from evenhand.engine.outcome import is_final
from evenhand.engine.shared_workers import SharedWorkers
from evenhand.engine.strays import lent
from evenhand.engine.trial import LiveTrial
from evenhand.providers.app_call import AppCall, AppReply, CutOff, content_type
from evenhand.providers.streams import END

T = TypeVar("T")

_KEPT_BACK = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"}
)
_TAIL = 64  # bytes in which the beginning of an end may lie


class ResponseHead(Record, frozen=True):
    """What an application is told first. `body` is None where it comes in pieces."""

    status: int
    headers: Mapping[str, str]
    body: bytes | None


class Exchange:
    """One request, and its answer as it comes in. All its methods run on the run's loop.

    Attributes:
        done: Whether all of the answer is here, or all that there will be.
        failed: Why there will be no more.
    """

    def __init__(self, trial: LiveTrial, call: AppCall, role: CallRole, retried: bool) -> None:
        self._trial = trial
        self._call = call
        self._role: CallRole = role
        self._retried = retried
        self._head: ResponseHead | None = None
        self._pieces: deque[bytes] = deque()
        self._held: list[bytes] = []
        self._tail = b"\n"
        self._news = asyncio.Event()
        self._task: asyncio.Task[AppReply] | None = None
        self.done = False
        self.failed: ProviderError | None = None
        call.live = self

    async def opened(self) -> ResponseHead:
        """The answer, or the head of one that comes in pieces.

        Raises:
            ConnectionFailed: There is none, as nobody could be reached.
            TimedOut: There is none in time.
        """
        own = self._trial.own
        if own is None:
            own = self._trial.own = OwnCalls()
        asker = asyncio.current_task()
        if asker in own.askers and own.returned and phase.get() == "subject":
            self._trial.blame(_goes_on())
        if self._trial.over:
            return refusal(_too_late(self._trial))
        if asker is not None:
            own.askers.add(asker)
        loan = lent.get()
        if loan is not None and loan.thread is not None:
            own.askers.add(loan.thread)
        if self._retried and self._call.own_request.key in own.given_up:
            raise own.given_up[self._call.own_request.key]
        home = self._trial.home
        if home is not None:
            home.welcome(self._call)
            home.workers = home.workers or SharedWorkers()
        if self._call.speaks:  # whoever asks again has dealt with what came before
            own.unanswered = None
        task = self._task = asyncio.create_task(self._ask())
        own.tasks.add(task)
        task.add_done_callback(self._ended)
        try:
            while not self.done and self._head is None:
                await self._news.wait()
                self._news.clear()
            if self._head is not None:
                return self._head
            return self._answer(own, task)
        except asyncio.CancelledError:
            await self.close()
            raise

    def _answer(self, own: OwnCalls, task: asyncio.Task[AppReply]) -> ResponseHead:
        """What became of a call of which nothing was passed on while it was under way."""
        if task.cancelled() and self.failed is not None:
            raise self.failed
        try:
            body = task.result().body
        except EvenhandError as error:
            if is_final(error):
                own.halted = own.halted or error
            if isinstance(error, ProviderError) and error.answer is not None:
                # The SDKs retry after some statuses, and the run has retried already.
                status, headers, body = error.answer
                headers = {**_passed_on(headers), "x-should-retry": "false"}
                if isinstance(error, (ConnectionFailed, TimedOut)):
                    # The recording of a stream that broke off after so much.
                    self._pieces.extend([body] if body else ())
                    return ResponseHead(status, headers, None)
                return ResponseHead(status, headers, body)
            if isinstance(error, (ConnectionFailed, TimedOut)):
                # An SDK that asks again after this gets the same error at once: the run has tried as often as makes
                # sense.
                own.given_up[self._call.own_request.key] = error
                raise
            return refusal(error)
        if self._call.head is not None:
            status, headers = self._call.head
            return ResponseHead(status, _passed_on(headers), body)
        return ResponseHead(200, {"content-type": content_type(body)}, body)

    async def next(self) -> bytes:
        """The next piece of a stream; empty at its end.

        Raises:
            ProviderError: It broke off; see `failed`.
        """
        while not self._pieces:
            if self.done:
                if self.failed is not None:
                    raise self.failed
                return b""
            await self._news.wait()
            self._news.clear()
        return self._pieces.popleft()

    async def close(self) -> None:
        """Gives up what is still under way."""
        task = self._task
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])

    async def _ask(self) -> AppReply:
        trial, call = self._trial, self._call
        prompt = Prompt((), call.text)
        try:
            reply = await trial.asker.ask(trial, call, prompt, self._role)
        except EvenhandError:
            trial.unasked(call.own_request.key)
            raise
        assert isinstance(reply, AppReply)  # noqa: S101 (no other provider has such a key)
        self._count(reply)
        return reply

    def _count(self, reply: Reply) -> None:
        trial = self._trial
        trial.spending.add(reply, self._role)
        # A prompt without a reply: a model that the run lent is being asked, and is a function that asks in turn.
        inside = trial.prompt_text and trial.reply is None
        is_main = self._role == "subject" and self._call.speaks and not inside
        if not isinstance(reply, AppReply):
            return
        if trial.own is not None:
            note(trial.own, self._call, reply)
            trial.own.asked += reply.tool_calls
        if is_main and not reply.pending:
            trial.prompt_text = self._call.text
            trial.reply = reply

    def _ended(self, task: asyncio.Task[AppReply]) -> None:
        own = self._trial.own
        if own is not None:
            own.tasks.discard(task)
        if task.cancelled():
            if self._call.tried:
                self._count(Reply(""))  # what it cost nobody knows
            self.failed = ConnectionFailed("it was given up with its trial", billed=None)
        elif (error := task.exception()) is not None:
            if own is not None and isinstance(error, EvenhandError) and is_final(error):
                own.halted = own.halted or error
            known = isinstance(error, ProviderError)
            self.failed = error if known else ConnectionFailed(str(error), billed=None)
            if isinstance(error, CutOff):
                self._count(Reply(""))
        # Or else the application would read to the end and never learn of it.
        if self.failed is None:
            self._pieces.extend(self._held)
        self.done = True
        self._news.set()

    # A listener to the answer

    def began(self, status: int, headers: Mapping[str, str]) -> None:
        self._head = ResponseHead(status, _passed_on(headers), None)
        self._news.set()

    def piece(self, data: bytes) -> None:
        """So is a piece of it, passed on unless the end lies in it."""
        recent = self._tail + data
        self._tail = recent[-_TAIL:]
        if self._held or END.search(recent):
            self._held.append(data)
            return
        self._pieces.append(data)
        self._news.set()


def refuse_to_block(trial: LiveTrial) -> ResponseHead:
    """The answer to a client that waits on the very thread that would have to bring the answer."""
    error = UsageError(
        "a client that is not async was used on the event loop, which it would keep from ever answering it",
        hint="Use AsyncOpenAI or AsyncAnthropic there, make the eval a plain function, or call through "
        "asyncio.to_thread.",
    )
    own = trial.own
    if own is None:
        own = trial.own = OwnCalls()
    own.halted = own.halted or error
    return refusal(error)


def hop(loop: asyncio.AbstractEventLoop, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What a coroutine on the run's loop returns, for a thread that waits for it."""
    return asyncio.run_coroutine_threadsafe(make(), loop).result()


async def hop_async(
    loop: asyncio.AbstractEventLoop, make: Callable[[], Coroutine[Any, Any, T]]
) -> T:
    """What a coroutine on the run's loop returns, for code on whatever loop."""
    if asyncio.get_running_loop() is loop:
        return await make()
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(make(), loop))


def _passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    """An answer's headers without those of the connection that it came over: it was unpacked there."""
    return {k.lower(): v for k, v in headers.items() if k.lower() not in _KEPT_BACK}


def refusal(error: EvenhandError) -> ResponseHead:
    """An answer in the vendors' shape that says why nothing was asked, and that asking again will not help."""
    error_body = {"type": "evenhand", "code": error.slug, "message": str(error)}
    headers = {"content-type": "application/json", "x-should-retry": "false"}
    return ResponseHead(400, headers, encode({"type": "error", "error": error_body}))


def _goes_on() -> CodeError:
    return CodeError(
        "a task that it started goes on asking models: which of its calls were the trial's is not known",
        hint="Wait for the task in the eval. Start one that works for several trials before the run, and have each "
        "trial ask models by itself.",
    )


def _too_late(trial: LiveTrial) -> UsageError:
    return UsageError(
        f"a model was asked for {trial.planned.case} when that trial was over",
        hint="Wait in the eval for what it starts; start what is to outlast a trial outside of one.",
    )
