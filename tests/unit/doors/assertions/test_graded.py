"""Assertions that models decide: judges, retrieval, embeddings, classifiers; and sets of assertions."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.analysis.trust.judgements.judged import criteria_of
from evenhand.core.message import Prompt
from evenhand.doors.assertions.assertion import Assertion
from evenhand.doors.assertions.embedded import cosine, dot, euclidean
from evenhand.doors.assertions.preparing import prepared
from evenhand.testing import Scripted


def judge(**answers: str) -> Scripted:
    """A judge that answers by what it is asked, `_` for the hyphens of its name."""

    def said(prompt: Prompt) -> str:
        return answers[prompt.label.replace("-", "_")]

    return Scripted(said)


@pytest.mark.parametrize(
    ("reply", "outcome", "score"),
    [
        ('{"category": "A", "reason": "part of it"}', "pass", 1.0),
        ('{"category": "d"}', "fail", 0.0),
        ("(E) it differs in style", "pass", 0.5),
        ("no idea", "error", None),
        ('{"category": "F"}', "error", None),
    ],
)
async def test_the_category_decides_about_facts(
    settled: Any, reply: str, outcome: str, score: float | None
):
    """With the scores that the test gives them; `not-` changes nothing."""
    options = {"factuality": {"differButFactual": 0.5}}
    for type_ in ("factuality", "not-factuality", "model-graded-factuality"):
        found = await settled(type_, "42", judge=judge(factuality=reply), options=options)
        assert (found.outcome, found.score) == (outcome, score)


async def test_scores_of_categories_are_kept_with_the_outcome(settled: Any):
    """Others make other verdicts of the same answers, so a calibration doesn't hold for them."""
    asked = judge(factuality='{"category": "B"}')
    digests = {
        criteria_of(await settled("factuality", "42", judge=asked, options=options))
        for options in (
            {},
            {"factuality": {"superset": 0.5}},
            {"factuality": {"superset": 0}},
            {"factuality": {"superset": 0.5, "agree": 0.2}},
            {"factuality": {"agree": 0.2, "superset": 0.5}},
        )
    }
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("reply", "outcome"), [("Because. Y", "pass"), ("N", "fail"), ("Yes", "error"), (" ", "error")]
)
async def test_a_criterion_is_met_by_an_answer_that_ends_with_yes(
    settled: Any, reply: str, outcome: str
):
    """One letter, at its end."""
    asked = judge(model_graded_closedqa=reply)
    assert (await settled("model-graded-closedqa", "short", judge=asked)).outcome == outcome


async def test_what_a_grader_is_asked_is_kept_as_a_digest_apart_from_what_it_judges(settled: Any):
    """So that a calibration notices other words, and doesn't take other outputs for them."""
    asked = judge(model_graded_closedqa="Y")

    async def instrument(output: str, **options: Any) -> str:
        outcome = await settled(
            "model-graded-closedqa", "short", output=output, judge=asked, **options
        )
        return outcome.metadata["instrument"]

    ours = await instrument("one")
    assert ours == await instrument("two")
    words = "Is {{output}} {{criteria}}? End with Y or N."
    mine = await instrument("one", rubric_prompt=words)
    assert mine == await instrument("two", rubric_prompt=words)
    assert mine != ours
    reworded = await instrument("one", rubric_prompt=words + " ")
    assert reworded not in (mine, ours)


async def test_steps_are_worked_out_and_then_followed(settled: Any):
    """For each criterion; the mean of the points out of ten is the score."""
    asked = judge(
        g_eval_steps='{"steps": ["look", "count"]}', g_eval='{"score": 6, "reason": "so"}'
    )
    found = await settled("g-eval", ["short", "true"], judge=asked)
    assert (found.outcome, found.score) == ("fail", 0.6)
    assert len(asked.asked) == 4
    assert "- count" in asked.asked[1].text
    assert (await settled("g-eval", "short", judge=asked, threshold=0.5)).outcome == "pass"
    assert (await settled("not-g-eval", "short", judge=asked)).score == pytest.approx(0.4)
    beyond = judge(g_eval_steps='{"steps": ["look"]}', g_eval='{"score": 11, "reason": "so"}')
    assert (await settled("not-g-eval", "short", judge=beyond)).outcome == "error"


async def test_a_conversation_is_judged_window_by_window(settled: Any):
    """The share of windows whose last message belongs there."""
    replies = iter(
        ['{"verdict": "yes"}', '{"verdict": "no", "reason": "off"}', '{"verdict": "yes"}']
    )
    turns = [{"input": f"q{n}", "output": f"a{n}"} for n in range(3)]
    found = await settled(
        "conversation-relevance",
        judge=Scripted(lambda prompt: next(replies)),
        variables={"_conversation": turns},
        config={"windowSize": 2},
    )
    assert found.score == pytest.approx(2 / 3)
    assert found.reason == "off"


ABOUT = {"query": "What is it?", "context": "It is 42. It is old."}


@pytest.mark.parametrize(
    ("type_", "answers", "score"),
    [
        ("context-recall", {"context_recall": "a [Attributed]\nb [Not Attributed]"}, 0.5),
        ("context-relevance", {"context_relevance": "It is 42."}, 0.5),
        ("context-relevance", {"context_relevance": "Insufficient Information"}, 0.0),
        (
            "context-faithfulness",
            {
                "context_faithfulness_longform": "It is 42.\nIt is new.",
                "context_faithfulness_nli": "Final verdict for each statement in order: Yes. No.",
            },
            0.5,
        ),
        ("context-recall", {"context_recall": "nothing to say"}, None),
    ],
)
async def test_a_share_of_sentences_is_the_score(
    settled: Any, type_: str, answers: dict[str, str], score: float | None
):
    """Of those that the context backs, or that are needed; without any it is an error."""
    found = await settled(type_, "It is 42.", judge=judge(**answers), variables=ABOUT)
    assert found.score == score
    assert found.outcome == ("error" if score is None else "pass" if score >= 0.5 else "fail")


async def test_retrieval_without_a_query_is_an_error(settled: Any):
    """There is nothing to be relevant to."""
    found = await settled("context-relevance", judge=judge(), variables={"context": "c"})
    assert (found.outcome, found.error) == ("error", "score")


async def test_the_questions_that_an_answer_answers_are_compared_with_the_one_asked(settled: Any):
    """By embeddings."""
    asked = judge(answer_relevance="What is it?")
    found = await settled("answer-relevance", judge=asked, embedder=asked, variables=ABOUT)
    assert found.score == pytest.approx(1.0)


def test_vectors_are_compared_in_three_ways():
    """By angle, by product and by distance; of one length only."""
    assert cosine([1, 0], [1, 1]) == pytest.approx(0.5**0.5)
    assert cosine([0, 0], [1, 1]) == 0.0
    assert dot([1, 2], [3, 4]) == 11
    assert euclidean([0, 0], [3, 4]) == 5
    with pytest.raises(Exception, match="cannot be compared"):
        dot([1], [1, 2])


async def test_texts_with_the_same_words_are_similar(settled: Any):
    """The first that is near enough decides; a distance is bounded from above."""
    asked = {"output": "the cat sat", "judge": Scripted()}
    near = await settled("similar", ["a dog", "the cat sat"], **asked)
    assert (near.outcome, near.score) == ("pass", pytest.approx(1.0))
    assert (await settled("not-similar", "the cat sat", **asked)).outcome == "fail"
    far = await settled("similar:euclidean", "the cat sat", **asked, threshold=0.1)
    assert (far.outcome, far.score) == ("pass", pytest.approx(1.0))
    assert (await settled("similar", [], **asked)).outcome == "error"


async def test_a_label_has_a_share(settled: Any):
    """Of its own, or the highest where none is named."""
    classifier = Scripted(['{"kind": 0.8, "rude": 0.2}'])
    assert (await settled("classifier", "kind", judge=classifier, threshold=0.8)).outcome == "pass"
    assert (await settled("classifier", "rude", judge=classifier)).score == 0.2
    assert (await settled("classifier", judge=classifier, threshold=0.5)).score == 0.8
    assert (await settled("not-classifier", "rude", judge=classifier)).score == 0.8


async def test_what_is_flagged_fails(settled: Any):
    """Of all categories, or of those that are named; nothing said is nothing to flag."""
    moderator = Scripted(['{"hate": 0.9}'])
    assert (await settled("moderation", judge=moderator)).outcome == "fail"
    assert (await settled("moderation", ["violence"], judge=moderator)).outcome == "pass"
    assert (await settled("moderation", output="", judge=moderator)).outcome == "pass"
    assert (await settled("moderation", "hate", judge=moderator)).outcome == "error"


@pytest.mark.parametrize(
    ("values", "threshold", "outcome", "score"),
    [
        (("the", "answer"), None, "pass", 1.0),
        (("the", "question"), None, "fail", 0.5),
        (("the", "question"), 0.5, "pass", 0.5),
        (("question",), 0.1, "fail", 0.0),
        (("the", None), None, "error", None),
        (("question", None), None, "fail", None),
        (("question", None), 0.9, "fail", None),
        (("the", None), 0.4, "pass", None),
    ],
)
async def test_a_set_counts_as_one(
    settled: Any, values: tuple[str | None, ...], threshold: float | None, outcome: str, score: Any
):
    """All of them, or their mean; one in error leaves it open unless the others have decided."""
    makes = tuple(prepared(Assertion(type="contains", value=value)) for value in values)
    found = await settled("assert-set", makes=makes, threshold=threshold)
    assert (found.outcome, found.score) == (outcome, score)
