"""What vendors, servers, programs and users' settings come up with, and what is made of it."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.core.errors import (
    AuthError,
    BadReply,
    BadRequest,
    ConnectionFailed,
    Overloaded,
    ProviderError,
    QuotaExhausted,
    TimedOut,
    UsageError,
)
from evenhand.core.message import Message, Prompt
from evenhand.engine.code import CodeHost
from evenhand.providers import http
from evenhand.providers.catalog import create
from evenhand.providers.chat import ChatProvider
from evenhand.providers.faults import fault, unreadable
from evenhand.providers.function import FunctionProvider
from evenhand.providers.http import HttpAnswer, HttpTransport
from evenhand.providers.prices import bound, price_of
from evenhand.providers.retry_after import duration, retry_after, until
from evenhand.testing import FakeProvider, Rule, Script

KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
OPENAI, ANTHROPIC = "openai:chat:gpt-4o", "anthropic:messages:claude-haiku-4-5"


def made(id_: str, env: dict[str, str] | None = None, **config: Any) -> ChatProvider:
    """The provider with this id."""
    provider = create(id_, config=config, env=env or KEYS, base=Path())
    assert isinstance(provider, ChatProvider)
    return provider


def chat(message: dict[str, Any], **more: Any) -> bytes:
    """An answer of OpenAI's."""
    return json.dumps({"choices": [{"message": message}], **more}).encode()


@asynccontextmanager
async def serving(answer: Callable[[asyncio.StreamWriter], Any]) -> AsyncIterator[str]:
    """A server that reads a request and does this; its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(
                int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            )
            await answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()


async def posted(answer: Callable[[asyncio.StreamWriter], Any], **more: Any) -> HttpAnswer:
    """What one request to such a server comes to."""
    async with serving(answer) as url:
        transport = HttpTransport()
        try:
            return await transport.post(url, {}, b"{}", **more)
        finally:
            await transport.close()


# Answers


@pytest.mark.parametrize("id_", [OPENAI, ANTHROPIC])
def test_an_answer_with_half_a_character_is_kept(id_: str):
    """A broken emoji is what the model said."""
    answer = (
        chat({"content": "so \ud83d"}, model="m\ud800")
        if id_ == OPENAI
        else json.dumps({"content": [{"type": "text", "text": "so \ud83d"}]}).encode()
    )
    assert made(id_).reply(answer).text == "so \ud83d"


@pytest.mark.parametrize("id_", [OPENAI, ANTHROPIC])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"choices": 1, "content": 1}',
        b'{"choices": [], "content": null, "error": {"message": "busy"}}',
        b'{"choices": [{}]}',
        b'{"choices": [{"message": {"content": "\xff"}}], "content": [{"type": "text", "text": "\xff"}]}',
        b'{"choices": [{"message": {"content": NaN}}], "content": NaN}',
        b'{"choices": ' + b"[" * 100_000,
        b'{"content": "\\ud800"}',
    ],
    ids=range(11),
)
def test_what_is_not_an_answer_is_a_bad_reply_and_nothing_else(id_: str, body: bytes):
    """Half a document, other shapes, other encodings, brackets without end: asked again, never scored."""
    with pytest.raises(BadReply) as caught:
        made(id_).reply(body)
    assert caught.value.billed is None


@pytest.mark.parametrize("number", [-5, 2**60, 10**300, None])
def test_a_count_of_tokens_that_cannot_be_is_unknown(number: int | None):
    """Not a negative price, nor a number that no table takes."""
    usage = {"prompt_tokens": number, "completion_tokens": number}
    reply = made(OPENAI).reply(chat({"content": "a"}, usage=usage))
    assert (reply.usage.tokens_in, reply.usage.tokens_out, reply.cost_usd) == (None, None, None)
    usage = {"input_tokens": number, "output_tokens": number, "cache_read_input_tokens": 3}
    content = [{"type": "text", "text": "a"}]
    answer = json.dumps({"content": content, "usage": usage}).encode()
    reply = made(ANTHROPIC).reply(answer)
    assert (reply.usage.tokens_in, reply.usage.tokens_out, reply.cost_usd) == (None, None, None)


def test_servers_that_leave_out_or_null_what_openai_sends_are_read():
    """Names, parts, counts as decimals: compatible servers differ."""
    reply = made(OPENAI).reply(
        chat(
            {"content": [{"type": "text", "text": None}, {"type": "text", "text": "hi"}, "odd"]},
            model=None,
            usage={"prompt_tokens": 3.0, "completion_tokens": 1},
        )
    )
    assert (reply.text, reply.model, reply.usage.tokens_in) == ("hi", "", 3)
    reply = made(OPENAI).reply(
        chat(
            {
                "content": None,
                "tool_calls": [
                    {"function": {"name": None, "arguments": "{half"}},
                    {"function": {"name": "f", "arguments": {"x": 1}}},
                    {"id": "no function"},
                ],
            }
        )
    )
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [("", None), ("f", {"x": 1})]
    old = made(OPENAI).reply(chat({"function_call": {"name": "g", "arguments": "{}"}}))
    assert [(c.name, c.arguments) for c in old.tool_calls] == [("g", {})]


@pytest.mark.parametrize("usage", ["lots", [1], 7, True, "strings", "lists", "booleans"])
def test_counts_that_are_no_numbers_cost_neither_the_answer_nor_its_honesty(usage: object) -> None:
    """The answer was paid for and is kept. Its tokens and cost are unknown, and never 0."""
    values = {"strings": "10", "lists": [10], "booleans": True}
    odd = values.get(usage) if isinstance(usage, str) else None
    names = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
    sent = usage if odd is None else dict.fromkeys((*names, "cache_creation"), odd)
    content = [{"type": "text", "text": "a"}]
    theirs = json.dumps({"content": content, "usage": sent}).encode()
    for reply in (
        made(OPENAI).reply(chat({"content": "a"}, usage=sent)),
        made(ANTHROPIC).reply(theirs),
    ):
        found = (reply.text, reply.usage.tokens_in, reply.usage.tokens_out, reply.cost_usd)
        assert found == ("a", None, None, None)


def test_a_structured_answer_is_its_value_and_one_cut_off_is_its_text():
    """The scorers see what there is."""
    wanted = {"response_format": {"type": "json_schema", "json_schema": {}}}
    model = made(OPENAI, None, **wanted)
    assert model.reply(chat({"content": '{"a": 1}'})).output == {"a": 1}
    assert model.reply(chat({"content": '{"a": '})).output == '{"a": '
    claude = made(ANTHROPIC, None, **wanted)
    assert claude.reply(b'{"content": [{"type": "text", "text": "[1]"}]}').output == [1]
    assert claude.reply(b'{"content": [{"type": "text", "text": "[1"}]}').output == "[1"


def test_thinking_is_not_part_of_the_answer():
    """Nor are blocks of kinds unknown here."""
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "new", "text": "x"},
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
        {"type": "text", "text": None},
        {"type": "tool_use", "id": None, "name": None, "input": "not an object"},
    ]
    reply = made(ANTHROPIC).reply(json.dumps({"content": content, "model": None}).encode())
    assert reply.text.startswith("a\n\nb\n\n{")
    assert reply.tool_calls[0].arguments is None


# Requests


def test_a_key_with_a_line_break_after_it_is_the_key():
    """As `cat` and Windows leave it; the account is the same one."""
    plain, broken = made(OPENAI, {"OPENAI_API_KEY": "k"}), made(OPENAI, {"OPENAI_API_KEY": "k\r\n"})
    assert plain.account == broken.account
    assert broken.key == "k"
    assert made(ANTHROPIC, {"ANTHROPIC_API_KEY": " k\n"}).key == "k"


@pytest.mark.parametrize(
    ("id_", "config", "says"),
    [
        ("openai:chat", {}, "names no model"),
        ("openai:chat:", {}, "names no model"),
        ("anthropic:messages", {}, "names no model"),
        ("anthropic:messages:", {}, "names no model"),
        ("openai:m@localhost:8000/v1", {}, "is not an address"),
        ("openai:m", {"apiBaseUrl": "http://[::1"}, "is not an address"),
        ("openai:m", {"apiBaseUrl": "http://host:port/v1"}, "is not an address"),
        ("openai:m", {"apiBaseUrl": "http:///v1"}, "is not an address"),
        ("anthropic:m", {"apiBaseUrl": "ftp://host"}, "is not an address"),
        ("openai:m", {"timeoutMs": "soon"}, "timeoutMs is 'soon'"),
        ("anthropic:m", {"timeoutMs": -1}, "timeoutMs is -1"),
        ("openai:m", {"timeoutMs": [1]}, "timeoutMs is"),
        ("exec: ", {}, "Write exec:<command>"),
    ],
)
def test_settings_that_cannot_work_are_told_before_a_run(
    id_: str, config: dict[str, Any], says: str
):
    """By name, when the provider is made, not as a traceback or a thousand retries."""
    with pytest.raises(UsageError, match=says):
        create(id_, config=config, env=KEYS, base=Path())


def test_a_model_may_be_named_in_the_config():
    """As promptfoo has it."""
    assert made("openai:chat", None, model="gpt-x").model == "gpt-x"


def test_settings_of_both_vendors_reach_the_body_and_the_headers():
    """By their own names, unknown ones through `passthrough`, and headers of one's own."""
    model = made(
        OPENAI,
        None,
        organization="org",
        headers={"x-team": 7},
        passthrough={"store": True},
        omitDefaults=True,
    )
    sent = json.loads(model.request(Prompt.of("hi")).payload)
    assert sent["store"] is True
    assert "temperature" not in sent
    assert model._headers["openai-organization"] == "org"
    assert model._headers["x-team"] == "7"
    for beta, header in ((["a", "b"], "a,b"), ("a", "a")):
        claude = made(ANTHROPIC, None, beta=beta, extra_body={"metadata": {"user_id": "u"}})
        assert claude._headers["anthropic-beta"] == header
    system = Message("system", [{"type": "text", "text": "be "}, {"type": "text", "text": "brief"}])
    sent = json.loads(claude.request(Prompt((system, Message("user", "hi")), "hi")).payload)
    assert (sent["system"], sent["metadata"]) == ("be brief", {"user_id": "u"})


@pytest.mark.parametrize("model", ["claude-opus-4-7", "claude-sonnet-5", "claude-haiku-4-5"])
def test_models_that_refuse_a_temperature_are_not_sent_one(model: str):
    """Nor those that are told to think."""
    sent = json.loads(made(f"anthropic:{model}").request(Prompt.of("hi")).payload)
    assert ("temperature" in sent) is (model == "claude-haiku-4-5")
    thinking = {"type": "enabled", "budget_tokens": 1024}
    provider = made(f"anthropic:{model}", None, thinking=thinking)
    assert "temperature" not in json.loads(provider.request(Prompt.of("hi")).payload)


def test_a_limit_that_is_no_number_leaves_the_bound_at_the_longest_answer():
    """A text from the environment, say: the vendor will say what is wrong with it."""
    loose = made(OPENAI, None, max_tokens="100").request(Prompt.of("hi"))
    tight = made(OPENAI, None, max_tokens=100).request(Prompt.of("hi"))
    assert loose.cost_bound_usd is not None
    assert tight.cost_bound_usd is not None
    assert loose.cost_bound_usd > tight.cost_bound_usd > 0


@pytest.mark.parametrize(
    ("model", "priced"),
    [
        ("claude-sonnet-4-5", True),
        ("claude-sonnet-4-5-20250929", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-3-5-haiku-latest", True),
        ("claude-opus-4-9", False),
        ("claude-sonnet-4-9-20290101", False),
        ("claude-unheard-of", False),
    ],
)
def test_a_model_that_only_sounds_like_another_has_no_price(model: str, priced: bool):
    """A later version is another model: unknown, not priced like its predecessor."""
    assert (price_of("anthropic", model, {}) is not None) is priced
    assert bound(price_of("anthropic", model, {}), 10, None) is None


# Errors


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (402, b"{}", QuotaExhausted),
        (402, b'{"error": {"message": "Insufficient Balance"}}', QuotaExhausted),
        (429, b'{"error": {"code": "insufficient_quota"}}', QuotaExhausted),
        (500, b'{"error": "insufficient_quota"}', ProviderError),
        (302, b"", BadReply),
        (400, b"[" * 5000, BadRequest),
    ],
)
def test_odd_errors_find_their_class(status: int, body: bytes, kind: type[ProviderError]):
    """An empty account by its status alone, a redirect as a reply that is none."""
    error = fault(HttpAnswer(status, {}, body, 0.1), host="h", key_hint="")
    assert isinstance(error, kind)
    assert error.status == status
    if status == 500:
        assert not isinstance(error, QuotaExhausted)


def test_an_empty_200_is_told_as_such():
    """With the content type that it said."""
    problem = unreadable(HttpAnswer(200, {}, b"  ", 0.1), host="h")
    assert problem is not None
    assert "no content type instead of JSON: an empty body" in problem.message


# Waiting


@pytest.mark.thorough
@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.from_regex(r"[A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d+ .{0,20}"))
def test_no_header_breaks_or_stops_us_for_ever(text: str):
    """Whatever a server writes there: seconds that pass, or nothing."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    for value in (
        duration(text),
        until(text, text, now),
        retry_after({"retry-after": text, "retry-after-ms": text, "date": text}, now),
    ):
        assert value is None or 0 <= value < float("inf")


def test_a_wait_beyond_all_numbers_is_none():
    """Four hundred nines of seconds."""
    assert duration("9" * 400 + "s") is None
    assert duration("9" * 400) is None


# HTTP


async def test_a_small_answer_that_unpacks_to_a_very_large_one_is_refused():
    """Before it fills the memory."""
    packed = gzip.compress(b"0" * (http.MAX_BODY + 1))

    async def answer(writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {len(packed)}\r\n\r\n"
        writer.write(head.encode() + packed)
        await writer.drain()

    with pytest.raises(BadReply, match="more than 32 MB"):
        await posted(answer)


async def test_an_answer_in_pieces_without_a_length_is_read_to_its_end_and_no_further_than_allowed(
    monkeypatch: pytest.MonkeyPatch,
):
    """Chunked, as most vendors send it."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for piece in (b'4\r\n{"a"\r\n', b"3\r\n: 1\r\n", b"1\r\n}\r\n", b"0\r\n\r\n"):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.005)

    assert (await posted(answer)).body == b'{"a": 1}'
    monkeypatch.setattr(http, "MAX_BODY", 6)
    with pytest.raises(BadReply, match="more than"):
        await posted(answer)


@pytest.mark.parametrize(
    "said",
    [
        b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{"a"\r\n',
        b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 9\r\n\r\nnot gzip!",
        b"this is not HTTP at all\r\n\r\n",
        b"",
    ],
    ids=["chunks", "length", "gzip", "no HTTP", "nothing"],
)
async def test_an_answer_that_ends_too_soon_or_is_garbled_is_a_lost_connection(said: bytes):
    """Tried again, though it may have been charged for."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await writer.drain()

    with pytest.raises(ConnectionFailed) as caught:
        await posted(answer)
    assert caught.value.billed is None


async def test_an_answer_that_stops_in_the_middle_times_out():
    """The limit is for all of it, not for its first byte."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{")
        await writer.drain()
        await asyncio.sleep(0.3)

    with pytest.raises(TimedOut, match=r"did not answer in 0\.08 s"):
        await posted(answer, timeout_s=0.08)


async def test_a_redirect_is_not_followed():
    """A key is sent where it was meant to go, and nowhere else."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
        )
        await writer.drain()

    assert (await posted(answer)).status == 302


@pytest.mark.parametrize("url", ["http://h:port/", "ftp://h/", "h", "http://"])
async def test_an_address_that_is_none_is_not_tried_again(url: str):
    """It would be none the next time as well."""
    transport = HttpTransport()
    with pytest.raises(BadRequest, match="nothing can be sent"):
        await transport.post(url, {}, b"{}")
    await transport.close()


async def test_a_line_break_in_a_header_sends_nothing():
    """Not a second header, and no traceback."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        raise AssertionError

    async with serving(answer) as url:
        transport = HttpTransport()
        with pytest.raises(BadRequest, match="nothing can be sent"):
            await transport.post(url, {"x": "a\r\nsecret: b"}, b"{}")
        await transport.close()


async def test_a_server_that_speaks_no_tls_cannot_be_reached_by_https():
    """It is a connection that failed, to be tried again."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"plain text where a handshake was due")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    transport = HttpTransport()
    with pytest.raises(ConnectionFailed):
        await transport.post(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/", {}, b"{}")
    await transport.close()
    server.close()


async def test_loops_that_are_gone_are_forgotten():
    """Their connections died with them."""
    gone = asyncio.new_event_loop()
    gone.close()
    http._transports[gone] = HttpTransport()
    await http.close()
    assert gone not in http._transports


@pytest.mark.parametrize(
    ("what", "kind"),
    [("500", Overloaded), ("html", BadReply), ("empty", BadReply), ("401", AuthError)],
)
@pytest.mark.parametrize("id_", [OPENAI, ANTHROPIC])
async def test_a_chat_that_fails_raises_the_error_of_its_kind(
    id_: str, what: str, kind: type[ProviderError]
):
    """Over the wire, from a server that speaks like the vendors."""
    with FakeProvider(Script([Rule(fault=what)])) as fake:
        provider = made(id_, fake.env())
        with pytest.raises(kind):
            await provider.send(provider.request(Prompt.of("hi")), CodeHost())
        await provider.close()


async def test_rates_come_with_an_answer():
    """From the headers, as each vendor writes them."""
    headers = {
        "x-ratelimit-remaining-requests": "7",
        "x-ratelimit-reset-requests": "1m30s",
        "anthropic-ratelimit-requests-remaining": "7",
        "anthropic-ratelimit-input-tokens-remaining": "900",
    }
    with FakeProvider(headers=headers) as fake:
        for id_ in (OPENAI, ANTHROPIC):
            provider = made(id_, fake.env())
            answer = await provider.send(provider.request(Prompt.of("hi")), CodeHost())
            assert answer.rates is not None
            assert answer.rates.requests_remaining == 7
            await provider.close()


# Functions and programs


def function(tmp_path: Path) -> FunctionProvider:
    """A function that stands for a model."""
    (tmp_path / "p.py").write_text("def call_api(p, o, c): return 'x'\n")
    provider = create("python:p.py", env={}, base=tmp_path)
    assert isinstance(provider, FunctionProvider)
    return provider


@pytest.mark.parametrize(
    ("answer", "tokens", "cost", "metadata"),
    [
        ({"output": "a", "tokenUsage": {"prompt": "12", "completion": -1}}, None, None, {}),
        (
            {"output": "a", "tokenUsage": 5, "cost": True, "metadata": [1]},
            None,
            None,
            {"metadata": [1]},
        ),
        ({"output": "a", "tokenUsage": {"prompt": 12.0}, "cost": "0.1"}, 12, None, {}),
        (
            {"output": "a", "tokenUsage": {"prompt": True}, "cost": -1, "metadata": None},
            None,
            None,
            {},
        ),
        ({"output": "a", "tokenUsage": {"prompt": 1e300}, "cost": 2}, None, 2.0, {}),
    ],
)
def test_what_a_function_says_of_its_tokens_and_cost_is_taken_only_as_numbers(
    tmp_path: Path, answer: object, tokens: int | None, cost: float | None, metadata: object
):
    """Anything else is unknown, not a crash of the run."""
    reply = function(tmp_path).reply(json.dumps(answer).encode())
    assert (reply.usage.tokens_in, reply.cost_usd, reply.metadata) == (tokens, cost, metadata)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [(9000, 9.0), (0, 0.0), (1.5, 0.0015), (True, None), (-1, None), ("9", None)],
)
async def test_how_long_a_function_says_it_took_is_taken_only_as_a_number(
    tmp_path: Path, said: object, seconds: float | None
):
    """Anything else is measured."""
    code = f"def call_api(p, o, c): return {{'output': 'a', 'latencyMs': {said!r}}}\n"
    (tmp_path / "p.py").write_text(code)
    provider = create("python:p.py", env={}, base=tmp_path)
    host = CodeHost()
    with host.open():
        answer = await provider.send(provider.request(Prompt.of("hi")), host)
    assert 0 < answer.latency_s < 5 if seconds is None else answer.latency_s == seconds
    await provider.close()


@pytest.mark.parametrize("body", [b"[]", b"1", b"{}"])
def test_a_functions_answer_that_holds_none_is_a_bad_reply(tmp_path: Path, body: bytes):
    """As a damaged cache would give it."""
    with pytest.raises(BadReply):
        function(tmp_path).reply(body)


async def test_a_function_that_answers_with_itself_is_refused_in_words(tmp_path: Path):
    """What has no end cannot be kept."""
    (tmp_path / "loop.py").write_text(
        "def call_api(p, o, c):\n    x = []\n    x.append(x)\n    return {'output': x}\n"
    )
    provider = create("python:loop.py", env={}, base=tmp_path)
    host = CodeHost()
    with host.open(), pytest.raises(BadRequest, match="cannot be kept"):
        await provider.send(provider.request(Prompt.of("hi")), host)
    await provider.close()


async def test_a_prompt_is_an_argument_and_never_a_program_or_a_shells_line(tmp_path: Path):
    """Not even where the command is empty."""
    host = CodeHost()
    provider = create("exec:printf %s", env={}, base=tmp_path)
    prompt = "$(touch hacked); `id` > x"
    answer = await provider.send(provider.request(Prompt.of(prompt)), host)
    assert provider.reply(answer.body).text.startswith(prompt)
    assert inside(tmp_path) == []
    for command in ('""', "''"):
        empty = create(f"exec:{command}", env={}, base=tmp_path)
        with pytest.raises(BadRequest, match="names no program"):
            await empty.send(empty.request(Prompt.of("/bin/true")), host)
    await provider.close()


@pytest.mark.parametrize("command", ["no-such-program-here", "'half"])
async def test_a_program_that_cannot_be_run_is_a_bad_request(tmp_path: Path, command: str):
    """Missing, or a quote left open."""
    provider = create(f"exec:{command}", env={}, base=tmp_path)
    with pytest.raises(BadRequest, match="cannot be run"):
        await provider.send(provider.request(Prompt.of("hi")), CodeHost())


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("how", ["too slow", "cancelled"])
async def test_a_program_that_nobody_waits_for_ends_with_what_it_started(tmp_path: Path, how: str):
    """Its children too."""
    script = tmp_path / "slow.py"
    script.write_text(
        "import pathlib, subprocess\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "pathlib.Path('pid.tmp').write_text(str(child.pid))\n"
        "pathlib.Path('pid.tmp').rename('pid')\n"
        "child.wait()\n"
    )
    limit = 5_000 if how == "too slow" else 60_000
    provider = create(
        f"exec:{sys.executable} -S slow.py", config={"timeout": limit}, env={}, base=tmp_path
    )
    task = asyncio.create_task(provider.send(provider.request(Prompt.of("hi")), CodeHost()))
    for _ in range(1000):
        if "pid" in inside(tmp_path):
            break
        await asyncio.sleep(0.01)
    if how == "cancelled":
        task.cancel()
    with pytest.raises(TimedOut if how == "too slow" else asyncio.CancelledError):
        await task
    pid = int((tmp_path / "pid").read_text())
    for _ in range(1000):
        if not running(pid):
            break
        await asyncio.sleep(0.01)
    assert not running(pid)


def inside(folder: Path) -> list[str]:
    """What lies in this folder."""
    return [path.name for path in folder.iterdir()]


def running(pid: int) -> bool:
    """Whether this process is alive; one that only waits to be buried is not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
