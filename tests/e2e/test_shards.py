"""A run in shards, and merged again: what one process would have made of it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand.store.runfile import RunFile
from evenhand.store.schema import RUN_MIGRATIONS

pytestmark = pytest.mark.timeout(600)  # many short processes
COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
VOLATILE = {"id", "file", "created_at", "finished_at", "latency_s", "settings", "seconds"}


def evenhand(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command line."""
    env = {**os.environ, "EVENHAND_HOME": str(cwd / "home")}
    done = subprocess.run(
        [*COMMAND, *args],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def steady(value: Any) -> Any:
    """A document without what differs from run to run."""
    if isinstance(value, dict):
        return {key: steady(one) for key, one in value.items() if key not in VOLATILE}
    return [steady(one) for one in value] if isinstance(value, list) else value


def exported(run: str, cwd: Path) -> str:
    """A run as JSON, without what differs from run to run."""
    done = evenhand("export", run, "--to", "-", "--format", "json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.dumps(steady(json.loads(done.stdout)), indent=1)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run in one process, and the same in three shards: contests, repeats, a failure each third."""
    folder = tmp_path_factory.mktemp("shards")
    tests = [
        {
            "vars": {"n": f"number {i}"},
            "assert": [
                {"type": "contains", "value": "number" if i % 3 else "zzz"},
                {"type": "max-score"},
            ],
        }
        for i in range(7)
    ]
    config = {
        "description": "shards",
        "prompts": ["Say {{n}}", "Tell {{n}}"],
        "providers": ["openai:chat:gpt-4o-mini"],
        "tests": tests,
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    (folder / "offline.jsonl").write_text(json.dumps({"match": "", "reply": "number one"}) + "\n")
    whole = evenhand("run", ".", "--offline", "--repeat", "2", cwd=folder)
    assert whole.returncode == 1, whole.stderr
    (run,) = (folder / "home" / "runs").glob("*.db")
    shutil.move(run, folder / "whole.db")
    for number in (1, 2, 3):
        done = evenhand(
            "run", ".", "--offline", "--repeat", "2", "--shard", f"{number}/3", cwd=folder
        )
        assert done.returncode == 1, done.stderr
        assert f"shard {number}/3" in done.stderr
        (run,) = (folder / "home" / "runs").glob("*.db")
        shutil.move(run, folder / f"shard{number}.db")
    return folder


FILES = ("shard1.db", "shard2.db", "shard3.db")


def test_a_merged_run_is_what_one_process_makes(shards: Path):
    """Byte for byte, in whatever order the shards are given; calls come along."""
    done = evenhand("runs", "merge", *FILES, "--to", "merged.db", "--json", cwd=shards)
    assert done.returncode == 1, done.stderr
    row = json.loads(done.stdout)
    assert row["schema"] == "evenhand.merge/1"
    assert (row["planned"], row["settled"], row["doubled"]) == (28, 28, 0)
    assert (row["missing"], row["missing_shards"]) == ([], [])
    assert [run["shard"] for run in row["runs"]] == ["1/3", "2/3", "3/3"]
    assert sum(run["taken"] for run in row["runs"]) == 28
    assert exported("merged.db", shards) == exported("whole.db", shards)
    evenhand("runs", "merge", *reversed(FILES), "--to", "again.db", cwd=shards)
    assert exported("again.db", shards) == exported("whole.db", shards)
    with RunFile.open(shards / "merged.db") as run, RunFile.open(shards / "whole.db") as whole:
        merged, single = list(run.calls()), list(whole.calls())
        assert sorted((c.start.trial, c.start.role, c.start.nth) for c in merged) == sorted(
            (c.start.trial, c.start.role, c.start.nth) for c in single
        )
        assert all(call.end is not None and call.end.body for call in merged)
        assert run.spend().calls == sum(call.end.attempts > 0 for call in merged)


def test_what_is_there_twice_is_dropped_and_said(shards: Path):
    """A shard run again under another number of shards, beside all the others."""
    again = evenhand("run", ".", "--offline", "--repeat", "2", "--shard", "1/2", cwd=shards)
    assert again.returncode == 1, again.stderr
    (run,) = (shards / "home" / "runs").glob("*.db")
    done = evenhand("runs", "merge", str(run), *FILES, "--to", "double.db", "--json", cwd=shards)
    run.unlink()
    row = json.loads(done.stdout)
    assert (row["settled"], row["doubled"]) == (28, 16)
    assert "double trials dropped" in done.stderr
    assert exported("double.db", shards) == exported("whole.db", shards)


def test_what_is_missing_is_named_and_never_counts_as_anything(shards: Path):
    """It could go either way; and `resume` of the merged run runs it, with the calls that there are."""
    done = evenhand("runs", "merge", "shard1.db", "shard3.db", "--to", "part.db", cwd=shards)
    assert done.returncode == 3, done.stderr
    assert "missing: 8 trials of 28: 5–8, 17–20" in done.stderr
    assert "missing: shard 2/3 was not given" in done.stderr
    assert "undecided: 20 of 28 trials" in done.stdout or "failed: 20 of 28" in done.stdout
    with RunFile.open(shards / "part.db") as run:
        assert run.meta.status == "interrupted"
        assert run.totals().trials == run.totals().passed + run.totals().failed == 20
    folder = shards / "home" / "runs"
    shutil.copy(shards / "part.db", folder / "part.db")
    resumed = evenhand("resume", str(folder / "part.db"), cwd=shards)
    assert resumed.returncode == 1, resumed.stderr
    assert exported(str(folder / "part.db"), shards) == exported("whole.db", shards)
    (folder / "part.db").unlink()


def test_a_shard_is_gone_on_with_as_a_shard(shards: Path):
    """What its own file says of it holds."""
    folder = shards / "home" / "runs"
    shutil.copy(shards / "shard2.db", folder / "shard2.db")
    with sqlite3.connect(folder / "shard2.db") as db:
        db.execute("delete from trial where idx = 4")
        db.execute("delete from detail where idx = 4")
        db.execute("delete from reply where call in (select id from call where trial = 4)")
        db.execute("delete from call where trial = 4")
    resumed = evenhand("resume", str(folder / "shard2.db"), cwd=shards)
    assert resumed.returncode == 1, resumed.stderr
    with RunFile.open(folder / "shard2.db") as run:
        assert run.totals().trials == run.meta.planned == 8
        assert [i for i, *_ in run.places()] == [*range(4, 8), *range(16, 20)]
    (folder / "shard2.db").unlink()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("merge", "shard1.db", "shard1.db", "--to", "x.db"), "is given twice"),
        (("merge", "shard1.db", "shard2.db", "--to", "shard1.db"), "is one of the runs to merge"),
        (("merge", "shard1.db", "--to", "whole.db"), "is there, and is not a merged run"),
        (
            ("merge", "shard1.db", "--to", "promptfooconfig.json"),
            "is there, and is not a merged run",
        ),
        (("run", ".", "--offline", "--shard", "4/3"), "'4/3' is not a shard"),
    ],
)
def test_what_cannot_be_merged_is_refused_and_nothing_is_written(
    shards: Path, args: tuple[str, ...], said: str
):
    """With what to do about it."""
    before = {path: path.read_bytes() for path in shards.glob("*.*") if path.is_file()}
    done = evenhand(*args, cwd=shards)
    assert done.returncode == 2
    assert said in done.stderr
    assert before == {path: path.read_bytes() for path in shards.glob("*.*") if path.is_file()}


def test_runs_of_other_files_are_refused(shards: Path, tmp_path: Path):
    """A plan with one case less."""
    config = json.loads((shards / "promptfooconfig.json").read_text())
    del config["tests"][0]
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    shutil.copy(shards / "offline.jsonl", tmp_path)
    evenhand("run", ".", "--offline", cwd=tmp_path)
    (run,) = (tmp_path / "home" / "runs").glob("*.db")
    done = evenhand("runs", "merge", "shard1.db", str(run), "--to", "x.db", cwd=shards)
    assert done.returncode == 2
    assert "is not of the same plan" in done.stderr


def test_more_shards_than_cases_leave_some_without_any(shards: Path):
    """Which is exit code 5, and needs no run file to be merged."""
    done = evenhand("run", ".", "--offline", "--shard", "8/8", cwd=shards)
    assert done.returncode == 5
    assert "shard 8/8 has no case" in done.stderr
    assert not list((shards / "home" / "runs").glob("*.db"))


def test_every_table_of_a_run_file_is_merged(shards: Path, tmp_path: Path):
    """Whatever lies beside a trial comes along, once; what was drawn from one file alone does not."""
    for name in FILES:
        shutil.copy(shards / name, tmp_path / name)
        with sqlite3.connect(tmp_path / name) as db:
            assert db.execute("pragma user_version").fetchone() == (len(RUN_MIGRATIONS),)
            (first,) = db.execute("select min(idx) from trial").fetchone()
            for (table,) in db.execute(
                "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
            ).fetchall():
                columns = db.execute(f"pragma table_info({table})").fetchall()
                (rows,) = db.execute(f"select count(*) from {table}").fetchone()
                if rows:
                    continue
                db.execute("pragma foreign_keys = off")
                blob = b"[]" if table in ("draw", "design", "pair_draw") else b'"a"'
                values = [
                    first
                    if column in ("idx", "trial")
                    else None
                    if key and table not in ("step", "long_output")
                    else {"blob": blob, "text": "note"}.get(kind.lower(), 1)
                    for _, column, kind, _, _, key in columns
                ]
                if table in ("result", "scale"):
                    values[:2] = [first, 7]
                marks = ", ".join("?" * len(values))
                db.execute(f"insert into {table} values ({marks})", values)
    done = evenhand("runs", "merge", *FILES, "--to", "all.db", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "draws for labels are not merged" in done.stderr
    with sqlite3.connect(tmp_path / "all.db") as db:
        counts = {
            table: db.execute(f"select count(*) from {table}").fetchone()[0]
            for (table,) in db.execute(
                "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
            ).fetchall()
        }
    assert [name for name, rows in counts.items() if not rows] == ["draw", "design", "pair_draw"]
    assert counts["run"] == 1
    assert counts["trial"] == counts["detail"] == 28
