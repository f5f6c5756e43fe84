"""Vendors with an API of their own: what is sent to each, and how its answers are read."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import (
    AuthError,
    BadReply,
    BadRequest,
    Overloaded,
    RateLimited,
    UnknownModel,
    UsageError,
)
from evenhand.core.message import Message, Prompt
from evenhand.engine.code import CodeHost
from evenhand.providers.catalog import SCHEMES, create, key_missing
from evenhand.providers.chat import ChatProvider
from evenhand.providers.servers import SERVERS
from evenhand.testing import FakeProvider, Rule, Script, check_model

CHAT = (
    Message("system", "Be brief."),
    Message(
        "user",
        [
            {"type": "text", "text": "Look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        ],
    ),
    Message("assistant", "Seen."),
    Message("user", "And?"),
)


def made(id_: str, env: dict[str, str] | None = None, **config: Any) -> ChatProvider:
    """A provider that is asked over HTTP."""
    provider = create(id_, config=config, env=env or {}, base=Path())
    assert isinstance(provider, ChatProvider)
    return provider


def sent(provider: ChatProvider, prompt: Prompt | str = "Hello", **config: Any) -> dict[str, Any]:
    """The body that would be sent."""
    prompt = Prompt.of(prompt, **config) if isinstance(prompt, str) else prompt
    return cast("dict[str, Any]", decode(provider.request(prompt).payload))


def read(id_: str, answer: object, **config: Any):
    """An answer, read by this provider."""
    return made(id_, **config).reply(encode(answer))


# Google


def test_gemini_is_asked_in_its_own_words():
    """Roles, pictures, the system's words and the settings each where that API wants them."""
    provider = made("google:gemini-2.5-flash", {"GOOGLE_API_KEY": "k"}, temperature=0, max_tokens=9)
    home = "https://generativelanguage.googleapis.com/v1beta/models"
    assert provider.url == f"{home}/gemini-2.5-flash:generateContent"
    assert provider._headers["x-goog-api-key"] == "k"
    body = sent(provider, Prompt(CHAT, "x"))
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert [c["role"] for c in body["contents"]] == ["user", "model", "user"]
    assert body["contents"][0]["parts"] == [
        {"text": "Look"},
        {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
    ]
    assert body["generationConfig"] == {"temperature": 0, "maxOutputTokens": 9}
    request = provider.request(Prompt.of("x"))
    assert request.deterministic


def test_a_tool_in_the_words_of_openai_is_said_in_those_of_google():
    """And one in Google's own is left alone."""
    parameters = {"type": "object"}
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters, "strict": True}}
    body = sent(made("google:gemini-2.5-flash", tools=[tool, {"googleSearch": {}}]))
    assert body["tools"] == [
        {"functionDeclarations": [{"name": "f", "parameters": parameters}]},
        {"googleSearch": {}},
    ]


def gemini(*parts: object, reason: str = "STOP") -> dict[str, Any]:
    """An answer of Gemini's."""
    return {
        "candidates": [{"content": {"parts": list(parts)}, "finishReason": reason}],
        "usageMetadata": {
            "promptTokenCount": 10,
            "candidatesTokenCount": 2,
            "thoughtsTokenCount": 5,
            "cachedContentTokenCount": 4,
        },
        "modelVersion": "gemini-2.5-flash-001",
    }


def test_an_answer_of_gemini_is_its_text_without_the_thoughts():
    """Thinking is paid for, and counted; shown only where that is wanted."""
    answer = gemini({"text": "Hm.", "thought": True}, {"text": "Yes"}, {"text": "!"})
    reply = read("google:gemini-2.5-flash", answer)
    assert (reply.text, reply.output, reply.finish_reason) == ("Yes!", "Yes!", "stop")
    assert (reply.usage.tokens_in, reply.usage.tokens_out, reply.usage.tokens_cached) == (10, 7, 4)
    assert reply.model == "gemini-2.5-flash-001"
    shown = read("google:gemini-2.5-flash", answer, showThinking=True)
    assert shown.output == "Thinking: Hm.\n\nYes!"


@pytest.mark.parametrize(
    ("counts", "written"),
    [
        ({"promptTokenCount": 10}, None),
        ({"promptTokenCount": 10, "candidatesTokenCount": -2}, None),
        ({"promptTokenCount": 10, "thoughtsTokenCount": 5}, None),
        ({}, None),
        ({"promptTokenCount": 10, "candidatesTokenCount": 2}, 2),
    ],
)
def test_an_answer_of_gemini_whose_length_nobody_says_is_not_free(
    counts: dict[str, int], written: int | None
):
    """Of a text there is something to pay for."""
    reply = read("google:gemini-2.5-flash", {**gemini({"text": "Yes"}), "usageMetadata": counts})
    assert reply.usage.tokens_out == written
    assert (reply.cost_usd is None) is (written is None)


def test_only_thoughts_of_gemini_are_counted_where_there_is_no_text():
    """A count of nothing is left out of its answers."""
    answer = gemini({"text": "Hm.", "thought": True}, reason="SAFETY")
    answer["usageMetadata"] = {"promptTokenCount": 10, "thoughtsTokenCount": 5}
    assert read("google:gemini-2.5-flash", answer).usage.tokens_out == 5


def test_a_tool_that_gemini_asks_for_is_a_tool_call():
    """The output is then the parts, as they came."""
    part = {"functionCall": {"name": "f", "args": {"a": 1}}}
    reply = read("google:gemini-2.5-flash", gemini(part))
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [("f", {"a": 1})]
    assert (reply.output, reply.finish_reason) == ([part], "tool_calls")


@pytest.mark.parametrize(
    "answer",
    [
        {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}},
        {**gemini(reason="PROHIBITED_CONTENT")},
    ],
)
def test_what_google_blocks_is_refused(answer):
    """Whether it was the prompt or the answer."""
    reply = read("google:gemini-2.5-flash", answer)
    assert reply.refused
    assert reply.finish_reason == "content_filter"


# OpenAI's responses and completions


def test_new_models_are_asked_through_responses_where_the_id_does_not_say():
    """Older ones through chat, as before; what the id says counts."""
    paths = {
        id_: made(id_, {"OPENAI_API_KEY": "k"}).url.removeprefix("https://api.openai.com/v1")
        for id_ in ("openai:gpt-5.6-sol", "openai:gpt-5-mini", "openai:gpt-4o", "openai:gpt-35-x")
    }
    assert list(paths.values()) == ["/responses", *["/chat/completions"] * 3]
    assert made("openai:responses:gpt-4o").url.endswith("/responses")
    assert made("openai:chat:gpt-5.6-sol").url.endswith("/chat/completions")


def test_the_responses_api_is_asked_in_its_own_words():
    """One text is the input; a conversation is a list with kinds of its own."""
    plain = sent(made("openai:responses:gpt-4o"))
    assert plain == {
        "model": "gpt-4o",
        "input": "Hello",
        "max_output_tokens": 1024,
        "temperature": 0,
    }
    body = sent(made("openai:responses:o3", reasoning_effort="low"), Prompt(CHAT, "x"))
    assert body["reasoning"] == {"effort": "low"}
    assert "temperature" not in body
    assert body["input"][1]["content"][0] == {"type": "input_text", "text": "Look"}
    assert body["input"][1]["content"][1]["type"] == "input_image"
    schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    body = sent(made("openai:responses:gpt-4o", response_format=schema))
    assert body["text"]["format"] == {
        "type": "json_schema",
        "name": "n",
        "schema": {"type": "object"},
    }


def said(*items: object, **more: Any) -> dict[str, Any]:
    """An answer of the responses API."""
    usage = {"input_tokens": 3, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}}
    return {"output": list(items), "usage": usage, "model": "m", **more}


def message(text: str) -> dict[str, Any]:
    """An item of it."""
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }


def test_answers_of_the_responses_api_are_read():
    """Text, tools, refusals, and what was cut off."""
    thought = {"type": "reasoning", "summary": [{"text": "Hm"}]}
    reply = read("openai:responses:gpt-4o", said(thought, message("Yes")))
    assert reply.text == "Reasoning: Hm\nYes"
    assert (reply.usage.tokens_in, reply.usage.tokens_out, reply.usage.tokens_cached) == (3, 2, 1)
    tool = {"type": "function_call", "name": "f", "arguments": '{"a":1}', "call_id": "c"}
    reply = read("openai:responses:gpt-4o", said(tool))
    assert [(c.name, c.arguments, c.id) for c in reply.tool_calls] == [("f", {"a": 1}, "c")]
    refusal = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    reply = read("openai:responses:gpt-4o", said(refusal))
    assert (reply.text, reply.refused) == ("No.", True)
    cut = {"incomplete_details": {"reason": "max_output_tokens"}}
    assert read("openai:responses:gpt-4o", said(message("Y"), **cut)).finish_reason == "length"
    schema = {"type": "json_schema", "schema": {}}
    parsed = read("openai:responses:gpt-4o", said(message('{"a": 1}')), response_format=schema)
    assert parsed.output == {"a": 1}


def test_a_plain_completion_goes_on_from_the_text():
    """Its answer is a text."""
    assert sent(made("openai:completion:davinci-002"))["prompt"] == "Hello"
    answer = {"choices": [{"text": " world", "finish_reason": "length"}], "usage": {}}
    reply = read("openai:completion:davinci-002", answer)
    assert (reply.text, reply.finish_reason) == (" world", "length")


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_thoughts_are_shown_before_the_text_where_that_is_wanted(field):
    """As the servers that speak OpenAI's API write them."""
    answer = {"choices": [{"message": {"content": "Yes", field: "Hm"}}]}
    assert read("deepseek:deepseek-reasoner", answer).output == "Yes"
    shown = read("deepseek:deepseek-reasoner", answer, showThinking=True)
    assert (shown.text, shown.output) == ("Thinking: Hm\n\nYes", "Thinking: Hm\n\nYes")


def test_the_thoughts_of_claude_are_shown_with_their_signature():
    """Those that are hidden, as they came."""
    blocks = [
        {"type": "thinking", "thinking": "Hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "xx"},
        {"type": "text", "text": "Yes"},
    ]
    shown = read("anthropic:claude-sonnet-4-5", {"content": blocks}, showThinking=True)
    assert shown.output == "Thinking: Hm\nSignature: s\n\nRedacted Thinking: xx\n\nYes"


# Azure


def test_azure_has_an_address_a_deployment_and_a_version():
    """And a key of its own, or a token of its directory."""
    env = {"AZURE_API_HOST": "mine.openai.azure.com", "AZURE_API_KEY": "k"}
    provider = made("azure:chat:my-gpt", env, apiVersion="2025-01-01")
    start = "https://mine.openai.azure.com/openai"
    assert provider.url == f"{start}/deployments/my-gpt/chat/completions?api-version=2025-01-01"
    assert provider._headers["api-key"] == "k"
    assert made("azure:embedding:e", env).url.startswith(f"{start}/deployments/e/embeddings?")
    assert made("azure:responses:e", env).url == f"{start}/v1/responses"
    token = made("azure:x", {"AZURE_API_HOST": "h", "AZURE_OPENAI_AD_TOKEN": "t"})
    assert token._headers["authorization"] == "Bearer t"
    assert "api-key" not in token._headers
    with pytest.raises(UsageError, match="has no address"):
        made("azure:x")


# Ollama


def test_ollama_is_asked_for_chat_completion_and_vectors():
    """Settings are its options; pictures stand beside the text."""
    chat = made("ollama:chat:llama3:8b", temperature=0, num_predict=7, think=False)
    assert (chat.url, chat.model) == ("http://localhost:11434/api/chat", "llama3:8b")
    body = sent(chat, Prompt(CHAT, "x"))
    assert body["options"] == {"temperature": 0, "num_predict": 7}
    assert (body["stream"], body["think"]) == (False, False)
    assert body["messages"][1] == {"role": "user", "content": "Look", "images": ["QUJD"]}
    assert not key_missing(chat)
    plain = made("ollama:llama3", {"OLLAMA_BASE_URL": "http://box:1"})
    assert plain.url == "http://box:1/api/generate"
    assert sent(plain)["prompt"] == "Hello"


def test_answers_of_ollama_are_read():
    """Text, tools and thoughts."""
    counts = {"model": "m", "done_reason": "length", "prompt_eval_count": 3, "eval_count": 2}
    reply = read("ollama:chat:m", {"message": {"content": "Yes"}, **counts})
    assert (reply.text, reply.finish_reason, reply.usage.tokens_out) == ("Yes", "length", 2)
    assert read("ollama:m", {"response": "Yes", **counts}).text == "Yes"
    calls = [{"function": {"name": "f", "arguments": {"a": 1}}}]
    reply = read("ollama:chat:m", {"message": {"content": "", "tool_calls": calls}})
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [("f", {"a": 1})]
    shown = read(
        "ollama:chat:m", {"message": {"content": "Yes", "thinking": "Hm"}}, showThinking=True
    )
    assert shown.output == "Thinking: Hm\n\nYes"


# llama.cpp


def test_a_llama_cpp_server_is_asked_for_a_completion():
    """By its own API, at its own address; the name says nothing to it."""
    plain = made("llama")
    assert plain.url == "http://localhost:8080/completion"
    assert sent(plain) == {"prompt": "Hello", "n_predict": 512}
    named = made("llama:mine", {"LLAMA_BASE_URL": "http://box:1/"}, temperature=0, n_predict=7)
    assert (named.url, named.id) == ("http://box:1/completion", "llama:mine")
    assert sent(named) == {"prompt": "Hello", "n_predict": 7, "temperature": 0}
    assert not key_missing(plain)


def test_answers_of_llama_cpp_are_read():
    """Text, what was read and written, and whether it was cut off; an answer may tell nothing but its text."""
    counts = {"tokens_evaluated": 3, "tokens_predicted": 2}
    reply = read("llama", {"content": "Yes", "stop_type": "limit", **counts})
    assert (reply.text, reply.finish_reason) == ("Yes", "length")
    assert (reply.usage.tokens_in, reply.usage.tokens_out) == (3, 2)
    assert read("llama", {"content": "Yes"}).finish_reason == "stop"
    assert read("llama", {"content": "Y", "stopped_limit": True}).finish_reason == "length"


# Vertex AI

PROJECT = {"VERTEX_PROJECT_ID": "shop", "GOOGLE_ACCESS_TOKEN": "a-token"}


def test_vertex_is_asked_in_a_project_and_a_region():
    """With a token in the header, in the words of the model's vendor."""
    gemini = made("vertex:gemini-2.5-flash", PROJECT, temperature=0)
    assert gemini.url == (
        "https://us-central1-aiplatform.googleapis.com/v1/projects/shop/locations/us-central1/"
        "publishers/google/models/gemini-2.5-flash:generateContent"
    )
    assert gemini._headers["authorization"] == "Bearer a-token"
    assert sent(gemini)["contents"] == [{"role": "user", "parts": [{"text": "Hello"}]}]
    assert gemini.price is not None
    env = {**PROJECT, "VERTEX_REGION": "europe-west4"}
    claude = made("vertex:claude-haiku-4-5", env)
    assert "/europe-west4/publishers/anthropic/models/claude-haiku-4-5:rawPredict" in (
        claude.url.replace("locations", "")
    )
    body = sent(claude)
    assert body["anthropic_version"] == "vertex-2023-10-16"
    assert "model" not in body
    everywhere = made("vertex:chat:gemini-2.5-flash", PROJECT, region="global", projectId="p")
    assert everywhere.url.startswith(
        "https://aiplatform.googleapis.com/v1/projects/p/locations/global/"
    )
    vectors = made("vertex:embedding:text-embedding-005", PROJECT)
    assert vectors.url.endswith("/text-embedding-005:predict")
    assert sent(vectors) == {"instances": [{"content": "Hello"}]}
    own = made("google:gemini-2.5-flash", PROJECT, vertexai=True)
    assert own.url == gemini.url


def test_vertex_with_an_api_key_needs_no_project():
    """As in its express mode: the key in a header, and never in the address."""
    express = made("vertex:gemini-2.5-flash", {"VERTEX_API_KEY": "a-key"})
    assert express.url == (
        "https://aiplatform.googleapis.com/v1/publishers/google/models/"
        "gemini-2.5-flash:generateContent"
    )
    assert express._headers["x-goog-api-key"] == "a-key"


async def test_vertex_without_a_token_says_how_to_come_by_one():
    """Application-default credentials are not read: one message says what to set instead."""
    provider = made("vertex:gemini-2.5-flash", {"VERTEX_PROJECT_ID": "shop"})
    assert key_missing(provider) == "GOOGLE_ACCESS_TOKEN"
    with pytest.raises(AuthError) as caught:
        await provider.send(provider.request(Prompt.of("x")), CodeHost())
    assert caught.value.hint == (
        "Set GOOGLE_ACCESS_TOKEN in the environment, to what `gcloud auth print-access-token` prints."
    )
    with pytest.raises(UsageError, match="names no project") as refused:
        made("vertex:gemini-2.5-flash")
    assert "VERTEX_PROJECT_ID" in refused.value.hint
    with pytest.raises(UsageError, match="not spoken to") as other:
        made("vertex:llama-4", PROJECT)
    assert "litellm:vertex_ai/llama-4" in other.value.hint


# Replicate


def test_llama_guard_on_replicate_is_asked_and_read():
    """The whole text in; `safe`, or the categories that it violates, out."""
    guard = made("replicate:moderation:meta/llama-guard-4-12b", {"REPLICATE_API_KEY": "k"})
    assert guard.url == ("https://api.replicate.com/v1/models/meta/llama-guard-4-12b/predictions")
    assert sent(guard) == {"input": {"prompt": "Hello"}}
    old = made("replicate:moderation:meta/llama-guard-3-8b:abc")
    assert old.url == "https://api.replicate.com/v1/predictions"
    assert sent(old)["version"] == "abc"
    assert key_missing(old) == "REPLICATE_API_TOKEN"
    id_ = "replicate:moderation:m/g"
    assert read(id_, {"status": "succeeded", "output": "safe\n"}).output == {}
    flagged = read(id_, {"output": ["\n\nunsafe", "\nS1, S10"]})
    assert flagged.output == {"S1": 1.0, "S10": 1.0}
    assert read(id_, {"output": "unsafe"}).output == {"unsafe": 1.0}
    with pytest.raises(BadReply, match="is processing after 60 s"):
        read(id_, {"status": "processing", "output": None})
    with pytest.raises(BadReply, match="out of memory"):
        read(id_, {"status": "failed", "error": "out of memory", "output": None})
    with pytest.raises(UsageError, match="something else than moderation") as refused:
        made("replicate:meta/llama")
    assert "litellm:replicate/meta/llama" in refused.value.hint


@pytest.mark.parametrize(
    ("id_", "reply"),
    [("vertex:gemini-2.5-flash", "Yes."), ("vertex:claude-haiku", "Yes."), ("llama", "Yes.")],
)
async def test_the_fake_provider_answers_as_they_do(id_, reply):
    """Asked over HTTP, with nothing set but its environment."""
    with FakeProvider(Script([Rule(match=("Hello",), reply=reply)])) as fake:
        provider = made(id_, fake.env())
        answer = await provider.send(provider.request(Prompt.of("Hello")), CodeHost())
        await provider.close()
    assert provider.reply(answer.body).text == reply


async def test_the_fake_provider_measures_as_they_do():
    """Vectors of Vertex, and Llama Guard's categories."""
    with FakeProvider(Script([Rule(path="predictions", reply={"S3": 1})])) as fake:
        for id_, wanted in (("replicate:moderation:m/g", {"S3": 1.0}), ("vertex:embedding:e", 256)):
            provider = made(id_, fake.env())
            answer = await provider.send(provider.request(Prompt.of("Hello")), CodeHost())
            output = provider.reply(answer.body).output
            assert wanted in (output, len(cast("Any", output)))
            await provider.close()


# All of them


@pytest.mark.parametrize("kind", SERVERS)
def test_a_compatible_server_is_found_by_its_name(kind):
    """Its address, its key's variable; another address by a variable or in the config."""
    server = SERVERS[kind]
    asked = next(iter(server.kinds))
    provider = made(f"{kind}:{asked}:m")
    assert provider.url.startswith(server.address + "/")
    local = server.address.startswith("http://localhost")
    assert key_missing(provider) == ("" if local else server.key)
    own = made(f"{kind}:{asked}:m", {f"{kind.upper()}_API_BASE_URL": "http://x/v9"})
    assert own.url.startswith("http://x/v9/")
    assert own.price is None
    assert made(f"{kind}:{asked}:m", apiBaseUrl="http://y/").url.startswith("http://y/")


@pytest.mark.parametrize(
    ("id_", "answer"),
    [
        ("google:g", {}),
        ("google:g", []),
        ("google:embedding:g", {"embedding": {}}),
        ("llama", {"error": "x"}),
        ("llama", {"content": 5}),
        ("replicate:moderation:m/g", {"output": "perhaps"}),
        ("replicate:moderation:m/g", {"output": None}),
        ("ollama:chat:m", {"error": "x"}),
        ("ollama:chat:m", {"message": 5}),
        ("ollama:embeddings:m", {"embedding": ["a"]}),
        ("openai:embedding:m", {"data": []}),
        ("openai:embedding:m", {"data": [{"embedding": "%%%"}]}),
        ("openai:moderation:m", {"results": [{}]}),
        ("openai:responses:m", {"output": None}),
        ("openai:completion:m", {"choices": []}),
        ("huggingface:text-classification:m", {"error": "x"}),
        ("huggingface:feature-extraction:m", {"error": "x"}),
        ("webhook:http://x", {"output": 5}),
    ],
)
def test_an_answer_of_the_wrong_shape_is_a_bad_reply(id_, answer):
    """Never a traceback, never an empty answer."""
    with pytest.raises(BadReply):
        read(id_, answer)


@pytest.mark.parametrize(
    "id_",
    ["google:g", "azure:a", "ollama:chat:m", "groq:m", "google:embedding:g", "openai:responses:m"],
)
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("401", AuthError),
        ("404", UnknownModel),
        ("429", RateLimited),
        ("503", Overloaded),
        ("html", BadReply),
    ],
)
async def test_a_failure_is_of_the_kind_that_says_what_to_do(id_, fault, kind):
    """For every API alike; a wait that is asked for is kept."""
    rule = Rule(path=".", fault=fault, retry_after="3")
    with FakeProvider(Script([rule])) as fake:
        provider = made(id_, fake.env())
        with pytest.raises(kind) as caught:
            await provider.send(provider.request(Prompt.of("x")), CodeHost())
        await provider.close()
    if fault == "429":
        assert caught.value.retry_after_s == 3


async def test_without_a_key_nothing_is_sent():
    """It is said which variable to set; a server of one's own may want none."""
    for id_, variable in (("groq:m", "GROQ_API_KEY"), ("google:g", "GOOGLE_API_KEY")):
        provider = made(id_)
        assert key_missing(provider) == variable
        with pytest.raises(AuthError, match="no API key") as caught:
            await provider.send(provider.request(Prompt.of("x")), CodeHost())
        assert variable in caught.value.hint
    assert not key_missing(made("openai:m", apiBaseUrl="http://box/v1", apiKeyRequired=False))


def test_the_environment_has_settings_for_openai():
    """A config's own go over them; one that is no number is told."""
    env = {"OPENAI_TEMPERATURE": "0.5", "OPENAI_MAX_TOKENS": "7"}
    body = sent(made("openai:gpt-4o", env))
    assert (body["temperature"], body["max_tokens"]) == (0.5, 7)
    assert sent(made("openai:gpt-4o", env, temperature=1))["temperature"] == 1
    with pytest.raises(UsageError, match="OPENAI_TEMPERATURE='hot'"):
        made("openai:gpt-4o", {"OPENAI_TEMPERATURE": "hot"})


def test_every_form_says_what_it_means():
    """The list that users read has no gaps, and no kind of id is in it twice."""
    assert all(SCHEMES.values())
    assert {form.partition(":")[0] for form in SCHEMES} >= SERVERS.keys()


def test_what_litellm_speaks_to_needs_litellm():
    """Its proxy, or the library; it is said how to get either."""
    with pytest.raises(UsageError, match="needs LiteLLM") as caught:
        create("litellm:bedrock/claude", env={}, base=Path())
    assert "pip install 'evenhand[litellm]'" in caught.value.hint
    proxy = made("litellm:bedrock/claude", {"LITELLM_API_BASE_URL": "http://box:4000"})
    assert proxy.url == "http://box:4000/chat/completions"
    assert sent(proxy)["model"] == "bedrock/claude"


def test_what_claude_writes_to_its_cache_costs_more():
    """A quarter more for five minutes, twice as much for an hour; what is read from it, a tenth."""
    usage = {
        "input_tokens": 100,
        "output_tokens": 0,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 400,
        "cache_creation": {"ephemeral_1h_input_tokens": 200},
    }
    said = [{"type": "text", "text": "x"}]
    answer = {"content": said, "stop_reason": "end_turn", "usage": usage}
    reply = read("anthropic:claude-sonnet-4-5", answer)
    assert reply.usage.tokens_in == 1500
    tokens = 100 + 0.1 * 1000 + 1.25 * 200 + 2 * 200
    assert reply.cost_usd == pytest.approx(tokens * 3.0 / 1e6)


FAKE_LITELLM = """
import os
if os.environ.get("LITELLM_LOCAL_MODEL_COST_MAP", "").lower() != "true": raise OSError("fetches prices")
class RateLimitError(Exception): status_code = 429
class StrangeError(Exception): pass
class Answer:
    def __init__(self, body): self.body, self._hidden_params = body, {"response_cost": 0.25}
    def model_dump(self, mode): return self.body
async def acompletion(**asked):
    text = asked["messages"][-1]["content"]
    if text == "often": raise RateLimitError("slow down sk-abcdefghijklmnopqrstuvwx")
    if text == "odd": raise StrangeError("what?")
    said = f"{asked['model']} {asked['temperature']} {asked['num_retries']}"
    return Answer({"model": "m", "choices": [{"message": {"content": said}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
async def aembedding(**asked): return Answer({"data": [{"embedding": [1, 2]}]})
"""


async def test_the_library_of_litellm_is_asked_where_it_is_installed(tmp_path, monkeypatch):
    """Its answers are OpenAI's, its errors are ours, its retries are off, and it fetches no prices."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    os.environ.pop("LITELLM_LOCAL_MODEL_COST_MAP", None)
    (tmp_path / "litellm.py").write_text(FAKE_LITELLM)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    provider = create("litellm:bedrock/claude", env={}, base=tmp_path)
    await check_model(provider, Prompt.of("hi"), CodeHost())
    answer = await provider.send(provider.request(Prompt.of("hi")), CodeHost())
    reply = provider.reply(answer.body)
    assert (reply.text, reply.cost_usd, reply.usage.tokens_in) == ("bedrock/claude 0 0", 0.25, 3)
    with pytest.raises(RateLimited) as caught:
        await provider.send(provider.request(Prompt.of("often")), CodeHost())
    assert "sk-abc" not in str(caught.value)
    with pytest.raises(BadRequest, match="StrangeError: what"):
        await provider.send(provider.request(Prompt.of("odd")), CodeHost())
    vectors = create("litellm:embedding:x/y", env={}, base=tmp_path)
    request = vectors.request(Prompt((Message("user", "a"),), "a", task="embed"))
    assert vectors.reply((await vectors.send(request, CodeHost())).body).output == [1.0, 2.0]
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
