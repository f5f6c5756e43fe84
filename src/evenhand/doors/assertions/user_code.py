"""Assertions that the user's own Python or JavaScript decides: inline, or a function of a file of any language."""

from __future__ import annotations

from functools import partial
from typing import Any

from evenhand.core.errors import TemplateError
from evenhand.core.expect import Scorer
from evenhand.doors.assertions import javascript_source, python_source
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind, Wrong, wrong_in
from evenhand.doors.assertions.ruby import is_ruby
from evenhand.doors.assertions.ruby import scorer as ruby
from evenhand.doors.assertions.transform import split_reference
from evenhand.languages.javascript.running import JavaScriptCode, expression, function, problems
from evenhand.languages.javascript.source import is_reference
from evenhand.languages.templates.rendering import has_tags
from evenhand.scorers.javascript import JavaScriptVerdict
from evenhand.scorers.python_code import PythonCode, PythonFile, python_function
from evenhand.scorers.text import quoted

GROUP = "your own code"


def _of_file(assertion: Assertion, cell: Cell, written: str) -> Scorer:
    """The scorer of a function of a file, in whichever language: the type does not have to be that of the file."""
    text = assertion.templates.render(written, cell.variables) if has_tags(written) else written
    if is_ruby(text):
        return ruby(assertion, cell, text)
    context = partial(cell.context, assertion.config)
    threshold, negated = assertion.threshold, assertion.negated
    path, name = split_reference(text, "get_assert")
    if is_reference(text):
        script = function(assertion.base / path, name)
        return JavaScriptVerdict(script, script.name, context, threshold, negated)
    return PythonFile(assertion.base / path, name, context, threshold, negated)


def _python(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    text = str(value)
    if text.startswith("file://"):
        return _of_file(assertion, cell, text)
    code = python_source.filled_in(text, cell.variables, assertion.templates)
    context = partial(cell.context, assertion.config)
    return PythonCode(code, context, assertion.threshold, assertion.negated, assertion.place)


def _javascript(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    text = str(value)
    if text.startswith("file://"):
        return _of_file(assertion, cell, text)
    code = javascript_source.filled_in(text, cell.variables, assertion.templates)
    first = next((line for line in text.splitlines() if line.strip()), "").strip()
    context = partial(cell.context, assertion.config)
    return JavaScriptVerdict(
        _script(assertion, code), quoted(first), context, assertion.threshold, assertion.negated
    )


def _script(assertion: Assertion, code: str, name: str = "") -> JavaScriptCode:
    """Inline code, called by its place unless a message names that anyway."""
    name = name or assertion.place or "javascript"
    return expression(code, "output", "context", name=name, declarations=True)


def _python_wrong(assertion: Assertion) -> Wrong:
    value = assertion.value
    if not isinstance(value, str) or value.startswith("file://"):
        return ()
    return wrong_in(
        lambda: python_function(python_source.filled_in(value, {}, assertion.templates))
    )


def _javascript_wrong(assertion: Assertion) -> Wrong:
    value = assertion.value
    if not isinstance(value, str) or value.startswith("file://"):
        return ()
    try:
        code = javascript_source.filled_in(value, {}, assertion.templates)
    except TemplateError as error:
        return ((error.message, error.hint),)
    # What is filled in may be any value, so that only code without tags can be judged now.
    return () if has_tags(value) else problems(_script(assertion, code, name="the value"))


KINDS = (
    Kind(
        "python",
        "a Python expression, a few lines, or file://grader.py[:function] says so",
        _python,
        "code or file",
        of_each_cell=True,
        negation="own",
        check=_python_wrong,
        tags=False,
        files=False,
    ),
    Kind(
        "javascript",
        "a JavaScript expression, a few lines, or file://grader.js[:function] says so",
        _javascript,
        "code or file",
        of_each_cell=True,
        negation="own",
        check=_javascript_wrong,
        tags=False,
        files=False,
    ),
)
