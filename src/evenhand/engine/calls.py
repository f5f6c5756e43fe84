"""The one place that every model call goes through.

How this works: a call is answered by the first of these that can.

1. The journal, when this run is being resumed: a reply received before the interruption is read again by the very code
   that read it the first time, found by (trial, request, n-th identical request in that trial). It answers for trials
   that had a verdict and are settled again, too, and for a contest under whichever of its trials it was asked.
2. The recordings of an earlier run or a cassette, where the run replays them (see `replay`). What they do not have is
   an error, unless it may be asked.
3. The cache, across runs, by (request, draw). The draw says which of several answers to the same request is meant:
   repeat 0 and repeat 1 are two draws, and so are the first and second identical request of one trial. What is sampled
   (no temperature 0, no seed) is never shared between cases, and what a subject is asked not between variants, which
   may differ in code alone. Of an embedding and its like there is one draw only.
4. A batch, where the run has a batch lane and the vendor takes such a request: the trial is put off until the answer is
   in the journal (see `batches`).
5. A call under way for the same (request, draw): whoever comes second waits for it.
6. The provider. The worst price is reserved from the budget; once the call is among the next ones, the intent is made
   durable; the account lets it through; the request is sent, again if need be; the reply is made durable; only then
   does anybody see it.

A call that is under way goes on when the one who waits for it is cancelled and somebody else still waits.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from asyncio import sleep
from collections.abc import Awaitable, Mapping
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec.structs import replace

from evenhand.core.application_code import JUDGE
from evenhand.core.errors import (
    BadRequest,
    BudgetStop,
    EvenhandError,
    NotRecorded,
    ProviderError,
    first_line,
)
from evenhand.core.message import CallRole, Origin, Prompt, Reply, Task
from evenhand.core.provider import Answer, Host, Provider, Request, says
from evenhand.core.run import CallEnd, CallStart
from evenhand.core.scripted import request_name, script_address
from evenhand.core.secrets import known, shown
from evenhand.core.step_recorder import REPLAYED
from evenhand.core.unusable_answers import note_cached
from evenhand.core.variant import Variant, identity
from evenhand.engine.backing import (
    Answers,
    CallAccount,
    CallBudget,
    CallCounts,
    CallLimits,
    RunJournal,
)
from evenhand.engine.budget import NOTHING, Reservation, asked_with
from evenhand.engine.call_context import Flight, Strangers, add_asked
from evenhand.engine.call_ends import ended, failed, worth_keeping
from evenhand.engine.outcome import answer_in
from evenhand.engine.pace import Permit
from evenhand.engine.replay.answering import Replay, recorded_error
from evenhand.engine.replay.application_calls import Tools, missed
from evenhand.engine.reuse import Taken, Taking, checks_of
from evenhand.engine.trial import LiveTrial
from evenhand.providers.local_code import own_code

if TYPE_CHECKING:
    from evenhand.engine.batches.lane import BatchLane
    from evenhand.store.cache import CachedReply

_Paid = tuple[Reply, bytes]
"""A reply, and the answer that it was read from."""


class CallDesk:
    """Answers the calls of one run's trials."""

    def __init__(
        self,
        *,
        journal: RunJournal,
        cache: Answers | None,
        limits: CallLimits,
        budget: CallBudget,
        host: Host,
        delay_s: float = 0.0,
        taking: Taking | None = None,
        replays: Mapping[int, Replay] | None = None,
        lane: BatchLane | None = None,
    ) -> None:
        self._journal = journal
        self._cache = cache
        self._limits = limits
        self._budget = budget
        self._host = host
        self._replaying = journal.resumed
        self._delay_s = delay_s
        self._taking = taking
        self._replays = replays or {}
        self._lane = lane
        self.tools = Tools(journal, self._replays, repeats=lane is not None)
        self._under_way: dict[tuple[str, str], Flight[_Paid]] = {}
        self._dead: dict[tuple[str, str], ProviderError] = {}
        self._variants: dict[int, str] = {}
        self._judges: set[str] = set()
        self.counts = CallCounts()

    def turned(self) -> None:
        """Trials that were put off run again: the journal has what was answered since, and live calls of before."""
        self._replaying = True

    def strangers(self, barred: str = "", *, always: bool = True) -> Strangers:
        """What the run does about calls that belong to none of its trials.

        Args:
            barred: Why nothing may be sent that isn't recorded, beside what is known here.
            always: Whether that holds between trials, too.
        """
        if any(not replay.asks for replay in self._replays.values()):
            barred = "the run replays"
        elif self._budget.limited:
            barred = "the run has a budget"
        script = ""
        if not barred and (address := script_address.get()):
            barred = "the run is offline"
            script = urlsplit(address).netloc  # what finds its way there by itself reaches no model
        return Strangers(barred, self._journal.note_unrecorded, always=always, but_to=script)

    def put_off(self, trial: LiveTrial) -> None:
        """Doesn't count the calls of a trial that was put off, as it makes them again."""
        self.counts.calls -= trial.asked_times()

    async def ask(
        self, trial: LiveTrial, provider: Provider, prompt: Prompt, role: CallRole
    ) -> Reply:
        """The reply to this prompt, from wherever it can be had without paying twice.

        Raises:
            ProviderError: There is none, after all the attempts that made sense.
            NotRecorded: The run replays another one that has none, and nothing may be asked.
            BudgetStop: It could cost more than the run may still spend.
            StoreError: It could not be recorded, so it was not sent.
        """
        if prompt.task not in provider.tasks:
            raise _unable(provider, prompt.task)
        request = provider.request(prompt)
        if role == "subject" and trial.fresh:
            self._look_back(trial, provider, request)
        self.counts.calls += 1
        if not provider.paid:
            reply = await self._free(trial, provider, request, role)
            return answer_in(trial, provider, reply) if role == "subject" else reply
        if role == "subject":
            trial.identities.append(request.identity)
        nth = trial.nth(request.key)
        add_asked([(request.key, nth)])
        if role == "judge":
            self._know_code(provider)
        if role != "subject":
            return await self._answered(trial, provider, prompt, request, role, nth)
        with trial.step_log.calling(provider, request, nth) as step:
            reply = await self._answered(trial, provider, prompt, request, role, nth)
            if reply.origin in REPLAYED:
                await asyncio.sleep(0)  # what is asked at once begins before the first is answered
            return step.answered(answer_in(trial, provider, reply))

    def _know_code(self, judge: Provider) -> None:
        if judge.id not in self._judges:
            self._judges.add(judge.id)
            if code := own_code(judge):
                self._journal.note_code(f"{JUDGE}{_writable(judge.id)}", code)

    async def _answered(
        self,
        trial: LiveTrial,
        provider: Provider,
        prompt: Prompt,
        request: Request,
        role: CallRole,
        nth: int,
    ) -> Reply:
        planned = trial.planned
        if self._replaying:
            recorded = self._journal.recorded(planned.index, request.key, nth)
            if recorded is not None:
                return self._recorded(provider, request, recorded)
        # What is measured rather than said is the same every time: there is but one draw of it.
        draw = f"{planned.repeat}.{nth}" if prompt.task == "generate" else "0.0"
        if not request.deterministic:
            draw += f".{_writable(planned.case.id)}"
            if role == "subject":
                draw += f".{self._name_of(planned.variant)}"
        if request.unsent:
            draw += f".{request.unsent}"
        start = CallStart(
            trial=planned.index,
            key=request.key,
            nth=nth,
            role=role,
            provider=_writable(provider.id),
            identity=request.identity,
            cost_bound_usd=request.cost_bound_usd,
            draw=draw,
        )
        replay = self._replays.get(planned.variant.index)
        if replay is not None:
            end = replay.answer(trial, start, request)
            if end is not None:
                return self._from_recordings(start, provider, end)
            stored = replay.stored(trial, provider, start)
            if stored is not None:
                self.counts.cached += 1
                return stored
            if not replay.may_ask(role):
                raise missed(trial, replay.missed(trial, role, start.provider, request))
        if trial.compared and self._replaying:
            # What is asked of a contest is asked in the name of one of its trials, not always of the same.
            earlier = self._journal.compared(trial.compared, request.key, nth)
            if earlier is not None:
                return self._taken(start, provider, request, earlier)
        if self._cache is not None and says(provider, "lasts"):
            return await self._shared(trial, self._cache, start, provider, request)
        if self._lane is not None:
            await self._lane.admit(trial, start, provider, request, None)
        return (await self._pay(start, provider, request))[0]

    def _name_of(self, variant: Variant) -> str:
        """A short name of a variant that stays the same from run to run, whatever its place."""
        name = self._variants.get(variant.index)
        if name is None:
            name = hashlib.sha256(identity(variant).encode()).hexdigest()[:8]
            self._variants[variant.index] = name
        return name

    def _recorded(self, provider: Provider, request: Request, recorded: CallEnd) -> Reply:
        """A reply that this run has received before."""
        paid = recorded.origin == "provider"  # by this trial: its cost is the trial's
        if not paid or self._lane is None:
            reply = self._replayed(provider, recorded, "journal" if paid else recorded.origin)
            return self._priced(provider, request, reply)
        # A trial that was put off has paid for it in an earlier pass, and maybe at another price.
        reply = self._replayed(provider, recorded, "provider")
        self.counts.cached -= 1
        return replace(reply, cost_usd=recorded.cost_usd if recorded.attempts else reply.cost_usd)

    def _look_back(self, trial: LiveTrial, provider: Provider, request: Request) -> None:
        """Notes what is expected of an answer, and ends a trial whose result an earlier run knows; raises Taken."""
        alone = says(provider, "answers_by_request_alone") and not request.unsent
        if alone:
            trial.checks = checks_of(trial.planned, trial.vars)
        if self._taking is None:
            return
        name = request_name(request)
        result = self._taking(trial.planned, name, trial.checks, by_request_alone=alone)
        if result is not None:
            raise Taken(result)

    async def _shared(
        self,
        trial: LiveTrial,
        cache: Answers,
        start: CallStart,
        provider: Provider,
        request: Request,
    ) -> Reply:
        draw = start.draw
        note_cached(partial(cache.forget, request.key, draw))
        stored = cache.get(request.key, draw)
        if stored is None and self._replaying:
            # The answer to another trial of this run, which the cache had no time to keep.
            stored = self._journal.answered(request.key, draw)
        if stored is not None:
            return self._taken(start, provider, request, stored)
        if self._lane is not None:
            await self._lane.admit(trial, start, provider, request, cache)
        name = (request.key, draw)
        flight = self._under_way.get(name)
        if flight is not None and not flight.task.cancelling():
            reply, body = await flight.landed()
            reply = replace(reply, origin="cache", attempts=0)
            self.counts.cached += 1
            self._journal.note(start, ended(body, reply, attempts=0, wasted=0))
            return reply
        flight = Flight(asyncio.ensure_future(self._pay(start, provider, request, cache)))
        self._under_way[name] = flight
        flight.task.add_done_callback(lambda done: self._landed(name, done))
        return (await flight.landed())[0]

    def _taken(
        self, start: CallStart, provider: Provider, request: Request, stored: CachedReply | CallEnd
    ) -> Reply:
        """An answer that another trial paid for, in this run or before."""
        end = CallEnd(
            body=stored.body,
            origin="cache",
            latency_s=stored.latency_s,
            first_byte_s=stored.first_byte_s,
        )
        reply = self._priced(provider, request, self._replayed(provider, end, "cache"))
        self._journal.note(start, ended(stored.body, reply, attempts=0, wasted=0))
        return reply

    def _priced(self, provider: Provider, request: Request, reply: Reply) -> Reply:
        """A reply that nobody paid for now, with what it would have cost in this run."""
        return reply if self._lane is None else self._lane.priced(provider, request, reply)

    def _landed(self, name: tuple[str, str], task: asyncio.Task[_Paid]) -> None:
        flight = self._under_way.get(name)
        if flight is not None and flight.task is task:
            del self._under_way[name]
        if not task.cancelled():
            task.exception()  # whoever waited may be gone; asyncio need not complain

    def _replayed(self, provider: Provider, end: CallEnd, origin: Origin) -> Reply:
        self.counts.cached += 1
        reply = provider.reply(known.without(end.body))
        return replace(
            reply, latency_s=end.latency_s, first_byte_s=end.first_byte_s, origin=origin, attempts=0
        )

    def _from_recordings(self, start: CallStart, provider: Provider, end: CallEnd) -> Reply:
        """What was answered when it was recorded: a reply, or an error once more."""
        if end.error:
            self._journal.note(start, replace(end, origin="replay", attempts=0, wasted=0))
            raise recorded_error(end)
        reply = self._replayed(provider, end, "replay")
        self._journal.note(start, ended(end.body, reply, attempts=0, wasted=0))
        return reply

    async def _free(
        self, trial: LiveTrial, provider: Provider, request: Request, role: CallRole
    ) -> Reply:
        replay = self._replays.get(trial.variant.index)
        barred = replay is not None and not replay.may_ask(role)
        if barred and says(provider, "remote"):
            message = f"requests to {provider.id} are never recorded, and this run sends nothing"
            raise missed(trial, NotRecorded(message, hint="Add --replay-or-ask to send it."))
        answer = await provider.send(request, self._host)
        reply = provider.reply(known.without(answer.body))
        return replace(reply, latency_s=answer.latency_s)

    async def _pay(
        self, start: CallStart, provider: Provider, request: Request, cache: Answers | None = None
    ) -> _Paid:
        account = self._limits.account(provider.account)
        attempt = _Attempts(await self._reserved(provider, request))
        reply: Reply | None = None
        try:
            while True:
                self._raise_if_dead(provider)
                permit = await self._admitted(account, start, provider, request, attempt)
                try:
                    self._raise_if_dead(provider)
                    if self._delay_s:
                        await sleep(self._delay_s)
                    await account.passable(permit)
                except BaseException:
                    account.withdraw(permit)
                    raise
                answer, error = await self._attempt(provider, request, account, permit, attempt)
                if answer is not None:
                    break
                assert error is not None  # noqa: S101 (an attempt ends in an answer or an error)
                await self._pause(error, provider, request, account, attempt)
            reply = attempt.reply
            assert reply is not None  # noqa: S101 (read in the attempt that answered)
            assert attempt.call is not None  # noqa: S101 (written down before it was sent)
            end = ended(answer.body, reply, attempts=attempt.made, wasted=attempt.wasted)
            await self._journal.end(attempt.call, end)
        except (ProviderError, BudgetStop) as error:
            if attempt.call is not None:
                end = failed(error, attempts=attempt.made, wasted=attempt.wasted)
                await self._journal.end(attempt.call, end)
            raise
        except asyncio.CancelledError:
            if attempt.call is not None and reply is None and not attempt.under_way:
                self._journal.drop(attempt.call, attempt.made, attempt.wasted)
            raise
        else:
            if cache is not None and worth_keeping(reply):
                cache.put(
                    request.key,
                    start.draw,
                    request.identity,
                    answer.body,
                    reply.latency_s,
                    reply.first_byte_s,
                )
            return reply, answer.body
        finally:
            cost = reply.cost_usd if reply else None if attempt.doubtful else 0.0
            # An answer that is made in the background is booked at its worst until it is there.
            later = reply is not None and reply.billed_later
            self._budget.settle(attempt.reservation, None if later else cost)
            self.counts.wasted += attempt.wasted

    async def _admitted(
        self,
        account: CallAccount,
        start: CallStart,
        provider: Provider,
        request: Request,
        attempt: _Attempts,
    ) -> Permit:
        """The permit to send a call, which is written down before."""
        if attempt.call is not None:
            return await account.acquire(start.trial, request.tokens_in, provider.id)
        await account.next_up.come(start.trial)
        try:
            self._raise_if_dead(provider)
            attempt.call = await self._journal.begin(start)
            return await account.acquire(start.trial, request.tokens_in, provider.id)
        finally:
            account.next_up.go()

    def _raise_if_dead(self, provider: Provider) -> None:
        """Raises what a model has failed with for good. Keys and quotas may be its own: others are still asked."""
        if not self._dead:
            return
        error = self._dead.get((provider.account, provider.id))
        if error is not None:
            raise error

    def _reserved(self, provider: Provider, request: Request) -> Awaitable[Reservation]:
        bound = request.cost_bound_usd
        name = asked_with(provider.id, request.beyond) if bound is None else provider.id
        return self._budget.when_free(bound, name, request.cost_hidden_usd)

    async def _pause(
        self,
        error: ProviderError,
        provider: Provider,
        request: Request,
        account: CallAccount,
        attempt: _Attempts,
    ) -> None:
        """Waits before the next attempt; raises ProviderError or BudgetStop."""
        if error.fatal:
            self._dead[provider.account, provider.id] = error
            raise error
        pause = account.retry_in(error, attempt.made, attempt.seconds())
        if pause is None:
            raise error
        if attempt.doubtful:
            self._budget.settle(attempt.reservation, None)
            attempt.reservation = NOTHING
            attempt.reservation = await self._reserved(provider, request)
        if pause:
            await sleep(pause)

    async def _attempt(
        self,
        provider: Provider,
        request: Request,
        account: CallAccount,
        permit: Permit,
        attempt: _Attempts,
    ) -> tuple[Answer | None, ProviderError | None]:
        attempt.made += 1
        attempt.doubtful = False
        attempt.under_way = True
        self.counts.in_flight += 1
        error: ProviderError | None = None
        answer: Answer | None = None
        tokens = 0
        try:
            answer = _clean(await provider.send(request, self._host))
            reply = provider.reply(answer.body)
            attempt.reply = replace(
                reply,
                latency_s=answer.latency_s,
                first_byte_s=answer.first_byte_s,
                queued_s=answer.queued_s,
                attempts=attempt.made,
            )
            used = (reply.usage.tokens_in or 0) + (reply.usage.tokens_out or 0)
            tokens = max(0, used - request.tokens_in)
        except ProviderError as failure:
            error = failure
            _hide_secrets(failure)
            attempt.under_way = False
            attempt.fail(doubtful=failure.billed is not False)
        except BaseException as failure:  # cancelled, or broken: says nothing of the account
            account.forget(permit)
            attempt.fail(doubtful=True)
            if isinstance(failure, Exception) and not isinstance(failure, EvenhandError):
                raise _broken(provider, failure) from failure
            raise
        finally:
            self.counts.in_flight -= 1
        account.release(permit, error, answer.rates if answer else None, tokens)
        return (None, error) if error else (answer, None)


class _Attempts:
    """What one call's attempts have come to."""

    __slots__ = (
        "call",
        "doubtful",
        "made",
        "reply",
        "reservation",
        "started",
        "under_way",
        "wasted",
    )

    def __init__(self, reservation: Reservation) -> None:
        self.reservation = reservation
        self.call: int | None = None  # in the journal, once it is written down
        self.made = 0
        self.wasted = 0
        self.doubtful = False
        self.under_way = False  # from sending to a failure; an answer ends the call
        self.started = time.monotonic()
        self.reply: Reply | None = None

    def fail(self, *, doubtful: bool) -> None:
        """The last one failed; doubtful where it may have been charged for all the same."""
        self.doubtful = doubtful
        self.wasted += doubtful

    def seconds(self) -> float:
        return time.monotonic() - self.started


_ABILITIES: Mapping[Task, str] = {
    "generate": "does not answer prompts",
    "embed": "makes no embeddings",
    "classify": "does not classify",
    "moderate": "does not moderate",
    "decide": "is not a decision model",
}


def _unable(provider: Provider, task: Task) -> BadRequest:
    """What to say of a model that is asked for what it cannot do."""
    able = ", ".join(sorted(provider.tasks))
    if task == "generate" and "decide" in provider.tasks:
        return BadRequest(
            f"{provider.id} is a decision model: it answers yes or no, a label or a level, and writes nothing",
            hint="It can be named as a judge, of verdicts, labels and levels. Name a model that writes here.",
        )
    return BadRequest(f"{provider.id} {_ABILITIES[task]}", hint=f"It can be asked to: {able}.")


def _clean(answer: Answer) -> Answer:
    """An answer without the secrets that it repeats.

    They are taken out as it arrives: what is scored is what is kept, and a run that is resumed comes to the same.
    """
    body = known.without(answer.body)
    return answer if body is answer.body else replace(answer, body=body)


def _hide_secrets(error: ProviderError) -> None:
    error.message, error.hint = shown(error.message), known.text(error.hint)
    error.body = known.text(error.body)


def _writable(name: str) -> str:
    """A name as the tables take it: without secrets; half characters, as a broken emoji leaves them, are escaped."""
    name = known.text(name)
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()


def _broken(provider: Provider, error: Exception) -> ProviderError:
    """What to say of a provider that raised something that it may not. Not tried again: it would cost again."""
    message = f"{provider.id} failed on an answer or a request: {first_line(error)}"
    return ProviderError(message, billed=None)
