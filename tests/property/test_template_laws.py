"""Laws of templates, over whatever values there are."""

from __future__ import annotations

import contextlib
import json

from hypothesis import given
from hypothesis import strategies as st

from evenhand.doors.assertions.values_in_code import python_filled
from evenhand.languages.templates.rendering import NO_CONFIG
from evenhand.scorers.json_objects import UnreadableError, objects_in, whole_objects

render = NO_CONFIG.render

TEXT = st.text(max_size=60)
HOSTILE = st.lists(
    st.sampled_from(["{{", "}}", "{%", "%}", "{#", "#}", "x", " ", "'", '"', "\\", "\n"])
).map("".join)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)


@given(TEXT | HOSTILE)
def test_text_that_is_filled_in_comes_out_as_it_went_in(value):
    """On the fast path and on the slow one."""
    assert render("<{{ v }}>", {"v": value}) == f"<{value}>"
    assert render("{% if true %}<{{ v }}>{% endif %}", {"v": value}) == f"<{value}>"


@given(JSON)
def test_dump_writes_the_value_as_json(value):
    """What JSON reads back is what went in, whole numbers as near as JavaScript comes to them."""
    said = json.loads(render("{{ v | dump }}", {"v": value}), parse_int=float)
    assert said == json.loads(json.dumps(value), parse_int=float)


@given(JSON)
def test_a_value_prints_the_same_with_and_without_an_engine(value):
    """Plain tags are filled in by hand, all others by Nunjucks: nobody can tell which it was."""
    assert render("{{ v }}", {"v": value}) == render("{{ v }}{# #}", {"v": value})


@given(TEXT | HOSTILE)
def test_text_in_code_is_the_text(value):
    """In every kind of quotes, and bare, where it is no number and no truth value."""
    for code in ("'{{v}}'", '"{{v}}"', '"""{{v}}"""', "{{ v | dump }}"):
        assert eval(python_filled(code, {"v": value}), {}) == value


@given(
    st.dictionaries(TEXT, JSON, max_size=4),
    st.text(st.characters(codec="utf-8", exclude_characters="{"), max_size=30),
)
def test_an_object_is_found_in_any_prose(value, prose):
    """Whatever stands before and after."""
    text = f"{prose}{json.dumps(value)}{prose}"
    assert [found.value for found in whole_objects(text, strict=True)] == [value]


@given(HOSTILE | TEXT | st.text("{}[]:,\"'ab1 \n&*!#/-", max_size=60))
def test_no_text_breaks_the_reader(text):
    """There are objects in it, or none, or they cannot be read: nothing else."""
    assert all(isinstance(found, dict) for found in objects_in(text))
    with contextlib.suppress(UnreadableError):
        list(whole_objects(text, strict=True))
