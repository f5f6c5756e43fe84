"""No command writes lines that are longer than a terminal of eighty columns, and none cuts what is to be copied."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.commands import Run, in_process

METRIC = 'passes "The reply is polite and short, and it answers the question."'
EVALS = """
from evenhand import EvalSet
from evenhand.scorers import Passes

cases = [{"id": f"case number {i}", "input": f"question {i}."} for i in range(64)]
evals = EvalSet("support of the shop", data=cases, judge="openai:gpt-5")


@evals.eval
def polite(case, expect):
    reply = "fine " + case.input
    expect(reply, Passes("The reply is polite and short, and it answers the question."))
    return reply
"""
NO = {"reasoning": "x", "passes": False, "confidence": 0.9}
RULES = [
    {"match": "question [1-7]?[05]\\.", "reply": NO},
    {"match": "question", "reply": {**NO, "passes": True}},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where a run is that somebody has labelled, with its canaries."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("narrow")
        patch.chdir(home)
        Path("evals.py").write_text(EVALS)
        Path("offline.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in RULES))
        yield home


@pytest.fixture
def evenhand(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs a command line there, for a terminal of 80 columns."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    evenhand = in_process(capsys)
    if not Path("canaries.json").exists():
        evenhand("run", "evals.py", "--offline", "--no-progress")
        evenhand("runs", "tag", "latest", "labelled")
        evenhand("label", "--draw", "64", "--to", "draw.csv")
        with Path("draw.csv").open() as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            row["verdict"] = "fail" if int(row["case"].split()[-1]) % 4 == 0 else "pass"
        with Path("draw.csv").open("w") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        evenhand("label", "--from", "draw.csv", "--by", "ann")
        assert evenhand("runs", "canaries", "latest", "--keep", "40").code == 0
    return evenhand


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("run evals.py --offline", "64 trials"),
        ("check evals.py --offline", "judge     openai:gpt-5   64 calls"),
        ("check evals.py", "Set OPENAI_API_KEY"),
        ("info power", "cases show a difference of 5 points"),
        ("calibrate", "agreement  "),
        ("calibrate --try repeats=2 --dry-run", "labelled outputs"),
        ("calibrate --try repeats=2 --offline", "per verdict"),
        ("probe --dry-run", "answers to judge"),
        ("runs canaries {run} --offline", "the first check of these canaries"),
        ("runs canaries {run} --keep 40 --file other.json", "canaries written to other.json"),
        ("baseline --to other.evn", "it is not a baseline"),
        ("regrade {run} --with evals.py --offline", "the same outputs"),
    ],
)
def test_no_line_is_longer_than_eighty_columns(
    evenhand: Run, monkeypatch: pytest.MonkeyPatch, words: str, says: str
):
    """On stdout or stderr; a log, without a width, has each sentence in one piece."""
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    run = min(Path(".evenhand/runs").glob("*.db")).stem
    name = [run] if words.startswith(("calibrate", "probe", "info power", "baseline")) else []
    ended = evenhand(*words.format(run=run).split(), *name)
    text = ended.out + ended.err
    assert says in " ".join(text.split()) or says in text
    lines = [line for line in text.splitlines() if "\x1b" not in line]
    assert [line for line in lines if len(line) > 80] == []


def test_no_line_is_longer_on_a_terminal_that_rewrites_none(
    evenhand: Run, monkeypatch: pytest.MonkeyPatch
):
    """What is about to run, how far it is and what is said in between, on a dumb terminal."""
    monkeypatch.setenv("TERM", "dumb")
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    ended = evenhand("run", "evals.py", "--offline")
    heading, rest, *_ = ended.err.splitlines()
    assert heading.endswith(" ·")
    assert rest == "  replies scripted, no key needed"
    assert max(map(len, (ended.out + ended.err).splitlines())) <= 80


def test_a_log_has_each_sentence_in_one_piece(evenhand: Run, monkeypatch: pytest.MonkeyPatch):
    """Somebody looks for it there."""
    run = min(Path(".evenhand/runs").glob("*.db")).stem
    whole = "judge the outputs again (evenhand regrade --no-cache), and name both runs\n"
    assert f"how much the judge varies is unknown: {whole}" in evenhand("info", "power", run).out


def test_gates_of_a_promotion_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """And the command that comes next is whole."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    evenhand = in_process(capsys)
    evenhand("prompt", "new", "a-prompt-with-quite-a-long-name-for-its-folder")
    ended = evenhand("prompt", "promote", "a-prompt-with-quite-a-long-name-for-its-folder")
    assert "next: " in ended.err
    assert max(map(len, ended.err.splitlines())) <= 80
