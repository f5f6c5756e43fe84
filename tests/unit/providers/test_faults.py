"""What an HTTP answer means, how long to wait, and what breaks on the way."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import pytest

from evenhand.core import errors
from evenhand.core.errors import BadReply, BadRequest, ConnectionFailed, TimedOut
from evenhand.core.message import Prompt
from evenhand.core.secrets import known
from evenhand.engine.code import CodeHost
from evenhand.providers import http
from evenhand.providers.anthropic import DIALECT as ANTHROPIC
from evenhand.providers.catalog import create
from evenhand.providers.faults import fault, unreadable
from evenhand.providers.http import HttpAnswer, HttpTransport
from evenhand.providers.openai import DIALECT as OPENAI
from evenhand.providers.retry_after import duration, retry_after, until
from evenhand.testing import FakeProvider, Rule, Script


def answered(status: int, body: str = "", **headers: str) -> HttpAnswer:
    """An HTTP answer."""
    return HttpAnswer(
        status, {k.replace("_", "-"): v for k, v in headers.items()}, body.encode(), 0.1
    )


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, "", "BadRequest"),
        (400, "maximum context length is 8192", "BadRequest"),
        (400, "credit balance is too low", "QuotaExhausted"),
        (401, '{"error": {"message": "bad key"}}', "AuthError"),
        (402, "payment required", "QuotaExhausted"),
        (403, "", "AuthError"),
        (404, "model_not_found", "UnknownModel"),
        (404, "<html>", "UnknownModel"),
        (410, "", "UnknownModel"),
        (400, '{"error": {"message": "x", "code": "model_decommissioned"}}', "UnknownModel"),
        (400, '{"object": "error", "message": "x", "type": "invalid_model"}', "UnknownModel"),
        (400, '{"error": {"message": "Model Not Exist"}}', "UnknownModel"),
        (400, '{"error": {"message": "a/b is not a valid model ID", "code": 400}}', "UnknownModel"),
        (400, '{"error": {"message": "bad text: model_decommissioned"}}', "BadRequest"),
        (408, "", "TimedOut"),
        (409, "", "BadRequest"),
        (422, "", "BadRequest"),
        (429, '{"error": {"code": "rate_limit_exceeded"}}', "RateLimited"),
        (429, '{"error": {"code": "insufficient_quota"}}', "QuotaExhausted"),
        (500, "", "Overloaded"),
        (502, "<html>bad gateway</html>", "Overloaded"),
        (503, "", "Overloaded"),
        (504, "", "TimedOut"),
        (529, "overloaded_error", "Overloaded"),
        (302, "", "BadReply"),
    ],
)
def test_each_status_is_the_error_that_says_what_to_do_next(status: int, body: str, kind: str):
    """Wait, try again, stop, or leave this request alone."""
    found = fault(answered(status, body), host="api.example.com", key_hint="Look at the key.")
    assert type(found) is getattr(errors, kind)
    assert found.status == status
    assert f"api.example.com answered {status}" in found.message


def test_the_vendors_own_words_are_quoted():
    """Wherever they are in its JSON."""
    assert (
        "bad key"
        in fault(answered(401, '{"error": {"message": "bad key"}}'), host="h", key_hint="k").message
    )
    assert "oh no" in fault(answered(400, '{"message": "oh no"}'), host="h", key_hint="k").message
    assert "plain" in fault(answered(400, "plain"), host="h", key_hint="k").message
    lacking = answered(400, '{"error": {"message": "offline.jsonl has no rule for: hi"}}')
    of_ours = fault(lacking, host="127.0.0.1:39245", key_hint="k").message
    assert of_ours == "offline.jsonl has no rule for: hi"
    assert fault(lacking, host="h", key_hint="k").message.startswith("h answered 400: ")


def test_a_key_that_is_sent_back_is_quoted_nowhere():
    """A server may say again what it was sent."""
    key = "drawn-for-nobody-0123456789"
    known.learn([key])
    for status in (400, 401, 429, 500):
        error = fault(answered(status, f'{{"message": "not {key}"}}'), host="h", key_hint="k")
        assert "not [redacted]" in error.message
        assert key not in error.message + error.body


@pytest.mark.parametrize(
    ("status", "billed"), [(408, None), (504, None), (429, False), (500, False), (400, False)]
)
def test_what_timed_out_may_have_been_charged_for(status: int, billed: bool | None):
    """The vendor may have answered, and only a gateway gave up."""
    assert fault(answered(status), host="h", key_hint="k").billed is billed


@pytest.mark.parametrize("body", ["", "<html>login</html>", "ok"])
def test_a_200_that_cannot_be_a_reply_is_a_bad_reply(body: str):
    """A proxy's page is not an answer."""
    assert isinstance(unreadable(answered(200, body), host="h"), BadReply)
    assert unreadable(answered(200, ' {"a": 1}'), host="h") is None
    null = unreadable(answered(200, "null", content_type="application/json"), host="h")
    assert null is not None
    assert null.message == "h answered 200 with no JSON object: null"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "2"}, 2.0),
        ({"retry_after": "1.5"}, 1.5),
        ({"retry_after_ms": "250"}, 0.25),
        ({"retry_after_ms": "250", "retry_after": "1"}, 1.0),
        ({"retry_after": "1m30s"}, 90.0),
        (
            {
                "retry_after": "Sat, 21 Nov 2026 12:00:10 GMT",
                "date": "Sat, 21 Nov 2026 12:00:00 GMT",
            },
            10.0,
        ),
        ({"retry_after": "2026-11-21T12:00:10Z", "date": "Sat, 21 Nov 2026 12:00:00 GMT"}, 10.0),
        (
            {
                "retry_after": "Sat, 21 Nov 2026 11:00:00 GMT",
                "date": "Sat, 21 Nov 2026 12:00:00 GMT",
            },
            0.0,
        ),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-3"}, None),
        ({"retry_after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None):
    """Seconds, milliseconds, spans and dates, by the vendor's own clock."""
    assert retry_after(answered(429, **headers).headers) == seconds


def test_spans_and_dates_that_say_nothing_are_none():
    """Never a guess."""
    assert [duration(t) for t in ("2h", "500ms", "1m 5s", "", "5x", "x5s")] == [
        7200,
        0.5,
        65,
        None,
        None,
        None,
    ]
    assert until("not a date") is None
    assert until("2026-11-21T12:00:10", now=datetime(2026, 11, 21, 12, tzinfo=UTC)) == 10


def test_rate_headers_of_both_vendors_are_read():
    """Spans with the one, dates with the other."""
    openai = OPENAI.rates(
        {
            "x-ratelimit-remaining-requests": "3",
            "x-ratelimit-reset-requests": "1s",
            "x-ratelimit-remaining-tokens": "99",
            "x-ratelimit-reset-tokens": "6m0s",
        },
        0.0,
    )
    assert openai is not None
    assert (openai.requests_remaining, openai.requests_reset_s, openai.tokens_reset_s) == (
        3,
        1,
        360,
    )
    assert OPENAI.rates({}, 0.0) is None
    anthropic = ANTHROPIC.rates(
        {
            "anthropic-ratelimit-requests-remaining": "4",
            "anthropic-ratelimit-requests-reset": "1970-01-01T00:00:30Z",
        },
        0.0,
    )
    assert anthropic is not None
    assert (anthropic.requests_remaining, anthropic.requests_reset_s) == (4, 30)
    assert ANTHROPIC.rates({}, 0.0) is None


class Server:
    """A small server that misbehaves as it is told."""

    def __init__(self, *scripts: str) -> None:
        self.scripts = list(scripts)
        self.requests = 0
        self.connections = 0
        self.closed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/x"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
                await reader.readexactly(length)
                script = self.scripts[min(self.requests, len(self.scripts) - 1)]
                self.requests += 1
                if script == "hang":
                    await reader.read()
                    return
                if script == "drop":
                    writer.transport.abort()
                    return
                if script == "half":
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
                    await writer.drain()
                    writer.transport.abort()
                    return
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
                await writer.drain()
                if script == "ok then close":
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self.closed.set()
            writer.close()


async def test_an_answer_that_is_cut_off_is_a_lost_connection_that_may_have_been_charged_for():
    """Dropped before it began, or in the middle."""
    for script in ("drop", "half"):
        async with Server(script) as server:
            transport = HttpTransport()
            with pytest.raises(ConnectionFailed) as caught:
                await transport.post(server.url, {}, b"{}")
            assert caught.value.billed is None
            await transport.close()


async def test_an_idle_connection_that_the_server_closed_is_replaced_unseen():
    """The next request goes over a new one."""
    async with Server("ok then close", "ok") as server:
        transport = HttpTransport()
        assert (await transport.post(server.url, {}, b"{}")).body == b"{}"
        await server.closed.wait()
        await asyncio.sleep(0.02)
        assert (await transport.post(server.url, {}, b"{}")).status == 200
        assert (server.requests, server.connections) == (2, 2)
        await transport.close()


async def test_no_answer_in_time_may_have_been_charged_for():
    """It is told apart from a host that cannot be reached."""
    async with Server("hang") as server:
        transport = HttpTransport()
        with pytest.raises(TimedOut) as caught:
            await transport.post(server.url, {}, b"{}", 0.05)
        assert caught.value.billed is None
        await transport.close()


async def test_a_host_that_refuses_was_never_asked():
    """So nothing can have been charged."""
    async with Server("ok") as server:
        url = server.url
    transport = HttpTransport()
    with pytest.raises(ConnectionFailed) as caught:
        await transport.post(url, {}, b"{}")
    assert caught.value.billed is False
    await transport.close()


async def test_a_cancelled_request_closes_its_connection():
    """Nothing goes on being paid for."""
    async with Server("hang") as server:
        transport = HttpTransport()
        task = asyncio.create_task(transport.post(server.url, {}, b"{}"))
        while not server.requests:
            await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.wait_for(server.closed.wait(), 20)
        await transport.close()


async def test_a_proxy_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    """Except for those that NO_PROXY names."""
    async with Server("ok") as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/x"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        transport = HttpTransport()
        assert (await transport.post("http://nowhere.invalid/v1", {}, b"{}")).status == 200
        monkeypatch.setenv("no_proxy", "other.invalid")
        with pytest.raises(ConnectionFailed):
            await transport.post("http://other.invalid/v1", {}, b"{}")
        await transport.close()


async def test_an_answer_without_end_is_refused(monkeypatch: pytest.MonkeyPatch):
    """A file that was served by mistake does not fill the memory."""
    monkeypatch.setattr(http, "MAX_BODY", 1)
    async with Server("ok") as server:
        transport = HttpTransport()
        with pytest.raises(BadReply, match="more than"):
            await transport.post(server.url, {}, b"{}")
        await transport.close()


async def test_one_transport_serves_a_loop_and_is_forgotten_when_it_is_closed():
    """Closing twice does no harm."""
    one = http.transport()
    assert http.transport() is one
    await http.close()
    await http.close()
    assert http.transport() is not one
    await http.close()


async def test_a_run_that_ends_leaves_the_calls_of_another_on_its_loop_alone():
    """They share their connections: a reply that is on its way would be lost, and paid for again."""
    with FakeProvider(Script([Rule(("slow",), "late", latency_ms=200)])) as fake:
        provider = create("openai:gpt-4o", label="", config={}, env=fake.env(), base=Path())
        request = provider.request(Prompt.of("slow"))
        under_way = asyncio.create_task(provider.send(request, CodeHost()))
        while not fake.ledger.total and not http.transport().in_flight:
            await asyncio.sleep(0)
        await provider.close()
        assert provider.reply((await under_way).body).text == "late"
        one = http.transport()
        await provider.close()
        assert http.transport() is not one
        await http.close()


async def test_a_function_stands_for_a_model(tmp_path: Path):
    """It is given prompt, options and context, and says text or more; a changed file is another model."""
    file = tmp_path / "provider.py"
    file.write_text(
        "def call_api(prompt, options, context):\n"
        "    return {'output': prompt.upper() + options['config']['end'] + context['vars']['x'],\n"
        "            'tokenUsage': {'prompt': 3, 'completion': 4}, 'cost': 0.5, 'metadata': {'k': 1}}\n"
        "def plain(prompt, options, context): return 'just text'\n"
        "def refuses(prompt, options, context): return {'error': 'not today'}\n"
        "def nothing(prompt, options, context): return {}\n"
        "def odd(prompt, options, context): return {'output': object()}\n"
        "def raises(prompt, options, context): raise ValueError('bug')\n"
    )
    host = CodeHost()
    prompt = Prompt.of("hi")
    prompt = Prompt(prompt.messages, "hi", vars={"x": "y"})
    with host.open():
        model = create("python:provider.py", config={"end": "!"}, env={}, base=tmp_path)
        request = model.request(prompt)
        reply = model.reply((await model.send(request, host)).body)
        assert (reply.text, reply.cost_usd, reply.usage.tokens_in, reply.metadata) == (
            "HI!y",
            0.5,
            3,
            {"k": 1},
        )
        plain = create("file://provider.py:plain", env={}, base=tmp_path)
        assert plain.reply((await plain.send(plain.request(prompt), host)).body).text == "just text"
        for name in ("refuses", "nothing", "odd", "raises"):
            broken = create(f"python:provider.py:{name}", env={}, base=tmp_path)
            with pytest.raises(BadRequest):
                await broken.send(broken.request(prompt), host)
    file.write_text(file.read_text() + "# changed\n")
    assert (
        create("python:provider.py", config={"end": "!"}, env={}, base=tmp_path).request(prompt).key
        != request.key
    )


async def test_a_program_stands_for_a_model(tmp_path: Path):
    """What it prints is the answer; a program that fails is an error with its words."""
    script = tmp_path / "answer.sh"
    script.write_text(
        '#!/bin/sh\n[ "$1" = fail ] && { echo broken >&2; exit 3; }\necho "you said $1"\n'
    )
    script.chmod(0o755)
    model = create("exec:./answer.sh", env={}, base=tmp_path)
    host = CodeHost()
    reply = model.reply((await model.send(model.request(Prompt.of("hello")), host)).body)
    assert reply.text.strip() == "you said hello"
    with pytest.raises(BadRequest, match="broken"):
        await model.send(model.request(Prompt.of("fail")), host)


async def test_echo_says_the_prompt_again():
    """For nothing."""
    model = create("echo", env={}, base=Path())
    answer = await model.send(model.request(Prompt.of("hällo \ud800")), CodeHost())
    reply = model.reply(answer.body)
    assert (reply.text, reply.cost_usd, model.paid) == ("hällo \ud800", 0.0, False)
    await model.close()
