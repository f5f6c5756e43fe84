"""The real command, and real HTTP to it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

EVENHAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
SECRET = "sk-proj-averysecretkey1234567890"


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command that ends."""
    return subprocess.run(
        [*EVENHAND, *words],
        cwd=folder,
        env={**os.environ, "OPENAI_API_KEY": SECRET},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@dataclass
class Serving:
    """A server, and its link."""

    process: subprocess.Popen[str]
    link: str

    def get(self, path: str) -> tuple[int, bytes]:
        """What the one with the link gets."""
        parts = urlsplit(self.link)
        token = parts.query.removeprefix("token=")
        connection = http.client.HTTPConnection(parts.netloc, timeout=20)
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        try:
            answer = connection.getresponse()
        except http.client.RemoteDisconnected:
            code = self.process.poll()
            self.process.kill()
            out, err = self.process.communicate()
            raise AssertionError(f"no answer to {path}; exit code {code}: {out}{err}") from None
        try:
            return answer.status, answer.read()
        finally:
            connection.close()


TEAM = '[tool.evenhand.viewer]\nroles = { read = ["*"] }\nproxy = { header = "X-User", from = ["::1"] }\n'


@pytest.mark.parametrize(
    ("settings", "words", "message"),
    [
        ("", ("--serve",), "--serve needs a sign-in"),
        ("", ("--serve", "--public-url", "https://x.test", "--host", "0.0.0.0"), "needs a sign-in"),
        (TEAM, ("--serve",), "--serve needs --public-url"),
        (TEAM, ("--serve", "--public-url", "http://x.test"), "is not an https:// address"),
        (TEAM, ("--serve", "--public-url", "https://x.test", "--host", "x.test"), "not an IP"),
        (TEAM.replace("proxy", "poxy"), ("--serve",), "has no 'poxy'"),
        (TEAM, ("--public-url", "https://x.test"), "--public-url goes with --serve"),
        (TEAM, ("--host", "0.0.0.0"), "not a loopback address"),
    ],
)
def test_nobody_else_is_served_without_a_sign_in(
    tmp_path: Path, settings: str, words: tuple[str, ...], message: str
):
    """It doesn't start, and says what is missing."""
    (tmp_path / "pyproject.toml").write_text(settings)
    done = command(tmp_path, "view", *words)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr


def test_a_provider_that_cannot_be_reached_is_told_and_nothing_else(tmp_path: Path):
    """No warning of a session that was left open. That nobody has the role `run` is told, too."""
    table = """[tool.evenhand.viewer]
roles = { read = ["*"] }
oidc = { issuer = "http://127.0.0.1:9", client-id = "evenhand" }
"""
    (tmp_path / "pyproject.toml").write_text(table)
    words = ("view", "--serve", "--allow-runs", "--public-url", "https://x.test", "--port", "0")
    done = command(tmp_path, *words)
    assert done.returncode == 2
    assert "the provider's document cannot be read" in done.stderr
    assert "nobody has the role `run`" in done.stderr
    assert "Unclosed" not in done.stderr


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[Serving]:
    """The server, as long as it is looked at."""
    with subprocess.Popen(
        [*EVENHAND, "view", "--no-browser", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield Serving(process, process.stdout.readline().strip())
        finally:
            process.kill()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that has been run."""
    home = tmp_path_factory.mktemp("view")
    assert command(home, "init", "evals").returncode == 0
    assert command(home / "evals", "run", "--offline", "--no-progress").returncode in (0, 1)
    return home / "evals"


def test_the_link_leads_to_the_runs(folder: Path) -> None:
    """A run that was just made is listed, and can be looked at whole."""
    with serving(folder, "--port", "0") as server:
        status, body = server.get("/api/runs")
        (run,) = json.loads(body)
        assert (status, run["totals"]["trials"]) == (200, 12)
        status, body = server.get(f"/api/runs/{run['id']}/cells/0")
        assert status == 200
        assert SECRET.encode() not in body
        assert json.loads(body)["calls"]


def test_a_link_to_a_run_is_a_link_to_that_run(folder: Path) -> None:
    """By the start of its id, by `latest`, by its file."""
    (file,) = (folder / ".evenhand" / "runs").glob("*.db")
    for ref in (file.stem[:12].lower(), "latest", str(file)):
        with serving(folder.parent if ref == str(file) else folder, ref, "--port", "0") as server:
            assert server.link.endswith(f"#/run/{file.stem}")
            assert server.get(f"/api/runs/{file.stem}")[0] == 200


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_it_is_told_to(folder: Path, stop: signal.Signals) -> None:
    """At once and without a traceback, even while somebody listens."""
    with serving(folder, "latest", "--port", "0") as server:
        parts = urlsplit(server.link)
        with socket.create_connection((parts.hostname or "", parts.port or 0)) as listening:
            run = parts.fragment.removeprefix("/run/")
            token = parts.query.removeprefix("token=")
            request = f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: {parts.netloc}\r\n"
            listening.sendall(f"{request}Authorization: Bearer {token}\r\n\r\n".encode())
            assert b"200 OK" in listening.recv(4096)
            server.process.send_signal(stop)
            assert server.process.wait(10) == 128 + stop
        assert server.process.stderr is not None
        assert "Traceback" not in server.process.stderr.read()


def test_a_port_that_is_taken_is_not_taken_twice(folder: Path) -> None:
    """One that was asked for is refused."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = command(folder, "view", "--no-browser", "--port", port)
    assert done.returncode == 2
    assert f"--port {port} cannot be listened on" in done.stderr


def test_it_is_for_this_machine_alone(folder: Path) -> None:
    """Any other address is refused, and it is said what to do instead."""
    done = command(folder, "view", "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "not a loopback address" in done.stderr


def test_without_runs_it_shows_an_empty_list(tmp_path: Path) -> None:
    """It is no mistake to look before there is something to see."""
    with serving(tmp_path, "--port", "0") as server:
        assert server.get("/api/runs") == (200, b"[]")


def test_a_run_is_exported_as_a_page(folder: Path) -> None:
    """With the comparison to a run before it; nobody's key is in it."""
    (file,) = (folder / ".evenhand" / "runs").glob("*.db")
    assert command(folder, "run", "--offline", "--no-progress").returncode in (0, 1)
    done = command(folder, "export", "--to", "report.html", "--baseline", file.stem)
    page = folder / "report.html"
    assert done.returncode == 0, done.stderr
    text = page.read_text("utf-8")
    assert 'id="data-baseline-blocks"' in text
    assert SECRET not in text
