from __future__ import annotations

import hashlib

import pytest

from evenhand.core.errors import UsageError
from evenhand.doors.prompt_directories.prompt import merged, vars_hash
from evenhand.doors.prompt_directories.sending import variables


def test_later_layers_win():
    """Case, then command line, then guard: the last one that has a value has the say."""
    layers = ({"who": "case", "a": 1}, {"who": "line", "b": 2}, {"who": "guard"})
    assert merged(*layers) == {"who": "guard", "a": 1, "b": 2}


def test_the_hash_of_variables_is_of_sorted_lines():
    """Twelve hex digits of the SHA-256 of KEY=VALUE lines, whatever the order; none for none."""
    wanted = hashlib.sha256(b"a=1\nb=x\n").hexdigest()[:12]
    assert vars_hash({"b": "x", "a": 1}) == vars_hash({"a": "1", "b": "x"}) == wanted
    assert vars_hash({}) == "none"


def test_what_is_given_on_the_command_line(tmp_path):
    """NAME=VALUE, the last one of a name counts; a file's text is file_contents."""
    file = tmp_path / "a.txt"
    file.write_text("text", "utf-8")
    assert variables(["a=1", "b=x=y", "a=2"], file) == {
        "a": "2",
        "b": "x=y",
        "file_contents": "text",
    }
    for pairs, path in ((["a"], None), (["=1"], None), ([], tmp_path / "none")):
        with pytest.raises(UsageError):
            variables(pairs, path)
