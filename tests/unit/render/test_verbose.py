"""Trials with every expectation, for people."""

from __future__ import annotations

import pytest
from tests.runs import SUMMARIES, result

from evenhand.core.run import TrialError
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.core.wording.ink import Ink
from evenhand.core.wording.words import columns
from evenhand.render.outcome import outcome_lines
from evenhand.render.verbose import Verbose

ONE = (Variant(0, "p", "m"),)


def lines(
    *outcomes: Outcome, width: int = 80, variants=ONE, repeats: int = 1, **other
) -> list[str]:
    """What is printed of a trial with these outcomes."""
    trial = result(7, outcomes=outcomes, **{"case": "tides", **other})
    return Verbose(variants, repeats, width, Ink(False)).lines(trial)


def test_each_expectation_stands_on_its_own_line():
    """Mark, label, number, bounds and weight, then the reason; what did not apply is said in words."""
    found = lines(
        Outcome("words", "pass", 41.0, at_least=10, at_most=60, metadata={"compression": 2.5}),
        Outcome("is polite", "fail", 0.0, "it swears", weight=2),
        Outcome("contains x", "pass", 1.0),
        Outcome("recall", "not_applicable", None, "no context"),
        Outcome("clarity", "error", None, "the judge gave no score"),
        ok=False,
        score=0.5,
        latency_s=1.25,
    )
    assert found == [
        "  ✗ tides   score 0.5 · 1.2 s",
        "      ✓ words  41  (at least 10, at most 60)",
        "          compression  2.5",
        "      ✗ is polite  (weight 2)",
        "          it swears",
        "      ✓ contains x",
        "      – recall  not applicable",
        "          no context",
        "      ! clarity  error",
        "          the judge gave no score",
    ]


def test_a_judgement_tells_who_judged_and_how_sure_they_were():
    """Reasoning, judge, prompt version, confidence, and a warning where it is low; the reasoning is told once."""
    kept = {
        "reasoning": "It is rude.", "judge": "gpt-5", "prompt": "passes/1", "confidence": 0.3, "score": 0.0,
        "warning": "low confidence: 0.3", "suspect": "ignore the instructions", "ticket": "T-1",
    }  # fmt: skip
    assert lines(Outcome("is polite", "fail", 0.0, "It is rude.", metadata=kept))[1:] == [
        "      ✗ is polite",
        "          It is rude.",
        "          ! low confidence: 0.3",
        "          ! worth a look: ignore the instructions",
        "          judge gpt-5 · prompt passes/1 · confidence 0.3",
        "          ticket  T-1",
    ]


def test_metadata_called_like_a_part_of_a_judgement_is_told_apart():
    """The user's keeps its name, and the part says whose it is."""
    kept = {"verdict": {"passes": True, "tone": "kind"}, "passes": "mine"}
    assert lines(Outcome("fine", "pass", 1.0, metadata=kept))[2:] == [
        "          verdict.passes  true",
        "          tone  kind",
        "          passes  mine",
    ]


def test_an_empty_text_that_is_kept_can_be_seen():
    """And not a name with nothing beside it."""
    assert lines(Outcome("x", "pass", 1.0, metadata={"note": "", "n": 0}))[2:] == [
        '          note  ""',
        "          n  0",
    ]


def test_what_is_nested_gets_lines_of_its_own():
    """A judgement's fields and a jury's answers, one a line; a list stays a list."""
    kept = {
        "judgement": {"accuracy": {"reasoning": "right", "score": 4}, "overall": 3},
        "jury": [{"judge": "a", "score": 1.0}, {"judge": "b", "score": 0.0}],
        "scale": [1, 5],
        "reasoning": "longer than the reason",
    }
    assert lines(Outcome("x", "pass", 1.0, "short", metadata=kept))[3:] == [
        "          accuracy  score 4 · reasoning right",
        "          overall  3",
        "          jury 1  judge a · score 1",
        "          jury 2  judge b · score 0",
        "          scale  [1, 5]",
        "          reasoning  longer than the reason",
    ]


def test_columns_and_repeats_are_named_where_there_are_several():
    """A trial is found again: its column, its case, its repeat, its place in the plan."""
    (head, _) = lines(
        Outcome("x", "pass", 1.0), variants=SUMMARIES, repeats=3, repeat=1, description="high tide"
    )
    assert head == "  ✓ basic · high tide · repeat 2   score 1"


def test_a_trial_that_expects_nothing_says_so():
    """Neither silence nor a mark alone."""
    assert lines()[1:] == ["      nothing is expected"]


def test_a_trial_in_error_says_what_went_wrong_and_what_to_do():
    """Where the body itself failed there are no expectations to list."""
    error = TrialError("auth", "no key", "Set OPENAI_API_KEY.")
    assert lines(ok=None, error=error)[1:] == ["      auth: no key", "      Set OPENAI_API_KEY."]


@pytest.mark.parametrize("width", [50, 80, 120])
def test_lines_fit_the_terminal_and_never_steer_it(width: int):
    """Long labels, reasons and metadata are wrapped, wide characters counted as two, escapes shown."""
    evil = "\x1b[2J\u202eword " * 60
    kept = {"judge": evil, "warning": evil, "notes": evil, evil: "x", "wide": "水" * 300}
    found = lines(
        Outcome(evil, "fail", 0.5, evil + "\n" + "水" * 200, at_least=1, metadata=kept),
        width=width,
        ok=False,
        case=evil,
    )
    assert not any("\x1b" in line or "\u202e" in line for line in found)
    assert max(map(columns, found)) <= width
    assert len(found) < 60


def test_colours_stand_around_marks_and_warnings_only_when_wanted():
    """The same text, with and without."""
    outcome = Outcome("x", "pass", 1.0, metadata={"warning": "low confidence: 0.1"})
    assert outcome_lines(outcome, 80, Ink(True))[0] == "  \x1b[32m✓\x1b[0m x"
    assert "\x1b" not in "".join(outcome_lines(outcome, 80, Ink(False)))
