"""Which code is known without running it, and what changes its digest."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.doors.assertions.closed_code import code_digest, python_digest


@pytest.mark.parametrize(
    "code",
    [
        "len(output) > 3",
        "import re\nreturn bool(re.search('a', output))",
        "from collections import Counter\nreturn Counter(output)['a'] > 1",
        "return {'pass': True, 'score': 1}",
    ],
)
def test_python_that_only_computes_is_known(code: str):
    """An expression, or lines with a return."""
    assert python_digest(code)


@pytest.mark.parametrize(
    "code",
    [
        "open('x').read() in output",
        "__import__('os').environ",
        "import os\nreturn True",
        "from datetime import datetime\nreturn datetime.now().year > 1",
        "import random\nreturn random.random() > 0.5",
        "import anthropic\nreturn True",
        "from . import words\nreturn True",
        "eval(output)",
        "this is not a Python",
    ],
)
def test_python_that_reaches_out_is_not_known(code: str):
    """Files, the clock, chance, packages, code made as it runs."""
    assert python_digest(code) == ""


def test_layout_and_comments_of_python_do_not_count():
    """What it does counts."""
    assert python_digest("len(output)>3") == python_digest("len(output) > 3  # enough")
    assert python_digest("len(output) > 3") != python_digest("len(output) > 4")


@pytest.mark.parametrize(
    ("code", "known"),
    [
        ("output.length > 3", True),
        ("fetch('https://there')", False),
        ("Date.now() > 3", False),
        ("Math.random() < 0.5", False),
        ("require('fs')", False),
    ],
)
def test_javascript_that_reaches_out_is_not_known(code: str, known: bool):
    """The clock, chance, files and the network."""
    assert bool(code_digest(code, Path())) is known


def test_a_file_is_known_with_all_that_it_imports_from_beside_it(tmp_path: Path):
    """A change in any of them changes it; its own name does not."""
    grader, words, more = (tmp_path / name for name in ("grader.py", "words.py", "more.py"))
    grader.write_text("import json\nimport words\ndef f(o, c): return words.ok(o)\n")
    words.write_text("from more import LEAST\ndef ok(o): return len(o) > LEAST\n")
    more.write_text("LEAST = 3\n")
    first = code_digest("file://grader.py:f", tmp_path)
    assert first
    assert first != code_digest("file://grader.py:g", tmp_path)
    grader.rename(tmp_path / "marks.py")
    assert code_digest("file://marks.py:f", tmp_path) == first
    more.write_text("LEAST = 44\n")
    assert code_digest("file://marks.py:f", tmp_path) not in ("", first)
    more.write_text("import time\nLEAST = 3\n")
    assert code_digest("file://marks.py:f", tmp_path) == ""
    more.unlink()
    assert code_digest("file://marks.py:f", tmp_path) == ""


def test_files_that_import_each_other_are_known(tmp_path: Path):
    """Each is read once."""
    (tmp_path / "a.py").write_text("import b\ndef f(o, c): return True\n")
    (tmp_path / "b.py").write_text("import a\n")
    assert code_digest("file://a.py:f", tmp_path)


@pytest.mark.parametrize("reference", ["file://gone.py", "file://gone.js", "file://grader.rb"])
def test_what_is_not_there_or_not_read_is_not_known(reference: str, tmp_path: Path):
    """It is run, which says what is wrong."""
    (tmp_path / "grader.rb").write_text("def get_assert(o, c) = true")
    assert code_digest(reference, tmp_path, "get_assert") == ""
