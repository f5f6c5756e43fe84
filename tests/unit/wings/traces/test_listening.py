"""The listener, over real HTTP: what exporters send is taken in, and what strangers send is not."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExportResult
from tests.oracle.test_trace_dialects import SHOP
from tests.oracle.trace_writers import (
    Act,
    as_json,
    genai,
    logs_of,
    openinference,
    protobuf,
    written,
)

from evenhand.core.errors import UsageError
from evenhand.wings.traces import listening
from evenhand.wings.traces.listening import Listener
from evenhand.wings.traces.run import TracedRun, Traces, run_of

Post = Callable[..., Any]


@asynccontextmanager
async def listens(folder: Path) -> AsyncIterator[tuple[Listener, Traces]]:
    """A listener at any port."""
    traces = Traces(source="listener")
    listener = Listener(traces, folder / "traces" / "received.jsonl", "127.0.0.1")
    ready = asyncio.Event()
    serving = asyncio.ensure_future(listener.serve(0, ready.set))
    try:
        await ready.wait()
        yield listener, traces
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        traces.close()


async def post(
    listener: Listener, data: bytes, path: str = "/v1/traces", **headers: str
) -> tuple[int, str]:
    """Sends a body with the token, unless the headers say otherwise."""
    about = {"Authorization": f"Bearer {listener.token}", "Content-Type": "application/x-protobuf"}
    about.update({name.replace("_", "-"): value for name, value in headers.items()})
    about = {name: value for name, value in about.items() if value}
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            listener.address + path, data=data, headers=about, skip_auto_headers=("Content-Type",)
        ) as answer,
    ):
        return answer.status, (await answer.read()).decode("utf-8", "replace")


async def test_the_official_exporter_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With the variables that are printed, packed."""
    async with listens(tmp_path) as (listener, traces):
        for name, value in {
            **listener.environment(),
            "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        }.items():
            monkeypatch.setenv(name, value)
        exporter = OTLPSpanExporter()
        sent = await asyncio.to_thread(exporter.export, written([SHOP], genai))
        exporter.shutdown()
        assert sent is SpanExportResult.SUCCESS
        (trial,) = TracedRun(traces).trials()
    assert len(trial.steps) == 8


async def test_json_protobuf_and_logs_in_any_order_are_one_trace(tmp_path: Path):
    """The last span comes first, what was said last; the file that is kept meanwhile says the same."""

    def silent(span: Any, act: Act) -> None:
        genai(span, replace(act, asked=(), answer=None))

    spans = written([SHOP], silent)
    async with listens(tmp_path) as (listener, traces):
        for one in reversed(spans[1:]):
            assert (await post(listener, protobuf([one])))[0] == 200
        request = gzip.compress(json.dumps(as_json(spans[:1])).encode())
        status, answer = await post(
            listener, request, Content_Type="application/json", Content_Encoding="gzip"
        )
        assert (status, answer) == (200, "{}")
        assert (await post(listener, logs_of([SHOP], spans), "/v1/logs"))[0] == 200
        assert (await post(listener, b"", "/v1/metrics"))[0] == 200
        (trial,) = TracedRun(traces).trials()
    run, _ = run_of([tmp_path / "traces" / "received.jsonl"])
    (again,) = run.trials()
    assert again.steps == trial.steps
    (tmp_path / "direct.pb").write_bytes(protobuf(written([SHOP], genai)))
    direct, _ = run_of([tmp_path / "direct.pb"])
    assert next(iter(direct.trials())).steps == trial.steps


async def test_what_was_answered_is_in_the_file(tmp_path: Path):
    """It is not lost if the listener is killed right then."""
    received = tmp_path / "traces" / "received.jsonl"
    async with listens(tmp_path) as (listener, _):
        assert (await post(listener, protobuf(written([SHOP], genai))))[0] == 200
        assert len(received.read_text().splitlines()) >= 8


async def test_the_token_is_wanted_for_metrics_too_and_as_a_bearers(tmp_path: Path):
    """Whatever is sent, by whatever scheme."""
    async with listens(tmp_path) as (listener, _):
        assert (await post(listener, b"", "/v1/metrics", Authorization=""))[0] == 401
        other = {"Authorization": f"Basic {listener.token}"}
        assert (await post(listener, b"", **other))[0] == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Basic d3Jvbmc="}, 401),
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Host": "evil.example:4318"}, 421),
        ({"Content_Type": "text/plain"}, 400),
        ({"Content_Encoding": "gzip"}, 400),
    ],
)
async def test_strangers_are_refused(headers: dict[str, str], status: int, tmp_path: Path):
    """Nothing of what they send is kept."""
    async with listens(tmp_path) as (listener, traces):
        answered, _ = await post(listener, protobuf(written([SHOP], genai)), **headers)
        assert answered == status
        assert traces.spans == 0
    assert (tmp_path / "traces" / "received.jsonl").read_bytes() == b""


@pytest.mark.parametrize("body", [b"\x0a\xff\xff", b"hello", b"\x0a\x05abc"])
async def test_half_a_request_is_refused_whole(body: bytes, tmp_path: Path):
    """Its sender is told, and the next request is taken."""
    async with listens(tmp_path) as (listener, traces):
        status, text = await post(listener, body)
        assert status == 400
        assert "not an OTLP request" in text
        assert (await post(listener, protobuf(written([SHOP], openinference))[:-40]))[0] == 400
        assert traces.spans == 0
        assert (await post(listener, b"[1", Content_Type="application/json"))[0] == 400
        assert (await post(listener, b"{}", Content_Type="application/json"))[0] == 400
        assert (await post(listener, protobuf(written([SHOP], genai))))[0] == 200
        assert traces.spans == 8


async def test_a_body_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """However small it is as it comes."""
    monkeypatch.setattr(listening, "LARGEST_BODY", 100_000)
    async with listens(tmp_path) as (listener, traces):
        bomb = gzip.compress(b"\0" * 5_000_000)
        assert (await post(listener, bomb, Content_Encoding="gzip"))[0] == 413
        assert (await post(listener, b"\0" * 200_000))[0] == 413
        assert traces.spans == 0


async def test_a_port_that_is_taken_is_said(tmp_path: Path):
    """Where it was named; else another one is taken."""
    async with listens(tmp_path) as (listener, _):
        port = int(listener.address.rpartition(":")[2])
        traces = Traces(source="second")
        other = Listener(traces, tmp_path / "second.jsonl", "127.0.0.1")
        with pytest.raises(UsageError, match="cannot be listened on"):
            await other.serve(port, lambda: None)
        other.close()
        traces.close()


def test_the_file_of_what_was_received_is_for_its_owner_alone(tmp_path: Path):
    """It holds what people said to the application."""
    traces = Traces(source="listener")
    received = tmp_path / "traces" / "received.jsonl"
    Listener(traces, received, "127.0.0.1").close()
    traces.close()
    assert received.stat().st_mode & 0o077 == 0


ROUTES = ("/v1/traces", "/v1/logs", "/v1/metrics", "/", "/v1/nothing")
REFUSALS = (
    ("Authorization: Bearer wrong", 401),
    ("Origin: https://evil.example", 403),
    ("Sec-Fetch-Site: cross-site", 403),
    ("Host: evil.example:4318", 421),
    ("Content-Length: 99999999999", 413),
)


@pytest.mark.thorough(after=12)
@pytest.mark.parametrize("encoding", ["", "gzip", "deflate", "br", "zstd", "gzip, gzip"])
@pytest.mark.parametrize("route", ROUTES)
async def test_a_request_is_refused_by_its_head_and_hung_up_on(
    route: str, encoding: str, tmp_path: Path
):
    """Before its body has come: nothing of that is read, or unpacked."""
    async with listens(tmp_path) as (listener, _):
        port = int(listener.address.rpartition(":")[2])
        for header, status in REFUSALS:
            name = header.partition(":")[0]
            heads = {
                "Host": f"127.0.0.1:{port}",
                "Authorization": f"Bearer {listener.token}",
                "Content-Type": "application/x-protobuf",
                "Content-Length": "4000000",
                **({"Content-Encoding": encoding} if encoding else {}),
            }
            lines = [f"{key}: {value}" for key, value in heads.items() if key != name]
            text = "\r\n".join((f"POST {route} HTTP/1.1", *lines, header, "", ""))
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(text.encode() + gzip.compress(b"\0" * 1_000_000))
            answered = await asyncio.wait_for(
                reader.read(), 5
            )  # to its end: the connection is closed
            writer.close()
            expected = 415 if status == 413 and encoding not in ("", "gzip", "deflate") else status
            assert answered.startswith(f"HTTP/1.1 {expected} ".encode()), answered[:200]


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
async def test_bodies_are_taken_packed_in_two_ways(pack: Callable[[bytes], bytes], tmp_path: Path):
    """One that was cut off, or is packed in another way, is refused."""
    name = "gzip" if pack is gzip.compress else "deflate"
    async with listens(tmp_path) as (listener, traces):
        body = pack(protobuf(written([SHOP], genai)))
        assert (await post(listener, body[:-9], Content_Encoding=name))[0] == 400
        assert (await post(listener, body, Content_Encoding="br"))[0] == 415
        assert (await post(listener, pack(body), Content_Encoding=f"{name}, {name}"))[0] == 415
        assert traces.spans == 0
        assert (await post(listener, body, Content_Encoding=name))[0] == 200
        assert traces.spans == 8
