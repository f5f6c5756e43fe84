"""Runs are renamed, tagged, noted and deleted on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.analysis.reviews.reviewed import keep_review
from evenhand.store.home import Lock, lock_of
from evenhand.wings.viewer.listing import Runs

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run file of one trial."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        "description: greeting\nprompts: [hello]\nproviders: [echo]\ntests: [{vars: {x: 1}}]\n",
        "utf-8",
    )
    assert _evenhand(tmp_path, "run", "--no-table").returncode == 0
    (path,) = (tmp_path / ".evenhand" / "runs").glob("*.db")
    return path


def _evenhand(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "TMPDIR")}
    return subprocess.run(
        [*COMMAND, *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_names_tags_and_notes_are_given_and_taken_back(run: Path, tmp_path: Path):
    """The list shows them, and `show` calls the run by its new name."""
    assert _evenhand(tmp_path, "runs", "rename", run.stem, "the better one").returncode == 0
    assert _evenhand(tmp_path, "runs", "tag", run.stem, "good", "keep").stdout == "good\nkeep\n"
    assert _evenhand(tmp_path, "runs", "tag", run.stem, "keep", "--remove").stdout == "good\n"
    assert _evenhand(tmp_path, "runs", "note", run.stem, "as shipped").stdout == "as shipped\n"
    assert _evenhand(tmp_path, "runs", "note", run.stem).stdout == "as shipped\n"
    listed = _evenhand(tmp_path, "runs", "list").stdout
    assert "the better one  #good" in listed
    assert "the better one" in _evenhand(tmp_path, "show").stdout
    _evenhand(tmp_path, "runs", "rename", run.stem, "")
    _evenhand(tmp_path, "runs", "tag", run.stem, "--remove")
    assert "#" not in _evenhand(tmp_path, "runs", "list").stdout
    assert "greeting" in _evenhand(tmp_path, "runs", "list").stdout


def test_tags_of_the_run_and_of_later_are_one_list(tmp_path: Path):
    """In `tag`, its JSON, the list and the history: those of the config, of --run-tag, and those added later."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: [hello]\nproviders: [echo]\ntags: {team: shop}\ntests: [{vars: {x: 1}}]\n",
        "utf-8",
    )
    _evenhand(tmp_path, "run", "--no-table", "--run-tag", "environment=production")
    (path,) = (tmp_path / ".evenhand" / "runs").glob("*.db")
    tags = ["environment=production", "team=shop"]
    assert _evenhand(tmp_path, "runs", "tag", path.stem).stdout.splitlines() == tags
    _evenhand(tmp_path, "runs", "tag", path.stem, "shipped")
    assert _evenhand(tmp_path, "runs", "tag", path.stem, tags[1], "--remove").returncode == 0
    after = [tags[0], "shipped"]
    for words in (("tag", path.stem, "--json"), ("note", path.stem, "on Friday", "--json")):
        document = json.loads(_evenhand(tmp_path, "runs", *words).stdout)
        assert (document["schema"], document["run"]) == ("evenhand.remarks/1", path.stem)
        assert document["tags"] == after
    assert document["note"] == "on Friday"
    assert json.loads(_evenhand(tmp_path, "runs", "list", "--json").stdout)["tags"] == after
    history = json.loads(_evenhand(tmp_path, "runs", "history", "--json").stdout)
    assert history["lines"][0]["runs"][0]["tags"] == after
    assert [list(run.tags) for run in Runs(tmp_path).list()] == [after]


def test_a_delete_says_what_it_would_delete_and_wants_yes(run: Path, tmp_path: Path):
    """Without --yes nothing is deleted; with it the run is gone, and only this one."""
    _evenhand(tmp_path, "run", "--no-table")
    asked = _evenhand(tmp_path, "runs", "delete", run.stem)
    assert asked.returncode == 2
    assert asked.stdout == f"would be deleted: {run.stem}  greeting, 1 trial\n"
    assert f"evenhand runs delete {run.stem} --yes" in asked.stderr
    assert run.is_file()
    done = _evenhand(tmp_path, "runs", "delete", run.stem, "--yes")
    assert (done.returncode, done.stdout) == (0, f"deleted: {run.stem}  greeting, 1 trial\n")
    assert not run.exists()
    assert len(list(run.parent.glob("*.db"))) == 1


def test_a_delete_says_how_much_of_peoples_work_it_would_delete(run: Path, tmp_path: Path):
    """Labels and reviews are in no other run. What was taken back, and notes beside a verdict, don't count."""
    for author, verdict in (("ann", "fail"), ("bob", "pass"), ("eve", "pass"), ("eve", None)):
        keep_review(run, 0, author, verdict, "it is rude" if verdict == "fail" else "")
    asked = _evenhand(tmp_path, "runs", "delete", run.stem)
    assert asked.stdout.endswith("greeting, 1 trial, with 2 labels by people\n")


def test_a_run_that_is_being_written_is_not_deleted(run: Path, tmp_path: Path):
    """It says which process writes it, and the file stays."""
    lock = Lock(lock_of(run), "the run")
    try:
        done = _evenhand(tmp_path, "runs", "delete", run.stem, "--yes")
    finally:
        lock.release()
    assert done.returncode == 2
    assert f"is in use by process {os.getpid()}" in done.stderr
    assert run.is_file()


def test_a_renamed_run_is_still_a_run_of_its_config(run: Path, tmp_path: Path):
    """It is compared with the run before it, and the config is called as it was."""
    assert _evenhand(tmp_path, "run", "--no-table").returncode == 0
    assert _evenhand(tmp_path, "runs", "rename", "latest", "the better one").returncode == 0
    compared = _evenhand(tmp_path, "compare")
    assert "there is no run of" not in compared.stderr
    assert run.stem[:10] in compared.stdout
    named = _evenhand(tmp_path, "compare", "latest~1", "latest")
    assert "is a run of" not in named.stdout + named.stderr
    assert _evenhand(tmp_path, "runs", "history").stdout.startswith("greeting")
