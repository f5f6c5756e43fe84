"""Options that several commands take, and commands that show theirs under headings, by what one looks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

import click

from evenhand.cli.verbs import EVERY_OPTION

F = TypeVar("F", bound=Callable[..., object] | click.Command)

GROUPS: Mapping[str, str] = {
    "What to run": "filter_ filter_pattern filter_metadata filter_range first sample budget predicted_from draw seed "
    "filter_prompts filter_providers filter_failing filter_failing_only filter_errors_only names case tag repeat "
    "configs shard everything",
    "Models": "model grader replay replay_or_ask max_age record_anew record_calls offline offline_in_ci definitions "
    "delay env_files",
    "Spending and limits": "concurrency max_cost no_cache retries time_limit",
    "Batches": "batch detach batch_until batch_waves batch_size batch_poll",
    "Several processes": "workers ray cpus_per_trial",
    "Output": "outputs to as_json calls verbose no_table no_progress no_write description run_tags notify",
    "Verdict and exit code": "baseline margin undecided metrics lower at_least stop_when_decided calibrated canaries "
    "strict exit_zero promptfoo_exit_codes fail_on_empty",
    "Earlier runs": "resumed retry_errors trust",
    "Promptfoo configs": "prompts providers tests model_outputs assertions var prompt_prefix prompt_suffix "
    "extensions strict_prompts no_share",
}
"""Headings, in their order, with the options below each, by the names of their parameters."""


class _Decorator(Protocol):
    """What `click.option` returns."""

    def __call__(self, command: F, /) -> F: ...


class OptionSet:
    """Options that several commands take, as one decorator.

    Args:
        options: In the order in which the help lists them; sets among them.
    """

    def __init__(self, *options: _Decorator) -> None:
        self._options = options

    def __call__(self, command: F, /) -> F:
        # A decorator puts its option before those that were added earlier.
        for option in reversed(self._options):
            command = option(command)
        return command


COMMON = frozenset(
    "filter_ first sample names case tag repeat model grader replay offline concurrency max_cost no_cache batch "
    "workers outputs as_json verbose baseline margin metrics at_least exit_zero undecided to detach everything".split()
)
"""What people use daily, and what examples and guides begin with, by parameter names: all that the help of a command
with more options than `MOST` shows."""
MOST = 25
"""Options of a command whose help shows all of them."""
PROMPTFOO_NAMES = frozenset(
    "--filter-first-n --filter-sample --filter-sample-seed --filter-targets --max-concurrency --vars --env-path "
    "--no-progress-bar".split()
)
"""Names that promptfoo has for options of ours."""


class GroupedCommand(click.Command):
    """A command whose help lists its options under headings; of many, only those that people use daily.

    `--help-all`, a word that all commands know, lists all of them, and what promptfoo calls some of them at the end.
    """

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, each under its heading; those that have none come last."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        shows_all = len(options) <= MOST or bool(ctx.meta.get(EVERY_OPTION))
        rows: dict[str | None, tuple[str, str]] = {}
        theirs: list[tuple[str, str]] = []
        for option in options:
            row = option.get_help_record(ctx)
            if row is None:
                continue
            names, text = row
            for name in PROMPTFOO_NAMES.intersection((*option.opts, *option.secondary_opts)):
                names = names.replace(f", {name}", "")
                ours = next(
                    n for n in option.opts if n.startswith("--") and n not in PROMPTFOO_NAMES
                )
                theirs.append((name, f"The same as {ours}."))
            rows[option.name] = names, text
        for heading, group in GROUPS.items():
            listed = [
                (name, row) for name in group.split() if (row := rows.pop(name, None)) is not None
            ]
            chosen = [row for name, row in listed if shows_all or name in COMMON]
            if chosen:
                with formatter.section(heading):
                    formatter.write_dl(chosen)
        if shows_all and theirs:
            with formatter.section("Names that promptfoo has for some of these"):
                formatter.write_dl(sorted(theirs))
        rest = list(rows.values())
        if not shows_all:
            rest.append(("--help-all", f"Show all {len(options)} options and exit."))
        with formatter.section("Options"):
            formatter.write_dl(rest)
