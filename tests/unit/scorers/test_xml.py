"""Whether something is XML, or has some in it, with the elements that are wanted."""

from __future__ import annotations

import pytest

from evenhand.scorers.markup import ContainsXml, IsXml

ITEMS = "<order id='7'><item>a</item><item>b</item><to><name>X</name></to></order>"


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("<a/>", True),
        (f"<?xml version='1.0'?>\n{ITEMS}\n", True),
        ("<a xmlns:n='u'><n:b/></a>", True),
        ("<!DOCTYPE a><a/>", True),
        ("<a/><b/>", False),
        ("<n:a/>", False),
        ("<a><b></a>", False),
        ("<a b=1/>", False),
        ("<a>x & y</a>", False),
        ("text", False),
        ("", False),
    ],
)
def test_xml_is_well_formed_or_none(text: str, passed: bool):
    """One root, closed elements, declared prefixes."""
    assert IsXml().score(text).passed is passed


def test_entities_of_its_own_are_refused():
    """They could grow without end."""
    text = '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'
    assert IsXml().score(text).reason == "it defines entities of its own"


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("order", True),
        ("order.item", True),
        ("order.item.1", True),
        ("order.item.2", False),
        ("order.to.name", True),
        ("order.name", False),
        ("order.@_id", True),
        ("item", False),
    ],
)
def test_an_element_is_a_way_down(path: str, there: bool):
    """A number where there are several of one name."""
    elements = (tuple(path.split(".")),)
    assert IsXml(elements).score(ITEMS).passed is there
    assert ContainsXml(elements).score(f"Here: {ITEMS} it is").passed is there


def test_neighbours_are_one_piece_before_each_is_its_own():
    """So that elements of both may be wanted."""
    text = "first <a><b/></a> then <a><c/></a>"
    assert ContainsXml((("a", "c"),)).score(text).passed
    assert ContainsXml((("a", "0", "b"), ("a", "1", "c"))).score(text).passed
    assert ContainsXml().score("5 < 6 > 4").reason == "there is no XML in it"
