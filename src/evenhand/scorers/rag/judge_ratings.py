"""Numbers that other tools let the judge make up: asked for as a rating of three levels, from 0 to 1."""

from __future__ import annotations

from dataclasses import replace

from evenhand.core.score import Score
from evenhand.scorers.rag.analysis import Analysis
from evenhand.scorers.rating import Rating
from evenhand.scorers.rubric import Rubric

RELEVANCE = Rubric(
    "relevance",
    {
        2: "the output answers the question that is given as context",
        1: "it answers a part of the question, or only goes near it",
        0: "it has nothing to do with the question",
    },
)
CORRECTNESS = Rubric(
    "correctness",
    {
        2: "the output says the same as the right answer that is given as context, in whatever words",
        1: "it is right in part: something is missing or wrong",
        0: "it is wrong",
    },
)
USE = Rubric(
    "use",
    {
        2: "the output holds all that is needed to answer the question that is given as context",
        1: "it holds something that helps to answer it",
        0: "it holds nothing that helps to answer it",
    },
)


async def rated(rubric: Rubric, text: str, beside: str, analysis: Analysis, whose: str) -> Score:
    """The judge's rating of a text: 1, 0.5 or 0."""
    rating = Rating(rubric, context=beside, judge=analysis.judge)
    score = await rating.score(text, analysis.trial)
    value = None if score.value is None else score.value / 2
    return replace(score, value=value, metadata={**score.metadata, "definitions": whose})
