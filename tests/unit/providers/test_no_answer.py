"""A reply without an answer in it is refused by every vendor's reader; an empty answer is an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import BadReply, BadRequest
from evenhand.core.message import Prompt, Reply
from evenhand.engine.code import CodeHost
from evenhand.providers.answer_text import NoAnswer
from evenhand.providers.app_call import AppCall
from evenhand.providers.catalog import create
from evenhand.testing import FakeProvider, Rule, Script

KEYS = {
    **dict.fromkeys(
        ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "AZURE_API_KEY", "HF_TOKEN"), "k"
    ),
    "AZURE_API_HOST": "a.openai.azure.com",
}
CHATS = ("openai:chat:m", "mistral:m", "azure:d", "huggingface:chat:m", "vllm:m")


def read(id_: str, answer: Any, **config: Any) -> Reply:
    """What a provider makes of this answer."""
    made = create(id_, config=config, env=KEYS, base=Path())
    return made.reply(json.dumps(answer).encode())


def chat(message: Any, reason: str | None = "stop") -> dict[str, Any]:
    """An answer of a chat API."""
    return {"choices": [{"message": message, "finish_reason": reason}]}


def gemini(reason: str = "STOP", **content: Any) -> dict[str, Any]:
    """An answer of Gemini's."""
    return {"candidates": [{"content": {"role": "model", **content}, "finishReason": reason}]}


def responses(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An answer of the responses API."""
    return {"status": "completed", "output": list(items), **more}


def spoken(*parts: Any) -> dict[str, Any]:
    """A message of the responses API."""
    return {"type": "message", "content": list(parts)}


NO_TEXT: list[Any] = [
    None,
    42,
    True,
    {"a": 1},
    [],
    [1, 2],
    [{"type": "text", "text": None}],
    [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}],
    ["text"],
]
MESSAGES: list[Any] = [
    *({"content": content} for content in NO_TEXT),
    {},
    {"content": None, "tool_calls": []},
    {"content": None, "tool_calls": [{"function": None}]},
    {"content": None, "tool_calls": [{"function": {}}]},
    {"content": None, "tool_calls": [{"type": "function", "function": {"name": ""}}]},
    {"content": None, "function_call": {"name": None}},
    {"content": None, "refusal": None},
    {"content": None, "reasoning_content": "Hm, let me see"},
]
OTHERS: list[tuple[str, Any]] = [
    *(
        ("anthropic:m", {"content": content, "stop_reason": "end_turn"})
        for content in (
            [{"type": "text", "text": None}],
            [{"type": "thinking", "thinking": "Hm"}],
            [{"type": "tool_use", "name": None, "input": {}}],
            [{"type": "server_tool_use", "name": "web_search", "input": {}}],
        )
    ),
    ("anthropic:m", {"content": []}),
    ("anthropic:m", {"content": None, "stop_reason": "end_turn"}),
    *(("google:m", gemini(parts=parts)) for parts in (None, 42, {}, [], [None], [{}])),
    ("google:m", gemini()),
    ("google:m", gemini(parts=[{"text": None}])),
    ("google:m", gemini(parts=[{"text": 42}])),
    ("google:m", gemini(parts=[{"text": "Hm", "thought": True}])),
    ("google:m", gemini(parts=[{"functionCall": {"args": {}}}])),
    ("google:m", gemini("MALFORMED_FUNCTION_CALL")),
    ("google:m", {"candidates": [{"finishReason": "OTHER"}]}),
    ("google:m", {"candidates": []}),
    ("google:m", {"candidates": {"a": 1}}),
    *(
        (id_, answer)
        for id_ in ("openai:responses:m", "azure:responses:d")
        for answer in (
            responses(),
            responses(spoken()),
            responses(spoken({"type": "output_text", "text": None})),
            responses(spoken({"type": "output_text", "text": 42})),
            responses({"type": "message", "content": 42}),
            responses({"type": "reasoning", "summary": [{"text": "Hm"}]}),
            responses({"type": "function_call", "name": None, "arguments": "{}"}),
            responses({"type": "web_search_call", "status": "completed"}),
            responses(status="failed", error={"message": "server error"}),
            responses(status="in_progress"),
            responses(None, 42),  # type: ignore[arg-type]
        )
    ),
    *(
        (id_, {"choices": [{"text": text, "finish_reason": "stop"}]})
        for id_ in ("openai:completion:m", "azure:completion:d", "vllm:completion:m")
        for text in (None, 42, ["a"], {"a": 1})
    ),
    ("openai:completion:m", {"choices": [{}]}),
    ("openai:completion:m", {"choices": [42]}),
    *(
        ("ollama:chat:m", {"message": message, "done_reason": "stop"})
        for message in (
            {"content": None},
            {"content": 42},
            {"content": None, "thinking": "Hm"},
            {"content": None, "tool_calls": [{"function": None}]},
            {"content": None, "tool_calls": [{"function": {"arguments": {}}}]},
            {"content": None, "tool_calls": 3},
            None,
            {},
        )
    ),
    *(("ollama:m", {"response": said, "done_reason": "stop"}) for said in (None, 42, ["a"])),
    *(("webhook:http://h/", {"output": output}) for output in (None, 42, ["a"])),
]


@pytest.mark.parametrize("message", MESSAGES, ids=repr)
@pytest.mark.parametrize("id_", CHATS)
def test_a_message_without_an_answer_is_a_bad_reply(id_: str, message: Any):
    """Nothing, numbers, objects, lists without text, tools without a name: never an empty text."""
    with pytest.raises(BadReply) as caught:
        read(id_, chat(message))
    assert caught.value.billed is None
    assert caught.value.retryable


@pytest.mark.parametrize(("id_", "answer"), OTHERS, ids=repr)
def test_every_vendors_reply_without_an_answer_is_a_bad_reply(id_: str, answer: Any):
    """In the shape of each API."""
    with pytest.raises(BadReply) as caught:
        read(id_, answer)
    assert caught.value.retryable


EMPTY: list[tuple[str, Any, str]] = [
    *((id_, chat({"content": ""}), "stop") for id_ in CHATS),
    ("openai:chat:m", chat({"content": [{"type": "text", "text": ""}]}), "stop"),
    ("anthropic:m", {"content": [{"type": "text", "text": ""}], "stop_reason": "end_turn"}, "stop"),
    ("anthropic:m", {"content": [], "stop_reason": "stop_sequence"}, "stop"),
    ("google:m", gemini(parts=[{"text": ""}]), "stop"),
    ("openai:responses:m", responses(spoken({"type": "output_text", "text": ""})), "stop"),
    ("openai:completion:m", {"choices": [{"text": "", "finish_reason": "stop"}]}, "stop"),
    ("ollama:chat:m", {"message": {"content": ""}, "done_reason": "stop"}, "stop"),
    ("ollama:m", {"response": "", "done_reason": "stop"}, "stop"),
    ("webhook:http://h/", {"output": ""}, ""),
]


@pytest.mark.parametrize(("id_", "answer", "reason"), EMPTY, ids=repr)
def test_an_empty_answer_is_an_answer(id_: str, answer: Any, reason: str):
    """The model ended without a word: not one to ask for again."""
    reply = read(id_, answer)
    assert (reply.text, reply.output, reply.finish_reason) == ("", "", reason)
    assert not reply.refused


CUT_OFF: list[tuple[str, Any]] = [
    ("openai:chat:m", chat({"content": None}, "length")),
    ("anthropic:m", {"content": [], "stop_reason": "max_tokens"}),
    ("google:m", gemini("MAX_TOKENS")),
    (
        "openai:responses:m",
        responses(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
    ),
    ("openai:completion:m", {"choices": [{"text": None, "finish_reason": "length"}]}),
    ("ollama:chat:m", {"message": {"content": None}, "done_reason": "length"}),
]


@pytest.mark.parametrize(("id_", "answer"), CUT_OFF, ids=repr)
@pytest.mark.parametrize("config", [{}, {"showThinking": True}], ids=["", "thinking"])
def test_an_answer_cut_off_before_its_first_word_is_empty(id_: str, answer: Any, config: Any):
    """Where nothing shows that it thought, it is what the model answered within its limit."""
    reply = read(id_, answer, **config)
    assert (reply.text, reply.finish_reason, reply.refused) == ("", "length", False)


@pytest.mark.parametrize(
    ("id_", "answer"),
    [
        ("openai:chat:m", chat({"content": None, "reasoning_content": "Hm"}, "length")),
        ("openai:chat:m", chat({"content": "", "reasoning": "Hm"}, "length")),
        ("anthropic:m", {"content": [{"type": "thinking"}], "stop_reason": "max_tokens"}),
        ("google:m", gemini("MAX_TOKENS", parts=[{"text": "Hm", "thought": True}])),
        (
            "openai:responses:m",
            responses(
                {"type": "reasoning", "summary": []},
                status="incomplete",
                incomplete_details={"reason": "max_output_tokens"},
            ),
        ),
        (
            "ollama:chat:m",
            {"message": {"content": None, "thinking": "Hm"}, "done_reason": "length"},
        ),
    ],
    ids=repr,
)
@pytest.mark.parametrize("config", [{}, {"showThinking": True}], ids=["", "thinking"])
def test_a_thought_that_was_cut_off_is_no_answer(id_: str, answer: Any, config: Any):
    """It isn't asked for again: it would be cut off again, at the full price."""
    with pytest.raises(NoAnswer, match="cut off before its answer") as caught:
        read(id_, answer, **config)
    assert not caught.value.retryable
    assert "max_tokens" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("id_", "answer"),
    [
        ("openai:chat:m", chat({"content": None}, "content_filter")),
        ("azure:d", chat({}, "content_filter")),
        ("openai:chat:m", chat({"content": None, "refusal": "I won't."})),
        ("anthropic:m", {"content": [], "stop_reason": "refusal"}),
        ("google:m", gemini("SAFETY")),
        ("google:m", {"promptFeedback": {"blockReason": "SAFETY"}}),
        ("openai:responses:m", responses(spoken({"type": "refusal", "refusal": "I won't."}))),
        ("openai:responses:m", responses(incomplete_details={"reason": "content_filter"})),
    ],
    ids=repr,
)
def test_what_is_held_back_is_refused(id_: str, answer: Any):
    """By the model in words, or by the vendor without."""
    assert read(id_, answer).refused


@pytest.mark.parametrize(
    ("id_", "answer", "name"),
    [
        (
            "openai:chat:m",
            chat({"content": None, "tool_calls": [{"function": {"name": "f"}}]}),
            "f",
        ),
        (
            "openai:chat:m",
            chat({"content": None, "tool_calls": [{"custom": {"name": "f", "input": "x"}}]}),
            "f",
        ),
        ("openai:chat:m", chat({"content": None, "function_call": {"name": "f"}}), "f"),
        ("anthropic:m", {"content": [{"type": "tool_use", "name": "f", "input": {}}]}, "f"),
        ("google:m", gemini(parts=[{"functionCall": {"name": "f", "args": {}}}]), "f"),
        ("openai:responses:m", responses({"type": "function_call", "name": "f"}), "f"),
        ("openai:responses:m", responses({"type": "custom_tool_call", "name": "f"}), "f"),
        ("openai:responses:m", responses({"type": "computer_call"}), "computer_call"),
        (
            "ollama:chat:m",
            {"message": {"content": None, "tool_calls": [{"function": {"name": "f"}}]}},
            "f",
        ),
    ],
    ids=repr,
)
def test_a_tool_that_is_asked_for_is_an_answer_without_text(id_: str, answer: Any, name: str):
    """Its call is the output."""
    reply = read(id_, answer)
    assert [call.name for call in reply.tool_calls] == [name]
    assert reply.text


def test_of_speech_there_are_the_words():
    """They are the answer."""
    audio = chat({"content": None, "audio": {"id": "a", "transcript": "Hello"}})
    assert read("openai:chat:m", audio).text == "Hello"


def test_a_judge_is_read_without_what_it_thought():
    """What is shown of the thinking stands before the answer, and is not a part of what it said."""
    answer = chat({"content": "No", "reasoning_content": "Yes?"})
    reply = read("openai:chat:m", answer, showThinking=True)
    assert (reply.text, reply.spoken) == ("Thinking: Yes?\n\nNo", "No")
    thought = {"type": "reasoning", "summary": [{"text": "Yes?"}]}
    reply = read(
        "openai:responses:m", responses(thought, spoken({"type": "output_text", "text": "No"}))
    )
    assert (reply.text, reply.spoken) == ("Reasoning: Yes?\nNo", "No")


# An application's own calls


def own(kind: str, **body: Any) -> AppCall:
    """A call of an application's."""
    asked = {"model": "m", "messages": [], **body}
    made = AppCall.of(f"http://h/v1/{kind}", {}, json.dumps(asked).encode(), 60, {})
    assert made is not None
    return made


def stream(*events: dict[str, Any]) -> bytes:
    """Events as a vendor sends them."""
    return b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)


def delta(reason: str | None = None, **what: Any) -> dict[str, Any]:
    """A chunk of a chat completion."""
    return {"choices": [{"index": 0, "delta": what, "finish_reason": reason}]}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        *(("chat/completions", json.dumps(chat(message)).encode()) for message in MESSAGES),
        ("chat/completions", stream(delta(role="assistant"), delta("stop"))),
        ("chat/completions", stream(delta(content=None), delta("stop"))),
        ("chat/completions", stream(delta(content=42), delta("stop"))),
        ("chat/completions", stream(delta(reasoning_content="Hm"), delta("stop"))),
        ("chat/completions", stream(delta(tool_calls=[{"function": None}]), delta("stop"))),
        ("chat/completions", stream(delta(tool_calls=[42]), delta("tool_calls"))),
        ("messages", b'{"content": [{"type": "thinking"}], "stop_reason": "end_turn"}'),
        (
            "messages",
            stream(
                {"type": "message_start", "message": {}},
                {"type": "content_block_start", "content_block": {"type": "thinking"}},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
                {"type": "message_stop"},
            ),
        ),
        ("responses", json.dumps(responses()).encode()),
        ("responses", stream({"type": "response.completed", "response": responses()})),
        ("completions", b'{"choices": [{"text": null, "finish_reason": "stop"}]}'),
        ("completions", stream({"choices": [{"text": None, "finish_reason": "stop"}]})),
    ],
    ids=repr,
)
def test_an_applications_reply_without_an_answer_is_none_either(kind: str, body: bytes):
    """Whole or in pieces: never an empty text. The application is given it as it is, and may ask again."""
    reply = own(kind).reply(body)
    assert reply.unanswered
    assert (reply.text, reply.output, reply.body) == ("", None, body)


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("chat/completions", stream(delta(content=""), delta("stop")), ""),
        ("chat/completions", stream(delta(content=None), delta("length")), ""),
        ("chat/completions", stream(delta(content=[{"text": "a"}]), delta("stop")), "a"),
        ("chat/completions", stream(delta(audio={"transcript": "a"}), delta("stop")), "a"),
        ("chat/completions", stream(delta(refusal="No."), delta("stop")), "No."),
        ("completions", stream({"choices": [{"text": "", "finish_reason": "stop"}]}), ""),
        ("messages", b'{"content": [], "stop_reason": "refusal"}', ""),
    ],
    ids=repr,
)
def test_an_applications_empty_answer_is_one(kind: str, body: bytes, text: str):
    """In pieces as well."""
    reply = own(kind).reply(body)
    assert (reply.text, reply.unanswered) == (text, "")


def test_tools_that_come_in_pieces_are_answers():
    """The older form of them, and those that take any text."""
    old = stream(
        delta(function_call={"name": "f", "arguments": ""}),
        delta(function_call={"arguments": "{}"}),
        delta("function_call"),
    )
    assert [(c.name, c.arguments) for c in own("chat/completions").reply(old).tool_calls] == [
        ("f", {})
    ]
    custom = [{"index": 0, "id": "c", "type": "custom", "custom": {"name": "f", "input": "a"}}]
    more = [{"index": 0, "custom": {"input": "b"}}]
    new = stream(delta(tool_calls=custom), delta(tool_calls=more), delta("tool_calls"))
    assert [(c.name, c.arguments) for c in own("chat/completions").reply(new).tool_calls] == [
        ("f", {"input": "ab"})
    ]


# Code, programs, web services


async def test_a_program_that_prints_nothing_has_not_answered(tmp_path: Path):
    """An empty line is an empty answer."""
    (tmp_path / "says.py").write_text("import sys\nprint(sys.argv[1]) if sys.argv[1] else None\n")
    program = create("exec:python3 says.py", env={}, base=tmp_path)
    with pytest.raises(BadRequest, match="printed nothing"):
        await program.send(program.request(Prompt.of("")), CodeHost())
    answer = await program.send(program.request(Prompt.of(" ")), CodeHost())
    assert program.reply(answer.body).text == ""


@pytest.mark.parametrize("returned", ["None", "{'output': None}", "{}"])
async def test_a_function_that_returns_nothing_has_not_answered(tmp_path: Path, returned: str):
    """It is an error of that call, and says what to return."""
    (tmp_path / "p.py").write_text(f"def call_api(p, o, c): return {returned}\n")
    function = create("python:p.py", env={}, base=tmp_path)
    with pytest.raises(BadRequest, match="without an output"):
        await function.send(function.request(Prompt.of("hi")), CodeHost())


async def test_a_web_service_that_answers_null_has_not_answered(tmp_path: Path):
    """It is asked again."""
    with FakeProvider(Script([Rule(path="/own", reply=None)])) as fake:
        config = {"method": "POST", "body": {"a": 1}}
        service = create(f"{fake.url}/own", config=config, env={}, base=tmp_path)
        with pytest.raises(NoAnswer, match="answered 200 with nothing"):
            await service.send(service.request(Prompt.of("hi")), CodeHost())
        await service.close()


BROKEN_ERROR = {"code": 502, "message": "the model behind it is gone"}
PART = {"role": "assistant", "content": "The capital"}


@pytest.mark.parametrize(
    ("id_", "answer", "why"),
    [
        ("openai:chat:m", chat(PART, "error"), ""),
        (
            "openai:chat:m",
            {"choices": [{"message": PART, "finish_reason": "error", "error": BROKEN_ERROR}]},
            "the model behind it is gone",
        ),
        ("openai:chat:m", {**chat(PART), "error": "no more"}, "no more"),
        (
            "openai:responses:m",
            responses(spoken({"type": "output_text", "text": "The"}), status="cancelled"),
            "",
        ),
        (
            "openai:responses:m",
            responses(
                spoken({"type": "output_text", "text": "The"}), status="failed", error=BROKEN_ERROR
            ),
            "the model behind it is gone",
        ),
    ],
    ids=["said", "said why", "beside it", "cancelled", "failed"],
)
def test_an_answer_that_the_vendor_broke_off_is_no_answer(id_: str, answer: Any, why: str):
    """Half of a sentence is never scored: it is asked for again, and then an error."""
    with pytest.raises(BadReply, match="broke off its answer") as caught:
        read(id_, answer)
    assert caught.value.billed is None
    assert why in caught.value.message


@pytest.mark.parametrize("nothing", [None, "", {}, []])
def test_an_error_that_says_nothing_is_none(nothing: object):
    """Some servers send the key with each answer."""
    assert read("openai:chat:m", {**chat(PART), "error": nothing}).text == "The capital"
