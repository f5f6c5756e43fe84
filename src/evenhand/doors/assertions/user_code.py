"""Assertions that the user's own code decides: inline, or a function of a file of any language that graders have."""

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
from evenhand.languages.javascript.references import is_reference
from evenhand.languages.javascript.running import JavaScriptCode, expression, function, problems
from evenhand.languages.templates.rendering import has_tags
from evenhand.scorers import program_code
from evenhand.scorers.code_languages import CODE_LANGUAGES, CodeLanguage, language_of
from evenhand.scorers.javascript import JavaScriptVerdict
from evenhand.scorers.python_code import PythonCode, PythonFile, python_function
from evenhand.scorers.text import quoted

GROUP = "your own code"


def _of_file(assertion: Assertion, cell: Cell, written: str) -> Scorer:
    """The scorer of a function of a file, in whichever language: the type does not have to be that of the file."""
    text = assertion.templates.render(written, cell.variables) if has_tags(written) else written
    language = language_of(split_reference(text, "")[0])
    if language is not None:
        return _of_program(assertion, cell, text, language)
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


def _tags_problem(language: CodeLanguage) -> tuple[str, str]:
    """What to say of tags in code: what is filled in could be read as code."""
    return (
        f"tags are not filled into {language.name} code",
        f"Read the variables from context['vars'] instead: {language.example}.",
    )


def program_function(
    assertion: Assertion, value: str, language: CodeLanguage
) -> program_code.ProgramFunction:
    """The function that a value names, or that it is the body of, and what runs it."""
    named = assertion.config.get(language.setting) or os.environ.get(language.variable)
    code = None if value.startswith("file://") else value
    file, function, folder = Path(assertion.place or language.type), "main", assertion.base
    if code is None:
        path, function = split_reference(value, program_code.DEFAULT)
        file = assertion.base / path
        folder = file.parent
    return program_code.ProgramFunction(
        language=language,
        file=file,
        function=function,
        program=str(named or language.program),
        folder=folder,
        code=code,
    )


def _of_program(
    assertion: Assertion, cell: Cell, value: Any, language: CodeLanguage
) -> program_code.ProgramVerdict:
    """The scorer of code, or of a file's function."""
    text = str(value)
    if has_tags(text):
        if not text.startswith("file://"):
            what, hint = _tags_problem(language)
            raise ScoreError(what, hint=hint)
        text = assertion.templates.render(text, cell.variables)
    return program_code.ProgramVerdict(
        program_function(assertion, text, language),
        partial(cell.context, assertion.config),
        assertion.threshold,
        assertion.negated,
    )


def program_problems(assertion: Assertion, language: CodeLanguage) -> Wrong:
    """What is wrong with a value, as far as can be seen before anything runs."""
    value = assertion.value
    if not isinstance(value, str):
        return ((f"the value of '{assertion.written}' is {value!r}, not code or a file", ""),)
    if has_tags(value):
        return () if value.startswith("file://") else (_tags_problem(language),)
    problem = program_code.problem(program_function(assertion, value, language))
    return () if problem is None else (problem,)


def _program_kind(language: CodeLanguage) -> Kind:
    name = language.name
    return _kind(
        language.type,
        f"a {name} expression, a few lines, or file://grader{language.ending}[:function] decides, "
        f"run by the {name} of your machine",
        partial(_of_program, language=language),
        partial(program_problems, language=language),
    )


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
    *map(_program_kind, CODE_LANGUAGES),
)
