"""The pages of the site as HTML: the frame that each has, and the pieces that they are put together from.

A page stands alone: no script, no address, one style sheet inside of it, which the page's policy names by its hash. All
text is escaped, whoever wrote it, and nothing in it is a link.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape
from pathlib import Path

from evenhand.core.wording.words import safe
from evenhand.doors.prompt_directories.promotion_rules import Gate
from evenhand.languages.templates.plain import PLACE

MARK = '<meta name="generator" content="evenhand prompt site">'
"""What tells a page that is ours to write anew from one that is not."""


def page(title: str, body: Iterable[str], mark: str = MARK) -> str:
    """A whole page, with the mark by which its kind is known."""
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="referrer" content="no-referrer">\n{mark}\n'
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        f"{chr(10).join(body)}\n</main>\n</body>\n</html>\n"
    )


@lru_cache(maxsize=1)
def _style() -> str:
    return Path(__file__).with_name("static").joinpath("site.css").read_text("utf-8")


def text(value: object) -> str:
    """A text of whatever origin: what would steer a browser is escaped, and what nobody sees is shown."""
    return escape(safe(str(value), multiline=True))


def badge(label: object, kind: str = "") -> str:
    """A word in a frame; `good`, `bad` or `warn` says how it is meant."""
    return f'<li class="badge {kind}">{text(label)}</li>'


def badges(items: Iterable[str]) -> str:
    """Several of them."""
    return f'<ul class="badges">{"".join(items)}</ul>'


def facts(rows: Sequence[tuple[str, object]]) -> str:
    """Names with values; those without one are left out."""
    items = "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in rows if value)
    return f'<dl class="facts">{items}</dl>'


def gate_list(gates: Iterable[Gate]) -> str:
    """How gates stand."""
    items = "".join(
        f'<li class="{"met" if gate.met else "unmet"}"><b>{text(gate.name)}</b>: {text(gate.line)}</li>'
        for gate in gates
    )
    return f'<ul class="gates">{items}</ul>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; its cells are HTML already."""
    head = "".join(f'<th scope="col">{text(name)}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def cell(value: object, kind: str = "") -> str:
    """A cell of a table with this text."""
    return f'<td class="{kind}">{text(value)}</td>'


def template(source: str) -> str:
    """A prompt's text, its line breaks kept and its variables marked."""
    parts: list[str] = []
    end = 0
    for match in PLACE.finditer(source):
        parts += [text(source[end : match.start()]), f"<mark>{text(match[0])}</mark>"]
        end = match.end()
    return f"<pre>{''.join(parts)}{text(source[end:])}</pre>"


def difference(before: str, after: str) -> str:
    """What has changed between two texts, line by line; empty for nothing."""
    lines = list(
        difflib.unified_diff(
            before.splitlines(), after.splitlines(), "promoted", "now", lineterm=""
        )
    )
    kinds = {"+": "add", "-": "del", "@": "at"}
    marked = "".join(
        f'<span class="{kinds.get(line[:1], "same")}">{text(line) or " "}</span>'
        for line in lines[2:]
    )
    return f"<pre>{marked}</pre>" if lines else ""


def bullets(items: Iterable[object]) -> str:
    """A list of texts."""
    return f'<ul class="plain">{"".join(f"<li>{text(item)}</li>" for item in items)}</ul>'
