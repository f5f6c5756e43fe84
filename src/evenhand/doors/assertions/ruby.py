"""Assertions that the user's own Ruby decides."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Scorer
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind, Wrong
from evenhand.doors.assertions.transform import split_reference
from evenhand.languages.templates.rendering import has_tags
from evenhand.scorers import ruby

GROUP = "your own code"
_TAGS = (
    "tags are not filled into Ruby code",
    "Read the variables from context['vars'] instead: output.include?(context['vars']['name']).",
)


def is_ruby(value: object) -> bool:
    """Whether a value names a file of Ruby, and a function in it perhaps."""
    if not isinstance(value, str) or not value.startswith("file://"):
        return False
    return split_reference(value, "")[0].endswith(".rb")


def source(assertion: Assertion, value: str) -> ruby.RubyFunction:
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


def scorer(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    """The scorer of code, or of a file's function."""
    text = str(value)
    if has_tags(text):
        if not text.startswith("file://"):
            raise ScoreError(_TAGS[0], hint=_TAGS[1])
        text = assertion.templates.render(text, cell.variables)
    return ruby.RubyVerdict(
        source(assertion, text),
        partial(cell.context, assertion.config),
        assertion.threshold,
        assertion.negated,
    )


def problems(assertion: Assertion) -> Wrong:
    """What is wrong with a value, as far as can be seen before anything runs."""
    value = assertion.value
    if not isinstance(value, str):
        return ((f"the value of '{assertion.written}' is {value!r}, not code or a file", ""),)
    if has_tags(value):
        return () if value.startswith("file://") else (_TAGS,)
    wrong = ruby.problem(source(assertion, value))
    return () if wrong is None else (wrong,)


KINDS = (
    Kind(
        "ruby",
        "a Ruby expression, a few lines, or file://grader.rb[:function] says so, run by the Ruby of your machine",
        scorer,
        "code or file",
        of_each_cell=True,
        negation="own",
        check=problems,
        tags=False,
        files=False,
    ),
)
