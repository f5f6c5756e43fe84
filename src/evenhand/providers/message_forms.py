"""The forms that vendors have for messages: read from whichever a prompt is written in, and refused by name.

How this works: a prompt may be written as OpenAI's chat API has it, and each vendor is told it in its own words; or as
the vendor itself has it, and that is sent as it is written. What a vendor has no words for is refused before anything
is sent, never left out. Keys without a value say nothing, so they may be missing elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import field

from evenhand.core.encoding import decoded, encode
from evenhand.core.errors import BadRequest
from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_mapping
from evenhand.core.message import CONVERSATIONS, Message
from evenhand.core.record import Record

SYSTEM_ROLES = frozenset({"system", "developer"})
_SYSTEM = ("system", "systemInstruction", "system_instruction", "instructions")
_ADDRESS = frozenset({"model", "stream"})
_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^;,]*)*?;base64,")
_CONTENT = "Write it as `content`: a text, or a list of parts."


class UntoldMessage(BadRequest):
    """A vendor has no words for something that a message says, so that nothing was sent.

    Attributes:
        path: Where it is written in the prompt: the number of the message, counted from 0, and what leads to it.
        unread: The text that could not be read, where that is what is wrong; empty for anything else.
    """

    def __init__(
        self, what: str, *, hint: str, path: tuple[str | int, ...], unread: str = ""
    ) -> None:
        super().__init__(what, hint=hint)
        self.path = path
        self.unread = unread


class Row(Record, frozen=True):
    """One message as it is written.

    Attributes:
        vendor: Whose words it is to be said in, for people.
        path: Where it is written in the prompt.
    """

    vendor: str
    path: tuple[str | int, ...]
    fields: Mapping[str, Any]

    def refused(self, what: str, hint: str, unread: str = "") -> UntoldMessage:
        """The error that this message can't be sent."""
        number = next((part for part in reversed(self.path) if isinstance(part, int)), None)
        named = "the prompt" if number is None else f"message {number + 1} of the prompt"
        return UntoldMessage(
            f"{named} can't be sent to {self.vendor}: {what}",
            hint=hint,
            path=self.path,
            unread=unread,
        )

    @property
    def role(self) -> str:
        """Who says it; the user, where nobody is named."""
        return str(self.fields.get("role") or "user")

    @property
    def content(self) -> object:
        """The content of a message, in whichever key: a text, a list of parts, or None for nothing."""
        content = self.fields.get("parts") if "parts" in self.fields else None
        content = self.fields.get("content") if content is None else content
        if isinstance(content, Mapping):  # one part, without its list
            return [content]
        if content is None or isinstance(content, (str, list, tuple)):
            return cast("object", content)
        if isinstance(content, bool):
            return "true" if content else "false"
        return str(content)

    @property
    def blocks(self) -> Sequence[object]:
        """The content of a message as a list of parts; an empty text is none."""
        content = self.content
        if isinstance(content, str):
            return [content] if content else []
        return cast("Sequence[object]", content or ())

    def only(self, *keys: str) -> None:
        """Refuses it if it says something in another key than these.

        Raises:
            UntoldMessage: It does.
        """
        for key, value in self.fields.items():
            if key not in keys and says_something(value):
                raise self.refused(
                    f"'{key}' is not a key of its messages",
                    f"Leave it out, or write the message in the form of {self.vendor}.",
                )

    def says_nothing(self) -> UntoldMessage:
        """The error that there is nothing in it."""
        others = [key for key in self.fields if key not in ("role", "content", "parts", "type")]
        what = f"it has no content, only {', '.join(map(repr, others))}" if others else _EMPTY
        return self.refused(what, _CONTENT)


_EMPTY = "it has no content"


def says_something(value: object) -> bool:
    """Whether there is anything in a value: None, an empty text and an empty list say nothing."""
    return value is not None and value not in ("", [], {}, ())


def rows_of(
    messages: Sequence[Message], vendor: str, own: str, system: Sequence[str] = ()
) -> tuple[list[Row], dict[str, Any]]:
    """The messages of a prompt as they are written, and what else of the request's body is written with them.

    Args:
        vendor: Whose words they are to be said in, for people.
        own: Where the vendor's own body has the conversation.
        system: What the vendor's own body calls the system's words; they are then among the settings.

    Raises:
        UntoldMessage: A body is written in another vendor's form, with settings that this one does not know.
    """
    rows: list[Row] = []
    settings: dict[str, Any] = {}
    for number, m in enumerate(messages):
        for item in m.rows:
            name = conversation_of(item)
            if name is None:
                rows.append(Row(vendor, (number,), item))
            else:
                rows += _of_body(item, name, own, system, settings, Row(vendor, (), item))
    return rows, settings


def conversation_of(item: Mapping[str, Any]) -> str | None:
    """Where the body of a request has its conversation; None for what is a message, or anything else."""
    if "role" in item or "type" in item:
        return None
    if isinstance(item.get("contents"), str) and not item.keys().isdisjoint(_SYSTEM):
        return "contents"
    return next((name for name in CONVERSATIONS if is_conversation(name, item.get(name))), None)


def is_conversation(name: str, value: object) -> bool:
    """Whether this is a conversation, as a vendor's body has it under this name."""
    items = [value] if isinstance(value, Mapping) else value
    if not is_array(items) or not items:
        return False
    rows = items
    if not all(is_mapping(row) for row in rows):
        return False
    return any(is_message(row, name) for row in rows)


def is_message(row: Mapping[str, Any], name: str = "messages") -> bool:
    """Whether an object is a message of a conversation, rather than data that has a role of its own."""
    role = row.get("role")
    if isinstance(row.get("parts"), (list, Mapping)):
        return role is None or isinstance(role, str)
    if role is None:
        kind = row.get("type")
        return isinstance(kind, str) and bool(name == "input" or re.fullmatch(_ITEM, kind))
    return isinstance(role, str) and (role in _ROLES or "content" in row)


_ITEM = r"message|reasoning|item_reference|\w+_call(_output)?"
"""What the items of OpenAI's responses API are called."""
_ROLES = frozenset("system developer user assistant tool function model".split())


def _of_body(
    item: Mapping[str, Any],
    name: str,
    own: str,
    system: Sequence[str],
    settings: dict[str, Any],
    whole: Row,
) -> Iterator[Row]:
    for key, value in item.items():
        if key in _ADDRESS:
            raise whole.refused(
                f"its '{key}' is the provider's to say", "Leave it out of the prompt."
            )
        if key == name:
            continue
        if name == own and (key not in _SYSTEM or key in system):
            settings[key] = value
        elif key in _SYSTEM and says_something(value):
            words = as_mapping(value) or {"content": value}
            yield Row(whole.vendor, (key,), {**words, "role": "system"})
        elif key not in _SYSTEM and says_something(value):
            raise whole.refused(
                f"'{key}' beside '{name}' is another vendor's",
                "Write a list of messages with role and content, and settings in the provider's config.",
            )
    content = item[name]
    if isinstance(content, str):
        content = {"role": "user", "parts": [{"text": content}]}
    for number, row in enumerate(as_array(content) or [content]):
        yield Row(whole.vendor, (name, number), row)


class Media(Record, frozen=True, kw_only=True):
    """A picture, a sound or a file in a message.

    Attributes:
        kind: `image`, `audio` or `file`.
        mime: What it is, as `image/png`; empty for what is not said.
        data: It, in bare base64; empty where it is at an address.
        url: Its address; empty where it is here.
        name: What it is called; empty for nothing.
        more: What else is said of it, as written.
    """

    kind: str
    mime: str
    data: str
    url: str
    name: str = ""
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def data_url(self) -> str:
        """A file in one text, as OpenAI wants it; its address where it is elsewhere."""
        return self.url or f"data:{self.mime};base64,{self.data}"


def bare(text: object) -> str:
    """Base64 without what a data URL has before it."""
    whole = str(text or "")
    return whole[match.end() :] if (match := _DATA_URL.match(whole)) else whole


_BARE = frozenset({"media_type", "mime_type", "mimeType", "format"})


def bare_inside(value: object) -> object:
    """A body of a service that has pictures as a vendor has them: what is base64 alone there is so here.

    That is `data` beside a media type or a format, as at Anthropic and Google, and `bytes`, as in Bedrock.
    """
    if is_mapping(value):
        fields = value
        inside = {key: bare_inside(item) for key, item in fields.items()}
        names = ("data", "bytes") if not _BARE.isdisjoint(fields) else ("bytes",)
        return {k: bare(v) if k in names and isinstance(v, str) else v for k, v in inside.items()}
    if is_array(value):
        return [bare_inside(item) for item in value]
    return value


def media(kind: str, source: object, mime: str = "", name: str = "", **more: Any) -> Media:
    """A picture, a sound or a file, from a data URL, an address, or bare base64 whose kind is known."""
    text = str(source or "")
    match = _DATA_URL.match(text)
    if match:
        return Media(
            kind=kind, mime=match[1] or mime, data=text[match.end() :], url="", name=name, more=more
        )
    if mime:
        return Media(kind=kind, mime=mime, data=text, url="", name=name, more=more)
    return Media(kind=kind, mime="", data="", url=text, name=name, more=more)


_PICTURE, _SOUND, _FILE = "image", "audio", "file"


def _kind_of(mime: str) -> str:
    start = mime.partition("/")[0]
    return start if start in (_PICTURE, _SOUND) else _FILE


def _image_url(block: Mapping[str, Any]) -> Media:
    inner = block.get("image_url")
    fields = as_mapping(inner) or {"url": inner}
    more = {key: value for key, value in fields.items() if key != "url"}
    return media(_PICTURE, fields.get("url"), **more)


def _input_image(block: Mapping[str, Any]) -> Media:
    more = {k: v for k, v in block.items() if k not in ("type", "image_url")}
    return media(_PICTURE, block.get("image_url"), **more)


def _input_audio(block: Mapping[str, Any]) -> Media:
    inner = as_mapping(block.get("input_audio"))
    more = {key: value for key, value in inner.items() if key not in ("data", "format")}
    return media(_SOUND, inner.get("data"), f"audio/{inner.get('format') or 'wav'}", **more)


def _file(block: Mapping[str, Any]) -> Media:
    inner = as_mapping(block.get("file")) or {k: v for k, v in block.items() if k != "type"}
    known = ("file_data", "filename", "file_url")
    more = {key: value for key, value in inner.items() if key not in known}
    name = str(inner.get("filename") or "")
    if inner.get("file_url"):
        return Media(kind=_FILE, mime="", data="", url=str(inner["file_url"]), name=name, more=more)
    return media(_FILE, inner.get("file_data"), "application/pdf", name, **more)


def _source(block: Mapping[str, Any]) -> Media | None:
    """A picture or a document as Anthropic has it."""
    kind = _PICTURE if block.get("type") == "image" else _FILE
    source = as_mapping(block.get("source"))
    more = {k: v for k, v in block.items() if k not in ("type", "source", "title")}
    name, mime = str(block.get("title") or ""), str(source.get("media_type") or "")
    if source.get("type") == "url":
        return Media(
            kind=kind, mime=mime, data="", url=str(source.get("url") or ""), name=name, more=more
        )
    if source.get("type") != "base64":
        return None
    return Media(kind=kind, mime=mime, data=bare(source.get("data")), url="", name=name, more=more)


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Media | None]] = {
    "image_url": _image_url,
    "input_image": _input_image,
    "input_audio": _input_audio,
    "file": _file,
    "input_file": _file,
    "image": _source,
    "document": _source,
}
_TEXTS = frozenset({"text", "input_text", "output_text"})
_GOOGLE_DATA = ("inlineData", "inline_data")
_GOOGLE_FILE = ("fileData", "file_data")


def part_of(block: object, row: Row) -> str | Media:
    """A part of a message, whoever's form it is written in.

    Raises:
        UntoldMessage: It is nothing that can be said in another form.
    """
    if isinstance(block, str):
        return block
    fields = as_mapping(block)
    kind = fields.get("type")
    text = fields.get("text")
    if isinstance(text, str) and (kind is None or kind in _TEXTS):
        _nothing_more({k: v for k, v in fields.items() if k not in ("type", "text")}, row)
        return text
    part = None
    if isinstance(kind, str) and kind in _READERS:
        part = _READERS[kind](fields)
        own = frozenset(("type", kind))
        if part is not None and fields.get(kind) is not None:
            _nothing_more({k: v for k, v in fields.items() if k not in own}, row)
    elif kind is None:
        part = _of_google(fields, row)
    if part is None:
        raise row.refused(
            f"{_described(fields)} is nothing that it knows",
            f"Write it in the form of {row.vendor}, or leave it out.",
        )
    return part


def _of_google(fields: Mapping[str, Any], row: Row) -> Media | None:
    name = next((n for n in (*_GOOGLE_DATA, *_GOOGLE_FILE) if n in fields), None)
    if name is None:
        return None
    _nothing_more({k: v for k, v in fields.items() if k != name}, row)
    inner = as_mapping(fields[name])
    mime = str(inner.get("mimeType") or inner.get("mime_type") or "")
    if name in _GOOGLE_DATA:
        return Media(kind=_kind_of(mime), mime=mime, data=bare(inner.get("data")), url="")
    url = str(inner.get("fileUri") or inner.get("file_uri") or "")
    return Media(kind=_kind_of(mime), mime=mime, data="", url=url)


def _nothing_more(more: Mapping[str, Any], row: Row) -> None:
    for key, value in more.items():
        if says_something(value):
            raise row.refused(
                f"'{key}' is not a key of its parts",
                f"Leave it out, or write the part in the form of {row.vendor}.",
            )


def plain_media(part: Media, row: Row, *known: str) -> Media:
    """The media part, if nothing is said of it but what is known to a vendor.

    Raises:
        UntoldMessage: Something else is said.
    """
    _nothing_more({k: v for k, v in part.more.items() if k not in known}, row)
    return part


def no_words_for(part: Media, row: Row) -> UntoldMessage:
    """The error that a vendor takes no such picture, sound or file."""
    words = {_PICTURE: "pictures", _SOUND: "sounds", _FILE: "files"}[part.kind]
    where = " at an address" if part.url else ""
    mime = f" of {part.mime}" if part.mime and not part.url else ""
    return row.refused(f"it takes no {words}{mime}{where}", "Leave it out.")


def _described(fields: Mapping[str, Any]) -> str:
    kind = fields.get("type")
    if kind is not None:
        return f"a part of type {kind!r}"
    return f"a part with {', '.join(map(repr, fields)) or 'nothing in it'}"


class Call(Record, frozen=True):
    """A tool that an assistant's message calls, as OpenAI's chat has it."""

    id: str
    name: str
    text: str
    arguments: Mapping[str, Any]


def calls_of(row: Row) -> list[Call]:
    """The tools that a message calls, as OpenAI's chat has them.

    Raises:
        UntoldMessage: One of them is no function, or its arguments are no object.
    """
    calls: list[Call] = []
    for call in map(as_mapping, as_array(row.fields.get("tool_calls"))):
        function = as_mapping(call.get("function"))
        name, arguments = str(function.get("name") or ""), function.get("arguments")
        if not name:
            raise row.refused(
                f"a call of type {call.get('type')!r} is nothing that it knows",
                "Write {id: …, type: function, function: {name: …, arguments: …}}.",
            )
        text = arguments if isinstance(arguments, str) else encode(arguments or {}).decode()
        known = decoded(text) if text.strip() else {}
        if not is_mapping(known):
            what = f"the arguments of its call of {name} are not a JSON object: {text:.80}"
            raise row.refused(what, "Write a JSON object.", unread=text)
        calls.append(Call(str(call.get("id") or ""), name, text, known))
    return calls


def is_tool_result(row: Row) -> bool:
    """Whether a message says what a tool returned, as OpenAI's chat has it."""
    return row.role == "tool" or says_something(row.fields.get("tool_call_id"))


def called_names(rows: Iterable[Row]) -> dict[str, str]:
    """The names of the tools that a conversation calls, by the ids of the calls."""
    return {
        str(call.get("id") or ""): str(as_mapping(call.get("function")).get("name") or "")
        for row in rows
        for call in map(as_mapping, as_array(row.fields.get("tool_calls")))
    }


def result_name(row: Row, names: Mapping[str, str], *, told: bool = False) -> str:
    """The name of the tool whose result a message is; empty for one that isn't known.

    Args:
        told: The vendor is told it with the result; otherwise the call alone says it.

    Raises:
        UntoldMessage: It has another name than the call has, or one that nothing would say.
    """
    known = names.get(str(row.fields.get("tool_call_id") or ""), "")
    name = str(row.fields.get("name") or "")
    if not known and name and not told:
        raise row.refused(
            "'name' is not a key of its messages, and no message before it calls this tool",
            "Leave it out, or write the message that calls the tool.",
        )
    if known and name and known != name:
        raise row.refused(
            f"its 'name' is {name!r}, and the call with this id is of {known!r}",
            "Write the name of the tool that was called.",
        )
    return known or name
