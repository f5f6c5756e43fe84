"""A schema for an answer: what each vendor is sent, and what becomes of it where none is taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import BadRequest
from evenhand.core.message import Message, Prompt
from evenhand.engine.code import CodeHost
from evenhand.providers.catalog import create
from evenhand.providers.chat import ChatProvider
from evenhand.providers.structured import WithSchema, fitted, is_strict
from evenhand.scorers.judge_schema import Graded, Judgement, schema_of
from evenhand.testing import FakeProvider, Script
from evenhand.testing.script import Rule

SCHEMA = {
    "type": "object",
    "properties": {
        "why": {"type": "string", "minLength": 1},
        "grade": {"type": "integer", "minimum": 1, "maximum": 3},
        "a_share": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["why", "grade", "a_share"],
    "additionalProperties": False,
}
ASKED = Prompt((Message("user", "Say."),), "Say.", schema=SCHEMA)


def made(id_: str, env: dict[str, str] | None = None, **config: Any) -> ChatProvider:
    """A chat provider."""
    env = env or {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    provider = create(id_, config=config, env=env, base=Path())
    assert isinstance(provider, ChatProvider)
    return provider


def sent(provider: ChatProvider, prompt: Prompt = ASKED) -> dict[str, Any]:
    """The body that asks for a schema."""
    payload = provider.request(prompt).payload
    assert isinstance(payload, WithSchema)
    assert json.loads(payload.plain) == json.loads(
        provider.request(Prompt(prompt.messages, prompt.text, prompt.config)).payload
    )
    return json.loads(payload.body)


def test_openai_is_sent_a_strict_format_whose_keys_keep_their_order():
    """Models write keys in the schema's order: reasons must not be sorted behind verdicts."""
    form = sent(made("openai:gpt-5-mini"))["response_format"]
    assert form["type"] == "json_schema"
    assert (form["json_schema"]["name"], form["json_schema"]["strict"]) == ("answer", True)
    schema = form["json_schema"]["schema"]
    assert list(schema["properties"]) == ["why", "grade", "a_share"]
    assert schema["properties"]["why"] == {"type": "string"}
    assert schema["properties"]["grade"] == {"type": "integer", "minimum": 1, "maximum": 3}


def test_anthropic_is_sent_no_bounds_and_a_short_range_as_its_numbers():
    """Its grammar refuses bounds; what else the user set there stays."""
    model = made("anthropic:claude-sonnet-4-5", output_config={"effort": "low"})
    config = sent(model)["output_config"]
    assert config["effort"] == "low"
    assert config["format"]["type"] == "json_schema"
    properties = config["format"]["schema"]["properties"]
    assert list(properties) == ["why", "grade", "a_share"]
    assert properties == {
        "why": {"type": "string"},
        "grade": {"type": "integer", "enum": [1, 2, 3]},
        "a_share": {"type": "number"},
    }


@pytest.mark.parametrize(
    ("id_", "config"),
    [
        ("openai:gpt-5-mini", {"response_format": {"type": "json_object"}}),
        ("anthropic:claude-sonnet-4-5", {"output_config": {"format": {"type": "json_schema"}}}),
        ("anthropic:claude-sonnet-4-5", {"output_config": "odd"}),
    ],
)
def test_a_form_that_the_user_asked_for_stays(id_: str, config: dict[str, Any]):
    """Whoever configures the judge knows why."""
    payload = made(id_, **config).request(ASKED).payload
    assert isinstance(payload, bytes)
    (key,) = config
    assert json.loads(payload)[key] == config[key]


def test_a_schema_is_part_of_what_is_asked():
    """Another schema is another request; without one, it is the request that it always was."""
    model = made("openai:gpt-5-mini")
    plain = model.request(Prompt.of("Say."))
    other = Prompt(ASKED.messages, "Say.", schema={"type": "object", "properties": {}})
    keys = {plain.key, model.request(ASKED).key, model.request(other).key}
    assert len(keys) == 3
    assert b"response_format" not in plain.identity
    assert b"response_format" in model.request(ASKED).identity
    assert model.request(ASKED).identity == model.request(ASKED).identity


def test_half_a_character_in_a_schema_or_a_message_breaks_no_request():
    """What a broken emoji leaves is escaped, wherever it stands."""
    schema = {"type": "object", "properties": {"a\ud800": {"type": "string"}}}
    prompt = Prompt((Message("user", "x\ud800"),), "x", schema=schema)
    form = sent(made("openai:gpt-4o"), prompt)["response_format"]
    assert list(form["json_schema"]["schema"]["properties"]) == ["a\ud800"]


def test_a_property_may_have_the_name_of_a_keyword():
    """Only keywords are left out, wherever they stand; names of properties are no keywords."""
    schema = {
        "properties": {"default": {"type": "string", "default": "x"}},
        "items": {"minLength": 1},
        "anyOf": [{"minLength": 1}, True],
        "$defs": {"examples": {"examples": [1]}},
    }
    assert fitted(schema, frozenset({"default", "minLength", "examples"})) == {
        "properties": {"default": {"type": "string"}},
        "items": {},
        "anyOf": [{}, True],
        "$defs": {"examples": {}},
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (SCHEMA, True),
        ({**SCHEMA, "required": ["why"]}, False),
        ({**SCHEMA, "additionalProperties": True}, False),
        ({"type": "object"}, False),
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, False),
        ({"type": "array", "items": SCHEMA}, True),
    ],
)
def test_strict_is_said_only_where_it_can_be_meant(schema: Any, strict: bool):
    """OpenAI refuses a strict schema with optional keys; without `strict` it takes it."""
    assert is_strict(schema) is strict


def test_a_judges_own_schema_is_strict():
    """Grades, reasons first."""

    class Mine(Judgement):
        clarity: Graded[1, 5]

    form = sent(made("openai:gpt-5"), Prompt((), "", schema=schema_of(Mine)))["response_format"]
    assert form["json_schema"]["strict"] is True
    grade = form["json_schema"]["schema"]["properties"]["clarity"]
    assert list(grade["properties"]) == ["reasoning", "score"]


@pytest.mark.parametrize("id_", ["openai:old-model", "anthropic:old-model"])
async def test_a_server_that_takes_no_schema_is_asked_without_from_then_on(id_: str):
    """One refusal, then plain questions; and the request is the same, so that a run resumes."""
    with FakeProvider(Script([Rule((), "fine")]), schemas=False) as fake:
        model = made(id_, fake.env())
        host = CodeHost()
        request = model.request(ASKED)
        for _ in range(2):
            answer = await model.send(model.request(ASKED), host)
            assert model.reply(answer.body).text == "fine"
        assert [seen.status for seen in fake.requests] == [400, 200, 200]
        assert [bool(seen.schema) for seen in fake.requests] == [True, False, False]
        assert model.request(ASKED).identity == request.identity
        await model.close()


async def test_a_request_that_is_wrong_without_a_schema_as_well_stays_wrong():
    """And is not taken for a server that knows no schemas."""
    rules = [Rule(("Say",), "", fault="400", times=2), Rule((), "fine")]
    with FakeProvider(Script(rules)) as fake:
        model = made("openai:m", fake.env())
        host = CodeHost()
        with pytest.raises(BadRequest):
            await model.send(model.request(ASKED), host)
        await model.send(model.request(ASKED), host)
        assert [bool(seen.schema) for seen in fake.requests] == [True, False, True]
        assert list((fake.requests[2].schema or {})["properties"]) == ["why", "grade", "a_share"]
        await model.close()
