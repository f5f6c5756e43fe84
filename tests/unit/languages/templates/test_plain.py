from __future__ import annotations

import pytest

from evenhand.core.errors import TemplateError
from evenhand.languages.templates.plain import as_text, names_in, render


def test_a_value_is_never_a_template():
    """One pass: what is filled in is not looked at again, in whatever order the variables come."""
    values = {"a": "{{b}}", "b": "{{a}}"}
    assert render("{{a}} {{b}}", values, "x") == "{{b}} {{a}}"


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


def test_a_part_of_an_object_is_filled_in_by_its_path():
    """`{{a.b}}` is a part of `a`, unless a value has that whole name; a part that is not there is an error."""
    assert render("{{a.b}} {{ a.c.d }}", {"a": {"b": 1, "c": {"d": None}}}, "p") == "1 "
    assert render("{{a.b}}", {"a.b": "whole", "a": {"b": "part"}}, "p") == "whole"
    with pytest.raises(TemplateError, match=r"p:1: 'a.x' has no value"):
        render("{{a.x}}", {"a": {"b": 1}}, "p")
    with pytest.raises(TemplateError, match=r"'a.b.upper' has no value"):
        render("{{a.b.upper}}", {"a": {"b": "text"}}, "p")


@pytest.mark.parametrize(
    "tag", ["{{ name | upper }}", "{% if name %}x{% endif %}", "{%- for a in b %}"]
)
def test_tags_that_nobody_would_fill_in_are_an_error(tag):
    """A filter or a block of another template language is never sent to a model as text."""
    with pytest.raises(TemplateError, match=r"p:2: .*only names are filled in here"):
        render("first line\n" + tag, {"name": "x", "b": "y"}, "p")


def test_braces_that_are_no_tags_stay_as_they_are():
    """Code that is quoted in a prompt keeps its braces."""
    text = "{{}} {{ 1x }} { a } {{ color: 'red' }} 100 {% off %}"
    assert render(text, {}, "p") == text
