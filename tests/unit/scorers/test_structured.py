"""What is JSON, what has JSON in it, and what fits a schema."""

from __future__ import annotations

import json
import time

import pytest

from evenhand.core.errors import ScoreError
from evenhand.doors.assertions.structured import _schema as kind_of_schema
from evenhand.scorers.json_formats import FORMATS
from evenhand.scorers.structured import ContainsJson, IsJson, misfit, unknown_keyword, validator

NAMED = json.dumps(
    {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
)


@pytest.mark.parametrize(
    ("output", "schema", "passed"),
    [
        ('{"name": "x"}', "", True),
        ("[1, 2]", "", True),
        ("3", "", True),
        ('"text"', "", True),
        (' {"a": 1}\n', "", True),
        ("", "", False),
        ("```json\n{}\n```", "", False),
        ("{'a': 1}", "", False),
        ('{"a": NaN}', "", False),
        ('{"a": 1,}', "", False),
        ('{"name": "x"}', NAMED, True),
        ('{"name": 3}', NAMED, False),
        ("{}", NAMED, False),
        ({"name": "x"}, NAMED, True),
    ],
)
def test_is_json_takes_the_whole_output_and_nothing_less(output, schema, passed):
    """The output has to be JSON by itself, and to fit the schema where there is one."""
    assert IsJson(schema).score(output).passed is passed


@pytest.mark.parametrize(
    ("output", "schema", "passed"),
    [
        ('Sure: {"name": "x"} there', "", True),
        ("```json\n{'name': 'x',}\n```", NAMED, True),
        ("[1, 2]", "", False),
        ('[{"name": "x"}]', NAMED, True),
        ('{"other": 1} and {"name": "x"}', NAMED, True),
        ('{"other": 1}', NAMED, False),
        ("none", "", False),
    ],
)
def test_contains_json_looks_for_an_object_anywhere(output, schema, passed):
    """Any object in the output will do, if it fits."""
    assert ContainsJson(schema).score(output).passed is passed


def test_a_misfit_says_where_and_why():
    """The reason names the place in the JSON."""
    reason = misfit(NAMED, {"name": 3})
    assert "at name" in reason
    assert "string" in reason


@pytest.mark.parametrize(
    "schema",
    [
        '{"type": "nonsense"}',
        '{"requried": ["a"]}',
        '{"properties": {"a": {"typ": "string"}}}',
        '{"anyOf": [{"typ": "string"}]}',
        '{"$ref": "#/definitions/none"}',
    ],
)
def test_a_schema_that_would_check_nothing_is_refused(schema):
    """A misspelt keyword is an error, not a pass."""
    with pytest.raises(ScoreError, match="schema"):
        validator(schema)


def test_keywords_of_every_draft_and_names_of_properties_are_known():
    """What is a property's name is not a keyword."""
    assert (
        unknown_keyword({"properties": {"typ": {}}, "$defs": {"x": {"x-note": 1}}, "items": [{}]})
        == ""
    )
    assert unknown_keyword(True) == ""


def test_formats_are_checked():
    """A date that is none does not fit."""
    schema = '{"type": "string", "format": "date"}'
    assert misfit(schema, "2024-01-01") == ""
    assert misfit(schema, "yesterday")


def test_json_that_is_nested_too_deep_is_an_error():
    """It is JSON, but nothing can be said of it."""
    with pytest.raises(ScoreError, match="too deep"):
        IsJson().score("[" * 100_000 + "]" * 100_000)


def test_labels_say_whether_there_is_a_schema():
    """The label is the type."""
    assert [str(IsJson()), str(ContainsJson(NAMED))] == ["is-json", "contains-json with schema"]


@pytest.mark.parametrize(
    ("address", "fits"),
    [
        ("a@b", False),
        ("a@b.c", True),
        ("a.b+c@D-e.org", True),
        ("a@b..c", False),
        ("a@b.c\n", False),
    ],
)
def test_an_email_address_needs_a_domain_with_a_dot_as_in_promptfoo(
    address: str, fits: bool
) -> None:
    """The validator of promptfoo refuses what a mail server of one's own might take."""
    assert (misfit('{"type": "string", "format": "email"}', address) == "") is fits


@pytest.mark.parametrize(
    ("schema", "fitting", "wrong"),
    [
        ({"type": "string", "nullable": True}, None, 5),
        ({"type": ["string", "integer"], "nullable": True}, None, []),
        ({"type": "string", "nullable": False}, "a", None),
        ({"properties": {"a": {"items": {"type": "string", "nullable": True}}}}, {"a": [None]}, {"a": [5]}),
        ({"anyOf": [{"type": "object", "nullable": True}]}, None, ""),
        ({"type": "number", "format": "int32", "allOf": [{"minimum": 3}]}, 2**31 - 1, 2**31),
        ({"$defs": {"n": {"format": "int64"}}, "items": {"$ref": "#/$defs/n"}}, [1], [1.5]),
    ],
)  # fmt: skip
def test_openapi_words_count(schema, fitting, wrong):
    """Schemas of tools and services say `nullable`, and give numbers a format."""
    assert misfit(json.dumps(schema), fitting) == ""
    assert misfit(json.dumps(schema), wrong) != ""


@pytest.mark.parametrize(
    "text", ["a." * 200_000, "http://" + "a@:" * 200_000, "{a," * 200_000, "::" * 200_000]
)
def test_formats_of_hostile_text_take_no_time(text):
    """What a model wrote is searched in a time that grows with its length."""
    began = time.process_time()
    for name in FORMATS:
        FORMATS[name](text)
    assert time.process_time() - began < 5


def test_a_format_that_nobody_checks_is_refused_in_a_config_with_the_one_that_was_meant():
    """Anywhere in the schema; promptfoo, too, refuses it."""
    schema = {"type": "object", "properties": {"key": {"type": "string", "format": "uuuid"}}}
    with pytest.raises(ScoreError, match="the format 'uuuid', which is not known") as refusal:
        kind_of_schema(schema)
    assert (refusal.value.hint or "").startswith("Did you mean 'uuid'?")
