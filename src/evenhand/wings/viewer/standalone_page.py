"""The page as one file: the same script and styles, and the run packed into it. It loads nothing from anywhere.

What it shows is written in `page/src/views`. The data lie in elements that no browser executes, as gzip in base64, in
which no markup can occur; the page unpacks them when it needs them. What may run is said by hash in the page's own
policy: the one script, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import Any, TextIO

from evenhand.core.encoding import encode
from evenhand.core.wording.json_text import writer
from evenhand.core.wording.words import safe
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.cell import cell
from evenhand.wings.viewer.columns import CellBlock, parts
from evenhand.wings.viewer.comparison import comparison
from evenhand.wings.viewer.head import head, run_labels, summary
from evenhand.wings.viewer.page import ICON, static
from evenhand.wings.viewer.shapes import Head, RunSummary

_ENDS = re.compile(r"<(/script|/style|!--)", re.IGNORECASE)
CHUNK = 50
"""Cells in a chunk: what is unpacked to look at one of them."""


def write_page(run: RunFile, out: TextIO, baseline: RunFile | None = None) -> int:
    """Writes a run as a page; how many trials there were.

    Args:
        baseline: A run to hold it against: it is in the page, too, and what is said of the two.

    Raises:
        UsageError: The two cannot be compared.
        UsageError: This installation was built without the page.
        StoreError: A run cannot be read.
    """
    script, style = _inlined(static("app.js")), _inlined(static("app.css"))
    top = head(run)
    data: dict[str, Any] = {
        "runs": [_summary(top)],
        "head": top,
        "labels": run_labels(run),
        "summary": summary(run),
        "chunk_size": CHUNK,
    }
    if baseline is not None:
        before = head(baseline)
        data["runs"].append(_summary(before))
        data["comparison"] = comparison(run, baseline)
        data["baseline_head"] = before
        data["baseline_summary"] = summary(baseline)
    line = writer(out)
    line(_start(safe(top.title) or "Evenhand", script, style))
    line(_element("data-head", [encode(data, ordered=False)]))
    count = _write_run(run, "data", line)
    if baseline is not None:
        _write_run(baseline, "data-baseline", line)
    line(f"<script>{script}</script>\n</body>\n</html>\n")
    return count


def _write_run(run: RunFile, name: str, line: Callable[[str], object]) -> int:
    """A run's cells: numbers, texts to search in, and all there is of them in chunks; how many there are."""
    texts: list[bytes] = []
    line(_element(f"{name}-blocks", _told_apart(parts(run), texts)))
    for number, text in enumerate(texts):
        line(_packed_element(f"{name}-texts-{number}", text))
    trials, count = run.trials(), 0
    for number in itertools.count():
        cells = [cell(run, trial) for trial in itertools.islice(trials, CHUNK)]
        if not cells:
            break
        count += len(cells)
        line(_element(f"{name}-cells-{number}", [encode(cells, ordered=False)]))
    return count


def _start(title: str, script: str, style: str) -> str:
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; worker-src blob:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types matcher"
    )
    icon = base64.b64encode(ICON.encode()).decode()
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f'<title>{escape(title)}</title>\n<link rel="icon" href="data:image/svg+xml;base64,{icon}">\n'
        f'<style>{style}</style>\n</head>\n<body>\n<div id="app"></div>\n'
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _inlined(file: bytes) -> str:
    """A built file as it may stand in a page: no text in it ends its element early. In a string it means the same."""
    return _ENDS.sub(r"<\\\1", file.decode())


def _told_apart(blocks: Iterable[CellBlock], texts: list[bytes]) -> Iterator[bytes]:
    """The lines of the blocks; of each the text to search in is kept, packed."""
    for part in blocks:
        texts.append(b"".join(_gzip([part.text])))
        yield part.line


def _element(name: str, parts: Iterable[bytes]) -> str:
    return _packed_element(name, b"".join(_gzip(parts)))


def _packed_element(name: str, packed: bytes) -> str:
    data = base64.b64encode(packed).decode()
    return f'<script type="application/json+gzip" id="{name}">{data}</script>\n'


def _gzip(parts: Iterable[bytes]) -> Iterator[bytes]:
    packing = zlib.compressobj(
        9, zlib.DEFLATED, 31
    )  # gzip, without a time: the same run gives the same page
    for part in parts:
        yield packing.compress(part)
    yield packing.flush()


def _summary(top: Head) -> RunSummary:
    return RunSummary(**{name: getattr(top, name) for name in RunSummary.__struct_fields__})
