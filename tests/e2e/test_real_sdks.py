"""The vendors' own SDKs, as an application or a grader uses them, against the fake provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from evenhand.testing import FakeProvider, Rule, Script

ASK: Any = [{"role": "user", "content": "grade this"}]
SPEC: dict[str, Any] = {"model": "claude-x", "max_tokens": 50}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """Found through the environment alone, as in a user's own code."""
    script = Script(
        [
            Rule(("grade",), '<json>{"score": 4}</json> and more'),
            Rule(("busy",), fault="429", times=1, retry_after="0.01"),
            Rule(("dropped",), fault="drop", times=1),
            Rule(("broken",), fault="500"),
            Rule(("cut off",), "half a", finish_reason="length"),
            Rule(system="kind", reply="How kind."),
        ]
    )
    limits = {"anthropic-ratelimit-requests-remaining": "7", "x-ratelimit-remaining-requests": "7"}
    with FakeProvider(script, headers=limits) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        yield server


def user(text: str) -> Any:
    """A conversation of one message."""
    return [{"role": "user", "content": text}]


def test_anthropic_goes_on_from_a_prefill_and_stops_at_a_stop_sequence(fake: FakeProvider):
    """As graders use it to get bare JSON."""
    prefill = {"role": "assistant", "content": "<json>"}
    with anthropic.Anthropic() as client:
        said = client.messages.create(messages=[*ASK, prefill], stop_sequences=["</json>"], **SPEC)
    assert said.content[0].text == '{"score": 4}'
    assert (said.stop_reason, said.stop_sequence) == ("stop_sequence", "</json>")
    assert said.usage.input_tokens > 0
    assert fake.ledger.total == 1


def test_anthropic_sends_its_system_prompt_and_reads_headers(fake: FakeProvider):
    """Blocks of text are read like text; request id and limits are where the SDK looks for them."""
    blocks: Any = [{"type": "text", "text": "hello"}]
    with anthropic.Anthropic() as client:
        raw = client.messages.with_raw_response.create(
            system="Be kind.", messages=[{"role": "user", "content": blocks}], **SPEC
        )
        said = raw.parse()
    assert said.content[0].text == "How kind."
    assert said._request_id == "req_1"
    assert raw.headers["anthropic-ratelimit-requests-remaining"] == "7"
    assert said.model == "claude-x"


def test_anthropic_streams(fake: FakeProvider):
    """The same text in events, and how it ended."""
    with anthropic.Anthropic() as client, client.messages.stream(messages=ASK, **SPEC) as stream:
        message = stream.get_final_message()
    assert message.content[0].text == '<json>{"score": 4}</json> and more'
    assert (message.stop_reason, message.usage.output_tokens > 0) == ("end_turn", True)


async def test_anthropic_async_streams(fake: FakeProvider):
    """On an event loop."""
    async with (
        anthropic.AsyncAnthropic() as client,
        client.messages.stream(messages=ASK, **SPEC) as stream,
    ):
        pieces = [piece async for piece in stream.text_stream]
    assert "".join(pieces).startswith("<json>")


@pytest.mark.parametrize("question", ["busy?", "dropped?"])
async def test_what_fails_once_is_asked_again_by_the_sdk(fake: FakeProvider, question: str):
    """The SDK's own retries are counted as requests, and not as completions."""
    async with anthropic.AsyncAnthropic() as client:
        said = await client.messages.create(messages=user(question), **SPEC)
    assert said.content
    assert len(fake.requests) == 2
    assert fake.ledger.total == 1


def test_faults_are_the_errors_that_the_sdks_know(fake: FakeProvider):
    """Each by its status and its body."""
    with openai.OpenAI(max_retries=0) as client, pytest.raises(openai.InternalServerError):
        client.chat.completions.create(model="gpt", messages=user("broken"))
    with anthropic.Anthropic(max_retries=0) as client, pytest.raises(anthropic.RateLimitError):
        client.messages.create(messages=user("busy"), **SPEC)
    with anthropic.Anthropic(max_retries=0) as client, pytest.raises(anthropic.APIConnectionError):
        client.messages.create(messages=user("dropped"), **SPEC)
    with (
        FakeProvider(api_key="right") as strict,
        openai.OpenAI(base_url=f"{strict.url}/v1") as client,
        pytest.raises(openai.AuthenticationError, match="invalid api key"),
    ):
        client.chat.completions.create(model="gpt", messages=ASK)


def test_an_answer_that_was_cut_off_says_so_in_each_vendors_word(fake: FakeProvider):
    """`length` and `max_tokens`."""
    with openai.OpenAI() as client:
        choice = client.chat.completions.create(model="gpt", messages=user("cut off")).choices[0]
    with anthropic.Anthropic() as other:
        said = other.messages.create(messages=user("cut off"), **SPEC)
    assert (choice.finish_reason, said.stop_reason) == ("length", "max_tokens")


def test_openai_answers_and_streams(fake: FakeProvider):
    """Plain and in pieces, the same text; tokens at the end of a stream where they are asked for."""
    with openai.OpenAI() as client:
        plain = client.chat.completions.create(model="gpt", messages=ASK, n=2, stop="</json>")
        chunks = list(
            client.chat.completions.create(
                model="gpt", messages=ASK, stream=True, stream_options={"include_usage": True}
            )
        )
    assert [choice.message.content for choice in plain.choices] == ['<json>{"score": 4}'] * 2
    streamed = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert streamed == '<json>{"score": 4}</json> and more'
    assert chunks[-1].usage.total_tokens > 0
    assert plain.usage.total_tokens > 0
    assert plain._request_id == "req_1"


async def test_openai_async_answers_and_streams(fake: FakeProvider):
    """On an event loop."""
    async with openai.AsyncOpenAI() as client:
        said = await client.chat.completions.create(model="gpt", messages=ASK)
        stream = await client.chat.completions.create(model="gpt", messages=ASK, stream=True)
        pieces = [c.choices[0].delta.content or "" async for c in stream if c.choices]
    assert "".join(pieces) == said.choices[0].message.content


def test_openai_embeds_so_that_texts_that_share_words_are_near(fake: FakeProvider):
    """Unit vectors, the same every time."""
    with openai.OpenAI() as client:
        texts = ["red apple", "red pear", "quick fox"]
        data = client.embeddings.create(model="e", input=texts).data
    one, two, three = (item.embedding for item in data)
    near = sum(a * b for a, b in zip(one, two, strict=True))
    far = sum(a * b for a, b in zip(one, three, strict=True))
    assert abs(sum(a * a for a in one) - 1) < 1e-5
    assert near > far + 0.3


def test_both_list_the_models(fake: FakeProvider):
    """Those that were asked for."""
    with openai.OpenAI() as client, anthropic.Anthropic() as other:
        client.chat.completions.create(model="gpt", messages=ASK)
        other.messages.create(messages=ASK, **SPEC)
        assert [model.id for model in client.models.list()] == ["gpt", "claude-x"]
        assert [model.id for model in other.models.list()] == ["gpt", "claude-x"]
