"""Outputs of a run are reviewed at a terminal that is killed in the middle, and by a second person in a file."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.e2e.test_label_and_calibrate import Screen

EXAMPLE = Path(__file__).parents[2] / "examples" / "failures"
COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
CONFIG = {
    "prompts": ["{{q}}"],
    "providers": ["echo"],
    "tests": [
        {"vars": {"q": f"answer {i}"}, "assert": [{"type": "not-contains", "value": "7"}]}
        for i in range(20)
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a finished run, of which two outputs failed."""
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(CONFIG))
    evenhand(tmp_path, "run", ".", "--exit-zero", "--no-progress")
    return tmp_path


def evenhand(folder: Path, *words: str, code: int = 0) -> str:
    """What a command prints to stdout."""
    done = subprocess.run(
        [*COMMAND, *words], cwd=folder, check=False, timeout=120, capture_output=True, text=True
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def terminal(folder: Path, *words: str) -> tuple[subprocess.Popen[bytes], Screen]:
    """A command at a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *words], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True
    )
    os.close(theirs)
    return process, Screen(ours)


def test_no_note_is_lost_when_the_terminal_is_killed(folder: Path):
    """The next session goes on where it was; a second person sees nothing of the first one's words."""
    evenhand(folder, "review", "draw", "-n", "5", "--seed", "1")
    process, screen = terminal(folder, "review", "notes", "--by", "ann")
    screen.wait("q quit")
    assert "1 of 5" in screen.text
    screen.type("f")
    screen.wait("note")
    screen.type("has a seven\r")
    screen.wait("2 of 5")
    screen.wait("q quit")
    screen.type("p")
    screen.wait("3 of 5")
    screen.wait("q quit")
    process.kill()
    process.wait(60)
    process, screen = terminal(folder, "review", "notes", "--by", "ann")
    screen.wait("q quit")
    assert "3 of 5" in screen.text
    screen.type("u")  # nothing of this session can be undone
    screen.wait("q quit")
    screen.type("p")
    screen.wait("4 of 5")
    screen.wait("q quit")
    screen.type("u")
    screen.wait("3 of 5")
    screen.wait("q quit")
    screen.type("q")
    screen.wait("0 outputs reviewed by ann")
    assert process.wait(60) == 0
    document = json.loads(evenhand(folder, "review", "list", "--json"))
    assert (document["drawn"], document["reviewed"]) == (5, 2)
    assert [one["reviews"] for one in document["outputs"]] == [
        [{"author": "ann", "verdict": "fail", "note": "has a seven"}],
        [{"author": "ann", "verdict": "pass", "note": ""}],
    ]
    evenhand(folder, "review", "notes", "--by", "bo", "--to", "bo.jsonl")
    text = (folder / "bo.jsonl").read_text()
    assert "has a seven" not in text
    assert len(text.splitlines()) == 4  # the three that are left, and one again


def test_what_cant_be_reviewed_says_why(folder: Path):
    """With exit code 2."""
    evenhand(folder, "review", "notes", code=2)
    evenhand(folder, "review", "draw", "-n", "1", code=2)
    evenhand(folder, "review", "draw", "-n", "5")
    evenhand(folder, "review", "notes", code=2)
    evenhand(folder, "review", "notes", "--to", "a.csv", "--from", "b.csv", code=2)
    evenhand(folder, "review", "list", "nothing", code=2)


@pytest.mark.thorough
def test_from_a_run_to_a_gate_on_named_kinds(tmp_path: Path):
    """The example folder: notes, a proposal, a person's name, counts, and the kinds as metrics of the next run."""
    folder = tmp_path / "failures"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".evenhand"))
    evenhand(folder, "run", "--offline", "--exit-zero", "--no-progress")
    evenhand(folder, "review", "draw", "-n", "60", "--seed", "1")
    evenhand(folder, "review", "notes", "--from", "notes.csv", "--by", "ann")
    judge = ("--judge", "openai:chat:gpt-5", "--offline", "--no-progress", "--json")
    model = ("--model", "openai:chat:gpt-5", "--offline", "--no-progress")
    evenhand(folder, "review", "propose", *model)
    evenhand(folder, "review", "propose", *model, code=2)  # it overwrites nothing
    evenhand(folder, "review", "count", *judge, code=2)  # nobody has read it yet
    evenhand(folder, "review", "ratify", "--by", "ann")
    counted = json.loads(evenhand(folder, "review", "count", *judge))
    shares = {one["name"]: one["share"] for one in counted["kinds"]}
    truth = {
        "invents a fee": 10 / 120,
        "allows late returns": 10 / 120,
        "brushes people off": 6 / 120,
    }
    for name, share in truth.items():
        assert shares[name]["low"] <= share <= shares[name]["high"]
    assert all(one["judged"] == 120 for one in counted["kinds"])
    assert counted["covered"]["value"] == 1
    config = (folder / "promptfooconfig.yaml").read_text()
    checks = "".join(f"    - {{type: avoids, value: {name}, metric: {name}}}\n" for name in truth)
    config = config.replace("tests:", f"{checks}tests:").replace(
        "defaultTest:\n", "defaultTest:\n  options: {provider: openai:chat:gpt-5}\n"
    )
    (folder / "promptfooconfig.yaml").write_text(config)
    evenhand(folder, "run", "--offline", "--exit-zero", "--no-progress")
    run = json.loads(evenhand(folder, "show", "--json"))
    outcomes = [one for trial in run["trials"] for one in trial["outcomes"]]
    for name, share in truth.items():
        scores = [one["score"] for one in outcomes if one["metric"] == name]
        assert len(scores) == 120
        assert sum(scores) / 120 == pytest.approx(1 - share)
    assert {status for _, status in judged(folder)} == {"missing"}
    for words in ((), ("--reviewed", counted["runs"][0])):  # typed twice, it labels once
        evenhand(folder, "review", "label", "latest", *words)
    evenhand(folder, "calibrate", "latest")
    evenhand(folder, "run", "--offline", "--exit-zero", "--no-progress")
    assert judged(folder) == {(60, "fresh")}
    book = (folder / "failures.yml").read_text()
    rule = "Refuses to help a customer who complains."
    (folder / "failures.yml").write_text(book.replace(rule, "Is unkind to a customer."))
    evenhand(folder, "review", "ratify", "brushes people off", "--by", "ann")
    evenhand(folder, "run", "--offline", "--exit-zero", "--no-progress")
    assert {status for _, status in judged(folder)} == {"fresh", "stale"}


def judged(folder: Path) -> set[tuple[int, str]]:
    """Of each judged metric of the latest run, how many labels correct it, and whether its calibration holds."""
    run = json.loads(evenhand(folder, "show", "--json"))
    return {(one["labels"], one["calibration"]) for one in run["judged"]}


@pytest.mark.thorough
def test_a_count_that_is_killed_is_resumed_and_asks_nothing_twice(tmp_path: Path):
    """It ends with the report of a count, and the latest run of evals is still the latest run."""
    folder = tmp_path / "failures"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".evenhand"))
    evenhand(folder, "run", "--offline", "--exit-zero", "--no-progress")
    evenhand(folder, "review", "draw", "-n", "60", "--seed", "1")
    evenhand(folder, "review", "notes", "--from", "notes.csv", "--by", "ann")
    model = ("--model", "openai:chat:gpt-5", "--offline", "--no-progress")
    evenhand(folder, "review", "propose", *model)
    evenhand(folder, "review", "ratify", "--by", "ann")
    runs = folder / ".evenhand" / "runs"
    before = set(runs.glob("*.db"))
    words = (
        "review",
        "count",
        "--judge",
        "openai:chat:gpt-5",
        "--offline",
        "--no-cache",
        "-j",
        "1",
    )
    process = subprocess.Popen([*COMMAND, *words], cwd=folder, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not set(runs.glob("*.db")) - before and time.monotonic() < until:
        time.sleep(0.01)
    (file,) = set(runs.glob("*.db")) - before
    time.sleep(0.1)
    process.kill()
    process.wait(60)
    counted = json.loads(evenhand(folder, "resume", file.stem, "--json", "--no-progress"))
    assert counted["schema"] == "evenhand.failures/1"
    assert [one["judged"] for one in counted["kinds"]] == [120, 120, 120]
    assert json.loads(evenhand(folder, "review", "list", "--json"))["reviewed"] == 60
