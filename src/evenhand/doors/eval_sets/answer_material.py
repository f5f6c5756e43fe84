"""What there is to measure an answer by: what a case says, and what a pipeline returned.

Columns have the names that people give them: a question may be the case's `input`, or its `question`, `query` or
`user_input`. The case's own fields come first, then its variables, then its metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from evenhand.core.case import Case
from evenhand.core.definition import brief
from evenhand.core.encoding import decode
from evenhand.core.errors import CodeError
from evenhand.core.json_shapes import is_mapping
from evenhand.scorers.metric import AnsweredQuestion

NAMES: Mapping[str, Sequence[str]] = {
    "question": ("question", "query", "user_input"),
    "answer": ("answer", "response", "actual_output", "output"),
    "context": ("context", "contexts", "retrieved_contexts", "retrieval_context", "passages"),
    "expected": ("expected", "ground_truth", "reference", "expected_output"),
    "retrieved": ("retrieved", "retrieved_ids", "retrieved_context_ids"),
    "relevant": (
        "relevant",
        "relevant_ids",
        "relevance",
        "qrels",
        "reference_context_ids",
        "relevant_contexts",
    ),
}
"""For each part of an answer the columns that may hold it, the first one that is there counts."""

_OF_SYSTEM = frozenset(name for part in ("answer", "context", "retrieved") for name in NAMES[part])
_LISTS = ("context", "retrieved", "relevant")
_RETURNED: Mapping[str, Sequence[str]] = {
    "answer": ("answer", "text", "response", "output", "content"),
    "context": NAMES["context"],
    "retrieved": ("retrieved", "retrieved_ids", "ids"),
}


def answered_of(case: Case) -> AnsweredQuestion:
    """What a case says of an answer to it. What it does not say is None."""
    stored = {part: _stored(case, part) for part in NAMES}
    own = {"question": case.input, "expected": case.expected, "context": case.context or None}
    fields = {part: value for part, value in own.items() if value is not None}
    return AnsweredQuestion(**{**stored, **fields}, metadata=case.metadata)


def with_own_fields(case: Case) -> Case:
    """The case with `input` and `expected` of its own, where only other columns had them, such as `ground_truth`."""
    answered = answered_of(case)
    return replace(case, input=answered.question, expected=answered.expected)


def without_answer(case: Case) -> Case:
    """The case that a stored answer is of: without the answer, and what was retrieved for it.

    So two systems' answers are to the same case. Cases that differ in their passages alone are no copies of each other,
    such as documents to sum up: a digest of the passages stands in the metadata.
    """
    variables, metadata = (
        {name: value for name, value in place.items() if name not in _OF_SYSTEM}
        for place in (case.vars, case.metadata)
    )
    passages = case.context or _stored(case, "context")
    if passages:
        metadata["context"] = brief(passages)
    return replace(case, vars=variables, context=(), metadata=metadata)


def with_reply(answered: AnsweredQuestion, returned: object) -> AnsweredQuestion:
    """The question with what a pipeline returned: an answer, alone or with passages; or a dict or object of them.

    Raises:
        CodeError: It returned nothing, or something without an answer in it.
    """
    if isinstance(returned, str):
        return replace(answered, answer=returned)
    if isinstance(returned, tuple) and len(cast("tuple[object, ...]", returned)) == 2:
        answer, context = cast("tuple[object, object]", returned)
        return replace(answered, answer=answer, context=context)
    parts: dict[str, Any] = {}
    for part, names in _RETURNED.items():
        for name in names:
            value = _part(returned, name)
            if value is not None:
                parts[part] = value
                break
    if not parts:
        what = "nothing" if returned is None else f"a {type(returned).__name__}"
        raise CodeError(
            f"the pipeline returned {what}, which has no answer in it",
            hint="Return a text, (answer, passages), or {'answer': …, 'context': […], 'retrieved': […]}.",
        )
    return replace(answered, **parts)


def _part(returned: object, name: str) -> Any:
    if is_mapping(returned):
        return returned.get(name)
    value = getattr(returned, name, None)
    return None if callable(value) else value


def _stored(case: Case, part: str) -> Any:
    for name in NAMES[part]:
        for place in (case.vars, case.metadata):
            value = place.get(name)
            if value is not None and value != "":
                return _unpacked(value) if part in _LISTS else value
    return None


def _unpacked(value: Any) -> Any:
    """A list or dict that a table keeps as JSON."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            return decode(value)
        except ValueError:
            return value
    return value
