from __future__ import annotations

import hashlib

import pytest

from evenhand.core.errors import TemplateError, UsageError
from evenhand.registry.rendering import as_text, merged, names_in, render, vars_hash
from evenhand.registry.sending import variables


def test_a_value_is_never_a_template():
    """One pass: what is filled in is not looked at again, in whatever order the variables come."""
    values = {"a": "{{b}}", "b": "{{a}}"}
    assert render("{{a}} {{b}}", values, "x") == "{{b}} {{a}}"


def test_later_layers_win():
    """Case, then command line, then guard: the last one that has a value has the say."""
    layers = ({"who": "case", "a": 1}, {"who": "line", "b": 2}, {"who": "guard"})
    assert merged(*layers) == {"who": "guard", "a": 1, "b": 2}


def test_missing_variables_are_an_error_all_at_once():
    """Each with the line of its place; nothing is left unfilled in what is sent."""
    with pytest.raises(TemplateError) as error:
        render("a {{x}}\n{{y}} {{x}}", {}, "prompt.xml")
    assert "prompt.xml:1: 'x' has no value\nprompt.xml:2: 'y' has no value" in str(error.value)


def test_names_have_the_line_of_their_first_place():
    """Spaces in the braces do not count; other braces are text."""
    assert names_in("{{ a }} {b}\n{{a}} {{c-d}} {{}} {{ 1x }}") == {"a": 1, "c-d": 2}


@pytest.mark.parametrize(
    ("value", "text"),
    [("é", "é"), (None, ""), (3, "3"), (2.5, "2.5"), (True, "true"), (["a", 1], '["a",1]')],
)
def test_values_become_text(value, text):
    """Numbers as they are written, nothing as nothing, lists as JSON."""
    assert as_text(value) == text


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
