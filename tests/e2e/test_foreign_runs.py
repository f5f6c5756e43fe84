"""A run's file that somebody else made names nothing that runs, until its user says so."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CONFIG = """
prompts: ["Say {{ x }}"]
providers: [echo]
tests: [{vars: {x: hello}, assert: [{type: contains, value: nothing}]}]
"""
EVALS = """
from pathlib import Path
from evenhand import EvalSet

Path("imported").touch()
evals = EvalSet("shop", data=[{"id": "a", "input": "x"}])


@evals.eval
def answers(case, expect):
    raise OSError("not today")
"""

pytestmark = pytest.mark.timeout(300)
Evenhand = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A stranger's folder, and mine."""
    for name in ("stranger", "mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "promptfooconfig.yaml").write_text(CONFIG)
    return tmp_path / "stranger", tmp_path / "mine"


def evenhand(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Our command line, in a folder."""
    return subprocess.run(
        [sys.executable, "-c", "from evenhand.cli import main; main()", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def run_of(folder: Path) -> Path:
    """The file of its only run."""
    (file,) = (folder / ".evenhand/runs").glob("*.db")
    return file


@pytest.mark.parametrize(
    "command", ["resume", "retry", "run --retry-errors --resume", "probe", "canaries"]
)
@pytest.mark.parametrize("place", ["gift.db", ".evenhand/runs"])
def test_a_strangers_run_is_not_gone_on_with_before_its_user_says_so(
    folders: tuple[Path, Path], command: str, place: str
) -> None:
    """By name and as the latest one; what it would run is said."""
    stranger, mine = folders
    trace = stranger.parent / "ran"
    program = f"exec:sh -c 'touch {trace}; exit 1'"
    assert evenhand(stranger, "run", "-r", program).returncode == 3
    trace.unlink()
    gift = mine / place
    if place != "gift.db":
        gift.mkdir(parents=True)
        gift /= run_of(stranger).name
    shutil.copy(run_of(stranger), gift)
    ended = evenhand(mine, *command.split(), str(gift.relative_to(mine)))
    assert ended.returncode == 2, ended.stdout
    assert "was not made here" in ended.stderr
    assert program in ended.stderr
    assert str(stranger) in ended.stderr
    assert "--trust" in ended.stderr
    assert not trace.exists()


def test_a_strangers_run_is_gone_on_with_where_its_user_trusts_them(
    folders: tuple[Path, Path],
) -> None:
    """And a run of one's own without a word."""
    stranger, mine = folders
    trace = stranger.parent / "ran"
    assert evenhand(stranger, "run", "-r", f"exec:sh -c 'touch {trace}; exit 1'").returncode == 3
    for words in (("retry",), ("resume",)):
        trace.unlink(missing_ok=True)
        assert evenhand(stranger, *words, "--retries", "0").returncode == 3
        assert trace.exists()
    shutil.copy(run_of(stranger), mine / "gift.db")
    trace.unlink()
    assert (
        evenhand(mine, "resume", "--errors", "gift.db", "--trust", "--retries", "0").returncode == 3
    )
    assert trace.exists()


def test_what_a_run_of_ones_own_names_cannot_be_changed_by_others(
    folders: tuple[Path, Path],
) -> None:
    """Not even in its place."""
    _, mine = folders
    assert evenhand(mine, "run", "-r", "exec:false").returncode == 3
    with sqlite3.connect(run_of(mine)) as db:
        ((text,),) = db.execute("select meta from run")
        meta = json.loads(text)
        meta["settings"]["asked"]["over"]["providers"] = ["exec:sh -c 'touch ran'"]
        db.execute("update run set meta = ?", (json.dumps(meta).encode(),))
    ended = evenhand(mine, "resume", "--errors")
    assert (ended.returncode, "exec:sh -c 'touch ran'" in ended.stderr) == (2, True)
    assert not (mine / "ran").exists()


def test_eval_files_that_have_changed_are_not_imported_by_a_resume(tmp_path: Path) -> None:
    """What they would do on import isn't done before it is said that they have changed."""
    file = tmp_path / "shop_evals.py"
    file.write_text(EVALS)
    assert evenhand(tmp_path, "run", ".").returncode == 3
    (tmp_path / "imported").unlink()
    file.write_text(EVALS.replace("not today", "never"))
    ended = evenhand(tmp_path, "resume")
    assert ended.returncode == 2
    assert "shop_evals.py has changed since" in ended.stderr
    assert not (tmp_path / "imported").exists()


def test_a_run_merged_of_ones_own_shards_is_ones_own(folders: tuple[Path, Path]) -> None:
    """One with a shard of another machine isn't."""
    stranger, mine = folders
    two = CONFIG.replace("tests: [", "tests: [{vars: {x: b}}, ")
    for folder in folders:
        (folder / "promptfooconfig.yaml").write_text(two)
        for shard in ("1/2", "2/2"):
            assert evenhand(folder, "run", "--shard", shard, "-r", "exec:false").returncode == 3
    own = sorted((mine / ".evenhand/runs").glob("*.db"))
    evenhand(mine, "runs", "merge", *map(str, own), "--to", "whole.db")
    assert "was not made here" not in evenhand(mine, "resume", "whole.db").stderr
    for other in (stranger / ".evenhand/runs").glob("*.db"):
        mixed = evenhand(mine, "runs", "merge", str(own[0]), str(other), "--to", "mixed.db")
        if mixed.returncode != 2:  # the same shard twice is one of them
            assert "was not made here" in evenhand(mine, "resume", "mixed.db").stderr
