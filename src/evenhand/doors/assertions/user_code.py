"""Assertions that the user's own Python, JavaScript or Ruby decides: inline, or a function of a file of any of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.core.errors import ScoreError, TemplateError
from evenhand.core.expect import Scorer
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind, MakeScorer, Wrong, wrong_in
from evenhand.doors.assertions.transform import split_reference
from evenhand.doors.assertions.values_in_code import javascript_filled, python_filled
from evenhand.languages.javascript.running import JavaScriptCode, expression, function, problems
from evenhand.languages.javascript.source import is_reference
from evenhand.languages.templates.rendering import has_tags
from evenhand.scorers import ruby
from evenhand.scorers.javascript import JavaScriptVerdict
from evenhand.scorers.python_code import PythonCode, PythonFile, python_function
from evenhand.scorers.text import quoted

GROUP = "your own code"


def _of_file(assertion: Assertion, cell: Cell, written: str) -> Scorer:
    """The scorer of a function of a file, in whichever language: the type does not have to be that of the file."""
    text = assertion.templates.render(written, cell.variables) if has_tags(written) else written
    if is_ruby(text):
        return _ruby(assertion, cell, text)
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
    code = python_filled(text, cell.variables, assertion.templates)
    context = partial(cell.context, assertion.config)
    return PythonCode(code, context, assertion.threshold, assertion.negated, assertion.place)


def _javascript(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    text = str(value)
    if text.startswith("file://"):
        return _of_file(assertion, cell, text)
    code = javascript_filled(text, cell.variables, assertion.templates)
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
    return wrong_in(lambda: python_function(python_filled(value, {}, assertion.templates)))


def _javascript_wrong(assertion: Assertion) -> Wrong:
    value = assertion.value
    if not isinstance(value, str) or value.startswith("file://"):
        return ()
    try:
        code = javascript_filled(value, {}, assertion.templates)
    except TemplateError as error:
        return ((error.message, error.hint),)
    # What is filled in may be any value, so that only code without tags can be judged now.
    return () if has_tags(value) else problems(_script(assertion, code, name="the value"))


_TAGS = (
    "tags are not filled into Ruby code",
    "Read the variables from context['vars'] instead: output.include?(context['vars']['name']).",
)


def is_ruby(value: object) -> bool:
    """Whether a value names a file of Ruby, and a function in it perhaps."""
    if not isinstance(value, str) or not value.startswith("file://"):
        return False
    return split_reference(value, "")[0].endswith(".rb")


def ruby_source(assertion: Assertion, value: str) -> ruby.RubyFunction:
    """The function that a value names, or that it is the body of.

    It is run by `config.rubyExecutable`, else PROMPTFOO_RUBY, else `ruby`.
    """
    named = assertion.config.get("rubyExecutable") or os.environ.get("PROMPTFOO_RUBY")
    program = str(named or "ruby")
    if not value.startswith("file://"):
        place = Path(assertion.place or "ruby")
        return ruby.RubyFunction(place, "main", program, assertion.base, value)
    path, name = split_reference(value, ruby.DEFAULT)
    file = assertion.base / path
    return ruby.RubyFunction(file, name, program, file.parent)


def _ruby(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    """The scorer of code, or of a file's function."""
    text = str(value)
    if has_tags(text):
        if not text.startswith("file://"):
            raise ScoreError(_TAGS[0], hint=_TAGS[1])
        text = assertion.templates.render(text, cell.variables)
    return ruby.RubyVerdict(
        ruby_source(assertion, text),
        partial(cell.context, assertion.config),
        assertion.threshold,
        assertion.negated,
    )


def ruby_problems(assertion: Assertion) -> Wrong:
    """What is wrong with a value, as far as can be seen before anything runs."""
    value = assertion.value
    if not isinstance(value, str):
        return ((f"the value of '{assertion.written}' is {value!r}, not code or a file", ""),)
    if has_tags(value):
        return () if value.startswith("file://") else (_TAGS,)
    wrong = ruby.problem(ruby_source(assertion, value))
    return () if wrong is None else (wrong,)


def _kind(name: str, about: str, make: MakeScorer, check: Callable[[Assertion], Wrong]) -> Kind:
    return Kind(
        name,
        about,
        make,
        "code or file",
        of_each_cell=True,
        negation="own",
        check=check,
        tags=False,
        files=False,
    )


KINDS = (
    _kind(
        "python",
        "a Python expression, a few lines, or file://grader.py[:function] decides",
        _python,
        _python_wrong,
    ),
    _kind(
        "javascript",
        "a JavaScript expression, a few lines, or file://grader.js[:function] decides",
        _javascript,
        _javascript_wrong,
    ),
    _kind(
        "ruby",
        "a Ruby expression, a few lines, or file://grader.rb[:function] decides, run by the Ruby of your machine",
        _ruby,
        ruby_problems,
    ),
)
