"""Runs in MLflow: what arrives at a tracking server, which checks it as MLflow's own does."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.runs import Make, result

import evenhand
from evenhand import Case, Dataset, EvalSet, Expect
from evenhand.cli import main
from evenhand.core.errors import AuthError, UsageError
from evenhand.core.run import RunStatus
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.providers.http import close
from evenhand.wings.remotes.mlflow.server import MlflowServer
from evenhand.wings.remotes.mlflow.writing import _numbers, push_to_mlflow


class Tracking(ThreadingHTTPServer):
    """A tracking server that keeps everything in memory."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.experiments: dict[str, str] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.files: dict[str, bytes] = {}
        self.artifacts = "mlflow-artifacts:/1/{run}/artifacts"
        self.wanted = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def alive(self) -> list[dict[str, Any]]:
        """The runs that are not deleted, in the order in which they were made."""
        return [run for run in self.runs.values() if not run["deleted"]]

    def answer(self, path: str, body: dict[str, Any], query: dict[str, list[str]]) -> Any:
        """What MLflow would answer; a text for a refusal."""
        if path == "experiments/get-by-name":
            number = self.experiments.get(query["experiment_name"][0])
            return {"experiment": {"experiment_id": number}} if number else None
        if path == "experiments/create":
            number = str(len(self.experiments) + 1)
            self.experiments[body["name"]] = number
            return {"experiment_id": number}
        if path == "runs/create":
            number = f"r{len(self.runs)}"
            tags = {pair["key"]: pair["value"] for pair in body["tags"]}
            self.runs[number] = {**body, "id": number, "tags": tags, "params": {}, "metrics": {}}
            self.runs[number]["deleted"] = False
            info = {"run_id": number, "artifact_uri": self.artifacts.format(run=number)}
            return {"run": {"info": info}}
        if path == "runs/search":
            key, value = re.fullmatch(r"tags\.`(.+)` = '(.+)'", body["filter"]).groups()
            those = [run for run in self.alive() if run["tags"].get(key) == value]
            return {"runs": [{"info": {"run_id": run["id"]}} for run in those]}
        run = self.runs[body["run_id"]]
        if path == "runs/delete":
            run["deleted"] = True
        elif path == "runs/update":
            run |= {"status": body["status"], "end_time": body["end_time"]}
        else:
            assert path == "runs/log-batch"
            metrics, params = body.get("metrics", []), body.get("params", [])
            assert len(metrics) <= 1000
            assert len(params) <= 100
            for pair in (*metrics, *params):
                assert re.fullmatch(r"[\w.\- /]{1,250}", pair["key"], re.ASCII), pair
            assert all(len(pair["value"]) <= 500 for pair in params)
            run["metrics"] |= {one["key"]: one["value"] for one in metrics}
            run["params"] |= {one["key"]: one["value"] for one in params}
        return {}


class _Handler(BaseHTTPRequestHandler):
    server: Tracking

    def do_GET(self) -> None:
        self._do()

    def do_POST(self) -> None:
        self._do()

    def do_PUT(self) -> None:
        self._do()

    def _do(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        address = urlsplit(self.path)
        if self.server.wanted and self.headers["Authorization"] != self.server.wanted:
            return self._send(401, {"message": "who are you?"})
        if self.command == "PUT":
            self.server.files[address.path.removeprefix("/api/2.0/mlflow-artifacts/artifacts/")] = (
                body
            )
            return self._send(200, {})
        path = address.path.removeprefix("/api/2.0/mlflow/")
        answer = self.server.answer(path, json.loads(body or b"{}"), parse_qs(address.query))
        gone = {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no such experiment"}
        return self._send(200, answer) if answer is not None else self._send(404, gone)

    def _send(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def tracking() -> Iterator[Tracking]:
    """A server of our own."""
    server = Tracking()
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def run_of(home: Path, *tones: str) -> Path:
    """Four cases of which one fails and one is an error, with a metric whose name MLflow would refuse."""
    over = {"tone": list(tones)} if tones else {}
    evals = EvalSet("sums", data=Dataset([Case(str(i), input=i) for i in range(4)]), over=over)

    def sums(case: Case, expect: Expect) -> None:
        if case.input == 3:
            raise ValueError("the database is away")
        expect(case.input < 2, "is small")
        expect(case.input / 2, at_least=0, label="P@5", metric="P@5")

    if tones:

        @evals.eval
        def of_tones(case: Case, expect: Expect, tone: str) -> None:
            sums(case, expect)
    else:
        evals.eval(sums)
    return evenhand.run(evals, home=home, progress=False).path


async def pushed(tracking: Tracking, file: Path, **env: str):
    """Pushes a run to the server, as a program would."""
    try:
        return await push_to_mlflow(file, MlflowServer.at(tracking.url, env))
    finally:
        await close()


async def test_a_run_arrives_with_rates_means_and_report(tracking: Tracking, tmp_path: Path):
    """What errors leave open is not logged, and never 0."""
    done = await pushed(tracking, run_of(tmp_path))
    (run,) = tracking.alive()
    assert done.run == run["id"]
    assert tracking.experiments == {"sums": "1"}
    metrics = run["metrics"]
    assert (metrics["passed"], metrics["errors"], metrics["trials"]) == (2, 1, 4)
    assert "pass_rate" not in metrics
    assert metrics["pass_rate_low"] < 0.5 < metrics["pass_rate_high"]
    assert not [name for name in metrics if name.startswith("P_at_5")]
    assert run["params"]["cases"] == "4"
    assert run["status"] == "FINISHED"
    assert run["tags"]["evenhand.verdict"] == "failed"
    report = tracking.files[f"1/{run['id']}/artifacts/report.html"]
    assert b"<html" in report
    document = json.loads(tracking.files[f"1/{run['id']}/artifacts/run.json"])
    assert document["schema"] == "evenhand.run/1"


@pytest.mark.parametrize(
    ("status", "there"),
    [("finished", "FINISHED"), ("interrupted", "KILLED"), ("out_of_budget", "FAILED")],
)
async def test_a_run_that_did_not_finish_is_none_that_did(
    tracking: Tracking, make_run: Make, status: RunStatus, there: str
):
    """MLflow's words for it."""
    run = await make_run([result(0), result(1)], planned=3, status=status)
    await pushed(tracking, run.path)
    assert tracking.alive()[0]["status"] == there


async def test_errors_widen_the_interval_of_a_mean(tracking: Tracking, make_run: Make):
    """They may have had any value of the scale, so that the mean isn't known."""
    outcome = Outcome("x", "pass", 1.0, metric="P@5", scale=(0.0, 1.0))
    good = {"outcomes": (outcome,), "named_scores": {"P@5": 1.0}}
    sure = [replace(result(i), **good) for i in range(20)]
    await pushed(tracking, (await make_run(sure)).path)
    assert tracking.alive()[-1]["metrics"]["P_at_5"] == 1.0
    trials = [result(i, ok=None) if i % 2 else one for i, one in enumerate(sure)]
    await pushed(tracking, (await make_run(trials)).path)
    metrics = tracking.alive()[-1]["metrics"]
    assert "P_at_5" not in metrics
    assert metrics["P_at_5_low"] < 0.5


async def test_what_looks_like_a_key_is_not_sent(tracking: Tracking, make_run: Make):
    """In the title, and in what names a variant."""
    key = "sk-abcdefghijklmnop1234"
    variants = (Variant(0, f"Use {key}", "m"), Variant(1, "b", "m", axes={"key": key}))
    trials = [result(0), result(1, variant=1)]
    await pushed(tracking, (await make_run(trials, variants, title=f"with {key}")).path)
    told = [(run["run_name"], run["params"], run["tags"]) for run in tracking.alive()]
    assert key not in json.dumps([told, tracking.experiments])
    assert "[redacted]" in json.dumps(told)


def test_only_numbers_that_are_known_are_logged():
    """MLflow would take NaN for a value."""
    values = {"a": math.nan, "b": math.inf, "c": True, "d": None, "e": 1, "f": "1"}
    assert _numbers(values) == {"e": 1.0}


async def test_each_variant_is_a_run_below_and_a_second_push_takes_the_place_of_the_first(
    tracking: Tracking, tmp_path: Path
):
    """So that variants stand side by side in MLflow's table."""
    file = run_of(tmp_path, "kind", "brief")
    await pushed(tracking, file)
    done = await pushed(tracking, file)
    assert done.replaced == 3
    whole, *below = tracking.alive()
    assert [run["params"]["axis.tone"] for run in below] == ["kind", "brief"]
    assert {run["tags"]["mlflow.parentRunId"] for run in below} == {whole["id"]}
    assert whole["metrics"]["trials"] == 8


async def test_artifacts_in_a_store_of_their_own_are_left_out_and_said(
    tracking: Tracking, tmp_path: Path
):
    """Metrics and parameters are there all the same."""
    tracking.artifacts = "s3://bucket/{run}"
    done = await pushed(tracking, run_of(tmp_path))
    assert "report.html" in done.left_out[0]
    assert tracking.files == {}


async def test_credentials_are_those_of_mlflows_own_client(tracking: Tracking, tmp_path: Path):
    """A token, or a name and a password; a refusal says so."""
    file = run_of(tmp_path)
    tracking.wanted = "Bearer abc"
    await pushed(tracking, file, MLFLOW_TRACKING_TOKEN="abc")
    tracking.wanted = "Basic YW5uOnB3"
    await pushed(tracking, file, MLFLOW_TRACKING_USERNAME="ann", MLFLOW_TRACKING_PASSWORD="pw")
    with pytest.raises(AuthError):
        await pushed(tracking, file)


def test_the_command_line_says_where_the_run_is(
    tracking: Tracking,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """And what was not sent."""
    file = run_of(tmp_path)
    tracking.artifacts = "s3://bucket/{run}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracking.url)
    with pytest.raises(SystemExit) as ended:
        main(["runs", "push", str(file), "--to", "mlflow"])
    assert ended.value.code == 0
    told = capsys.readouterr().err
    assert f"{tracking.url}/#/experiments/1/runs/r0" in told
    assert "not pushed: report.html" in told


@pytest.mark.parametrize("address", ["", "mlruns", "sqlite:///x.db", "databricks", "http://"])
def test_what_is_no_server_is_refused(address: str):
    """With what to do about it."""
    with pytest.raises(UsageError, match="tracking server"):
        MlflowServer.at(address, {})
