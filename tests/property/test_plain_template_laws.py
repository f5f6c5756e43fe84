"""Laws of filling in: values are data, whatever they are and in whatever order they come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenhand.doors.prompt_directories.prompt import vars_hash
from evenhand.languages.templates.plain import names_in, render

NAMES = ("a", "b", "c-d", "e.f")
VALUES = st.text() | st.sampled_from(["{{a}}", "{{ b }}", "\\1", "{{c-d}}{{e.f}}", "}}{{"])
FILLED = st.fixed_dictionaries(dict.fromkeys(NAMES, VALUES))


@given(st.lists(st.sampled_from(NAMES) | st.text(st.characters(exclude_characters="{}"))), FILLED)
def test_each_place_is_its_value_and_all_else_is_as_it_was(parts, values):
    """Filling in is joining the parts, with each place replaced once."""
    template = "".join(f"{{{{{p}}}}}" if p in NAMES else p for p in parts)
    wanted = "".join(values[p] if p in NAMES else p for p in parts)
    assert render(template, values, "x") == wanted
    assert set(names_in(template)) == {p for p in parts if p in NAMES}


@given(FILLED)
def test_the_hash_of_values_knows_no_order(values):
    """The same values have the same hash, however they were put together."""
    assert vars_hash(dict(reversed(values.items()))) == vars_hash(values)
