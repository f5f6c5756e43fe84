"""`-v` and `--strict`, by the real command line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.commands import in_process

from evenhand import run
from evenhand.core.errors import ConfigError
from evenhand.doors.eval_sets.discovery import find

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]

EVALS = """
import os, time
from pathlib import Path
from evenhand import EvalSet
from evenhand.scorers import Contains

evals = EvalSet("shop", data=[{"id": "a"}, {"id": "b"}])


@evals.eval
async def answers(case, expect):
    if case.id == "a":
        os.write(1, b"past Python\\n")
        time.sleep(0.05)
    expect(7, at_most=9, label="words", source="manual")
    expect("30 days", Contains("30" if case.id == "a" else "60"))


@evals.eval
def is_silent(case):
    return "x"
"""

CONFIG = """
prompts: ["Say {{x}}"]
providers: [echo]
tests:
  - vars: {x: yes}
    assert: [{type: contains, value: Say}, {type: contains, value: "no"}]
"""

HEADS = [
    "✓ answers · a   score 1",
    "– is_silent · a",
    "✗ answers · b   score 0.5",
    "– is_silent · b",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two evals, one of which expects nothing."""
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "shop_evals.py").write_text(EVALS, "utf-8")
    return tmp_path


def start(*args: str, cwd: Path) -> subprocess.Popen[str]:
    """`evenhand` with these arguments, under way."""
    kept = ("PATH", "HOME", "TMPDIR", "PYTHONPATH")
    return subprocess.Popen(
        [*COMMAND, *args],
        cwd=cwd,
        env={name: value for name, value in os.environ.items() if name in kept},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def evenhand(*args: str, cwd: Path) -> tuple[int, str, str]:
    """Its exit code, and what it wrote to stdout and stderr."""
    process = start(*args, cwd=cwd)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def heads(text: str) -> list[str]:
    """The first line of each trial, without how long it took."""
    trials = text.partition("\n  eval ")[0].splitlines()
    return [line.strip() for line in trials if re.match(r"  [✓✗–!] ", line)]


def test_every_expectation_is_a_line_in_the_plans_order(folder: Path):
    """Whatever finishes first; with bounds, reasons and metadata; before the table, and nothing of user code's."""
    code, out, err = evenhand("run", "-v", cwd=folder)
    assert code == 1, err
    assert heads(out) == HEADS
    assert "      ✓ words  7  (at most 9)\n          source  manual\n" in out
    assert '      ✗ contains "60"\n          ' in out
    assert out.index("is_silent · b") < out.index("  eval ")
    assert "past Python" not in out
    assert "past Python" in err


def test_a_run_is_shown_so_again(folder: Path):
    """`show -v` prints what `run -v` did."""
    _, first, _ = evenhand("run", "--verbose", "--no-table", cwd=folder)
    code, again, err = evenhand("show", "-v", "--no-table", cwd=folder)
    assert code == 0, err
    until = again.index("2 evals")
    assert again[:until] == first[: first.index("2 evals")]


def test_beside_json_it_goes_to_stderr(folder: Path):
    """Stdout is one document."""
    for verb in ("run", "show"):
        _, out, err = evenhand(verb, "-v", "--json", cwd=folder)
        assert json.loads(out)["totals"]["trials"] == 4
        assert heads(err) == HEADS


def test_a_config_is_told_so_too(tmp_path: Path):
    """Its assertions are expectations like others."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG, "utf-8")
    code, out, err = evenhand("run", "-v", cwd=tmp_path)
    assert code == 1, err
    assert '      ✓ contains "Say"\n' in out
    assert '      ✗ contains "no"\n' in out


def test_trials_are_told_while_the_run_goes_on(tmp_path: Path):
    """The first can be read before the second may end."""
    (tmp_path / "slow_evals.py").write_text(
        "import time\n"
        "from pathlib import Path\n"
        "from evenhand import EvalSet\n"
        "evals = EvalSet('slow', data=[{'id': 'a'}, {'id': 'b'}])\n"
        "@evals.eval\n"
        "def waits(case, expect):\n"
        "    while case.id == 'b' and not Path('go').exists():\n"
        "        time.sleep(0.01)\n"
        "    expect(True, 'goes on')\n",
        "utf-8",
    )
    process = start("run", "-v", "--no-progress", "slow_evals.py", cwd=tmp_path)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().strip() == "✓ a   score 1"
    finally:
        (tmp_path / "go").touch()
    out, _ = process.communicate(timeout=60)
    assert "✓ b   score 1" in out
    assert process.returncode == 0


def test_a_reader_who_has_seen_enough_does_not_end_the_run(folder: Path):
    """As with `| head -1`: the run is settled, and its exit code is its own."""
    process = start("run", "-v", cwd=folder)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 1
    _, out, _ = evenhand("show", "--json", cwd=folder)
    assert json.loads(out)["totals"]["trials"] == 4


def test_the_documentation_shows_what_is_printed(tmp_path: Path):
    """A trial of the shipped example, to the letter but for times."""
    root = Path(__file__).resolve().parents[2]
    pages = (root / "docs" / "eval-sets.md").read_text("utf-8")
    blocks = re.findall(r"^```text\n(.*?)^```$", pages, re.DOTALL | re.MULTILINE)
    (shown,) = (block for block in blocks if "✓ document summaries" in block)
    example = shutil.copytree(
        root / "examples" / "documents",
        tmp_path / "documents",
        ignore=shutil.ignore_patterns(".evenhand"),
    )
    _, out, _ = evenhand("run", "--offline", "-v", cwd=example)
    assert steady(shown) in steady(out)


def steady(text: str) -> str:
    """What is printed, without times."""
    return re.sub(r"\b[\d.]+ m?s\b", "… s", text)


def test_an_eval_that_expects_nothing_is_warned_of_once(folder: Path):
    """At the end, with file and line; the run has no verdict, as nothing could have failed."""
    code, out, _ = evenhand("run", "-k", "silent", cwd=folder)
    assert code == 3
    assert (
        " ".join(out.split()).count(
            "evals/shop_evals.py:19: shop: is_silent expects nothing, so there is no verdict"
        )
        == 1
    )


def test_strict_makes_it_an_error_and_resume_remembers(folder: Path):
    """No verdict, exit code 3; gone on with, it is still none."""
    code, out, _ = evenhand("run", "-k", "silent", "--strict", cwd=folder)
    assert code == 3
    assert "code: the eval expects nothing" in out
    assert "undecided · 0 of 2 passed (0–100 %, 0–100) · 2 errors" in out
    code, out, _ = evenhand("resume", "--json", cwd=folder)
    assert code == 3
    assert {trial["error"]["message"] for trial in json.loads(out)["trials"]} == {
        "the eval expects nothing"
    }


def test_strict_refuses_what_a_config_is_hinted_at_for(tmp_path: Path):
    """A key that nobody knows is tolerated, or not: exit code 2, and nothing is sent."""
    config = f"{CONFIG}\nasert: []\n"
    (tmp_path / "promptfooconfig.yaml").write_text(config, "utf-8")
    code, _, err = evenhand("run", cwd=tmp_path)
    assert "hint: " in err
    code, out, err = evenhand("run", "--strict", cwd=tmp_path)
    assert (code, out) == (2, "")
    assert "unknown key 'asert'" in err
    assert "nothing was sent" in err


PARTLY = """
from evenhand import EvalSet
from evenhand.scorers import Contains

evals = EvalSet("shop", data=[{"id": "a"}], over={"tone": ["kind", "curt"]})


@evals.eval
def takes(case, tone, expect):
    expect(tone, Contains(tone))


@evals.eval
def takes_none(case, expect):
    expect("x", Contains("x"))
"""


def test_strict_refuses_what_eval_sets_are_hinted_at_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """On the command line and in Python alike: nothing is run."""
    (tmp_path / "shop_evals.py").write_text(PARTLY, "utf-8")
    monkeypatch.chdir(tmp_path)
    command = in_process(capsys)
    tolerated = command("run", "shop_evals.py")
    assert (tolerated.code, "hint: " in tolerated.err) == (0, True)
    refused = command("run", "shop_evals.py", "--strict")
    assert (refused.code, refused.out) == (2, "")
    assert "shop_evals.py:13: takes_none doesn't take 'tone'" in refused.err
    assert "hint: " not in refused.err
    (evals,) = find(["shop_evals.py"]).sets
    with pytest.raises(ConfigError, match="takes_none doesn't take 'tone'"):
        run(evals, strict=True)
