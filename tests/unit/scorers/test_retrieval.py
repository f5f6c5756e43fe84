"""Scorers about rankings and wording: what they take, what they refuse, what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand import score_batch
from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.traits import traits_of
from evenhand.scorers import (
    BLEU,
    METEOR,
    ROUGE,
    AveragePrecision,
    EditDistance,
    ExactMatch,
    HitAt,
    PrecisionAt,
    RecallAt,
    ReciprocalRank,
    TokenF1,
    chrF,
    nDCG,
    wording,
)
from evenhand.scorers.metrics.ranking import parse
from evenhand.scorers.wording import WORDINGS, Wording


def test_labels_are_the_fields_names_and_parse_back():
    """What a report says is what one types."""
    scorers = [
        nDCG(["a"], k=10),
        nDCG(["a"], k=10, exponential=True),
        PrecisionAt(["a"], k=5),
        RecallAt(["a"], k=5),
        HitAt(["a"], k=1),
        ReciprocalRank(["a"]),
        AveragePrecision(["a"], k=20),
    ]
    labels = [str(scorer) for scorer in scorers]
    assert labels == ["nDCG@10", "nDCG_exp@10", "P@5", "R@5", "hit@1", "RR", "AP@20"]
    assert [str(parse(label)) for label in labels] == labels


def test_a_ranking_is_scored_and_says_what_was_missed():
    """The reason counts what is relevant and was not retrieved."""
    score = nDCG({"a": 3, "b": 1, "c": 0}, k=10).score(["b", "x"])
    assert score.value is not None
    assert 0 < score.value < 1
    assert score.reason == "of 2 relevant, 1 not retrieved"
    assert score.metadata == {"relevant_retrieved": ["b"]}
    assert RecallAt(["a"], k=1).score({"a": 0.9, "b": 0.1}).value == 1


def test_nothing_relevant_does_not_apply():
    """Not 0, and not 1."""
    assert RecallAt([], k=5).score(["a"]).value is None


@pytest.mark.parametrize("given", ["abc", b"abc", 7, None, [["a"]], {"a": "high"}, {"a": True}])
def test_what_is_relevant_must_be_ids_or_grades(given):
    """A text is a list of letters to Python; to us it is a mistake."""
    with pytest.raises(UsageError, match="nDCG@5"):
        nDCG(given, k=5)


@pytest.mark.parametrize("grade", [float("nan"), float("inf"), 1e9])
def test_a_grade_must_be_a_number_that_can_be_counted_with(grade):
    """2 to the power of it is still a number."""
    with pytest.raises(UsageError, match="the grade of 'a'"):
        nDCG({"a": grade})


@pytest.mark.parametrize("output", ["abc", None, 3, [{}], {"a": float("nan")}, {"a": "x"}])
def test_an_output_that_is_no_ranking_is_an_error_and_no_score(output):
    """Among them the bare text, whose letters would be ids."""
    with pytest.raises(ScoreError):
        ReciprocalRank(["a"]).score(output)


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "5"])
def test_a_cut_is_a_whole_number_from_1(k):
    """And told where the scorer is written."""
    with pytest.raises(UsageError):
        PrecisionAt(["a"], k=k)


@pytest.mark.parametrize(
    "scorer",
    [
        ExactMatch("a cat"),
        TokenF1("a cat"),
        ROUGE("a cat"),
        ROUGE("a cat", "1"),
        BLEU("a cat"),
        chrF("a cat"),
        METEOR("a small cat sat"),
    ],
)
def test_a_text_is_compared_with_the_nearest_reference(scorer):
    """What is the same has the highest number, what has nothing in common the lowest."""
    references = scorer.references[0]
    assert scorer.score(references).value == pytest.approx(1, abs=0.01)
    assert scorer.score("zzz").value == pytest.approx(0, abs=0.01)
    several = type(scorer)(["other words here", references])
    assert several.score(references).value == pytest.approx(1, abs=0.01)


def test_the_distance_counts_characters():
    """0 for the same; the nearest reference counts; an empty one is a text like any other."""
    assert EditDistance("kitten").score("sitting").value == 3
    assert EditDistance(["sitting", "x"]).score("sitting").value == 0
    assert EditDistance("").score("abc").value == 3


def test_a_distance_has_no_highest_score():
    """By whichever name it is asked for; the others are shares."""
    distance = traits_of(EditDistance)
    assert (distance.scale, distance.lower_is_better, distance.counted) == (None, True, False)
    assert traits_of(EditDistance("x")) == traits_of(Wording("edit_distance", "x")) == distance
    assert traits_of(Wording("token_f1", "x")).scale == (0.0, 1.0)


@pytest.mark.parametrize("name", [name for name in WORDINGS if name != "edit_distance"])
def test_an_empty_reference_does_not_apply(name):
    """There is nothing to compare with: no number."""
    assert Wording(name, "").score("text").value is None


@pytest.mark.parametrize("given", [None, 3, ["a", None], {"a": 1}])
def test_a_reference_must_be_text(given):
    """Told where the scorer is made."""
    with pytest.raises(UsageError, match="token_f1"):
        TokenF1(given)


def test_words_that_are_not_known_say_which_there_are():
    """A name of a number, and a tokeniser."""
    with pytest.raises(UsageError, match="There are: exact_match"):
        Wording("rouge", "x")
    with pytest.raises(UsageError, match="There are: 13a"):
        BLEU("x", tokenize="14a")


def test_a_missing_library_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch):
    """When the scorer is made, and not in the middle of a run."""
    monkeypatch.setattr(wording, "_there", lambda library: False)
    with pytest.raises(UsageError, match=r"pip install 'evenhand\[text\]'"):
        BLEU("x")


@pytest.mark.parametrize("name", WORDINGS)
def test_each_number_lies_on_the_scale_that_its_metric_declares(name: str, tmp_path: Path):
    """The distance counts characters; a number off its scale would be an error."""
    report = score_batch(
        [
            {
                "id": "a",
                "answer": "The moon is made of rock.",
                "expected": "Gravity pulls the water.",
            }
        ],
        metrics=[name],
        home=tmp_path,
    )
    (summary, *_) = report.summary()
    assert (summary.metric, summary.n, summary.errors) == (name, 1, 0)


@pytest.mark.parametrize(
    ("relevant", "retrieved"),
    [({1: 2, 2: 1}, ["2", "9"]), ({"7"}, [9, 7]), ([7], {"7": 0.9, "8": 0.1}), (["é", 3], ["3"])],
)
def test_ids_that_differ_in_type_alone_are_an_error_and_not_0(relevant, retrieved):
    """A database's numbers beside a file's texts: nothing would ever be found."""
    for metric in (nDCG(relevant), RecallAt(relevant, k=5), PrecisionAt(relevant, k=5)):
        with pytest.raises(ScoreError, match="was retrieved, and"):
            metric.score(retrieved)


def test_ids_of_two_types_that_both_match_stay_as_they_are():
    """7 and "7" may be two documents."""
    assert RecallAt([7, "7"], k=5).score(["7", 7]).value == 1
    assert RecallAt([7, 8], k=5).score([7, "9"]).value == 0.5


def test_a_grade_may_be_as_large_as_the_largest():
    """And no larger."""
    assert nDCG({"a": 1000.0}).score(["a"]).value == 1
    with pytest.raises(UsageError, match="not up to 1000"):
        nDCG({"a": 1000.5})
