"""Whatever state an answer is in, an application gets it through a recording client as it gets it without one."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import openai
import pytest

from evenhand import EvalSet, run
from evenhand.core.scripted import scripted_at
from evenhand.doors import recording
from evenhand.render.run import Run

PRICES = {"gpt-x": (1.0, 2.0)}
TEXT = {"type": "output_text", "text": "done", "annotations": []}
MESSAGE = {
    "type": "message",
    "id": "m",
    "status": "completed",
    "role": "assistant",
    "content": [TEXT],
}
USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 30,
}


def response(state: str, output: tuple[Any, ...] = (), **more: Any) -> dict[str, Any]:
    """An answer of the responses API."""
    answer = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-x"}
    answer |= {"status": state, "output": list(output), "tools": [], "tool_choice": "auto"}
    return {**answer, "parallel_tool_calls": True, "usage": None, "error": None, **more}


def chat(reason: str, content: str | None = "Half") -> dict[str, Any]:
    """A chat completion."""
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-x"}
    return {**answer, "choices": [choice], "usage": None}


def message(reason: str) -> dict[str, Any]:
    """A message of Anthropic's."""
    answer = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x"}
    text = [{"type": "text", "text": "Half"}]
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {**answer, "content": text, "stop_reason": reason, "usage": usage}


class Vendor(ThreadingHTTPServer):
    """Says what it is told to: to POST, and to each GET."""

    daemon_threads = True

    def __init__(self) -> None:
        self.posted: Any = None
        self.status = 200
        self.got: list[Any] = []
        self.seen: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Vendor

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._say("POST", self.server.posted)

    def do_GET(self) -> None:
        self._say("GET", self.server.got.pop(0))

    def _say(self, method: str, answer: Any) -> None:
        self.server.seen.append(method)
        streams = isinstance(answer, bytes)
        body = answer if streams else json.dumps(answer).encode()
        self.send_response(self.server.status)
        events = streams and answer.startswith((b"data", b"event"))
        kind = "text/event-stream" if events else "application/json"
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def vendor() -> Iterator[Vendor]:
    """At an address of this machine."""
    server = Vendor()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def settle(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Runs sets in a folder of the test's own."""
    results: list[Run] = []

    def go(*sets: EvalSet, **more: Any) -> Run:
        results.append(run(*sets, home=tmp_path / "home", progress=False, cache=False, **more))
        return results[-1]

    yield go
    for each in results:
        each.close()


def gpt(vendor: Vendor, **more: Any) -> openai.AsyncOpenAI:
    """OpenAI's client."""
    return openai.AsyncOpenAI(api_key="x", base_url=f"{vendor.url}/v1", **more)


def recorded() -> Any:
    """The client that records."""
    return recording.async_http_client(prices=PRICES)


STATES: list[tuple[str, Any, str]] = [
    ("responses", response("queued"), "pass"),
    ("responses", response("in_progress"), "pass"),
    ("responses", response("completed", (MESSAGE,)), "pass"),
    (
        "responses",
        response("incomplete", (MESSAGE,), incomplete_details={"reason": "max_output_tokens"}),
        "pass",
    ),
    (
        "responses",
        response("incomplete", (MESSAGE,), incomplete_details={"reason": "content_filter"}),
        "pass",
    ),
    (
        "responses",
        response("incomplete", (MESSAGE,), incomplete_details={"reason": "odd"}),
        "error",
    ),
    ("responses", response("failed", error={"code": "server_error", "message": "x"}), "error"),
    ("responses", response("cancelled"), "error"),
    *(
        ("chat", chat(reason), "pass")
        for reason in ("stop", "length", "content_filter", "function_call")
    ),
    ("chat", chat("stop", None), "error"),
    ("chat", chat("network_error"), "error"),
    *(("chat", {**chat("stop"), "choices": choices}, "error") for choices in ([], None)),
    *(
        (kind, {"error": {"message": "busy"}}, "error")
        for kind in ("chat", "messages", "responses")
    ),
    *(
        ("messages", message(reason), "pass")
        for reason in ("end_turn", "max_tokens", "stop_sequence", "refusal")
    ),
    ("messages", message("pause_turn"), "error"),
]


async def ask(vendor: Vendor, kind: str, http_client: Any = None) -> bytes:
    """What the application's SDK is given."""
    more = {} if http_client is None else {"http_client": http_client}
    asked: Any = [{"role": "user", "content": "hi"}]
    if kind == "messages":
        claude = anthropic.AsyncAnthropic(api_key="x", base_url=vendor.url, **more)
        messages = claude.messages.with_raw_response
        raw = await messages.create(model="claude-x", max_tokens=5, messages=asked)
    elif kind == "chat":
        completions = gpt(vendor, **more).chat.completions.with_raw_response
        raw = await completions.create(model="gpt-x", messages=asked)
    else:
        raw = await gpt(vendor, **more).responses.with_raw_response.create(
            model="gpt-x", input="hi"
        )
    return raw.http_response.content


@pytest.mark.thorough(after=4)
@pytest.mark.parametrize(("kind", "answer", "outcome"), STATES, ids=repr)
def test_an_application_gets_every_state_as_it_gets_it_without_a_run(
    kind: str, answer: Any, outcome: str, vendor: Vendor, settle: Callable[..., Run]
):
    """Byte for byte, for as many requests; what is no answer is never scored, unless the application asks again."""
    vendor.posted = answer
    without = asyncio.run(ask(vendor, kind))
    assert vendor.seen == ["POST"]
    evals = EvalSet("states")

    @evals.eval
    async def answers(expect: Any) -> None:
        expect(await ask(vendor, kind, recorded()) == without, "is the same")

    result = settle(evals)
    assert vendor.seen == ["POST"] * 2
    (trial,) = result.trials()
    assert trial.outcome == outcome, trial
    if outcome == "error":
        assert trial.error is not None
        assert trial.error.slug == "bad-reply"


NAN = json.dumps({**chat("stop"), "usage": {"prompt_tokens": float("nan")}}).encode()


@pytest.mark.parametrize(
    ("status", "answer"),
    [(201, chat("stop")), (203, chat("stop")), (200, b"\xef\xbb\xbf" + NAN), (200, NAN)],
    ids=["201", "203", "byte order mark", "not a number"],
)
def test_an_answer_in_an_unusual_form_is_paid_for_once_and_replayed(
    status: int, answer: Any, vendor: Vendor, settle: Callable[..., Run], tmp_path: Path
):
    """What an SDK reads is an answer, and not asked for again and again; a replay comes to the same."""
    vendor.status, vendor.posted = status, answer
    evals = EvalSet("unusual")

    @evals.eval
    async def answers(expect: Any) -> None:
        client = gpt(vendor, http_client=recorded())
        reply = await client.chat.completions.create(
            model="gpt-x", messages=[{"role": "user", "content": "hi"}]
        )
        expect(reply.choices[0].message.content == "Half", "is given")

    first, again = (settle(evals, cassette=tmp_path / "unusual.cassette") for _ in range(2))
    assert vendor.seen == ["POST"]
    assert [[t.outcome for t in result.trials()] for result in (first, again)] == [["pass"]] * 2
    assert [trial.cost_usd for trial in first.trials()] == [None]  # nobody said what it cost


@pytest.mark.parametrize("status", [401, 404, 409, 413])
def test_an_application_is_given_an_error_in_a_replay_as_it_was_given_it_live(
    status: int, vendor: Vendor, settle: Callable[..., Run], tmp_path: Path
):
    """Status and body: it may ask another model after one error and not after another."""
    vendor.status, vendor.posted = status, {"error": {"message": "not so", "code": "c"}}
    evals = EvalSet("refused")
    errors: list[Any] = []

    @evals.eval
    async def answers(expect: Any) -> str:
        try:
            await ask(vendor, "chat", recorded())
        except openai.APIStatusError as error:
            errors.append((type(error), error.status_code, error.body, error.code))
        expect(len(errors) > 0, "is caught")
        return "fallen back"

    for _ in range(2):
        settle(evals, cassette=tmp_path / "refused.cassette")
    assert errors[0][1] == status
    assert errors[0] == errors[1]
    assert vendor.seen == ["POST"]


PIECE = json.dumps(
    {**chat("stop"), "choices": [{"index": 0, "delta": {"content": "Half"}, "finish_reason": None}]}
)


def test_a_stream_that_broke_off_breaks_off_in_a_replay_after_as_much(
    vendor: Vendor, settle: Callable[..., Run], tmp_path: Path
):
    """What an application makes of the beginning is the same; and that there is no end."""
    vendor.posted = f"data: {PIECE}\n\n".encode()
    evals = EvalSet("broken")
    heard: list[tuple[str, str]] = []

    @evals.eval
    async def answers(expect: Any) -> str:
        text, ended = "", ""
        client = gpt(vendor, http_client=recorded())
        stream = await client.chat.completions.create(
            model="gpt-x", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        try:
            async for piece in stream:
                text += piece.choices[0].delta.content or ""
        except Exception as error:  # noqa: BLE001 (which library's it is doesn't matter)
            ended = type(error).__name__
        heard.append((text, ended))
        expect(text == "Half", "hears the beginning")
        return text

    for _ in range(2):
        settle(evals, cassette=tmp_path / "broken.cassette")
    assert heard[0] == heard[1]
    assert heard[0][0] == "Half"
    assert heard[0][1]
    assert vendor.seen == ["POST"]


def test_a_line_that_came_before_a_stream_broke_off_is_read_with_aiohttp_too(
    vendor: Vendor, settle: Callable[..., Run], tmp_path: Path
):
    """Live, and in a replay, where all of it is there at once."""
    vendor.posted = f"data: {PIECE}\n\ndata: {PIECE}\n\n".encode()
    evals = EvalSet("lines")
    heard: list[tuple[int, bool]] = []
    body = {"model": "gpt-x", "messages": [{"role": "user", "content": "hi"}], "stream": True}

    @evals.eval
    async def answers(expect: Any) -> str:
        lines, broken = 0, False
        url = f"{vendor.url}/v1/chat/completions"
        async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
            try:
                async for line in response.content:
                    lines += line.startswith(b"data")
                    await asyncio.sleep(0.05)
            except aiohttp.ClientPayloadError:
                broken = True
        heard.append((lines, broken))
        expect(lines == 2, "reads both")
        return "heard"

    for _ in range(2):
        settle(evals, cassette=tmp_path / "lines.cassette")
    assert heard == [(2, True)] * 2
    assert vendor.seen == ["POST"]


def test_what_is_made_in_the_background_is_recorded_when_it_is_there(
    vendor: Vendor, settle: Callable[..., Run]
):
    """Its text, tokens and cost come with the GET; nothing is asked twice, and one that is got again costs once."""
    done = response("completed", (MESSAGE,), usage=USAGE)
    vendor.posted = response("queued")
    vendor.got = [response("in_progress"), done, done]
    client = gpt(vendor, http_client=recorded())
    evals = EvalSet("background")

    @evals.eval
    async def answers(expect: Any) -> None:
        reply = await client.responses.create(model="gpt-x", input="hi", background=True)
        states = [reply.status]
        while reply.status in ("queued", "in_progress"):
            reply = await client.responses.retrieve(reply.id)
            states.append(reply.status)
        expect(states == ["queued", "in_progress", "completed"], "waits")
        expect((await client.responses.retrieve(reply.id)).output_text == "done", "is there")

    result = settle(evals)
    (trial,) = result.trials()
    assert trial.outcome == "pass", trial
    assert vendor.seen == ["POST", "GET", "GET", "GET"]
    assert (trial.tokens_in, trial.tokens_out) == (10, 20)
    assert trial.cost_usd == pytest.approx((10 * 1 + 20 * 2) / 1e6)
    assert result.spend().cost_usd == pytest.approx((10 * 1 + 20 * 2) / 1e6)
    assert trial.output == "done"
    assert trial.answer.finish_reason == "stop"
    assert result.empty_answers() == (0, 0)


def test_a_background_answer_of_a_script_is_got_from_the_script(
    vendor: Vendor, settle: Callable[..., Run]
):
    """Whatever address the application has for its model."""
    vendor.posted = response("queued")
    vendor.got = [response("completed", (MESSAGE,), usage=USAGE)]
    nobody = "http://nobody.invalid/v1"
    client = openai.AsyncOpenAI(api_key="x", base_url=nobody, http_client=recorded())
    evals = EvalSet("background")

    @evals.eval
    async def answers(expect: Any) -> None:
        reply = await client.responses.create(model="gpt-x", input="hi", background=True)
        expect((await client.responses.retrieve(reply.id)).output_text == "done", "is there")

    with scripted_at(vendor.url):
        (trial,) = settle(evals).trials()
    assert trial.outcome == "pass", trial
    assert vendor.seen == ["POST", "GET"]


def test_a_stream_of_a_background_answer_is_got_as_a_stream(
    vendor: Vendor, settle: Callable[..., Run]
):
    """From where the application says."""
    done = response("completed", (MESSAGE,), usage=USAGE)
    vendor.posted = response("queued")
    event = {"type": "response.completed", "sequence_number": 7, "response": done}
    vendor.got = [b"event: response.completed\ndata: %s\n\n" % json.dumps(event).encode()]
    client = gpt(vendor, http_client=recorded())
    evals = EvalSet("background")

    @evals.eval
    async def answers(expect: Any) -> None:
        reply = await client.responses.create(model="gpt-x", input="hi", background=True)
        events = await client.responses.retrieve(reply.id, stream=True, starting_after=3)
        expect([one.type async for one in events] == ["response.completed"], "streams")

    result = settle(evals)
    (trial,) = result.trials()
    assert trial.outcome == "pass", trial
    assert (trial.tokens_out, trial.output) == (20, "done")


def test_a_budget_books_what_is_made_in_the_background_at_its_worst(
    vendor: Vendor, settle: Callable[..., Run]
):
    """Until it is there: more of them than the limit allows are not asked for."""
    vendor.posted = response("queued")
    client = gpt(vendor, http_client=recorded())
    evals = EvalSet("background", data=[{"id": str(n), "input": str(n)} for n in range(10)])

    @evals.eval
    async def answers(case: Any, expect: Any) -> None:
        await client.responses.create(
            model="gpt-x", input=case.input, background=True, max_output_tokens=1000
        )
        expect(True, "is asked for")

    result = settle(evals, max_cost_usd=0.005)
    assert len(vendor.seen) == 2
    assert result.totals().trials < 10
