"""Other tools' definitions, from the same verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from evenhand.core.case import Case
from evenhand.core.errors import UsageError
from evenhand.core.message import Prompt
from evenhand.scorers import (
    AnswerRelevance,
    Completeness,
    ContextPrecision,
    ContextRecall,
    ContextRelevance,
    Correctness,
    EntityRecall,
    Faithfulness,
    Hallucination,
    SemanticSimilarity,
    Summarisation,
)
from evenhand.scorers.rag.definitions import OURS, SYSTEMS, VARIANTS, VERSIONS, using_definitions
from evenhand.testing import Scripted

PAGES = ["Trees grow.", "NOT Ruby is old. Matz made Ruby.", "Ruby is red."]
ANSWER = "Matz made Ruby. Ruby is old. Ruby is fast. Ruby is red."
CASE = Case("1", input="Who made Ruby?", expected="Matz made Ruby. Ruby is new.")


class Letters:
    """Embeds a text as how often it has each of a few letters."""

    def embed(self, texts: Any) -> list[list[float]]:
        return [[1.0 + text.count(letter) for letter in "aeiou"] for text in texts]


def by_letters(one: str, other: str) -> float:
    """The cosine of two texts, as the library's formula has it."""
    a, b = Letters().embed([one, other])
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5


@pytest.mark.parametrize(
    ("output", "make", "numbers"),
    [
        (
            ANSWER,
            lambda d: Faithfulness(PAGES, definitions=d),
            {
                OURS: 0.5,
                "ragas": 0.5,
                "deepeval": 0.75,
                "eval-ruby": 0.5,
                "promptfoo": 0.5,
            },
        ),
        (ANSWER, lambda d: Hallucination(PAGES, definitions=d), {OURS: 0.5, "deepeval": 1 / 3}),
        (
            "Matz made Ruby; maybe so; the weather is fine.",
            lambda d: AnswerRelevance(definitions=d),
            {
                OURS: 1 / 3,
                "deepeval": 2 / 3,
            },
        ),
        (
            PAGES,
            lambda d: ContextPrecision(definitions=d),
            {
                OURS: 1 / 3,
                "ragas": 0.5,
                "deepeval": 0.5,
                "eval-ruby": 2 / 3,
            },
        ),
        (
            PAGES,
            lambda d: ContextRecall(definitions=d),
            {
                OURS: 0.5,
                "ragas": 0.5,
                "deepeval": 0.5,
                "eval-ruby": 0.5,
                "promptfoo": 0.5,
            },
        ),
        (
            PAGES,
            lambda d: ContextRelevance(definitions=d),
            {
                OURS: 33 / 42,
                "deepeval": 0.75,
                "promptfoo": 0.75,
            },
        ),
        (["ruby by Matz", "new"], lambda d: EntityRecall(definitions=d), {OURS: 1.0, "ragas": 0.5}),
    ],
    ids=[
        "faithfulness",
        "hallucination",
        "relevance",
        "precision",
        "recall",
        "context",
        "entities",
    ],
)
async def test_one_set_of_verdicts_has_several_sums(
    settled: Any, judge: Any, output: Any, make: Any, numbers: Any
):
    """Ours and the others', side by side, for no call more."""
    found = await settled(*((output, make(system)) for system in numbers), case=CASE)
    assert [one.score for one in found] == pytest.approx(list(numbers.values()))
    whose = [one.metadata.get("definitions", OURS) for one in found]
    assert whose == list(numbers)
    assert len(judge.asked) <= 2


async def test_a_summary_is_blended_where_others_blend(settled: Any):
    """The lower of two numbers, or the mean of coverage and brevity."""
    source, summary = "Matz made Ruby. Ruby is red. Trees grow.", "Matz made Ruby. Ruby is slow."
    low, blend = await settled(
        (summary, Summarisation(source, definitions="deepeval")),
        (summary, Summarisation(source, definitions="ragas")),
    )
    assert low.score == pytest.approx(min(1 / 2, 1 / 3))
    assert blend.score == pytest.approx((1 / 3 + 1 - 22 / 30) / 2)


async def test_correctness_of_ragas_adds_a_quarter_of_similarity(settled: Any):
    """0.75 of F1 over claims, where false negatives are claims of the reference."""
    (one,) = await settled(
        (ANSWER, Correctness(definitions="ragas", embedder=Letters())), case=CASE
    )
    f1 = 2 * 1 / (2 * 1 + 3 + 1)
    near = by_letters(ANSWER, "Matz made Ruby. Ruby is new.")
    assert one.score == pytest.approx(0.75 * f1 + 0.25 * near)
    assert one.metadata["f1"] == pytest.approx(f1)


@pytest.mark.parametrize(("evaded", "ragas"), [(False, None), (True, 0.0)])
async def test_relevance_by_guessed_questions(settled: Any, evaded: bool, ragas: float | None):
    """The mean cosine; 0 for ragas where all three are evaded, while promptfoo does not look."""
    guesses = ["Who made Ruby?", "Whose is Ruby?", "What did Matz make?"]
    said = [{"id": i, "question": g, "noncommittal": evaded} for i, g in enumerate(guesses, 1)]
    judge = Scripted((json.dumps({"questions": said}),))
    found = await settled(
        *(
            (ANSWER, AnswerRelevance(definitions=system, embedder=Letters()))
            for system in ("ragas", "promptfoo")
        ),
        case=CASE,
        by=judge,
    )
    mean = fmean(by_letters("Who made Ruby?", guess) for guess in guesses)
    assert [one.score for one in found] == pytest.approx([mean if ragas is None else ragas, mean])
    assert len(judge.asked) == 1


@pytest.mark.parametrize(
    ("output", "scorer"),
    [
        (ANSWER, AnswerRelevance(definitions="eval-ruby")),
        (ANSWER, Correctness(definitions="eval-ruby")),
        (PAGES, ContextRelevance(definitions="ragas")),
    ],
)
async def test_numbers_that_judges_make_up_are_asked_for_as_ratings(
    settled: Any, output: Any, scorer: Any
):
    """Three levels, 0 to 1."""
    judge = Scripted(('{"reasoning": "in part", "score": 1, "confidence": 0.9}',))
    (one,) = await settled((output, scorer), case=CASE, by=judge)
    assert (one.score, one.reason) == (0.5, "in part")
    assert one.metadata["definitions"] == scorer.definitions


async def test_empty_sides_come_to_what_others_make_of_them(settled: Any, judge: Any):
    """An answer without claims is faithful to deepeval; contexts in the question are nothing to ragas."""
    case = Case("1", input="Trees grow. Why?", expected="nothing here")
    greets, inside, nameless = await settled(
        ("Hello there.", Faithfulness(PAGES, definitions="deepeval")),
        (["Trees grow."], ContextRelevance(definitions="ragas")),
        (["Trees grow."], EntityRecall(definitions="ragas")),
        case=case,
    )
    assert (greets.score, inside.score, nameless.score) == (1.0, 0.0, 0.0)


async def test_a_run_can_use_them_where_they_exist(settled: Any):
    """A scorer's own definitions win; what the tool does not have is as ours."""
    with using_definitions("deepeval"):
        wide, own, ours = await settled(
            (ANSWER, Faithfulness(PAGES)),
            (ANSWER, Faithfulness(PAGES, definitions="ragas")),
            (ANSWER, Completeness("Who made Ruby?")),
        )
    assert (wide.score, wide.metadata["definitions"]) == (0.75, "deepeval")
    assert (own.score, own.metadata["definitions"]) == (0.5, "ragas")
    assert "definitions" not in ours.metadata
    (after,) = await settled((ANSWER, Faithfulness(PAGES)))
    assert after.score == 0.5


def test_a_tool_that_nobody_knows_is_told():
    """With the nearest name."""
    with pytest.raises(UsageError, match="Did you mean 'ragas'"), using_definitions("raga"):
        pass
    with pytest.raises(UsageError, match="promptfoo has no definition of hallucination"):
        Hallucination(PAGES, definitions="promptfoo")


def test_every_tool_that_is_offered_has_something():
    """And says what it computes."""
    offered = {system for variants in VARIANTS.values() for system in variants}
    assert offered == set(SYSTEMS) - {OURS}
    assert offered == VERSIONS.keys()


def test_the_guide_names_the_version_and_has_the_definitions_that_there_are():
    """A row for each metric, a column for each tool with its version, and a dash where it has none."""
    page = (Path(__file__).resolve().parents[4] / "docs/rag.md").read_text("utf-8")
    head, _, *rows = page[page.index("| metric | `ragas`") :].split("\n\n")[0].splitlines()
    titles = [cell.strip() for cell in head.strip("| ").split("|")]
    assert titles == ["metric", *(f"`{tool}` ({version})" for tool, version in VERSIONS.items())]
    table = [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]
    assert {cells[0].replace(" ", "_"): [cell != "–" for cell in cells[1:]] for cells in table} == {
        metric: [tool in tools for tool in VERSIONS] for metric, tools in VARIANTS.items()
    }


class Slow(Letters):
    """Embeds in its own time."""

    id = "slow"

    async def embed(self, texts: Any) -> list[list[float]]:
        return super().embed(texts)


@pytest.mark.parametrize("embedder", [Letters(), Slow()])
async def test_similarity_is_the_raw_cosine(settled: Any, embedder: Any):
    """Negative numbers stay; who embedded, and in how many dimensions, is kept."""
    (one,) = await settled((ANSWER, SemanticSimilarity("Trees", embedder=embedder)))
    assert one.score == pytest.approx(by_letters(ANSWER, "Trees"))
    assert one.metadata == {"embedder": getattr(embedder, "id", "Letters"), "dimension": 5}


class Fixed:
    """Gives these vectors, whatever it is asked."""

    def __init__(self, vectors: Any) -> None:
        self.vectors = vectors

    def embed(self, texts: Any) -> Any:
        return self.vectors


async def test_opposite_texts_are_minus_one(settled: Any):
    """Nothing is clamped to 0."""
    (one,) = await settled(("a", SemanticSimilarity("b", embedder=Fixed([[1, 2], [-1, -2]]))))
    assert one.score == pytest.approx(-1.0)


@pytest.mark.parametrize(
    "vectors",
    [
        None,
        [],
        [[1.0]],
        [[1.0], [1.0, 2.0]],
        [[0.0, 0.0], [1.0, 1.0]],
        [[float("nan"), 1.0], [1.0, 1.0]],
        [["a"], ["b"]],
        [[], []],
        [1.0, 2.0],
    ],
    ids=repr,
)
async def test_vectors_that_are_none_are_an_error(settled: Any, vectors: Any):
    """Too few, of two lengths, zeros, NaN, texts."""
    (one,) = await settled(("a", SemanticSimilarity("b", embedder=Fixed(vectors))))
    assert (one.outcome, one.error, one.score) == ("error", "score", None)


@pytest.mark.parametrize("embedder", [None, object()], ids=["nobody", "unable"])
async def test_without_embeddings_it_is_said_what_is_missing(settled: Any, embedder: Any):
    """When it is asked for, not before."""
    (one,) = await settled(("a", SemanticSimilarity("b", embedder=embedder)))
    assert (one.outcome, one.error) == ("error", "usage")
    assert "embeddings" in one.reason
    assert "embed(texts)" in one.hint


async def test_similarity_of_nothing_does_not_apply(settled: Any):
    """Blank on either side."""
    found = await settled((" ", SemanticSimilarity("b")), ("a", SemanticSimilarity()))
    assert [one.outcome for one in found] == ["not_applicable"] * 2


async def test_guesses_that_are_missing_are_asked_again(settled: Any):
    """Three, or an error."""

    def reply(prompt: Prompt) -> str:
        return json.dumps({"questions": [{"id": 1, "question": "Who?", "noncommittal": False}]})

    judge = Scripted(reply)
    scorer = AnswerRelevance(definitions="ragas", embedder=Letters())
    (one,) = await settled((ANSWER, scorer), case=CASE, by=judge)
    assert (one.outcome, one.error, len(judge.asked)) == ("error", "judge", 2)
