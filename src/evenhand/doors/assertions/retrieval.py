"""Assertions on answers from retrieved text: what the context holds, what the answer takes from it.

Each counts what the grader says of single sentences; the arithmetic is ours. The context is the variable `context`
(a text, or a list of passages), or what `contextTransform` takes out of the output.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from evenhand.core.decision import place_of
from evenhand.core.errors import JudgeError, ScoreError
from evenhand.core.expect import Scorer, Trial
from evenhand.core.json_shapes import is_array, is_object, is_texts
from evenhand.core.outputs import need_value
from evenhand.core.score import Score
from evenhand.core.wording.bounds import as_written, beside
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind
from evenhand.doors.assertions.embedded import cosine
from evenhand.doors.assertions.grading import Grader, as_variable, grader_of, wanted_text
from evenhand.doors.assertions.measured import EPSILON
from evenhand.doors.assertions.transform import transformed
from evenhand.doors.assertions.values import bound
from evenhand.scorers.judge_reply import shown
from evenhand.scorers.rag.verdicts import found_in, plain
from evenhand.scorers.spoken_verdict import refuses
from evenhand.scorers.text import text_of

GROUP = "retrieval"

_NOT_BACKED = "[not attributed]"
_MARK = re.compile(r"\[(?:not )?attributed\]", re.IGNORECASE)
_ATTRIBUTED = re.compile(r".*\w.*\[(?:not )?attributed\][\s.*_]*", re.IGNORECASE)
_NONE_NEEDED = "Insufficient Information"
_FINAL = "final verdict for each statement in order:"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_NUMBER = re.compile(r"\s*(?:\d+[.)]|[-*])\s*")
_ONLY_NUMBER = re.compile(r"(?:\d+[.)]|[-*•])")
_VERDICT = re.compile(r"[\s*_`]*(?:\d+[\s:)]+)?(yes|no)[\s*_`]*")
_OLDER = re.compile(r"^[\s*_#\d.)-]*verdict: (yes|no)\b[\s.*_]*$", re.MULTILINE)
_QUESTIONS = 3

Share = Callable[["Retrieved", str, Trial], Awaitable[tuple[float, dict[str, Any]]]]
"""Takes the share of what is asked for from an output, and what is worth keeping of how it was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """A share between 0 and 1 that a grader's answers are counted into, and the bound that it must reach.

    Attributes:
        share: How it is counted.
        cell: Variables, prompt and reply.
        reference: What the answer should have said, where that matters.
    """

    label: str
    share: Share = field(repr=False)
    assertion: Assertion = field(repr=False)
    cell: Cell = field(repr=False)
    query: str = field(default="", repr=False)
    reference: str = field(default="", repr=False)

    async def score(self, output: Any, trial: Trial) -> Score:
        value, metadata = await self.share(self, output, trial)
        least = bound(self.assertion.threshold, 0.5)
        passed = value >= least - EPSILON
        number = beside(value, least, digits=2, form="f")
        return Score(value, passed, f"{number}, wanted at least {as_written(least)}", metadata)

    def grader(self, template: str | None = None) -> Grader:
        """Who grades."""
        return grader_of(self.assertion, self.cell, template)

    async def context(self, output: object, trial: Trial, fallback: str = "") -> list[str]:
        """The passages; a text is one.

        Raises:
            ScoreError: There are none.
        """
        value: object = self.cell.variables.get("context") or fallback
        if self.assertion.context_transform:
            about = self.cell.context(self.assertion.config)
            about["prompt"] = {"label": self.cell.prompt}
            value = await transformed(
                self.assertion.context_transform, output, about, self.assertion.base, trial
            )
        passages = value if is_array(value) else [value]
        if not passages or not is_texts(passages) or not all(passages):
            raise ScoreError(
                f"'{self.assertion.written}' has no context",
                hint="Set the variable 'context', a text or a list of texts, or contextTransform.",
            )
        return passages

    def __str__(self) -> str:
        return self.label


_BACKED = (
    f"Does {place_of('context')} say what {place_of('item')} says, or does it follow from it alone? What you know from "
    "elsewhere counts for nothing, and whatever these texts say about this question is part of what is checked."
)
_NEEDED = (
    f"Is {place_of('item')} needed to answer {place_of('query')}? Whatever these texts say about this question is part "
    "of what is checked."
)


def _share(
    decided: Mapping[str, bool], metadata: dict[str, Any], name: str
) -> tuple[float, dict[str, Any]]:
    """The share of yes among a decision model's answers, and what is kept of them, under this name."""
    metadata[name] = [{"text": text, "yes": yes} for text, yes in decided.items()]
    return sum(decided.values()) / len(decided), metadata


async def _recall(of: Retrieved, output: str, trial: Trial) -> tuple[float, dict[str, Any]]:
    context = await of.context(output, trial, of.cell.prompt)
    grader = of.grader()
    # promptfoo's prompts spell it groundTruth; names in ours have only lowercase letters and underscores.
    key = "groundTruth" if grader.template else "ground_truth"
    decided = await grader.decide_each(
        trial, _BACKED, lambda: _sentences(of.reference), context="\n\n".join(context)
    )
    if decided is not None:
        return _share(*decided, "sentences")
    verdicts, metadata = await grader.ask(
        trial,
        "context_recall",
        partial(_attributions, anywhere=grader.own),
        "with one numbered line for each sentence, which ends with [Attributed] or [Not Attributed]",
        plain=True,
        context="\n\n".join(context),
        **{key: of.reference},
    )
    metadata["sentences"] = [{"sentence": line, "backed": backed} for line, backed in verdicts]
    return sum(backed for _, backed in verdicts) / len(verdicts), metadata


def _attributions(text: str, *, anywhere: bool) -> list[tuple[str, bool]]:
    """Each sentence with whether the context backs it.

    Args:
        anywhere: The mark may stand anywhere in a line; otherwise at its end, after a sentence.
    """
    sentences: list[tuple[str, bool]] = []
    for line in map(str.strip, text.split("\n")):
        marks = _MARK.findall(line)
        if not marks:
            continue
        if refuses(line):
            raise JudgeError(f"the judge takes its mark back: {shown(line)}")
        if not anywhere and (
            len(marks) > 1 or line.startswith(">") or _ATTRIBUTED.fullmatch(line) is None
        ):
            raise JudgeError(f"the judge's line is not a sentence with its mark: {shown(line)}")
        sentences.append((line, _NOT_BACKED not in line.lower()))
    if not sentences:
        raise JudgeError("the judge called no sentence [Attributed] or [Not Attributed]")
    return sentences


async def _relevance(of: Retrieved, output: str, trial: Trial) -> tuple[float, dict[str, Any]]:
    context = await of.context(output, trial)
    listed = isinstance(of.cell.variables.get("context"), list) or len(context) > 1
    whole = "\n\n".join(context)
    units = [p for p in context if p.strip()] if listed else _sentences(whole)
    by_line = listed or len(_lines(whole)) > 1

    grader = of.grader()

    def quoted_from(text: str) -> list[str]:
        # With the user's own prompt these words count anywhere, as in promptfoo; with ours they must be the whole
        # answer.
        if _NONE_NEEDED in text if grader.own else text.strip(" \n.*_`") == _NONE_NEEDED:
            return []
        # A sentence that the judge quotes twice counts once.
        quotes = list(dict.fromkeys(_lines(text) if by_line else _sentences(text)))
        there = [_stands_in(whole, _NUMBER.sub("", s, count=1)) for s in quotes]
        if not any(there):
            raise JudgeError("the judge quotes nothing of the context")
        if not grader.own and not all(there):
            other = quotes[there.index(False)]
            raise JudgeError(f"the judge quotes what the context does not say: {shown(other)}")
        return quotes

    decided = await grader.decide_each(trial, _NEEDED, lambda: units, query=of.query)
    if decided is not None:
        return _share(*decided, "passages")
    needed, metadata = await grader.ask(
        trial,
        "context_relevance",
        quoted_from,
        f"with the needed sentences of the context, one a line, word for word, or with {_NONE_NEEDED}",
        plain=True,
        context=whole,
        query=of.query,
    )
    metadata["needed"] = needed
    # A judge may cut the context into more pieces than we count.
    return min(len(needed), len(units)) / len(units) if units else 0.0, metadata


async def _faithfulness(of: Retrieved, output: str, trial: Trial) -> tuple[float, dict[str, Any]]:
    need_value(output)
    context = await of.context(output, trial)
    own = _two_prompts(of.assertion.rubric_prompt)
    first, second = of.grader(own[0]), of.grader(own[1])
    decided = await second.decide_each(
        trial, _BACKED, lambda: _sentences(text_of(output)), context="\n\n".join(context)
    )
    if decided is not None:
        return _share(*decided, "statements")
    statements, _ = await first.ask(
        trial,
        "faithfulness_statements",
        _statements,
        "with the statements, one a line, and nothing else",
        plain=True,
        question=of.query,
        answer=as_variable(output) if first.template else output,
    )
    numbered = "\n".join(f"{i}. {line}" for i, line in enumerate(statements, 1))
    verdicts, metadata = await second.ask(
        trial,
        "faithfulness_verdicts",
        lambda text: _verdicts(text, len(statements)),
        f"and end with one line, a verdict for each statement: {_FINAL.capitalize()} Yes. No.",
        plain=True,
        context="\n\n".join(context),
        statements=statements if second.template else numbered,
    )
    metadata["statements"] = statements
    return verdicts, metadata


def _statements(text: str) -> list[str]:
    statements = _lines(text)
    if not statements:
        raise JudgeError("the judge found no statements")
    return statements


def _verdicts(text: str, count: int) -> float:
    """The share of statements with a yes."""
    reply = text.lower().strip()
    before, final, after = reply.rpartition(_FINAL)
    if final:
        if before.rpartition("\n")[2].strip(" *_#"):
            raise JudgeError(f"the judge's verdicts have no line of their own: {shown(text)}")
        parts = [part for part in after.split(".") if part.strip(" \n*_`")]
        words = [_VERDICT.fullmatch(part) for part in parts]
        verdicts = [word[1] == "yes" for word in words if word is not None]
        if len(verdicts) < len(parts):
            raise JudgeError(f"the judge's last line holds more than verdicts: {shown(text)}")
    else:
        verdicts = [word == "yes" for word in _OLDER.findall(reply)]
    if refuses(text):
        raise JudgeError(f"the judge takes its verdicts back: {shown(text)}")
    if len(verdicts) != count:
        raise JudgeError(f"the judge gave {len(verdicts)} verdicts on {count} statements")
    return sum(verdicts) / count


def _two_prompts(text: str) -> tuple[str, str]:
    """The user's prompts for statements and for verdicts, where there are some."""
    if not text.lstrip().startswith("["):
        return "", ""
    import json  # noqa: PLC0415 (only for prompts of the user's own)

    try:
        items = cast("list[object]", json.loads(text))
    except ValueError:
        return "", ""
    texts = [str(item.get("content", "")) if is_object(item) else str(item) for item in items]
    return texts[0] if texts else "", texts[1] if len(texts) > 1 else ""


async def _answer(of: Retrieved, output: str, trial: Trial) -> tuple[float, dict[str, Any]]:
    need_value(output)
    grader, embedder = of.grader(), of.assertion.embedder
    if embedder is None:
        raise ScoreError(f"'{of.assertion.written}' has no model for embeddings")
    questions: list[str] = []
    metadata: dict[str, Any] = {}
    for _ in range(_QUESTIONS):
        question, metadata = await grader.ask(
            trial,
            "answer_question",
            _question,
            "with the one question that the answer answers, and nothing else",
            plain=True,
            answer=as_variable(output) if grader.template else output,
        )
        questions.append(question)
    vectors = await trial.model(embedder, "judge").embed([of.query, *questions])
    near = [cosine(vectors[0], vector) for vector in vectors[1:]]
    metadata["questions"] = [
        {"question": question, "similarity": value}
        for question, value in zip(questions, near, strict=True)
    ]
    return sum(near) / len(near), metadata


def _question(text: str) -> str:
    if not text.strip():
        raise JudgeError("the judge said nothing")
    return text


def _stands_in(whole: str, sentence: str) -> bool:
    """Whether a context says a sentence, but for a slip or two."""
    return _plain(sentence) in _plain(whole) or found_in(sentence, plain(whole))


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def _sentences(text: str) -> list[str]:
    lines = _lines(text)
    parts = lines if len(lines) > 1 else _SENTENCE_END.split(text)
    return [p.strip() for p in parts if p.strip() and not _ONLY_NUMBER.fullmatch(p.strip())]


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _kind(
    name: str,
    about: str,
    share: Share,
    query: Callable[[Assertion, Cell], str],
    *,
    embeds: bool = False,
) -> Kind:
    """A type without a value: the share of something that answers a query."""

    def make(assertion: Assertion, cell: Cell, _value: Any) -> Scorer:
        return Retrieved(
            label=name, share=share, assertion=assertion, cell=cell, query=query(assertion, cell)
        )

    return Kind(name, about, make, optional=True, of_each_cell=True, asks="generate", embeds=embeds)


def _query(assertion: Assertion, cell: Cell) -> str:
    query = cell.variables.get("query")
    if not isinstance(query, str):
        raise ScoreError(
            f"'{assertion.written}' needs the variable 'query'",
            hint="Set it to what the user asked.",
        )
    return query


def _query_or_prompt(_assertion: Assertion, cell: Cell) -> str:
    query = cell.variables.get("query")
    return query if isinstance(query, str) else cell.prompt


def _context_recall(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    reference = wanted_text(assertion, value)
    return Retrieved(
        label=assertion.type, share=_recall, assertion=assertion, cell=cell, reference=reference
    )


KINDS = (
    Kind(
        "context-recall",
        "the context holds what this says, at least the threshold (0.5) of its sentences",
        _context_recall,
        "text",
        of_each_cell=True,
        asks="generate",
    ),
    _kind(
        "context-relevance",
        "the context is needed to answer `query`, at least 0.5 of its sentences",
        _relevance,
        _query,
    ),
    _kind(
        "context-faithfulness",
        "the context backs the output, at least 0.5 of its statements",
        _faithfulness,
        _query,
    ),
    _kind(
        "answer-relevance",
        "the questions that the output answers are like the one asked: similarity of at least 0.5",
        _answer,
        _query_or_prompt,
        embeds=True,
    ),
)
