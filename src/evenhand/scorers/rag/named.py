"""RAG metrics by the names that reports have for them: `faithfulness`, `context_precision@5`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from evenhand.core.expect import Scorer
from evenhand.scorers.rag.claims import ENTITIES, REFERENCE_CLAIMS, SUB_QUESTIONS
from evenhand.scorers.rag.context_precision import ContextPrecision, ContextUtilization
from evenhand.scorers.rag.contexts import ContextRecall, ContextRelevance
from evenhand.scorers.rag.correctness import Correctness
from evenhand.scorers.rag.entities import EntityRecall
from evenhand.scorers.rag.faithfulness import Faithfulness, Hallucination
from evenhand.scorers.rag.material import passages_in, reference_in, text_in
from evenhand.scorers.rag.noise import NoiseSensitivity
from evenhand.scorers.rag.relevance import AnswerRelevance, Completeness
from evenhand.scorers.rag.similarity import SemanticSimilarity
from evenhand.scorers.rag.summarisation import PARTS, Summarisation

_AT = re.compile(r"(context_(?:average_)?precision)@([1-9]\d{0,5})")


class Material(Protocol):
    """What there is to measure one answer by."""

    @property
    def question(self) -> Any: ...
    @property
    def answer(self) -> Any: ...
    @property
    def context(self) -> Any: ...
    @property
    def expected(self) -> Any: ...
    @property
    def metadata(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Named:
    """A RAG metric with a name.

    Attributes:
        name: The name.
        needs: The parts of the material that it cannot do without.
        ask: The output that is looked at, and the scorer that looks.
        best: Whether high or low is good.
        counted: Whether it is from 0 to 1, and a matter of good and bad.
        judged: Whether a judge is asked.
    """

    name: str
    needs: tuple[str, ...]
    ask: Callable[[Material], tuple[Any, Scorer]]
    best: str = "high"
    counted: bool = True
    judged: bool = True


def named(name: str) -> Named | None:
    """The RAG metric of this name; None where there is none."""
    found = _TABLE.get(name)
    cut = None if found else _AT.fullmatch(name)
    if cut is None:
        return found
    return Named(name, ("context",), _precision(cut[1] != "context_precision", int(cut[2])))


def rag_names() -> list[str]:
    """The names, without those with a cut."""
    return list(_TABLE)


def _of_answer(kind: Callable[..., Scorer], *more: str) -> Callable[[Material], tuple[Any, Scorer]]:
    """Asks of the answer, with the question and more of the material by name."""

    def ask(given: Material) -> tuple[Any, Scorer]:
        return given.answer, kind(**_given(given, "question", *more))

    return ask


def _of_contexts(
    kind: Callable[..., Scorer], *more: str
) -> Callable[[Material], tuple[Any, Scorer]]:
    """Asks of the passages, with question and reference and more of the material by name."""

    def ask(given: Material) -> tuple[Any, Scorer]:
        return passages_in(given.context), kind(**_given(given, "question", "reference", *more))

    return ask


def _given(given: Material, *names: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in names:
        if name == "question":
            found[name] = text_in(given.question)
        elif name == "reference":
            found[name] = reference_in(given.expected)
        elif name == "contexts":
            found[name] = passages_in(given.context)
        elif name in given.metadata:
            found[name] = given.metadata[name]
    return found


def _precision(ranked: bool, k: int | None) -> Callable[[Material], tuple[Any, Scorer]]:
    def kind(**given: Any) -> Scorer:
        return ContextPrecision(ranked=ranked, k=k, **given)

    return _of_contexts(kind, REFERENCE_CLAIMS)


def _summary(part: Any) -> Callable[[Material], tuple[Any, Scorer]]:
    def ask(given: Material) -> tuple[Any, Scorer]:
        claims = given.metadata.get(REFERENCE_CLAIMS)
        return given.answer, Summarisation(passages_in(given.context), of=part, key_claims=claims)

    return ask


def _noise(passages: Any) -> Callable[[Material], tuple[Any, Scorer]]:
    def kind(**given: Any) -> Scorer:
        return NoiseSensitivity(passages=passages, **given)

    return _of_answer(kind, "contexts", "reference", REFERENCE_CLAIMS)


def _similarity(given: Material) -> tuple[Any, Scorer]:
    return given.answer, SemanticSimilarity(reference_in(given.expected))


_ANSWERED = ("answer", "context")
_TABLE: dict[str, Named] = {
    one.name: one
    for one in (
        Named("faithfulness", _ANSWERED, _of_answer(Faithfulness, "contexts")),
        Named("hallucination", _ANSWERED, _of_answer(Hallucination, "contexts"), "low"),
        Named("answer_relevance", ("answer", "question"), _of_answer(AnswerRelevance)),
        Named("completeness", ("answer",), _of_answer(Completeness, "reference", SUB_QUESTIONS)),
        Named("correctness", ("answer",), _of_answer(Correctness, "reference", REFERENCE_CLAIMS)),
        Named("context_precision", ("context",), _precision(ranked=False, k=None)),
        Named("context_average_precision", ("context",), _precision(ranked=True, k=None)),
        Named("context_recall", ("context",), _of_contexts(ContextRecall, REFERENCE_CLAIMS)),
        Named(
            "context_relevance",
            ("context", "question"),
            _of_contexts(ContextRelevance, REFERENCE_CLAIMS),
        ),
        Named("context_utilization", _ANSWERED, _of_answer(ContextUtilization, "contexts")),
        Named("noise_sensitivity", (*_ANSWERED, "expected"), _noise("relevant"), "low"),
        Named(
            "noise_sensitivity:irrelevant", (*_ANSWERED, "expected"), _noise("irrelevant"), "low"
        ),
        Named("entity_recall", ("context",), _of_contexts(EntityRecall, ENTITIES)),
        *(
            Named(
                f"summarisation:{part}",
                _ANSWERED,
                _summary(part),
                "low" if part == "compression" else "high",
                counted=part != "compression",
                judged=part != "compression",
            )
            for part in PARTS
        ),
        Named(
            "semantic_similarity", ("answer", "expected"), _similarity, counted=False, judged=False
        ),
    )
}
