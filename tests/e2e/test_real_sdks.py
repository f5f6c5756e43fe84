"""The vendors' own SDKs, as an application uses them, against the fake provider."""

from __future__ import annotations

from collections.abc import Iterator

import anthropic
import openai
import pytest

from evenhand.testing import FakeProvider, Rule, Script

ASK = [{"role": "user", "content": "grade this"}]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """A fake provider that the SDKs are led to."""
    script = Script(
        [
            Rule(("grade",), '<json>{"score": 4}</json> and more'),
            Rule(("busy",), fault="429", times=1, retry_after="0.01"),
        ]
    )
    with FakeProvider(script) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        yield server


def test_anthropic_goes_on_from_a_prefill_and_stops_at_a_stop_sequence(fake: FakeProvider):
    """As graders use it to get bare JSON."""
    with anthropic.Anthropic() as client:
        said = client.messages.create(
            model="claude-x",
            max_tokens=50,
            messages=[*ASK, {"role": "assistant", "content": "<json>"}],  # type: ignore[list-item]
            stop_sequences=["</json>"],
        )
    assert said.content[0].text == '{"score": 4}'  # type: ignore[union-attr]
    assert (said.stop_reason, said.stop_sequence) == ("stop_sequence", "</json>")
    assert said.usage.input_tokens > 0


def test_anthropic_streams(fake: FakeProvider):
    """The same text in events."""
    with (
        anthropic.Anthropic() as client,
        client.messages.stream(model="claude-x", max_tokens=50, messages=ASK) as stream,  # type: ignore[arg-type]
    ):
        assert "score" in stream.get_final_text()


async def test_anthropic_async_retries_what_is_scripted_to_fail_once(fake: FakeProvider):
    """The SDK's own retries are counted as requests, not as completions."""
    async with anthropic.AsyncAnthropic() as client:
        said = await client.messages.create(
            model="claude-x", max_tokens=5, messages=[{"role": "user", "content": "busy?"}]
        )
    assert said.content
    assert [seen.status for seen in fake.requests] == [429, 200]
    assert fake.ledger.total == 1


def test_openai_answers_and_streams(fake: FakeProvider):
    """Plain and in pieces, the same text."""
    with openai.OpenAI() as client:
        plain = client.chat.completions.create(model="gpt", messages=ASK)  # type: ignore[arg-type]
        pieces = client.chat.completions.create(model="gpt", messages=ASK, stream=True)  # type: ignore[arg-type]
        streamed = "".join(piece.choices[0].delta.content or "" for piece in pieces)
    assert plain.choices[0].message.content == streamed
    assert plain.usage is not None
    assert plain.usage.total_tokens > 0


async def test_openai_async_answers(fake: FakeProvider):
    """On an event loop."""
    async with openai.AsyncOpenAI() as client:
        said = await client.chat.completions.create(model="gpt", messages=ASK)  # type: ignore[arg-type]
    assert "score" in (said.choices[0].message.content or "")


def test_openai_embeds_so_that_texts_that_share_words_are_near(fake: FakeProvider):
    """Unit vectors, the same every time."""
    with openai.OpenAI() as client:
        data = client.embeddings.create(
            model="e", input=["red apple", "red pear", "quick fox"]
        ).data
    one, two, three = (item.embedding for item in data)
    near = sum(a * b for a, b in zip(one, two, strict=True))
    far = sum(a * b for a, b in zip(one, three, strict=True))
    assert abs(sum(a * a for a in one) - 1) < 1e-5
    assert near > far + 0.3
