"""One process, a fleet, and shards that are merged: the exports are the same, but for what tells runs apart."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.testing import FakeProvider, Rule, Script

pytestmark = pytest.mark.timeout(600)  # many short processes
COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
QUIET = ("--no-progress", "--no-table", "--no-cache")
IDENTITY = {"id", "evalId", "run", "file"}
TIMES = {
    *("created_at", "finished_at", "timestamp", "evaluationCreatedAt", "exportedAt"),
    *("latency_s", "latencyMs", "totalLatencyMs", "durationMs", "evaluationDurationMs"),
}
MERGED = {"merged"}
"""Of which shards it was put together."""
MODEL = {"id": "openai:chat:gpt-4o", "config": {"cost": 0.0001, "max_tokens": 50}}
JUDGE = {**MODEL, "id": "openai:chat:judge"}
CONFIG = {
    "prompts": ["Say {{n}}", "Tell {{n}}"],
    "providers": [MODEL, {**MODEL, "id": "openai:chat:gpt-4o-mini"}],
    "defaultTest": {
        "assert": [
            {"type": "llm-rubric", "value": "is a reply", "provider": JUDGE},
            {"type": "select-best", "value": "is better", "provider": JUDGE},
        ]
    },
    "tests": [
        {
            "vars": {"n": f"number {n}"},
            "assert": [{"type": "contains", "value": "a reply" if n % 3 else "\u2603"}],
        }
        for n in range(8)
    ],
}
SCRIPT = Script(
    [
        Rule(model="judge", match=("number 5",), fault="400"),
        Rule(model="judge", reply={"reason": "so", "pass": True, "score": 0.7}),
        Rule(match=("number 6",), fault="400"),
    ]
)


def evenhand(*words: str, cwd: Path, env: Mapping[str, str]) -> str:
    """Runs a command; trials may fail and be in error."""
    done = subprocess.run(
        [*COMMAND, *words], cwd=cwd, env=dict(env), capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1, 3), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def same(value: Any) -> Any:
    """A document without what tells runs apart, in its own order."""
    if isinstance(value, dict):
        varies = TIMES | MERGED | (IDENTITY if "testIdx" in value or "evalId" in value else set())
        varies |= IDENTITY if "created_at" in value else set()
        return {key: same(one) for key, one in value.items() if key not in varies}
    if isinstance(value, list):  # how busy this machine was is said as a warning
        return [same(one) for one in value if not str(one).startswith("answers waited ")]
    return value


def exports(run: str, cwd: Path, env: Mapping[str, str]) -> dict[str, str]:
    """The texts of all formats, without what tells runs apart."""
    found: dict[str, str] = {}
    for ending in ("json", "jsonl", "csv", "xml", "yaml"):  # promptfoo's
        evenhand("export", run, "--to", f"out.{ending}", cwd=cwd, env=env)
        found[f"promptfoo {ending}"] = (cwd / f"out.{ending}").read_text("utf-8")
    for kind in ("json", "jsonl", "csv"):
        found[kind] = evenhand("export", run, "--to", "-", "--format", kind, cwd=cwd, env=env)
    del found["promptfoo xml"], found["promptfoo yaml"]  # the same document as JSON
    for name, text in found.items():
        if name.endswith("json"):
            found[name] = json.dumps(same(json.loads(text)), indent=1)
        elif name.endswith("jsonl"):
            rows = (json.dumps(same(json.loads(line))) for line in text.splitlines())
            found[name] = "\n".join(rows)
    found["csv"] = without_times(found["csv"])
    return found


def without_times(text: str) -> str:
    """A table without its columns of times."""
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows
    return json.dumps([{k: v for k, v in row.items() if k not in {*TIMES, "run"}} for row in rows])


@pytest.mark.thorough
def test_exports_of_a_fleet_and_of_merged_shards_are_those_of_one_process(tmp_path: Path):
    """Passes, failures, errors, judges, contests and repeats; what differs is named above."""
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(CONFIG))
    run = ("run", *QUIET, "--repeat", "2", "--retries", "0")
    with FakeProvider(SCRIPT) as fake:
        homes = {name: tmp_path / name for name in ("one", "fleet", "shards")}
        environment = {
            name: {**os.environ, **fake.env(), "EVENHAND_HOME": str(home)}
            for name, home in homes.items()
        }
        evenhand(*run, cwd=tmp_path, env=environment["one"])
        evenhand(*run, "--workers", "2", cwd=tmp_path, env=environment["fleet"])
        for shard in ("1/3", "2/3", "3/3"):
            evenhand(*run, "--shard", shard, cwd=tmp_path, env=environment["shards"])
    files = sorted(map(str, (homes["shards"] / "runs").glob("*.db")))
    evenhand("runs", "merge", *files, "--to", "merged.db", cwd=tmp_path, env=environment["shards"])
    wanted = exports("latest", tmp_path, environment["one"])
    assert '"error"' in wanted["json"]
    for name, file in (("fleet", "latest"), ("shards", "merged.db")):
        found = exports(file, tmp_path, environment[name])
        for kind, text in wanted.items():
            assert found[kind] == text, (name, kind)
