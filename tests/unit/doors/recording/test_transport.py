"""What an application's client is told of calls that fail, and where there is no run to make them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import httpx2
import pytest

from evenhand.core.case import Case
from evenhand.core.errors import (
    BadRequest,
    BudgetStop,
    ConnectionFailed,
    EvenhandError,
    Overloaded,
    TimedOut,
    UsageError,
)
from evenhand.core.expect import Trial
from evenhand.core.plan import Body, PlannedTrial
from evenhand.core.provider import Host, Provider
from evenhand.core.variant import Variant
from evenhand.doors import recording
from evenhand.engine.call_context import Home
from evenhand.engine.trial import LiveTrial, present
from evenhand.providers.app_call import AppCall
from evenhand.testing import FakeProvider, Rule, Script

URL = "http://nobody.invalid/v1/chat/completions"
BODY: Mapping[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


class Failing:
    """A desk where every call ends in this error."""

    def __init__(self, error: EvenhandError) -> None:
        self.error = error
        self.asked = 0

    async def ask(self, trial: LiveTrial, provider: Provider, prompt: Any, role: str) -> Any:
        self.asked += 1
        trial.nth(provider.request(prompt).key)
        await asyncio.sleep(0)
        raise self.error


async def nothing(trial: Trial) -> object:
    """A body that does nothing."""
    return None


@contextmanager
def inside(desk: Failing, body: Body = nothing) -> Iterator[LiveTrial]:
    """Inside, code runs for a trial on the running loop."""
    planned = PlannedTrial(index=0, case=Case("a"), variant=Variant(0, "", ""), repeat=0, body=body)
    trial = LiveTrial(planned, desk, cast("Host", None))
    trial.home = Home(asyncio.get_running_loop())
    token = present.set(trial)
    try:
        yield trial
    finally:
        present.reset(token)


async def post(**headers: str) -> httpx2.Response:
    """Asks with an async client."""
    async with recording.async_http_client() as client:
        return await client.post(URL, json=BODY, headers=headers)


async def test_the_vendors_last_word_is_passed_on_and_says_not_to_ask_again():
    """Status, body and headers, without those that were the connection's."""
    error = Overloaded("busy")
    error.answer = (503, {"X-Request-Id": "r", "Content-Encoding": "gzip"}, b"come back later")
    with inside(Failing(error)):
        answer = await post()
    assert (answer.status_code, answer.content) == (503, b"come back later")
    assert answer.headers["x-request-id"] == "r"
    assert answer.headers["x-should-retry"] == "false"
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionFailed("cut off"), httpx2.ConnectError),
        (TimedOut("too slow"), httpx2.ReadTimeout),
    ],
)
async def test_no_answer_at_all_is_raised_and_not_asked_for_again_by_the_sdk(
    error: EvenhandError, kind: type[Exception]
):
    """The run has tried as often as makes sense; what the application itself asks anew is a call of its own."""
    desk = Failing(error)
    retry = {"x-stainless-retry-count": "1"}
    with inside(desk) as trial:
        for headers in ({}, retry, retry):
            with pytest.raises(kind, match=str(error)):
                await post(**headers)
        assert desk.asked == 1
        with pytest.raises(kind):
            await post()
    assert desk.asked == 2
    assert set(trial._seen.values()) == {0}  # it got no answer: who asks again means the same call


async def test_what_stops_the_run_reaches_it_past_the_application():
    """The client gets an answer that says why; the trial has no verdict."""
    with inside(Failing(BudgetStop("no money left"))) as trial:
        answer = await post()
        assert answer.status_code == 400
        assert answer.json()["error"]["message"] == "no money left"
        assert answer.headers["x-should-retry"] == "false"
        with pytest.raises(BudgetStop):
            await trial.settle()


async def test_a_request_that_was_not_made_says_so_and_ends_nothing():
    """Where there is no answer of the vendor's, ours is in the same shape."""
    with inside(Failing(BadRequest("not while offline"))) as trial:
        answer = await post()
        result = await trial.settle()
    assert answer.json()["error"] == {
        "type": "evenhand",
        "code": "bad-request",
        "message": "not while offline",
    }
    assert result.outcome == "pass"


async def test_a_call_after_its_trial_is_refused():
    """Nobody would count it."""
    desk = Failing(BadRequest("asked"))
    with inside(desk) as trial:
        await trial.settle()
        answer = await post()
    assert "when that trial was over" in answer.json()["error"]["message"]
    assert desk.asked == 0


async def test_a_call_after_the_run_is_the_applications_own_business():
    """It goes where it always went."""
    desk = Failing(BadRequest("asked"))
    mock = httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: httpx2.Response(204)))
    async with httpx2.AsyncClient(transport=recording.AsyncTransport(mock)) as client:
        with inside(desk) as trial:
            assert trial.home is not None
            await trial.home.close()
            assert (await client.post(URL, json=BODY)).status_code == 204
    assert desk.asked == 0


@pytest.mark.parametrize("sent", [True, False])
async def test_a_call_that_is_cancelled_is_given_up_and_its_cost_unknown(sent: bool):
    """As with a time limit of the application's own. One that was still waiting its turn cost nothing."""

    class Slow(Failing):
        async def ask(self, trial: LiveTrial, provider: Provider, prompt: Any, role: str) -> Any:
            cast("AppCall", provider).tried = sent
            await asyncio.sleep(60)

    with inside(Slow(BadRequest(""))) as trial:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(post(), 0.02)
        assert trial.own is not None
        assert trial.own.tasks == set()
    assert (trial.spending.calls, trial.spending.cost_usd) == ((1, None) if sent else (0, 0.0))


async def test_an_eval_that_raises_gives_up_what_it_left_under_way():
    """Nobody would read it."""
    left: list[asyncio.Task[Any]] = []

    class Slow(Failing):
        async def ask(self, trial: LiveTrial, provider: Provider, prompt: Any, role: str) -> Any:
            self.asked += 1
            await asyncio.sleep(60)

    async def raises(trial: Trial) -> object:
        left.append(asyncio.create_task(post()))
        while not desk.asked:
            await asyncio.sleep(0.001)
        raise ValueError("broken")

    desk = Slow(BadRequest(""))
    with inside(desk, raises) as trial:
        result = await trial.settle()
        await asyncio.wait(left)
    assert result.reason == "ValueError: broken"
    assert isinstance(left[0].exception(), httpx2.ConnectError)


async def test_bare_transports_need_nothing_but_a_client():
    """What passes through goes by an ordinary client of the same library."""
    with FakeProvider(Script([Rule((), "Hello")])) as fake:
        url = f"{fake.url}/v1/chat/completions"
        with httpx2.Client(transport=recording.Transport()) as client:
            assert client.post(url, json=BODY).json()["object"] == "chat.completion"
        async with recording.AsyncTransport() as transport:
            client = httpx2.AsyncClient(transport=transport)
            assert (await client.post(url, json=BODY)).status_code == 200
            await client.aclose()
        httpx2.Client(transport=recording.Transport()).close()  # never used: nothing to let go of
        await httpx2.AsyncClient(transport=recording.AsyncTransport()).aclose()
    assert fake.ledger.total == 2


async def test_a_transport_of_ones_own_sends_what_passes_through():
    """Outside a trial, and in one what posts nothing."""
    mock = httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: httpx2.Response(204)))
    async with httpx2.AsyncClient(transport=recording.AsyncTransport(mock)) as client:
        assert (await client.post(URL, json=BODY)).status_code == 204
        with inside(Failing(BadRequest("asked"))):
            assert (await client.get(URL)).status_code == 204
            assert (await client.post(URL, content=b"not JSON")).status_code == 400
    assert mock.is_closed


def test_a_plain_transport_of_ones_own_too():
    """The same without a loop."""
    mock = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(204)))
    with recording.Transport(mock) as transport, httpx2.Client(transport=transport) as client:
        assert client.post(URL, json=BODY).status_code == 204
    assert mock.is_closed


def test_without_a_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    """Neither is a dependency of ours."""
    for name in ("httpx2", "httpx"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match="httpx2 or httpx") as told:
        recording.http_client()
    assert "pip install openai" in told.value.hint


def test_an_older_library_may_be_named():
    """The client is of the library that the SDK at hand wants."""
    with recording.http_client(library=httpx2) as client:
        assert isinstance(client, httpx2.Client)


def test_there_is_no_other_name_in_it():
    """A slip of the pen is an AttributeError, as in any module."""
    with pytest.raises(AttributeError, match="http_clients"):
        _ = recording.http_clients
