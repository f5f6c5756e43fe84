"""Tool calls in scripts: an agent's turns without a model."""

from __future__ import annotations

import json
from pathlib import Path

import anthropic
import openai
import pytest

from evenhand.core.message import Prompt
from evenhand.engine.code import CodeHost
from evenhand.providers.catalog import create
from evenhand.testing import FakeProvider, Rule, Script
from evenhand.testing.shapes import asked

CALLS = ({"name": "find_order", "arguments": {"id": 1042}},)
ASK = [{"role": "user", "content": "I want a refund for 1042"}]
RULES = [
    Rule(match=("delivered on 3 May",), reply="It came on 3 May."),
    Rule(match=("refund",), tool_calls=CALLS),
]


@pytest.mark.parametrize("stream", [False, True])
def test_openais_sdk_reads_scripted_tool_calls(stream: bool) -> None:
    """Whole and streamed; the next turn fits what the tool said."""
    with FakeProvider(Script(RULES)) as fake:
        client = openai.OpenAI(base_url=f"{fake.url}/v1", api_key="none")
        with client:
            if stream:
                chunks = list(client.chat.completions.create(model="m", messages=ASK, stream=True))
                deltas = [c.choices[0].delta.tool_calls for c in chunks if c.choices]
                (call,) = [call for calls in deltas if calls for call in calls]
                ending = chunks[-1].choices[0].finish_reason
            else:
                choice = client.chat.completions.create(model="m", messages=ASK).choices[0]
                (call,), ending = choice.message.tool_calls, choice.finish_reason
            assert call.function.name == "find_order"
            assert json.loads(call.function.arguments) == {"id": 1042}
            assert ending == "tool_calls"
            turn = [
                *ASK,
                {"role": "tool", "tool_call_id": call.id, "content": "delivered on 3 May"},
            ]
            last = client.chat.completions.create(model="m", messages=turn).choices[0].message
            assert (last.content, last.tool_calls) == ("It came on 3 May.", None)


@pytest.mark.parametrize("stream", [False, True])
def test_anthropics_sdk_reads_scripted_tool_calls(stream: bool) -> None:
    """Whole and streamed."""
    with (
        FakeProvider(Script(RULES)) as fake,
        anthropic.Anthropic(base_url=fake.url, api_key="none") as client,
    ):
        if stream:
            with client.messages.stream(model="m", messages=ASK, max_tokens=99) as streamed:
                said = streamed.get_final_message()
        else:
            said = client.messages.create(model="m", messages=ASK, max_tokens=99)
        (block,) = said.content
        assert (block.type, block.name, block.input) == ("tool_use", "find_order", {"id": 1042})
        assert said.stop_reason == "tool_use"


RESPONSES_TURN = [
    {"role": "user", "content": "I want a refund for 1042"},
    {"type": "function_call", "call_id": "c", "name": "find_order", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "delivered on 3 May"},
]


def test_openais_sdk_reads_scripted_tool_calls_of_the_responses_api() -> None:
    """The next turn fits what the tool gave back."""
    with (
        FakeProvider(Script(RULES)) as fake,
        openai.OpenAI(base_url=f"{fake.url}/v1", api_key="none") as client,
    ):
        (call,) = client.responses.create(model="m", input=ASK).output
        assert (call.type, call.name) == ("function_call", "find_order")
        assert json.loads(call.arguments) == {"id": 1042}
        last = client.responses.create(model="m", input=RESPONSES_TURN)
        assert last.output_text == "It came on 3 May."


@pytest.mark.parametrize(
    "id_",
    [
        "openai:responses:m",
        "google:g",
        "vertex:gemini-2.5-flash",
        "vertex:claude-haiku",
        "ollama:chat:m",
    ],
)
@pytest.mark.parametrize("text", ["", "I look it up."])
async def test_scripted_tool_calls_are_read_from_every_api_that_has_them(
    id_: str, text: str
) -> None:
    """With words beside them or without."""
    rule = Rule(match=("refund",), reply=text, tool_calls=CALLS)
    with FakeProvider(Script([rule])) as fake:
        provider = create(id_, env=fake.env(), base=Path())
        request = provider.request(Prompt.of("I want a refund for 1042"))
        reply = provider.reply((await provider.send(request, CodeHost())).body)
        await provider.close()
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [("find_order", {"id": 1042})]
    assert reply.finish_reason == "tool_calls"
    assert not text or text in reply.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/responses", {"input": RESPONSES_TURN}),
        (
            "/v1beta/models/g:generateContent",
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "refund"}]},
                    {
                        "role": "user",
                        "parts": [
                            {
                                "functionResponse": {
                                    "name": "find_order",
                                    "response": {"result": "delivered on 3 May"},
                                }
                            }
                        ],
                    },
                ]
            },
        ),
        (
            "/v1/messages",
            {
                "messages": [
                    {"role": "user", "content": "refund"},
                    {
                        "role": "user",
                        "content": [
                            {
                                "type": "tool_result",
                                "tool_use_id": "t",
                                "content": "delivered on 3 May",
                            }
                        ],
                    },
                ]
            },
        ),
        (
            "/api/chat",
            {
                "messages": [
                    {"role": "user", "content": "refund"},
                    {"role": "tool", "content": "delivered on 3 May"},
                ]
            },
        ),
    ],
)
def test_a_rule_fits_what_a_tool_gave_back_in_every_api(path: str, body: dict[str, object]) -> None:
    """So the second turn of an agent can be scripted."""
    assert "delivered on 3 May" in asked(body, path).text


def test_tool_calls_stand_in_a_script_on_disk(tmp_path: Path) -> None:
    """With what is wrong with them told by line."""
    file = tmp_path / "offline.jsonl"
    file.write_text('{"match": "refund", "tool_calls": [{"name": "find_order"}]}\n')
    assert Script.read(file).rules[0].tool_calls == ({"name": "find_order"},)
    file.write_text('{"match": "refund", "tool_calls": [{"nam": "find_order"}]}\n')
    with pytest.raises(Exception, match="is not a call: write"):
        Script.read(file)
