"""The table of verbs. Each group of them is a module that is imported when one of its verbs is asked for."""

from __future__ import annotations

import importlib
import os
import shlex
from typing import TYPE_CHECKING

import click

from evenhand.cli import end_as_usual
from evenhand.core.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from click.shell_completion import CompletionItem

KERNEL = {
    "run": ("evenhand.cli.run", "Run prompts × models × tests, and say what passed."),
    "resume": (
        "evenhand.cli.resume",
        "Resume an unfinished run without paying for anything twice.",
    ),
    "retry": (
        "evenhand.cli.resume",
        "Retry the trials of a run that ended in an error.",
    ),
    "watch": ("evenhand.cli.watch", "Run again what a saved file changed."),
    "status": (
        "evenhand.cli.status",
        "Say how far a run is, and which of its batches are out.",
    ),
    "show": ("evenhand.cli.show", "Show a run, or one of its cells."),
    "check": (
        "evenhand.cli.check",
        "Validate a folder and estimate calls and cost. Sends nothing.",
    ),
    "export": ("evenhand.cli.show", "Write a run's results to a file."),
    "import": ("evenhand.cli.importing", "Import another tool's results, datasets and traces."),
    "compare": (
        "evenhand.cli.compare",
        "Compare two runs case by case.",
    ),
    "baseline": ("evenhand.cli.baseline", "Write a run as a baseline that `gate` compares with."),
    "merge": ("evenhand.cli.merge", "Make one run of the shards of a run."),
    "gate": ("evenhand.cli.gate", "Run, and say whether it became worse than a baseline."),
    "cassette": (
        "evenhand.cli.cassette",
        "Write what a run was answered to a file that `run --replay` takes.",
    ),
    "regrade": (
        "evenhand.cli.regrade",
        "Judge the outputs of a run again, with today's expectations.",
    ),
    "history": ("evenhand.cli.history", "Show how pass rate, cost and latency went, run by run."),
    "power": ("evenhand.cli.power", "Say how many cases, repeats or labels a question takes."),
    "label": ("evenhand.cli.label", "Label a random draw of what judges judged."),
    "rename": ("evenhand.cli.runs", "Rename a run."),
    "tag": ("evenhand.cli.runs", "Add tags to a run, or remove them."),
    "note": ("evenhand.cli.runs", "Add a note to a run."),
    "delete": ("evenhand.cli.runs", "Delete runs permanently."),
    "init": ("evenhand.cli.setup", "Create an example folder that runs right away."),
    "prompt": (
        "evenhand.cli.prompt",
        "Manage prompt directories: render, send, promote, list, doctor.",
    ),
    "new": ("evenhand.cli.new", "Create a starter eval set, judge or prompt function."),
    "dataset": (
        "evenhand.cli.dataset",
        "Show, convert, split, enrich or generate a dataset.",
    ),
    "doctor": ("evenhand.cli.setup", "Check your setup: Python, keys, folders."),
    "scorers": ("evenhand.cli.setup", "List the scorers and assertion types."),
    "providers": ("evenhand.cli.setup", "List the providers and how to write their ids."),
    "cache": ("evenhand.cli.cache", "Inspect or clear the reply cache."),
    "schema": ("evenhand.cli.schema", "Write the JSON Schema of a config, for your editor."),
    "completion": ("evenhand.cli.completion", "Print the shell completion script."),
}

_ORDER = (
    "run",
    "resume",
    "retry",
    "watch",
    "status",
    "view",
    "show",
    "check",
    "export",
    "import",
    "listen",
    "compare",
    "baseline",
    "merge",
    "push",
    "workers",
    "gate",
    "cassette",
    "regrade",
    "comment",
    "history",
    "power",
    "label",
    "calibrate",
    "probe",
    "canaries",
    "rename",
    "tag",
    "note",
    "delete",
    "init",
    "prompt",
    "new",
    "dataset",
    "doctor",
    "scorers",
    "providers",
    "cache",
    "mcp",
    "skill",
    "schema",
    "completion",
)
"""The order in which `evenhand --help` lists our commands."""

_EPILOG = """\b
Exit codes:
  0 passed · 1 failed · 2 usage or config
  3 undecided: too many errors
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


class _Verbs(click.Group):
    """Knows all verbs, and imports those that are used."""

    def invoke(self, ctx: click.Context) -> object:
        from evenhand.cli.streams import drop

        try:
            return super().invoke(ctx)
        except (
            BrokenPipeError
        ):  # click's own answer would be exit code 1, which says that trials failed
            drop()
            return 0

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [*_summaries()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in KERNEL:
            from evenhand.cli.wing_commands import wing_command

            return wing_command(cmd_name)
        module = importlib.import_module(KERNEL[cmd_name][0])
        names = vars(module)  # `import` is a word of Python's, so its function is called import_
        command = names.get(cmd_name) or names[f"{cmd_name}_"]
        assert isinstance(command, click.Command)  # noqa: S101 (our own table)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands, without importing any of them; options, as always."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=text)
            for name, text in _summaries().items()
            if name.startswith(incomplete)
        ]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if len(args) > 2 and args[1] == "eval":
            from evenhand.cli.other_words import words_hint

            if hint := words_hint(args):
                raise click.UsageError(hint, ctx)
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            from evenhand.cli.other_words import command_hint

            if os.path.exists(name):  # noqa: PTH110 (pathlib is not imported yet)
                hint = f"To run it: evenhand run {name}"
            else:
                hint = command_hint(name, _summaries()) or f"There are: {', '.join(_summaries())}."
            raise click.UsageError(f"'{name}' is not a command. {hint}", ctx)
        resolved = super().resolve_command(ctx, args)
        _, command, rest = resolved
        # A group without a command shows its help, too.
        helps = isinstance(command, click.Group) or any(word in _HELP for word in rest)
        if command is not None and helps:
            from evenhand.cli.examples import with_examples

            with_examples(command, name)
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
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([*_summaries().items()])


def _summaries() -> Mapping[str, str]:
    """All commands with their lines of help: ours in the order in which people meet them, then those of packages."""
    from evenhand.cli.wing_commands import wing_summaries

    lines = {**wing_summaries(), **{name: text for name, (_, text) in KERNEL.items()}}
    return {**{name: lines[name] for name in _ORDER}, **lines}


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


@click.group(
    cls=_Verbs,
    epilog=_EPILOG,
    context_settings={"help_option_names": _HELP, "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="evenhand %(version)s")
def evenhand() -> None:
    """Find out whether your LLM application is good, and whether a change made it better.

    \b
    evenhand init my-evals  create an example folder
    evenhand run my-evals   prompts × models × tests
    evenhand view           look at it in the browser
    evenhand show           look at the latest run again
    """  # noqa: D301 (click's mark for a paragraph that keeps its lines)
