"""The filter's grammar and what it chooses, on the vectors that the viewer's page is tested on, too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.analysis.filters.query import Names, parse
from evenhand.analysis.filters.vocabulary import Vocabulary
from evenhand.analysis.filters.where import select
from evenhand.core.names import nearest
from evenhand.core.run import TrialError, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.store.labels.label import Label, standing

VECTORS: Mapping[str, Any] = json.loads(
    (Path(__file__).parents[3] / "vectors" / "where.json").read_text("utf-8")
)
CASES = {case["id"]: case for case in VECTORS["cases"]}


def _trial(row: Mapping[str, Any]) -> TrialResult:
    case = CASES[row["case"]]
    same = ("index", "case", "variant", "repeat", "outcome", "score", "output", "latency_s")
    same += ("cost_usd", "tokens_in", "tokens_out", "calls", "cached", "named_scores")
    outcomes = [Outcome(name, "fail", 0.0) for name in row.get("failing", ())]
    return TrialResult(
        **{name: row[name] for name in same},
        unpaid_usd=0.0,  # the vectors' costs are those of all calls
        description=case["description"],
        vars=case["vars"],
        metadata={"tags": case["tags"], **case["metadata"]},
        reason=row.get("reason", ""),
        outcomes=(Outcome("is short", "pass", 1.0), *outcomes),
        error=TrialError(row["error"], row["message"]) if "error" in row else None,
    )


TRIALS = [_trial(row) for row in VECTORS["trials"]]
VARIANTS = [
    Variant(i, v["prompt"], v["model"], provider_id=v["provider_id"])
    for i, v in enumerate(VECTORS["variants"])
]
METRICS = list(dict.fromkeys(name for trial in TRIALS for name in trial.named_scores))
LABELS = standing(Label(**label) for label in VECTORS["labels"])
JUDGED: dict[int, dict[str, list[bool]]] = {}
for _row in VECTORS["judged"]:
    JUDGED.setdefault(_row["index"], {})[_row["metric"]] = _row["passed"]
BEFORE = {
    (TRIALS[i].case, TRIALS[i].variant, TRIALS[i].repeat): (outcome, score)
    for i, outcome, score in VECTORS["before"]
}


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["query"] or "-")
def test_a_query_means_what_the_vectors_say(vector: Mapping[str, Any]) -> None:
    """Each query chooses the same trials, or is refused in the same words, as on the page."""
    names = Names.of(VARIANTS, METRICS, baseline=vector.get("baseline", True))
    assert [name for name, _, _ in names.columns] == [v["name"] for v in VECTORS["variants"]]
    terms, problems = parse(vector["query"], names)
    said = [{"at": p.at, "end": p.end, "what": p.what, "hint": p.hint} for p in problems]
    assert said == vector.get("problems", [])
    if "matches" in vector:
        columns = [name for name, _, _ in names.columns]
        vocabulary = Vocabulary(columns, VARIANTS, terms)
        found = select(
            lambda: TRIALS,
            VARIANTS,
            terms,
            labels=LABELS,
            judged=JUDGED,
            before=BEFORE,
            vocabulary=vocabulary,
        )
        assert list(found) == vector["matches"]
        notes = [
            {"at": p.at, "end": p.end, "what": p.what, "hint": p.hint} for p in vocabulary.notes()
        ]
        assert notes == vector.get("notes", notes)


def test_a_problem_says_where_it_is() -> None:
    """Characters count from 1, and the hint stands in a line of its own."""
    _, (problem,) = parse("refund status:purple", Names())
    assert str(problem) == (
        "--where:15: 'status' has no value 'purple'\n  There are: pass, fail, error, na."
    )


@pytest.mark.parametrize(
    ("word", "known"),
    [("flaky", "flaky"), ("flakyy", "flaky"), ("falky", "flaky"), ("zebra", ""), ("", "")],
)
def test_the_nearest_word_is_few_letters_away(word: str, known: str) -> None:
    """A slip or two is seen through, anything else is not guessed at."""
    assert nearest(word, ["flaky", "different"]) == known
