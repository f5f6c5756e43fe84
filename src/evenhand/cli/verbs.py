"""The table of verbs. Each group of them is a module that is imported when one of its verbs is asked for.

Verbs of wings stand in groups beside ours.
"""

from __future__ import annotations

import importlib
import os
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from evenhand.cli import end_as_usual
from evenhand.cli.examples import with_examples
from evenhand.cli.options import flag
from evenhand.cli.streams import drop, tell
from evenhand.core.version import __version__
from evenhand.core.wing import all_wings, part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from click.shell_completion import CompletionItem

COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("setup", "Create an example folder that runs right away."),
    "check": ("check", "Validate a folder and estimate calls and cost. Sends nothing."),
    "doctor": ("setup", "Check your setup: Python, keys, folders."),
    "run": ("run", "Run prompts × models × tests, and say what passed."),
    "watch": ("watch", "Run evals again when their files are saved."),
    "resume": ("resume", "Resume an unfinished run without paying for anything twice."),
    "regrade": ("regrade", "Judge the outputs of a run again, with today's expectations."),
    "show": ("show", "Show a run, or one of its cells."),
    "compare": ("compare", "Compare two runs case by case."),
    "export": ("show", "Write a run's results to a file."),
    "gate": ("gate", "Run, and say whether it became worse than a baseline."),
    "baseline": ("baseline", "Write a run as a baseline that `gate` compares with."),
    "label": ("label", "Label outputs by hand, to measure the judges."),
    "review": ("", "Review outputs, name their kinds of failure, and count them."),
    "runs": ("", "List, rename, tag, delete, merge and push runs."),
    "runs list": ("runs", "List all runs."),
    "runs history": ("history", "Show pass rate, cost and latency over time, run by run."),
    "runs status": ("status", "Say how far a run is, and which of its batches are out."),
    "runs rename": ("runs", "Rename a run."),
    "runs tag": ("runs", "Add tags to a run, or remove them."),
    "runs note": ("runs", "Add a note to a run."),
    "runs delete": ("runs", "Delete runs permanently."),
    "runs merge": ("merge", "Merge the shards of a run into one run."),
    "runs cassette": ("cassette", "Write a run's replies to a file that `run --replay` takes."),
    "data": ("dataset", "Show, convert, split, enrich or generate a dataset."),
    "prompt": ("prompt", "Manage prompt directories: render, send, promote, list, doctor."),
    "new": ("new", "Create a starter eval set, judge or prompt function."),
    "import": ("importing", "Import another tool's results, datasets and traces."),
    "cache": ("cache", "Inspect or clear the reply cache."),
    "info": ("", "Scorers, providers, schemas, sample sizes, shell completion, MCP server."),
    "info scorers": ("setup", "List the scorers and assertion types."),
    "info providers": ("setup", "List the providers and how to write their ids."),
    "info power": ("power", "Say how many cases, repeats or labels you need."),
    "info schema": ("schema", "Write the JSON Schema of a config, for your editor."),
    "info completion": ("completion", "Print the shell completion script."),
}
"""Our commands without those of wings: the module of `evenhand.cli` that has each, and its line of help.

A group without a module has nothing of its own: its commands are those whose first word it is.
"""

SECTIONS: Mapping[str, str] = {
    "Start": "init check doctor",
    "Run": "run watch resume regrade",
    "Look": "view show compare export",
    "CI": "gate baseline audit comment",
    "Judges": "review label calibrate probe",
    "More": "runs data prompt new import cache info",
}
"""The headings of `evenhand --help`, with the commands below each, those of our wings among them."""

MOVED: Mapping[str, str] = {
    "retry": "resume --errors",
    "dataset": "data",
    "skill": "prompt skill",
    **{
        name: f"runs {name}"
        for name in "canaries cassette delete history listen merge note push".split()
    },
    **{name: f"runs {name}" for name in "rename status tag".split()},
    **{name: f"info {name}" for name in "completion mcp power providers".split()},
    **{name: f"info {name}" for name in "schema scorers workers".split()},
}
"""Earlier names of commands, which work as before, and today's."""

_EPILOG = """\b
Exit codes:
  0 passed · 1 failed · 2 usage or config
  3 undecided: errors, or too little data
  4 budget used up · 5 nothing selected
  6 waiting for batches
  70 internal error · 130 SIGINT · 143 SIGTERM

\b
Runs are kept in .evenhand/ beside the config;
EVENHAND_HOME and EVENHAND_CACHE move them.
Data goes only to the models that you name.

\b
Examples:
  evenhand init my-evals
  evenhand run my-evals --offline
  evenhand view"""


_HELP = ("-h", "--help")
EVERY_OPTION = "evenhand.every_option"
"""The key of a context that says whether a help shows all options."""


class _Commands(click.Group):
    """A group that knows its commands by name, and imports those that are used."""

    @property
    def above(self) -> tuple[str, ...]:
        """The words before the name of one of its commands."""
        return (self.name or "",)

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [*_summaries(*self.above)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        return _command(*self.above, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        wrong = self.above and args[0][:1] != "-" and self.get_command(ctx, args[0]) is None
        if wrong and not ctx.resilient_parsing:  # which a shell's completion is
            from evenhand.core.names import did_you_mean

            known = _summaries(*self.above)
            hint = did_you_mean(args[0], known, f"There are: {', '.join(known)}.")
            what = f"'{args[0]}' is not a command of `evenhand {' '.join(self.above)}`"
            raise click.UsageError(f"{what}. {hint}", ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if "--help-all" in rest:
            ctx.meta[EVERY_OPTION] = True
            rest = ["--help" if word == "--help-all" else word for word in rest]
        # A group without a command shows its help, too.
        helps = isinstance(command, click.Group) or any(word in _HELP for word in rest)
        if name is not None and command is not None and helps:
            with_examples(command, *self.above, name)
        return name, command, rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands, without importing any of them; options, as always."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=text)
            for name, text in _summaries(*self.above).items()
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([*_summaries(*self.above).items()])


class _Verbs(_Commands):
    """The commands that have no other above them."""

    @property
    def above(self) -> tuple[str, ...]:
        """None."""
        return ()

    def invoke(self, ctx: click.Context) -> object:

        try:
            return super().invoke(ctx)
        except (
            BrokenPipeError
        ):  # click's own answer would be exit code 1, which says that trials failed
            drop()
            return 0

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if len(args) > 2 and args[1] == "eval":
            from evenhand.cli.other_words import words_hint

            if hint := words_hint(args):
                raise click.UsageError(hint, ctx)
        if (moved := MOVED.get(name)) is not None:
            if not ctx.resilient_parsing:  # nothing is said to a shell that completes a word
                tell(f"evenhand {name} is now called: evenhand {moved}")
            args = [*moved.split(), *args[1:]]
        elif not name.startswith("-") and self.get_command(ctx, name) is None:
            from evenhand.cli.other_words import command_hint

            if os.path.exists(name):  # noqa: PTH110 (pathlib is not imported yet)
                hint = f"To run it: evenhand run {name}"
            else:
                known = {**MOVED, **{word: word for word in _summaries()}}
                hint = command_hint(name, known) or f"There are: {', '.join(_summaries())}."
            raise click.UsageError(f"'{name}' is not a command. {hint}", ctx)
        resolved = super().resolve_command(ctx, args)
        end_as_usual()  # from here on, there may be something to finish
        return resolved

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As always, but an option before the command is told where it belongs."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = _moved(self, ctx, words, error.option_name)
            if hint is None:
                raise
            raise click.UsageError(hint, ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shows_all = bool(ctx.meta.get(EVERY_OPTION))
        for heading, names in _sections().items():
            with formatter.section(heading):
                formatter.write_dl(list(self._rows(ctx, names, shows_all=shows_all)))
        if shows_all:
            with formatter.section("Earlier names, which still work"):
                formatter.write_dl([(name, f"evenhand {now}") for name, now in MOVED.items()])

    def _rows(
        self, ctx: click.Context, names: Sequence[str], *, shows_all: bool
    ) -> Iterator[tuple[str, str]]:
        lines = _summaries()
        for name in names:
            yield name, lines[name]
            group = self.get_command(ctx, name) if shows_all else None
            if not isinstance(group, click.Group):
                continue
            for last in group.list_commands(ctx):
                command = group.get_command(ctx, last)
                if command is not None and not command.hidden:
                    yield f"{name} {last}", command.get_short_help_str(100)


def _command(*words: str) -> click.Command | None:
    """The command of these words, imported; None where there is none."""
    name = " ".join(words)
    if name not in COMMANDS:
        return wing_command(*words)
    module, summary = COMMANDS[name]
    if module:
        names = vars(importlib.import_module(f"evenhand.cli.{module}"))
        # `import` is a word of Python's, and `list` a type, so their functions are called import_ and list_.
        command = names.get(f"{words[-1]}_") or names[words[-1]]
    else:
        command = _Commands(name, help=summary, short_help=summary, no_args_is_help=True)
    assert isinstance(command, click.Command)  # noqa: S101 (our own table)
    return command


def _summaries(*above: str) -> Mapping[str, str]:
    """The commands of a group with their lines of help: ours in the order in which people meet them, then packages'."""
    group = " ".join(above)
    ours = {
        last: text
        for name, (_, text) in COMMANDS.items()
        for start, _, last in [name.rpartition(" ")]
        if start == group
    }
    lines = {**wing_summaries(group), **ours}
    if above:
        return {**ours, **lines}
    return {name: lines[name] for names in _sections().values() for name in names}


def _sections() -> Mapping[str, Sequence[str]]:
    """The headings of the help, with the commands below each: ours, then those of packages where they say."""
    sections = {heading: names.split() for heading, names in SECTIONS.items()}
    listed = {name for names in sections.values() for name in names}
    for name, heading in wing_sections().items():
        if name not in listed:
            sections[heading if heading in sections else "More"].append(name)
    return sections


def _moved(verbs: click.Group, ctx: click.Context, words: list[str], option: str) -> str | None:
    """Where an option belongs that stands before the command; None where no command there has it."""
    for at, name in enumerate(words):
        command = verbs.get_command(ctx, name)
        if command is None:
            continue
        for parameter in command.params:
            if option in (*parameter.opts, *parameter.secondary_opts):
                moved = shlex.join([name, *words[:at], *words[at + 1 :]])
                return f"'{option}' is an option of `evenhand {name}`, and comes after it: evenhand {moved}"
    return None


def _help_all(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    """Shows the help with all commands, if it is wanted, and exits."""
    del option
    if value and not ctx.resilient_parsing:
        ctx.meta[EVERY_OPTION] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


@click.group(
    cls=_Verbs,
    epilog=_EPILOG,
    context_settings={"help_option_names": _HELP, "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="evenhand %(version)s")
@flag(
    "--help-all",
    is_eager=True,
    expose_value=False,
    callback=_help_all,
    help="Show all commands, also those of groups and earlier names.",
)
def evenhand() -> None:
    """Find out whether your LLM application is good, and whether a change made it better.

    \b
    evenhand init my-evals  create an example folder
    evenhand run my-evals   prompts × models × tests
    evenhand view           look at it in the browser
    evenhand show           look at the latest run again
    """  # noqa: D301 (click's mark for a paragraph that keeps its lines)


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
