"""The list of prompts in the README, and the shell's verbs for them: written anew, only between their marks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from evenhand.core.wording.words import count
from evenhand.doors.prompt_directories.doctor import ALIAS
from evenhand.doors.prompt_directories.library import Library
from evenhand.doors.prompt_directories.prompt import STATUSES, PromptFolder, read_prompt
from evenhand.doors.prompt_directories.writing import write
from evenhand.languages.documents.findings import Findings, shown_path

README = "README.md"
SHELL = "aliases.sh"
START, END = "<!-- INDEX:START -->", "<!-- INDEX:END -->"
FIRST, LAST = "# AUTO-GENERATED:START", "# AUTO-GENERATED:END"
_MARK = re.compile(r"^#.*AUTO-GENERATED.*$", re.MULTILINE)
_HEADER = f"""\
# Verbs for the prompts of this repository: source this file from your shell's start-up file.
# What stands between the two marks is rewritten by `evenhand prompt index`; the rest is yours.
EVENHAND_PROMPTS=$(cd "$(dirname "${{BASH_SOURCE[0]:-$0}}")" && pwd)
prompts() {{ evenhand prompt -C "$EVENHAND_PROMPTS" list "$@"; }}
prompt-where() {{ printf '%s\\n' "$EVENHAND_PROMPTS/prompts/$1"; }}
prompt-edit() {{ evenhand prompt -C "$EVENHAND_PROMPTS" edit "$@"; }}

{FIRST}
{LAST}
"""


def index(library: Library, shell: str = SHELL) -> list[str]:
    """Writes the index, and says what it did, a line for each file and each thing that was left out."""
    findings = Findings()
    prompts = [read_prompt(library, id_, findings) for id_ in library.ids()]
    return [*_readme(library.root / README, prompts), *_shell(library, shell, prompts)]


def _readme(path: Path, prompts: Sequence[PromptFolder]) -> list[str]:
    name = shown_path(path)
    with_marks = f"Put a line {START} and one {END} into it, where the list should go."
    if not path.is_file():
        return [f"{name} does not exist: no list was written. {with_marks}"]
    with path.open(encoding="utf-8", newline="") as file:
        text = file.read()
    start, end = text.find(START), text.find(END)
    if start < 0 or end < start or text.count(START) > 1 or text.count(END) > 1:
        return [f"{name} has no place for the list, and was left as it is. {with_marks}"]
    table = _table(prompts)
    changed = write(path, f"{text[: start + len(START)]}\n{table}{text[end:]}")
    return [f"{name}: {count(len(prompts), 'prompt')}, {'written' if changed else 'unchanged'}"]


def _table(prompts: Sequence[PromptFolder]) -> str:
    lines: list[str] = []
    for status in reversed(STATUSES):
        rows = [prompt for prompt in prompts if prompt.meta.status == status]
        if not rows:
            continue
        lines += ["", f"### {status}", "", "| prompt | version | summary |", "| --- | --- | --- |"]
        for prompt in rows:
            meta = prompt.meta
            title = _cell(meta.title or prompt.id).replace("[", "\\[").replace("]", "\\]")
            link = f"[{title}](prompts/{prompt.id}/)"
            lines.append(f"| {link} | {_cell(meta.version)} | {_cell(meta.summary)} |")
    return "\n".join([*lines, "", ""]) if lines else "\n"


def _cell(text: str) -> str:
    """A text as a cell of a table: one line, and nothing in it that ends the cell or begins markup."""
    line = " ".join(text.split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return line.replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`")


def _shell(library: Library, name: str, prompts: Sequence[PromptFolder]) -> list[str]:
    path = library.root / name
    verbs, messages = _verbs(prompts)
    if not verbs and not path.is_file():
        return messages
    text = _HEADER
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as file:
            text = file.read()
    marks = list(_MARK.finditer(text))
    if len(marks) != 2:
        what = f"{shown_path(path)} has no two lines AUTO-GENERATED, and was left as it is."
        return [*messages, f"{what} Put {FIRST} and {LAST} into it."]
    first, last = marks
    lines = "".join(
        f'{verb}() {{ evenhand prompt -C "${{EVENHAND_PROMPTS:-.}}" render {id_} "$@"; }}\n'
        for verb, id_ in verbs
    )
    changed = write(path, f"{text[: first.end()]}\n{lines}{text[last.start() :]}")
    state = "written" if changed else "unchanged"
    return [*messages, f"{shown_path(path)}: {count(len(verbs), 'verb')}, {state}"]


def _verbs(prompts: Sequence[PromptFolder]) -> tuple[list[tuple[str, str]], list[str]]:
    """The verbs with the prompts that they fill in, and with --send send, and those that were left out."""
    verbs: dict[str, str] = {}
    messages: list[str] = []
    for prompt in prompts:
        for alias, line in prompt.aliases(Findings()):
            if not ALIAS.fullmatch(alias):
                messages.append(f"{prompt.id}/aliases:{line}: {alias!r} cannot be a verb: left out")
            elif verbs.setdefault(alias, prompt.id) != prompt.id:
                messages.append(
                    f"{prompt.id}/aliases:{line}: '{alias}' is {verbs[alias]}'s: left out"
                )
    return list(verbs.items()), messages
