"""Traces with the command line: imported, listened for, judged, and what came of it sent out again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from tests.e2e.test_import_openai_evals import NASTY, evenhand
from tests.oracle.test_trace_dialects import SHOP
from tests.oracle.trace_writers import Act, as_json, genai, protobuf, written

JUDGE = """
from evenhand import Case, Dataset, EvalSet, Expect
from evenhand.scorers import Contains

evals = EvalSet("shop", data=Dataset([Case("{case}", input="?")]))


@evals.eval
async def apologises(case: Case, expect: Expect) -> str:
    expect(case.input, Contains("Sorry"))
    return "Sorry"
"""


class Collector(BaseHTTPRequestHandler):
    """Takes log records, as any backend for OpenTelemetry does."""

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        assert isinstance(self.server, Backend)
        self.server.taken.append(ExportLogsServiceRequest.FromString(data))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


class Backend(HTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Collector)
        self.taken: list[ExportLogsServiceRequest] = []


@pytest.fixture
def collector() -> Iterator[Backend]:
    """A backend of our own."""
    server = Backend()
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_trace_is_imported_and_its_verdict_goes_back_to_its_span(
    tmp_path: Path, collector: Backend, monkeypatch: pytest.MonkeyPatch
):
    """Nothing is judged at first; then a person says fail."""
    spans = written([SHOP], genai)
    (tmp_path / "t.pb").write_bytes(protobuf(spans))
    imported = evenhand(tmp_path, "import", "traces", "t.pb", "--json")
    assert imported.returncode == 0, imported.stderr
    (run,) = json.loads(imported.stdout)["runs"]
    assert (run["trials"], run["not_applicable"]) == (1, 1)
    shown = evenhand(tmp_path, "show", run["run"], "1", "--json")
    assert [step["kind"] for step in json.loads(shown.stdout)["steps"]][:3] == [
        "agent",
        "model",
        "tool",
    ]
    address = f"http://127.0.0.1:{collector.server_port}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    nothing = evenhand(tmp_path, "export", "--to", "otlp")
    assert nothing.returncode == 2
    assert "nothing has judged it" in nothing.stderr

    from evenhand.store.labels.label import NewLabel
    from evenhand.store.labels.stored_labels import append_labels

    append_labels(Path(run["file"]), [NewLabel(0, "verdict", "fail", author="ann\ud800")])
    sent = evenhand(tmp_path, "export", "--to", "otlp")
    assert sent.returncode == 0, sent.stderr
    assert f"1 event sent to {address}/v1/logs" in sent.stderr
    (request,) = collector.taken
    (record,) = request.resource_logs[0].scope_logs[0].log_records
    said = {one.key: one.value.string_value for one in record.attributes}
    assert record.event_name == "gen_ai.evaluation.result"
    assert abs(record.time_unix_nano / 1e9 - time.time()) < 3600
    root = next(span for span in spans if span.parent is None)
    assert record.trace_id.hex() == f"{root.context.trace_id:032x}"
    assert record.span_id.hex() == f"{root.context.span_id:016x}"
    assert said["gen_ai.evaluation.score.label"] == "fail"
    assert (said["evenhand.evaluator.kind"], said["evenhand.evaluator.name"]) == (
        "human",
        "ann\ufffd",
    )


def test_the_outcomes_of_a_run_are_sent_with_who_evaluated(
    tmp_path: Path, collector: Backend, monkeypatch: pytest.MonkeyPatch
):
    """An error of a scorer is no score, and an unreachable backend is one message."""
    (tmp_path / "shop_evals.py").write_text(JUDGE.format(case="a"))
    ran = evenhand(tmp_path, "run", "shop_evals.py")
    assert ran.returncode == 1, ran.stderr
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}")
    sent = evenhand(tmp_path, "export", "--to", "otlp")
    assert sent.returncode == 0, sent.stderr
    records = [
        {one.key: one.value for one in record.attributes}
        for request in collector.taken
        for record in request.resource_logs[0].scope_logs[0].log_records
    ]
    first, verdict = records
    assert first["gen_ai.evaluation.score.label"].string_value == "fail"
    assert first["gen_ai.evaluation.score.value"].double_value == 0.0
    assert first["evenhand.evaluator.kind"].string_value == "code"
    assert first["evenhand.case.id"].string_value == "a"
    assert verdict["gen_ai.evaluation.name"].string_value == "evenhand.verdict"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    failed = evenhand(tmp_path, "export", "--to", "otlp")
    assert failed.returncode == 3
    assert "could not be sent to http://127.0.0.1:9/v1/logs" in failed.stderr
    assert "Traceback" not in failed.stderr


APPLICATION = """
import os, signal, sys
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
with provider.get_tracer("app").start_as_current_span("chat") as span:
    span.set_attribute("gen_ai.operation.name", "chat")
    span.set_attribute("gen_ai.request.model", "m")
provider.shutdown()
if "kill" in sys.argv:
    os.kill(os.getppid(), signal.SIGKILL)
sys.exit(3 if "fail" in sys.argv else 0)
"""


def test_an_application_is_run_and_listened_to(tmp_path: Path):
    """Its own failure is told, and costs no trace; without a span there is no run."""
    (tmp_path / "app.py").write_text(APPLICATION)
    listened = evenhand(
        tmp_path, "runs", "listen", "--json", "--", sys.executable, "app.py", "fail"
    )
    assert listened.returncode == 1, listened.stderr
    assert "ended with exit code 3" in listened.stderr
    assert json.loads(listened.stdout)["runs"][0]["trials"] == 1
    assert not (tmp_path / ".evenhand" / "traces").exists()
    silent = evenhand(tmp_path, "runs", "listen", "--", sys.executable, "-c", "")
    assert silent.returncode == 5
    assert "no span arrived" in silent.stderr


def test_what_a_killed_listener_received_can_be_imported(tmp_path: Path):
    """What was answered is on disk."""
    (tmp_path / "app.py").write_text(APPLICATION)
    killed = evenhand(tmp_path, "runs", "listen", "--", sys.executable, "app.py", "kill")
    assert killed.returncode == -signal.SIGKILL
    (received,) = (tmp_path / ".evenhand" / "traces").iterdir()
    imported = evenhand(tmp_path, "import", "traces", str(received))
    assert imported.returncode == 0, imported.stderr


def test_ctrl_c_ends_the_listener_and_keeps_what_came(tmp_path: Path):
    """The variables that it prints are all that an exporter needs."""
    (tmp_path / "app.py").write_text(APPLICATION)
    command = [
        sys.executable,
        "-c",
        "from evenhand.cli import main; main()",
        "listen",
        "--port",
        "0",
    ]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        variables = dict(
            line.removeprefix("export ").strip().replace("'", "").split("=", 1) for line in lines
        )
        subprocess.run(
            [sys.executable, "app.py"], cwd=tmp_path, env={**os.environ, **variables}, check=True
        )
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=50)
    assert process.returncode == 0, errors
    assert "imported as" in errors


def test_hostile_texts_of_a_trace_reach_no_terminal(tmp_path: Path):
    """Escapes in every text: ids, names, attributes, messages, errors."""
    request = as_json(written([SHOP], genai, service="shop"))
    for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        span["name"] = span["traceId"] = NASTY
        span["status"] = {"code": 2, "message": NASTY}
        for one in span["attributes"]:
            if one["key"] in ("gen_ai.tool.name", "gen_ai.agent.name", "gen_ai.request.model"):
                one["value"] = {"stringValue": NASTY}
        span["attributes"].append({"key": NASTY, "value": {"stringValue": NASTY}})
    request["resourceSpans"][0]["resource"]["attributes"] = [
        {"key": "service.name", "value": {"stringValue": NASTY}}
    ]
    (tmp_path / "t.json").write_text(json.dumps(request))
    printed = ""
    for words in (("import", "traces", "t.json"), ("show", "-v"), ("runs", "list"), ("show",)):
        shown = evenhand(tmp_path, *words)
        assert "Traceback" not in shown.stderr
        assert shown.returncode in (0, 3), shown.stderr
        printed += shown.stdout + shown.stderr
    assert "\x1b" not in printed
    assert "\x07" not in printed


def test_cases_are_written_from_traces(tmp_path: Path):
    """Filtered, drawn, without secrets, in a format that is read again."""
    asks = [
        Act(
            "model",
            "m",
            i,
            i + 1,
            [{"role": "user", "content": f"I am ann{i}@example.com, order {i}"}],
            {"content": "ok"},
        )
        for i in range(6)
    ]
    asks[0] = replace(asks[0], error="timeout")
    (tmp_path / "t.pb").write_bytes(protobuf(written(asks, genai)))
    assert evenhand(tmp_path, "import", "traces", "t.pb").returncode == 0
    failed = evenhand(
        tmp_path, "data", "from-traces", "--where", "status:error", "--to", "errors.yaml"
    )
    assert failed.returncode == 0, failed.stderr
    assert "errors.yaml: 1 case · from 1 trace · hidden: 1 × email" in failed.stdout
    drawn = evenhand(
        tmp_path, "data", "from-traces", "--draw", "4", "--by", "status", "--to", "cases.jsonl"
    )
    assert drawn.returncode == 0, drawn.stderr
    assert "not_applicable: 3 of 5" in drawn.stdout
    shown = json.loads(evenhand(tmp_path, "data", "show", "cases.jsonl", "--json").stdout)
    assert shown["count"] == 4
    assert all("[email]" in case["input"] for case in shown["cases"])
    assert {case["metadata"]["probability"] for case in shown["cases"]} == {1.0, 0.6}


AGAIN = """
from evenhand import Case, Dataset, EvalSet, Expect, Model
from evenhand.scorers import Contains

evals = EvalSet("shop", data=Dataset.read("cases.jsonl"), over={"model": ["openai:gpt-5-mini"]})


@evals.eval
async def apologises(case: Case, model: Model, expect: Expect) -> str:
    reply = await model.generate(case.input)
    expect(reply.text, Contains("Sorry"))
    return reply.text
"""


def test_an_imported_trace_is_judged_by_todays_evals_with_its_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its output is the answer, and its steps are those of the new trial: no model is asked."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "t.pb").write_bytes(protobuf(written([SHOP], genai)))
    imported = evenhand(tmp_path, "import", "traces", "t.pb", "--json")
    run = json.loads(imported.stdout)["runs"][0]["run"]
    assert evenhand(tmp_path, "data", "from-traces", "--to", "cases.jsonl").returncode == 0
    (tmp_path / "shop_evals.py").write_text(AGAIN)
    judged = evenhand(tmp_path, "regrade", run, "--with", "shop_evals.py", "--json")
    assert judged.returncode == 0, judged.stderr
    made = json.loads(judged.stdout)["run"]["run"]["id"]
    before, after = (
        json.loads(evenhand(tmp_path, "show", one, "1", "--json").stdout) for one in (run, made)
    )
    assert after["outcome"] == "pass"
    assert after["output"] == "Sorry, that failed."
    tell = ("kind", "name", "arguments", "result", "status", "parent", "duration_s", "call")
    assert [[step[key] for key in tell] for step in after["steps"]] == [
        [step[key] for key in tell] for step in before["steps"]
    ]
