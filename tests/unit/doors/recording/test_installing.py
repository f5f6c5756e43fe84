"""`recording.install()`: any client's calls are recorded in trials, other traffic stays as it is; it can be undone."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import aiohttp
import boto3
import httpcore
import httpx
import httpx2
import openai
import pytest
import requests
import urllib3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from evenhand import EvalSet, Expect, run
from evenhand.core.errors import UsageError
from evenhand.core.own_requests import by_the_run
from evenhand.core.scripted import scripted_at
from evenhand.doors import recording
from evenhand.doors.recording.transport import PASSED
from evenhand.doors.recording.wrapping.recorder import Replaced, answers_urllib3, recorders
from evenhand.doors.recording.wrapping.unseen import watch_grpc, watch_websockets
from evenhand.providers.vendor_hosts import asks_a_model
from evenhand.render.run import Run
from evenhand.render.run_warnings import warnings
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script

BODY: dict[str, Any] = {
    "model": "gpt-5-mini",
    "messages": [{"role": "user", "content": "Until when may I return it?"}],
}
STREAMED = {**BODY, "stream": True, "stream_options": {"include_usage": True}}
KEY = {"authorization": "Bearer k"}
Ask = Callable[[str], object]


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    """A vendor at an address that nobody knows: paths and bodies say what is asked."""
    rules = [
        Rule(("return",), "Within 30 days.", latency_ms=1),
        Rule(path="/orders", reply={"id": 7}),
    ]
    with FakeProvider(Script(rules)) as server:
        yield server


@pytest.fixture(autouse=True)
def _undone() -> Iterator[None]:
    yield
    assert not recorders, "a test has left clients wrapped"


def settle(ask: Ask, url: str, home: Path, **more: Any) -> Run:
    """A run of one trial in which this is asked."""
    evals = EvalSet("asking", data=[{"id": "a"}])

    if asyncio.iscoroutinefunction(ask):

        @evals.eval
        async def asks_async(expect: Expect) -> None:
            expect("30 days" in str(await ask(url)), "answers")

    else:

        @evals.eval
        def asks(expect: Expect) -> None:
            expect("30 days" in str(ask(url)), "answers")

    return run(evals, home=home, progress=False, **more)


def by_requests(url: str) -> str:
    """`requests`, on urllib3."""
    return requests.post(f"{url}/v1/chat/completions", json=BODY, headers=KEY, timeout=20).text


def by_requests_streamed(url: str) -> str:
    """The pieces of a stream, line by line, with the SSE end that the vendor sent."""
    post = requests.post(
        f"{url}/v1/chat/completions", json=STREAMED, headers=KEY, timeout=20, stream=True
    )
    lines = [line for line in post.iter_lines() if line]
    assert lines[-1] == b"data: [DONE]"
    return text_of(lines)


def by_httpx(url: str) -> str:
    """A plain client of httpx's."""
    with httpx.Client() as client:
        return client.post(f"{url}/v1/chat/completions", json=BODY, headers=KEY).text


def by_a_pool(url: str) -> str:
    """The same, in a thread of a pool of the application's own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(by_httpx, url).result()


async def by_openai(url: str) -> str:
    """OpenAI's SDK, with a client that nobody prepared."""
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k") as client:
        reply = await client.chat.completions.create(**BODY)
    return str(reply.choices[0].message.content)


async def by_openai_streamed(url: str) -> str:
    """The same, in pieces."""
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k") as client:
        stream = await client.chat.completions.create(**STREAMED)
        return "".join([e.choices[0].delta.content or "" async for e in stream if e.choices])


async def by_aiohttp(url: str) -> str:
    """A session of aiohttp's."""
    async with (
        aiohttp.ClientSession(headers=KEY) as session,
        session.post(f"{url}/v1/chat/completions", json=BODY) as response,
    ):
        assert response.ok
        assert response.content_type == "application/json"
        return str(await response.json())


async def by_aiohttp_streamed(url: str) -> str:
    """The same, in pieces."""
    async with (
        aiohttp.ClientSession(headers=KEY) as session,
        session.post(f"{url}/v1/chat/completions", data=json.dumps(STREAMED)) as response,
    ):
        return text_of([line.strip() async for line in response.content if line.strip()])


def by_aiohttp_on_another_loop(url: str) -> str:
    """The same, on a loop in a thread, as frameworks with a plain interface do it."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, by_aiohttp_streamed(url)).result()


def text_of(lines: list[bytes]) -> str:
    """The text of a stream's events."""
    events = [json.loads(line[6:]) for line in lines if line != b"data: [DONE]"]
    return "".join(e["choices"][0]["delta"].get("content") or "" for e in events if e["choices"])


WAYS: list[Ask] = [
    by_requests,
    by_requests_streamed,
    by_httpx,
    by_a_pool,
    by_openai,
    by_openai_streamed,
    by_aiohttp,
    by_aiohttp_streamed,
    by_aiohttp_on_another_loop,
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_call_of_any_client_is_recorded_and_replayed_without_asking(
    way: Ask, fake: FakeProvider, tmp_path: Path
) -> None:
    """With tokens, cost and a step; and a cassette answers it when the server is gone."""
    cassette = tmp_path / "one.cassette"
    first = settle(way, fake.url, tmp_path, cassette=cassette)
    (trial,) = first.trials()
    assert first.passed, trial.reason
    assert (trial.calls, fake.ledger.total) == (1, 1)
    assert trial.tokens_in
    assert trial.cost_usd
    assert [step.kind for step in first.steps(trial)] == ["model"]
    fake.stop()
    again = settle(way, fake.url, tmp_path, cassette=cassette, cache=False)
    assert again.passed, again.trials()[0].reason


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_budget_that_is_too_small_lets_nothing_through(
    way: Ask, fake: FakeProvider, tmp_path: Path
) -> None:
    """Whatever the client."""
    result = settle(way, fake.url, tmp_path, max_cost_usd=1e-9)
    assert fake.requests == []
    assert result.totals().passed == 0


def test_other_traffic_is_left_alone(fake: FakeProvider, tmp_path: Path) -> None:
    """What a shop's own service is asked, also at a path that a vendor has, goes out as it was and is no call."""

    def asks(url: str) -> str:
        requests.post(f"{url}/orders", json={"order": 7}, timeout=20)
        requests.post(f"{url}/v1/messages", json={"messages": ["hi"]}, timeout=20)
        with httpx2.Client() as client:
            client.get(f"{url}/ledger")
        return "30 days"

    result = settle(asks, fake.url, tmp_path)
    assert result.passed
    assert result.trials()[0].calls == 0
    assert result.totals().cost_usd == 0
    # Each went out once. The fake refuses the second one, as it is nothing that a vendor would take.
    assert len(fake.requests) == 2


@pytest.mark.parametrize(
    ("url", "body", "asks"),
    [
        ("https://api.openai.com/v1/responses", {}, True),
        ("https://eu.api.openai.com/v1/responses", {}, True),
        ("https://api.openai.com/v1/traces/ingest", {"model": "m", "input": "x"}, False),
        ("https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse", {}, True),
        ("https://s3.amazonaws.com/model/m/converse", {}, False),
        ("https://me.openai.azure.com/openai/deployments/d/chat/completions", {}, True),
        ("https://europe-west1-aiplatform.googleapis.com/v1/x:predict", {}, True),
        ("https://oauth2.googleapis.com/token", {}, False),
        ("https://proxy.local/v1/chat/completions", {"model": "m", "messages": []}, True),
        ("https://proxy.local/deployments/d/chat/completions", {"messages": []}, True),
        ("https://shop.local/messages", {"messages": []}, False),
        ("https://shop.local/embeddings", {"model": "m", "text": "x"}, False),
        ("http://localhost:11434/api/chat", {"model": "m", "messages": []}, True),
        ("https://notapi.openai.com.evil.local/v1/other", {}, False),
    ],
)
def test_a_request_asks_a_model_by_its_host_or_by_path_and_body(
    url: str, body: dict[str, Any], asks: bool
) -> None:
    """Telemetry to a vendor's host does not."""
    assert asks_a_model(url, lambda: json.dumps(body).encode()) is asks


def test_a_recording_client_is_recorded_once_where_all_are(
    fake: FakeProvider, tmp_path: Path
) -> None:
    """In trials, and its calls beside trials are counted once."""

    def asks(url: str) -> str:
        with recording.http_client(library=httpx) as client:
            return client.post(f"{url}/v1/chat/completions", json=BODY, headers=KEY).text

    with recording.install():
        result = settle(asks, fake.url, tmp_path)
    assert result.trials()[0].calls == 1
    assert fake.ledger.total == 1


def test_what_the_run_itself_asks_through_a_library_is_no_applications_call(
    fake: FakeProvider, tmp_path: Path
) -> None:
    """As LiteLLM in this process, which is a provider."""

    def asks(url: str) -> str:
        with by_the_run():
            return by_requests(url)

    result = settle(asks, fake.url, tmp_path)
    assert (result.trials()[0].calls, fake.ledger.total) == (0, 1)


def test_it_says_what_is_wrapped_and_undoes_it() -> None:
    """To the very functions that were there, however often it was installed."""
    before = (
        httpx.HTTPTransport.handle_request,
        httpx2.AsyncHTTPTransport.handle_async_request,
        aiohttp.ClientSession._request,
        requests.adapters.PoolManager,
    )
    with recording.install() as installed, recording.install(role="judge") as second:
        assert {"httpx", "httpx2", "aiohttp", "urllib3"} == {*installed.wrapped, *installed.waiting}
        assert f"httpx {httpx.__version__}" in str(installed)
        assert "gRPC" in str(installed)
        assert httpx.HTTPTransport.handle_request is not before[0]
        second.undo()
        second.undo()
        assert httpx.HTTPTransport.handle_request is not before[0]
    assert before == (
        httpx.HTTPTransport.handle_request,
        httpx2.AsyncHTTPTransport.handle_async_request,
        aiohttp.ClientSession._request,
        requests.adapters.PoolManager,
    )
    assert str(installed).startswith("model calls are recorded through: nothing yet")


def test_what_somebody_else_has_wrapped_since_stays_and_ours_only_passes_on() -> None:
    """As a mock that is taken off later."""

    class Owner:
        def send(self) -> str:
            return "sent"

    ours = Replaced.by(Owner, "send", lambda before: lambda self: f"ours {before(self)}")
    theirs = Replaced.by(Owner, "send", lambda before: lambda self: f"theirs {before(self)}")
    ours.put_back()
    assert Owner().send() == "theirs ours sent"
    theirs.put_back()
    assert Owner().send() == "ours sent"


def test_libraries_are_wrapped_when_they_are_imported_and_none_is_imported_for_it() -> None:
    """So that a run whose evals ask nobody pays nothing."""
    code = """
import sys
from evenhand import recording
installed = recording.install()
assert not {"httpx", "httpx2", "aiohttp", "urllib3"} & {*sys.modules}, sys.modules
assert installed.wrapped == ()
import requests, httpx
assert installed.wrapped == ("httpx", "urllib3"), installed.wrapped
assert hasattr(httpx.HTTPTransport.handle_request, "__wrapped__")
installed.undo()
assert not hasattr(httpx.HTTPTransport.handle_request, "__wrapped__")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


async def plain_on_the_loop(url: str) -> str:
    """What keeps the loop from ever bringing the answer."""
    return by_httpx(url)


def test_a_plain_client_on_the_loop_is_sent_and_named(fake: FakeProvider, tmp_path: Path) -> None:
    """By default; the cost is then not known. It worked before calls were recorded by default."""
    result = settle(plain_on_the_loop, fake.url, tmp_path)
    assert result.passed
    assert fake.ledger.total == 1
    assert result.totals().cost_usd is None
    (warning,) = told(result)
    assert "1 call to models bypassed the recorder" in warning
    assert "on the event loop" in warning
    assert warning.endswith("; use an async client there, or asyncio.to_thread")
    assert warning.count("asyncio.to_thread") == 1


def test_a_plain_client_on_the_loop_is_an_error_where_recording_was_requested(
    fake: FakeProvider, tmp_path: Path
) -> None:
    """By `install`, or by the run's option."""
    with recording.install():
        first = settle(plain_on_the_loop, fake.url, tmp_path)
    second = settle(plain_on_the_loop, fake.url, tmp_path, record_calls=True)
    for result in (first, second):
        assert result.totals().errors == 1
        assert "a client that is not async was used on the event loop" in result.trials()[0].reason
    assert fake.ledger.total == 0


def by_urllib(url: str) -> str:
    """The standard library's own client."""
    request = urllib.request.Request(
        f"{url}/v1/chat/completions",
        data=json.dumps(BODY).encode(),
        headers={**KEY, "content-type": "application/json"},
    )
    return urllib.request.urlopen(request).read().decode()


def test_what_cannot_be_recorded_is_named_and_refused_with_a_budget(
    fake: FakeProvider, tmp_path: Path
) -> None:
    """`urllib.request`, for one."""
    result = settle(by_urllib, fake.url, tmp_path)
    assert result.passed
    assert "(through http.client)" in told(result)[0]
    assert told(result)[0].endswith("requests, httpx and aiohttp are recorded, and urllib isn't")
    refused = settle(by_urllib, fake.url, tmp_path, max_cost_usd=1.0)
    assert refused.totals().errors == 1
    assert "can't be recorded" in refused.trials()[0].reason
    assert fake.ledger.total == 1


@pytest.mark.parametrize("ask", [by_urllib, plain_on_the_loop])
def test_an_offline_run_sends_nothing_that_it_cannot_record_but_to_its_script(
    ask: Ask, fake: FakeProvider, tmp_path: Path
) -> None:
    """With a network, a model would have been asked, and paid for."""
    with FakeProvider(Script([Rule(("return",), "Within 30 days.")])) as model:
        with scripted_at(fake.url):
            refused = settle(ask, model.url, tmp_path)
            answered = settle(ask, fake.url, tmp_path)
        assert model.ledger.total == 0
    assert refused.totals().errors == 1
    assert "was not sent as the run is offline: POST 127.0.0.1" in refused.trials()[0].reason
    assert told(refused)[0].startswith("1 call to models bypassed the recorder, and was not sent")
    assert answered.passed
    assert fake.ledger.total == 1


def test_channels_and_sockets_to_models_are_named_or_refused_in_words(
    fake: FakeProvider, tmp_path: Path
) -> None:
    """A channel is named, and a realtime conversation is refused where recording was requested."""
    opened: list[str] = []
    grpc = SimpleNamespace(secure_channel=opened.append, insecure_channel=opened.append)
    sockets = SimpleNamespace(connect=opened.append)
    watched = [*watch_grpc(grpc), *watch_websockets(sockets)]

    def asks(url: str) -> str:
        grpc.secure_channel("us-central1-aiplatform.googleapis.com:443")
        grpc.secure_channel("shop.local:443")
        sockets.connect("wss://api.openai.com/v1/realtime?model=gpt-realtime")
        return "30 days"

    result = settle(asks, fake.url, tmp_path)
    assert result.passed
    assert "us-central1-aiplatform.googleapis.com (through gRPC)" in told(result)[0]
    assert "api.openai.com/v1/realtime (through a websocket)" in told(result)[0]
    assert len(opened) == 3
    with recording.install():
        refused = settle(asks, fake.url, tmp_path)
    assert "a realtime conversation can't be recorded" in refused.trials()[0].reason
    assert len(opened) == 5
    for one in watched:
        one.put_back()
    assert grpc.secure_channel == opened.append


def test_the_mock_of_a_test_answers_and_nothing_is_recorded(
    fake: FakeProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it stands in place of the transport's method, of of httpcore's, or of urllib3's connections."""

    def mocked(*_: object) -> httpx.Response:
        return httpx.Response(200, text="30 days")

    def answered(*_: object) -> httpcore.Response:
        return httpcore.Response(200, content=iter([b"30 days"]))

    for owner, stub in ((httpx.HTTPTransport, mocked), (httpcore.ConnectionPool, answered)):
        with monkeypatch.context() as patch:
            patch.setattr(owner, "handle_request", stub)
            result = settle(by_httpx, fake.url, tmp_path)
        assert result.passed, result.trials()[0].reason
        assert result.trials()[0].calls == 0

    class Recorded(urllib3.connection.HTTPConnection):
        """A connection of a test's, as VCR.py puts them in place of urllib3's."""

    pool = urllib3.HTTPConnectionPool("localhost")
    assert not answers_urllib3(pool, pool.urlopen)
    pool.ConnectionCls = Recorded
    assert answers_urllib3(pool, pool.urlopen)


def test_a_mock_that_says_which_method_it_stands_in_for_answers_and_a_watcher_does_not(
    fake: FakeProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """VCR.py and OpenTelemetry both wrap a method by name; also where recording was requested."""
    source = """
import functools

def wrapped(before, after):
    @functools.wraps(before)
    def method(self, *args, **kwargs):
        return after if after is not None else before(self, *args, **kwargs)
    return method
"""
    for module, answer, calls in (
        ("vcr.stubs", httpx.Response(200, text="30 days"), 0),
        ("opentelemetry.instrumentation", None, 1),
    ):
        names: dict[str, Any] = {"__name__": module}
        exec(source, names)
        for recorder in (None, recording.install):
            before = httpx.HTTPTransport.handle_request
            with monkeypatch.context() as patch, recorder() if recorder else nullcontext():
                patch.setattr(
                    httpx.HTTPTransport, "handle_request", names["wrapped"](before, answer)
                )
                result = settle(by_httpx, fake.url, tmp_path, cache=False)
            assert result.passed, result.trials()[0].reason
            assert result.trials()[0].calls == calls
    pool = urllib3.HTTPConnectionPool("localhost")
    assert answers_urllib3(pool, lambda *_args, **_kwargs: None)


def test_a_mock_that_outlives_a_wrapping_leaves_one_layer_behind_at_most() -> None:
    """However often runs begin beneath it: the next wrapping is of what was there first."""

    class Owner:
        def send(self) -> str:
            return "sent"

    first = Owner.send
    for _ in range(3):
        ours = Replaced.by(Owner, "send", lambda before: lambda self: f"ours {before(self)}")
        mine = Owner.send
        Owner.send = lambda self: f"mock {mine(self)}"  # noqa: B023
        ours.put_back()
        Owner.send = mine
        assert Owner().send() == "ours sent"
    Replaced.by(Owner, "send", lambda before: before).put_back()
    assert Owner.send is first


def test_a_pool_takes_its_arguments_in_any_way(fake: FakeProvider, tmp_path: Path) -> None:
    """By their places, too, as urllib3 itself does."""

    def asks(url: str) -> str:
        host, port = url.removeprefix("http://").split(":")
        pool = urllib3.HTTPConnectionPool(host, int(port))
        body = json.dumps(BODY).encode()
        headers = {**KEY, "content-type": "application/json"}
        return pool.urlopen("POST", "/v1/chat/completions", body, headers, 1, False).data.decode()

    result = settle(asks, fake.url, tmp_path)
    assert result.passed, result.trials()[0].reason
    assert (result.trials()[0].calls, fake.ledger.total) == (1, 1)


def test_a_response_has_what_clients_measure(fake: FakeProvider, tmp_path: Path) -> None:
    """The time that it took, which hooks write into logs."""

    def asks(url: str) -> str:
        with httpx.Client() as client:
            response = client.post(f"{url}/v1/chat/completions", json=BODY, headers=KEY)
        assert response.elapsed.total_seconds() > 0
        assert response.http_version == "HTTP/1.1"
        return response.text

    result = settle(asks, fake.url, tmp_path)
    assert result.passed, result.trials()[0].reason


def test_a_task_that_works_for_several_trials_is_a_problem_of_the_one_that_started_it(
    fake: FakeProvider, tmp_path: Path
) -> None:
    """Whose its calls are isn't known. It isn't ended, either: each trial gets an answer, or an error of its own."""
    evals = EvalSet("shared", data=[{"id": str(n)} for n in range(3)])
    shared: dict[str, Any] = {}

    async def work(queue: asyncio.Queue[asyncio.Future[str]]) -> None:
        while True:
            future = await queue.get()
            try:
                future.set_result(await by_openai(fake.url))
            except openai.OpenAIError as error:
                future.set_exception(error)

    @evals.eval
    async def asks(expect: Expect) -> None:
        if not shared:
            shared["queue"] = asyncio.Queue()
            shared["task"] = asyncio.create_task(work(shared["queue"]))
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        await shared["queue"].put(future)
        expect("30 days" in await asyncio.wait_for(future, 20), "answers")

    result = run(evals, home=tmp_path, progress=False, concurrency=1)
    first, *others = result.trials()
    assert "a task that it started goes on asking models" in first.reason
    assert all("when that trial was over" in other.reason for other in others)
    assert result.totals().errors == 3


def test_recording_can_be_switched_off(fake: FakeProvider, tmp_path: Path) -> None:
    """Then clients send as if there were no run."""
    result = settle(by_httpx, fake.url, tmp_path, record_calls=False)
    assert (result.trials()[0].calls, fake.ledger.total) == (0, 1)


def test_prices_and_a_role_are_those_that_install_was_given(
    fake: FakeProvider, tmp_path: Path
) -> None:
    """And they must be prices."""
    with recording.install(role="judge", prices={"gpt-5-mini": (1_000_000, 0)}):
        result = settle(by_requests, fake.url, tmp_path)
    with RunFile.open(result.path) as file:
        (used,) = file.usage()
    assert used.role == "judge"
    assert used.cost_usd == used.tokens_in
    with pytest.raises(UsageError, match="isn't a pair of prices"):
        recording.install(prices={"gpt-5-mini": (-1, 0)})


def told(result: Run) -> list[str]:
    """The run's warnings."""
    with RunFile.open(result.path) as file:
        return warnings(file)


class Bedrock(BaseHTTPRequestHandler):
    """Amazon's endpoint, which notes what it was sent."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[tuple[str, dict[str, str], bytes]]] = []

    def do_POST(self) -> None:
        """Answers as Anthropic's models do there."""
        body = self.rfile.read(int(self.headers["content-length"]))
        self.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        text = {"type": "text", "text": "30 days"}
        used = {"input_tokens": 3, "output_tokens": 2}
        answer = {"type": "message", "content": [text], "stop_reason": "end_turn", "usage": used}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def test_amazons_signature_is_still_that_of_what_is_sent(tmp_path: Path) -> None:
    """boto3's own client, whose request goes out through the run."""
    credentials = Credentials("id", "secret")

    def asks(url: str) -> str:
        client = boto3.client(
            "bedrock-runtime",
            endpoint_url=url,
            region_name="eu-west-1",
            aws_access_key_id="id",
            aws_secret_access_key="secret",
            config=Config(retries={"max_attempts": 0}),
        )
        body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, **BODY}
        model = "anthropic.claude-haiku-4-5-20251001-v1:0"
        return client.invoke_model(modelId=model, body=json.dumps(body))["body"].read().decode()

    Bedrock.seen = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Bedrock) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        result = settle(asks, url, tmp_path)
        server.shutdown()
    assert result.passed, result.trials()[0].reason
    assert result.trials()[0].calls == 1
    ((path, headers, body),) = Bedrock.seen
    signed = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    again = AWSRequest(
        "POST",
        f"{url}{path}",
        {name: headers[name] for name in signed},
        body,
    )
    again.context["timestamp"] = headers["x-amz-date"]
    signer = SigV4Auth(credentials, "bedrock", "eu-west-1")
    signature = signer.signature(
        signer.string_to_sign(again, signer.canonical_request(again)), again
    )
    assert headers["authorization"].endswith(signature)


def test_a_call_that_is_no_models_costs_no_more_than_50_microseconds(tmp_path: Path) -> None:
    """In the middle of a run; the best of many measurements, as the machine may be busy."""
    sent: list[object] = []
    before = Replaced.by(
        httpx.HTTPTransport, "handle_request", lambda _: lambda _self, request: sent.append(request)
    )
    transport = httpx.HTTPTransport()
    request = httpx.Request("POST", "https://shop.local/orders", json={"id": 7})
    best_s: list[float] = []

    def asks(_: str) -> str:
        for _ in range(200):
            started = time.perf_counter()
            for _ in range(20):
                transport.handle_request(request)
            best_s.append((time.perf_counter() - started) / 20)
        return "30 days"

    try:
        assert settle(asks, "", tmp_path).passed
    finally:
        before.put_back()
    assert len(sent) == 4_000
    assert PASSED not in request.extensions
    assert min(best_s) < 50e-6
