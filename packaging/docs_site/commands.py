"""The reference of the command line, made from the commands: how each is called, its options, and examples."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache

import click

from evenhand.cli.examples import with_examples
from evenhand.cli.grouped import GROUPS, GroupedCommand
from evenhand.cli.verbs import MOVED, SECTIONS, evenhand

NAME = "commands"
"""The page's name on the site."""
MODEL = "run"
"""The command whose options others share. They list the names alone, if there are many."""
FEW = 3
"""Shared options that a command describes anew."""
BRIEF = """\
# Commands and options

```text
evenhand COMMAND --help        the options that people use daily, and examples
evenhand COMMAND --help-all    all options, where there are many
```

The page on the [command line](../command-line.md) has what the help leaves out: rules and limits, \
[exit codes](../command-line.md#exit-codes), [settings](../command-line.md#project-wide-settings) and \
[environment variables](../command-line.md#environment). Every command has `--help`."""
_CODE = re.compile(r"(`[^`]*`)")
_AS_CODE = re.compile(r"(?<![\w/-])--?[a-zA-Z][\w-]*|[\w./{},-]*[*_][\w./*{},-]*\w")
"""Options, patterns and names, which the help has without marks."""
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_HELP = re.compile(r"(?<!\[)`evenhand ([a-z -]*[a-z]) --help(?:-all)?`")
_NOTE = re.compile(r" *\[(default: .+|required|[^\[\]]*x<=[^\[\]]*)\]$", re.DOTALL)

Row = tuple[str, str]
"""How an option is written, and what it does."""


def page() -> str:
    """The page: the sections of the help, each with its commands, those of groups after the group."""
    parts = [BRIEF]
    listed = {name: section for section, names in SECTIONS.items() for name in names.split()}
    for section in SECTIONS:
        parts.append(f"## {section}")
        for words, command in commands().items():
            if listed.get(words.partition(" ")[0], "More") == section:
                parts.extend(_entry(words, command))
    parts.append("## Earlier names\n\nThese work as before, and say today's name.")
    rows = [f"| `evenhand {name}` | `evenhand {moved}` |" for name, moved in sorted(MOVED.items())]
    parts.append("\n".join(["| earlier | today |", "| --- | --- |", *rows]))
    return "\n\n".join(part for part in parts if part) + "\n"


@cache
def commands() -> Mapping[str, click.Command]:
    """Every command that the help lists, by its words, in the order of the help."""
    return dict(_inside(evenhand))


def anchor(words: str) -> str:
    """The anchor of a command on the page."""
    return f"evenhand-{words.replace(' ', '-')}"


def linked(text: str, to_page: str) -> str:
    """Another page, in which `evenhand COMMAND --help` leads to what this one says of the command.

    Args:
        text: The other page.
        to_page: The path to this one from there.
    """

    def link(found: re.Match[str]) -> str:
        known = found[1] in commands()
        return f"[{found[0]}]({to_page}#{anchor(found[1])})" if known else found[0]

    parts = _FENCE.split(text)
    return "".join(part if part.startswith("```") else _HELP.sub(link, part) for part in parts)


def _inside(group: click.Group, *above: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        yield " ".join((*above, name)), command
        if isinstance(command, click.Group):
            yield from _inside(command, *above, name)


def _entry(words: str, command: click.Command) -> Iterator[str]:
    """A command's heading, how it is called, what it does, its options, its examples."""
    yield f"### evenhand {words}"
    context = click.Context(command)
    usage = " ".join(["evenhand", words, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```"
    yield from _text(command.help or "")
    options = _options(command)
    shared = _options(commands()[MODEL]) if words != MODEL else {}
    same = {name for name, row in options.items() if shared.get(name) == row}
    if len(same) <= FEW:
        same = set[str]()
    for heading, names in _headings(command, options).items():
        if heading:
            yield f"**{heading}**"
        rows = [options[name] for name in names if name not in same]
        if rows:
            lines = [f"| {written} | {text} |" for written, text in rows]
            yield "\n".join(["| option | effect |", "| --- | --- |", *lines])
        as_model = [_without_values(options[name][0]) for name in names if name in same]
        if as_model:
            yield f"As for [`evenhand {MODEL}`](#{anchor(MODEL)}): {', '.join(as_model)}."
    _, _, examples = (with_examples(command, *words.split()).epilog or "").partition("Examples:\n")
    if examples:
        yield f"```text\n{inspect.cleandoc(examples)}\n```"


def _headings(command: click.Command, options: Mapping[str, Row]) -> Mapping[str, list[str]]:
    """The headings of the command's help, with the names of the options below each; none where it has none."""
    if not isinstance(command, GroupedCommand):
        return {"": [*options]}
    found = {
        heading: [name for name in names.split() if name in options]
        for heading, names in GROUPS.items()
    }
    grouped = {name for names in found.values() for name in names}
    found["Options"] = [name for name in options if name not in grouped]
    return {heading: names for heading, names in found.items() if names}


def _options(command: click.Command) -> Mapping[str, Row]:
    """By the name of its parameter each option that the help shows, `--help` apart."""
    context = click.Context(command)
    rows: dict[str, Row] = {}
    for option in command.params:
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record is not None:
            written = ", ".join(f"`{one}`" for one in re.split(", | / ", record[0]))
            rows[str(option.name)] = written, _effect(record[1])
    return rows


def _effect(text: str) -> str:
    """What an option does, with its default and what it requires as sentences."""
    note = _NOTE.search(text)
    if note is None:
        return _escaped(text)
    said = note[1][0].upper() + note[1][1:]
    return _escaped(f"{text[: note.start()]} {said}.".strip())


def _without_values(written: str) -> str:
    return re.sub(r" [^`]*`$", "`", written)


def _text(doc: str) -> Iterator[str]:
    """A command's docstring: its paragraphs, and as code those that keep their lines."""
    for paragraph in inspect.cleandoc(doc).split("\n\n"):
        if paragraph.startswith("\b\n"):
            yield f"```text\n{inspect.cleandoc(paragraph[2:])}\n```"
        elif paragraph.startswith("    "):
            yield f"```text\n{paragraph.strip()}\n```"
        else:
            yield _escaped(" ".join(paragraph.split()))


def _escaped(text: str) -> str:
    """A text of the help as Markdown: what has to stay as it is becomes code."""
    parts = _CODE.split(text)
    return "".join(
        part
        if part.startswith("`")
        else _AS_CODE.sub(r"`\g<0>`", part).replace("<", "&lt;").replace("|", "&#124;")
        for part in parts
    )
