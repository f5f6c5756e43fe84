"""What a sample did on its way, as steps: from the events of its transcript, or from its messages where there are none.

Model calls, tool calls and agents are steps. The spans of solvers and of tools only say what is part of what. What
scorers asked is no step of the subject's and is counted as left out, like events of any other kind.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from evenhand.core.encoding import encode
from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_object
from evenhand.core.message import ToolCall
from evenhand.core.step import Step
from evenhand.core.timeline import StepNote, steps_from
from evenhand.doors.importers.foreign_files import moment_of
from evenhand.languages.documents.foreign import Part

ATTACHMENT = "attachment://"
_SCORERS = ("scorer", "scorers")
_SILENT = frozenset({"span_begin", "span_end", "sample_init", "step", "score", "error"})
"""Events that say what other parts of a sample say as well."""


def resolved(value: object, texts: Mapping[str, object]) -> object:
    """The value, with the attachments in place that it names."""
    if isinstance(value, str):
        known = value.startswith(ATTACHMENT)
        return texts.get(value.removeprefix(ATTACHMENT), value) if known else value
    if is_array(value):
        return [resolved(one, texts) for one in value]
    if is_object(value):
        return {key: resolved(one, texts) for key, one in value.items()}
    return value


def steps_in(sample: Part) -> tuple[Step, ...]:
    """The steps of a sample, in the order in which they began; none for one that asked nobody."""
    texts = as_mapping(sample.value.get("attachments"))
    events = [
        Part(cast("dict[str, object]", resolved(dict(one.value), texts)), one.where, one.notes)
        for one in sample.parts("events")
    ]
    pool = as_mapping(sample.value.get("events_data")).get("messages")
    transcript = _Transcript(pool=as_array(resolved(pool, texts)))
    for one in events:
        transcript.read(one)
    transcript.tell(sample)
    notes = transcript.notes or _of_messages(
        as_array(resolved(sample.value.get("messages"), texts))
    )
    return tuple(steps_from(notes))


@dataclass(slots=True, kw_only=True)
class _Transcript:
    """Events, read one after the other.

    Attributes:
        pool: The messages that events name by their places.
        notes: The steps so far.
        spans: By a span's id, the place of the note that what is inside it is part of; None for the top.
        scoring: The spans of scorers.
        waiting: Spans of tools whose event has not come yet, by the span around them and the tool's name.
        begun: The places of notes whose span has not ended, by its id.
        other: How many events are no steps, by kind.
    """

    pool: Sequence[object]
    notes: list[StepNote] = field(default_factory=list[StepNote])
    spans: dict[str, int | None] = field(default_factory=dict[str, "int | None"])
    agents: dict[str, str] = field(default_factory=dict[str, str])
    scoring: set[str] = field(default_factory=set[str])
    waiting: dict[tuple[str, str], deque[str]] = field(
        default_factory=dict["tuple[str, str]", "deque[str]"]
    )
    begun: dict[str, tuple[int, float]] = field(default_factory=dict[str, "tuple[int, float]"])
    other: Counter[str] = field(default_factory=Counter[str])

    def read(self, event: Part) -> None:
        """Takes an event."""
        kind, span = event.text("event"), event.text("span_id")
        if kind == "span_begin":
            self._begin(event)
        elif kind == "span_end":
            self._end(event)
        elif span in self.scoring:
            if kind not in _SILENT:
                self.other[f"{kind} (of scorers)"] += 1
        elif kind == "model":
            self._model(event, span)
        elif kind == "tool":
            self._tool(event, span)
        elif kind == "subtask":
            self._nested(event, span)
        elif kind not in _SILENT:
            self.other[kind or "unknown"] += 1

    def tell(self, sample: Part) -> None:
        """Notes the events that are no steps."""
        for kind, many in sorted(self.other.items()):
            for _ in range(many):
                sample.notes.left_out(
                    f"{sample.where}.events", f"events that are not steps: {kind}"
                )

    def _begin(self, event: Part) -> None:
        id_, above = event.text("id"), event.text("parent_id")
        type_, name = event.text("type"), event.text("name")
        self.spans[id_] = self.spans.get(above)
        self.agents[id_] = self.agents.get(above, "")
        # A span inside a scorer's span belongs to the scorer, whatever its own type is.
        if type_ in _SCORERS or above in self.scoring:
            self.scoring.add(id_)
        elif type_ == "agent":
            started = moment_of(event.text("timestamp"))
            self.spans[id_] = len(self.notes)
            if started is not None:
                self.begun[id_] = len(self.notes), started
            parent, agent = self.spans.get(above), self.agents.get(above, "")
            self.notes.append(
                StepNote(Step("agent", name, parent=parent, agent=agent, started_s=started))
            )
            self.agents[id_] = name
        elif type_ == "tool":
            self.waiting.setdefault((above, name), deque()).append(id_)

    def _end(self, event: Part) -> None:
        place = self.begun.pop(event.text("id"), None)
        ended = moment_of(event.text("timestamp"))
        # A clock that is set back during the run would give a negative duration.
        if place is not None and ended is not None and ended >= place[1]:
            note = self.notes[place[0]]
            note.step = replace(note.step, duration_s=ended - place[1])

    def _model(self, event: Part, span: str) -> None:
        output = event.part("output") or Part({}, f"{event.where}.output", event.notes)
        message = next((one.part("message") for one in output.parts("choices")), None)
        usage = output.part("usage")
        error = event.text("error")
        keys = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
        counts = [n for key in keys if usage and (n := usage.whole(key)) is not None]
        step = Step(
            "model",
            output.text("model") or event.text("model") or "unknown",
            result=_content(message.value.get("content")) if message else None,
            status="error" if error else "ok",
            error=error,
            tokens_in=sum(counts) if counts else None,
            tokens_out=usage.whole("output_tokens") if usage else None,
            cost_usd=usage.number("total_cost") if usage else None,
            **self._timed(event, span),  # type: ignore[arg-type]
        )
        calls = tuple(_calls(message.value)) if message else ()
        self.notes.append(StepNote(step, calls, _request(self._input(event))))

    def _input(self, event: Part) -> list[object]:
        """What the model was asked: the messages themselves, or places in the pool."""
        messages: list[object] = []
        for one in as_array(event.value.get("input_refs")):
            bounds = as_array(one)
            ends = [bound for bound in bounds if isinstance(bound, int)]
            if len(ends) == len(bounds) == 2:
                first, last = ends
                # A negative bound would count from the end of the pool.
                messages += self.pool[max(0, first) : max(0, last)]
        return messages or [*as_array(event.value.get("input"))]

    def _tool(self, event: Part, span: str) -> None:
        name = event.text("function") or "tool"
        error = event.part("error")
        failed = error is not None or event.value.get("failed") is True
        if waiting := self.waiting.get((span, name)):
            # Several calls of one tool are matched to their spans in the order in which the spans began.
            self.spans[waiting.popleft()] = len(self.notes)
        step = Step(
            "tool",
            name,
            event.value.get("arguments"),
            result=_content(event.value.get("result")),
            status="error" if failed else "ok",
            error=error.text("message") if error else "",
            call=event.text("id"),
            **self._timed(event, span),  # type: ignore[arg-type]
        )
        self.notes.append(StepNote(step))
        self._inside(event, len(self.notes) - 1)

    def _nested(self, event: Part, span: str) -> None:
        """A subtask of older logs, with events of its own."""
        step = Step(
            "agent",
            event.text("name") or "subtask",
            event.value.get("input"),
            result=event.value.get("result"),
            **self._timed(event, span),  # type: ignore[arg-type]
        )
        self.notes.append(StepNote(step))
        self._inside(event, len(self.notes) - 1)

    def _inside(self, event: Part, place: int) -> None:
        """The events that older logs have inside those of tools and subtasks."""
        inner = event.parts("events")
        if not inner:
            return
        around = f"{event.where} (inside)"
        self.spans[around] = place
        for one in inner:
            fields = {**one.value, "span_id": one.value.get("span_id") or around}
            self.read(Part(fields, one.where, one.notes))

    def _timed(self, event: Part, span: str) -> dict[str, object]:
        started, ended = (moment_of(event.text(key)) for key in ("timestamp", "completed"))
        known = started is not None and ended is not None and ended >= started
        return {
            "parent": self.spans.get(span),
            "agent": self.agents.get(span, ""),
            "started_s": started,
            "duration_s": cast("float", ended) - cast("float", started) if known else None,
        }


def _of_messages(messages: Sequence[object]) -> list[StepNote]:
    """The answers among the messages of a log without events, each with what was said before it."""
    notes: list[StepNote] = []
    for place, one in enumerate(messages):
        message = as_mapping(one)
        if message.get("role") == "assistant" and message.get("source") != "input":
            model = message.get("model")
            name = model if isinstance(model, str) and model else "unknown"
            step = Step("model", name, result=_content(message.get("content")), status="ok")
            notes.append(StepNote(step, tuple(_calls(message)), _request(list(messages[:place]))))
    return notes


def _calls(message: Mapping[str, object]) -> list[ToolCall]:
    calls: list[ToolCall] = []
    for one in as_array(message.get("tool_calls")):
        call = as_mapping(one)
        name, id_, arguments = (call.get(key) for key in ("function", "id", "arguments"))
        if isinstance(name, str):
            known = as_mapping(arguments) if isinstance(arguments, dict) else None
            calls.append(ToolCall(name, known, id_ if isinstance(id_, str) else ""))
    return calls


def _content(content: object) -> object:
    """The text of a message or a result, where its blocks are text alone."""
    blocks = [as_mapping(one) for one in as_array(content)]
    if blocks and all(isinstance(one.get("text"), str) for one in blocks):
        return "\n".join(str(one["text"]) for one in blocks)
    return content or None if isinstance(content, str) else content


def _request(messages: list[object]) -> bytes:
    return encode({"messages": messages}) if messages else b""
