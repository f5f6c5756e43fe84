"""A trial's steps, put together from what was noted of them: model calls, recorded tools, reported steps.

How this works: each of these is noted when it begins. The answer of a model may ask for tools. Where one of those was
recorded or reported as well, it is that step; else it becomes a step of its own, behind the model's. What a tool
returned stands, at the latest, in what the next model is asked, by the id of its call. What a model was asked is told
without the messages that the same conversation had before, so the steps of a long one stay in proportion to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from evenhand.core.encoding import decoded
from evenhand.core.json_shapes import as_array, as_mapping, is_object
from evenhand.core.message import Reply, ToolCall
from evenhand.core.record import MutableRecord, Record
from evenhand.core.step import Step, StepKind, StepStatus

ANSWERS = frozenset({"final_answer", "final_result", "finish"})
"""Tools with which frameworks have a model end, rather than with words: smolagents, Pydantic AI, DSPy."""

_STATUSES: Mapping[str, StepStatus] = {"success": "ok", "error": "error"}
_LISTS = ("messages", "input", "contents")
_MODELS = ("assistant", "model")
_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")


class StepNote(MutableRecord):
    """A step as it was noted.

    Attributes:
        step: As far as it is known by itself; its parent is the place of another note, before this one.
        tool_calls: The tools that the model asked for.
        request: What the model was asked, as canonical JSON; empty once `step.arguments` says it, and for other steps.
        answer: The tool that the model had to call, which is a form for its answer; empty for none.
        returned: What the request told of earlier calls of tools, by their ids.
        inner: The steps of an agent that reports its own; their parents are places among themselves.
    """

    step: Step
    tool_calls: tuple[ToolCall, ...] = ()
    request: bytes = b""
    answer: str = ""
    returned: Mapping[str, tuple[Any, StepStatus]] = msgspec.field(
        default_factory=dict[str, tuple[Any, StepStatus]]
    )
    inner: tuple[Step, ...] = ()


class Conversations:
    """What is new in each request of a trial's models, asked in the order of their notes."""

    def __init__(self) -> None:
        self._messages: dict[int | None, list[Any]] = {}
        self._system: dict[int | None, object] = {}

    def read(self, note: StepNote) -> None:
        """Makes the note's request its arguments, and reads from it what tools returned."""
        if not note.request:
            return
        parent = note.step.parent
        body = _body(note.request)
        note.request = b""
        note.answer = _forced(body)
        name = next((key for key in _LISTS if isinstance(body.get(key), list)), "")
        if not name:
            note.step = replace(note.step, arguments=_plain(body))
            return
        messages = cast("list[Any]", body[name])
        before = self._messages.get(parent, [])
        known = len(before) if _goes_on(before, messages) else 0
        self._messages[parent] = messages
        while 0 < known < len(messages) and _role(messages[known]) in _MODELS:
            known += 1  # the answer to the request before, which is the result of that step
        new = messages[known:]
        arguments: dict[str, Any] = {"earlier": known} if known else {}
        system = next((body[key] for key in _SYSTEM if body.get(key)), None)
        if system is not None and (not known or system != self._system.get(parent)):
            arguments["system"] = system
        self._system[parent] = system
        note.step = replace(note.step, arguments={**arguments, "messages": new})
        note.returned = dict(_returned(new))


def kind_asked(request: bytes) -> StepKind:
    """What a journaled request asked: a model; or an agent, where it called a function or a program."""
    return "agent" if request.startswith((b'{"cell"', b'{"code"')) else "model"


def who_answered(kind: StepKind, reply: Reply) -> StepKind:
    """What was asked, by what came back: an agent, such as a web service's, where the reply has steps of its own."""
    return "agent" if reply.steps else kind


def told(reply: Reply) -> Any:
    """What a model answered in words; None where it only asked for tools, or measured."""
    output = reply.output if reply.output is not None else reply.text
    if not reply.tool_calls:
        return output
    if not isinstance(output, str):
        return None  # the calls themselves
    parts = output.split("\n\n")
    while parts and _is_json(parts[-1]):  # Anthropic's calls stand behind what it says
        parts.pop()
    return "\n\n".join(parts) or None


def steps_from(notes: Sequence[StepNote]) -> list[Step]:
    """The steps of a trial, from its notes in the order in which they began.

    Times count from the first of them. No notes: no steps.
    """
    conversations = Conversations()
    for note in notes:
        conversations.read(note)
    begun = [n.step.started_s for n in notes if n.step.started_s is not None]
    origin = min(begun, default=0.0)
    steps: list[Step] = []
    places: list[int] = []
    pending: list[_Asked] = []
    waiting: dict[str, int] = {}  # by a call's id, the step that has no result yet

    def write_out(returned: Collection[str] = ()) -> None:
        for request in pending:
            if request.answers and request.id not in returned:
                continue
            waiting[request.id] = len(steps)
            steps.append(request.step)
        pending.clear()

    for note in notes:
        step = note.step
        if step.kind in ("model", "message"):
            write_out(note.returned)
            for call, (result, status) in note.returned.items():
                place = waiting.pop(call, None)
                if place is not None:
                    steps[place] = replace(steps[place], result=result, status=status)
        parent = None if step.parent is None else places[step.parent]
        started = None if step.started_s is None else step.started_s - origin
        step = replace(step, parent=parent, started_s=started)
        if step.kind == "tool":
            request = _fitting(step, pending)
            if request is not None:
                pending.remove(request)
                step = replace(step, call=step.call or request.call.id)
                if step.call and step.result is None and step.status == "unknown":
                    waiting[step.call] = len(steps)
        places.append(len(steps))
        steps.append(step)
        steps += _within(len(steps) - 1, step.started_s, note.inner)
        names: Counter[str] = Counter()
        for call in note.tool_calls:
            names[call.name] += 1
            if call.name not in ANSWERS:
                own = call.id or _nth(call.name, names)
                pending.append(_Asked.by(step, call, own, answers=call.name == note.answer))
    write_out()
    return steps


def _within(place: int, began: float | None, inner: Sequence[Step]) -> list[Step]:
    """The steps that are part of the one at a place, which began then."""
    return [
        replace(
            step,
            parent=place if step.parent is None else place + 1 + step.parent,
            started_s=None
            if step.started_s is None or began is None
            else round(began + step.started_s, 6),
        )
        for step in inner
    ]


class _Asked(Record, frozen=True, eq=False):
    """A tool that a model asked for, of which nothing else has been noted so far.

    Attributes:
        id: The call's id, or what stands for it.
        answers: It is a form for the model's answer, unless something is returned to it.
    """

    call: ToolCall
    step: Step
    id: str
    answers: bool = False

    @classmethod
    def by(cls, model: Step, call: ToolCall, own: str, *, answers: bool) -> _Asked:
        step = Step(
            "tool",
            call.name,
            None if call.arguments is None else dict(call.arguments),
            parent=model.parent,
            agent=model.agent,
            call=call.id,
        )
        return cls(call, step, own, answers)


def _fitting(step: Step, pending: Sequence[_Asked]) -> _Asked | None:
    """Which of the calls that were asked for a step is: by its id, its arguments, or at least its name."""
    if step.call:
        return next((one for one in pending if one.call.id == step.call), None)
    name = step.name.rpartition(".")[2]
    same = [one for one in pending if one.call.name in (step.name, name)]
    arguments = as_mapping(step.arguments)
    for one in same:
        expected = one.call.arguments or {}
        if all(key in arguments and arguments[key] == value for key, value in expected.items()):
            return one
    return next(iter(same), None)


def _forced(body: Mapping[str, Any]) -> str:
    """The tool that a model is told to call, by OpenAI's or Anthropic's parameter; empty where it may choose."""
    choice = as_mapping(body.get("tool_choice"))
    name = choice.get("name") or as_mapping(choice.get("function")).get("name")
    return str(name or "")


def _goes_on(before: Sequence[Any], now: Sequence[Any]) -> bool:
    """Whether messages go on where others ended. Looks at the ends only: whole, long ones would take too long."""
    return (
        0 < len(before) <= len(now) and now[len(before) - 1] == before[-1] and now[0] == before[0]
    )


def _role(message: object) -> object:
    return message.get("role") if is_object(message) else None


def _body(request: bytes) -> Mapping[str, Any]:
    value = decoded(request, request.decode("utf-8", "replace"))
    whole = value if is_object(value) else {"request": value}
    body = whole.get("body")
    return body if is_object(body) else whole


def _plain(body: Mapping[str, Any]) -> object:
    """What a function or a program was asked: its prompt and variables; of anything else, all of it."""
    if "prompt" in body and "vars" in body:
        return {"prompt": body["prompt"], "vars": body["vars"]}
    return dict(body)


def _nth(name: str, counts: Mapping[str, int]) -> str:
    """What stands for the id of a call that has none: its tool, and which of that tool's calls it is."""
    return f"{name} #{counts[name]}"


def _returned(messages: Iterable[Any]) -> Iterator[tuple[str, tuple[Any, StepStatus]]]:
    """What tools returned, by the ids of their calls, as messages to each vendor's models tell it."""
    names: Counter[str] = Counter()
    for item in messages:
        if not is_object(item):
            continue
        message = item
        call = message.get("tool_call_id") or message.get("call_id")
        if isinstance(call, str) and message.get("role") == "tool":
            yield call, (message.get("content"), "unknown")
        elif isinstance(call, str) and str(message.get("type")).endswith("_output"):
            yield call, (message.get("output"), "unknown")
        content = message.get("content")
        for each in as_array(content):
            block = as_mapping(each)
            if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str):
                failed = block.get("is_error")
                status: StepStatus = "unknown" if failed is None else "error" if failed else "ok"
                yield block["tool_use_id"], (block.get("content"), status)
            result = as_mapping(block.get("toolResult"))  # Amazon's
            if isinstance(result.get("toolUseId"), str):
                ended = _STATUSES.get(str(result.get("status")), "unknown")
                yield result["toolUseId"], (result.get("content"), ended)
        for part in as_array(message.get("parts")):  # Google's
            block = as_mapping(part)
            result = as_mapping(block.get("functionResponse") or block.get("function_response"))
            if result:
                name = str(result.get("name"))
                names[name] += 1
                yield str(result.get("id") or _nth(name, names)), _response(result.get("response"))


def _response(value: object) -> tuple[Any, StepStatus]:
    """What a tool returned, without what Google's SDKs put around it."""
    response = as_mapping(value)
    if "error" in response:
        return response["error"], "error"
    return next(
        (response[key] for key in ("result", "output") if key in response), value
    ), "unknown"


def _is_json(text: str) -> bool:
    return text[:1] in "[{" and isinstance(decoded(text), (list, dict))
