"""A ready prompt as a skill: `dist/skills/ID/SKILL.md`, what it is for in front, what it says in Markdown."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from evenhand.core.errors import ConfigError, StoreError, UsageError
from evenhand.doors.prompt_directories.doctor import shape_problems
from evenhand.doors.prompt_directories.library import leads_out
from evenhand.doors.prompt_directories.markup import parsed
from evenhand.doors.prompt_directories.prompt import PromptFolder
from evenhand.doors.prompt_directories.writing import write

DIST = ("dist", "skills")
_RULES = frozenset({"rules", "constraints", "instructions"})
_FORMAT = frozenset({"output_format", "output-format", "outputformat", "format"})


def export(prompt: PromptFolder, *, force: bool = False) -> tuple[Path, list[str]]:
    """Writes a prompt as a skill. What was in its folder below dist/ is gone.

    Args:
        force: Also one that is not ready, or not of the shape of a skill.

    Returns:
        The file, and what is worth a look.

    Raises:
        UsageError: It is not ready.
        ConfigError: All that keeps it from being a skill.
        StoreError: It cannot be written.
    """
    notes: list[str] = []
    if prompt.meta.status != "ready":
        what = f"{prompt.id} is {prompt.meta.status}, and only a prompt that is ready is exported"
        if not force:
            raise UsageError(what, hint=f"evenhand prompt promote {prompt.id}; or use --force.")
        notes.append(what)
    findings = shape_problems(prompt)
    if findings.problems and not force:
        raise ConfigError(findings.problems, findings.hints)
    notes += [str(problem) for problem in (*findings.problems, *findings.hints)]
    folder = prompt.library.root.joinpath(*DIST, prompt.id)
    # Before anything is removed: through a link, files outside of the repository would be deleted.
    if leads_out(folder, prompt.library.root):
        raise UsageError(
            f"{folder} is a link that leads out of the repository: nothing was written"
        )
    try:
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be removed: {error.strerror}") from error
    body = markdown(prompt)
    write(folder / "SKILL.md", f"{_front(prompt)}{body}")
    notes.append(
        f"{len(prompt.meta.description):,} characters of description, {len(body.split()):,} words"
    )
    return folder / "SKILL.md", notes


def _front(prompt: PromptFolder) -> str:
    meta = prompt.meta
    metadata = {"version": meta.version, "source_model": meta.model, "source": "evenhand"}
    lines = [
        "---",
        f"name: {prompt.id}",
        f"description: {_scalar(meta.description or meta.summary)}",
        "metadata:",
        *(f"  {key}: {_scalar(value)}" for key, value in metadata.items()),
        "---",
        "",
        "",
    ]
    return "\n".join(lines)


def _scalar(text: str) -> str:
    """A text as YAML has it on one line: JSON is YAML."""
    return json.dumps(" ".join(text.split()), ensure_ascii=False)


def markdown(prompt: PromptFolder) -> str:
    """What a prompt says, in Markdown; as one block where it is not XML."""
    title = f"# {' '.join(prompt.meta.title.split()) or prompt.id}\n\n"
    root = parsed(prompt.template)
    if root is None:
        # Longer than any fence in the text, which would otherwise end this one.
        fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", prompt.template)), default=0))
        return f"{title}{fence}xml\n{prompt.template.strip()}\n{fence}\n"
    # The one element around all others, such as <prompt>, says nothing by itself.
    while len(root) == 1 and len(root[0]) and not (root.text or "").strip():
        root = root[0]
    parts = [title.rstrip(), *_sections(prompt, root)]
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def _sections(prompt: PromptFolder, root: Element) -> Iterator[str]:
    yield _text(root.text)
    elements = list(root)
    for element in elements:
        if element.tag == "role":
            yield _inside(element)
    if prompt.meta.inputs:
        rows = [
            f"- `{i.name}`" + ("" if i.required else f" (optional, by default {i.default!r})")
            for i in prompt.meta.inputs
        ]
        yield "## Inputs\n\n" + "\n".join(rows)
    for element in elements:
        name = element.tag.lower()
        if name == "role":
            continue
        if name in _RULES:
            yield f"## Rules\n\n{_bullets(element)}"
        elif name in _FORMAT:
            yield f"## Output format\n\n{_bullets(element)}"
        else:
            words = re.sub(r"[_-]+", " ", element.tag).capitalize()
            yield f"## {words}\n\n{_inside(element)}"
        yield _text(element.tail)


def _bullets(element: Element) -> str:
    """An element's parts, or its lines, as a list."""
    if len(element):
        lines = [_text(element.text), *(_inside(child) for child in element)]
    else:
        lines = [line.strip().lstrip("-*").strip() for line in (element.text or "").splitlines()]
    return "\n".join(f"- {' '.join(line.split())}" for line in lines if line.strip())


def _inside(element: Element) -> str:
    """All text in an element."""
    return _text("".join(element.itertext()))


def _text(text: str | None) -> str:
    lines = [line.strip() for line in (text or "").strip().splitlines()]
    return "\n".join(lines)
