"""Relevance as other tools measure it: how near an answer's guessed questions are to the one that was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from evenhand.core.errors import JudgeError
from evenhand.core.message import Model, Prompt
from evenhand.core.score import Score
from evenhand.scorers.judge_prompt import judge_prompt, template
from evenhand.scorers.judge_reply import yes_or_no
from evenhand.scorers.rag.analysis import Analysis
from evenhand.scorers.rag.claims import Provenance
from evenhand.scorers.rag.proportions import asked_by
from evenhand.scorers.rag.similarity import Embedder, cosine, embeddings
from evenhand.scorers.rag.verdict_lists import Section, itemised, said_in

_IDS = (1, 2, 3)
_ITEMS = {"question": {"type": "string"}, "noncommittal": {"type": "boolean"}}
_PROMPT = "rag/questions"


async def guessed_relevance(
    analysis: Analysis, embedder: Embedder | None, question: str, answer: str, whose: str
) -> Score:
    """The mean cosine of the question and three questions that a judge guesses from the answer.

    With ragas' definition 0 where the answer evades all three; promptfoo's does not look.
    """
    guesses, provenance = await analysis.texts(
        "guesses", answer, lambda model: _guessed(model, answer)
    )
    texts = [guess for guess, _ in guesses]
    name, (target, *others) = await embeddings(embedder, analysis.trial, [question, *texts])
    evaded = all(noncommittal for _, noncommittal in guesses)
    value = 0.0 if evaded and whose == "ragas" else fmean(cosine(target, one) for one in others)
    metadata = {
        "questions": texts,
        "noncommittal": evaded,
        "embedder": name,
        "dimension": len(target),
        **asked_by(provenance, definitions=whose),
    }
    return Score(value, None, f"mean cosine {value:.3f} to: {'; '.join(texts)}", metadata)


async def _guessed(model: Model, answer: str) -> tuple[tuple[tuple[str, bool], ...], Provenance]:
    def read(_: int, item: Mapping[str, object]) -> tuple[str, bool]:
        text = said_in(item, "question")
        if not text:
            raise JudgeError("it has no question")
        return text, yes_or_no(item.get("noncommittal"))

    def ask(wanted: Mapping[str, Sequence[int]]) -> Prompt:
        del wanted  # all are asked for again: each is to differ from the others
        return judge_prompt(_PROMPT, {"answer": answer})[1]

    result = await itemised(model, [Section("questions", "question", _IDS, read, _ITEMS)], ask)
    guesses = result.verdicts["questions"]
    return tuple(guesses[i] for i in _IDS), Provenance(result.model, template(_PROMPT)[0])
