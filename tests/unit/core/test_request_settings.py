"""What of a request is a setting: other settings are another system, or another judge, and make a calibration stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.encoding import encode
from evenhand.core.message import Message, Prompt
from evenhand.core.request_settings import settings_in
from evenhand.providers.catalog import create

RESPONSES = ("openai:responses:gpt-5-mini", "instructions")
GEMINI = ("google:gemini-2.5-flash", "systemInstruction")
CLAUDE = ("anthropic:claude-sonnet-4-5", "system")
OLLAMA = ("ollama:chat:llama3", "system")
STORED = ("openai:responses:gpt-5-mini", "prompt")
CONFIGURED = [RESPONSES, GEMINI, CLAUDE, OLLAMA, STORED]


def settings(model: str, prompt: str | Prompt, /, **config: object) -> str:
    """The digest of a request's settings."""
    provider = create(model, config=config, env={}, base=Path())
    asked = prompt if isinstance(prompt, Prompt) else Prompt.of(prompt)
    return settings_in(provider.request(asked).identity)


@pytest.mark.parametrize(("model", "key"), CONFIGURED)
def test_a_system_prompt_in_a_models_config_is_a_setting(model: str, key: str) -> None:
    """Another one makes another system; another question doesn't."""
    brief = settings(model, "Hello", **{key: "Be brief."})
    assert brief == settings(model, "What is this?", **{key: "Be brief."})
    assert brief != settings(model, "Hello", **{key: "Be kind."})
    assert brief != settings(model, "Hello")
    passed_on = settings(model, "Hello", passthrough={key: "Be brief."})
    assert passed_on != settings(model, "Hello", passthrough={key: "Be kind."})


MODELS = [RESPONSES[0], GEMINI[0], CLAUDE[0], OLLAMA[0], "openai:chat:gpt-5-mini"]


@pytest.mark.parametrize("model", MODELS)
def test_a_system_message_of_a_prompt_is_no_setting(model: str) -> None:
    """It belongs to the prompt, and may have a case's texts in it."""
    first, second = (
        Prompt((Message("system", words), Message("user", "Hello")), "x")
        for words in ("Answer Ann.", "Answer Bo.")
    )
    assert settings(model, first) == settings(model, second) == settings(model, "Hello")


@pytest.mark.parametrize(("model", "key"), [GEMINI, CLAUDE])
def test_a_system_message_that_replaces_the_configs_is_no_setting(model: str, key: str) -> None:
    """Gemini and Anthropic have one place for both."""
    first, second = (
        Prompt((Message("system", words), Message("user", "Hello")), "x")
        for words in ("Answer Ann.", "Answer Bo.")
    )
    own = {key: "Be brief."}
    assert settings(model, first, **own) == settings(model, second, **own)


def test_an_applications_instructions_are_no_setting() -> None:
    """They may have the question in them, and nobody knows which part is written."""
    first, second = (
        encode({"body": {"input": "Hello", "instructions": words}, "headers": {}, "url": "u"})
        for words in ("Answer Ann.", "Answer Bo.")
    )
    assert settings_in(first) == settings_in(second)


@pytest.mark.parametrize("model", ["file://bot.py", "exec: python bot.py"])
def test_the_code_of_a_function_or_a_program_is_a_setting_of_a_judge(
    model: str, tmp_path: Path
) -> None:
    """Another question isn't. An application's is known by the run."""
    bot = tmp_path / "bot.py"
    bot.write_text("def call_api(prompt, options, context):\n    return {'output': 'x'}\n")

    def digests(prompt: str) -> list[str]:
        provider = create(model, config={}, env={}, base=tmp_path)
        request = provider.request(Prompt.of(prompt))
        return [settings_in(request.identity, with_code=judges) for judges in (True, False)]

    first = digests("Hello")
    assert first == digests("What is this?")
    bot.write_text(bot.read_text().replace("'x'", "'better'"))
    assert [a == b for a, b in zip(digests("Hello"), first, strict=True)] == [False, True]
