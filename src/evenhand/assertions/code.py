"""Assertions that the user's own code decides."""

from __future__ import annotations

from functools import partial
from typing import Any

from evenhand.assertions.assertion import Assertion, Cell, Kind, Wrong
from evenhand.assertions.javascript import scorer as javascript
from evenhand.assertions.python_source import filled_in
from evenhand.assertions.ruby import is_ruby
from evenhand.assertions.ruby import scorer as ruby
from evenhand.assertions.transform import split_reference
from evenhand.core.errors import EvenhandError
from evenhand.core.expect import Scorer
from evenhand.javascript.source import is_reference
from evenhand.scorers.code import PythonCode, PythonFile, python_function
from evenhand.templates.rendering import has_tags

GROUP = "your own code"


def _python(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    assert cell is not None  # noqa: S101 (code is made for each cell)
    context = partial(cell.context, assertion.config)
    text = str(value)
    if text.startswith("file://"):
        text = assertion.templates.render(text, cell.variables) if has_tags(text) else text
        if is_reference(text):
            return javascript(assertion, cell, text)
        if is_ruby(text):
            return ruby(assertion, cell, text)
        path, name = split_reference(text, "get_assert")
        return PythonFile(
            assertion.base / path, name, context, assertion.threshold, assertion.negated
        )
    code = filled_in(text, cell.variables, assertion.templates)
    return PythonCode(code, context, assertion.threshold, assertion.negated, assertion.place)


def _python_wrong(assertion: Assertion) -> Wrong:
    value = assertion.value
    if isinstance(value, str) and not value.startswith("file://"):
        try:
            python_function(filled_in(value, {}, assertion.templates))
        except EvenhandError as error:
            return ((error.message, error.hint),)
    return ()


KINDS = (
    Kind(
        "python",
        GROUP,
        "a Python expression, a few lines, or file://grader.py[:function] says so",
        _python,
        "code or file",
        of_each_cell=True,
        negation="own",
        check=_python_wrong,
        tags=False,
        files=False,
    ),
)
