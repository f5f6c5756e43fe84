"""Moving in from OpenAI's Evals with the command line: import, show, compare, history."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.wings.interchange.openai_evals.conftest import (
    a_result,
    a_run,
    a_sample,
    an_eval,
    an_item,
    saved,
)

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "openai-evals" / "openai-evals.jsonl"
NASTY = "\x1b[2J\x1b]0;owned\x07<script>alert(1)</script>{{ 7*7 }}"


def evenhand(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command line in a folder."""
    command = [sys.executable, "-c", "from evenhand.cli import main; main()", *words]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_example_is_imported_shown_and_compared(tmp_path: Path):
    """Two runs of one eval: their cases pair, and the second import changes nothing."""
    first = evenhand(tmp_path, "import", "openai-evals", str(EXAMPLE))
    assert first.returncode == 0, first.stderr
    assert "run 'first try', output items: 8" in first.stdout
    assert "6 of 8 passed, 1 error" in first.stdout
    assert "imported 2 of 2 runs" in first.stderr
    ids = sorted(path.stem for path in (tmp_path / ".evenhand" / "runs").glob("*.db"))
    compared = evenhand(tmp_path, "compare", ids[0], ids[1], "--json")
    document = json.loads(compared.stdout)
    assert document["results"][0]["n"] in (7, 8)
    told = evenhand(tmp_path, "runs", "history", "--json")
    (line,) = json.loads(told.stdout)["lines"]
    assert [run["columns"][0]["cases"] for run in line["runs"]] == [8, 8]
    again = evenhand(tmp_path, "import", "openai-evals", str(EXAMPLE))
    assert again.returncode == 2
    assert "all 2 runs already exist: nothing was imported" in again.stderr


def test_a_folder_is_imported_with_all_its_files_and_runs_of_one_eval_are_compared_next(
    tmp_path: Path,
):
    """Of three runs, the newest is of another eval than the one before it. What is no eval's is listed."""
    folder = tmp_path / "backup"
    (folder / "runs").mkdir(parents=True)
    saved(folder / "evals.json", an_eval())
    saved(folder / "other.json", an_eval(id_="eval_2", name="Words"))
    for number, id_ in enumerate(("eval_1", "eval_2", "eval_1"), 1):
        run = a_run(f"evalrun_{number}", eval_id=id_, created_at=1_790_000_000 + number)
        item = an_item(number, run_id=run["id"], eval_id=id_)
        saved(folder / "runs" / f"{number}.jsonl", run, item)
    (folder / "package.json").write_text('{"name": "mine", "scripts": {}}', "utf-8")
    (folder / "notes.txt").write_text("not JSON", "utf-8")
    refused = evenhand(tmp_path, "import", "backup")
    assert refused.returncode == 2
    assert "evenhand import openai-evals backup" in refused.stderr
    imported = evenhand(tmp_path, "import", "openai-evals", "backup")
    assert imported.returncode == 0, imported.stderr
    assert "imported 3 of 3 runs" in imported.stderr
    assert "backup/package.json: holds no evals, runs or output items" in imported.stdout
    first, _, third = sorted(path.stem for path in (tmp_path / ".evenhand" / "runs").glob("*.db"))
    assert f"next: evenhand compare {first[:10]} {third[:10]}, or" in imported.stderr
    empty = evenhand(tmp_path, "import", "openai-evals", "backup/runs/../../.evenhand")
    assert empty.returncode == 2
    assert "has no file with evals, runs or output items of OpenAI's" in empty.stderr


def test_runs_of_different_evals_alone_are_not_compared_next(tmp_path: Path):
    """They have no case in common."""
    evals = [an_eval(), an_eval(id_="eval_2", name="Words")]
    runs = [a_run(), a_run("evalrun_2", eval_id="eval_2")]
    items = [an_item(), an_item(1, run_id="evalrun_2", eval_id="eval_2")]
    saved(tmp_path / "a.jsonl", *evals, *runs, *items)
    imported = evenhand(tmp_path, "import", "openai-evals", "a.jsonl")
    assert "imported 2 of 2 runs" in imported.stderr
    assert "next: evenhand runs history" in imported.stderr


def test_a_run_that_came_later_is_imported_beside_those_that_are_there(tmp_path: Path):
    """With --json, what is new is said."""
    saved(tmp_path / "a.jsonl", an_eval(), a_run(), an_item())
    assert evenhand(tmp_path, "import", "openai-evals", "a.jsonl").returncode == 0
    later = a_run("evalrun_2", created_at=1_790_009_000), an_item(run_id="evalrun_2")
    saved(tmp_path / "b.jsonl", *later)
    both = evenhand(tmp_path, "import", "openai-evals", "a.jsonl", "b.jsonl", "--json")
    assert both.returncode == 0, both.stderr
    assert both.stderr == ""
    document = json.loads(both.stdout)
    assert [(run["imported_id"], run["new"]) for run in document["runs"]] == [
        ("evalrun_1", False),
        ("evalrun_2", True),
    ]


def test_hostile_texts_reach_no_terminal_and_no_page_as_they_are(tmp_path: Path):
    """Escapes and tags in every text of an export."""
    criterion = {
        "type": "string_check", "name": NASTY, "input": NASTY, "reference": NASTY, "operation": "eq",
    }  # fmt: skip
    result = a_result(name=NASTY, passed=False, sample=a_sample(NASTY, model=NASTY))
    item = an_item(
        results=[result],
        sample=a_sample(NASTY, model=NASTY, finish_reason=NASTY),
        datasource_item={NASTY: NASTY},
        extra={NASTY: NASTY},
    )
    run = a_run(name=NASTY, model=NASTY, status=NASTY)
    page = {"object": NASTY}
    saved(tmp_path / "a.jsonl", an_eval(criterion, name=NASTY), run, item, page)
    imported = evenhand(tmp_path, "import", "openai-evals", "a.jsonl")
    assert imported.returncode == 0, imported.stderr
    printed = imported.stdout + imported.stderr
    for words in (("show", "-v"), ("runs", "list"), ("runs", "history"), ("show", "1")):
        shown = evenhand(tmp_path, *words)
        assert "Traceback" not in shown.stderr
        printed += shown.stdout + shown.stderr
    assert "\x1b" not in printed
    assert "\x07" not in printed
    exported = evenhand(tmp_path, "export", "--to", "report.html")
    assert exported.returncode == 0, exported.stderr
    assert "<script>alert(1)" not in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("openai-evals",), "there is no file to read"),
        (("openai-eval", "a.json"), "Did you mean 'openai-evals'?"),
        (("openai-evals", "no.json"), "no.json cannot be read: No such file or directory"),
        (("openai-evals", "."), ". has no file with evals, runs or output items of OpenAI's"),
        (("inspect", "."), "is a folder, not a file"),
        (("--from", "nothing", "a.json"), "there is no importer 'nothing'"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_to_type(
    tmp_path: Path, words: tuple[str, ...], says: str
):
    """One message, and exit code 2."""
    refused = evenhand(tmp_path, "import", *words)
    assert refused.returncode == 2
    assert says in refused.stderr
    assert "Traceback" not in refused.stderr
