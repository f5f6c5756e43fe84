"""What is sent to OpenAI and Anthropic, and how their answers are read."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import AuthError, BadReply, UsageError
from evenhand.core.message import Message, Prompt
from evenhand.core.request_settings import settings_in
from evenhand.engine.code import CodeHost
from evenhand.providers import http
from evenhand.providers.catalog import SCHEMES, create
from evenhand.providers.chat import ChatProvider
from evenhand.providers.prices import bound, cost, price_of
from evenhand.providers.prompt_text import parse_prompt


def made(id_: str, env: dict[str, str] | None = None, **config: Any) -> ChatProvider:
    """A chat provider."""
    provider = create(
        id_,
        config=config,
        env=env or {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"},
        base=Path(),
    )
    assert isinstance(provider, ChatProvider)
    return provider


def body(provider: ChatProvider, prompt: Prompt | str = "Hello") -> dict[str, Any]:
    """What it would send."""
    return json.loads(
        provider.request(Prompt.of(prompt) if isinstance(prompt, str) else prompt).payload
    )


def openai_answer(**message: Any) -> bytes:
    """An answer of OpenAI's."""
    choice = {
        "message": {"role": "assistant", **message},
        "finish_reason": message.pop("reason", "stop"),
    }
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    return json.dumps({"model": "gpt-4o-2024", "choices": [choice], "usage": usage}).encode()


def anthropic_answer(*content: dict[str, Any], stop: str = "end_turn") -> bytes:
    """An answer of Anthropic's."""
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 4}
    return json.dumps(
        {"model": "claude-x", "content": content, "stop_reason": stop, "usage": usage}
    ).encode()


def test_openai_is_sent_the_conversation_at_temperature_0_unless_told_otherwise():
    """The defaults of promptfoo."""
    assert body(made("openai:chat:gpt-4o")) == {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "Hello"}],
        "temperature": 0,
        "max_tokens": 1024,
    }
    hot = body(
        made(
            "openai:gpt-4o",
            temperature=0.7,
            max_tokens=5,
            stop=["x"],
            seed=3,
            passthrough={"user": "u"},
        )
    )
    assert (hot["temperature"], hot["max_tokens"], hot["stop"], hot["seed"], hot["user"]) == (
        0.7,
        5,
        ["x"],
        3,
        "u",
    )
    assert "temperature" not in body(made("openai:gpt-4o", omitDefaults=True))


@pytest.mark.parametrize("model", ["gpt-5", "gpt-5-mini", "o3", "o4-mini"])
def test_reasoning_models_are_not_sent_what_they_refuse(model: str):
    """No temperature, and the limit under its newer name."""
    sent = body(made(f"openai:chat:{model}", temperature=0, max_tokens=50))
    assert "temperature" not in sent
    assert "max_tokens" not in sent
    assert sent["max_completion_tokens"] == 50


def test_anthropic_is_sent_leading_system_messages_apart():
    """Those further on stay where they are."""
    prompt = Prompt(
        (Message("system", "Be brief."), Message("system", "Be kind."), Message("user", "Hi")), "…"
    )
    assert body(made("anthropic:messages:claude-sonnet-4-5"), prompt) == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 1024,
        "temperature": 0,
        "system": "Be brief.\n\nBe kind.",
        "messages": [{"role": "user", "content": "Hi"}],
    }
    thinking = body(
        made("anthropic:claude-opus-4-5", thinking={"type": "enabled", "budget_tokens": 9}, top_k=3)
    )
    assert "temperature" not in thinking
    assert thinking["top_k"] == 3


def test_a_prompts_settings_go_over_the_providers():
    """Per prompt, as `config` under prompts."""
    assert (
        body(made("openai:gpt-4o", temperature=0.2), Prompt.of("x", temperature=0.9))["temperature"]
        == 0.9
    )


def test_the_identity_holds_what_is_asked_and_nothing_of_who_asks():
    """Two keys, two labels, two time limits: one question. Another address: another."""
    one = made("openai:gpt-4o", {"OPENAI_API_KEY": "one"})
    other = create(
        "openai:gpt-4o",
        label="mine",
        config={"timeoutMs": 5},
        env={"OPENAI_API_KEY": "two"},
        base=Path(),
    )
    prompt = Prompt.of("x")
    assert one.request(prompt).key == other.request(prompt).key
    assert b"one" not in one.request(prompt).identity
    elsewhere = made("openai:gpt-4o@http://localhost:8000/v1")
    assert elsewhere.request(prompt).key != one.request(prompt).key
    assert one.account != other.account


def test_a_header_by_which_a_gateway_chooses_a_model_is_part_of_what_is_asked():
    """Without its value, which may be a secret whatever the header is called."""

    def asked(**headers: str) -> bytes:
        return made("openai:gpt-4o", headers=headers).request(Prompt.of("x")).identity

    plain = made("openai:gpt-4o").request(Prompt.of("x")).identity
    large, small = asked(**{"X-Route": "large"}), asked(**{"X-Route": "small"})
    assert len({plain, large, small}) == 3
    assert asked(**{"x-route": "large"}) == large
    assert b"large" not in large
    of_sender = {"User-Agent": "a", "X-Request-Id": "b", "OpenAI-Organization": "c", "X-Title": "d"}
    secret = {"Authorization": "Bearer e", "X-Api-Key": "f", "x-portkey-virtual-key": "g"}
    assert asked(**of_sender, **secret) == plain
    assert settings_in(large) not in (settings_in(small), settings_in(plain))


def test_a_key_in_an_address_is_sent_and_not_kept():
    """Neither the run file nor the cache has it; what else the address says counts."""
    prompt = Prompt.of("x")
    one = made("openai:gpt-4o@http://me:hush@localhost:8000/v1?api-version=2&api-key=hush")
    identity = one.request(prompt).identity
    assert b"hush" not in identity
    assert b"localhost:8000/v1?api-version=2&api-key=" in identity
    assert "hush" in one.url
    plain = made("openai:gpt-4o@http://localhost:8000/v1").request(prompt).identity
    assert b'"url":"http://localhost:8000/v1/chat/completions"' in plain


def test_only_what_is_sampled_is_called_so():
    """Temperature 0 or a seed makes a request deterministic."""
    prompt = Prompt.of("x")
    assert made("openai:gpt-4o").request(prompt).deterministic
    assert made("openai:gpt-4o", temperature=1, seed=1).request(prompt).deterministic
    assert not made("openai:gpt-4o", temperature=1).request(prompt).deterministic


@pytest.mark.parametrize(
    ("env", "config", "url"),
    [
        ({}, {}, "https://api.openai.com/v1/chat/completions"),
        ({"OPENAI_BASE_URL": "http://a/v1/"}, {}, "http://a/v1/chat/completions"),
        ({"OPENAI_API_HOST": "b"}, {}, "https://b/v1/chat/completions"),
        (
            {"OPENAI_BASE_URL": "http://a/v1"},
            {"apiBaseUrl": "http://c/v1"},
            "http://c/v1/chat/completions",
        ),
    ],
)
def test_the_address_comes_from_config_then_environment(
    env: dict[str, str], config: dict[str, Any], url: str
):
    """As promptfoo looks it up."""
    assert made("openai:gpt-4o", env, **config).url == url


def test_anthropics_address_may_or_may_not_name_the_version():
    """Both are seen in the wild."""
    for base in ("http://x", "http://x/", "http://x/v1"):
        assert made("anthropic:claude", {"ANTHROPIC_BASE_URL": base}).url == "http://x/v1/messages"


async def test_a_missing_key_is_told_before_anything_is_sent_but_not_for_this_machine():
    """A local server may need none."""
    with pytest.raises(AuthError, match="no API key") as caught:
        await made("openai:gpt-4o", {"X": ""}).send(
            made("openai:gpt-4o").request(Prompt.of("x")), CodeHost()
        )
    assert "OPENAI_API_KEY" in caught.value.hint


def test_openais_answers_are_read_in_all_their_forms():
    """Text, tools, refusals, parts, and JSON where it was asked for."""
    model = made("openai:gpt-4o")
    plain = model.reply(openai_answer(content="Hi"))
    assert (plain.text, plain.output, plain.finish_reason, plain.model) == (
        "Hi",
        "Hi",
        "stop",
        "gpt-4o-2024",
    )
    assert (plain.usage.tokens_in, plain.usage.tokens_out, plain.usage.tokens_cached) == (10, 5, 4)
    assert plain.cost_usd == pytest.approx((6 * 2.5 + 4 * 1.25 + 5 * 10) / 1e6)
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    tools = model.reply(openai_answer(content=None, tool_calls=[call]))
    assert tools.output == [call]
    assert (tools.tool_calls[0].name, tools.tool_calls[0].arguments) == ("add", {"a": 1})
    both = model.reply(openai_answer(content="So:", tool_calls=[call]))
    assert both.text == "So:"
    assert isinstance(both.output, dict)
    refused = model.reply(openai_answer(content=None, refusal="I won't."))
    assert (refused.text, refused.refused) == ("I won't.", True)
    assert (
        model.reply(openai_answer(content=[{"type": "text", "text": "a"}, {"text": "b"}])).text
        == "ab"
    )
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}
    assert made("openai:gpt-4o", response_format=schema).reply(
        openai_answer(content='{"a": 1}')
    ).output == {"a": 1}
    assert (
        made("openai:gpt-4o", response_format=schema).reply(openai_answer(content='{"a"')).output
        == '{"a"'
    )
    broken = {"function": {"name": "add", "arguments": "{"}}
    assert (
        model.reply(openai_answer(content=None, tool_calls=[broken])).tool_calls[0].arguments
        is None
    )


def test_anthropics_answers_are_read_in_all_their_forms():
    """Text blocks joined, tools beside them, reasons in the words that all vendors share."""
    model = made("anthropic:claude-sonnet-4-5")
    plain = model.reply(
        anthropic_answer({"type": "text", "text": "Hi "}, {"type": "text", "text": "there"})
    )
    assert (plain.text, plain.finish_reason) == ("Hi there", "stop")
    assert (plain.usage.tokens_in, plain.usage.tokens_cached) == (14, 4)
    assert plain.cost_usd == pytest.approx((10 * 3 + 4 * 0.3 + 5 * 15) / 1e6)
    tool = {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 1}}
    used = model.reply(anthropic_answer({"type": "text", "text": "So"}, tool, stop="tool_use"))
    assert used.tool_calls[0].arguments == {"a": 1}
    assert used.finish_reason == "tool_calls"
    assert model.reply(anthropic_answer({"type": "text", "text": ""}, stop="refusal")).refused
    assert (
        model.reply(
            anthropic_answer({"type": "text", "text": "x"}, stop="max_tokens")
        ).finish_reason
        == "length"
    )
    assert (
        model.reply(
            anthropic_answer({"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "x"})
        ).text
        == "x"
    )


@pytest.mark.parametrize("id_", ["openai:gpt-4o", "anthropic:claude-x"])
@pytest.mark.parametrize(
    "answer",
    [
        b"{",
        b"[]",
        b"{}",
        b'{"error": {"message": "no"}}',
        b'{"choices": [], "content": 3}',
        b"\xff",
    ],
)
def test_what_is_no_answer_is_a_bad_reply(id_: str, answer: bytes):
    """Never an empty text."""
    with pytest.raises(BadReply):
        made(id_).reply(answer)


def test_tokens_that_the_vendor_does_not_tell_are_not_0():
    """And neither is the price."""
    reply = made("openai:gpt-4o").reply(b'{"choices": [{"message": {"content": "x"}}]}')
    assert (reply.usage.tokens_in, reply.cost_usd) == (None, None)


def test_prices_are_those_of_the_model_its_snapshots_and_the_config():
    """A model's bigger sister is another model."""
    assert price_of("openai", "gpt-4o-2024-08-06", {}) == price_of("openai", "gpt-4o", {})
    assert price_of("openai", "gpt-4o-mini", {}) != price_of("openai", "gpt-4o", {})
    assert price_of("openai", "gpt-4o-audio", {}) is None
    assert price_of("", "gpt-4o", {}) is None
    own = price_of("", "llama", {"cost": 0.000002})
    assert own is not None
    assert (own.usd_in, own.usd_out) == (pytest.approx(2.0), pytest.approx(2.0))
    assert bound(own, 1000, 500) == pytest.approx(0.003)
    assert bound(None, 1, 1) is None
    assert cost(None, made("openai:gpt-4o").reply(openai_answer(content="x")).usage) is None


def test_what_a_call_really_costs_is_never_more_than_its_bound():
    """For text of any script: a token is at least a byte."""
    model = made("openai:gpt-4o", max_tokens=5)
    request = model.request(Prompt.of("Ü" * 100))
    assert request.cost_bound_usd is not None
    assert request.cost_bound_usd >= (200 * 2.5 + 5 * 10) / 1e6


def test_several_answers_in_one_call_are_bounded_together():
    """`n` goes through `passthrough`, also in quotes, which some servers take; 0 leaves the bound as it is."""
    bounds = [
        made("openai:gpt-4o", passthrough={"n": n}).request(Prompt.of("x")).cost_bound_usd
        for n in (1, 3, "3", 0)
    ]
    one, three, text, none = (bound or 0.0 for bound in bounds)
    assert three == pytest.approx(3 * one, rel=0.02)  # the prompt is paid for once
    assert text == pytest.approx(three, rel=0.01)
    assert none == pytest.approx(one, rel=0.01)


@pytest.mark.parametrize(
    ("id_", "says"),
    [
        ("opnai:gpt-4o", "Did you mean 'openai'?"),
        ("mcp:x", "A server is no model"),
        ("openai:realtime:x", "OpenAI's realtime, which is not supported"),
        ("groq:moderation:x", "apiBaseUrl: https://api.groq.com/openai/v1"),
        ("bedrock:x", "litellm:bedrock/x"),
        ("python:missing.py", "missing.py does not exist"),
        ("nonsense", "`evenhand info providers` lists"),
    ],
)
def test_an_unknown_provider_is_told_what_there_is(id_: str, says: str):
    """The nearest word, or what can stand in."""
    with pytest.raises(UsageError) as caught:
        create(id_, env={}, base=Path())
    assert says in str(caught.value)


def test_every_scheme_has_a_line_of_its_own():
    """For help and docs."""
    assert all(text for text in SCHEMES.values())


def test_a_chat_is_read_from_json_and_yaml_and_text_that_only_looks_like_one_stays_text():
    """Word for word."""
    assert parse_prompt(
        '[{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]'
    ) == (
        Message("system", "S"),
        Message("user", "U"),
    )
    assert parse_prompt("- role: user\n  content: U\n") == (Message("user", "U"),)
    for text in ("[1, 2]", "[not json", "- role: [", "Hello", '[{"role": "user"'):
        assert parse_prompt(text) == (Message("user", text),)
    blocks = parse_prompt('[{"role": "user", "content": [{"type": "text", "text": "x"}]}]')
    assert blocks[0].content == [{"type": "text", "text": "x"}]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("status", [200, 201, 203])
async def test_a_whole_answer_is_read_whatever_mark_and_status_it_comes_with(
    status: int, mark: bytes
):
    """It was paid for. What a status of another kind comes with is none."""
    answer = mark + openai_answer(content="Hi")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        await reader.readexactly(int(size[1]) if size else 0)
        kind = b"content-type: application/json"
        writer.write(b"HTTP/1.1 %d x\r\n%s\r\n" % (status, kind))
        writer.write(b"content-length: %d\r\nconnection: close\r\n\r\n%s" % (len(answer), answer))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        provider = made("openai:gpt-4o", apiBaseUrl=f"http://127.0.0.1:{port}/v1")
        got = await provider.send(provider.request(Prompt.of("x")), CodeHost())
        await http.transport().close()
    assert provider.reply(got.body).text == "Hi"


@pytest.mark.parametrize("places", [(0, 1), (1, 0), (2, 1, 0), (None, None), (None, 1)])
def test_the_first_choice_is_the_one_that_says_so(places: tuple[int | None, ...]):
    """In whichever order choices come; those without an index are in order."""
    choices = [
        {"index": place, "finish_reason": "stop", "message": {"content": f"{place or 0} at {at}"}}
        for at, place in enumerate(places)
    ]
    lowest = min(range(len(places)), key=lambda at: places[at] or 0)
    reply = made("openai:gpt-4o").reply(json.dumps({"choices": choices}).encode())
    assert reply.text == f"0 at {lowest}"
