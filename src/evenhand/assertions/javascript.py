"""Assertions that the user's own JavaScript decides."""

from __future__ import annotations

from functools import partial
from typing import Any

from evenhand.assertions.assertion import Assertion, Cell, Kind, Wrong
from evenhand.assertions.javascript_source import filled_in
from evenhand.assertions.ruby import is_ruby
from evenhand.assertions.ruby import scorer as ruby
from evenhand.assertions.transform import split_reference as split_python
from evenhand.core.errors import TemplateError
from evenhand.core.expect import Scorer
from evenhand.javascript.running import Script, expression, function, problems
from evenhand.javascript.source import is_reference, split_reference
from evenhand.scorers.code import PythonFile
from evenhand.scorers.javascript import JavaScriptVerdict
from evenhand.scorers.text import quoted
from evenhand.templates.rendering import has_tags


def _script(assertion: Assertion, code: str) -> Script:
    if is_reference(code):
        path, name = split_reference(code)
        return function(assertion.base / path, name)
    name = assertion.place or "javascript"
    return expression(code, "output", "context", name=name, declarations=True)


def scorer(assertion: Assertion, cell: Cell | None, value: Any) -> Scorer:
    """The scorer of code, or of a file's function; a file of Python is run as such."""
    assert cell is not None  # noqa: S101 (code is made for each cell)
    context = partial(cell.context, assertion.config)
    text = str(value)
    if text.startswith("file://"):
        text = assertion.templates.render(text, cell.variables) if has_tags(text) else text
        if is_ruby(text):
            return ruby(assertion, cell, text)
        if not is_reference(text):
            path, name = split_python(text, "get_assert")
            return PythonFile(
                assertion.base / path, name, context, assertion.threshold, assertion.negated
            )
        script = _script(assertion, text)
        label = script.name
    else:
        script = _script(assertion, filled_in(text, cell.variables, assertion.templates))
        first = next((line for line in text.splitlines() if line.strip()), "").strip()
        label = quoted(first)
    return JavaScriptVerdict(script, label, context, assertion.threshold, assertion.negated)


def _wrong(assertion: Assertion) -> Wrong:
    value = assertion.value
    if not isinstance(value, str) or value.startswith("file://"):
        return ()
    try:
        code = filled_in(value, {}, assertion.templates)
    except TemplateError as error:
        return ((error.message, error.hint),)
    # What is filled in may be any value, so that only code without tags can be judged now.
    return () if has_tags(value) else problems(_script(assertion, code))


KINDS = (
    Kind(
        "javascript",
        "your own code",
        "a JavaScript expression, a few lines, or file://grader.js[:function] says so",
        scorer,
        "code or file",
        of_each_cell=True,
        negation="own",
        check=_wrong,
        tags=False,
        files=False,
    ),
)
