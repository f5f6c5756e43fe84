"""`evenhand info completion`: the lines by which a shell completes commands, options, runs and prompts."""

from __future__ import annotations

import sys

import click

from evenhand.cli.exits import PASSED
from evenhand.cli.streams import printing

VARIABLE = "_EVENHAND_COMPLETE"


@click.command(short_help="Print the shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the script with which your shell completes commands, options, and ids of runs and prompts.

    \b
    bash  put into ~/.bashrc:
            eval "$(evenhand info completion bash)"
    zsh   put into ~/.zshrc, after compinit:
            eval "$(evenhand info completion zsh)"
    fish  save as
          ~/.config/fish/completions/evenhand.fish
    """  # noqa: D301 (click's mark for a paragraph that keeps its lines)
    from click.shell_completion import get_completion_class

    from evenhand.cli.verbs import evenhand

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 (one of the three above)
    with printing():
        sys.stdout.write(kind(evenhand, {}, "evenhand", VARIABLE).source() + "\n")
    return PASSED
