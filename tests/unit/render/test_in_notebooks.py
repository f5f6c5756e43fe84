"""What a notebook shows of an object has every number that printing it has."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, EvalSet, Expect, Run, compare, run, score, score_batch
from evenhand.scorers import Contains, Label

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
ROWS = [
    {
        "id": f"case {i}",
        "question": "How long?",
        "answer": "30 days" if i % 3 else "no idea at all",
        "expected": "30 days",
        "tags": ["even" if i % 2 else "odd"],
    }
    for i in range(23)
]


def a_run(home: Path) -> Run:
    """With failures, errors, tags, repeats, labels and two variants."""
    evals = EvalSet("shop", data=ROWS, over={"tone": ["kind", "brief"]}, repeats=2)

    @evals.eval
    def answers(case: Case, tone: str, repeat: int, expect: Expect) -> str:
        number = int(case.id.split()[1])
        good = (number + len(tone) + repeat) % 3
        expect("30 days" if good else "no", Contains("30"))
        expect(number, at_most=19, label="words", metric="words")
        expect("a" if good else "b", Label("a", among=["a", "b"]))
        if number == 7:
            raise ValueError(tone)
        return "x"

    return run(evals, home=home, progress=False)


def the_batch(home: Path) -> Any:
    """Metrics with and without a value."""
    rows = [*ROWS, {"id": "none", "question": "q", "answer": None, "expected": "x"}]
    metrics = ["token_f1", "exact_match", Contains("30")]
    return score_batch(rows, metrics=metrics, progress=False, home=home)


def the_score(home: Path) -> Any:
    """Several metrics, weighed."""
    metrics = ["token_f1", "exact_match", Contains("x")]
    weights = {"token_f1": 2.0, "exact_match": 1.0}
    return score(
        answer="30 days x", expected="30 days", metrics=metrics, weights=weights, home=home
    )


def the_comparison(home: Path) -> Any:
    """Of two runs."""
    return compare(a_run(home / "a").path, a_run(home / "b").path)


@pytest.mark.parametrize("make", [a_run, the_batch, the_score, the_comparison])
def test_a_notebook_shows_every_number_that_is_printed(
    make: Callable[[Path], Any], tmp_path: Path
) -> None:
    """Metrics, intervals, counts, tags, errors and how long it took; the line on what to do next is for terminals."""
    shown = make(tmp_path)
    printed = re.sub(r"saved as .*|next: .*|cases 1–\d+", "", str(shown), flags=re.DOTALL)
    page = html.unescape(re.sub("<[^>]+>", " ", shown._repr_html_()))
    assert set(NUMBER.findall(printed)) <= set(NUMBER.findall(page))
