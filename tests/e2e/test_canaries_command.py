"""Canaries on the command line: kept from labels, asked run after run, and a judge that drifts."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from evenhand.store.run_lookup import find
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script
from evenhand.wings.viewer.history import canary_points

CONFIG = {
    "prompts": ["Tell me of {{q}}"],
    "providers": ["openai:chat:gpt-5-mini"],
    "defaultTest": {
        "options": {"provider": {"id": "openai:chat:gpt-5", "config": {"temperature": 0}}},
        "assert": [{"type": "llm-rubric", "value": "is right", "metric": "right"}],
    },
    "tests": [{"vars": {"q": f"thing {i:02d}"}} for i in range(40)],
}
Evenhand = Callable[..., str]
Start = Callable[..., tuple[FakeProvider, Evenhand]]


def says(passes: bool) -> str:
    """A judge's answer."""
    return json.dumps({"reason": "so", "pass": passes, "score": float(passes)})


def answers(wrong: int) -> list[Rule]:
    """What the application says: of each ten answers so many are wrong."""
    return [
        Rule(
            (f"Tell me of thing {i:02d}",),
            f"Thing {i:02d}: {'WRONG' if 3 * i % 10 < wrong else 'fine'}",
            model="gpt-5-mini",
        )
        for i in range(40)
    ]


SOUND = (
    Rule(("WRONG",), says(False), model="gpt-5"),
    Rule(reply=says(True), model="gpt-5"),
)
LENIENT = (Rule(reply=says(True), model="gpt-5"),)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A provider with these rules for the judge, and a command line beside it."""
    fakes: list[FakeProvider] = []

    def started(judge: Sequence[Rule], wrong: int = 5) -> tuple[FakeProvider, Evenhand]:
        (tmp_path / "promptfooconfig.json").write_text(json.dumps(CONFIG))
        fake = FakeProvider(Script([*judge, *answers(wrong)])).start()
        fakes.append(fake)

        def evenhand(*args: str, code: int = 0) -> str:
            done = subprocess.run(
                [sys.executable, "-c", "from evenhand.cli import main; main()", *args],
                cwd=tmp_path,
                env={**os.environ, **fake.env()},
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            assert done.returncode == code, done.stdout + done.stderr
            assert "Traceback" not in done.stderr
            return done.stdout or done.stderr

        return fake, evenhand

    yield started
    for fake in fakes:
        fake.stop()


def labelled(evenhand: Evenhand, folder: Path) -> None:
    """A run, labelled as it should be."""
    evenhand("run", ".", "--no-progress", "--no-table", code=1)
    evenhand("label", "--draw", "40", "--seed", "1", "--to", "draw.csv")
    with (folder / "draw.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["verdict"] = "fail" if "WRONG" in row["output"] else "pass"
    with (folder / "draw.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(rows)
    evenhand("label", "--from", "draw.csv", "--by", "ann")


def test_a_judge_that_drifts_is_told_from_a_system_that_does(start: Start, tmp_path: Path):
    """Asked anew each time; the first check is what later ones are compared with; only a drift exits with 1."""
    fake, evenhand = start(SOUND)
    assert "there are no runs" in evenhand("runs", "canaries", code=2)
    evenhand("run", ".", "--no-progress", "--no-table", code=1)
    assert "canaries.json doesn't exist" in evenhand("runs", "canaries", code=2)
    assert "has no labels" in evenhand("runs", "canaries", "--keep", "20", code=2)
    labelled(evenhand, tmp_path)
    written = evenhand("runs", "canaries", "--keep", "20")
    assert "20 canaries written" in written
    assert "next: evenhand runs canaries\n" in written
    file = json.loads((tmp_path / "canaries.json").read_text("utf-8"))
    assert [one["verdict"] for one in file["canaries"]].count("fail") == 10
    before = fake.ledger.total
    first = evenhand("runs", "canaries", "--no-progress")
    assert "the first check of these canaries" in first
    assert "right on 20 of 20 canaries, 100 % [83–100]" in first
    assert fake.ledger.total == before + 20
    second = json.loads(evenhand("runs", "canaries", "--no-progress", "--json"))
    assert fake.ledger.total == before + 40, "the cache says nothing of today's judge"
    (judge,) = second["judges"]
    assert (judge["items"], judge["right"], judge["left_out"], judge["raw"]) == (20, 20, 0, 0.5)
    rate = judge["since"]["pass_rate"]
    assert (rate["value"], round(rate["high"], 2)) == (0, 0.09)
    with RunFile.open(find(tmp_path, second["check"])) as check:
        (kept,) = check.meta.config["canaries"]["judges"]
    assert kept["pass_rate"]["value"] == 0.5, "of cases, with its interval"
    assert judge["since"] == {
        **judge["since"], "newly_wrong": 0, "newly_right": 0, "pairs": 20, "p": 1.0, "drifted": False,
    }  # fmt: skip
    evenhand("run", ".", "--no-progress", "--no-table", code=1)
    assert "canaries of" in evenhand("runs", "list")

    _, evenhand = start(LENIENT)
    shown = evenhand("runs", "canaries", "--no-progress", code=1)
    assert "the judge drifted since" in shown
    assert "10 newly wrong, 0 newly right (p = 0.002)" in shown
    assert "━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌ 10/20" in shown
    check = json.loads(evenhand("runs", "canaries", "--no-progress", "--json", code=1))
    assert len(check["judges"][0]["history"]) == 4
    assert json.loads(evenhand("runs", "canaries", check["check"], "--json", code=1)) == check
    assert "asked judges about canaries" in evenhand("calibrate", check["check"], code=2)


@pytest.mark.thorough
def test_canaries_of_cases_that_are_gone_are_left_out(start: Start, tmp_path: Path):
    """Too few of them decide nothing; none at all, and a file that is none, are one message."""
    _, evenhand = start(SOUND)
    labelled(evenhand, tmp_path)
    evenhand("runs", "canaries", "--keep", "8")
    evenhand("runs", "canaries", "--no-progress")
    cases = json.loads((tmp_path / "canaries.json").read_text("utf-8"))["canaries"]
    kept = {one["output"].split()[1].removesuffix(":") for one in cases[:5]}
    fewer = [test for test in CONFIG["tests"] if test["vars"]["q"].split()[1] in kept]  # type: ignore[index]
    config = tmp_path / "promptfooconfig.json"
    config.write_text(json.dumps({**CONFIG, "tests": fewer}))
    assert "has changed since" in evenhand("runs", "canaries", code=2)
    evenhand("run", ".", "--no-progress", "--no-table", code=1)
    shown = evenhand("runs", "canaries", "--no-progress", code=3)
    assert "not decided: 5 canaries can't show a drift, 7 or more can" in shown
    assert "3 left out: the run has no such case" in shown
    (tmp_path / "canaries.json").write_text('{"schema": "evenhand.canaries/2"}')
    assert "is not a file of canaries" in evenhand("runs", "canaries", code=2)


@pytest.mark.thorough
def test_a_check_of_canaries_out_of_budget_is_resumed(start: Start, tmp_path: Path):
    """What was answered is not paid for again."""
    fake, evenhand = start(SOUND)
    labelled(evenhand, tmp_path)
    evenhand("runs", "canaries", "--keep", "20")
    before = fake.ledger.total
    evenhand("runs", "canaries", "--no-progress", "--max-cost", "0.000001", code=4)
    check = max(path.stem for path in (tmp_path / ".evenhand" / "runs").glob("*.db"))
    evenhand("resume", check, "--no-progress", "--max-cost", "100")
    assert fake.ledger.total == before + 20
    assert "the latest" not in evenhand("runs", "canaries", "--no-progress")


def test_a_resumed_check_of_canaries_ends_as_the_check_would_have(start: Start, tmp_path: Path):
    """With its report and its exit code, though half of its trials fail; `retry` does, too."""
    _, evenhand = start(SOUND)
    labelled(evenhand, tmp_path)
    evenhand("runs", "canaries", "--keep", "20")
    evenhand("runs", "canaries", "--no-progress", "--max-cost", "0.000001", code=4)
    check = max(path.stem for path in (tmp_path / ".evenhand" / "runs").glob("*.db"))
    for verb in ("resume", "resume", "retry"):
        shown = evenhand(verb, check, "--no-progress", "--max-cost", "100")
        assert "right on 20 of 20 canaries" in shown
    evenhand("runs", "canaries", "--no-progress")
    _, evenhand = start(LENIENT)
    evenhand("runs", "canaries", "--no-progress", "--max-cost", "0.000001", code=4)
    check = max(path.stem for path in (tmp_path / ".evenhand" / "runs").glob("*.db"))
    assert "drift" in evenhand("resume", check, "--no-progress", "--max-cost", "100", code=1)


RUN = ("run", ".", "--no-progress", "--no-cache")


def test_canaries_of_a_run_tell_a_system_that_drifts_from_a_judge_that_does(
    start: Start, tmp_path: Path
):
    """Asked once the run is over, and no part of its numbers; in the report, its JSON, and the history."""
    fake, evenhand = start(SOUND)
    (tmp_path / "pyproject.toml").write_text("[tool.evenhand]\ncanaries = 20\n")
    labelled(evenhand, tmp_path)  # with canaries in the project, and none to ask about yet
    evenhand("runs", "canaries", "--keep", "20")
    before = fake.ledger.total
    first = " ".join(evenhand(*RUN, code=1).split())
    assert fake.ledger.total == before + 80 + 20
    assert "canaries of right: 20 of 20 right; the first check of these canaries" in first
    assert "20 of 40 passed" in first

    _, evenhand = start(SOUND, wrong=9)
    second = json.loads(evenhand(*RUN, "--json", code=1))
    (judge,) = second["canaries"]
    assert (judge["right"], judge["since"]["changed"]) == (20, "system")
    assert judge["since"]["pass_rate"]["high"] < 0

    _, evenhand = start(LENIENT)
    third = " ".join(evenhand(*RUN).split())
    assert "10 of 20 right; the judge drifted since" in third
    assert "its pass rate went from 50 % to 100 %, which may be the judge" in third
    (line,) = json.loads(evenhand("runs", "history", "--json"))["lines"]
    canaries = [one["canaries"] for one in line["runs"]]
    assert canaries[0] is None
    assert [one[0]["right"] for one in canaries[1:]] == [20, 20, 10]
    runs = [one["run"] for one in line["runs"]]
    points = canary_points(sorted((tmp_path / ".evenhand" / "runs").glob("*.db")))
    assert [point.run for point in points] == runs[1:]
    right = [point.right and (point.right.value, point.right.n) for point in points]
    assert right == [(1.0, 20), (1.0, 20), (0.5, 20)]
    assert [point.passed and point.passed.value for point in points] == [0.5, 0.1, 1.0]
    assert "the system changed" in points[1].words
    assert "the judge drifted" in points[2].words


@pytest.mark.thorough
def test_a_judge_that_drifted_opens_no_gate(start: Start, tmp_path: Path):
    """The model behind the name may have changed. Without canaries, its pass rate shows it."""
    fake, evenhand = start(SOUND)
    assert "canaries.json doesn't exist" in evenhand(*RUN, "--canaries", "12", code=2)
    assert fake.ledger.total == 0, "said before anything was paid for"
    labelled(evenhand, tmp_path)
    evenhand("runs", "canaries", "--keep", "20")
    evenhand("calibrate")
    required = ("--calibrated", "required", "--at-least", "0.4")
    evenhand(*RUN, *required, "--canaries", "20")
    _, evenhand = start(LENIENT)
    assert "the judge drifted" in evenhand(*RUN, *required, "--canaries", "20", code=3)
    stale = " ".join(evenhand(*RUN, *required, "--canaries", "0", code=3).split())
    assert "calibration is stale: judge's pass rate changed" in stale
