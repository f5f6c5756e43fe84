"""What RAG metrics are given: questions, answers, passages, references, in whatever form an application has them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import is_sequence
from evenhand.core.score import SHARES
from evenhand.core.traits import Traits
from evenhand.scorers.judging import AsksJudge, check_judge
from evenhand.scorers.rag.definitions import need_definitions
from evenhand.scorers.text import text_of, value_text

MOST = 2_000_000
"""Characters that are given to a judge at once; more fit into no model."""

Contexts = Sequence[Any] | str | None
"""Retrieved passages: texts, or what has a `text`, `content` or `page_content`. One text is one passage."""

_TEXTS = ("text", "page_content", "content", "body", "document")


class RagMetric(AsksJudge):
    """A metric of texts that a judge is asked about. Its arguments are checked by their names."""

    __slots__ = ()
    traits: ClassVar[Traits] = Traits(gives="number", scale=SHARES)
    metric: ClassVar[str]

    def __post_init__(self) -> None:
        who = type(self).__name__
        check_judge(self.judge)
        for name in ("reference", "question"):
            need_optional_text(who, name, getattr(self, name, None))
        need_contexts(who, getattr(self, "contexts", None))
        need_definitions(who, self.metric, getattr(self, "definitions", ""))

    def __str__(self) -> str:
        return self.metric


def text_in(value: object) -> str:
    """What is given as a text; empty for None, NaN and blanks. Anything else is its JSON."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return value_text(value).strip()


def passages_in(contexts: object) -> tuple[str, ...]:
    """The texts of passages, in the order given; one without a letter is empty, and keeps its place.

    Raises:
        ScoreError: One of them is no passage, or they are too much for any judge.
    """
    if isinstance(contexts, (str, Mapping)) or hasattr(contexts, "page_content"):
        contexts = [contexts]
    # An empty cell of a table is NaN.
    if contexts is None or isinstance(contexts, float):
        return ()
    if not is_sequence(contexts):
        raise ScoreError(
            f"contexts are a list of texts, and this is a {type(contexts).__name__}",
            hint="Give the retrieved passages, best first.",
        )
    texts = [_passage(one, rank) for rank, one in enumerate(contexts, 1)]
    passages = tuple(text if any(map(str.isalnum, text)) else "" for text in texts)
    if not any(passages):
        return ()
    checked_length("the contexts", *passages)
    return passages


def _passage(one: Any, rank: int) -> str:
    if one is None or isinstance(one, (str, float)):
        return text_in(one)
    for name in _TEXTS:
        text = one.get(name) if isinstance(one, Mapping) else getattr(one, name, None)
        if isinstance(text, str):
            return text.strip()
    raise ScoreError(
        f"passage {rank} has no text: it is of the kind {type(one).__name__}",
        hint=f"Give texts, or what has one of: {', '.join(_TEXTS)}.",
    )


def checked_length(what: str, *texts: str) -> None:
    """Refuses what no judge could read.

    Raises:
        ScoreError: It is too long.
    """
    size = sum(map(len, texts))
    if size > MOST:
        raise ScoreError(
            f"{what} have {size:,} characters, and a judge is given at most {MOST:,}",
            hint="Give what was retrieved, not where it was retrieved from.",
        )


def answer_in(output: object) -> str:
    """An output as the answer that is judged; empty for one that says nothing.

    Raises:
        ScoreError: There is none, or it is too long.
    """
    text = text_of(output).strip()
    checked_length("the output", text)
    return text


def question_of(question: str | None, trial: Trial) -> str:
    """The question: as given, else the case's input; empty where there is none."""
    if question is None:
        case = trial.case
        question = case.vars.get("question") if case.input is None else case.input
    return text_in(question)


def reference_of(reference: str | None, trial: Trial) -> str:
    """What a right answer is: as given, else what the case expects; empty where there is none."""
    text = reference_in(trial.case.expected if reference is None else reference)
    checked_length("the reference", text)
    return text


def reference_in(expected: object) -> str:
    """What is expected as a text; of several right answers the first."""
    if isinstance(expected, (list, tuple)) and all(isinstance(one, str) for one in expected):
        return next((text for one in expected if (text := str(one).strip())), "")
    return text_in(expected)


def contexts_of(contexts: Contexts, trial: Trial) -> tuple[str, ...]:
    """The passages: as given, else the case's."""
    return passages_in(trial.case.context if contexts is None else contexts)


def stored(trial: Trial, key: str) -> object:
    """What the dataset stores for a case, so that it is the same in every run; None where it stores nothing."""
    value: object = trial.case.metadata.get(key)
    return None if isinstance(value, float) and math.isnan(value) else value


def need_contexts(who: str, value: object) -> None:
    """Refuses what can be no passages, where it is written.

    Raises:
        UsageError: It isn't one.
    """
    if value is None or isinstance(value, (str, Sequence, float)):
        return
    raise UsageError(
        f"{who}: contexts is {value!r}, not a list of texts",
        hint=f"Write {who}(pages): the retrieved passages, best first.",
    )


def need_optional_text(who: str, what: str, value: object) -> None:
    """Refuses what is neither a text nor nothing. NaN is nothing: so tables say it.

    Raises:
        UsageError: It is something else.
    """
    if value is None or isinstance(value, str) or (isinstance(value, float) and math.isnan(value)):
        return
    raise UsageError(f"{who}: {what} is {value!r}, not a text")
