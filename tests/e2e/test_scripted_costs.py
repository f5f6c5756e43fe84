"""Replies of a script have no price: every place says so, and none calls their cost unknown, or $0."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.e2e.commands import Run, in_process

from evenhand.testing import FakeProvider, Script

ASKING = """
from evenhand import EvalSet
from evenhand.scorers import Passes

evals = EvalSet(
    "asking", data=[{"id": "a", "input": "a"}, {"id": "b", "input": "b"}],
    model="openai:gpt-5-mini", judge="openai:gpt-5",
)


@evals.eval
async def answers(case, model, expect):
    reply = await model.generate(f"Shop: {case.input}")
    expect(reply.text, Passes("is polite"))
    return reply.text
"""
PLAIN = """
from evenhand import EvalSet

evals = EvalSet("plain", data=[{"id": "c", "input": "c"}])


@evals.eval
def is_short(case, expect):
    expect(len(case.input) < 9, "is short")
    return case.input
"""
RULES = [
    {"match": "polite", "reply": {"reasoning": "It is.", "passes": True, "confidence": 0.9}},
    {"match": "Shop", "reply": "Good day!", "model": "gpt-5-mini"},
]


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs a command line in a folder with two eval sets, of which one asks models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/asking_evals.py").write_text(ASKING)
    (tmp_path / "evals/plain_evals.py").write_text(PLAIN)
    Path("offline.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in RULES))
    return in_process(capsys)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("show",), "replies scripted"),
        (("show", "latest", "answers:a", "-v"), "Good day!"),
        (("export", "--to", "-", "--format", "markdown"), "| scripted |"),
        (("runs", "history"), "scripted"),
        (("runs", "list"), "finished"),
        (("compare", ":1", ":2"), ""),
        (("export", "--to", "-", "--format", "junit"), "is polite"),
        (("check", "--offline"), "replies scripted"),
        (("probe", "--offline", "--dry-run"), "replies scripted (from models about $0.0034)"),
        (("probe", "--offline"), "replies scripted; next"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_the_cost_of_scripted_replies_is_neither_unknown_nor_nothing(
    evenhand: Run, words: tuple[str, ...], says: str
):
    """In every place that reads the run of two eval sets, one of which asks nobody."""
    first = evenhand("run", "--offline", "--no-progress")
    ended = evenhand(*words)
    for text in (first.out + first.err, ended.out + ended.err):
        assert "unknown" not in text
        assert not re.search(r"\$0(?!\.)", text)
    assert says in ended.out + ended.err


def test_a_scripted_probe_of_a_run_that_asked_models_is_scripted(
    evenhand: Run, monkeypatch: pytest.MonkeyPatch
):
    """Its own options say so, and not those of the run whose judges it asks."""
    with FakeProvider(Script.read(Path("offline.jsonl"))) as fake, monkeypatch.context() as patch:
        for name, value in fake.env().items():
            patch.setenv(name, value)
        assert evenhand("run", "--no-progress").code == 0
    probed = evenhand("probe", "--offline", "--no-progress")
    assert "replies scripted; next" in probed.err
    assert "replies scripted" not in evenhand("show", _runs()[0].stem).out
    assert "replies scripted" in evenhand("show", _runs()[1].stem).out


def test_the_sentences_of_a_probe_stay_within_the_width(
    evenhand: Run, monkeypatch: pytest.MonkeyPatch
):
    """Whatever the terminal has."""
    assert evenhand("run", "--offline", "--no-progress").code == 0
    monkeypatch.setenv("COLUMNS", "80")
    lines = evenhand("probe", "--offline", "--no-progress").out.splitlines()
    assert any("not decided" in line for line in lines)
    assert max(map(len, lines)) <= 80


def _runs() -> list[Path]:
    return sorted(Path(".evenhand/runs").glob("*.db"))
