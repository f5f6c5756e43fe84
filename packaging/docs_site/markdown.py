"""Markdown as GitHub shows it, made fit for Python-Markdown, which the generator uses.

The two differ in four ways that our pages meet: a list needs an empty line before it, what belongs to an item of a
list is indented by four, a bar in code in a table has no backslash, and a link can only lead to what is on the site.
A picture `NAME-light.png` is `NAME-dark.png` in the dark.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

FENCE = re.compile(r"^ *(```|~~~)")
ITEM = re.compile(r"^( *)([-*]|\d+\.)( +)(?=\S)")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`]+`")
STEP = 4


def for_site(page: Path, place: Path, pages: Mapping[Path, Path]) -> str:
    """A page's text for the generator.

    Args:
        page: The file.
        place: Where it is on the site.
        pages: Where all pages are on the site.
    """
    lines = _lists(page.read_text("utf-8").splitlines())
    return "\n".join(_linked(lines, page, place, pages)) + "\n"


def _lists(lines: list[str]) -> Iterator[str]:
    """The lines, with lists as Python-Markdown reads them."""
    columns: list[int] = []
    in_fence = False
    before = ""
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if FENCE.match(line):
            in_fence = not in_fence
        elif not in_fence and line.strip():
            while columns and indent < columns[-1]:
                columns.pop()
            item = ITEM.match(line)
            if item and before.strip() and not columns and not ITEM.match(before):
                yield ""
            yield _moved(line, columns)
            if item:
                columns.append(item.end())
            before = line
            continue
        yield _moved(line, columns) if line.strip() else ""
        before = line


def _moved(line: str, columns: list[int]) -> str:
    """A line, indented by four for each list that it is in, instead of by the width of its marks."""
    if not columns:
        return line
    indent = len(line) - len(line.lstrip(" "))
    within = min(indent, columns[-1])
    return " " * (STEP * len(columns) + indent - within) + line.lstrip(" ")


def _linked(
    lines: Iterator[str], page: Path, place: Path, pages: Mapping[Path, Path]
) -> Iterator[str]:
    """The lines, with links to other pages as they are on the site, and without links to what isn't there."""

    def moved(link: re.Match[str]) -> str:
        mark, text, target = link.groups()
        path, hash_, anchor = target.partition("#")
        if "://" in target or not path:
            return link.group()
        aim = (page.parent / path).resolve()
        if aim in pages:
            there = os.path.relpath(pages[aim], place.parent)
            return f"{mark}[{text}]({there}{hash_}{anchor})"
        if mark:
            docs = next(p for p in pages if p.name == "index.md").parent
            there = os.path.relpath(aim.relative_to(docs), place.parent)
            dark = there.replace("-light.", "-dark.")
            if dark == there or not aim.with_name(Path(dark).name).exists():
                return f"![{text}]({there})"
            return f"![{text}]({there}#only-light)![{text}]({dark}#only-dark)"
        return text if text.startswith("`") else f"{text} (`{aim.name}`)"

    in_fence = False
    for line in lines:
        if FENCE.match(line):
            in_fence = not in_fence
        yield line if in_fence else LINK.sub(moved, _barred(line))


def _barred(line: str) -> str:
    """A line in which bars in the code of a table have no backslash."""
    if not line.startswith("|"):
        return line
    return CODE.sub(lambda code: code.group().replace("\\|", "|"), line)
