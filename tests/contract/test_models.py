"""The promises of a model, over everything that answers prompts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.decision import DecisionQuestion, request_of
from evenhand.core.errors import BadRequest, UsageError
from evenhand.core.message import Message, Prompt
from evenhand.core.provider import Request
from evenhand.engine.cascading import settings_in
from evenhand.engine.code import CodeHost
from evenhand.providers.catalog import SCHEMES, create
from evenhand.testing import FakeProvider, Rule, Script, Scripted, check_model

OTHERS = {
    "openai:<model>@<address>": "openai:llama3@{url}/v1",
    "azure:<deployment>": "azure:my-gpt",
    "azure:responses:<deployment>": "azure:responses:my-gpt",
    "azure:completion:<deployment>": "azure:completion:my-gpt",
    "azure:embedding:<deployment>": "azure:embedding:my-vectors",
    "google:embedding:<model>": "google:embedding:text-embedding-004",
    "litellm:<vendor>/<model>": "litellm:bedrock/claude",
    "python:<file.py>:<function>": "python:model.py:answer",
    "file://<file.py>:<function>": "file://model.py",
    "file://<file.js>": "file://model.js",
    "agent:<command>": "agent:echo said",
    "exec:<command>": "exec:echo said",
    "http://…, https://…": "{url}/v1/chat/completions",
    "http, https": "http",
    "webhook:<address>": "webhook:{url}/answer",
    "echo": "echo",
    "systemone:<model>@<address>": "systemone:kev@{url}",
    "decisions:<address>": "decisions:{url}",
    "cascade:{<first, then>}": (
        'cascade:{{"first":"openai:decisions:gpt-6-luna","then":"openai:chat:gpt-4o"}}'
    ),
    "fallback:[<id>, <id>]": 'fallback:["openai:chat:gpt-4o","openai:chat:gpt-4o-mini"]',
    "vertex:<model>": "vertex:gemini-2.5-flash",
    "vertex:embedding:<model>": "vertex:embedding:text-embedding-005",
    "replicate:moderation:<owner>/<model>": "replicate:moderation:meta/llama-guard-3-8b",
}
"""Ids that do not follow from how they are written."""

IDS = {form: OTHERS.get(form) or form.replace("<model>", "gpt-4o") for form in SCHEMES}

PROMPTS = {
    "text": Prompt.of("Say hello."),
    "empty": Prompt.of(""),
    "conversation": Prompt(
        (
            Message("system", "Be brief."),
            Message("user", "Hi"),
            Message("assistant", "Hello"),
            Message("user", [{"type": "text", "text": "Again"}]),
        ),
        "Be brief. Hi Hello Again",
    ),
    "settings": Prompt.of("Say hello.", temperature=0.5, max_tokens=7),
    "any letters": Prompt.of("a\ud800b \0 \u202e \U0001f600 \x1b[31m </s> {{x}}"),
}


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    """Both vendors, whose every answer is short enough for its bound."""
    hook = Rule(path="/answer", reply={"output": "hi"})
    with FakeProvider(Script([hook], default="ok {ref}")) as server:
        yield server


def settings(id_: str, fake: FakeProvider) -> dict[str, Any]:
    """What a provider needs to find the fake."""
    kind, _, rest = id_.partition(":")
    if kind == "huggingface":
        own = "/v1" if rest.startswith("chat") else f"/pipeline/{rest.partition(':')[0]}"
        return {"apiEndpoint": fake.url + own}
    if kind in ("http", "{url}/v1/chat/completions"):
        body = {"model": "m", "messages": [{"role": "user", "content": "{{prompt}}"}]}
        return {"url": f"{fake.url}/v1/chat/completions", "method": "POST", "body": body}
    return {}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the functions are that stand for models."""
    code = "def call_api(prompt, options, context): return {'output': 'hi'}\nanswer = call_api\n"
    (tmp_path / "model.py").write_text(code)
    (tmp_path / "model.js").write_text("module.exports = async (prompt) => ({ output: 'hi' });")
    return tmp_path


def test_every_kind_of_provider_is_held_to_its_contract():
    """A way to write an id that is not known any more is not kept here."""
    assert OTHERS.keys() <= SCHEMES.keys()
    assert not any("<" in id_ for id_ in IDS.values())


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
@pytest.mark.parametrize("id_", IDS.values(), ids=IDS)
async def test_a_provider_keeps_the_promises_of_a_model(
    id_: str, prompt: Prompt, fake: FakeProvider, folder: Path
):
    """For every kind of prompt."""
    env = {**fake.env(), "HF_TOKEN": "hf", "LITELLM_API_BASE_URL": f"{fake.url}/v1"}
    provider = create(id_.format(url=fake.url), config=settings(id_, fake), env=env, base=folder)
    if "generate" not in provider.tasks:  # what measures looks at a text alone
        prompt = replace(Prompt.of(prompt.text), task=min(provider.tasks))
    if prompt.task == "decide":
        question = DecisionQuestion(kind="yes_no", words="Is it?", about={"text": prompt.text})
        prompt = replace(prompt, decisions=request_of([question])[0])
    host = CodeHost()
    with host.open():
        if id_.startswith("exec:") and "\0" in prompt.text:  # no program can be given a NUL
            with pytest.raises(BadRequest, match="cannot be run"):
                await check_model(provider, prompt, host)
        else:
            await check_model(provider, prompt, host)
    await provider.close()
    await provider.close()  # as often as one likes


@pytest.mark.parametrize("id_", IDS.values(), ids=IDS)
def test_the_settings_of_a_request_are_the_same_whatever_is_asked(
    id_: str, fake: FakeProvider, folder: Path
):
    """A calibration holds for a judge's settings: it would hold for no other run if each output changed them."""
    if id_.startswith(("cascade:", "fallback:")):  # these send no request of their own
        return
    env = {**fake.env(), "HF_TOKEN": "hf", "LITELLM_API_BASE_URL": f"{fake.url}/v1"}
    provider = create(id_.format(url=fake.url), config=settings(id_, fake), env=env, base=folder)
    if not provider.paid:  # what costs nothing isn't recorded
        return
    digests: set[str] = set()
    for text in ("one text", "another"):
        prompt = Prompt((Message("system", text), Message("user", text)), text)
        if "generate" not in provider.tasks:
            prompt = replace(Prompt.of(text), task=min(provider.tasks))
        if prompt.task == "decide":
            question = DecisionQuestion(kind="yes_no", words=f"Is it {text}?", about={"text": text})
            prompt = replace(prompt, decisions=request_of([question])[0])
        digests.add(settings_in(provider.request(prompt).identity))
    assert len(digests) == 1


TOLD = ("system", "prompt", "instructions", "systemInstruction", "temperature", "tools")
"""Keys of configs that change what a judge is told, or how it answers."""


@pytest.mark.parametrize("id_", IDS.values(), ids=IDS)
@pytest.mark.parametrize("key", TOLD)
def test_what_of_a_config_changes_a_request_is_a_setting(
    id_: str, key: str, fake: FakeProvider, folder: Path
):
    """With other words of its config it is another judge, whose verdicts are compared with none of this one's."""
    if id_.startswith(("cascade:", "fallback:")):  # these send no request of their own
        return
    env = {**fake.env(), "HF_TOKEN": "hf", "LITELLM_API_BASE_URL": f"{fake.url}/v1"}
    values = (0.25, 0.75) if key == "temperature" else ("Be brief.", "Be kind.")
    for place in ("", "passthrough"):
        requests: list[Request] = []
        for value in values:
            config = {place: {key: value}} if place else {key: value}
            own = {**settings(id_, fake), **config}
            try:
                provider = create(id_.format(url=fake.url), config=own, env=env, base=folder)
                prompt = Prompt.of("text")
                if "generate" not in provider.tasks:
                    prompt = replace(prompt, task=min(provider.tasks))
                if prompt.task == "decide":
                    question = DecisionQuestion(kind="yes_no", words="Is it?", about={"text": "x"})
                    prompt = replace(prompt, decisions=request_of([question])[0])
                requests.append(provider.request(prompt))
            except UsageError:  # it has no such setting
                return
        if len({request.key for request in requests}) > 1:
            digests = {settings_in(one.identity, with_code=True) for one in requests}
            assert len(digests) == 2, place


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
async def test_the_scripted_model_keeps_them_too(prompt: Prompt):
    """It stands for all the others in tests."""
    await check_model(Scripted(), prompt, CodeHost())


@pytest.mark.parametrize("name", ["openai:chat:gpt-4o", "anthropic:messages:claude-sonnet-4-5"])
def test_a_request_is_the_same_whoever_pays_and_whatever_it_is_called(name: str):
    """Key, label and time limit change no answer, so they are in no identity: cached answers outlive them."""
    mine = {"OPENAI_API_KEY": "sk-mine", "ANTHROPIC_API_KEY": "sk-mine"}
    yours = {"OPENAI_API_KEY": "sk-yours", "ANTHROPIC_API_KEY": "sk-yours"}
    prompt = PROMPTS["text"]
    one = create(name, env=mine, base=Path()).request(prompt)
    two = create(name, env=yours, base=Path(), label="b", config={"timeoutMs": 9}).request(prompt)
    assert one.identity == two.identity
    assert b"sk-" not in one.identity
    assert (
        create(name, env=mine, base=Path()).account != create(name, env=yours, base=Path()).account
    )


class Forgetful(Scripted):
    """Names each request after how often it was asked for one."""

    def request(self, prompt: Prompt) -> Request:
        self.in_flight += 1
        return replace(super().request(prompt), identity=b'{"n":%d}' % self.in_flight)


class Blind(Scripted):
    """Does not look at the prompt."""

    def request(self, prompt: Prompt) -> Request:
        return super().request(Prompt.of("always"))


@pytest.mark.parametrize(
    ("provider", "promise"),
    [
        (Forgetful(), "the same prompt makes the same request"),
        (Blind(), "another prompt has another key"),
        (Scripted(account=""), "belongs to an account"),
        (Scripted(cost_usd=-1.0), "the cost is not negative"),
        (Scripted(cost_usd=2.0, bound_usd=1.0), "the cost is within its bound"),
        (Scripted(bound_usd=-1.0), "a bound on the cost is not negative"),
        (Scripted(label=""), "an id and a label"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
async def test_a_broken_promise_is_named(provider: Any, promise: str):
    """So that its author knows what to mend."""
    with pytest.raises(AssertionError, match=f"broken promise: .*{promise}"):
        await check_model(provider, Prompt.of("x"), CodeHost())
