"""What the site has, in the order of docs/index.md: for the navigation, and for language models."""

from __future__ import annotations

import re
from pathlib import Path

SECTION = re.compile(r"^## (.+)$")
LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+\.md)(#[^)\s]*)?\)")
DECISIONS = "Design decisions"
ASIDE = ("Project", DECISIONS)
"""Sections for those who work on Evenhand: the search is for those who use it, and leaves them out."""
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"

Page = tuple[str, str]
"""A title, and the file."""


def sections(sources: Path) -> list[tuple[str, list[Page]]]:
    """The sections of docs/index.md with their pages. What it doesn't list goes to the last one, except decisions."""
    sections: list[tuple[str, list[Page]]] = [
        ("", [("Evenhand", "about.md"), ("Contents", "index.md")])
    ]
    listed = {"about.md", "index.md"}
    for line in (sources / "index.md").read_text("utf-8").splitlines():
        heading = SECTION.match(line)
        if heading:
            sections.append((heading.group(1), []))
        for _, name, anchor in LINK.findall(line):
            if not anchor and name not in listed and len(sections) > 1 and "decisions/" not in name:
                listed.add(name)
                sections[-1][1].append((title_of(sources / name), name))
    reference = next(pages for title, pages in sections if title == "Reference")
    for path in sorted((sources / "reference").glob("*.md")):
        reference.append((title_of(path), f"reference/{path.name}"))
        listed.add(f"reference/{path.name}")
    decisions = sorted((sources / "decisions").glob("*.md"))
    rest = {p.relative_to(sources).as_posix() for p in sources.rglob("*.md")} - listed
    rest -= {f"decisions/{p.name}" for p in decisions}
    sections[-1][1].extend((title_of(sources / name), name) for name in sorted(rest))
    sections.append((DECISIONS, [(title_of(p), f"decisions/{p.name}") for p in decisions]))
    return sections


def leave_out_of_search(folder: Path, sections: list[tuple[str, list[Page]]]) -> None:
    """Marks the pages of the sections in `ASIDE`, in a folder with all pages, for the generator."""
    for title, pages in sections:
        for _, name in pages if title in ASIDE else []:
            page = folder / name
            page.write_text(UNSEARCHED + page.read_text("utf-8"), "utf-8")


def title_of(page: Path) -> str:
    """The first heading of a page, without marks."""
    line = next(line for line in page.read_text("utf-8").splitlines() if line.startswith("# "))
    return line[2:].replace("`", "").strip()


def overview(sources: Path) -> str:
    """`llms.txt`: what Evenhand is, and a line for each page (https://llmstxt.org)."""
    about = (sources / "about.md").read_text("utf-8").split("\n\n")
    index = (sources / "index.md").read_text("utf-8")
    listed = index[index.index("## Start") :]
    made = sorted((sources / "reference").glob("*.md"))
    lines = "".join(f"- [{title_of(path)}](reference/{path.name})\n" for path in made)
    listed = listed.replace("## Project", f"### Made from the code\n\n{lines}\n## Project")
    return f"# Evenhand\n\n> {about[1]}\n\n{listed}"


def everything(sources: Path, sections: list[tuple[str, list[Page]]]) -> str:
    """`llms-full.txt`: all pages but the decisions, one after the other."""
    names = [name for title, pages in sections if title != DECISIONS for _, name in pages]
    return "\n\n".join((sources / name).read_text("utf-8").strip() for name in names) + "\n"
