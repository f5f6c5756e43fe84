"""A call counts where it was answered; what was asked in vain is counted beside it, and every place agrees."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.e2e.commands import Run, in_process

EVALS = """
from evenhand import EvalSet
from evenhand.scorers import Passes

evals = EvalSet("asking", data=[{"id": name, "input": f"rose {name}"} for name in "abcd"], judge="openai:gpt-5")


@evals.eval
def answers(case, expect):
    expect(case.input, Passes("is polite"))
    expect(case.input, Passes("is short"))
"""
POLITE = {"match": "is polite", "reply": {"reasoning": "x", "passes": True, "confidence": 0.9}}
SHORT = {"match": "is short", "reply": {"reasoning": "x", "passes": True, "confidence": 0.9}}
REFUSED = {"match": ["is polite", "rose [ab]"], "fault": 400}


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs a command line in a folder whose judge is asked eight times, and refuses two of the calls."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("asking_evals.py").write_text(EVALS)
    _script(REFUSED, POLITE, SHORT)
    return in_process(capsys)


def _script(*rules: object) -> None:
    Path("offline.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))


def test_table_summary_and_documents_count_the_calls_that_were_answered(evenhand: Run):
    """Six of eight; two without an answer stand beside them."""
    out = evenhand("run", "asking_evals.py", "--offline", "--no-progress").out
    assert re.search(r"^  answers .* – +6 +2 ", out, re.MULTILINE)  # latency, judge calls, errors
    assert " · 6 calls · " in out
    assert " · 2 calls without an answer · " in out
    document = json.loads(evenhand("show", "--json").out)
    assert document["totals"]["calls"] == 6
    (used,) = document["usage"]
    assert (used["calls"], used["unanswered"]) == (6, 2)


@pytest.mark.parametrize("offline", [True, False])
def test_an_estimate_foresees_the_calls_that_were_refused(
    evenhand: Run, monkeypatch: pytest.MonkeyPatch, *, offline: bool
):
    """They are made again, and may be answered then: their tokens and their price count as the others' do."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    evenhand("run", "asking_evals.py", "--offline", "--no-progress")
    (used,) = json.loads(evenhand("show", "--json").out)["usage"]
    checked = evenhand("check", "asking_evals.py", *["--offline"][: 1 if offline else 0]).out
    (row,) = [line for line in checked.splitlines() if line.startswith("  judge")]
    assert " 8 calls · " in row
    tokens = int(re.search(r"about ([\d,]+) tokens", row)[1].replace(",", ""))
    assert tokens == round(used["tokens_in"] * 8 / 6)
    document = json.loads(evenhand("check", "asking_evals.py", "--json").out)
    usd = document["calls"][0]["cost_expected_usd"]
    assert usd == pytest.approx((used["tokens_in"] * 1.25 + used["tokens_out"] * 10) / 1e6 * 8 / 6)
    assert f"about ${usd:.4f}" in row


def test_a_judge_that_answered_nothing_was_asked_all_the_same(evenhand: Run):
    """What is said of judges is said, and the page's table of models has it, with its calls in vain."""
    _script({"match": "You", "fault": 400})
    out = evenhand("run", "asking_evals.py", "--offline", "--no-progress").out
    assert "judge calls" not in out
    assert " · 8 calls without an answer" in out
    (used,) = json.loads(evenhand("show", "--json").out)["usage"]
    assert (used["role"], used["calls"], used["unanswered"]) == ("judge", 0, 8)


def test_calls_of_a_column_say_where_they_are_those_of_earlier_takes_too(evenhand: Run):
    """As many as the summary has, with the earlier ones that it names; a run without such has a plain heading."""
    _script({"match": ["is polite", "rose [ab]"], "reply": "nonsense"}, POLITE, SHORT)
    first = evenhand("run", "asking_evals.py", "--offline", "--no-progress").out
    assert re.search(" judge calls +errors ", first, re.MULTILINE)
    again = evenhand("resume", "latest", "--errors", "--no-progress").out
    assert re.search(" judge calls in all +errors ", again, re.MULTILINE)
    (every,) = re.findall(r"^  answers .* (\d+) +2 ", again, re.MULTILINE)
    ((calls, earlier),) = re.findall(r" · (\d+) calls · .* · (\d+) earlier calls of trials", again)
    assert int(every) == int(calls) + int(earlier)
