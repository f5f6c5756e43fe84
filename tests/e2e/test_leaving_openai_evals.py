"""The page "Leaving OpenAI Evals": its script saves everything from an API, and its commands run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from openai import NotFoundError, OpenAI
from tests.unit.wings.interchange.openai_evals.conftest import a_run, an_eval, an_item

from evenhand.doors.importers.registry import read_runs

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "leaving-openai-evals.md").read_text("utf-8")
ROWS = b'{"item": {"sum": "2 + 0", "right": "4"}}\n'
MANY = 250


@contextmanager
def api(*, gone: bool = False, files: int = 200) -> Iterator[str]:
    """OpenAI's Evals API with an eval, a run and many output items, in pages; its address.

    Args:
        gone: It was switched off: there is nothing at any path.
        files: The status of what is answered for files.
    """
    lists = {
        "/v1/evals": [an_eval()],
        "/v1/evals/eval_1/runs": [a_run(total=MANY)],
        "/v1/evals/eval_1/runs/evalrun_1/output_items": [an_item(i) for i in range(MANY)],
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = parse_qs(url.query)
            rows = None if gone else lists.get(url.path)
            if rows is None:
                there = "/files/file-1/" in url.path and not gone
                return self.send(files if there else 404, ROWS)
            ids = [row["id"] for row in rows]
            start = ids.index(query["after"][0]) + 1 if "after" in query else 0
            size = int(query.get("limit", ["20"])[0])
            page = rows[start : start + size]
            more = start + size < len(rows)
            body = {"object": "list", "data": page, "has_more": more, "last_id": page[-1]["id"]}
            return self.send(200, json.dumps(body).encode())

        def send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def the_script() -> Callable[[OpenAI, Path], int]:
    """The function of the page that saves everything."""
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(code[1], "page", "exec"), names)
    return names["save"]


def test_the_script_of_the_page_saves_all_pages_and_what_it_saves_is_imported(tmp_path: Path):
    """250 output items in three pages, and the rows of an uploaded file."""
    with api() as address, OpenAI(api_key="k", base_url=address) as client:
        assert the_script()(client, tmp_path / "saved") == MANY + 2
    assert (tmp_path / "saved" / "file-1.jsonl").read_bytes() == ROWS
    recordings = read_runs([tmp_path / "saved" / "openai-evals.jsonl"], "openai-evals")
    (run,) = recordings.runs
    assert len(list(run.trials())) == MANY
    assert [one.text for one in recordings.notes if one.kind != "translated"] == []
    assert not list((tmp_path / "saved").glob("*.part"))


def test_what_was_saved_stays_where_the_api_answers_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """A second run of the script, after the API was switched off, or while a file is refused."""
    saved = tmp_path / "saved"
    with api() as address, OpenAI(api_key="k", base_url=address, max_retries=0) as client:
        the_script()(client, saved)
    before = (saved / "openai-evals.jsonl").read_bytes()
    with (
        api(gone=True) as address,
        OpenAI(api_key="k", base_url=address, max_retries=0) as client,
        pytest.raises(NotFoundError),
    ):
        the_script()(client, saved)
    assert (saved / "openai-evals.jsonl").read_bytes() == before
    with api(files=403) as address, OpenAI(api_key="k", base_url=address, max_retries=0) as client:
        assert the_script()(client, tmp_path / "other") == MANY + 2
    assert "file-1 is not saved" in capsys.readouterr().out


@pytest.mark.thorough
def test_the_commands_of_the_page_run_one_after_the_other(tmp_path: Path):
    """As somebody types them who stands in the repository; the run of the example fails, as its answers do."""
    shutil.copytree(ROOT / "examples" / "openai-evals", tmp_path / "examples" / "openai-evals")
    program = tmp_path / "bin" / "evenhand"
    program.parent.mkdir()
    code = "from evenhand.cli import main; main()"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n', "utf-8")
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    for number, script in enumerate(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)):
        if number == 1:  # the second import of the same file says that it already exists
            shutil.rmtree(tmp_path / ".evenhand")
        ran = subprocess.run(
            ["/bin/sh", "-ec", script], cwd=tmp_path, env=env, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, (script, ran.stdout, ran.stderr)
        assert "Traceback" not in ran.stderr
