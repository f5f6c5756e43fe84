"""`--notify`: what is told when a run is over, and what is not. Nothing that goes wrong with it changes the run."""

from __future__ import annotations

import json
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main

SECRET = "T0123/B4567/xyzzysecret"


class Hook(ThreadingHTTPServer):
    """Somebody who takes notices, and keeps them."""

    status = 200

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.taken: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/services/{SECRET}"


class _Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append(json.loads(body))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hook() -> Iterator[Hook]:
    """A server that takes notices."""
    server = Hook()
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one test that passes and one that fails, and what a model might say about notices."""
    monkeypatch.chdir(tmp_path)
    tests = [
        {"vars": {"x": x}, "assert": [{"type": "contains", "value": "yes"}]}
        for x in ("yes", "no: <script>alert(1)</script>")
    ]
    config = {"description": "answers", "prompts": ["{{x}}"], "providers": ["echo"], "tests": tests}
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    return tmp_path


def run(*words: str) -> int:
    """A command line; how it exits."""
    try:
        main(list(words))
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_verdict_counts_and_duration_are_posted_and_nothing_else(hook: Hook, folder: Path):
    """The exit code is told as it is; what models and datasets wrote stays here, and the address isn't kept."""
    assert run("run", "--notify", hook.url) == 1
    (told,) = hook.taken
    assert told["verdict"] == "failed"
    assert (told["passed"], told["failed"], told["errors"], told["planned"]) == (1, 1, 0, 2)
    assert told["exit_code"] == 1
    assert told["seconds"] >= 0
    assert told["text"].startswith("answers: failed · 1 of 2 passed · 1 failed")
    assert "script" not in json.dumps(told)
    for path in (folder / ".evenhand").rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()


def test_a_gate_tells_its_verdict(hook: Hook):
    """Compared with its own run, nothing is worse, or it is not decided; told is what it exits with."""
    run("run")
    run("baseline", "--to", "b.evn")
    code = run("gate", "--baseline", "b.evn", "--margin", "0.5", "--notify", hook.url)
    (told,) = hook.taken
    assert (told["kind"], told["exit_code"]) == ("gate", code)


def test_a_target_that_fails_changes_nothing(hook: Hook, capsys: pytest.CaptureFixture[str]):
    """Refused, or not there: the run exits as without it, and the address's secret is printed nowhere."""
    hook.status = 500
    gone = f"http://127.0.0.1:9/{SECRET}"
    assert run("run", "--notify", hook.url, "--notify", gone) == 1
    shown = capsys.readouterr()
    assert "--notify: 127.0.0.1 answered 500" in shown.err
    assert "--notify: 127.0.0.1 could not be told" in shown.err
    assert SECRET not in shown.out + shown.err


@pytest.mark.parametrize("target", ["ftp://host/x", "file:///etc/passwd", "host/x", "https://", ""])
def test_what_is_no_address_is_refused_before_anything_runs(
    target: str, folder: Path, capsys: pytest.CaptureFixture[str]
):
    """Only http, https and the desktop."""
    assert run("run", "--notify", target) == 2
    assert "desktop" in capsys.readouterr().err
    assert not (folder / ".evenhand").exists()


def test_the_desktop_gets_text_that_is_no_markup(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """By notify-send; where there is nothing to show it with, that is said."""
    tools = folder / "bin"
    tools.mkdir()
    program = tools / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/shown\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tools))
    assert run("run", "--description", "<b>answers</b>", "--notify", "desktop") == 1
    *_, text = (folder / "shown").read_text().splitlines()
    assert text.startswith("&lt;b&gt;answers&lt;/b&gt;: failed · 1 of 2 passed")
    monkeypatch.setenv("PATH", str(folder))
    assert run("run", "--notify", "desktop") == 1
    assert "neither notify-send nor osascript" in capsys.readouterr().err
