"""Only what ended as complete answers do is one: each API × each ending that is documented or made up × each way in."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import BadReply
from evenhand.core.message import Reply
from evenhand.providers.app_call import AppCall
from evenhand.providers.batches.openai import result_of
from evenhand.providers.catalog import create
from evenhand.providers.streams import whole

HALF = "half an ans"
KEYS = {**dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"), "k")}
SEED = 41
ERROR = {"code": "server_error", "message": "the model behind it is gone"}


def chat(word: Any, **more: Any) -> dict[str, Any]:
    """An answer of a chat API that ended so."""
    message = {"role": "assistant", "content": HALF}
    return {"choices": [{"message": message, "finish_reason": word}], **more}


def completion(word: Any, **more: Any) -> dict[str, Any]:
    """The same, of plain completion."""
    return {"choices": [{"text": HALF, "finish_reason": word}], **more}


def message(word: Any, **more: Any) -> dict[str, Any]:
    """Anthropic's."""
    return {"content": [{"type": "text", "text": HALF}], "stop_reason": word, **more}


def gemini(word: Any, **more: Any) -> dict[str, Any]:
    """Gemini's."""
    return {"candidates": [{"content": {"parts": [{"text": HALF}]}, "finishReason": word}], **more}


def ollama(word: Any, **more: Any) -> dict[str, Any]:
    """Ollama's."""
    return {"message": {"content": HALF}, "done": True, "done_reason": word, **more}


def llama(word: Any, **more: Any) -> dict[str, Any]:
    """llama.cpp's."""
    return {"content": HALF, "stop": True, "stop_type": word, **more}


def status(word: Any, **more: Any) -> dict[str, Any]:
    """The responses API's, in this state."""
    part = {"type": "output_text", "text": HALF}
    return {"status": word, "output": [{"type": "message", "content": [part]}], **more}


def incomplete(word: Any, **more: Any) -> dict[str, Any]:
    """And incomplete, for this reason."""
    return status("incomplete", incomplete_details={"reason": word}, **more)


_OPENAI = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence", "STOP"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length"), "length"),
    **dict.fromkeys(("content_filter", "sensitive", "content_filter: SAFETY"), "content_filter"),
    **dict.fromkeys(("tool_calls", "function_call"), "tool_calls"),
}
COMPLETE: Mapping[str, Mapping[Any, str]] = {
    "chat": _OPENAI,
    "completion": {"stop": "stop", "length": "length", "content_filter": "content_filter"},
    "anthropic": {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "tool_use": "tool_calls",
        "refusal": "content_filter",
    },
    "gemini": {
        "STOP": "stop",
        "MAX_TOKENS": "length",
        **dict.fromkeys(
            "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_RECITATION "
            "IMAGE_PROHIBITED_CONTENT MODEL_ARMOR".split(),
            "content_filter",
        ),
    },
    "responses": {"completed": "stop"},
    "incomplete": {"max_output_tokens": "length", "content_filter": "content_filter"},
    "ollama": {"stop": "stop", "length": "length"},
    "llama": {"eos": "stop", "word": "stop", "limit": "length"},
}
BROKEN: Mapping[str, tuple[Any, ...]] = {
    # DeepSeek, Zhipu, vLLM, OpenRouter, Mistral, Cohere, Gemini's endpoint for OpenAI's clients
    "chat": (
        *"insufficient_system_resource network_error abort error timeout cancelled ERROR".split(),
        "function_call_filter: MALFORMED_FUNCTION_CALL",
    ),
    "completion": ("error", "abort", 42, True),
    "anthropic": ("pause_turn", "compaction", "error"),
    "gemini": (
        *"FINISH_REASON_UNSPECIFIED LANGUAGE OTHER MALFORMED_FUNCTION_CALL IMAGE_OTHER".split(),
        *"UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS NO_IMAGE MISSING_THOUGHT_SIGNATURE".split(),
        *(42, ["STOP"]),
    ),
    "responses": ("failed", "in_progress", "cancelled", "queued", "incomplete", "expired"),
    "incomplete": ("server_error", "max_tool_calls", "stop", "completed"),
    "ollama": ("load", "unload", "error", 42),
    "llama": ("none", "error", ["eos"]),
}
SHAPES: Mapping[str, tuple[str, Callable[..., dict[str, Any]]]] = {
    "chat": ("openai:chat:m", chat),
    "completion": ("openai:completion:m", completion),
    "anthropic": ("anthropic:m", message),
    "gemini": ("google:m", gemini),
    "responses": ("openai:responses:m", status),
    "incomplete": ("openai:responses:m", incomplete),
    "ollama": ("ollama:chat:m", ollama),
    "llama": ("llama", llama),
}


def made_up() -> list[str]:
    """Words that nobody has heard of."""
    draw = random.Random(SEED)
    return [
        "".join(draw.choices(string.ascii_letters + "_", k=draw.randint(1, 20)))
        for _ in "1234567890"
    ]


ENDINGS = [
    (name, word, COMPLETE[name].get(word) if isinstance(word, str) else None)
    for name in SHAPES
    for word in (*COMPLETE[name], *BROKEN[name], *made_up())
]


def plain(name: str, answer: Mapping[str, Any]) -> Reply:
    """What a provider makes of it."""
    made = create(SHAPES[name][0], config={}, env=KEYS, base=Path())
    return made.reply(json.dumps(answer).encode())


def batched(name: str, answer: Mapping[str, Any]) -> Reply:
    """And of the same as a line of a batch."""
    row = {"custom_id": "c", "response": {"status_code": 200, "body": answer}}
    result = result_of(json.dumps(row).encode())
    assert result is not None
    return plain(name, json.loads(result.body))


def streamed(name: str, answer: Mapping[str, Any]) -> Reply:
    """What is recorded of it where an application's SDK reads it as a stream."""
    kind, events = _EVENTS[name](answer)
    url = f"http://h/v1/{kind}"
    body = json.dumps({"model": "m", "messages": [], "stream": True}).encode()
    call = AppCall.of(url, {}, body, 60, {})
    assert call is not None
    body = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)
    reply = call.reply(body)
    assert reply.body == body
    if reply.unanswered:  # which the application is told as it came, and its trial ends in
        raise BadReply(reply.unanswered)
    return reply


def _chat_events(answer: Mapping[str, Any]) -> tuple[str, list[Any]]:
    choice = answer["choices"][0]
    start = {"choices": [{"index": 0, "delta": choice["message"], "finish_reason": None}]}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    return "chat/completions", [start, end]


def _completion_events(answer: Mapping[str, Any]) -> tuple[str, list[Any]]:
    choice = {"index": 0, **answer["choices"][0]}
    return "completions", [
        {"choices": [{**choice, "finish_reason": None}]},
        {"choices": [{**choice, "text": ""}]},
    ]


def _message_events(answer: Mapping[str, Any]) -> tuple[str, list[Any]]:
    delta = {"stop_reason": answer["stop_reason"]}
    return "messages", [
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": answer["content"][0]},
        {"type": "message_delta", "delta": delta},
        {"type": "message_stop"},
    ]


def _response_events(answer: Mapping[str, Any]) -> tuple[str, list[Any]]:
    last = answer["status"] if answer["status"] in ("incomplete", "failed") else "completed"
    return "responses", [{"type": f"response.{last}", "response": answer}]


_EVENTS: Mapping[str, Callable[[Mapping[str, Any]], tuple[str, list[Any]]]] = {
    "chat": _chat_events,
    "completion": _completion_events,
    "anthropic": _message_events,
    "responses": _response_events,
    "incomplete": _response_events,
}
WAYS = {"plain": plain, "stream": streamed, "batch": batched}


@pytest.mark.parametrize("way", WAYS)
def test_only_known_endings_are_complete_answers(way: str):
    """Half of a sentence is never scored, whatever a vendor calls it, also through streams and batches."""
    print("seed", SEED)  # noqa: T201 (to draw the same words again)
    wrong: list[Any] = []
    tries = 0
    for name, word, expected in ENDINGS:
        if way == "stream" and name not in _EVENTS:
            continue
        tries += 1
        try:
            reply = WAYS[way](name, SHAPES[name][1](word))
        except BadReply:
            outcome = None
        else:
            outcome = reply.finish_reason
            assert reply.text == HALF
            assert reply.refused is (outcome == "content_filter")
        if outcome != expected:
            wrong.append((name, word, expected, outcome))
    assert wrong == []
    assert tries >= (70 if way == "stream" else 130)


@pytest.mark.parametrize("name", SHAPES)
def test_an_error_beside_a_text_is_no_answer(name: str):
    """It says why; an error that says nothing is none, as some servers send the key with each answer."""
    shape, ending = SHAPES[name][1], next(iter(COMPLETE[name]))
    for error in (ERROR, "gone", ["gone"], 1):
        with pytest.raises(BadReply, match=r"broke off its answer|gone"):
            plain(name, shape(ending, error=error))
    for nothing in (None, "", {}, []):
        assert plain(name, shape(ending, error=nothing)).text == HALF


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "incomplete"])
@pytest.mark.parametrize("nothing", [None, ""])
def test_a_whole_answer_that_does_not_say_how_it_ended_is_complete(name: str, nothing: str | None):
    """Many compatible servers never say."""
    assert plain(name, SHAPES[name][1](nothing)).text == HALF


@pytest.mark.parametrize("name", ["chat", "completion"])
def test_a_stream_that_does_not_say_how_it_ended_was_cut_off(name: str):
    """Its end never came."""
    kind, events = _EVENTS[name](SHAPES[name][1](None))
    stream = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)
    assert whole(kind, stream) is None


def test_items_that_are_not_finished_are_no_answer():
    """Each message and call of the responses API has a state of its own."""
    part = {"type": "output_text", "text": HALF}
    for state in ("in_progress", "incomplete", "failed", "odd"):
        for item in (
            {"type": "message", "content": [part], "status": state},
            {"type": "function_call", "name": "f", "arguments": "{", "status": state},
        ):
            with pytest.raises(BadReply, match="broke off its answer"):
                plain("responses", {"status": "completed", "output": [item]})
    cut = {"type": "message", "content": [part], "status": "incomplete"}
    details = {"reason": "max_output_tokens"}
    answer = {"status": "incomplete", "incomplete_details": details, "output": [cut]}
    assert plain("responses", answer).finish_reason == "length"


@pytest.mark.parametrize(
    ("name", "more"), [("ollama", {"done": False}), ("llama", {"stop": False})]
)
def test_a_piece_of_a_stream_is_no_answer(name: str, more: Any):
    """Local servers say with each piece whether it is the last."""
    with pytest.raises(BadReply, match="broke off its answer"):
        plain(name, {**SHAPES[name][1]("stop" if name == "ollama" else "eos"), **more})


# What stands beside a text, or in its place

TEXTS = ({}, {"text": None}, {"text": ""}, {"text": " \n"})
PICTURE = {"type": "image_url", "image_url": {"url": "data:x"}}


def in_chat(text: Mapping[str, Any], besides: Mapping[str, Any]) -> dict[str, Any]:
    """A message with this text, and something beside it."""
    content = {"content": text["text"]} if "text" in text else {}
    return {"choices": [{"message": {**content, **besides}, "finish_reason": "stop"}]}


def in_message(text: Mapping[str, Any], besides: Mapping[str, Any]) -> dict[str, Any]:
    """A message of Anthropic's with such a block."""
    texts = [{"type": "text", **text}] if text else []
    return {"content": [besides, *texts], "stop_reason": "end_turn"}


def in_gemini(text: Mapping[str, Any], besides: Mapping[str, Any]) -> dict[str, Any]:
    """An answer of Gemini's with such a part."""
    return {
        "candidates": [
            {
                "content": {"parts": [besides, *([dict(text)] if text else [])]},
                "finishReason": "STOP",
            }
        ]
    }


def in_response(text: Mapping[str, Any], besides: Mapping[str, Any]) -> dict[str, Any]:
    """An output of the responses API with such an item."""
    said = {"type": "message", "content": [{"type": "output_text", **text}]}
    return {"status": "completed", "output": [besides, *([said] if text else [])]}


def in_ollama(text: Mapping[str, Any], besides: Mapping[str, Any]) -> dict[str, Any]:
    """A message of Ollama's."""
    content = {"content": text["text"]} if "text" in text else {}
    return {"message": {**content, **besides}, "done": True, "done_reason": "stop"}


BESIDES: Mapping[str, tuple[Callable[..., dict[str, Any]], list[dict[str, Any]]]] = {
    "chat": (
        in_chat,
        [
            {"reasoning": "Hm"},
            {"reasoning_content": "Hm"},
            {"reasoning_details": [{"type": "reasoning.text", "text": "Hm"}]},
            {"thinking_blocks": [{"type": "thinking", "thinking": "Hm"}]},
            {"images": [PICTURE]},
            {"files": [{"id": "f"}]},
            {"audio": {"id": "a", "data": "QQ=="}},
            {"executed_tools": [{"type": "search", "output": "x"}]},
            {"tool_calls": [{"type": "function", "function": {"name": ""}}]},
        ],
    ),
    "anthropic": (
        in_message,
        [
            {"type": "thinking", "thinking": "Hm"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "server_tool_use", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "content": []},
            {"type": "container_upload", "file_id": "f"},
        ],
    ),
    "gemini": (
        in_gemini,
        [
            {"text": "Hm", "thought": True},
            {"inlineData": {"mimeType": "image/png", "data": "aa"}},
            {"fileData": {"fileUri": "gs://x"}},
            {"executableCode": {"code": "1 + 1"}},
            {"codeExecutionResult": {"output": "2"}},
            {"functionCall": {"args": {}}},
        ],
    ),
    "responses": (
        in_response,
        [
            {"type": "reasoning", "summary": []},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]},
            {"type": "image_generation_call", "result": "x"},
            {"type": "web_search_call", "status": "completed"},
            {"type": "file_search_call", "results": []},
            {"type": "code_interpreter_call", "outputs": []},
            {"type": "mcp_call", "output": "x"},
            {"type": "mcp_list_tools", "tools": []},
        ],
    ),
    "ollama": (
        in_ollama,
        [{"thinking": "Hm"}, {"images": ["aa"]}, {"tool_calls": [{"function": {}}]}],
    ),
}


@pytest.mark.parametrize("name", BESIDES)
def test_what_is_thought_drawn_or_done_is_no_answer_without_a_text(name: str):
    """An empty text beside it isn't one either; alone it is, and with words in it both are an answer."""
    shape, besides = BESIDES[name]
    for beside in besides:
        for text in TEXTS:
            with pytest.raises(BadReply, match="holds no answer"):
                plain(name, shape(text, beside))
        assert plain(name, shape({"text": "42"}, beside)).text.endswith("42")


@pytest.mark.parametrize("besides", BESIDES["chat"][1][:6], ids=repr)
def test_a_stream_of_thoughts_and_pictures_is_no_answer(besides: Any):
    """It is put together with what comes beside its text."""
    start = {"choices": [{"index": 0, "delta": {"content": "", **besides}}]}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    body = json.dumps({"model": "m", "messages": [], "stream": True}).encode()
    call = AppCall.of("http://h/v1/chat/completions", {}, body, 60, {})
    assert call is not None
    reply = call.reply(
        b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in (start, end))
    )
    assert "holds no answer" in reply.unanswered
