"""Answers of vendors in every shape that their documentation has, by API and name; and who is asked for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

OBJECT = '{"a": 1, "location": "Asia"}'
TEXTS = {
    "text": "hello",
    "object": OBJECT,
    "list": "[1, 2]",
    "number": "1",
    "quoted": '"x"',
    "broken": '{"a": 1',
    "padded": ' {"a": 1}\n',
    "fenced": '```json\n{"a": 1}\n```',
}


def _call(number: int = 1, arguments: str = '{"a": 1, "ü": "é"}') -> dict[str, Any]:
    function = {"name": f"f{number}", "arguments": arguments}
    return {"id": f"c{number}", "type": "function", "function": function}


_FUNCTION = {"name": "f", "arguments": '{"a": 1}'}
_MESSAGES: Mapping[str, Mapping[str, Any]] = {
    **{name: {"content": text} for name, text in TEXTS.items()},
    "one call": {"content": None, "tool_calls": [_call()]},
    "one call, empty text": {"content": "", "tool_calls": [_call()]},
    "two calls": {"content": None, "tool_calls": [_call(1), _call(2, "{}")]},
    "text and call": {"content": "hi", "tool_calls": [_call()]},
    "object and call": {"content": OBJECT, "tool_calls": [_call()]},
    "text, no calls": {"content": "hi", "tool_calls": []},
    "function": {"content": None, "function_call": _FUNCTION},
    "text and function": {"content": "hi", "function_call": _FUNCTION},
}


def _chat(message: Mapping[str, Any]) -> dict[str, Any]:
    asks = message.get("tool_calls") or message.get("function_call")
    return {
        "id": "c",
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", **message},
                "finish_reason": "tool_calls" if asks else "stop",
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def _said(*texts: str) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "status": "completed",
        "content": parts,
    }


def _item(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": "i", "status": "completed", **fields}


_SEARCH = {"type": "search", "query": "q"}
_ITEMS: Mapping[str, list[dict[str, Any]]] = {
    **{name: [_said(text)] for name, text in TEXTS.items()},
    "two messages": [_said("one"), _said("two")],
    "two texts": [_said("one", "two")],
    "one call": [_item("function_call", name="f", call_id="c", arguments='{"a": 1, "ü": "é"}')],
    "call without arguments": [_item("function_call", name="f", call_id="c", arguments="{}")],
    "two calls": [
        _item("function_call", name="f", call_id="c", arguments='{"a": 1}'),
        _item("function_call", name="g", call_id="d", arguments="[]"),
    ],
    "text and call": [_said("hi"), _item("function_call", name="f", call_id="c", arguments="[]")],
    "web search": [_item("web_search_call", action=_SEARCH), _said("found")],
    "page": [_item("web_search_call", action={"type": "open_page", "url": "https://x"}), _said("a")],
    "page searched": [
        _item("web_search_call", action={"type": "find_in_page", "query": "w", "url": "u"}),
        _said("a"),
    ],
    "other action": [_item("web_search_call", action={"type": "scroll"}), _said("a")],
    "no action": [_item("web_search_call"), _said("a")],
    "failed search": [
        {**_item("web_search_call", action=_SEARCH), "status": "failed", "error": "down"},
        _said("a"),
    ],
    "code": [_item("code_interpreter_call", code="1+1", outputs=[{"type": "logs", "logs": "2"}]), _said("2")],
    "code, not shown": [_item("code_interpreter_call", code=None), _said("2")],
    "failed code": [{**_item("code_interpreter_call", code="1/0"), "status": "failed", "error": "no"}, _said("2")],
    "mcp": [_item("mcp_call", name="t", server_label="s", arguments="{}", output="res", error=None), _said("a")],
    "failed mcp": [_item("mcp_call", name="t", server_label="s", arguments="{}", output=None, error="no"), _said("a")],
    "mcp tools": [
        _item("mcp_list_tools", server_label="s", tools=[{"name": "t", "x": {}, "ü": [1.5, True, None, []]}]),
        _said("a"),
    ],
    "mcp approval": [_item("mcp_approval_request", name="t", server_label="s", arguments='{"a": 1}')],
    "file search": [_item("file_search_call", queries=["q"], results=None), _said("a")],
    "picture": [_item("image_generation_call", result="aGk="), _said("a")],
    "computer": [_item("computer_call", call_id="c", action={"type": "click"}), _said("a")],
    "shell": [_item("local_shell_call", call_id="c", action={"type": "exec", "command": ["ls"]}), _said("a")],
    "custom call": [_item("custom_tool_call", name="f", call_id="c", input="x"), _said("a")],
    "tool result": [{"type": "tool_result", "id": "i", "content": "r"}, _said("a")],
    "reasoning": [_item("reasoning", summary=[{"type": "summary_text", "text": "hm"}]), _said("a")],
    "reasoning, not shown": [_item("reasoning", summary=[]), _said(OBJECT)],
    "search and object": [_item("web_search_call", action=_SEARCH), _said(OBJECT)],
}  # fmt: skip


def _response(items: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    return {
        "id": "r",
        "object": "response",
        "status": "completed",
        "model": "m",
        "output": items,
        "usage": usage,
    }


_USE = {"type": "tool_use", "id": "u", "name": "f", "input": {"a": 1, "ü": "é"}}
_SERVER = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
_FOUND = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
_THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}


def _words(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts]


_BLOCKS: Mapping[str, list[dict[str, Any]]] = {
    **{name: _words(text) for name, text in TEXTS.items()},
    "two texts": _words("one", "two"),
    "one call": [_USE],
    "two calls": [_USE, {**_USE, "id": "v", "name": "g", "input": {}}],
    "text and call": [*_words("hi"), _USE],
    "two texts and call": [*_words("hi", "ho"), _USE],
    "web search": [*_words("let me see"), _SERVER, _FOUND, *_words("found", "it")],
    "web search and call": [_SERVER, _FOUND, *_words("found"), _USE],
    "thinking": [_THOUGHT, *_words("hi")],
    "thinking, two texts": [_THOUGHT, *_words("hi", "ho")],
    "thinking and object": [_THOUGHT, *_words(OBJECT)],
    "thinking and call": [_THOUGHT, _USE],
    "thinking and search": [_THOUGHT, _SERVER, _FOUND, *_words("found")],
}


def _message(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": blocks,
        "stop_reason": "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


_ASKED = {"functionCall": {"name": "f", "args": {"a": 1, "ü": "é"}}}
_PARTS: Mapping[str, list[dict[str, Any]]] = {
    **{name: [{"text": text}] for name, text in TEXTS.items()},
    "two texts": [{"text": "one"}, {"text": "two"}],
    "one call": [_ASKED],
    "two calls": [_ASKED, {"functionCall": {"name": "g", "args": {}}}],
    "text and call": [{"text": "hi"}, _ASKED],
    "code": [
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
        {"text": "done"},
    ],
    "text and picture": [
        {"text": "see"},
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
    ],
    "signed call": [{**_ASKED, "thoughtSignature": "sig"}],
    "signed text": [{"text": "hi", "thoughtSignature": "sig"}],
}


def _content(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "candidates": [
            {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "m",
    }


_OLLAMA_CALL = {"function": {"name": "f", "arguments": {"a": 1, "ü": "é"}}}
_OLLAMA: Mapping[str, Mapping[str, Any]] = {
    **{name: {"content": text} for name, text in TEXTS.items()},
    "one call": {"content": "", "tool_calls": [_OLLAMA_CALL]},
    "one call, arguments as text": {
        "content": "",
        "tool_calls": [{"function": {"name": "f", "arguments": '{"a": 1}'}}],
    },
    "two calls": {"content": "", "tool_calls": [_OLLAMA_CALL, {"id": "x", **_OLLAMA_CALL}]},
    "blank text and call": {"content": " \n", "tool_calls": [_OLLAMA_CALL]},
    "text and call": {"content": "hi", "tool_calls": [_OLLAMA_CALL]},
    "thinking": {"content": "hi", "thinking": "hm"},
    "thinking and call": {"content": "", "thinking": "hm", "tool_calls": [_OLLAMA_CALL]},
}
_ENDED = {"model": "m", "done": True, "prompt_eval_count": 10, "eval_count": 5}

ANSWERS: Mapping[str, Mapping[str, dict[str, Any]]] = {
    "chat": {name: _chat(message) for name, message in _MESSAGES.items()},
    "completion": {
        name: {
            "model": "m",
            "choices": [{"text": text, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
        for name, text in TEXTS.items()
    },
    "responses": {name: _response(items) for name, items in _ITEMS.items()},
    "anthropic": {name: _message(blocks) for name, blocks in _BLOCKS.items()},
    "google": {name: _content(parts) for name, parts in _PARTS.items()},
    "ollama": {
        name: {"message": {"role": "assistant", **message}, **_ENDED}
        for name, message in _OLLAMA.items()
    },
    "generate": {name: {"response": text, **_ENDED} for name, text in TEXTS.items()},
    "llama": {name: {"content": text} for name, text in TEXTS.items()},
}
"""What is answered: by API, and by the name of the shape."""

_SCHEMA = {"type": "object"}
_FORMATS: Mapping[str, Mapping[str, Any]] = {
    "nothing": {},
    "json_object": {"response_format": {"type": "json_object"}},
    "json_schema": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "x", "schema": _SCHEMA},
        }
    },
    "text": {"response_format": {"type": "text"}},
}
_CHAT = (
    "openai:chat:gpt-4o-mini",
    "groq:llama-3.3-70b-versatile",
    "mistral:mistral-small-latest",
    "openrouter:openai/gpt-4o-mini",
    "togetherai:meta-llama/Llama-3",
    "fireworks:accounts/fireworks/models/x",
    "moonshot:kimi-k2",
    "localai:chat:x",
    "huggingface:chat:x/y",
    "litellm:gpt-4o-mini",
    "azure:chat:dep",
)
_RESPONSES = (
    "openai:responses:gpt-4o-mini",
    "groq:responses:openai/gpt-oss-20b",
    "azure:responses:dep",
)


def asked(base: str) -> list[tuple[str, str, str, dict[str, Any]]]:
    """Who is asked for them: API, id, what they are held to, and the provider's config.

    Args:
        base: Where all vendors are, without a path.
    """
    config = {"apiKey": "k", "apiBaseUrl": f"{base}/v1"}
    root = {"apiKey": "k", "apiBaseUrl": base}
    everyone: list[tuple[str, str, str, dict[str, Any]]] = []
    for api, ids in (("chat", _CHAT), ("responses", _RESPONSES)):
        for id_ in ids:
            where = root if id_.startswith("azure:") else config
            everyone += [(api, id_, form, {**where, **more}) for form, more in _FORMATS.items()]
    native = {"output_format": {"type": "json_schema", "schema": _SCHEMA}}
    gemini = {"generationConfig": {"responseMimeType": "application/json"}}
    everyone += [
        ("completion", "openai:completion:gpt-3.5-turbo-instruct", "nothing", config),
        ("completion", "azure:completion:dep", "json_schema", {**root, **_FORMATS["json_schema"]}),
        ("anthropic", "anthropic:messages:claude-sonnet-4-5", "nothing", root),
        ("anthropic", "anthropic:messages:claude-sonnet-4-5", "output_format", {**root, **native}),
        ("anthropic", "anthropic:messages:claude-sonnet-4-5", "json_schema", {**root, **_FORMATS["json_schema"]}),
        ("google", "google:gemini-2.5-flash", "nothing", root),
        ("google", "google:gemini-2.5-flash", "json_schema", {**root, **_FORMATS["json_schema"]}),
        ("google", "google:gemini-2.5-flash", "responseSchema", {**root, **gemini}),
        ("ollama", "ollama:chat:llama3", "nothing", root),
        ("ollama", "ollama:chat:llama3", "format", {**root, "format": "json"}),
        ("ollama", "ollama:chat:llama3", "json_schema", {**root, **_FORMATS["json_schema"]}),
        ("generate", "ollama:completion:llama3", "format", {**root, "format": "json"}),
    ]  # fmt: skip
    return everyone


def encoded(answer: Mapping[str, Any]) -> bytes:
    """An answer as it is sent."""
    return json.dumps(answer).encode()
