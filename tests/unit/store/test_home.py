"""Runs hold prompts and answers: whoever makes `.evenhand` keeps it out of version control."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.core.run import RunMeta
from evenhand.core.variant import Variant
from evenhand.store.cache import Cache
from evenhand.store.home import make_folder
from evenhand.store.journal import Journal
from evenhand.store.run_lookup import cache_folder, home_for, new_id, run_folder


@pytest.fixture(autouse=True)
def no_home(monkeypatch: pytest.MonkeyPatch):
    """Runs are kept beside what is run."""
    monkeypatch.delenv("EVENHAND_HOME", raising=False)
    monkeypatch.delenv("EVENHAND_CACHE", raising=False)


def keep_a_run(home: Path) -> Path:
    """Its file."""
    meta = RunMeta(new_id(home), "", "", "f", 1, 1, 1, (Variant(0, "p", "m"),), 0.0)
    journal = Journal.create(run_folder(home), meta)
    journal.close()
    return journal.path


def keep_an_answer(home: Path) -> None:
    """In the cache."""
    cache = Cache.open(cache_folder(home))
    cache.put("key", "0.0", b"{}", b"answer", 0.5)
    cache.close()


def test_git_sees_neither_runs_nor_the_cache(tmp_path: Path):
    """Nor the .gitignore that says so."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    home = home_for(tmp_path)
    run = keep_a_run(home)
    keep_an_answer(home)
    assert run.is_file()
    status = ["git", "-C", tmp_path, "status", "--porcelain", "--untracked-files=all"]
    assert subprocess.check_output(status, text=True) == ""


@pytest.mark.parametrize("keep", [keep_a_run, keep_an_answer])
def test_whatever_is_kept_first_ignores_the_folder(tmp_path: Path, keep: Callable[[Path], object]):
    """All that is in it."""
    keep(tmp_path / ".evenhand")
    assert (tmp_path / ".evenhand/.gitignore").read_text().splitlines()[-1] == "*"


def test_a_folder_of_another_name_gets_no_gitignore(tmp_path: Path):
    """EVENHAND_HOME may be a folder with other things in it."""
    keep_a_run(tmp_path / "runs of ours")
    assert not list(tmp_path.rglob(".gitignore"))


def test_what_somebody_decided_about_the_folder_stays(tmp_path: Path):
    """Neither is a .gitignore written over, nor does one that was deleted come back."""
    home = tmp_path / ".evenhand"
    home.mkdir()
    keep_a_run(home)
    assert not (home / ".gitignore").exists()
    (home / ".gitignore").write_text("cache/\n")
    keep_a_run(home)
    assert (home / ".gitignore").read_text() == "cache/\n"


def test_a_home_is_ignored_from_its_first_moment(tmp_path: Path):
    """A process that is killed at any step, and the next one, leave nothing that git would commit."""
    home = tmp_path / ".evenhand"
    code = """
import os, sys
from pathlib import Path
from evenhand.store.home import make_folder
def end(event, arguments):
    global left
    if event in ("os.mkdir", "open", "os.rename") and sys.argv[1] in str(arguments[0]):
        left -= 1
        if left == 0:
            os._exit(9)
sys.addaudithook(end)
home = Path(sys.argv[1]) / ".evenhand"
for killed_at in range(1, 7):
    left = killed_at
    if os.fork() == 0:
        make_folder(home / "runs")
        os._exit(0)
    os.wait()
    left = 0
    print(home.exists(), (home / ".gitignore").is_file() and (home / ".gitignore").read_text()[-2:])
"""
    done = subprocess.check_output([sys.executable, "-c", code, tmp_path], text=True).splitlines()
    assert set(done) == {"False False", "True *", ""}
    assert (home / "runs").is_dir()
    assert list(tmp_path.iterdir()) == [home]


def test_a_folder_around_the_new_one_is_marked_too(tmp_path: Path):
    """A home may be given as a folder in `.evenhand`."""
    make_folder(tmp_path / ".evenhand/ci/runs")
    assert (tmp_path / ".evenhand/.gitignore").is_file()
    assert not (tmp_path / ".evenhand/ci/.gitignore").exists()
