"""Puts the spans of one trace together: steps in the order of their times, parents before what is part of them.

How this works: a span that is no step (an HTTP request, a chain) is taken out, and its children become children of the
step around it. If two instrumentations recorded the same model call, one inside the other or side by side, it counts
once. Tool calls without a span of their own are taken from the answers that asked for them, and their results from the
messages that follow. A model's arguments leave out the messages that the same conversation already had.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from evenhand.core.encoding import encode
from evenhand.core.record import MutableRecord
from evenhand.core.step import Step
from evenhand.core.timeline import ANSWERS
from evenhand.doors.spans.messages import Said, value_of
from evenhand.doors.spans.span import NS, SpanStep, packed

MOST_STEPS = 100_000
"""Spans of one trace that are put together."""


class Problems(MutableRecord, kw_only=True):
    """What was not as it should be in a trace: how often.

    Attributes:
        twice: Spans with an id that another one of the trace has.
        orphans: Spans whose parent is not there.
        circles: Spans that were part of themselves.
        backwards: Spans that ended before they began.
        doubled: Calls of models that two instrumentations told.
        too_many: Spans past the most that are put together.
    """

    twice: int = 0
    orphans: int = 0
    circles: int = 0
    backwards: int = 0
    doubled: int = 0
    too_many: int = 0


class Node(MutableRecord, kw_only=True):
    """A span among the others of its trace.

    Attributes:
        order: Its place among those that came.
        above: The step that it is part of; None at the top.
        start: When it began, not before what it is part of; None where nobody says.
        levels: How many steps it is within.
    """

    span: SpanStep
    order: int
    above: Node | None = None
    start: float | None = None
    levels: int = 0
    claimed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledTrace:
    """A trace, put together.

    Attributes:
        steps: In the order of their times.
        root: The span that all else is part of, or the first of those at the top; None for a trace without any.
        answers: The calls of models, in the order of their ends, with the last answer last.
        start: When it began, in nanoseconds since 1970; None where nobody says.
        seconds: How long it took; None where nobody says.
        problems: What was not as it should be.
    """

    steps: tuple[Step, ...]
    root: SpanStep | None
    answers: Sequence[SpanStep]
    start: int | None
    seconds: float | None
    problems: Problems
    spans: Sequence[SpanStep] = field(default=())


def assembled(spans: Iterable[SpanStep]) -> AssembledTrace:
    """The trace of these spans, in whatever order they came. No steps for no spans."""
    problems = Problems()
    whole = _told_once(spans, problems)
    nodes = {one.id: Node(span=one, order=i) for i, one in enumerate(whole)}
    _connect(nodes, problems)
    _tell_doubles(nodes, problems)
    ordered = _ordered(nodes.values())
    recorded = [node for node in ordered if node.span.kind is not None]
    root = _root(nodes.values())
    begun = [one.start for one in whole if one.start is not None]
    first = min((node.start for node in recorded if node.start is not None), default=None)
    steps = _steps(recorded, first)
    models = [node.span for node in recorded if node.span.kind == "model"]
    models.sort(key=lambda one: one.end or one.start or 0)
    start = min(begun, default=None)
    return AssembledTrace(
        steps=steps,
        root=root,
        answers=models,
        start=start,
        seconds=_seconds(root, whole, start, problems),
        problems=problems,
        spans=whole,
    )


def _told_once(spans: Iterable[SpanStep], problems: Problems) -> list[SpanStep]:
    """Each span once, with what was logged for it. If two different spans have the same id, the second is left out."""
    by_id: dict[str, SpanStep] = {}
    logged: list[SpanStep] = []
    contents: dict[str, bytes] = {}
    for one in spans:
        if one.logged:
            logged.append(one)
            continue
        known = by_id.get(one.id) if one.id else None
        if known is not None:
            if contents.setdefault(one.id, packed(known)) == packed(one):
                continue
            # It was told when it began, and again at its end.
            if known.end is None and one.end is not None:
                by_id[one.id] = one
                contents[one.id] = packed(one)
            else:
                problems.twice += 1
            continue
        if len(by_id) == MOST_STEPS:
            problems.too_many += 1
            continue
        # A span without an id gets one that begins with a space, which no real id does.
        by_id[one.id or f" {len(by_id)}"] = one
        one.id = one.id or f" {len(by_id) - 1}"
    for one in sorted(logged, key=lambda event: event.start or 0):
        span = by_id.get(one.id)
        if span is None:
            continue
        if one.request:
            span.request = (span.request or []) + one.request
        span.answer = span.answer or one.answer
    return list(by_id.values())


def _connect(nodes: Mapping[str, Node], problems: Problems) -> None:
    """Finds what each span is part of, and when it began."""
    parents = {id_: node.span.parent for id_, node in nodes.items()}
    for id_, parent in parents.items():
        if parent and parent not in parents:
            problems.orphans += 1
            parents[id_] = ""
    settled: dict[str, bool] = {}
    for id_ in parents:
        path: list[str] = []
        on_path: set[str] = set()
        at = id_
        while at and at not in settled:
            if at in on_path:
                problems.circles += 1
                parents[at] = ""
                break
            on_path.add(at)
            path.append(at)
            at = parents[at]
        for one in reversed(path):
            settled[one] = True
            _place(nodes, parents, one)
    for node in nodes.values():
        start, end = node.span.start, node.span.end
        if start is not None and end is not None and end < start:
            problems.backwards += 1


def _place(nodes: Mapping[str, Node], parents: Mapping[str, str], id_: str) -> None:
    """Places a span whose parent is placed already."""
    node, parent = nodes[id_], nodes.get(parents[id_])
    own = None if node.span.start is None else float(node.span.start)
    if parent is None:
        node.start = own
        return
    node.above = parent if parent.span.kind is not None else parent.above
    node.levels = parent.levels + 1
    node.start = parent.start if own is None else max(own, parent.start or own)


def _tell_doubles(nodes: Mapping[str, Node], problems: Problems) -> None:
    """Takes a model's call within the same call out; what only the inner one says is kept."""
    # From the outside in, so that a call that was told three times ends up in its outermost span.
    for node in sorted(nodes.values(), key=lambda one: one.levels):
        outer = node.above
        while outer is not None and outer.span.kind is None:
            outer = outer.above
        node.above = outer
        if node.span.kind == "model" and outer is not None and outer.span.kind == "model":
            _merge(outer.span, node.span, problems)
    _tell_twins(nodes, problems)


def _tell_twins(nodes: Mapping[str, Node], problems: Problems) -> None:
    """Takes a model's call out that another library told beside it. Each library tells a call once.

    Two calls that one library told are two, however alike: an application may ask the same twice at once.
    """
    rows = [node for node in nodes.values() if node.span.kind == "model" and node.span.scope]
    if len({node.span.scope for node in rows}) < 2:
        return
    # Of two that begin together the longer one comes first, and is the one that stays.
    rows.sort(key=lambda node: (node.span.start or 0, -(node.span.end or 0), node.order))
    beside: dict[int, list[tuple[Node, set[str]]]] = {}
    for node in rows:
        others = beside.setdefault(id(node.above), [])
        for twin, tellers in others:
            if node.span.scope not in tellers and _are_twins(twin.span, node.span):
                tellers.add(node.span.scope)
                _merge(twin.span, node.span, problems)
                break
        else:
            others.append((node, {node.span.scope}))


def _are_twins(one: SpanStep, other: SpanStep) -> bool:
    """Whether two spans tell the same call: one during the other, with the same answer."""
    times = one.start, one.end, other.start, other.end
    if None in times:
        return False
    first, last, start, end = cast("tuple[int, int, int, int]", times)
    if not (first <= start <= end <= last or start <= first <= last <= end):
        return False
    if one.response and other.response:
        return one.response == other.response
    counted = one.tokens_in, one.tokens_out, other.tokens_in, other.tokens_out
    if None not in counted and counted[:2] != counted[2:]:
        return False
    if one.answer is None or other.answer is None:
        # If an answer is missing, token counts that are known and equal have to be enough.
        return None not in counted
    return _gist(one) == _gist(other)


def _gist(span: SpanStep) -> tuple[object, ...]:
    """What an answer says, whatever ids its library gives to the calls in it."""
    answer = span.answer or {}
    calls = [
        encode([one.get("name"), one.get("arguments")]) for one in answer.get("tool_calls", ())
    ]
    return str(answer.get("content") or ""), tuple(calls)


def _merge(kept: SpanStep, other: SpanStep, problems: Problems) -> None:
    """Counts a call that was told twice once; what only the other span says is kept."""
    problems.doubled += 1
    for name in ("request", "answer", "tokens_in", "tokens_out", "cost_usd"):
        if getattr(kept, name) is None:
            setattr(kept, name, getattr(other, name))
    kept.response = kept.response or other.response
    other.kind = None


def _ordered(nodes: Iterable[Node]) -> list[Node]:
    """By time; at the same time what is around before what is within it, else as they came."""
    rows = list(nodes)
    last = 0.0
    for node in rows:  # what says no time stays behind what came before it
        last = node.start if node.start is not None else last
        node.start = last if node.start is None and last else node.start
    return sorted(rows, key=lambda one: (one.start or 0.0, one.levels, one.order))


def _root(nodes: Iterable[Node]) -> SpanStep | None:
    def rank(node: Node) -> tuple[bool, float, int]:
        return node.span.kind is None and not node.span.dialect, node.start or 0.0, node.order

    top = min((node for node in nodes if node.levels == 0), key=rank, default=None)
    return top.span if top is not None else None


def _seconds(
    root: SpanStep | None, spans: Sequence[SpanStep], start: int | None, problems: Problems
) -> float | None:
    took_s = root.took_s if root is not None else None
    # Pieces whose parents are not there are as long together as from the first to the last.
    cut_off = 0 if root is None or not root.parent else problems.orphans + problems.circles
    if took_s is not None and sum(not one.parent for one in spans) + cut_off <= 1:
        return took_s
    ends = [one.end for one in spans if one.end is not None]
    # If all of them ended before the first began, nobody knows.
    known = start is not None and max(ends, default=-1) >= start
    return (max(ends) - start) / NS if known and start is not None else None


def _steps(nodes: Sequence[Node], first: float | None) -> tuple[Step, ...]:
    steps: list[Step] = []
    places: dict[int, int] = {}
    before: dict[int | None, list[Said]] = {}
    only = len({node.span.name for node in nodes if node.span.kind == "agent"}) <= 1
    calls = _Told(nodes)
    for node in nodes:
        parent = places.get(id(node.above)) if node.above is not None else None
        agent = "" if only else _agent(node)
        began = (node.start - first) / NS if node.start and first is not None else None
        arguments = node.span.arguments
        if node.span.kind == "model":
            messages, arguments = node.span.request, None
            if messages is not None:
                arguments = asked_anew(before.get(parent, []), messages, node.span.earlier)
            before[parent] = messages or []
        places[id(node)] = len(steps)
        steps.append(_step(node, arguments, began, parent, agent, calls))
        if node.span.kind == "model":
            steps += calls.untold(node, began, parent, agent)
    return tuple(steps)


def _step(
    node: Node, arguments: Any, began: float | None, parent: int | None, agent: str, told: _Told
) -> Step:
    span = node.span
    assert span.kind is not None  # noqa: S101 (others were taken out)
    return Step(
        kind=span.kind,
        name=span.name,
        arguments=arguments,
        result=span.answer.get("content") if span.kind == "model" and span.answer else span.result,
        status=span.status,
        error=span.error,
        started_s=began,
        duration_s=span.took_s,
        parent=parent,
        agent=agent,
        tokens_in=span.tokens_in,
        tokens_out=span.tokens_out,
        cost_usd=span.cost_usd,
        call=span.call or told.ids.get(id(node), ""),
    )


def _agent(node: Node) -> str:
    if node.span.agent:
        return node.span.agent
    above = node.above
    while above is not None:
        if above.span.kind == "agent":
            return above.span.name
        above = above.above
    return ""


def asked_anew(before: Sequence[Said], request: Sequence[Said], earlier: int) -> dict[str, Any]:
    """What a model was asked, without the messages that the same conversation had before."""
    goes_on = 0 < len(before) <= len(request) and request[: len(before)] == before
    known = len(before) if goes_on else 0
    skipped: dict[str, Any] = {"earlier": earlier + known} if earlier + known else {}
    return {**skipped, "messages": list(request[known:])}


class _Told:
    """Which calls that answers ask for are told by spans, and which are not.

    Attributes:
        ids: The id of a tool's call, by the span's node, where only the answer says it.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.ids: dict[int, str] = {}
        ids = {
            one.get("id")
            for node in nodes
            if node.span.kind == "model" and node.span.answer
            for one in node.span.answer.get("tool_calls", ())
        }
        self._tools = [node for node in nodes if node.span.kind == "tool"]
        self._by_id = {node.span.call: node for node in self._tools if node.span.call}
        self._by_call: dict[bytes, list[Node]] = {}
        # Reversed, as `pop` takes the last: the first call of its kind belongs to the first span.
        for node in reversed(self._tools):
            if node.span.call not in ids:  # by none, or by an id that the answers don't know it by
                key = _key(node.span.name, node.span.arguments)
                self._by_call.setdefault(key, []).append(node)
                self._by_call.setdefault(_key(node.span.name), []).append(node)
        self._results: dict[str, Any] = {}
        for node in nodes:
            for message in node.span.request or ():
                if message.get("role") == "tool" and (own := message.get("tool_call_id")):
                    self._results.setdefault(own, message.get("content"))

    def untold(self, node: Node, began: float | None, parent: int | None, agent: str) -> list[Step]:
        """The calls of an answer that no span tells, as steps."""
        calls = node.span.answer.get("tool_calls", ()) if node.span.answer else ()
        return [step for one in calls if (step := self._untold(one, node, began, parent, agent))]

    def _untold(
        self, one: Said, node: Node, began: float | None, parent: int | None, agent: str
    ) -> Step | None:
        own, name, arguments = one.get("id") or "", one.get("name") or "", one.get("arguments")
        if name in ANSWERS:  # how its framework ends a conversation
            return None
        recorded = self._by_id.get(own)
        if recorded is not None:
            _given(recorded.span, arguments)
            return None
        # Some instrumentations write arguments their own way.
        for key in (_key(name, arguments), _key(name)):
            rows = self._by_call.get(key)
            while rows:
                tool = rows.pop()
                if not tool.claimed:
                    tool.claimed = True
                    self.ids[id(tool)] = own
                    _given(tool.span, arguments)
                    return None
        result = value_of(self._results.get(own)) if own else None
        after = node.span.took_s or 0.0
        return Step(
            "tool",
            name,
            arguments,
            result,
            started_s=None if began is None else began + after,
            parent=parent,
            agent=agent,
            call=own,
        )


def _given(tool: SpanStep, arguments: Any) -> None:
    """Where a tool's span doesn't say what it was given, the answer that asked for it does."""
    if tool.arguments is None:
        tool.arguments = arguments


def _key(name: str, *arguments: object) -> bytes:
    try:
        return encode([name, *arguments])
    except (TypeError, ValueError):
        return name.encode("utf-8", "replace")
