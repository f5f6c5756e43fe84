"""The example of a judge that is too kind: from its labels to the corrected rate that the pages show."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "judge"
PAGES = [EXAMPLE.parents[1] / name for name in ("docs/gallery.md", "docs/judge-trust.md")]


Evenhand = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example, without runs."""
    copy = tmp_path / "judge"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns(".evenhand", "calibration.json"))
    return copy


@pytest.fixture
def evenhand(folder: Path) -> Evenhand:
    """Runs a command there: what it prints, and what it tells."""

    def run(*args: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", "from evenhand.cli import main; main()", *args],
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode in (0, 1, 3), done.stdout + done.stderr
        return done.stdout if "--json" in args else done.stdout + done.stderr

    return run


def test_a_calibration_that_holds_is_not_to_be_replaced_by_one_of_another_run(evenhand: Evenhand):
    """A run of the same has no labels of its own, and needs none."""
    evenhand("run", ".", "--offline", "--no-progress")
    evenhand("label", "--draw", "60", "--seed", "1", "--to", "draw.csv")
    evenhand("label", "--from", "labels.csv", "--by", "ann")
    evenhand("calibrate")
    evenhand("run", ".", "--offline", "--no-progress")
    told = evenhand("calibrate")
    assert "calibrated before" in told
    assert "! run" not in told


def test_why_a_calibrated_run_has_no_verdict_is_said_without_the_table_too(evenhand: Evenhand):
    """The judge's own rate keeps the bound, and the corrected one doesn't."""
    evenhand("run", ".", "--offline", "--no-progress")
    evenhand("label", "--draw", "60", "--seed", "1", "--to", "draw.csv")
    evenhand("label", "--from", "labels.csv", "--by", "ann")
    evenhand("calibrate")
    strict = ("--calibrated", "required", "--at-least", "0.85", "--no-progress")
    told = evenhand("run", ".", "--offline", *strict, "--no-table")
    assert " undecided · " in told
    assert "no verdict: policy is " in told
    assert "no verdict: policy is " in evenhand("show", "--no-table")


def test_the_example_comes_to_the_numbers_that_the_pages_show(folder: Path, evenhand: Evenhand):
    """People find what the judge misses; the true rate, 80 %, is in the corrected interval and not in the judge's."""
    before = evenhand("run", ".", "--offline", "--no-progress")
    evenhand("label", "--draw", "60", "--seed", "1", "--to", "draw.csv")
    drawn = (folder / "draw.csv").read_text("utf-8").replace("\r\n", "\n").splitlines()
    labelled = (folder / "labels.csv").read_text("utf-8").splitlines()
    assert [line.rpartition(",")[0] for line in drawn] == [
        line.rpartition(",")[0] for line in labelled
    ], "the labels are of the draw that this seed makes"
    evenhand("label", "--from", "labels.csv", "--by", "ann")
    shown = evenhand("calibrate")
    (judge,) = json.loads(evenhand("calibrate", "--json", "--no-write"))["judges"]
    after = evenhand("run", ".", "--offline", "--no-progress")
    attacked = evenhand("probe", "--no-progress")
    assert judge["raw"]["low"] > 0.8
    assert judge["corrected"]["low"] <= 0.8 <= judge["corrected"]["high"]
    for page in PAGES:
        text = page.read_text("utf-8")
        assert _rate(before) in text
        assert _rate(after) in text
    assert left_out(shown, "labels     60 of 100") == []
    assert left_out(attacked, "fooled by") == []


def left_out(printed: str, word: str) -> list[str]:
    """The lines of the guide's block with this word that aren't printed. It may leave lines out, and says so by `…`."""
    blocks = re.findall(
        r"^```text\n(.*?)^```$", PAGES[1].read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    (block,) = (one for one in blocks if word in one)
    lines = printed.splitlines()
    return [line for line in block.splitlines() if line.strip() != "…" and line not in lines]


def _rate(output: str) -> str:
    """The line on the judged metric."""
    return next(line.strip() for line in output.splitlines() if line.strip().startswith("policy:"))
