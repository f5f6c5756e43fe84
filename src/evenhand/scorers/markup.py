"""Whether an output is XML or HTML, or has some in it; of XML, with the elements that are wanted.

The whole output is read by a strict parser. Pieces of XML inside a text are found by their tags: the widest ranges in
which all that opens is closed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import field

from evenhand.core.expect import Trial
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.record import MutableRecord, Record
from evenhand.core.score import Score, check
from evenhand.scorers.text import text_of

Path = tuple[str, ...]
"""A way down the elements: names, and a number where elements of one name repeat."""

_NAME = (
    r"[:A-Z_a-z\u00C0-\uFFFD\U00010000-\U000EFFFF][-.:\w\u00B7\u00C0-\uFFFD\U00010000-\U000EFFFF]*"
)
_TAG = re.compile(
    rf"(?P<quiet><!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|<!(?:\"[^\"]*\"|'[^']*'|[^>\"'])*(?:>|\Z))"
    rf"|</(?P<closed>{_NAME})(?:\"[^\"]*\"|'[^']*'|[^<>\"'])*>"
    rf"|<(?P<opened>{_NAME})(?P<rest>(?:\"[^\"]*\"|'[^']*'|[^<>\"'])*)>",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"([^\s=/]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'))?")


class IsXml(Record, frozen=True):
    """The whole output is well-formed XML that has these elements.

    Attributes:
        elements: Ways down to elements that must be there, e.g. ("order", "item").
    """

    elements: tuple[Path, ...] = ()

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        text = text_of(output)
        wrong = _not_well_formed(text) or _missing(text, self.elements)
        return check(not wrong, wrong)

    def __str__(self) -> str:
        return _label("is-xml", self.elements)


class ContainsXml(Record, frozen=True):
    """Somewhere in the output there is XML that has these elements."""

    elements: tuple[Path, ...] = ()

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        text = text_of(output)
        wrong = "there is no XML in it"
        for start, end in _pieces(text):
            wrong = _missing(text[start:end], self.elements)
            if not wrong:
                return check(True)
        return check(False, wrong)

    def __str__(self) -> str:
        return _label("contains-xml", self.elements)


def _label(name: str, elements: Sequence[Path]) -> str:
    names = ", ".join(".".join(path) for path in elements)
    return f"{name} {names}" if names else name


def _not_well_formed(text: str) -> str:
    """Why this is not well-formed XML; empty where it is. Entities that a document defines itself are refused."""
    from xml.parsers import expat  # noqa: PLC0415 (only where XML is looked for)

    parser = expat.ParserCreate(namespace_separator=" ")
    own: list[bool] = []

    def doctype(name: str, system: str | None, public: str | None, internal: bool) -> None:
        del name, public
        own.append(internal)
        # A document's own entities can refer to each other, and expand a short text without end.
        if internal:
            raise ValueError
        # XML forbids a fragment here, which expat lets pass.
        if system is not None and "#" in system:
            raise ValueError

    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except ValueError:
        return "it defines entities of its own" if any(own) else "its DOCTYPE is malformed"
    except expat.ExpatError as error:
        return f"it is not well-formed XML: {error}"
    return ""


class _Tag(MutableRecord):
    kind: Literal["opening", "closing", "both"]
    name: str
    start: int
    end: int
    attributes: str = ""


def _tags(text: str) -> Iterator[_Tag]:
    for match in _TAG.finditer(text):
        if match["opened"]:
            rest = match["rest"]
            single = rest.rstrip().endswith("/")
            kind: Literal["opening", "both"] = "both" if single else "opening"
            yield _Tag(kind, match["opened"], match.start(), match.end(), rest)
        elif match["closed"]:
            yield _Tag("closing", match["closed"], match.start(), match.end())


def _pieces(text: str) -> list[tuple[int, int]]:
    """Ranges of balanced elements: neighbours together first, then each of the widest alone."""
    spans: list[
        tuple[int, int, int]
    ] = []  # start, end, and the start of the element around it; -1 for none
    opened: list[_Tag] = []
    for tag in _tags(text):
        if tag.kind == "opening":
            opened.append(tag)
            continue
        start = tag.start
        if tag.kind == "closing":
            if not opened or opened[-1].name != tag.name:
                # A closing tag without its partner: no element that is open around it can be balanced any more.
                opened.clear()
                continue
            start = opened.pop().start
        spans.append((start, tag.end, opened[-1].start if opened else -1))
    starts = {start for start, _, _ in spans}
    widest = sorted((s, e, p) for s, e, p in spans if p not in starts)
    together: dict[int, tuple[int, int]] = {}
    count: dict[int, int] = {}
    for start, end, parent in widest:
        first, last = together.get(parent, (start, end))
        together[parent] = (min(first, start), max(last, end))
        count[parent] = count.get(parent, 0) + 1
    groups = [span for parent, span in together.items() if count[parent] > 1]
    return [*groups, *((start, end) for start, end, _ in widest)]


class _Element(MutableRecord):
    name: str
    children: dict[str, list[object]] = field(default_factory=dict[str, list[object]])
    text: str = ""

    def value(self) -> object:
        """The element's text where it has nothing else; otherwise what it holds, by name."""
        if not self.children:
            return self.text.strip()
        fields: dict[str, object] = {
            name: items[0] if len(items) == 1 else items for name, items in self.children.items()
        }
        if self.text.strip():
            fields["#text"] = self.text.strip()
        return fields


def _tree(text: str) -> object:
    """The elements of balanced tags, by name; attributes as `@_name`, repeated elements as lists."""
    root = _Element("")
    opened = [root]
    at = 0
    for tag in _tags(text):
        opened[-1].text += text[at : tag.start]
        at = tag.end
        if tag.kind != "closing":
            element = _Element(tag.name)
            for name, double, single in _ATTRIBUTE.findall(tag.attributes):
                element.children[f"@_{name}"] = [double or single]
            opened.append(element)
        if tag.kind != "opening" and len(opened) > 1:
            done = opened.pop()
            opened[-1].children.setdefault(done.name, []).append(done.value())
    return root.value()


def _missing(text: str, elements: Sequence[Path]) -> str:
    """Which of these elements are not there, in words; empty for none."""
    if not elements:
        return ""
    tree = _tree(text)
    missing = [".".join(path) for path in elements if not _there(tree, path)]
    return f"missing: {', '.join(missing)}" if missing else ""


def _there(value: object, path: Path) -> bool:
    for key in path:
        if is_array(value):
            if not (key.isdecimal() and str(int(key)) == key and int(key) < len(value)):
                return False
            value = value[int(key)]
        elif is_mapping(value):
            if key not in value:
                return False
            value = value[key]
        else:
            return False
    return True


LONGEST = 10_485_760
"""Characters; a longer text is taken for no HTML."""

_ELEMENTS = frozenset(
    """
    html head title base link meta style body article section nav aside h1 h2 h3 h4 h5 h6 header footer address p hr pre
    blockquote ol ul li dl dt dd figure figcaption main div a em strong small s cite q dfn abbr ruby rt rp data time
    code var samp kbd sub sup i b u mark bdi bdo span br wbr img iframe embed object param picture source video audio
    track map area svg math script noscript canvas ins del table caption colgroup col tbody thead tfoot tr td th form
    label input button select datalist optgroup option textarea output progress meter fieldset legend details summary
    dialog menu slot template
    """.split()
)
"""The elements of the HTML standard."""
_WRITTEN = {
    name: re.compile(rf"<{name}(?=[\s>/])", re.IGNORECASE) for name in ("html", "head", "body")
}
"""Elements that a parser adds where nobody wrote them."""

_OPENING = re.compile(r"<[a-zA-Z][a-zA-Z0-9-]*(?:\s[^>]*)?>")
_CLOSING = re.compile(r"</[a-zA-Z][a-zA-Z0-9-]*\s*>")
_SIGNS = (
    (re.compile(r"<[a-zA-Z][a-zA-Z0-9-]*(?:\s[^>]*)?/>"), 1),
    (re.compile(r"&(?:[a-zA-Z]+|#[0-9]+|#x[0-9a-fA-F]+);"), 1),
    (re.compile(r"<!DOCTYPE\s+html", re.IGNORECASE), 2),
    (re.compile(r"<!--[^-]*(?:-[^-]+)*-->"), 1),
    (re.compile(r"\s[a-zA-Z-]+=\s*[\"'][^\"']*[\"']"), 1),
    (
        re.compile(
            r"<(html|head|body|div|span|p|a|img|h[1-6]|ul|ol|li|table|tr|td|th|form|input|button|script|style|link|meta"
            r"|br|hr)\b",
            re.IGNORECASE,
        ),
        2,
    ),
)
"""What looks like HTML, and how much it counts. Two are enough."""


class IsHtml(Record, frozen=True):
    """The whole output is HTML: elements that HTML knows, and no text beside them."""

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        wrong = _not_html(text_of(output).strip())
        return check(not wrong, wrong)

    def __str__(self) -> str:
        return "is-html"


class ContainsHtml(Record, frozen=True):
    """Somewhere in the output there is HTML, by the look of it: tags that open and close, attributes, entities."""

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        text = text_of(output)
        if len(text) > LONGEST:
            return check(False, "the output is too long to look for HTML")
        signs = bool(_OPENING.search(text)) + bool(_CLOSING.search(text))
        signs += sum(weight for sign, weight in _SIGNS if sign.search(text))
        return check(signs >= 2, "" if signs >= 2 else "there is no HTML in it")

    def __str__(self) -> str:
        return "contains-html"


def _not_html(text: str) -> str:
    """Why this is not HTML; empty where it is."""
    if not text:
        return "the output is empty"
    if len(text) > LONGEST:
        return "the output is too long to be read as HTML"
    # An HTML parser reads the XML declaration as a comment, and would let XML pass.
    if text[:5].lower() == "<?xml":
        return "the output is XML"
    from justhtml import JustHTML  # noqa: PLC0415 (only where HTML is looked for)

    nodes = list(_all_nodes(JustHTML(text, sanitize=False).root))
    body = next((node for node in nodes if node.name == "body"), None)
    # Text outside of the written elements ends up in the body that the parser adds.
    if body is not None and not _WRITTEN["body"].search(text):
        for child in body.children or ():
            if child.name == "#text" and str(child.data).strip():
                return "there is text outside of any element"
    if not any(_known(str(node.name), text) for node in nodes):
        return "there is no element that HTML knows"
    return ""


def _known(name: str, text: str) -> bool:
    if name in _WRITTEN:
        return _WRITTEN[name].search(text) is not None
    # Custom elements have a hyphen in their name; #text, #comment and !doctype are nodes of the parser's.
    return name in _ELEMENTS or ("-" in name and name[:1] not in ("#", "!"))


def _all_nodes(root: Any) -> Iterator[Any]:
    # A list in place of recursion: deeply nested HTML would exceed Python's limit.
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children or ())
