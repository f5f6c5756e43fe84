"""Real processes against a real server: what the fault tests share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Script
from evenhand.testing.ledger import request_key

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
Trial = tuple[Any, ...]


def until(ready: Callable[[], bool], seconds: float = 120.0) -> None:
    """Waits for another process or thread."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.002)


def settled(document: Mapping[str, Any]) -> list[Trial]:
    """What a run's trials came to, without what differs from run to run."""
    return [
        (
            t["case"],
            t["variant"]["prompt"],
            t["repeat"],
            t["outcome"],
            t["score"],
            t["output"],
            t["outcomes"],
        )
        for t in document["trials"]
    ]


@dataclass
class Folder:
    """A folder with a config, and the command line to run it with."""

    path: Path
    env: dict[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        """Where its runs are kept."""
        return self.path / ".evenhand"

    def write(self, rows: int, **more: Any) -> None:
        """A config of so many rows, every third of which fails."""
        tests = [
            {
                "vars": {"n": f"number {i}"},
                "assert": [{"type": "contains", "value": "ref" if i % 3 else "zzz"}],
            }
            for i in range(rows)
        ]
        config = {
            "description": "faults",
            "prompts": ["Say {{n}}"],
            "providers": ["openai:chat:gpt-4o-mini"],
            "tests": tests,
            **more,
        }
        (self.path / "promptfooconfig.json").write_text(json.dumps(config))

    def start(
        self, *args: str, env: Mapping[str, str] | None = None, **more: Any
    ) -> subprocess.Popen[str]:
        """Starts `evenhand` with these arguments."""
        process = subprocess.Popen(
            [*COMMAND, *args],
            cwd=self.path,
            env={**self.env, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )
        self.started.append(process)
        return process

    def run(
        self, *args: str, env: Mapping[str, str] | None = None, **more: Any
    ) -> subprocess.CompletedProcess[str]:
        """Runs `evenhand` with these arguments to its end."""
        process = self.start(*args, env=env, **more)
        out, err = process.communicate(timeout=200)
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(args, process.returncode, out, err)

    def document(self) -> dict[str, Any]:
        """The latest run, as `--json` prints it."""
        shown = self.run("show", "--json")
        assert shown.returncode == 0, shown.stderr
        return json.loads(shown.stdout)

    def doubted(self) -> Counter[str]:
        """The calls of the only run whose end nobody knows, by their names in the ledger."""
        (path,) = (self.home / "runs").glob("*.db")
        with RunFile.open(path) as run:
            bodies = [json.loads(call.start.identity)["body"] for call in run.in_doubt()]
        return Counter(request_key("chat/completions", body) for body in bodies)


def environment(fake: FakeProvider) -> dict[str, str]:
    """An environment that leads to a fake provider, and has nothing else of a vendor's."""
    mine = ("OPENAI_", "ANTHROPIC_", "EVENHAND_")
    return {**{k: v for k, v in os.environ.items() if not k.startswith(mine)}, **fake.env()}


@pytest.fixture
def serve() -> Iterator[Callable[..., FakeProvider]]:
    """Starts fake providers, and stops them at the end."""
    running: list[FakeProvider] = []

    def start(script: Script | None = None, **more: Any) -> FakeProvider:
        running.append(FakeProvider(script, **more).start())
        return running[-1]

    yield start
    for fake in running:
        fake.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Callable[..., Folder]]:
    """Makes folders whose environment leads to a fake provider, and kills what still runs in them at the end."""
    made: list[Folder] = []

    def make(fake: FakeProvider, name: str = "evals", parent: Path = tmp_path) -> Folder:
        path = parent / name
        path.mkdir()
        made.append(Folder(path, environment(fake)))
        return made[-1]

    yield make
    for each in made:
        for process in each.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
