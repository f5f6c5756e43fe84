"""What an agent behind a web service did, read from its answer: of the Vercel AI SDK and of Mastra, whole or streamed.

    {"text": …, "steps": […]}                        what `generateText` and Mastra's `/generate` return, as JSON
    data: {"type": "tool-input-available", …}        the AI SDK's stream of UI messages
    data: {"type": "tool-call", "payload": {…}}      Mastra's `/stream`

All of them list the same parts in the same words, one after another: a tool's call, its result, pieces of text. So one
reader takes the parts of them all. An answer that isn't one of these is nobody's: see `served_answer`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from evenhand.core.encoding import decoded, encode
from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_mapping, number
from evenhand.core.message import Reply, Usage
from evenhand.core.step import Step
from evenhand.providers.answer_text import NoAnswer
from evenhand.providers.prices import cost, price_of
from evenhand.providers.streams import events_of

_BEGINS = frozenset({"start-step", "step-start"})
_CALLS = frozenset({"tool-call", "tool-input-available", "tool-input-error"})
_RESULTS = frozenset({"tool-result", "tool-output-available"})
_FAILURES = frozenset({"tool-error", "tool-output-error", "tool-input-error"})
_ENDS = frozenset({"finish-step", "step-finish"})
_WRAPPINGS = ("text", "json", "content", "error-text", "error-json")
_TOKENS = (
    ("inputTokens", "promptTokens"),
    ("outputTokens", "completionTokens"),
    ("cachedInputTokens",),
)
_STREAMS = (b"data:", b"event:", b"id:", b"retry:", b":", b"\xef\xbb\xbf")
Part = Mapping[str, Any]


def served_answer(body: bytes) -> Reply | None:
    """The reply of an agent behind a web service, with its steps; None for every other answer.

    >>> parts = [{"type": "text", "text": "Hi!"}]
    >>> reply = served_answer(encode({"steps": [{"content": parts, "finishReason": "stop"}]}))
    >>> reply.text, [step.kind for step in reply.steps]
    ('Hi!', ['model'])

    Raises:
        NoAnswer: The stream ends in an error, or before the agent had finished.
    """
    start = body.lstrip()
    if start.startswith(b"{"):
        return _whole(as_mapping(decoded(body))) if b'"steps"' in body else None
    if not start.startswith(_STREAMS) or b'"type"' not in body:
        return None
    events = [event for event in events_of(body) if not _kind(event).startswith("data-")]
    if not events or _kind(events[0]) != "start":
        return None
    parts = [*map(_flat, events)]
    if events[0].get("from") != "AGENT" and not any(map(_is_known, parts)):
        return None
    return _streamed(parts, body.rstrip().endswith(b"[DONE]"))


def _kind(part: Part) -> str:
    return str(part.get("type"))


def _is_known(part: Part) -> bool:
    """Whether a part of a stream is of these frameworks, and not just of one that starts and finishes, too."""
    kind = _kind(part)
    return (
        kind in _BEGINS | _CALLS | _RESULTS | _FAILURES
        or (kind == "text-delta" and isinstance(_first(part, "delta", "text"), str))
        or (kind == "error" and isinstance(part.get("errorText"), str))
    )


def _whole(answer: Part) -> Reply | None:
    rows = [as_mapping(row) for row in as_array(answer.get("steps"))]
    if not rows or not all(map(_is_step, rows)):
        return None
    steps = _Steps()
    for row in rows:
        response = as_mapping(row.get("response"))
        steps.begin()
        for part in _parts_of(row):
            steps.add(part)
        if not steps.text:
            steps.add({"type": "text", "text": row.get("text")})
        steps.end(row, {**as_mapping(response.get("modelMetadata")), **response, **_model(row)})
    if not steps.tell:
        return None
    text = answer.get("text")
    usage = _usage(answer.get("totalUsage") or answer.get("usage"))
    return steps.reply(
        text if isinstance(text, str) else steps.text, usage, rows[-1].get("finishReason")
    )


def _is_step(row: Part) -> bool:
    """Whether a row is a step of these frameworks: a recipe has steps, too, and says nothing of how they finished."""
    listed = row.get("content", row.get("toolCalls"))
    return (
        isinstance(row.get("finishReason"), str)
        and is_array(listed)
        and all(map(is_mapping, listed))
    )


def _parts_of(row: Part) -> Iterator[Part]:
    """The parts of a step: its own, and from its messages why tools failed, which JSON has no form for elsewhere."""
    messages = as_array(as_mapping(row.get("response")).get("messages"))
    from_tools = (m for m in map(as_mapping, messages) if m.get("role") == "tool")
    for listed in (
        row.get("content"),
        row.get("toolCalls"),
        row.get("toolResults"),
        *(message.get("content") for message in from_tools),
    ):
        yield from map(_flat, as_array(listed))


def _streamed(parts: Sequence[Part], done: bool) -> Reply | None:
    """The reply of a stream's parts; `done` is whether it says that no more come, as it also does without `finish`."""
    steps = _Steps()
    usage, ended, last, problem, final = Usage(), "", "", "", False
    for part in parts:
        kind = _kind(part)
        if kind in _BEGINS:
            steps.begin()
        elif kind in _ENDS:
            output, model = as_mapping(part.get("output")), as_mapping(part.get("metadata"))
            steps.end(output, {**as_mapping(model.get("modelMetadata")), **model})
        elif kind == "finish":
            metadata = as_mapping(part.get("messageMetadata"))
            usage = _usage(metadata.get("totalUsage") or metadata.get("usage"))
            if usage == Usage():
                usage = _usage(as_mapping(part.get("output")).get("usage"))
            reason = part.get("finishReason") or as_mapping(part.get("stepResult")).get("reason")
            ended = str(reason or "stop")
        elif kind in ("error", "abort"):
            problem = _words(part.get("errorText") or part.get("error") or part.get("reason"))
            problem, final = problem or kind, True
        else:
            steps.add(part)
        if kind in _ENDS or _is_known(part):
            last = kind
            final = final and kind in _ENDS | {"error"}
    if problem and (final or ended == "error"):
        raise NoAnswer(f"the agent's stream ended with an error: {problem:.300}", billed=None)
    if not ended and not (done and last in _ENDS):
        raise NoAnswer("the agent's stream ended before the agent had finished", billed=None)
    return steps.reply(steps.text, usage, ended or "stop") if steps.tell else None


class _Steps:
    """The steps of an agent, put together from the parts of its answer."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._places: dict[str, int] = {}
        self._model: int | None = None
        self._pieces: list[str] = []

    def begin(self) -> None:
        """A model is asked."""
        self._model = len(self._steps)
        self._steps.append(Step("model", "model", status="ok"))
        self._pieces = []

    @property
    def text(self) -> str:
        """What the model said last."""
        return "".join(self._pieces)

    @property
    def tell(self) -> bool:
        """Whether they say anything: a text, or the call of a tool."""
        return bool(self.text) or any(step.kind == "tool" or step.result for step in self._steps)

    def add(self, part: Part) -> None:
        """Reads a part; one of another kind is left out."""
        kind, call = _kind(part), str(part.get("toolCallId") or "")
        if kind in ("text", "text-delta"):
            self._pieces.append(str(part.get("delta") or part.get("text") or ""))
            return
        if not call or kind not in _CALLS | _RESULTS | _FAILURES or part.get("preliminary") is True:
            return
        if call not in self._places:
            self._places[call] = len(self._steps)
            name = str(part.get("toolName") or "tool")
            self._steps.append(Step("tool", name, _plain(_first(part, "input", "args")), call=call))
        place = self._places[call]
        step = self._steps[place]
        if kind in _FAILURES:
            error = _words(_first(part, "errorText", "error"))
            self._steps[place] = replace(step, status="error", error=error or step.error)
        elif kind in _RESULTS:
            result, failed = _result(_first(part, "output", "result"))
            failed = failed or part.get("isError") is True
            if failed:
                error = step.error or _words(result)
                self._steps[place] = replace(step, status="error", error=error, result=None)
            elif step.status == "unknown":
                self._steps[place] = replace(step, status="ok", result=result)

    def end(self, output: Part, model: Part) -> None:
        """The model has answered, with these tokens."""
        if self._model is None:
            return
        usage = _usage(output.get("usage"))
        name = str(model.get("modelId") or "")
        vendor = str(model.get("provider") or model.get("modelProvider") or "").partition(".")[0]
        price = price_of(vendor, name, {}) if name else None
        self._steps[self._model] = replace(
            self._steps[self._model],
            name=name or "model",
            result=self.text or None,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            cost_usd=cost(price, usage),
        )

    def reply(self, text: str, usage: Usage, reason: object) -> Reply:
        """The whole answer. Tokens and cost that it doesn't state are those of its models together."""
        models = [step for step in self._steps if step.kind == "model"]
        usd = _sum([step.cost_usd for step in models])
        if usage == Usage():
            read = _sum([step.tokens_in for step in models])
            wrote = _sum([step.tokens_out for step in models])
            usage = Usage(number(read), number(wrote))
        return Reply(
            text,
            text,
            usage=usage,
            cost_usd=usd,
            finish_reason=str(reason or ""),
            steps=tuple(self._steps),
        )


def _sum(amounts: Sequence[float | None]) -> float | None:
    """The sum of amounts; None where one of them isn't known."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known and len(known) == len(amounts) else None


def _flat(part: object) -> Part:
    """A part with what Mastra puts one level down."""
    part = as_mapping(part)
    inner = part.get("payload")
    return {**inner, "type": part.get("type")} if is_mapping(inner) else part


def _model(row: Part) -> Part:
    model = row.get("model")
    return model if is_mapping(model) else {}


def _first(part: Part, *names: str) -> object:
    return next((part[name] for name in names if part.get(name) is not None), None)


def _usage(usage: object) -> Usage:
    counts = as_mapping(usage)
    details = as_mapping(counts.get("inputTokenDetails"))
    counts = {"cachedInputTokens": details.get("cacheReadTokens"), **counts}
    return Usage(*(number(_first(counts, *names)) for names in _TOKENS))


def _result(value: object) -> tuple[object, bool]:
    """What a tool returned, without its wrapping in a message; and whether that says that it failed."""
    wrapped = as_mapping(value)
    kind = wrapped.get("type")
    if kind in _WRAPPINGS and "value" in wrapped:
        return wrapped["value"], str(kind).startswith("error")
    return value, False


def _plain(arguments: object) -> object:
    """Arguments, where they came as JSON in a text."""
    return decoded(arguments, arguments) if isinstance(arguments, str) else arguments


def _words(error: object) -> str:
    """What an error says; empty for an `Error` that JavaScript wrote as `{}`."""
    if isinstance(error, str):
        return error
    fields = as_mapping(error)
    message = fields.get("message") or as_mapping(fields.get("cause")).get("message")
    if isinstance(message, str):
        return message
    return encode(error).decode() if error else ""
