"""Reads YAML and JSON files as plain values that know where each of their parts was written.

How this works: a file is read into dicts, lists and scalars as YAML 1.2's core schema has them (`yes` and `on` are
text, as are dates; only `true`, `false` and `null` are not), and a table says where each path in it begins. JSON files
are read by a JSON parser, and the table is only made when a problem has to be placed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evenhand.core.encoding import DEEPEST, TooDeep, refuse_depth
from evenhand.core.json_shapes import is_object
from evenhand.core.record import MutableRecord
from evenhand.languages.documents.file_kinds import lines_hint, other_kind
from evenhand.languages.documents.findings import Findings, Place, unreadable

if TYPE_CHECKING:
    import yaml


Path_ = tuple[str | int, ...]

LARGEST = 2_000_000
"""Nodes that a file may have once its aliases are written out."""
LONGEST_NUMBER = 300

_NESTS = r"(?m)^[-?: ]{400}"
_INT = r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
_FLOAT = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
_WORDS: Mapping[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
"""`.inf` and `.nan` stay text: JSON, and with it every run file, has no form for them."""
_YAML = "tag:yaml.org,2002:"
_TAGS: Mapping[str, type | None] = {
    "": None,
    "!": str,
    **{f"{_YAML}{name}": str for name in ("str", "timestamp", "map", "seq", "set", "omap")},
    f"{_YAML}int": int,
    f"{_YAML}float": float,
    f"{_YAML}bool": bool,
    f"{_YAML}null": type(None),
}
"""The tags that a value may have, and what a scalar with one of them is; without a tag, that depends on its text."""


class Document(MutableRecord):
    """A file's value, and where its parts are.

    Attributes:
        lending: Keys at its top that aliases elsewhere in it stand for.
    """

    file: Path
    value: object
    _places: dict[Path_, tuple[int, int]] | None = None
    _text: str = ""
    lending: frozenset[str] = frozenset()

    def at(self, *path: str | int) -> Place:
        """Where the part at this path is written; the nearest part around it where it is not."""
        if self._places is None:
            return Place(self.file, later=lambda: self._looked_up(path))
        while path and path not in self._places:
            path = path[:-1]
        line, column = self._places.get(path, (0, 0))
        return Place(self.file, line, column)

    def _looked_up(self, path: Path_) -> Place:
        if self._places is None:
            self._places = {}
            _places_of(self._text, self._places)
        return self.at(*path)


def read_text(path: Path, findings: Findings, place: Place | None = None) -> str | None:
    """A text file: UTF-8 with or without a mark, or UTF-16 with one. None, and a problem, where it cannot be read.

    Args:
        place: Where the file is named, for the problem that it does not exist.
    """
    wrong = unreadable(path)
    if wrong is not None:
        findings.problem(Place(path), *wrong)
        return None
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
        missing = isinstance(error, (FileNotFoundError, ValueError))
        what = "does not exist" if missing else f"cannot be read: {error.strerror}"
        if place is None:
            findings.problem(Place(path), what, f"Looked in {path.parent}." if missing else "")
        else:
            findings.problem(place, f"{path.name} {what}", f"Looked in {path.parent}.")
        return None
    return decoded(data, path, findings)


def decoded(data: bytes, path: Path, findings: Findings) -> str | None:
    """Bytes of a file as text; see `read_text`."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        kind = other_kind(path)
        if kind is not None:
            findings.problem(Place(path), *kind)
            return None
        if findings.replacing:
            return replaced(data, path, findings)
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        findings.problem(
            Place(path, line, column),
            f"is not UTF-8: byte 0x{data[error.start]:02x} has no meaning there",
            "It is probably Latin-1 or Windows-1252; save it as UTF-8.",
        )
        return None


def replaced(data: bytes, path: Path, findings: Findings, line: int = 1) -> str:
    """Bytes as text, with the replacement character for what is not UTF-8, and a hint that says where that begins.

    Args:
        line: The line of the file that they begin on.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # This codec counts from behind the byte-order mark.
        start = error.start + (3 if data.startswith(b"\xef\xbb\xbf") else 0)
    column = start - (data.rfind(b"\n", 0, start) + 1) + 1
    findings.hint(
        Place(path, line + data.count(b"\n", 0, start), column),
        f"is not UTF-8: byte 0x{data[start]:02x} has no meaning there, and is read as �, as in promptfoo",
        "It is probably Latin-1 or Windows-1252; save it as UTF-8.",
    )
    return data.decode("utf-8-sig", "replace")


def read_document(path: Path, findings: Findings, place: Place | None = None) -> Document | None:
    """A YAML or JSON file. None, and its problems, where it cannot be read."""
    text = read_text(path, findings, place)
    if text is None:
        return None
    if path.suffix == ".json":
        return _read_json(path, text, findings)
    return read_yaml(path, text, findings)


def read_yaml(path: Path, text: str, findings: Findings) -> Document | None:
    """YAML text. None, and its problems, where it is not."""
    import yaml  # noqa: PLC0415 (a folder of JSON files has no use for it)

    places: dict[Path_, tuple[int, int]] = {}
    lending = frozenset[str]()
    reader = _NodeReader(path, findings, places)
    try:
        refuse_yaml_depth(text)
        node = yaml.compose(_whole_characters(text), Loader=_loader())
        # Only aliases can make a small file large.
        if node is not None and "*" in text:
            _size(node, {})
            lending = keys_that_lend(node)
        value = reader.value_of(node, ()) if node is not None else None
    except yaml.MarkedYAMLError as error:
        if (conflict := conflict_in(text)) is not None:
            findings.problem(Place(path, conflict, 1), UNRESOLVED, RESOLVE)
            return None
        mark = error.problem_mark or error.context_mark
        if mark is not None and re.search(_ESCAPE, str(error.problem)):
            here = text.splitlines()[mark.line]
            start = max(0, here.rfind("\\", 0, mark.column + 1))
            escape = re.match(r"\\(?:[uUx][0-9a-fA-F]*|.?)", here[start:])
            findings.problem(
                Place(path, mark.line + 1, start + 1),
                f"is not YAML: {escape[0] if escape else here} means nothing in double quotes",
                "Use single quotes, in which a backslash is one, or write \\\\ for it.",
            )
            return None
        if error.context_mark is not None and "quoted scalar" in str(error.context):
            opened = Place(path, error.context_mark.line + 1, error.context_mark.column + 1)
            findings.problem(
                opened, "is not YAML: a quote is opened here and never closed", "Close it."
            )
            return None
        where = Place(path, mark.line + 1, mark.column + 1) if mark else Place(path)
        findings.problem(
            where, f"is not YAML: {error.problem or error.context}", _yaml_hint(text, mark)
        )
        return None
    except yaml.YAMLError as error:
        findings.problem(Place(path), f"is not YAML: {str(error).splitlines()[0]}")
        return None
    except (_TooMuch, TooDeep) as error:
        findings.problem(Place(path), str(error))
        return None
    return Document(path, value, places, lending=lending)


_ESCAPE = r"escape (?:character|code|sequence)|hexa?decimal"
"""What PyYAML, in C or in Python, says of a backslash in double quotes that begins nothing it knows."""
_HALVES = r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
_DOUBLE_QUOTED = r'(?s)"(?:[^"\\]|\\.)*"'


def safe_loader() -> type[yaml.SafeLoader]:
    """PyYAML's safe loader: the one in C, which is many times faster, where PyYAML was built with it."""
    import yaml  # noqa: PLC0415 (a folder of JSON files has no use for it)

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def yaml_mistake(error: Exception) -> tuple[str, int, int]:
    """What is wrong with a YAML text, in words, and the line and column, from 1; 0 if unknown."""
    import yaml  # noqa: PLC0415 (a folder of JSON files has no use for it)

    if not isinstance(error, yaml.MarkedYAMLError):
        return str(error).partition("\n")[0], 0, 0
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    return error.problem or error.context or "", line, column


def refuse_yaml_depth(text: str) -> None:
    """Raises where the text is nested deeper than anybody means.

    Raises:
        TooDeep: It is nested more than DEEPEST levels deep.
        yaml.YAMLError: It is no YAML.
    """
    # Parsing takes long, so only text with many brackets or a very deep indentation is parsed twice.
    if text.count("[") + text.count("{") <= DEEPEST and not re.search(_NESTS, text):
        return
    import yaml  # noqa: PLC0415 (a folder of JSON files has no use for it)

    depth = 0
    for event in yaml.parse(text, Loader=safe_loader()):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
            event, yaml.CollectionEndEvent
        )
        if depth > DEEPEST:
            raise TooDeep(f"it is nested more than {DEEPEST} levels deep")


def _whole_characters(text: str) -> str:
    r"""The text with characters that JSON escapes in two halves (`\ud83d\ude00`) in one, inside of double quotes.

    JavaScript reads such, and so what was written for it has them; YAML proper knows no halves.
    """
    if not re.search(_HALVES, text):
        return text

    def whole(match: re.Match[str]) -> str:
        high, low = int(match[2], 16), int(match[3], 16)
        return f"{match[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08X}"

    return re.sub(_DOUBLE_QUOTED, lambda quoted: re.sub(_HALVES, whole, quoted[0]), text)


@lru_cache(maxsize=1)
def _loader() -> Any:
    """A loader that leaves it to `_NodeReader` what a plain scalar is: tags are those that are written."""
    own = {"resolve": _as_written, "descend_resolver": _not_asked, "ascend_resolver": _not_asked}
    return type("Loader", (safe_loader(),), own)


def _as_written(*_: object) -> str:
    """The tag of a node that has none."""
    return ""


def _not_asked(*_: object) -> None:
    """Paths that resolve to tags: there are none."""


_ODD_SPACE = "[\u00a0\u2000-\u200b\u202f\u205f\u3000\ufeff]"
"""Spaces that look like one, and come with text that was copied from a page."""


def _yaml_hint(text: str, mark: object) -> str:
    line = getattr(mark, "line", None)
    lines = text.splitlines()
    if line is None or line >= len(lines):
        return ""
    for number, text_ in enumerate(lines[: line + 1], 1):
        odd = re.search(_ODD_SPACE, text_)
        if odd:
            return f"Line {number} has a space that YAML doesn't take for one (U+{ord(odd[0]):04X}): replace it."
    here = lines[line]
    if "\t" in here[: len(here) - len(here.lstrip())]:
        return "YAML is indented with spaces, not with tabs."
    if any(
        re.match(r"\s*(- +)*([\w.$-]+:)?\s*\{\{", text_)
        for text_ in lines[max(0, line - 1) : line + 1]
    ):
        return "Text that begins with {{ has to be in quotes."
    if here.count(": ") > 1:
        return "Text with ': ' in it has to be in quotes."
    return "Keys that belong together start in the same column." if here.strip() else ""


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values a node comes to with its aliases written out; raises where that is more than anybody means."""
    counted = known.get(id(node))
    if counted is not None:
        if not counted:
            raise _TooMuch("an alias stands inside what it stands for")
        return counted
    known[id(node)] = 0  # not counted to its end yet: an alias that meets this stands inside itself
    inside: list[yaml.Node] = []
    if not isinstance(node.value, str):
        for item in cast("list[yaml.Node | tuple[yaml.Node, yaml.Node]]", node.value):
            inside += item if isinstance(item, tuple) else (item,)
    known[id(node)] = size = 1 + sum(_size(item, known) for item in inside)
    if size > LARGEST:
        raise _TooMuch(f"its aliases stand for more than {LARGEST:,} values")
    return size


class _TooMuch(Exception):
    """The file is larger, or deeper, than anybody writes."""


class _NodeReader:
    """Turns YAML nodes into plain values, noting where they stand."""

    def __init__(
        self, path: Path, findings: Findings, places: dict[Path_, tuple[int, int]]
    ) -> None:
        from yaml import ScalarNode, SequenceNode  # noqa: PLC0415 (see read_yaml)

        self._scalar_node, self._sequence_node = ScalarNode, SequenceNode
        self._path = path
        self._findings = findings
        self._places = places

    def value_of(self, node: yaml.Node, path: Path_) -> object:
        """The node's value."""
        self._places[path] = (node.start_mark.line + 1, node.start_mark.column + 1)
        if node.tag not in _TAGS:
            self._findings.problem(
                self._place(node),
                f"the tag {node.tag.replace(_YAML, '!!')} is not known",
                "Write the value without it, or in quotes, as text.",
            )
        if isinstance(node, self._scalar_node):
            return self._scalar(node)
        if isinstance(node, self._sequence_node):
            items = cast("list[yaml.Node]", node.value)
            return [self.value_of(item, (*path, i)) for i, item in enumerate(items)]
        return self._mapping(cast("yaml.MappingNode", node), path)

    def _mapping(self, node: yaml.MappingNode, path: Path_) -> dict[str, object]:
        mapping: dict[str, object] = {}
        merged: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, self._scalar_node):
                self._findings.problem(
                    self._place(key_node),
                    "a key has to be text, not a list or an object",
                    "Text that begins with { has to be in quotes.",
                )
                continue
            key = cast(str, key_node.value)
            # In quotes, it is a key like any other.
            if key == "<<" and not key_node.style:
                value = self.value_of(value_node, (*path, key))
                for part in value if isinstance(value, list) else [value]:  # pyright: ignore[reportUnknownVariableType]
                    if is_object(part):
                        # YAML's rule for `<<`: of several objects, the first one that has a key counts.
                        merged = {**part, **merged}
                continue
            if key in mapping:
                self._findings.problem(
                    self._place(key_node),
                    f"the key '{key}' appears twice",
                    "Only one of them could count.",
                )
                continue
            mapping[key] = self.value_of(value_node, (*path, key))
            # A problem with a value is looked for where its key begins.
            self._places[*path, key] = (
                key_node.start_mark.line + 1,
                key_node.start_mark.column + 1,
            )
        return {**merged, **mapping}

    def _scalar(self, node: yaml.ScalarNode) -> object:
        text, kind = cast(str, node.value), _TAGS.get(node.tag, str)
        if kind is None:
            # Quoted and block text is text, even if it says 5 or true.
            return text if node.style else self._plain(text)
        value = self._plain(text)
        if kind is str or type(value) in (kind, int if kind is float else kind):
            return text if kind is str else value
        self._findings.problem(
            self._place(node),
            f"{text!r} is no {node.tag.replace(_YAML, '!!')}",
            "Write it without the tag, or correct it.",
        )
        return text

    @staticmethod
    def _plain(text: str) -> object:
        """What text without quotes says."""
        if text in _WORDS:
            return _WORDS[text]
        # So many digits fit into no float, and Python refuses to read more than 4,300 of them.
        if len(text) > LONGEST_NUMBER:
            return text
        if re.fullmatch(_INT, text):
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        if not re.fullmatch(_FLOAT, text):
            return text
        number = float(text)
        return (
            number if math.isfinite(number) else text
        )  # more than any number can be: as it is written

    def _place(self, node: yaml.Node) -> Place:
        return Place(self._path, node.start_mark.line + 1, node.start_mark.column + 1)


def _read_json(path: Path, text: str, findings: Findings) -> Document | None:
    twice: list[str] = []

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        fields = dict(items)
        if len(fields) != len(items):
            keys: set[str] = set()
            twice.extend(key for key, _ in items if key in keys or keys.add(key))
        return fields

    try:
        value = cast(
            object,
            json.loads(
                text,
                object_pairs_hook=pairs,
                parse_float=_finite,
                parse_int=_whole,
                parse_constant=_no_number,
            ),
        )
    except _TooMuch as error:
        # The parser does not say where the number is, so it is searched for.
        at = text.find(error.args[1])
        line = text.count("\n", 0, at) + 1
        column = at - (text.rfind("\n", 0, at) + 1) + 1
        findings.problem(Place(path, line, column), error.args[0], "Write it in quotes, as text.")
        return None
    except json.JSONDecodeError as error:
        if (conflict := conflict_in(text)) is not None:
            findings.problem(Place(path, conflict, 1), UNRESOLVED, RESOLVE)
        else:
            place = Place(path, error.lineno, error.colno)
            findings.problem(place, f"is not JSON: {error.msg}", lines_hint(error))
        return None
    except RecursionError:
        findings.problem(Place(path), f"is nested more than {DEEPEST} levels deep")
        return None
    try:
        refuse_depth(value)
    except TooDeep:
        findings.problem(Place(path), f"is nested more than {DEEPEST} levels deep")
        return None
    for key in twice:
        findings.problem(
            Place(path), f"the key '{key}' is in one object twice", "Only one of them could count."
        )
    return Document(path, value, None, text)


def _finite(text: str) -> float:
    number = float(text)
    if math.isfinite(number):
        return number
    raise _TooMuch(f"{_short(text)} is larger than any number can be", text)


def _whole(text: str) -> int:
    # First as a float: `int` refuses very long numbers with an error of its own.
    _finite(text)
    return int(text)


def _no_number(text: str) -> object:
    raise _TooMuch(f"{text} is not a number that can be kept", text)


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}… ({len(text)} digits)"


def _places_of(text: str, places: dict[Path_, tuple[int, int]]) -> None:
    """Fills the table for JSON text; leaves it empty where YAML cannot read it (tabs)."""
    import yaml  # noqa: PLC0415 (see read_yaml)

    try:
        refuse_yaml_depth(text)
        # JSON may be indented with tabs and YAML may not; one character for one keeps the columns.
        node = yaml.compose(text.replace("\t", " "), Loader=_loader())
        if node is not None:
            _NodeReader(Path(), Findings(), places).value_of(node, ())
    except (yaml.YAMLError, _TooMuch, TooDeep):
        places.clear()


def keys_that_lend(root: yaml.Node) -> frozenset[str]:
    """The keys at the top whose value, or a part of it, an alias under a later key stands for."""
    owners: dict[int, str] = {}
    lenders = set[str]()
    if isinstance(root.value, str):
        return frozenset()
    for pair in cast("list[object]", root.value):
        if not isinstance(pair, tuple):
            continue
        key_node, value_node = cast("tuple[yaml.Node, yaml.Node]", pair)
        key, waiting = str(key_node.value), [value_node]
        while waiting:
            node = waiting.pop()
            # PyYAML gives an alias the very node of its anchor: a node met under a second key was lent.
            owner = owners.setdefault(id(node), key)
            if owner != key:
                lenders.add(owner)
            elif not isinstance(node.value, str):
                for item in cast("list[yaml.Node | tuple[yaml.Node, yaml.Node]]", node.value):
                    waiting += item if isinstance(item, tuple) else (item,)
    return frozenset(lenders)


MARKS = ("<<<<<<< ", "||||||| ", ">>>>>>> ")
"""What lines begin with that are git's own; between two of them stands `=======`."""
BETWEEN = "======="
MARKED = "this line is a mark of an unresolved merge conflict"
UNRESOLVED = "an unresolved merge conflict begins here"
RESOLVE = (
    "Keep one side or both, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>."
)


def conflict_in(text: str) -> int | None:
    """The line, from 1, on which a conflict with all its marks begins; None where there is none."""
    if MARKS[0] not in text:
        return None
    begins: int | None = None
    divided = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(MARKS[0]):
            begins, divided = number, False
        elif begins is not None and line.rstrip("\r") == BETWEEN:
            divided = True
        elif begins is not None and divided and line.startswith(MARKS[2]):
            return begins
    return None


def is_mark(line: bytes) -> bool:
    """Whether a line of a file in which no line of data can begin so is a mark."""
    return line.startswith(tuple(mark.encode() for mark in MARKS)) or (
        line.rstrip() == BETWEEN.encode()
    )


def is_marked_row(cells: Sequence[str], width: int) -> bool:
    """Whether a row of a table is a mark. `=======` may be data where there is one column."""
    first = cells[0] if cells else ""
    if first.startswith(MARKS) and "\n" not in first:
        return True
    return width > 1 and list(cells) == [BETWEEN]
