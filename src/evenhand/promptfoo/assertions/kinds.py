"""All assertion types: those that run here, and those that promptfoo has besides."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from evenhand.core.errors import ScoreError
from evenhand.promptfoo.assertions import (
    answers,
    bounds,
    code,
    embedded,
    javascript,
    judged,
    markup,
    overlap,
    retrieval,
    sets,
    sql,
    structured,
    text,
)
from evenhand.promptfoo.assertions.assertion import split
from evenhand.promptfoo.assertions.kind import Kind

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for family in (
        text,
        structured,
        markup,
        sql,
        overlap,
        answers,
        code,
        javascript,
        judged,
        retrieval,
        embedded,
        bounds,
        sets,
    )
    for kind in family.KINDS
}

SUPPORTED: frozenset[str] = frozenset(KINDS)

KNOWN: frozenset[str] = SUPPORTED | frozenset(
    """
    answer-relevance agent-rubric bleu classifier contains-html contains-sql contains-xml
    context-faithfulness context-recall context-relevance conversation-relevance factuality finish-reason g-eval gleu
    guardrails human is-html is-refusal is-sql is-valid-function-call is-valid-openai-function-call
    is-valid-openai-tools-call is-xml javascript
    levenshtein max-score meteor model-graded-closedqa model-graded-factuality moderation perplexity perplexity-score pi
    rouge-n ruby search-rubric select-best similar similar:cosine similar:dot similar:euclidean skill-used tool-call-f1
    trace-error-spans trace-span-count trace-span-duration trajectory:goal-success trajectory:step-count
    trajectory:tool-args-match trajectory:tool-sequence trajectory:tool-used webhook word-count
    """.split()
)


def kind_of(type_: str) -> Kind:
    """What this type is.

    Raises:
        ScoreError: It is not one of ours.
    """
    kind = KINDS.get(type_)
    if kind is None:
        what, hint = unknown_type(type_)
        raise ScoreError(what, hint=hint)
    return kind


def unknown_type(type_: str) -> tuple[str, str]:
    """What to say of a type that cannot be run: what is wrong, and what to do."""
    name, _ = split(type_)
    if name in KNOWN:
        return (
            f"assertion type '{type_}' is not supported yet",
            "`evenhand scorers` lists what is; a Python assertion can stand in: type: python, value: file://grader.py",
        )
    near = difflib.get_close_matches(name, sorted(KNOWN), n=1)
    guess = f"Did you mean '{'not-' if type_ != name else ''}{near[0]}'? " if near else ""
    return f"assertion type '{type_}' is not known", f"{guess}`evenhand scorers` lists all of them."
