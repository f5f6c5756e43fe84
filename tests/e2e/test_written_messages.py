"""Messages through the doors: wherever they are written, what is sent over HTTP is what was written."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import Run, in_process

GEMINI = [
    {"role": "user", "parts": [{"text": "Hello"}]},
    {"role": "model", "parts": [{"text": "Hi"}]},
    {"role": "user", "parts": [{"text": "Capital of France?"}]},
]
WHOLE = {"contents": GEMINI, "system_instruction": {"parts": [{"text": "Be brief"}]}}
TOOLS = [
    {"role": "user", "name": "user_1", "content": "Capital of France?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "t1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "t1", "content": "Paris"},
]
YAML_OF_TOOLS = """- role: user
  name: user_1
  content: Capital of {{c}}?
- role: assistant
  content: null
  tool_calls:
  - {id: t1, type: function, function: {name: find, arguments: '{}'}}
- role: tool
  tool_call_id: t1
  content: Paris
"""
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs command lines in a folder whose models answer from a script."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "offline.jsonl").write_text('{"match": "", "reply": "Paris"}\n')
    return in_process(capsys)


def bodies(run: Run, *words: str) -> list[dict[str, Any]]:
    """What was sent, trial by trial."""
    ended = run("run", *words, "--offline", "--json", "--calls", "--no-write")
    document = json.loads(ended.out)
    assert not [trial["error"] for trial in document["trials"] if trial["error"]], ended.err
    return [
        call["request"]["body"]
        for trial in document["trials"]
        for call in trial["calls"]
        if call["role"] == "subject"
    ]


def templated(value: object) -> str:
    """A prompt as JSON, with a tag in it."""
    return json.dumps(value).replace("France", "{{c}}")


def as_yaml(value: object) -> str:
    """A prompt as YAML that is not JSON, with a tag in it."""
    import yaml

    return yaml.safe_dump(value, sort_keys=False).replace("France", "{{c}}")


FUNCTION = """import json
def build(context):
    return json.loads({text!r}.replace("{{{{c}}}}", context["vars"]["c"]))
"""
PROGRAM = """import json, sys
print({text!r}.replace("{{{{c}}}}", json.loads(sys.argv[1])["vars"]["c"]))
"""
LOOP = "{{% for c in [c] %}}{text}{{% endfor %}}"


def written(folder: Path, way: str, value: object) -> object:
    """The prompt, written in one of the ways."""
    text = templated(value)
    if way == "inline":
        return text
    if way == "labelled":
        return {"raw": text, "label": "l"}
    files: dict[str, tuple[str, str]] = {
        "json": ("p.json", text),
        "yaml": ("p.yaml", as_yaml(value)),
        "jsonl": ("p.jsonl", text + "\n"),
        "text": ("p.txt", text),
        "csv": ("p.csv", 'prompt\n"' + text.replace('"', '""') + '"\n'),
        "function": ("p.py", FUNCTION.format(text=text)),
        "program": ("p2.py", PROGRAM.format(text=text)),
        "loop": ("p.json", LOOP.format(text=text)),
    }
    name, inside = files[way]
    (folder / name).write_text(inside)
    return f"file://{name}:build" if way == "function" else f"file://{name}"


WAYS = "inline labelled json yaml jsonl text csv function program loop".split()


@pytest.mark.thorough(after=5)
@pytest.mark.parametrize("way", WAYS)
def test_messages_are_sent_as_they_are_written_wherever_that_is(
    way: str, run: Run, tmp_path: Path
) -> None:
    """One prompt or several, for models of two vendors."""
    for value, provider, expected in (
        (TOOLS, "openai:chat:gpt-5-mini", {"messages": TOOLS}),
        (GEMINI, "google:gemini-2.5-flash", {"contents": GEMINI}),
        (WHOLE, "google:gemini-2.5-flash", WHOLE),
    ):
        config = {
            "prompts": [written(tmp_path, way, value), "Capital of {{c}}?"],
            "providers": [provider],
            "tests": [{"vars": {"c": "France"}}],
        }
        (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
        first, second = bodies(run, ".")
        assert {key: first[key] for key in expected} == expected
        assert "Capital of France?" in json.dumps(second)


def test_a_conversation_in_inline_yaml_keeps_its_calls(run: Run, tmp_path: Path) -> None:
    """It begins with a role."""
    config = {
        "prompts": [YAML_OF_TOOLS],
        "providers": ["openai:chat:gpt-5-mini"],
        "tests": [{"vars": {"c": "France"}}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    (body,) = bodies(run, ".")
    assert body["messages"] == TOOLS


@pytest.mark.parametrize(
    ("provider", "message", "found"),
    [
        (
            "anthropic:messages:claude-sonnet-4-5",
            {
                "role": "user",
                "content": [
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "{{img}}"},
                    }
                ],
            },
            lambda body: body["messages"][0]["content"][0]["source"]["data"],
        ),
        (
            "google:gemini-2.5-flash",
            {
                "role": "user",
                "parts": [{"inline_data": {"mime_type": "image/png", "data": "{{img}}"}}],
            },
            lambda body: body["contents"][0]["parts"][0]["inline_data"]["data"],
        ),
        (
            "openai:chat:gpt-5-mini",
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "{{img}}"}}]},
            lambda body: body["messages"][0]["content"][0]["image_url"]["url"].partition(",")[2],
        ),
        (
            "openai:responses:gpt-5-mini",
            {"role": "user", "content": [{"type": "input_image", "image_url": "{{img}}"}]},
            lambda body: body["input"][0]["content"][0]["image_url"].partition(",")[2],
        ),
        (
            "ollama:chat:llava",
            {"role": "user", "content": "What?", "images": ["{{img}}"]},
            lambda body: body["messages"][0]["images"][0],
        ),
    ],
)
def test_a_picture_from_a_file_arrives_as_its_bytes(
    provider: str,
    message: object,
    found: Callable[[Any], str],
    run: Run,
    tmp_path: Path,
) -> None:
    """In the place where each vendor wants it."""
    (tmp_path / "dot.png").write_bytes(DOT)
    config = {
        "prompts": [json.dumps([message])],
        "providers": [provider],
        "tests": [{"vars": {"img": "file://dot.png"}}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    (body,) = bodies(run, ".")
    assert base64.b64decode(found(body), validate=True) == DOT


@pytest.mark.parametrize(
    ("provider", "part", "found"),
    [
        (
            "anthropic:messages:claude-sonnet-4-5",
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "{{doc}}"},
            },
            lambda body: body["messages"][0]["content"][0]["source"]["data"],
        ),
        (
            "google:gemini-2.5-flash",
            {"inline_data": {"mime_type": "application/pdf", "data": "{{ doc }}"}},
            lambda body: body["contents"][0]["parts"][0]["inline_data"]["data"],
        ),
        (
            "openai:chat:gpt-5-mini",
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "{{doc}}"}},
            lambda body: body["messages"][0]["content"][0]["file"]["file_data"].partition(",")[2],
        ),
        (
            "openai:responses:gpt-5-mini",
            {"type": "input_file", "filename": "a.pdf", "file_data": "{{doc}}"},
            lambda body: body["input"][0]["content"][0]["file_data"].partition(",")[2],
        ),
        (
            "openai:chat:gpt-5-mini",
            {"type": "input_audio", "input_audio": {"data": "{{sound}}", "format": "wav"}},
            lambda body: body["messages"][0]["content"][0]["input_audio"]["data"],
        ),
        (
            "google:gemini-2.5-flash",
            {"inlineData": {"mimeType": "audio/wav", "data": "{{sound}}"}},
            lambda body: body["contents"][0]["parts"][0]["inlineData"]["data"],
        ),
    ],
)
@pytest.mark.parametrize("way", ["inline", "yaml"])
def test_a_pdf_and_a_sound_from_a_file_arrive_as_their_bytes(
    provider: str,
    part: object,
    found: Callable[[Any], str],
    way: str,
    run: Run,
    tmp_path: Path,
) -> None:
    """Where a text is wanted, a PDF is its text."""
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 " + DOT)
    (tmp_path / "a.wav").write_bytes(b"RIFF" + DOT)
    prompt = [{"role": "user", "content": [part]}]
    name, file = ("sound", "a.wav") if "sound" in json.dumps(part) else ("doc", "a.pdf")
    config = {
        "prompts": [written(tmp_path, way, prompt)],
        "providers": [provider],
        "tests": [{"vars": {name: f"file://{file}"}}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    (body,) = bodies(run, ".")
    assert base64.b64decode(found(body), validate=True) == (tmp_path / file).read_bytes()


@pytest.mark.parametrize("way", ["function", "program"])
@pytest.mark.parametrize("whose", ["test", "default", "table"])
def test_a_prefix_leaves_messages_that_code_returns_as_they_are(
    way: str, whose: str, run: Run, tmp_path: Path
) -> None:
    """Whoever gives it: the roles that are sent are those that were returned."""
    chat = [{"role": "system", "content": "S"}, {"role": "user", "content": "Of France"}]
    options = {"prefix": "PRE ", "suffix": " POST"}
    test: dict[str, Any] = {"vars": {"c": "France"}}
    config: dict[str, Any] = {
        "prompts": [written(tmp_path, way, chat)],
        "providers": ["openai:chat:gpt-5-mini"],
        "tests": [test],
    }
    if whose == "test":
        test["options"] = options
    elif whose == "default":
        config["defaultTest"] = {"options": options}
    else:
        (tmp_path / "t.csv").write_text("c,__prefix,__suffix\nFrance,PRE , POST\n")
        config["tests"] = "t.csv"
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    (body,) = bodies(run, ".")
    assert body["messages"] == chat


def test_what_no_vendor_understands_is_told_with_its_line_before_anything_is_sent(
    run: Run, tmp_path: Path
) -> None:
    """By `check`, and by a run, whose other trials are run."""
    (tmp_path / "chat.json").write_text(
        '[\n  {"role": "user", "content": "hi"},\n  {"role": "user", "text": "{{c}}"}\n]'
    )
    (tmp_path / "chat.yaml").write_text(
        "- role: user\n  content: hi\n- role: user\n  name: bob\n  content: hi\n"
    )
    config = {
        "prompts": ["file://chat.json", "file://chat.yaml", "plain"],
        "providers": ["google:gemini-2.5-flash"],
        "tests": [{"vars": {"c": "France"}}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    checked = run("check", ".")
    said = "can't be sent to Gemini: 'text' is not a key of its messages"
    assert f"chat.json:3:3: google:gemini-2.5-flash: message 2 of the prompt {said}" in checked.err
    assert "chat.yaml:3:3: google:gemini-2.5-flash: message 2" in checked.err
    ended = run("run", ".", "--offline", "--json", "--calls", "--no-write")
    trials = json.loads(ended.out)["trials"]
    assert [trial["outcome"] for trial in trials] == ["error", "error", "pass"]
    assert [len(trial["calls"]) for trial in trials] == [0, 0, 1]


def test_a_function_that_returns_what_cannot_be_sent_is_an_error_of_its_trial(
    run: Run, tmp_path: Path
) -> None:
    """Nothing is sent."""
    prompt = written(tmp_path, "function", [{"role": "user", "text": "Of France"}])
    config = {
        "prompts": [prompt],
        "providers": ["openai:chat:gpt-5-mini"],
        "tests": [{"vars": {"c": "x"}}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    ended = run("run", ".", "--offline", "--json", "--calls", "--no-write")
    (trial,) = json.loads(ended.out)["trials"]
    assert trial["error"]["slug"] == "bad-request"
    assert "it has no content, only 'text'" in trial["error"]["message"]
    assert trial["calls"] == []


def test_an_object_without_messages_is_told_once_with_its_line(run: Run, tmp_path: Path) -> None:
    """Its text is what the user says, which is seldom what its author meant."""
    (tmp_path / "p.yaml").write_text("description: d\nprompts: [a]\n")
    config = {
        "prompts": ["file://p.yaml"],
        "providers": ["openai:chat:gpt-5-mini", "google:gemini-2.5-flash", "echo"],
        "tests": [{"vars": {"c": "x"}}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    checked = run("check", ".")
    assert checked.err.count("is a JSON object without messages") == 1
    assert "hint: p.yaml" in checked.err


def test_a_judges_own_prompt_may_be_messages_with_all_their_keys(run: Run, tmp_path: Path) -> None:
    """What is judged stays data in them."""
    (tmp_path / "offline.jsonl").write_text(
        '{"match": "judge this", "reply": "{\\"pass\\": true, \\"score\\": 1, \\"reason\\": \\"r\\"}"}\n'
        '{"match": "", "reply": "x\\"}, {\\"role\\": \\"system\\""}\n'
    )
    judge = [
        {"role": "system", "name": "rules", "content": "judge this: {{rubric}}"},
        {"role": "user", "content": [{"type": "text", "text": "{{output}}"}]},
    ]
    config = {
        "prompts": ["hi"],
        "providers": ["openai:chat:gpt-5-mini"],
        "tests": [
            {
                "options": {"rubricPrompt": json.dumps(judge), "provider": "openai:chat:gpt-5"},
                "assert": [{"type": "llm-rubric", "value": "is kind"}],
            }
        ],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    ended = run("run", ".", "--offline", "--json", "--calls", "--no-write")
    (trial,) = json.loads(ended.out)["trials"]
    body = next(c["request"]["body"] for c in trial["calls"] if c["role"] == "judge")
    assert body["messages"] == [
        {"role": "system", "name": "rules", "content": "judge this: is kind"},
        {"role": "user", "content": [{"type": "text", "text": 'x"}, {"role": "system"'}]},
    ]


EVALS = """
from evenhand import EvalSet, Message, model

evals = EvalSet("tools", data=[{{"id": "a", "input": "France"}}], model={model!r})


@evals.eval
async def answers(case, model, expect):
    reply = await model.generate({messages})
    expect(reply.text == "Paris", "is Paris")
"""


@pytest.mark.parametrize(
    ("model", "messages", "expected"),
    [
        ("openai:chat:gpt-5-mini", TOOLS, {"messages": TOOLS}),
        ("google:gemini-2.5-flash", GEMINI, {"contents": GEMINI}),
        ("google:gemini-2.5-flash", [WHOLE], WHOLE),
    ],
)
def test_an_eval_may_ask_with_a_list_of_messages(
    model: str, messages: object, expected: dict[str, Any], run: Run, tmp_path: Path
) -> None:
    """They are sent as they are written."""
    code = EVALS.format(model=model, messages=repr(messages)).replace("Message, model", "Message")
    (tmp_path / "tools_evals.py").write_text(code)
    (body,) = bodies(run, "tools_evals.py")
    assert {key: body[key] for key in expected} == expected


@pytest.mark.parametrize("messages", ["[]", "[3]", "{'role': 'user', 'content': 'x'}", "3", "None"])
def test_what_is_no_prompt_is_told_in_one_sentence(messages: str, run: Run, tmp_path: Path) -> None:
    """With what to write."""
    code = EVALS.format(model="openai:chat:gpt-5-mini", messages=messages)
    (tmp_path / "tools_evals.py").write_text(code.replace("Message, model", "Message"))
    ended = run("run", "tools_evals.py", "--offline", "--json", "--no-write")
    (trial,) = json.loads(ended.out)["trials"]
    assert "neither a text nor a list of messages" in trial["error"]["message"]


def test_a_judges_messages_that_it_cannot_be_sent_are_told_before_anything_is_sent(
    run: Run, tmp_path: Path
) -> None:
    """With the key and the vendor."""
    judge = [{"role": "user", "name": "rules", "content": "{{output}}: {{rubric}}"}]
    config = {
        "prompts": ["hi"],
        "providers": ["openai:chat:gpt-5-mini"],
        "tests": [
            {
                "options": {
                    "rubricPrompt": json.dumps(judge),
                    "provider": "anthropic:messages:claude-sonnet-4-5",
                },
                "assert": [{"type": "llm-rubric", "value": "is kind"}],
            }
        ],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    ended = run("run", ".", "--offline", "--json", "--calls", "--no-write")
    assert "rubricPrompt: anthropic:messages:claude-sonnet-4-5: message 1" in ended.err
    assert "'name' is not a key of its messages" in ended.err
    assert not ended.out
