"""Tags in code: one walk over them for all languages."""

from __future__ import annotations

import pytest

from evenhand.core.errors import TemplateError
from evenhand.doors.assertions.values_in_code import code_filled, is_dumped, named_by
from evenhand.languages.templates.rendering import NO_CONFIG


def test_each_value_is_written_after_the_text_that_stands_before_it():
    """In their order, each once; what follows the last tag is kept."""
    asked: list[tuple[str, str, str]] = []

    def fit(text: str, value: str, tag: str) -> str:
        asked.append((text, value, tag))
        return f"<{value}>"

    code = "a {{x}} b {{ y }}{{x}} c"
    filled = code_filled(
        code, {"x": 1, "y": "two"}, NO_CONFIG, fit, language="Code", variables_are_in="vars"
    )
    assert filled == "a <1> b <two><1> c"
    assert asked == [("a ", "1", "{{x}}"), (" b ", "two", "{{ y }}"), ("", "1", "{{x}}")]


def test_blocks_are_refused_in_code_of_every_language():
    """The message names the language, and where its variables are."""
    with pytest.raises(TemplateError, match="blocks cannot be used in Ruby") as refused:
        code_filled(
            "{% if x %}1{% endif %}",
            {},
            NO_CONFIG,
            lambda *_: "",
            language="Ruby",
            variables_are_in="context['vars']",
        )
    assert refused.value.hint == "Read the variables from context['vars'] instead."


def test_what_a_tag_names_and_whether_it_writes_json():
    """A plain name is a variable; a filter makes it none."""
    assert named_by("{{ x }}", {"x": [1]}) == [1]
    assert named_by("{{ x | upper }}", {"x": [1]}) is None
    assert [is_dumped(tag) for tag in ("{{ x | dump }}", "{{x|dump(2)}}", "{{ x }}")] == [
        True,
        True,
        False,
    ]
