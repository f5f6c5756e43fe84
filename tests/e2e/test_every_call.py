"""Whatever an application posts through a recording client in a run: recorded, or named in the run's report.

Each address that is known and some that aren't × each way in which code of a trial may ask. The server's log is the
oracle: what it saw is what the run has recorded, and what its report names. Replayed, or with a budget that is too
small, the run lets nothing through to it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import multiprocessing
import multiprocessing.pool
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evenhand import EvalSet, run
from evenhand.doors import recording
from evenhand.render.run import Run
from evenhand.render.run_warnings import warnings
from evenhand.scorers import Cost, Latency, OnlyCalls, StepCost, StepCount, TokenCount
from evenhand.store.runfile import RunFile

SAID = "Four legs"
_USER = [{"role": "user", "content": "Legs of a cow?"}]
_CHAT = {
    "model": "gpt-4o-mini",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": SAID}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2},
}
_MESSAGE = {
    "type": "message",
    "role": "assistant",
    "model": "claude-haiku-4-5",
    "content": [{"type": "text", "text": SAID}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 9, "output_tokens": 2},
}
_GEMINI = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": SAID}]}, "finishReason": "STOP"}
    ],
    "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2},
}
_RESPONSE = {
    "model": "gpt-4o-mini",
    "status": "completed",
    "output": [{"type": "message", "content": [{"type": "output_text", "text": SAID}]}],
    "usage": {"input_tokens": 9, "output_tokens": 2},
}
_OLLAMA_COUNTS = {"done_reason": "stop", "prompt_eval_count": 9, "eval_count": 2}
_OLLAMA = {
    "model": "llama3.2",
    "message": {"role": "assistant", "content": SAID},
    "done": True,
    **_OLLAMA_COUNTS,
}
_CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Legs of a cow?"}]}]}
_VECTORS = {"data": [{"embedding": [0.1, 0.2]}], "usage": {"prompt_tokens": 9}}


def _events(*pieces: object) -> str:
    return "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces)


def _named(*pieces: Mapping[str, Any]) -> str:
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in pieces)


def _halves(whole: Mapping[str, Any]) -> list[object]:
    """Gemini's answer in two pieces."""
    first = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Four "}]}}]}
    rest = {"content": {"role": "model", "parts": [{"text": "legs"}]}, "finishReason": "STOP"}
    return [first, {**whole, "candidates": [rest]}]


_CHAT_STREAM = (
    _events(
        {"choices": [{"index": 0, "delta": {"content": "Four "}}]},
        {"choices": [{"index": 0, "delta": {"content": "legs"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": _CHAT["usage"]},
    )
    + "data: [DONE]\n\n"
)
_MESSAGE_STREAM = _named(
    {"type": "message_start", "message": {**_MESSAGE, "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": SAID}},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"input_tokens": 9, "output_tokens": 2},
    },
    {"type": "message_stop"},
)
_OLLAMA_STREAM = "\n".join(
    json.dumps(one)
    for one in (
        {"model": "llama3.2", "message": {"role": "assistant", "content": "Four "}, "done": False},
        {**_OLLAMA, "message": {"role": "assistant", "content": "legs"}},
    )
)

READ: Mapping[str, tuple[Mapping[str, Any], object]] = {
    "/v1/chat/completions": ({"messages": _USER, "model": "gpt-4o-mini"}, _CHAT),
    "/v1/chat/completions?s": (
        {"messages": _USER, "model": "gpt-4o-mini", "stream": True},
        _CHAT_STREAM,
    ),
    "/openai/deployments/mine/chat/completions?api-version=1": ({"messages": _USER}, _CHAT),
    "/v1/agents/completions": ({"messages": _USER, "agent_id": "a"}, _CHAT),
    "/v1/responses": ({"input": "Legs?", "model": "gpt-4o-mini"}, _RESPONSE),
    "/v1/completions": (
        {"prompt": "Legs?", "model": "gpt-3.5-turbo"},
        {**_CHAT, "choices": [{"text": SAID, "finish_reason": "stop"}]},
    ),
    "/v1/messages": ({"messages": _USER, "model": "claude-haiku-4-5", "max_tokens": 9}, _MESSAGE),
    "/v1/messages?s": (
        {"messages": _USER, "model": "claude-haiku-4-5", "max_tokens": 9, "stream": True},
        _MESSAGE_STREAM,
    ),
    "/v1/models/gemini-2.5-flash:generateContent": (_CONTENTS, _GEMINI),
    "/v1beta/models/gemini-2.5-flash:generateContent?key=k": (_CONTENTS, _GEMINI),
    "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse": (
        _CONTENTS,
        _events(*_halves(_GEMINI)),
    ),
    "/v1beta/models/gemini-2.5-flash:streamGenerateContent": (
        _CONTENTS,
        json.dumps(_halves(_GEMINI)),
    ),
    "/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:generateContent": (
        _CONTENTS,
        _GEMINI,
    ),
    "/v1/projects/p/locations/l/publishers/anthropic/models/claude-haiku-4-5:rawPredict": (
        {"messages": _USER, "max_tokens": 9},
        _MESSAGE,
    ),
    "/v1/projects/p/locations/l/publishers/anthropic/models/claude-haiku-4-5:streamRawPredict": (
        {"messages": _USER, "max_tokens": 9, "stream": True},
        _MESSAGE_STREAM,
    ),
    "/v1/projects/p/locations/l/publishers/mistralai/models/mistral-small:rawPredict": (
        {"messages": _USER},
        _CHAT,
    ),
    "/model/us.anthropic.claude-haiku-4-5-v1:0/invoke": (
        {"messages": _USER, "max_tokens": 9},
        _MESSAGE,
    ),
    "/api/chat": ({"messages": _USER, "model": "llama3.2", "stream": False}, _OLLAMA),
    "/api/chat?s": ({"messages": _USER, "model": "llama3.2"}, _OLLAMA_STREAM),
    "/api/generate": (
        {"prompt": "Legs?", "model": "llama3.2", "stream": False},
        {"model": "llama3.2", "response": SAID, "done": True, **_OLLAMA_COUNTS},
    ),
}
"""Addresses whose answers are read: their bodies, and what is answered."""
MEASURED: Mapping[str, tuple[Mapping[str, Any], object]] = {
    "/v1/embeddings": ({"input": "cow", "model": "text-embedding-3-small"}, _VECTORS),
    "/api/embed": ({"input": "cow", "model": "nomic"}, {"embeddings": [[0.1]]}),
    "/v1beta/models/gemini-embedding-001:embedContent": (
        {"content": {"parts": [{"text": "cow"}]}},
        {"embedding": {"values": [0.1]}},
    ),
    "/v1beta/models/gemini-embedding-001:batchEmbedContents": (
        {"requests": [{"content": {"parts": [{"text": "cow"}]}}]},
        {"embeddings": [{"values": [0.1]}]},
    ),
    "/v1/moderations": (
        {"input": "cow", "model": "omni-moderation-latest"},
        {"results": [{"categories": {}, "category_scores": {}}]},
    ),
}
UNKNOWN: Mapping[str, tuple[Mapping[str, Any], object]] = {
    "/v1/chat": ({"message": "Legs?", "model": "command-r"}, {"text": "Four"}),
    "/v2/rerank": ({"query": "cow", "documents": ["a"]}, {"results": []}),
    "/model/amazon.nova-lite-v1:0/invoke": ({"messages": []}, {"output": {}}),
    "/model/meta.llama3/invoke": ({"prompt": "cow"}, {"generation": "Four"}),
    "/v1beta/interactions": ({"input": "cow"}, {"outputs": []}),
    "/v1/images/generations": ({"prompt": "a cow"}, {"data": [{"b64_json": "x"}]}),
    "/v1/audio/speech": ({"input": "moo"}, "ID3 moo"),
    "/v1/conversations": ({"inputs": "cow"}, {"outputs": []}),
    "/whatever/comes/next": ({"q": "cow"}, {"a": 4}),
}
FREE: Mapping[str, tuple[Mapping[str, Any], object]] = {
    "/v1beta/models/gemini-2.5-flash:countTokens": (_CONTENTS, {"totalTokens": 9}),
    "/v1/messages/count_tokens": (
        {"messages": _USER, "model": "claude-haiku-4-5"},
        {"input_tokens": 9},
    ),
}
ALL = {**READ, **MEASURED, **UNKNOWN, **FREE}


class Vendor(BaseHTTPRequestHandler):
    """Answers each address as its vendor does, and notes what it saw."""

    seen: list[str] = []  # noqa: RUF012 (one server at a time)

    def do_POST(self) -> None:
        """Answers."""
        self.rfile.read(int(self.headers["content-length"]))
        type(self).seen.append(self.path)
        said = ALL[self.path][1]
        text = said if isinstance(said, str) else json.dumps(said)
        self.send_response(200)
        kind = "text/event-stream" if text.startswith(("data:", "event:")) else "application/json"
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def vendor() -> Iterator[str]:
    """Its address."""
    Vendor.seen = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Vendor)
    threading.Thread(target=server.serve_forever, name="evenhand-vendor", daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


Ask = Callable[[str], str]


class Application:
    """An application that has a client of each kind, a pool and a worker of its own, made when it was imported."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.plain = recording.http_client()
        self.later = recording.async_http_client()
        self.pool = concurrent.futures.ThreadPoolExecutor(2, "application")
        self.old_pool = multiprocessing.pool.ThreadPool(1)
        self.jobs: queue.Queue[Any] = queue.Queue()
        self.worker = threading.Thread(target=self._work, daemon=True)
        self.worker.start()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def ask(self, path: str) -> str:
        """Asks with the plain client."""
        return self.plain.post(self.address + path, json=ALL[path][0], timeout=60).text

    async def ask_later(self, path: str) -> str:
        """Asks with the async one."""
        answer = await self.later.post(self.address + path, json=ALL[path][0], timeout=60)
        return answer.text

    async def _alone(self, path: str) -> str:
        async with recording.async_http_client() as client:
            return (await client.post(self.address + path, json=ALL[path][0], timeout=60)).text

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            path, results = job
            results.put(self.ask(path))

    async def by(self, way: str, path: str) -> str:
        """Asks in one of the ways that there are."""
        loop = asyncio.get_running_loop()
        if way == "async":
            return await self.ask_later(path)
        if way == "gather":
            return (await asyncio.gather(self.ask_later(path)))[0]
        if way == "to_thread":
            return await asyncio.to_thread(self.ask, path)
        if way == "run_in_executor":
            return await loop.run_in_executor(None, self.ask, path)
        if way == "own executor":
            return await loop.run_in_executor(self.pool, self.ask, path)
        if way == "another loop":
            return await asyncio.wrap_future(
                asyncio.run_coroutine_threadsafe(self._alone(path), self.loop)
            )
        return await asyncio.to_thread(self.plainly, way, path)

    def plainly(self, way: str, path: str) -> str:
        """The same for ways that wait."""
        results: queue.Queue[str] = queue.Queue()
        if way == "submit":
            return self.pool.submit(self.ask, path).result()
        if way == "map":
            return next(iter(self.pool.map(self.ask, [path])))
        if way == "new pool":
            with concurrent.futures.ThreadPoolExecutor() as pool:
                return pool.submit(self.ask, path).result()
        if way in ("thread", "loop in a thread"):
            go = self.ask if way == "thread" else lambda path: asyncio.run(self._alone(path))
            thread = threading.Thread(target=lambda: results.put(go(path)))
            thread.start()
            thread.join()
            return results.get()
        if way == "worker of the application's":
            self.jobs.put((path, results))
            return results.get()
        if way == "old pool":
            return self.old_pool.apply(self.ask, (path,))
        if way == "fork":
            context = multiprocessing.get_context("fork")
            pipe, end = context.Pipe()
            child = context.Process(target=lambda: end.send(self._in_child(path)))
            child.start()
            said = pipe.recv() if pipe.poll(30) else ""
            child.join(30)
            return said
        code = (
            "import sys, json; from evenhand import recording\n"
            "print(recording.http_client().post(sys.argv[1], json=json.loads(sys.argv[2]), timeout=60).text)"
        )
        sent = [self.address + path, json.dumps(ALL[path][0])]
        done = subprocess.run([sys.executable, "-c", code, *sent], capture_output=True, check=True)
        return done.stdout.decode().strip()

    def _in_child(self, path: str) -> str:
        with recording.http_client() as client:
            return client.post(self.address + path, json=ALL[path][0], timeout=60).text

    def close(self) -> None:
        """Lets go of its threads."""
        self.jobs.put(None)
        self.pool.shutdown()
        self.old_pool.terminate()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.plain.close()


TIED = (
    "async",
    "gather",
    "to_thread",
    "run_in_executor",
    "own executor",
    "another loop",
    "submit",
    "map",
    "new pool",
    "thread",
    "loop in a thread",
)
UNTIED = ("worker of the application's", "old pool", "fork", "subprocess")


@pytest.fixture
def application(vendor: str) -> Iterator[Application]:
    """As it is before any run."""
    made = Application(vendor)
    yield made
    made.close()


@pytest.fixture
def settle(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Runs a set, in a folder of the test's own."""
    runs: list[Run] = []

    def go(evals: EvalSet, **more: Any) -> Run:
        runs.append(run(evals, home=tmp_path / "home", progress=False, cache=False, **more))
        return runs[-1]

    yield go
    for one in runs:
        one.close()


def asking(application: Application, pairs: list[tuple[str, str]]) -> EvalSet:
    """A set whose trials each ask one address in one way."""
    evals = EvalSet(
        "calls", data=[{"id": f"{way} {path}", "input": [way, path]} for way, path in pairs]
    )

    @evals.eval
    async def asks(case: Any, expect: Any) -> str:
        way, path = case.input
        said = await application.by(way, path)
        expect("evenhand" not in said, "answers")
        return said

    return evals


def counted(outcome: Run) -> tuple[int, int]:
    """The calls of a run, and those that its report names as unrecorded."""
    with RunFile.open(outcome.path) as file:
        calls = [
            c for c in file.calls() if c.end and not c.end.error and c.end.origin == "provider"
        ]
        told = warnings(file)
        named = sum(n for name, n in file.meta.unrecorded.items() if not name.startswith("refused"))
    if named:
        assert any("not recorded: POST 127.0.0.1" in line for line in told)
    return len(calls), named


@pytest.mark.parametrize(
    "paths", [READ, MEASURED, UNKNOWN, FREE], ids=["read", "measured", "unknown", "free"]
)
def test_every_address_asked_from_a_trial_is_recorded_and_replayed(
    application: Application,
    settle: Callable[..., Run],
    paths: Mapping[str, Any],
    tmp_path: Path,
):
    """Any address × any way that leads back to its trial: one call each; replayed, the server sees none of them."""
    ways = TIED if paths is READ else TIED[:1]
    pairs = [(way, path) for way in ways for path in paths]
    cassette = tmp_path / "calls.cassette"
    first = settle(asking(application, pairs), cassette=cassette)
    assert first.verdict == "passed"
    assert len(Vendor.seen) == len(pairs)
    assert counted(first) == (len(pairs), 0)
    again = settle(asking(application, pairs), cassette=cassette)
    assert again.verdict == "passed"
    assert len(Vendor.seen) == len(pairs)
    # A cassette has the same JSON, and not its spaces.
    outputs = [[t.output.replace(" ", "") for t in each.trials()] for each in (first, again)]
    assert outputs[0] == outputs[1]
    for trial in again.trials():
        if paths is READ:
            assert (trial.tokens_in, trial.tokens_out) == (9, 2), trial.case


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("way", UNTIED)
def test_a_call_that_belongs_to_no_trial_is_named_and_its_trial_knows_no_cost(
    application: Application, settle: Callable[..., Run], way: str
):
    """Sent, counted, and named by its address; what it cost, took and did is unknown, and never 0."""
    pairs = [(way, path) for path in list(READ)[:3]]
    evals = asking(application, pairs)

    @evals.eval
    async def measures(case: Any, expect: Any) -> None:
        way, path = case.input
        await application.ask_later(path)
        await application.by(way, path)
        for scorer in (TokenCount(), StepCost(), StepCount()):
            expect("", scorer, at_most=1e9)
        for scorer in (Cost(1e9), Latency(1e9), OnlyCalls(["look_up"])):
            expect("", scorer)

    outcome = settle(evals, concurrency=1)
    assert len(Vendor.seen) == 9
    assert counted(outcome) == (3, 6)
    assert outcome.totals().cost_usd is None
    for trial in outcome.trials():
        assert (trial.cost_usd, trial.tokens_in, trial.tokens_out, trial.latency_s) == (None,) * 4
        if trial.outcomes[0].name != "answers":
            assert [one.outcome for one in trial.outcomes] == ["error"] * 6


@pytest.mark.thorough(after=10)
@pytest.mark.parametrize("way", [*TIED, *UNTIED])
@pytest.mark.parametrize("barred", ["replay", "budget"])
def test_a_run_that_replays_or_has_a_budget_too_small_sends_nothing(
    application: Application, settle: Callable[..., Run], way: str, barred: str, tmp_path: Path
):
    """Whatever the way, and the address; no such trial passes, whatever its code made of the refusal."""
    path = "/v1/chat/completions"
    if barred == "replay":
        more: dict[str, Any] = {"cassette": tmp_path / "one.cassette"}
        settle(asking(application, [("async", "/v1/messages")]), **more)
    else:
        more = {"max_cost_usd": 1e-9}
    Vendor.seen = []
    outcome = settle(
        asking(application, [(way, one) for one in (path, "/whatever/comes/next")]), **more
    )
    assert Vendor.seen == []
    totals = outcome.totals()
    assert (totals.passed, totals.failed) == (0, 0)  # what was refused may have gone either way
    assert outcome.verdict == "undecided"


WORKERS = """
import queue, threading
from evenhand import EvalSet
from evenhand.doors import recording

client, jobs = recording.http_client(), queue.Queue()


def work():
    while True:
        results = jobs.get()
        body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Legs?"}]}
        results.put(client.post("URL/v1/chat/completions", json=body, timeout=60).text)


threading.Thread(target=work, daemon=True).start()


def ask():
    results = queue.Queue()
    jobs.put(results)
    return results.get(timeout=60)
"""
SET = """
from evenhand import EvalSet
from application import ask

evals = EvalSet("calls", data=[{"id": str(i)} for i in range(6)])


@evals.eval
def asks(case, expect):
    expect("choices" in ask(), "answers")
"""
TESTS = """
from application import ask


def test_asks(expect):
    expect("choices" in ask(), "answers")
"""


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("command", "calls"),
    [
        (("-m", "evenhand", "run", "calls_evals.py", "--no-cache", "--workers", "2"), 6),
        (("-m", "pytest", "-q", "-p", "no:cacheprovider", "--evenhand-live", "test_calls.py"), 1),
    ],
    ids=["workers", "pytest"],
)
def test_workers_and_pytest_name_such_calls_too(
    vendor: str, tmp_path: Path, command: tuple[str, ...], calls: int
):
    """In the run's file, whoever settles the trials."""
    (tmp_path / "application.py").write_text(WORKERS.replace("URL", vendor))
    (tmp_path / "calls_evals.py").write_text(SET)
    (tmp_path / "test_calls.py").write_text(TESTS)
    env = {**os.environ, "EVENHAND_HOME": str(tmp_path / "home")}
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, env=env, capture_output=True)  # noqa: PLW1510
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    assert len(Vendor.seen) == calls
    (path,) = (tmp_path / "home" / "runs").glob("*.db")
    with RunFile.open(path) as file:
        assert sum(file.meta.unrecorded.values()) == calls
        assert file.totals().cost_usd is None
        assert any("not recorded: POST 127.0.0.1" in line for line in warnings(file))
