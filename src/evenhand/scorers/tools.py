"""Questions about tools: whether a model called one, with which arguments, and whether it called the right ones.

How this works: whatever the output is (a Reply, an answer of OpenAI's or Anthropic's, a trace of messages, an object
of the application's own), its calls are read into one list first. Arguments that could not be read might or might not
be those that were wanted: where the verdict hangs on them it is an error, never a miss. The negative form asks the
very same question, and turns the answer round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.score import Score, check
from evenhand.scorers.given import need_list, need_text
from evenhand.scorers.text import quoted, same, text_of

Arguments = Mapping[str, Any] | Callable[[Mapping[str, Any]], object]
"""What a call's arguments should be: some of them with their values, or a function that says yes or no.

A value may itself be a function: it is asked about that one argument.
"""

Order = Literal["any", "exact", "subset"]

_NAMES = ("name", "tool_name")
_ARGUMENTS = ("arguments", "args", "input", "tool_arguments")
_LISTS = ("tool_calls", "calls", "tool_invocations", "invocations")
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use", "function_call", "mcp_call"})
_HINT = "Give the reply itself, or a list of calls, each with a name and arguments."


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call as it was found. `arguments` is None where they could not be read; `raw` is then what stood there."""

    name: str
    arguments: Mapping[str, Any] | None
    id: str = ""
    raw: object = None

    def kept(self) -> dict[str, Any]:
        """What the results keep of it."""
        given = self.arguments
        if given is not None and not _written(given):
            given = {key: v if _written(v) else repr(v) for key, v in given.items()}
        kept: dict[str, Any] = {"name": self.name, "arguments": given}
        if self.arguments is None:
            kept["raw"] = _shown(self.raw)
        if self.id:
            kept["id"] = self.id
        return kept

    def __str__(self) -> str:
        given = "unreadable arguments" if self.arguments is None else _said(self.arguments)
        return f"{self.name}({given})"


@dataclass(frozen=True, slots=True)
class CallsTool:
    """The output calls this tool, at least once, with these arguments. `~CallsTool(…)`: it does not.

    Attributes:
        name: The tool's.
        arguments: What is wanted of the arguments: some of them (others may be there; objects in them are compared
            in the same way, lists whole), or a function of all of them. None: whatever they are.
        exact: There may be no other arguments.
        negated: The question turned round; see `~`.
    """

    name: str
    arguments: Arguments | None = None
    exact: bool = False
    negated: bool = False

    def __post_init__(self) -> None:
        need_text("CallsTool", "the tool's name", self.name)
        if not self.name.strip():
            raise UsageError("CallsTool: the tool has no name")
        if not (
            self.arguments is None
            or isinstance(self.arguments, Mapping)
            or callable(self.arguments)
        ):
            raise UsageError(
                f"CallsTool({self.name!r}): arguments are {self.arguments!r}",
                hint="Write a dict of those that matter, or a function of all of them.",
            )
        if self.exact and not isinstance(self.arguments, Mapping):
            raise UsageError(
                f"CallsTool({self.name!r}): exact= is about arguments that are listed",
                hint="Write CallsTool(name, {…}, exact=True); {} for a call without any.",
            )

    def __invert__(self) -> CallsTool:
        return replace(self, negated=not self.negated)

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        calls = invocations(output)
        called = any(self.matches(call, doubt=False) for call in calls)
        if not called and any(self.matches(call, doubt=True) for call in calls):
            raise _unreadable(self, calls)
        return check(called is not self.negated, _told(calls), calls=[c.kept() for c in calls])

    def matches(self, call: Invocation, *, doubt: bool) -> bool:
        """Whether this is such a call, whatever `negated` says.

        Args:
            doubt: What to say where its arguments would decide, and could not be read.
        """
        if call.name != self.name:
            return False
        if self.arguments is None:
            return True
        if call.arguments is None:
            return doubt
        if isinstance(self.arguments, Mapping):
            return _fits(self.arguments, call.arguments, self.exact)
        return bool(self.arguments(call.arguments))

    def __str__(self) -> str:
        verb = "does not call" if self.negated else "calls"
        return f"{verb} {self.wanted()}"

    def wanted(self) -> str:
        """The call that is asked about, in words."""
        if self.arguments is None:
            return self.name
        if not isinstance(self.arguments, Mapping):
            return f"{self.name} with {_named(self.arguments)}"
        return f"{self.name} with {'exactly ' if self.exact else ''}{_said(self.arguments)}"


@dataclass(frozen=True, slots=True)
class CallsTools:
    """The output calls these tools.

    Attributes:
        wanted: Names, or `CallsTool` where the arguments matter. The same one twice: it is called twice.
        order: `any`: these calls and no others, in any order. `exact`: these and no others, in this order.
            `subset`: these, and perhaps others, in any order.
    """

    wanted: Sequence[str | CallsTool]
    order: Order = "any"

    def __post_init__(self) -> None:
        need_list("CallsTools", self.wanted, "Write a list of names, ['one', 'another'].")
        for one in self.wanted:
            if not isinstance(one, CallsTool):
                need_text("CallsTools", "a tool's name", one)
        if self.order not in get_args(Order):
            raise UsageError(
                f"CallsTools: order is {self.order!r}", hint="There are: 'any', 'exact', 'subset'."
            )
        if any(isinstance(one, CallsTool) and one.negated for one in self.wanted):
            raise UsageError(
                "CallsTools: ~CallsTool(…) cannot be in the list", hint="Expect it by itself."
            )
        if not self.wanted and self.order == "subset":
            raise UsageError("CallsTools: of no tools every output has a subset")

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        calls = invocations(output)
        wanted = [CallsTool(one) if isinstance(one, str) else one for one in self.wanted]
        passed = self._met(wanted, calls, doubt=False)
        if not passed and self._met(wanted, calls, doubt=True):
            raise _unreadable(self, calls)
        return check(passed, _told(calls), calls=[call.kept() for call in calls])

    def _met(self, wanted: list[CallsTool], calls: Sequence[Invocation], *, doubt: bool) -> bool:
        if self.order != "subset" and len(wanted) != len(calls):
            return False
        if self.order == "exact":
            return all(w.matches(c, doubt=doubt) for w, c in zip(wanted, calls, strict=True))
        return _paired([[w.matches(c, doubt=doubt) for c in calls] for w in wanted])

    def __str__(self) -> str:
        listed = [one if isinstance(one, str) else one.wanted() for one in self.wanted]
        if not listed:
            return "calls no tools"
        if self.order == "exact":
            return f"calls exactly {', then '.join(listed)}"
        return f"calls {' and '.join(listed)}" + ("" if self.order == "subset" else ", no others")


def invocations(output: object) -> tuple[Invocation, ...]:
    """The calls that an output lists, in its order; none for a reply without any.

    Understood are Evenhand's Reply; a chat completion of OpenAI's, its message, and the items of its Responses API; a
    message of Anthropic's, and its blocks; an object or dict with `tool_calls`, `calls`, `tool_invocations` or
    `invocations`; and lists of all these.
    Vendors' objects may be the SDK's or dicts.

    Raises:
        ScoreError: It is nothing that could list calls: a text, say.
    """
    found = _list(output)
    if found is None:
        kind = type(output).__name__
        raise ScoreError(f"{kind} {quoted(str(output))} lists no tool calls", hint=_HINT)
    return tuple(found)


def _list(output: object) -> list[Invocation] | None:
    """See `invocations`; None for what could not list any."""
    if isinstance(output, (list, tuple)):
        items = cast("Sequence[object]", output)
        found: list[Invocation] = []
        for item in items:
            calls = _item(item)
            if calls is None:
                return None
            found += calls
        return found
    if output is None or isinstance(output, (str, bytes, int, float)):
        return None
    one = _call(output)
    return _inside(output) if one is None else [one]


def _item(item: object) -> list[Invocation] | None:
    """The calls of one entry of a list: a call, a block, or a whole message."""
    if _get(item, "role") is None and _text(_get(item, "type")) not in ("", "message"):
        call = _call(item)
        return [] if call is None else [call]  # a block of text, of thinking, a tool's result
    found = _list(item)
    return [] if found is None and _get(item, "role") is not None else found


def _inside(output: object) -> list[Invocation] | None:
    """The calls of a reply, or of a message."""
    choices = _get(output, "choices")
    if isinstance(choices, (list, tuple)) and choices:
        return _list(_get(cast("Sequence[object]", choices)[0], "message")) or []
    message = _get(output, "message")
    if message is not None and not isinstance(message, str):
        return _list(message)
    for key in _LISTS:
        found = list(_each(_listed(output, key)))
        if found:
            return found
    single = _get(output, "function_call")  # OpenAI's, before there were several
    if single is not None:
        call = _call(single)
        return None if call is None else [call]
    for key in ("content", "output"):
        blocks = _get(output, key)
        if isinstance(blocks, (list, tuple)):
            return _list(blocks)
    told = any(_has(output, key) for key in (*_LISTS, "content"))
    return [] if told else None


def _listed(output: object, key: str) -> Iterable[object]:
    """What an output has under a name that should list calls; nothing where it has no such name, or None there.

    Raises:
        ScoreError: It is no list: a method, a count. Taken for no calls, it would meet every `~CallsTool`.
    """
    calls = _get(output, key)
    if calls is None:
        return ()
    if isinstance(calls, Iterable) and not isinstance(calls, (str, bytes, Mapping)):
        return cast("Iterable[object]", calls)
    raise ScoreError(
        f"{key} of {type(output).__name__} is {quoted(repr(calls))}, not a list", hint=_HINT
    )


def _each(calls: Iterable[object]) -> Iterator[Invocation]:
    for call in calls:
        found = _call(call, listed=True)
        if found is None:
            raise ScoreError(f"a call is {quoted(str(call))}, without a name", hint=_HINT)
        yield found


def _call(item: object, *, listed: bool = False) -> Invocation | None:
    """The call that this is; None where it is none. What is listed as a call needs a name, and no more."""
    if isinstance(item, Invocation):
        return item
    if _get(item, "role") is not None:  # a message; a tool's answer has a name, too
        return None
    kind = _text(_get(item, "type"))
    ours = _text(_get(item, "id")) or _text(_get(item, "call_id"))
    if kind in ("", "function", "custom"):  # OpenAI's puts it one level down
        inner = _get(item, "function") or _get(item, "custom")
        if inner is not None and _has(inner, "name"):
            item = inner
    elif kind not in _CALLS and not any(_has(item, key) for key in _ARGUMENTS):
        return None
    name = next((n for n in map(_text, (_get(item, key) for key in _NAMES)) if n), "")
    key = next((key for key in _ARGUMENTS if _has(item, key)), None)
    if not name or (key is None and not (listed or kind or isinstance(item, Mapping))):
        return None
    raw = {} if key is None else _get(item, key)
    return Invocation(name, _read(raw), ours, raw)


def _read(raw: object) -> Mapping[str, Any] | None:
    """Arguments, given as an object or as its JSON; an empty text is none at all."""
    if isinstance(raw, str):
        if not raw.strip():
            return {}
        try:
            raw = decode(raw)
        except ValueError:
            return None
    return cast("Mapping[str, Any]", raw) if isinstance(raw, Mapping) else None


def _get(item: object, key: str) -> Any:
    if isinstance(item, Mapping):
        return cast("Mapping[str, object]", item).get(key)
    return getattr(item, key, None)


def _has(item: object, key: str) -> bool:
    return key in item if isinstance(item, Mapping) else hasattr(item, key)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _fits(wanted: Mapping[str, Any], given: Mapping[str, Any], exact: bool) -> bool:
    if exact and wanted.keys() != given.keys():
        return False
    return all(key in given and _agrees(wanted[key], given[key], exact) for key in wanted)


def _agrees(wanted: object, given: object, exact: bool) -> bool:
    if callable(wanted):
        return bool(wanted(given))
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        return _fits(cast("Mapping[str, Any]", wanted), cast("Mapping[str, Any]", given), exact)
    return same(wanted, given)


def _paired(fits: Sequence[Sequence[bool]]) -> bool:
    """Whether every row can have a column of its own that fits it (augmenting paths, as Kuhn has them)."""
    taken: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column, ok in enumerate(fits[row]):
            if ok and column not in seen:
                seen.add(column)
                if column not in taken or place(taken[column], seen):
                    taken[column] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(fits)))


def _said(arguments: Mapping[str, Any]) -> str:
    """Arguments as JSON, cut where they are long; functions by their names."""
    text = _shown({key: _plain(value) for key, value in arguments.items()})
    return text if len(text) <= 80 else text[:79] + "…"


def _shown(value: object) -> str:
    try:
        return text_of(value)
    except TypeError:  # an object of the application's own
        return repr(value)


def _written(value: object) -> bool:
    """Whether results can hold it as it is."""
    try:
        encode(value)
    except (TypeError, ValueError):
        return False
    return True


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in cast("Mapping[str, object]", value).items()}
    return f"<{_named(value)}>" if callable(value) else value


def _named(function: object) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "what a function wants" if name == "<lambda>" else name


def _told(calls: Sequence[Invocation]) -> str:
    return "called " + ", ".join(map(str, calls)) if calls else "no tool was called"


def _unreadable(question: object, calls: Sequence[Invocation]) -> ScoreError:
    call = next(call for call in calls if call.arguments is None)
    return ScoreError(
        f"{question}: the arguments of {call.name} cannot be read: {quoted(_shown(call.raw))}",
        hint="It is neither met nor missed. A reply that was cut off ends in the middle of its arguments.",
    )
