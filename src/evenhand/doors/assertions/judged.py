"""Assertions that a model decides: rubrics, facts, criteria, conversations."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from evenhand.core.errors import JudgeError, ScoreError
from evenhand.core.expect import Scorer, Trial
from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_number, is_object, is_whole
from evenhand.core.message import Message
from evenhand.core.score import Score
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind
from evenhand.doors.assertions.grading import Grader, as_variable, grader_of, wanted_text
from evenhand.doors.assertions.measured import EPSILON
from evenhand.doors.assertions.values import bound
from evenhand.languages.templates.printing import printed
from evenhand.providers.prompt_text import filled_messages
from evenhand.scorers.judge import MeetsRubric
from evenhand.scorers.judge_reply import number, shown, the_object, value_shown, yes_or_no
from evenhand.scorers.spoken_verdict import is_disowned, last_statement
from evenhand.scorers.text import quoted, text_of, value_text

GROUP = "a judge"

_CATEGORIES = {
    "A": ("subset", "some of what is expected is missing"),
    "B": ("superset", "it says more than is expected, and contradicts nothing"),
    "C": ("agree", "it states what is expected"),
    "D": ("disagree", "it contradicts what is expected"),
    "E": ("differButFactual", "it differs in nothing that matters for the facts"),
}
_LETTERS = re.compile(r"(?<!\w)\(?([A-E])\)", re.IGNORECASE)
_NAMES = (
    r"(?:(?:so|thus|therefore|hence|overall|in\s+conclusion|conclusion)[,:]?\s+)?(?:(?:the|my)\s+)?"
    r"(?:(?:final|correct|right|best|appropriate)\s+)*(?:answer|category|choice|option|verdict)"
    r"(?:\s+is\b|\s*:|(?=\s*[*_]*\())[\s:*_]*"
)
_LETTER = re.compile(rf"[\s*_#]*(?:{_NAMES})?\(?([A-E])\)[*_]*", re.IGNORECASE)
"""A category at the start of a statement: `(C)`, `**Answer:** (C)`, `The answer is (C)`."""
_ENDED = re.compile(r"[.!]?[*_]*\s*\Z")
_REASON = re.compile(
    r"[.!]?[*_]*\s*\n | [.!][*_]*\s | \s*(?::|\s[-–—]+\s|[–—]) | ,?\s+(?:because|since|as)\s"
    r"| \s+(?=(?:they|both|it|the|there|all|this|these|same)\s(?![^.!?]*\b"
    r"(?:says?|said|claims?|claimed|wants?|asks?|asked|tells?|told|insists?)(?:\s+(?:so|to|me|us|here)\b|\W*(?:[.,;!?]|and\b|\Z))))",
    re.IGNORECASE | re.VERBOSE,
)
"""What may stand between a category and the judge's reason for it."""
_AT_THE_END = re.compile(r"(.*):[\s*_]*\(([A-E])\)[.!]?[*_]*\Z", re.IGNORECASE)
_COMPARES = re.compile(
    r"\b(?:subset|superset|same|identical|agree|consistent|disagree|contradict|differ)",
    re.IGNORECASE,
)
_NOT_SAID = re.compile(
    r"\b(?:not|no|nobody|never|neither|if|whether|would|could|might|may|maybe|perhaps|should|suppose|who|which|"
    r"say|says|said|saying|claims?|tells?|told|asks?|asked|wants?|wrong|false|refuse|I|we|you)\b|n['’]t\b|[\"“”„«»‹›`>?]|(?<!\w)['‘]",
    re.IGNORECASE,
)
_YES_OR_NO = re.compile(
    r"[ \t*_]*(?:(?:(?:the|my)\s+)?(?:final\s+)?(?:answer|verdict|conclusion|decision|grade)\s*:)?[ \t*_]*([YN])[*_]*",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"(?<!\w)([YN])\Z")
_MOST = 10
"""The scale of G-Eval: 0 to 10."""


def _rubric(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    if assertion.judge is None:
        raise ScoreError("there is no model to judge")
    return MeetsRubric(
        printed(value),
        assertion.judge,
        assertion.threshold,
        partial(_messages, assertion, cell.variables) if assertion.rubric_prompt else None,
    )


def _messages(
    assertion: Assertion, variables: Mapping[str, Any], rubric: str, output: str
) -> tuple[Message, ...]:
    values = {**variables, "rubric": rubric, "output": as_variable(output)}
    return filled_messages(assertion.rubric_prompt, values, assertion.templates)


@dataclass(frozen=True, slots=True)
class Factual:
    """A judge says how the facts of the output stand to those that are expected; the category decides.

    Attributes:
        scores: The score of each category by its name; above 0 passes.
    """

    ideal: str
    grader: Grader
    question: str = field(repr=False)
    scores: Mapping[str, float] = field(default_factory=dict[str, float])

    async def score(self, output: Any, trial: Trial) -> Score:
        (category, reason), metadata = await self.grader.ask(
            trial,
            "factuality",
            partial(_category, anywhere=self.grader.own),
            'with the keys "reason" and "category" (A, B, C, D or E)',
            input=self.grader.known("input", self.question),
            ideal=self.ideal,
            completion=self.grader.shown(output),
        )
        name, words = _CATEGORIES[category]
        value = self.scores.get(name, 0.0 if name == "disagree" else 1.0)
        metadata["category"] = category
        if self.scores:  # other scores make other verdicts of the same answer
            metadata["category_scores"] = dict(sorted(self.scores.items()))
        return Score(value, value > 0, reason or words, metadata)

    def __str__(self) -> str:
        return f"factuality {quoted(self.ideal)}"


def _category(text: str, *, anywhere: bool) -> tuple[str, str]:
    """The category that a reply names, and its reason: as JSON, or as `(A) because …`.

    Args:
        anywhere: The first letter with a bracket counts, wherever it stands; otherwise see `_spoken`.

    Raises:
        JudgeError: It names none, or several.
    """
    if "{" in text and "category" in text:
        answer = the_object(text, ["category"])
        letter = str(answer["category"]).strip().upper()
        if letter not in _CATEGORIES:
            raise JudgeError(
                f"the judge named the category {value_shown(answer['category'])}, which is not one of A to E"
            )
        reason = answer.get("reason")
        return letter, reason.strip() if isinstance(reason, str) else ""
    if anywhere:
        first = _LETTERS.search(text)
        if first is None or is_disowned(text):
            raise JudgeError(f"the judge named no category: {shown(text)}")
        return first[1].upper(), text[first.end() :].strip() or text.strip()
    named = {letter.upper() for letter in _LETTERS.findall(text)}
    if len(named) > 1:
        which = f"the categories {', '.join(sorted(named))}"
        raise JudgeError(f"the judge named {which}: {shown(text)}")
    ruling = _spoken(text.strip())
    if ruling is None:
        raise JudgeError(f"the judge named no category: {shown(text)}")
    return ruling


def _spoken(text: str) -> tuple[str, str] | None:
    """The category that a reply names in its first words or in its last statement, and the reason beside it."""
    if is_disowned(text):
        return None
    match = _LETTER.match(text)
    if match is not None:
        rest = text[match.end() :]
        ends = _ENDED.match(rest) or _REASON.match(rest)
        if ends is None:
            return None
        return match[1].upper(), rest[ends.end() :].strip() or text
    last = last_statement(text)
    match = _LETTER.match(last)
    if match is not None and _ENDED.match(last, match.end()):
        return match[1].upper(), text
    match = _AT_THE_END.fullmatch(last)
    if match is None or not _COMPARES.search(match[1]) or _NOT_SAID.search(match[1]):
        return None
    return match[2].upper(), text


def _factuality(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    scores: dict[str, float] = {}
    for name, score in as_mapping(assertion.options.get("factuality")).items():
        if not is_number(score):
            raise ScoreError(f"options.factuality.{name} is {score!r}, not a number")
        scores[name] = float(score)
    return Factual(wanted_text(assertion, value), grader_of(assertion, cell), cell.prompt, scores)


@dataclass(frozen=True, slots=True)
class MeetsCriterion:
    """A judge says yes or no to one criterion: its answer ends with Y or N."""

    criterion: str
    grader: Grader
    question: str = field(repr=False)

    async def score(self, output: Any, trial: Trial) -> Score:
        (passed, reason), metadata = await self.grader.ask(
            trial,
            "closed_qa",
            partial(_yes_or_no, anywhere=self.grader.own),
            "with a few sentences and then, on a last line of its own, the single letter Y or N",
            plain=True,
            input=self.grader.known("input", self.question),
            criteria=self.criterion,
            completion=self.grader.shown(output),
        )
        return Score(1.0 if passed else 0.0, passed, reason, metadata)

    def __str__(self) -> str:
        return f"model-graded-closedqa {quoted(self.criterion)}"


def _yes_or_no(text: str, *, anywhere: bool) -> tuple[bool, str]:
    """The verdict with which a reply ends, and what stands before it.

    Args:
        anywhere: It may be the last word of a sentence; otherwise it stands alone.
    """
    reply = text.strip()
    match = _LAST_WORD.search(reply) if anywhere else _YES_OR_NO.fullmatch(last_statement(reply))
    if match is None or match[1] not in "YN" or is_disowned(reply):
        raise JudgeError(f"the judge's answer ends with neither Y nor N: {shown(text)}")
    return match[1] == "Y", reply.rstrip("*_")[:-1].strip(" \n*_")


def _closed_qa(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    return MeetsCriterion(wanted_text(assertion, value), grader_of(assertion, cell), cell.prompt)


def _avoids(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    from evenhand.languages.documents.failures_yml import FILE  # noqa: PLC0415 (other types don't need it)
    from evenhand.scorers.avoids import Avoids  # noqa: PLC0415 (see above)

    del cell
    settings = value if is_object(value) else {"kind": value}
    texts = {name: settings.get(name, "") for name in ("kind", "kinds", "context")}
    wrong = [name for name, text in texts.items() if not isinstance(text, str)]
    if wrong or not texts["kind"] or settings.keys() - texts.keys():
        hint = "Write a kind's name, or {kind: …, kinds: failures.yml, context: …}."
        raise ScoreError(f"the value of 'avoids' is {value!r:.100}", hint=hint)
    path = assertion.base / (texts["kinds"] or FILE)
    return Avoids(texts["kind"], kinds=path, context=texts["context"], judge=assertion.judge)


@dataclass(frozen=True, slots=True)
class GEval:
    """A judge works out steps for each criterion, follows them and gives 0 to 10; the mean must reach a bound.

    Source: the two calls of G-Eval (Liu et al., 2023, arxiv.org/abs/2303.16634), without its weighting by tokens.
    """

    criteria: Sequence[str]
    steps: Grader
    evaluate: Grader
    question: str = field(repr=False)
    at_least: float = 0.7

    async def score(self, output: Any, trial: Trial) -> Score:
        shares: list[float] = []
        reasons: list[str] = []
        metadata: dict[str, Any] = {}
        for criterion in self.criteria:
            steps, _ = await self.steps.ask(
                trial, "geval_steps", _steps, 'with the key "steps", a list', criteria=criterion
            )
            values: dict[str, Any] = {
                "input": self.question,
                "output": self.evaluate.shown(output),
                "criteria": criterion,
            }
            # promptfoo's prompts spell it maxScore; names in ours have only lowercase letters and underscores.
            values["maxScore" if self.evaluate.template else "max_score"] = str(_MOST)
            (points, reason), metadata = await self.evaluate.ask(
                trial,
                "geval",
                _points,
                'with the keys "reason" and "score", on one line',
                steps="\n- ".join(steps),
                **values,
            )
            shares.append(points / _MOST)
            reasons.append(reason)
        value = sum(shares) / len(shares)
        return Score(value, value >= self.at_least, "\n".join(reasons), metadata)

    def __str__(self) -> str:
        return f"g-eval {quoted('; '.join(self.criteria))}"


def _steps(text: str) -> list[str]:
    steps = the_object(text, ["steps"])["steps"]
    if not is_array(steps) or not steps:
        raise JudgeError("the judge proposed no steps")
    if not all(isinstance(step, str) and step.strip() for step in steps):
        raise JudgeError("the judge proposed steps that are not texts")
    return cast("list[str]", steps)


def _points(text: str) -> tuple[float, str]:
    answer = the_object(text, ["score"])
    points, reason = number(answer["score"], (0, _MOST)), answer.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise JudgeError("the judge gave no reason")
    return points, reason


def _g_eval(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    criteria = value if is_array(value) else [value]
    texts = [wanted_text(assertion, item) for item in criteria]
    if not texts:
        raise ScoreError(f"'{assertion.written}' has no criterion")
    own = _prompts(assertion.rubric_prompt)
    return GEval(
        texts,
        grader_of(assertion, cell, own.get("steps", "")),
        grader_of(assertion, cell, own.get("evaluate", "")),
        cell.prompt,
        bound(assertion.threshold, 0.7),
    )


def _prompts(text: str) -> Mapping[str, str]:
    """The user's prompts for the two calls, where there are some: `{steps: …, evaluate: …}`."""
    try:
        prompts = json.loads(text) if text.lstrip()[:1] == "{" else {}
    except ValueError:
        prompts = {}
    return {
        key: item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        for key, item in as_mapping(prompts).items()
        if item
    }


@dataclass(frozen=True, slots=True)
class StaysRelevant:
    """A judge says of each window of a conversation whether its last message belongs there: the share that do."""

    turns: Sequence[tuple[str, str]] = field(repr=False)
    grader: Grader
    window: int = 5
    at_least: float = 0.5

    async def score(self, output: Any, trial: Trial) -> Score:
        del output
        turns = self.turns
        relevant = 0
        against: list[str] = []
        metadata: dict[str, Any] = {}
        for i in range(len(turns)):
            messages = [
                {"role": role, "content": content}
                for turn in turns[max(0, i - self.window + 1) : i + 1]
                for role, content in zip(("user", "assistant"), turn, strict=True)
            ]
            (belongs, reason), metadata = await self.grader.ask(
                trial,
                "conversation_relevance",
                _verdict,
                'with the keys "reason" and "verdict" (yes or no)',
                messages=messages,
            )
            relevant += belongs
            if not belongs and reason:
                against.append(reason)
        value = relevant / len(turns)
        reason = "; ".join(against) or f"{relevant} of {len(turns)} windows are relevant"
        return Score(value, value >= self.at_least - EPSILON, reason, metadata)

    def __str__(self) -> str:
        return "conversation-relevance"


def _verdict(text: str) -> tuple[bool, str]:
    answer = the_object(text, ["verdict"])
    return yes_or_no(answer["verdict"]), str(answer.get("reason") or "")


def _conversation(assertion: Assertion, cell: Cell, _value: Any) -> Scorer:
    history = cell.variables.get("_conversation")
    turns = [
        (value_text(turn.get("input", "")), value_text(turn.get("output", "")))
        for turn in as_array(history)
        if is_object(turn)
    ] or [(cell.prompt, text_of(cell.output))]
    window = assertion.config.get("windowSize") or 5
    if not is_whole(window) or window < 1:
        raise ScoreError(f"config.windowSize is {window!r}, not a number of turns")
    return StaysRelevant(turns, grader_of(assertion, cell), window, bound(assertion.threshold, 0.5))


def _factual(name: str) -> Kind:
    return Kind(
        name,
        "a model compares the output's facts with these",
        _factuality,
        "text",
        of_each_cell=True,
        negation="ignored",
        asks="generate",
    )


KINDS = (
    Kind(
        "llm-rubric",
        "a model says that the output meets this rubric",
        _rubric,
        "text",
        of_each_cell=True,
        asks="generate",
    ),
    Kind(
        "g-eval",
        "a model works out steps for these criteria, follows them, and scores at least the threshold (0.7)",
        _g_eval,
        "text, or list of texts",
        of_each_cell=True,
        asks="generate",
    ),
    _factual("factuality"),
    _factual("model-graded-factuality"),
    Kind(
        "model-graded-closedqa",
        "a model says yes or no to this criterion",
        _closed_qa,
        "text",
        of_each_cell=True,
        negation="ignored",
        asks="generate",
    ),
    Kind(
        "conversation-relevance",
        "a model finds the assistant's messages relevant to the conversation, at least 0.5 of them",
        _conversation,
        optional=True,
        of_each_cell=True,
        asks="generate",
    ),
    Kind(
        "avoids",
        "a model says that the output has no failure of this kind, of a failures.yml",
        _avoids,
        "text, or {kind, kinds, context}",
        asks="generate",
    ),
)
