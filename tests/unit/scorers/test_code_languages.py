"""Tests of the languages that graders may be written in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import evenhand.scorers
from evenhand.doors.assertions.kinds import kind_of
from evenhand.scorers.code_languages import CODE_LANGUAGES, CodeLanguage, language_of

HERE = Path(evenhand.scorers.__file__).parent


@pytest.mark.parametrize("language", CODE_LANGUAGES, ids=lambda language: language.type)
def test_a_row_is_all_that_a_language_takes_besides_its_script(language: CodeLanguage):
    """It has an assertion type, files of the ending are in it, and no other module asks for it."""
    assert (HERE / language.script).is_file()
    assert language.name in kind_of(language.type).about
    assert language_of(f"a/grader{language.ending}") is language
    word = re.compile(rf"{language.setting}|{language.variable}|{language.script}")
    files = {
        file.name for file in HERE.parent.rglob("*.py") if word.search(file.read_text("utf-8"))
    }
    assert files == {"code_languages.py"}
