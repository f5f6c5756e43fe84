"""What is installed, on each Python there is: with the lowest dependencies that are allowed, and with no extras."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
EVERY_MODULE = """
import importlib, pkgutil, sys, evenhand
for module in pkgutil.walk_packages(evenhand.__path__, "evenhand."):
    if module.name.startswith(("evenhand.doors.pytest_plugin", "evenhand.doors.isolation.")):
        continue  # for users of pytest, SQLAlchemy and Django
    if module.name in ("evenhand.doors.recording.spans", "evenhand.wings.coding_agents.known_arguments"):
        continue  # for users of OpenTelemetry, of MCP
    if module.name.endswith("__main__"):
        continue
    if "scaffolds" in module.name or "starters" in module.name:
        continue  # files for users
    importlib.import_module(module.name)
"""
COMMANDS = """
import contextlib, io, json
from evenhand.cli import main

ended = []
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(said):
        try:
            main(words)
        except SystemExit as error:
            ended.append([error.code, said.getvalue()])
print(json.dumps(ended))
"""
"""Command lines, one after the other: in a process of its own, each would import everything anew."""
REPORTS = ("report.html", "run.json", "run.csv", "report.md", "junit.xml")
CONFIG = """
prompts: ["Say {{ word | upper }}"]
providers: [echo]
tests:
  - vars: {word: hello}
    assert:
      - {type: equals, value: Say HELLO}
      - {type: javascript, value: "output.length === 9"}
      - {type: is-json}
"""
EVALS = """
from evenhand import Case, EvalSet
from evenhand.scorers import Contains

evals = EvalSet("greetings", data=[Case("ann", input="Ann"), Case("bob", input="Bob")], model="echo")


@evals.eval
async def greets(case, model, expect):
    reply = await model.generate(f"Dear {case.input}")
    expect(reply.text, Contains(case.input))
"""

pytestmark = pytest.mark.timeout(600)


@functools.cache
def interpreter(version: str) -> str | None:
    """A Python of this version, on the path or of pyenv; None where there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    near = Path(sys.base_prefix).parent  # beside ours, where pyenv keeps them
    known = [p for home in (pyenv, near) for p in home.glob(f"{version}.*/bin/python")]
    for candidate in (shutil.which(f"python{version}"), *map(str, sorted(known))):
        if candidate is None:
            continue
        asked = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        said = subprocess.run(asked, capture_output=True, text=True, check=False)
        if said.stdout.strip() == version:
            return candidate
    return None


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("version", "pins"),
    [("3.11", "lowest.txt"), *((version, "runtime.txt") for version in VERSIONS[1:])],
)
def test_what_is_installed_without_extras_does_the_main_jobs(
    version: str, pins: str, tmp_path: Path
):
    """Every module can be imported, with warnings as errors; a config, an eval set and reports work.

    The tests themselves run on Python 3.11 with the newest dependencies that are pinned.
    """
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version}")
    home = tmp_path / "venv"
    wanted = ROOT / "requirements" / pins
    uv = [Path(sys.executable).with_name("uv"), "pip", "install", "--python", home / "bin/python"]
    for command in (
        [python, "-m", "venv", "--without-pip", home],
        [*uv, "-q", "--system-certs", "--no-deps", "--require-hashes", "-r", wanted],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    site = subprocess.run(
        [home / "bin/python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (Path(site) / "evenhand.pth").write_text(str(ROOT / "src"))

    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    (tmp_path / "greetings_evals.py").write_text(EVALS)
    (tmp_path / "xlsx.yaml").write_text(CONFIG.partition("tests:")[0] + "tests: rows.xlsx\n")
    (tmp_path / "rows.xlsx").write_bytes(b"PK")
    lines = [
        ["run", "greetings_evals.py"],
        *(["export", "latest", "--to", file] for file in REPORTS),
        ["run", "rows.yaml"],
        ["check", "xlsx.yaml"],
    ]

    def ours(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [home / "bin/python", "-W", "error", "-c", *words],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    command = "from evenhand.cli import main; main()"
    ran = ours(command, "run", "promptfooconfig.yaml", "--json")
    assert ran.returncode == 1, ran.stderr
    (trial,) = json.loads(ran.stdout)["trials"]
    assert [o["outcome"] for o in trial["outcomes"]] == ["pass", "pass", "fail"]
    done = ours(EVERY_MODULE + COMMANDS, stdin=json.dumps(lines))
    assert done.returncode == 0, done.stderr
    evals, *exports, missing, extra = json.loads(done.stdout)
    assert (evals[0], "2 of 2 passed" in evals[1]) == (0, True), evals
    for file, exported in zip(REPORTS, exports, strict=True):
        assert exported[0] == 0, exported
        assert (tmp_path / file).stat().st_size > 100
    assert missing[0] == 2, missing
    assert "evenhand[xlsx]" in extra[1]
