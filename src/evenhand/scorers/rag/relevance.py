"""Whether an answer is about the question, and whether it answers all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, ClassVar

from evenhand.core.errors import JudgeError
from evenhand.core.expect import Trial
from evenhand.core.message import Model, Prompt
from evenhand.core.score import Score
from evenhand.scorers.judge_prompt import judge_prompt, template
from evenhand.scorers.judge_reply import yes_or_no
from evenhand.scorers.rag.analysis import Analysis
from evenhand.scorers.rag.claims import SUB_QUESTIONS, Provenance, sub_questions_in
from evenhand.scorers.rag.definitions import definitions_for
from evenhand.scorers.rag.judge_ratings import RELEVANCE, rated
from evenhand.scorers.rag.material import RagMetric, answer_in, question_of, reference_of, stored
from evenhand.scorers.rag.proportions import asked_by, nothing, proportion
from evenhand.scorers.rag.similarity import Embedder, cosine, embeddings
from evenhand.scorers.rag.verdict_lists import Section, itemised, said_in


@dataclass(frozen=True, slots=True)
class AnswerRelevance(RagMetric):
    """The share of an answer's statements that are about the question, from 0 to 1.

    Whether they are true, or all that was asked for, does not matter: see `Faithfulness` and `Completeness`. `refusal`
    says whether the answer declines to answer. No question, or an empty answer: not applicable.

    Args:
        question: What was asked; the case's `input` by default.
        judge: Who judges; the set's judge by default.
        definitions: Whose definition: evenhand, ragas, deepeval, eval-ruby or promptfoo.
        embedder: What makes embeddings, for the definitions of ragas and promptfoo.

    Raises:
        UsageError: The question isn't text, or the judge isn't a model.
    """

    metric: ClassVar[str] = "answer_relevance"

    question: str | None = None
    definitions: str = field(default="", kw_only=True)
    embedder: Embedder | None = field(default=None, kw_only=True, repr=False)

    async def score(self, output: Any, trial: Trial) -> Score:
        answer, question = answer_in(output), question_of(self.question, trial)
        if not answer:
            return nothing("the answer is empty")
        if not question:
            return nothing("there is no question")
        analysis = Analysis(trial, self.judge)
        whose = definitions_for(self.metric, self.definitions)
        if whose in ("ragas", "promptfoo"):
            return await _guessed_relevance(analysis, self.embedder, question, answer, whose)
        if whose == "eval-ruby":
            return await rated(RELEVANCE, answer, question, analysis, whose)
        statements = await analysis.statements(question, answer)
        n = len(statements.all)
        if not n:
            return nothing("the answer has no words in it")
        topics = [one.topic for one in statements.all]
        off, on = topics.count("off"), topics.count("on")
        yes = n - off if whose == "deepeval" else on
        reason = f"{on} of {n} statements are about the question"
        if statements.refusal:
            reason += "; the answer declines to answer"
        metadata = {
            "refusal": statements.refusal,
            "statements": [{"statement": one.text, "topic": one.topic} for one in statements.all],
            **asked_by(statements.provenance, definitions=whose),
        }
        return proportion(yes, n, reason, **metadata)


@dataclass(frozen=True, slots=True)
class Completeness(RagMetric):
    """The share of a question's parts that the answer answers, from 0 to 1.

    The parts are what the case stores as `sub_questions`, so that they are the same in every run; where it stores none,
    the judge names them first. No question, or an empty answer: not applicable.

    Args:
        question: What was asked; the case's `input` by default.
        sub_questions: Its parts; those that the case stores by default.
        reference: What a right answer is; what the case expects by default. It shares its judge call with metrics of
            the reference, and does not count here.
        judge: Who judges; the set's judge by default.

    Raises:
        UsageError: The question isn't text, or the judge isn't a model.
    """

    metric: ClassVar[str] = "completeness"

    question: str | None = None
    sub_questions: Sequence[str] | None = field(default=None, kw_only=True, hash=False)
    reference: str | None = field(default=None, kw_only=True)
    definitions: str = field(default="", kw_only=True)

    async def score(self, output: Any, trial: Trial) -> Score:
        answer, question = answer_in(output), question_of(self.question, trial)
        if not answer:
            return nothing("the answer is empty")
        analysis = Analysis(trial, self.judge)
        stored_parts = (
            stored(trial, SUB_QUESTIONS) if self.sub_questions is None else self.sub_questions
        )
        provenance = None
        if stored_parts is not None:
            parts = sub_questions_in(stored_parts)
        elif question:
            facts = await analysis.facts(question, reference_of(self.reference, trial))
            parts, provenance = facts.sub_questions or (), facts.provenance
        else:
            return nothing("there is no question")
        if not parts:
            return nothing("the question has no parts")
        answered = await analysis.answered(question, parts, answer)
        missing = [part for part, yes, _ in answered.parts if not yes]
        reason = f"{len(parts) - len(missing)} of {len(parts)} parts of the question answered"
        if missing:
            reason += "; not: " + "; ".join(f"“{part[:120]}”" for part in missing[:3])
        rows = [{"part": p, "answered": yes, "reasoning": why} for p, yes, why in answered.parts]
        return proportion(
            len(parts) - len(missing),
            len(parts),
            reason,
            parts=rows,
            **asked_by(provenance, answered.provenance),
        )


_IDS = (1, 2, 3)
_ITEMS = {"question": {"type": "string"}, "noncommittal": {"type": "boolean"}}
_GUESSES = "rag/questions"


async def _guessed_relevance(
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
        return judge_prompt(_GUESSES, {"answer": answer})[1]

    result = await itemised(model, [Section("questions", "question", _IDS, read, _ITEMS)], ask)
    guesses = result.verdicts["questions"]
    return tuple(guesses[i] for i in _IDS), Provenance(result.model, template(_GUESSES).version)
