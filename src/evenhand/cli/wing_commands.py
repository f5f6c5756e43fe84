"""Commands that wings bring: ours and those of installed packages, imported when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping

import click

from evenhand.cli.examples import with_examples
from evenhand.core.wing import all_wings, part


def wing_command(*words: str) -> click.Command | None:
    """The command of these words, with its examples; None where no wing brings it.

    Raises:
        UsageError: It cannot be loaded, or is no command.
    """
    brought = part("commands", " ".join(words))
    if brought is None:
        return None
    command = brought.load()
    if not isinstance(command, click.Command):
        raise brought.broken(
            f"is {type(command).__name__}, not a command",
            hint="A command is made with @click.command.",
        )
    return with_examples(command, *words)


def wing_summaries(group: str = "") -> Mapping[str, str]:
    """The commands that wings bring to a group, or to the top: each with its line of help."""
    lines: dict[str, str] = {}
    for _, wing in all_wings():
        for name, command in wing.commands.items():
            above, _, last = name.rpartition(" ")
            if above == group:
                # Our own wings come first, and a name of ours stays ours.
                lines.setdefault(last, command.summary)
    return lines


def wing_sections() -> Mapping[str, str]:
    """The commands of one word that wings bring, each with the heading that lists it."""
    sections: dict[str, str] = {}
    for _, wing in all_wings():
        for name, command in wing.commands.items():
            if " " not in name:
                sections.setdefault(name, command.section)
    return sections


class WingGroup(click.Group):
    """A group of commands of ours that wings add some to."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Ours and theirs."""
        return sorted({*super().list_commands(ctx), *wing_summaries(self.name or "")})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of ours, or of a wing."""
        return super().get_command(ctx, cmd_name) or wing_command(self.name or "", cmd_name)
