"""What tells one system from another where the limits of a cascade hold for one: not its case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from evenhand.core.case import Case
from evenhand.core.message import Reply
from evenhand.core.variant import Variant
from evenhand.engine.cascading import system_of


class Answered:
    """A trial of a system whose prompt is made by code."""

    def __init__(self, asked: object, prompt: str, **axes: str) -> None:
        self.case = Case("a", input=asked, vars=asked if isinstance(asked, Mapping) else {})
        self.variant = Variant(0, "", "m", axes=axes)
        self.prompt_text = prompt
        self.reply: Reply | None = None
        self.identities: list[bytes] = []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann", "Bo"),
        ({"name": "Ann"}, {"name": "Bo"}),
        (["Ann"], ["Bo"]),
        ({"of": ["Ann"]}, {"of": ["Bo"]}),
    ],
)
def test_the_texts_of_a_case_are_no_part_of_its_system(one: object, other: object):
    """Wherever they stand in the case; other words around them are another system."""
    first = system_of(Answered(one, "Greet Ann."))
    assert first == system_of(Answered(other, "Greet Bo."))
    assert first != system_of(Answered(one, "Thank Ann."))
    assert first != system_of(Answered(one, "Greet Ann.", chunks="5"))


def test_what_belongs_together_is_a_part_of_a_system():
    """At which risk verdicts stand goes by clusters: limits of other ones don't hold."""
    one = Answered("Ann", "Greet Ann.")
    alone = system_of(one)
    systems = {alone}
    for cluster in ("document", "topic"):
        one.variant = replace(one.variant, cluster=cluster)
        systems.add(system_of(one))
    assert len(systems) == 3
