"""Assertions that a model decides."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Scorer
from evenhand.core.message import Message
from evenhand.promptfoo.assertions.assertion import Assertion, Cell
from evenhand.promptfoo.assertions.kind import Kind
from evenhand.promptfoo.chat import filled_messages
from evenhand.promptfoo.printing import printed
from evenhand.scorers.judge import MeetsRubric

GROUP = "a judge"


def _rubric(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    assert cell is not None  # noqa: S101 (its prompt may name any variable)
    if assertion.judge is None:
        raise ScoreError("there is no model to judge")
    rubric = printed(value)
    return MeetsRubric(
        rubric,
        assertion.judge,
        assertion.threshold,
        partial(_messages, assertion.rubric_prompt, rubric, cell.variables)
        if assertion.rubric_prompt
        else None,
    )


def _messages(
    template: str, rubric: str, variables: Mapping[str, Any], output: str
) -> tuple[Message, ...]:
    return filled_messages(template, {**variables, "rubric": rubric, "output": output})


KINDS = (
    Kind(
        "llm-rubric",
        GROUP,
        "a model says that the output meets this rubric",
        _rubric,
        "text",
        of_each_cell=True,
        asks="text",
    ),
)
