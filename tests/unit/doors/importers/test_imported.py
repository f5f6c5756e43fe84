"""Runs of other tools: what they come to as runs of ours, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.analysis.summaries.column_names import column_head, column_names
from evenhand.core.errors import UsageError
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.doors.importers.imported import (
    MOST_TOLD,
    UNNAMED,
    Imported,
    ImportedRun,
    ImportedTrial,
)

PASSED = Outcome("polite", "pass", 1.0)
FAILED = Outcome("short", "fail", 0.0, "40 words", weight=3.0)
BROKEN = Outcome("grounded", "error", None, "the judge did not answer", error="judge")


def imported(*trials: ImportedTrial, **more: object) -> Imported:
    """A run with these trials."""
    about = {"id": "n-1", "title": "nightly", "created_at": 1e9, "variants": ["a", "b"]} | more
    return Imported(ImportedRun(trials=trials, **about), Path("results.json"), "nightly")  # type: ignore[arg-type] (of the test)


@pytest.mark.parametrize(
    ("trial", "outcome", "score"),
    [
        (ImportedTrial("q", outcomes=[PASSED]), "pass", 1.0),
        (ImportedTrial("q", outcomes=[PASSED, FAILED]), "fail", 0.25),
        (ImportedTrial("q", outcomes=[PASSED, BROKEN]), "error", None),
        (ImportedTrial("q", outcome="pass", outcomes=[FAILED]), "pass", 0.0),
        (ImportedTrial("q", outcome="fail", score=0.4), "fail", 0.4),
        (ImportedTrial("q", outcome="error", score=0.4, error="timed out"), "error", None),
        (ImportedTrial("q", outcome="not_applicable"), "not_applicable", None),
    ],
)
def test_a_trial_is_what_its_importer_says_or_what_its_outcomes_come_to(
    trial: ImportedTrial, outcome: str, score: float | None
):
    """All must pass; an error is never a score."""
    (result,) = imported(trial).trials()
    assert (result.outcome, result.score) == (outcome, score)
    assert (result.error is not None) == (outcome == "error")


def test_the_same_results_have_the_same_id_and_others_have_another():
    """So that they are not imported twice."""
    trial = ImportedTrial("q", outcome="pass")
    first = imported(trial).meta
    assert imported(trial).meta.id == first.id
    assert len({first.id, imported(trial, id="n-2").meta.id}) == 2
    assert len({first.id, imported(trial, created_at=2e9).meta.id}) == 2


def test_what_is_known_of_the_run_is_in_its_meta_and_secrets_are_not():
    """Counts come from the trials; settings are redacted."""
    meta = imported(
        ImportedTrial("q", outcome="pass", repeat=1),
        ImportedTrial("q", variant=1, outcome="pass"),
        variants=["a", Variant(7, "plain", "b")],
        took_s=5,
        settings={"apiKey": "sk-abcdefghijklmnopqrstuvwxyz", "temperature": 0},
    ).meta
    assert (meta.planned, meta.case_count, meta.repeats) == (2, 1, 2)
    assert [(v.index, v.prompt, v.model) for v in meta.variants] == [
        (0, "", "a"),
        (1, "plain", "b"),
    ]
    assert meta.finished_at == 1e9 + 5
    assert "sk-abc" not in str(meta.config)
    assert meta.config["temperature"] == 0
    assert imported(ImportedTrial("q", outcome="pass")).meta.finished_at is None


@pytest.mark.parametrize(
    ("trial", "says"),
    [
        (ImportedTrial("", outcome="pass"), "trial 1 (''): it has no case"),
        (ImportedTrial("q", variant=2, outcome="pass"), "variant is 2, and there are 2"),
        (ImportedTrial("q", repeat=-1, outcome="pass"), "repeat is -1"),
        (ImportedTrial("q", outcome="pass", score=float("nan")), "score is nan, not a number"),
        (ImportedTrial("q", outcome="pass", score=1e308), "score is 1e+308, not a number up to"),
        (ImportedTrial("q"), "it has neither an outcome nor outcomes"),
        (ImportedTrial("q", outcome="error"), "its outcome is error, and nothing says why"),
        (ImportedTrial("q", outcome="pass", labels={"verdict": "maybe"}), "label value: 'maybe'"),
        (ImportedTrial("q", outcome="pass", output=object()), "it holds a value that is not JSON"),
    ],
)
def test_a_trial_that_cannot_be_kept_is_refused_with_its_place(trial: ImportedTrial, says: str):
    """Before anything is written."""
    with pytest.raises(UsageError) as refused:
        imported(trial)
    assert says in refused.value.message


def test_all_problems_are_told_at_once_and_a_great_many_are_counted():
    """A file with the same mistake in each row does not fill the screen."""
    with pytest.raises(UsageError) as refused:
        imported(*(ImportedTrial(f"q{i}") for i in range(MOST_TOLD + 5)), id="")
    assert "it has no id; trial 1 ('q0')" in refused.value.message
    assert refused.value.message.endswith("; and 6 more")


@pytest.mark.parametrize("variant", ["", " ", Variant(0, "", ""), Variant(0, " ", "")])
def test_a_variant_without_a_name_is_not_a_blank_column(variant: str | Variant):
    """It is called after what it holds."""
    meta = imported(ImportedTrial("q", outcome="pass"), variants=[variant]).meta
    assert column_names(meta.variants) == [UNNAMED]


def test_the_only_variant_of_an_import_is_called_as_its_file_calls_it():
    """By its model, or by its experiment, where there is no prompt."""
    meta = imported(ImportedTrial("q", outcome="pass"), variants=["gpt-5-mini"]).meta
    assert column_names(meta.variants) == ["gpt-5-mini"]
    assert column_head(meta.variants) == "model"
