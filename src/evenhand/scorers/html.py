"""Whether an output is HTML, or has some in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from evenhand.core.expect import Trial
from evenhand.core.record import Record
from evenhand.core.score import Score, check
from evenhand.scorers.text import text_of

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
