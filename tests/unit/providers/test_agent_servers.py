"""Agents behind web services: what they did is read from their answers, which the frameworks' own servers have given.

`tests/frameworks/answers` has the answers of the servers in `tests/frameworks/servers`, with ai 7.0.173 and Mastra
1.71.0, to "Where is order 1?": whole and streamed, and with a tool that raises.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from evenhand import Case, EvalSet, Expect, recording, run
from evenhand.core.errors import ProviderError
from evenhand.core.message import Prompt, Reply
from evenhand.engine.code import CodeHost
from evenhand.providers.agent_servers import served_answer
from evenhand.providers.answer_text import NoAnswer
from evenhand.providers.app_call import AppCall
from evenhand.providers.catalog import create
from evenhand.providers.journaled import journaled_reply
from evenhand.scorers import CallsTool, NeverFails, StepCount, TokenCount

ANSWERS = Path(__file__).parents[2] / "frameworks" / "answers"
NAMES = sorted(path.stem for path in ANSWERS.glob("*.gz"))
TEXT = "Order 1 was delivered on 3 May."


def answer(name: str) -> bytes:
    """What a server answered."""
    return gzip.decompress((ANSWERS / f"{name}.gz").read_bytes())


def stream(*parts: dict[str, Any], end: bytes = b"") -> bytes:
    """Server-sent events with these parts."""
    return b"".join(b"data: %s\n\n" % json.dumps(part).encode() for part in parts) + end


SAYS_HI = ({"type": "start-step"}, {"type": "text-delta", "id": "0", "delta": "Hi!"})
DONE = b"data: [DONE]\n\n"


@pytest.fixture
def service() -> Iterator[tuple[str, list[bytes]]]:
    """The address of a service, and what it answers: the last in the list."""
    answers: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            whole = answers[-1].startswith(b"{")
            self.send_response(200)
            self.send_header("content-type", "application/json" if whole else "text/event-stream")
            self.send_header("content-length", str(len(answers[-1])))
            self.end_headers()
            self.wfile.write(answers[-1])

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the library's word)
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", answers
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("name", NAMES)
def test_the_steps_are_those_that_the_agent_took(name: str):
    """Two models with a tool between them, which failed or not, and says why; tokens and prices where they are said."""
    reply = served_answer(answer(name))
    assert reply is not None
    assert reply.text == TEXT
    assert [step.kind for step in reply.steps] == ["model", "tool", "model"]
    first, tool, last = reply.steps
    assert (tool.name, tool.arguments) == ("find_order", {"order": 1})
    assert last.result == TEXT
    if "failing" in name:
        assert (tool.status, tool.result) == ("error", None)
        assert tool.error.removeprefix("Error: ") == "parcel 1 was delivered to nobody"
    else:
        assert (tool.status, tool.result) == ("ok", "parcel 1 was delivered on 3 May")
    if name.startswith("ai_sdk_stream"):  # which says nothing of them
        assert (reply.usage.tokens_in, reply.cost_usd) == (None, None)
        return
    read = [step.tokens_in or 0 for step in (first, last)]
    assert min(read) > 0
    assert (reply.usage.tokens_in, reply.usage.tokens_out) == (sum(read), 8)
    assert reply.cost_usd == pytest.approx((first.cost_usd or 0) + (last.cost_usd or 0))
    assert reply.cost_usd


def test_tokens_of_a_stream_are_those_of_its_metadata():
    """As `messageMetadata` of the AI SDK sends them."""
    usage = {"inputTokens": 36, "inputTokenDetails": {"cacheReadTokens": 9}, "outputTokens": 8}
    end = b'"finishReason":"stop"'
    metadata = json.dumps({"usage": usage}).encode()
    body = answer("ai_sdk_stream").replace(end, end + b',"messageMetadata":' + metadata)
    reply = served_answer(body)
    assert reply is not None
    assert reply.usage == type(reply.usage)(36, 8, 9)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"Chop the onions.",
        b'{"steps": []}',
        b'{"steps": "two"}',
        b'{"steps": [1, null]}',
        b'{"steps": [{"content": ["Chop the onions."]}, {"content": ["Fry them."]}]}',
        b'{"steps": [{"finishReason": "stop", "content": "Chop"}]}',
        b'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\ndata: [DONE]\n\n',
        b'event: message_start\ndata: {"type": "message_start"}\n\n',
        b'data: {"type": "start"}\n\n',
        b"data: no JSON\n\n",
        b": ping\n\n",
        b'{"steps": [{"finishReason": "done", "content": ["chop"]}], "answer": "soup"}',
        b'{"steps": [{"finishReason": "done", "content": [{"type": "chop"}]}], "answer": "soup"}',
        stream({"type": "start"}, {"type": "token", "token": "Hello"}, {"type": "finish"}),
        stream({"type": "start"}, {"type": "token", "token": "Hello"}, {"type": "error"}),
        stream({"type": "start"}, {"type": "tool-use", "tool": "hammer"}, {"type": "finish"}),
        stream({"type": "start"}, {"type": "start-step"}, {"type": "say"}, {"type": "finish"}),
        stream({"type": "start"}, {"type": ["text-delta"], "delta": "Hi"}, {"type": "finish"}),
    ],
)
def test_an_answer_of_any_other_service_is_its_own(body: bytes):
    """A recipe has steps, too, and others stream as well."""
    assert served_answer(body) is None


@pytest.mark.parametrize("name", [one for one in NAMES if "stream" in one])
def test_a_stream_that_ends_before_its_time_is_no_answer(name: str):
    """Nor is one that ends in an error: its words would be scored as if they were all."""
    body = answer(name)
    cut = body[: body.rindex(b'"type":"finish"')].rpartition(b"data:")[0]
    with pytest.raises(NoAnswer, match="before the agent had finished"):
        served_answer(cut)
    with pytest.raises(NoAnswer, match="with an error: the model is overloaded"):
        served_answer(cut + b'data: {"type":"error","errorText":"the model is overloaded"}\n\n')


@pytest.mark.parametrize(
    "body",
    [
        b": ping\n\n" + stream({"type": "start"}, *SAYS_HI, {"type": "finish"}),
        b"id: 1\n" + stream({"type": "start"}, *SAYS_HI, {"type": "finish"}),
        b"retry: 9\n\n" + stream({"type": "start"}, *SAYS_HI, {"type": "finish"}),
        stream(
            {"type": "data-status", "data": "searching", "transient": True},
            {"type": "start"},
            *SAYS_HI,
            {"type": "finish"},
        ),
        stream({"type": "start"}, SAYS_HI[1], {"type": "finish"}),
        stream({"type": "start"}, {"type": ["a"]}, *SAYS_HI, {"type": "finish"}),
        stream({"type": "start"}, *SAYS_HI, {"type": "finish-step"}, end=DONE),
        stream(
            {"type": "start"},
            {"type": "start-step"},
            {"type": "error", "errorText": "the first model is overloaded"},
            *SAYS_HI,
            {"type": "finish-step"},
            {"type": "finish", "finishReason": "stop"},
        ),
    ],
)
def test_an_agents_stream_is_known_however_it_begins_and_ends(body: bytes):
    """With comments and ids before it, without `finish` (`sendFinish: false`), and with an error that was got over."""
    reply = served_answer(body)
    assert reply is not None
    assert reply.text == "Hi!"


@pytest.mark.parametrize(
    ("parts", "end", "problem"),
    [
        ([*SAYS_HI, {"type": "finish-step"}], b"", "before the agent had finished"),
        ([*SAYS_HI], DONE, "before the agent had finished"),
        ([{"type": "error", "errorText": "too busy"}], DONE, "too busy"),
        (
            [*SAYS_HI, {"type": "error", "errorText": "too busy"}, {"type": "finish-step"}],
            DONE,
            "too busy",
        ),
        (
            [
                {"type": "error", "errorText": "too busy"},
                *SAYS_HI,
                {"type": "finish", "finishReason": "error"},
            ],
            DONE,
            "too busy",
        ),
    ],
)
def test_a_stream_that_ends_in_an_error_or_too_early_is_no_answer(
    parts: list[dict[str, Any]], end: bytes, problem: str
):
    """Also where its server ends it in order."""
    with pytest.raises(NoAnswer, match=problem):
        served_answer(stream({"type": "start"}, *parts, end=end))


@pytest.mark.parametrize("name", NAMES)
def test_hostile_answers_raise_nothing(name: str):
    """Whatever stands where a value should be: it is left out, and tokens that are none are unknown."""
    text = answer(name).decode()
    for before in ('"find_order"', '"call_1_0"', "14", "36", '"gpt-5-mini"', '{"order":1}'):
        for after in ("null", "[[]]", '{"a": []}', "-1", "1e400", "true", '"\\u001b[31m"'):
            body = text.replace(before, after).encode()
            try:
                reply = served_answer(body)
            except NoAnswer:
                continue
            assert reply is None or reply.text == TEXT


async def _asked(url: str, config: dict[str, Any]) -> Reply:
    fill = lambda text, variables: text.replace("{{prompt}}", str(variables["prompt"]))  # noqa: E731
    provider = create(url, config=config, env={}, base=Path.cwd(), fill=fill)
    host = CodeHost()
    with host.open():
        try:
            request = provider.request(Prompt((), "Where is order 1?"))
            body = (await provider.send(request, host)).body
        finally:
            await provider.close()
    reply = provider.reply(body)
    assert journaled_reply(request.identity, body).steps == reply.steps
    return reply


@pytest.mark.parametrize("name", NAMES)
async def test_a_web_provider_has_the_steps(service: tuple[str, list[bytes]], name: str):
    """Its output is the JSON, or the words of a stream; `transformResponse` takes nothing from the steps."""
    url, answers = service
    answers.append(answer(name))
    config = {"method": "POST", "body": {"prompt": "{{prompt}}"}}
    reply = await _asked(url, config)
    assert [step.kind for step in reply.steps] == ["model", "tool", "model"]
    assert reply.output == (TEXT if "stream" in name else json.loads(answer(name)))
    changed = await _asked(url, {**config, "transformResponse": "({output: 'It is here.'})"})
    assert changed.output == "It is here."
    assert changed.steps == reply.steps
    assert changed.usage.tokens_in == reply.usage.tokens_in
    assert changed.cost_usd == reply.cost_usd


async def test_a_web_provider_takes_no_broken_stream_for_an_answer(
    service: tuple[str, list[bytes]],
):
    """The trial is an error, unless `transformResponse` makes something of it."""
    url, answers = service
    answers.append(answer("ai_sdk_stream").partition(b'data: {"type":"finish"')[0])
    config = {"method": "POST", "body": {"prompt": "{{prompt}}"}}
    with pytest.raises(ProviderError, match="before the agent had finished"):
        await _asked(url, config)
    changed = await _asked(url, {**config, "transformResponse": "({output: text.slice(0, 5)})"})
    assert (changed.output, changed.steps) == ("data:", ())


async def test_a_web_provider_has_the_text_of_a_stream_that_is_no_agents(
    service: tuple[str, list[bytes]],
):
    """As it came: nothing of it was understood."""
    url, answers = service
    answers.append(
        stream({"type": "start"}, {"type": "token", "token": "Hello"}, {"type": "finish"})
    )
    reply = await _asked(url, {"method": "POST", "body": {"prompt": "{{prompt}}"}})
    assert (reply.output, reply.steps) == (answers[-1].decode(), ())


@pytest.mark.thorough(after=6)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("path", ["/api/chat", "/api/agents/shop/stream"])
def test_a_recording_client_has_the_steps(
    service: tuple[str, list[bytes]], name: str, path: str, tmp_path: Path
):
    """In the trial and in the run; `/api/chat` is also Ollama's. Tokens of the whole and of its parts count once."""
    url, answers = service
    answers.append(answer(name))
    evals = EvalSet("shop", data=[{"id": "one", "input": "Where is order 1?"}])
    message = {"role": "user", "parts": [{"type": "text", "text": "Where is order 1?"}]}

    @evals.eval
    async def asks(case: Case, expect: Expect) -> str:
        async with recording.async_http_client(library=httpx) as http:
            body = {"messages": [message], "model": "openai/gpt-5-mini"}
            response = await http.post(url + path, json=body)
        assert response.content == answer(name)
        expect(expect.steps, CallsTool("find_order", {"order": 1}))
        expect(expect.steps, StepCount("model"), at_most=2)
        if "failing" not in name:
            expect(expect.steps, NeverFails())
        if not name.startswith("ai_sdk_stream"):
            expect(expect.steps, TokenCount(), at_most=49)
        return "done"

    result = run(evals, progress=False, cache=False, home=tmp_path)
    assert result.passed, result
    assert result.totals().calls == 1
    assert [step.kind for step in result.steps(0)] == ["agent", "model", "tool", "model"]


def test_an_application_makes_what_it_will_of_its_own_services_broken_stream(
    service: tuple[str, list[bytes]], tmp_path: Path
):
    """It is given the bytes, and asks again, say; its verdict is that of what it returns then."""
    url, answers = service
    broken = answer("mastra_stream").partition(b'data: {"type":"finish"')[0]
    evals = EvalSet("shop", data=[{"id": "one", "input": "Where is order 1?"}])

    @evals.eval
    async def asks(case: Case, expect: Expect) -> str:
        async with recording.async_http_client(library=httpx) as http:
            for try_, body in enumerate((broken, answer("mastra_stream"))):
                answers.append(body)
                asked = {"messages": case.input, "try": try_}
                response = await http.post(f"{url}/stream", json=asked)
                assert response.content == body
        expect(expect.steps, CallsTool("find_order", {"order": 1}))
        return TEXT

    result = run(evals, progress=False, cache=False, home=tmp_path)
    assert result.passed, result.trials()[0].reason
    assert result.totals().calls == 2


@pytest.mark.parametrize(
    ("body", "known"),
    [
        ({"model": "llama3", "messages": [{"role": "user", "content": "Hi"}]}, True),
        ({"messages": [{"role": "user", "content": "Hi"}]}, False),
        ({"model": "llama3", "messages": [{"role": "user", "parts": []}]}, False),
        ({"model": "llama3", "messages": "Hi"}, True),
    ],
)
def test_only_what_asks_ollama_is_read_as_ollamas(body: dict[str, Any], known: bool):
    """Its path is `/api/chat`, as is that of many an agent."""
    call = AppCall.of("http://127.0.0.1:3000/api/chat", {}, json.dumps(body).encode(), 60, {})
    assert (call.place is not None) is known


def test_a_price_of_the_address_goes_before_those_of_its_models():
    """As somebody has stated it."""
    prices = {"h/generate": (1.0, 2.0)}
    call = AppCall.of("http://h/generate", {}, b'{"messages": "Hi"}', 60, prices)
    assert call.reply(answer("mastra_whole")).cost_usd == pytest.approx((36 + 8 * 2) / 1e6)
