"""Values in JavaScript: filled in as values, and never as code."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core.errors import CodeError, TemplateError
from evenhand.doors.assertions.values_in_code import javascript_filled
from evenhand.languages.javascript.node import Compiled, Engine
from evenhand.languages.javascript.source import body, function_text

ENGINE = Engine(5.0)
HOSTILE = st.lists(
    st.sampled_from(["'", '"', "`", "\\", "${", "}", "*/", "//", "/", "\n", "\u2028", ";", "owned()", "{{", "a", "1"])
).map("".join)  # fmt: skip


def came_to(code: str) -> object:
    """What the code comes to."""
    script = Compiled("inline", function_text(body(code), ("output", "context")))
    return ENGINE.call(script, "[null, {}]").get("value")


@pytest.mark.thorough
@given(HOSTILE | st.text(st.characters(codec="utf-8"), max_size=40))
def test_a_text_stays_the_text_that_it_is(value):
    """In every kind of quotes, inside templates, and bare, where it is no number and no truth value."""
    for code in ("'{{v}}'", '"{{v}}"', "`{{v}}`", "`${'{{v}}'}`", "{{ v | dump }}"):
        assert came_to(javascript_filled(code, {"v": value})) == value
    assert (
        came_to(javascript_filled("typeof owned /* {{v}} */ // {{v}}", {"v": value})) == "undefined"
    )


@given(HOSTILE)
def test_a_pattern_is_not_left(value):
    """Whatever the value, what follows the pattern is not its to say; a pattern that cannot be read is an error."""
    code = javascript_filled("/[{{v}}]/.test('x') || typeof owned", {"v": value})
    with contextlib.suppress(CodeError):
        assert came_to(code) in (True, "undefined")


@pytest.mark.parametrize(
    ("code", "value", "wanted"),
    [
        ("{{v}} + 1", 2, 3),
        ("{{v}} + 1", "2.5", 3.5),
        ("{{v}}", "010", "010"),
        ("{{v}}", "-08.5", "-08.5"),
        ("{{v}} + 1", "0.5", 1.5),
        ("{{v}} === true", True, True),
        ("{{v}}", "true", True),
        ("{{v}} === null", "null", True),
        ("{{v}}.length", "text", 4),
        ("{{v}}.length", [1, 2], 2),
        ("{{v}}.a", {"a": 1}, 1),
        ("'{{v}}' + \"{{v}}\"", "a'b\"c", "a'b\"ca'b\"c"),
        ("{{v}}", "globalThis.x = 1", "globalThis.x = 1"),
        ("{{ missing | dump }}", 1, None),
        ("'it\\'s {{v}}'", "a", "it's a"),
        ("({a: '{{v}}'}).a + `${`{{v}}`}`", "x`y", "x`yx`y"),
        ("/{{v}}/.test('a1')", "\\d", True),
        ("4 / 2 + '{{v}}'", "'", "2'"),
    ],
)
def test_a_tag_becomes_the_value_that_it_stands_for(code, value, wanted):
    """Bare: numbers and truth values as they are, all else as a literal."""
    assert came_to(javascript_filled(code, {"v": value})) == wanted


def test_code_without_tags_is_as_it_was_and_blocks_are_refused():
    """A block has no safe meaning in code."""
    assert javascript_filled("output === '{a}'", {}) == "output === '{a}'"
    with pytest.raises(TemplateError, match="blocks cannot be used"):
        javascript_filled("{% if v %}true{% endif %}", {"v": 1})
    assert json.loads('"x"') == came_to(javascript_filled("{{ v | dump }}", {"v": "x"}))
