"""Made answers in place of a model's: what a subject asks is answered with them, and judges are left out or asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import NotRecorded
from evenhand.core.message import CallRole, Prompt, Reply, ToolCall, Usage
from evenhand.core.provider import Provider, says
from evenhand.core.record import Record
from evenhand.core.run import ToolRecord
from evenhand.engine.backing import RunJournal
from evenhand.engine.calls import CallDesk
from evenhand.engine.replay.application_calls import Tools
from evenhand.engine.trial import LiveTrial
from evenhand.providers.app_call import AppCall

_HELLO = "Hello, can you help me?"
_BYE = "Thank you. ###STOP###"
_PUZZLED = (
    "I don't know that.",
    "Sorry, I have no idea.",
    "You would have to find out yourself.",
    "That I can't tell you.",
)
_MOST_CALLS = 40
"""An agent that asks more often than this goes on whatever it is answered."""


class Answer(Record, frozen=True):
    """What a subject answers.

    Attributes:
        calls: The calls of tools that it asks for first.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()


class Unwritten:
    """A journal of tools' calls that keeps none: an `evenhand.engine.backing.RunJournal`, as far as tools go."""

    def note_tool(self, record: ToolRecord) -> None:
        """Forgets a call."""


class Given:
    """Answers a trial's calls: the subject's with a made answer. Implements `evenhand.engine.trial.Asker`.

    Attributes:
        times: How often the subject was asked.
        offered: The tools that it was offered, by name, each with its parameters as a JSON Schema.
        talked: How often a simulated user was.
        tools: Records the calls of the application's tools.
    """

    def __init__(self, answer: Answer, judges: CallDesk | None = None) -> None:
        self.answer = answer
        self.times = 0
        self.offered: dict[str, Mapping[str, Any]] = {}
        self.talked = 0
        unwritten = Tools(cast("RunJournal", Unwritten()), {})
        self.tools = unwritten if judges is None else judges.tools
        self._judges = judges

    async def ask(
        self, trial: LiveTrial, provider: Provider, prompt: Prompt, role: CallRole
    ) -> Reply:
        """The made answer; that of a judge from whoever asks judges.

        Raises:
            NotRecorded: Judges are not asked, or something else than an answer is wanted.
        """
        if role == "simulator":
            self.talked += 1
            # Whoever is asked something may not leave.
            puzzled = _PUZZLED[self.talked % len(_PUZZLED)]
            leaves = puzzled if "?" in self.answer.text else _BYE
            return reply_of(_HELLO if self.talked == 1 else leaves)
        if role != "subject" or prompt.task != "generate":
            if role == "judge" and self._judges is not None:
                return await self._judges.ask(trial, provider, prompt, role)
            raise NotRecorded(f"not asked: {provider.id}")
        self.times += 1
        if self.times > _MOST_CALLS:
            raise NotRecorded(f"not asked: it asked {_MOST_CALLS} times, whatever was answered")
        request = provider.request(prompt)
        with trial.step_log.calling(provider, request, trial.nth(request.key)) as step:
            return step.answered(await self._answer(provider, prompt))

    async def _answer(self, provider: Provider, prompt: Prompt) -> Reply:
        """The made answer of the subject."""
        if isinstance(provider, AppCall):
            return self._of_application(provider)
        calls = self._calls(prompt.config.get("tools"))
        text = self.answer.text
        if calls:
            return replace(reply_of(""), tool_calls=calls, finish_reason="tool_calls")
        reply = reply_of(text)
        if says(provider, "parses"):
            try:
                return replace(reply, output=decode(text.encode()))
            except ValueError:
                return reply
        return reply

    def _calls(self, tools: object) -> tuple[ToolCall, ...]:
        """The calls that it asks for, the first time."""
        self.offered.update(_tools(tools))
        return self.answer.calls if self.times == 1 else ()

    def _of_application(self, call: AppCall) -> Reply:
        """The answer in the form in which the vendor gives it to an application's own client."""
        from evenhand.testing import shapes  # noqa: PLC0415 (few applications have a client of their own)
        from evenhand.testing.dialects import answered  # noqa: PLC0415 (the same)
        from evenhand.testing.script import Rule  # noqa: PLC0415 (the same)

        path = call.url.partition("?")[0]
        kind = shapes.kind_of(path)
        if not kind or kind in shapes.MEASURED or call.streams:
            what = "a stream" if call.streams else "an answer of this kind"
            raise NotRecorded(f"not asked: {call.id}, as {what} can't be made")
        calls = [
            {"name": one.name, "arguments": dict(one.arguments or {})}
            for one in self._calls(call.body.get("tools"))
        ]
        reason = "tool_calls" if calls else "stop"
        rule = Rule(reply="" if calls else self.answer.text, finish_reason=reason, tool_calls=calls)
        body = answered(kind, call.body, shapes.asked(call.body, path), rule, self.times)
        return call.reply(encode(body))


def reply_of(text: str) -> Reply:
    """What a model is said to have answered, at once and for nothing."""
    size = max(1, len(text) // 4)
    return Reply(
        text, text, Usage(1, size), cost_usd=0.0, latency_s=0.0, finish_reason="stop", attempts=0
    )


def _tools(tools: object) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The tools that a request offers, in the form of any vendor: names and schemas of their parameters."""
    offered: list[tuple[str, Mapping[str, Any]]] = []
    for tool in cast("Sequence[Any]", tools if isinstance(tools, list | tuple) else ()):
        if not isinstance(tool, Mapping):
            continue
        one = cast("Mapping[str, Any]", tool)
        declared = one.get("functionDeclarations") or one.get("function_declarations")
        each = declared if isinstance(declared, list) else [one.get("function") or one]
        for entry in cast("list[Any]", each):
            if isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
                schema = entry.get("parameters") or entry.get("input_schema") or {}
                offered.append((entry["name"], schema if isinstance(schema, Mapping) else {}))
    return offered


_SAMPLES: Mapping[str, object] = {
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "null": None,
}


def sample(schema: Mapping[str, Any]) -> object:
    """A value that a simple JSON Schema allows: a default, the first of a choice, or one of its type.

    >>> sample({"type": "object", "properties": {"id": {"type": "integer"}, "why": {"enum": ["late"]}}})
    {'id': 1, 'why': 'late'}
    """
    if "default" in schema:
        return schema["default"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    properties = schema.get("properties")
    if isinstance(properties, Mapping) or schema.get("type") == "object":
        named = cast("Mapping[str, Any]", properties if isinstance(properties, Mapping) else {})
        return {
            name: sample(one if isinstance(one, Mapping) else {}) for name, one in named.items()
        }
    kind = schema.get("type")
    return _SAMPLES.get(kind, "x") if isinstance(kind, str) else "x" if schema else {}
