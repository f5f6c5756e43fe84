"""Assertions that are code: the language of a file is the file's, whatever the type says."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.doors.assertions.assertion import Assertion, Cell
from evenhand.doors.assertions.kinds import kind_of
from evenhand.scorers.javascript import JavaScriptVerdict
from evenhand.scorers.program_code import ProgramVerdict
from evenhand.scorers.python_code import PythonFile


@pytest.mark.parametrize("type_", ["python", "javascript"])
@pytest.mark.parametrize(
    ("value", "scorer"),
    [
        ("file://grader.py", PythonFile),
        ("file://grader.py:other", PythonFile),
        ("file://grader.js:named", JavaScriptVerdict),
        ("file://grader.rb", ProgramVerdict),
        ("file://{{name}}.js", JavaScriptVerdict),
    ],
)
def test_a_file_of_any_language_may_stand_under_either_type(
    type_: str, value: str, scorer: type, tmp_path: Path
):
    """Tags in its name are filled in first."""
    assertion = Assertion(type=type_, value=value, base=tmp_path)
    cell = Cell(
        output="out",
        prompt="prompt",
        variables={"name": "grader"},
        test={},
        provider_id="echo",
        provider_label="echo",
    )
    made = kind_of(type_).make(assertion, cell, value)
    assert type(made) is scorer
