"""A run imports what it needs: every command pays for each module more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.testing import FakeProvider

CODE = """
import sys
from evenhand.cli import main
try:
    main({words!r})
finally:
    sys.stderr.write("\\n" + " ".join(sys.modules))
"""
QUIET = ("run", "--no-progress", "--exit-zero")


def modules(folder: Path, env: dict[str, str], *words: str) -> set[str]:
    """What a process has imported that ran this command."""
    code = CODE.format(words=list(words))
    ran = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.splitlines()[-1].split())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A config of one prompt and two tests, without a judge."""
    config = {
        "prompts": ["Say {{n}}"],
        "providers": ["openai:chat:gpt-5-mini"],
        "tests": [{"vars": {"n": n}, "assert": [{"type": "contains", "value": "a"}]} for n in "ab"],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    return tmp_path


def test_a_plain_run_imports_nothing_of_judges_batches_and_comparisons(folder: Path):
    """Nor of other vendors, tables, cassettes and other tools."""
    with FakeProvider() as fake:
        env = {**os.environ, **fake.env()}
        imported = modules(folder, env, *QUIET, "--no-cache")
    unused = (
        "evenhand.analysis.trust.",
        "evenhand.analysis.comparison",
        "evenhand.analysis.comparison.variants",
        "evenhand.providers.batches.places",
        "evenhand.providers.anthropic",
        "evenhand.providers.google",
        "evenhand.doors.promptfoo.tables",
        "evenhand.scorers.judge",
        "evenhand.doors.conversations",
        "evenhand.wings.interchange",
        "evenhand.wings.viewer",
        "evenhand.wings.fleet.",
        "evenhand.store.cassette",
        "evenhand.core.scrubbing",
        "numpy",
        "opentelemetry",
        "mcp",
    )
    allowed = {"evenhand.analysis.trust.run_verdict"}
    assert [name for name in sorted(imported - allowed) if name.startswith(unused)] == []
    assert "pycurl" in imported
    assert "aiohttp" not in imported


def test_a_run_that_the_cache_answers_imports_no_http_client(folder: Path):
    """The first one does."""
    with FakeProvider() as fake:
        env = {**os.environ, **fake.env(), "EVENHAND_CACHE": str(folder / "cache")}
        assert "pycurl" in modules(folder, env, *QUIET)
        assert "pycurl" not in modules(folder, env, *QUIET)
        assert fake.ledger.total == 2
