"""The calls of tools that an output lists: a Reply, a vendor's answer, a trace, an object of the application's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evenhand.core.encoding import decoded, encode
from evenhand.core.errors import ScoreError
from evenhand.core.json_shapes import as_text, is_array, is_mapping
from evenhand.core.record import Record
from evenhand.scorers.text import quoted, value_text

_NAMES = ("name", "tool_name")
_ARGUMENTS = ("arguments", "args", "input", "tool_arguments")
_BARE = frozenset({*_NAMES, "id", "call_id", "type", "index"})
_LISTS = ("tool_calls", "calls", "tool_invocations", "invocations")
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use", "function_call", "mcp_call"})
_HINT = "Give the reply itself, or a list of calls, each with a name and arguments."


class Invocation(Record, frozen=True):
    """One call as it was found. `arguments` is None where they could not be read; `raw` is then what stood there."""

    name: str
    arguments: Mapping[str, Any] | None
    id: str = ""
    raw: object = None

    def kept(self) -> dict[str, Any]:
        """What the results keep of it."""
        arguments = self.arguments
        if arguments is not None and not _written(arguments):
            arguments = {key: v if _written(v) else repr(v) for key, v in arguments.items()}
        row: dict[str, Any] = {"name": self.name, "arguments": arguments}
        if self.arguments is None:
            row["raw"] = shown(self.raw)
        if self.id:
            row["id"] = self.id
        return row

    def __str__(self) -> str:
        if self.arguments is None:
            return self.name if self.raw is None else f"{self.name}(unreadable arguments)"
        return f"{self.name}({arguments_text(self.arguments)})"


def invocations(output: object) -> tuple[Invocation, ...]:
    """The calls that an output lists, in its order; none for a reply without any.

    Understood are Evenhand's Reply; a chat completion of OpenAI's, its message, and the items of its Responses API; a
    message of Anthropic's, and its blocks; an object or dict with `tool_calls`, `calls`, `tool_invocations` or
    `invocations`; and lists of all these.
    Vendors' objects may be the SDK's or dicts.

    Raises:
        ScoreError: It is nothing that could list calls: a text, say.
    """
    calls = listed_calls(output)
    if calls is None:
        kind = type(output).__name__
        raise ScoreError(f"{kind} {quoted(str(output))} lists no tool calls", hint=_HINT)
    return tuple(calls)


def listed_calls(output: object) -> list[Invocation] | None:
    """The calls that an output lists, as `invocations` has them; None where it is nothing that could list calls.

    Raises:
        ScoreError: It should list them, and what stands there is no list of calls.
    """
    if isinstance(output, (list, tuple)):
        listing: list[Invocation] = []
        for item in output:
            calls = _item(item)
            if calls is None:
                return None
            listing += calls
        return listing
    if output is None or isinstance(output, (str, bytes, int, float)):
        return None
    one = _call(output)
    return _inside(output) if one is None else [one]


def _item(item: object) -> list[Invocation] | None:
    """The calls of one entry of a list: a call, a block, or a whole message."""
    if _get(item, "role") is None and as_text(_get(item, "type")) not in ("", "message"):
        call = _call(item)
        return [] if call is None else [call]  # a block of text, of thinking, a tool's result
    listing = listed_calls(item)
    return [] if listing is None and _get(item, "role") is not None else listing


def _inside(output: object) -> list[Invocation] | None:
    """The calls of a reply, or of a message."""
    choices = _get(output, "choices")
    first = choices[0] if is_array(choices) and choices else None
    message = _get(first, "message")
    if message is not None:
        return listed_calls(message) or []
    message = _get(output, "message")
    if message is not None and not isinstance(message, str):
        return listed_calls(message)
    for key in _LISTS:
        calls = list(_each(_listed(output, key)))
        if calls:
            return calls
    single = _get(output, "function_call")  # OpenAI's, before there were several
    if single is not None:
        call = _call(single)
        return None if call is None else [call]
    for key in ("content", "output"):
        blocks = _get(output, key)
        if isinstance(blocks, (list, tuple)):
            return listed_calls(blocks)
    # A message has a role; anything else with a content may be an application's own answer.
    can_list = _has(output, "role") and _has(output, "content")
    return [] if can_list or any(_has(output, key) for key in _LISTS) else None


def _listed(output: object, key: str) -> Iterable[object]:
    """What an output has under a name that should list calls; nothing where it has no such name, or None there."""
    calls = _get(output, key)
    if calls is None:
        return ()
    if isinstance(calls, Iterable) and not isinstance(calls, (str, bytes, Mapping)):
        return calls
    raise ScoreError(
        f"{key} of {type(output).__name__} is {quoted(repr(calls))}, not a list", hint=_HINT
    )


def _each(calls: Iterable[object]) -> Iterator[Invocation]:
    for call in calls:
        invocation = _call(call, listed=True)
        if invocation is None:
            raise ScoreError(f"a call is {quoted(str(call))}, without a name", hint=_HINT)
        yield invocation


def _call(item: object, *, listed: bool = False) -> Invocation | None:
    """The call that this is; None where it is none. What is listed as a call needs a name, and no more."""
    if isinstance(item, Invocation):
        return item
    if _get(item, "role") is not None:  # a message; a tool's answer has a name, too
        return None
    kind = as_text(_get(item, "type"))
    ours = as_text(_get(item, "id")) or as_text(_get(item, "call_id"))
    if kind in ("", "function", "custom"):  # OpenAI's puts it one level down
        inner = _get(item, "function") or _get(item, "custom")
        if inner is not None and _has(inner, "name"):
            item = inner
    elif kind not in _CALLS and not any(_has(item, key) for key in _ARGUMENTS):
        return None
    name = next((n for n in map(as_text, (_get(item, key) for key in _NAMES)) if n), "")
    key = next((key for key in _ARGUMENTS if _has(item, key)), None)
    # With a name alone, it is a call where it is listed as one, or says nothing else: a person has a name, too.
    bare = is_mapping(item) and _BARE.issuperset(item)
    raw = {} if key is None else _get(item, key)
    if key == "input" and not isinstance(raw, Mapping):  # a word that anybody may have
        bare = False
        key = None
    if not name or (key is None and not (listed or kind or bare)):
        return None
    return Invocation(name, _read(raw), ours, raw)


def _read(raw: object) -> Mapping[str, Any] | None:
    """Arguments, given as an object or as its JSON; an empty text is none at all."""
    if isinstance(raw, str):
        if not raw.strip():
            return {}
        raw = decoded(raw)
    return raw if is_mapping(raw) else None


def _get(item: object, key: str) -> Any:
    if is_mapping(item):
        return item.get(key)
    return getattr(item, key, None)


def _has(item: object, key: str) -> bool:
    return key in item if isinstance(item, Mapping) else hasattr(item, key)


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """Arguments as JSON, cut where they are long; functions by their names."""
    text = shown({key: _plain(value) for key, value in arguments.items()})
    return text if len(text) <= 80 else text[:79] + "…"


def shown(value: object) -> str:
    """A value as text, whatever it is."""
    try:
        return value_text(value)
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
    if is_mapping(value):
        return {k: _plain(v) for k, v in value.items()}
    return f"<{named(value)}>" if callable(value) else value


def named(function: object) -> str:
    """What a function is called that stands for a value."""
    name = getattr(function, "__name__", type(function).__name__)
    return "what a function wants" if name == "<lambda>" else name
