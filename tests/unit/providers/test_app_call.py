"""An application's request as a call: what it asks, whom, for how much, and what came back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, cast

import pytest

from evenhand.core.errors import BadReply, BadRequest, ProviderError, RateLimited
from evenhand.core.provider import Host
from evenhand.providers.app_call import AppCall, CutOff, content_type
from evenhand.testing import FakeProvider, Rule, Script

CHAT = "https://api.openai.com/v1/chat/completions"
MESSAGES = "https://api.anthropic.com/v1/messages"


def made(url: str = CHAT, headers: dict[str, str] | None = None, **body: Any) -> AppCall:
    """The call that a POST with this body is."""
    asked = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hi"}], **body}
    return AppCall.of(url, headers or {}, json.dumps(asked).encode(), 60, {"mine": (1.0, 2.0)})


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (CHAT, "openai:chat:gpt-4o-mini"),
        ("https://api.openai.com/v1/responses", "openai:responses:gpt-4o-mini"),
        ("https://api.openai.com/v1/embeddings?x=1", "openai:embeddings:gpt-4o-mini"),
        ("https://api.openai.com/v1/completions", "openai:completion:gpt-4o-mini"),
        (MESSAGES, "anthropic:messages:gpt-4o-mini"),
        ("http://me:pw@localhost:1/v1/chat/completions", "openai:chat:gpt-4o-mini@localhost:1"),
        ("https://h/api/chat", "ollama:chat:gpt-4o-mini@h"),
        ("https://h/api/generate", "ollama:completion:gpt-4o-mini@h"),
        ("https://h/v1/agents/completions", "openai:chat:gpt-4o-mini@h"),
        ("https://h/v1/publishers/anthropic/models/claude-x:rawPredict", "vertex:claude-x@h"),
        ("https://h/model/eu.anthropic.claude-x/invoke", "bedrock:eu.anthropic.claude-x@h"),
    ],
)
def test_endpoints_of_models_are_known_by_their_path(url: str, name: str):
    """Whatever server they are at; a server of one's own is named."""
    assert made(url).id == name


@pytest.mark.parametrize(
    ("url", "usd"),
    [
        ("https://h/v2/rerank", None),
        ("https://h/v1/images/generations", None),
        ("https://h/v1/messages/count_tokens", 0.0),
        ("https://h/v1beta/models/gemini-2.5-flash:countTokens", 0.0),
        ("https://h/v1/files", 0.0),
    ],
)
def test_what_is_asked_at_another_address_is_a_call_of_unknown_cost(url: str, usd: float | None):
    """Named by its address, answered as it came, given to no other run; only what is surely free has a price."""
    asked = made(url)
    reply = asked.reply(b'{"any": "thing"}')
    assert asked.id == f"POST {url.removeprefix('https://')}"
    assert (asked.own_request.cost_bound_usd, reply.cost_usd) == (usd, usd)
    assert (reply.text, reply.body, reply.usage.tokens_in) == (
        '{"any": "thing"}',
        b'{"any": "thing"}',
        None,
    )
    assert not asked.lasts
    assert asked.asks_a_model is (usd is None)


@pytest.mark.parametrize(
    "sent", [b"", b"{half", b"[1]", b'{"role": "user", "content": "x"}', b"\xff"]
)
def test_a_body_that_asks_no_model_is_a_call_of_unknown_cost(sent: bytes):
    """No JSON object, or one without a question: a message that is only filed, say."""
    asked = AppCall.of("https://h/v1/threads/t/messages", {}, sent, 60, {})
    assert asked.own_request.cost_bound_usd is None
    assert asked.reply(b"\xff\x00").text == "2 bytes"


def test_a_form_is_the_same_request_whatever_divides_its_parts():
    """Clients draw the divider at random."""

    def form(divider: str, said: str) -> AppCall:
        sent = f"--{divider}\r\n\r\n{said}\r\n--{divider}--".encode()
        kind = {"content-type": f"multipart/form-data; boundary={divider}"}
        return AppCall.of("https://h/v1/audio/transcriptions", kind, sent, 60, {})

    assert form("a1", "moo").own_request.key == form("b2", "moo").own_request.key
    assert form("a1", "moo").own_request.key != form("a1", "baa").own_request.key


def test_an_address_may_have_a_price():
    """By host and path, or by host alone; a third number is what one call costs at most."""
    for name in ("h/v2/rerank", "h"):
        free = AppCall.of("https://h/v2/rerank", {}, b"{}", 60, {name: (0.0, 0.0)})
        assert (free.own_request.cost_bound_usd, free.reply(b"{}").cost_usd) == (0.0, 0.0)
        dear = AppCall.of("https://h/v2/rerank", {}, b"{}", 60, {name: (0.0, 0.0, 0.25)})
        assert (dear.own_request.cost_bound_usd, dear.reply(b"{}").cost_usd) == (0.25, None)


def test_a_model_of_googles_is_named_by_its_address():
    """Its body doesn't name it. The key may stand in the address, too, and is nowhere kept."""
    home = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash"
    sent = json.dumps({"contents": [{"parts": [{"text": "Hi"}]}]}).encode()
    one = AppCall.of(f"{home}:generateContent?key=secret", {}, sent, 60, {})
    two = AppCall.of(f"{home}:streamGenerateContent?alt=sse", {"x-goog-api-key": "k"}, sent, 60, {})
    assert (one.id, one.streams, one.text) == ("google:gemini-2.5-flash", False, "Hi")
    assert (two.id, two.streams, two.text) == ("google:gemini-2.5-flash", True, "Hi")
    assert b"secret" not in one.own_request.identity
    assert one.account != two.account
    assert one.own_request.cost_bound_usd == pytest.approx((len(sent) * 0.3 + 128_000 * 2.5) / 1e6)


def test_its_identity_is_what_is_asked_and_never_who_asks():
    """Keys make no difference and are nowhere in it; the API's version and beta features do."""
    one = made(headers={"authorization": "Bearer sk-secret", "user-agent": "a"})
    two = made(headers={"authorization": "Bearer other", "x-stainless-retry-count": "1"})
    assert one.own_request.key == two.own_request.key
    assert b"secret" not in one.own_request.identity
    assert made("http://me:pw@h/v1/messages?api_key=k").own_request.identity.find(b"pw") == -1
    beta = made(headers={"anthropic-beta": "new"})
    assert (
        len({one.own_request.key, beta.own_request.key, made(temperature=1).own_request.key}) == 3
    )
    assert one.account != two.account  # limits belong to a key


def test_its_worst_price_is_that_of_the_longest_answers_asked_for():
    """All choices, each as long as may be; nothing is written for vectors; unknown stays unknown."""
    short = made(model="mine", max_tokens=100, n=2)
    size = len(short.sent)
    assert short.own_request.cost_bound_usd == pytest.approx((size * 1 + 200 * 2) / 1e6)
    vectors = made("https://h/v1/embeddings", model="mine", input="x")
    assert vectors.own_request.cost_bound_usd == pytest.approx(len(vectors.sent) / 1e6)
    assert made(model="strange").own_request.cost_bound_usd is None
    assert made("http://localhost/v1/chat/completions").own_request.cost_bound_usd  # by its name
    assert made().own_request.cost_bound_usd is not None


def test_what_is_sampled_is_not_taken_for_what_is_determined():
    """Temperature 0, a seed and vectors are the same each time."""
    assert not made().own_request.deterministic
    assert made(temperature=0).own_request.deterministic
    assert made(seed=3).own_request.deterministic
    assert made("https://h/v1/embeddings", input="x").own_request.deterministic


def test_the_conversation_is_read_as_people_read_it():
    """System prompt first; blocks of text; the newer API's instructions and items."""
    blocks = [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {}}]
    chat = made(messages=[{"role": "system", "content": "Be kind."}, {"content": blocks}])
    assert chat.text == "Be kind.\n\nHi"
    assert made(MESSAGES, system="Be kind.").text == "Be kind.\n\nHi"
    items = [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]
    newer = made("https://h/v1/responses", messages=None, instructions="Be kind.", input=items)
    assert newer.text == "Be kind.\n\nHi"


def test_answers_of_the_newer_api_are_read():
    """Text, tools, tokens, price, and why it ended."""
    url = "https://api.openai.com/v1/responses"
    tool = {"type": "function_call", "name": "f", "arguments": '{"a": 1}', "call_id": "c"}
    text = {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}
    usage = {"input_tokens": 1000, "output_tokens": 10, "input_tokens_details": {}}
    answer = {"model": "m", "status": "completed", "output": [text, tool], "usage": usage}
    reply = made(url).reply(json.dumps(answer).encode())
    assert (reply.text, reply.finish_reason, reply.usage.tokens_out) == ("Hello", "tool_calls", 10)
    assert reply.cost_usd == pytest.approx((1000 * 0.15 + 10 * 0.6) / 1e6)
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [("f", {"a": 1})]
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert made(url).reply(json.dumps(cut).encode()).finish_reason == "length"


def test_an_answer_that_is_not_understood_is_still_handed_over():
    """The application's SDK may know more; what it took is then unknown, not nothing."""
    for body in (b'{"odd": true}', b"{}", b'{"choices": []}'):
        reply = made().reply(body)
        assert (reply.body, reply.text, reply.cost_usd) == (body, "", None)
        assert reply.usage.tokens_in is None


def test_older_completions_and_vectors_are_read():
    """Text in its own place; a count of vectors."""
    old = {"choices": [{"text": "so", "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}}
    reply = made("https://h/v1/completions").reply(json.dumps(old).encode())
    assert (reply.text, reply.finish_reason) == ("so", "stop")
    vectors = {"data": [{}, {}], "usage": {"prompt_tokens": 10}}
    url = "https://h/v1/embeddings"
    reply = made(url, model="mine", input="x").reply(json.dumps(vectors).encode())
    assert (reply.text, reply.cost_usd) == ("2 vectors", pytest.approx(1e-5))


def test_kept_answers_know_their_kind():
    """JSON, or a stream."""
    assert content_type(b' {"a": 1}') == "application/json"
    assert content_type(b"data: {}\n\n") == "text/event-stream"
    assert content_type(b"event: x\n\n") == "text/event-stream"
    assert content_type(b"[{}]") == "application/json"
    assert content_type(b"WEBVTT") == "text/plain; charset=utf-8"
    assert content_type(b"\xff\xfb") == "application/octet-stream"


@pytest.mark.parametrize(
    ("fault", "kind"), [("html", BadReply), ("malformed", BadReply), ("429", RateLimited)]
)
async def test_what_is_no_reply_is_an_error_with_the_answer_whole(
    fault: str, kind: type[ProviderError]
):
    """So that it can be asked again, and, in the end, be shown to the application as it came."""
    with FakeProvider(Script([Rule((), "Hello", fault=fault)])) as fake:
        asked = made(f"{fake.url}/v1/chat/completions")
        try:
            with pytest.raises(kind) as told:
                await asked.send(asked.own_request, cast("Host", None))
        finally:
            await asked.close()
    assert told.value.answer is not None
    status, headers, body = told.value.answer
    assert (status, len(body) > 10) == (429 if fault == "429" else 200, True)
    assert "content-type" in headers


async def test_a_wrong_key_is_the_applications_own_to_deal_with():
    """It would stop a run that had asked by itself."""
    with FakeProvider(Script([Rule()]), api_key="right") as fake:
        asked = made(f"{fake.url}/v1/chat/completions")
        with pytest.raises(BadRequest, match="invalid api key") as told:
            await asked.send(asked.own_request, cast("Host", None))
        await asked.close()
    assert not told.value.fatal
    assert told.value.status == 401


async def test_a_stream_that_nobody_listens_to_is_read_to_its_end():
    """As one whose application is gone."""
    with FakeProvider(Script([Rule((), "Hello there")])) as fake:
        asked = made(f"{fake.url}/v1/chat/completions", stream=True)
        answer = await asked.send(asked.own_request, cast("Host", None))
        await asked.close()
    assert asked.reply(answer.body).text == "Hello there"
    assert asked.given is None


class Application:
    """What listens to a stream."""

    def __init__(self) -> None:
        self.got = b""

    def began(self, status: int, headers: Mapping[str, str]) -> None:
        """Its head."""

    def piece(self, data: bytes) -> None:
        """A part of it."""
        self.got += data


async def test_an_error_in_the_place_of_a_stream_is_one_that_cannot_be_asked_for_again():
    """The application has it already; whether it cost something is not known."""
    body = b'{"error": {"message": "no streams here"}}'

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    asked = made(f"http://{host}/v1/chat/completions", stream=True)
    asked.live = application = Application()
    with pytest.raises(CutOff, match=f"{host} answered with an error: no streams here") as caught:
        await asked.send(asked.own_request, cast("Host", None))
    await asked.close()
    server.close()
    assert application.got == body
    assert caught.value.billed is None
    assert not caught.value.retryable


@pytest.mark.parametrize("tokens", ["twelve", "12", True, None, [12], {"text": 12}, -1, 1e300])
@pytest.mark.parametrize("kind", ["chat/completions", "responses", "embeddings"])
@pytest.mark.parametrize("ending", ["stop", "of another world"])
def test_counts_that_are_none_leave_the_rest_of_an_answer(kind: str, ending: str, tokens: Any):
    """Tokens that no vendor could have counted are unknown, as is the cost; nothing raises, and words stay."""
    usage = {"prompt_tokens": tokens, "completion_tokens": 5}
    usage |= {"input_tokens": tokens, "output_tokens": 5, "input_tokens_details": tokens}
    message = {"role": "assistant", "content": "Hi!"}
    item = {"type": "message", "content": [{"type": "output_text", "text": "Hi!"}]}
    answer = {
        "chat/completions": {"choices": [{"message": message, "finish_reason": ending}]},
        "responses": {"status": "completed", "output": [item]},
        "embeddings": {"data": [{"embedding": [0.5]}]},
    }[kind]
    call = made(f"https://api.openai.com/v1/{kind}", input="Hi")
    reply = call.reply(json.dumps({**answer, "usage": usage}).encode())
    assert reply.usage.tokens_in is None
    assert reply.cost_usd is None
    if ending == "stop" or kind != "chat/completions":
        assert reply.text == ("1 vectors" if kind == "embeddings" else "Hi!")
        assert not reply.unanswered
    else:
        assert reply.unanswered
