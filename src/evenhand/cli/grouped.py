"""Options that several commands take, and commands that show theirs under headings, by what one looks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

import click

F = TypeVar("F", bound=Callable[..., object] | click.Command)

GROUPS: Mapping[str, str] = {
    "What to run": "filter_ filter_pattern filter_metadata filter_range first sample seed filter_prompts "
    "filter_providers filter_failing filter_failing_only filter_errors_only names case tag repeat configs "
    "shard everything",
    "Models": "model grader replay replay_or_ask max_age record_anew offline offline_in_ci definitions delay env_files",
    "Spending and limits": "concurrency max_cost no_cache retries time_limit",
    "Batches": "batch detach batch_until batch_waves batch_size batch_poll",
    "Several processes": "workers ray cpus_per_trial",
    "Output": "outputs to as_json calls verbose no_table no_progress no_write description notify",
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


class GroupedCommand(click.Command):
    """A command whose help lists its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, each under its heading; those that have none come last."""
        rows = {
            parameter.name: row
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option)
            and (row := parameter.get_help_record(ctx)) is not None
        }
        for heading, names in GROUPS.items():
            group = [rows.pop(name) for name in names.split() if name in rows]
            if group:
                with formatter.section(heading):
                    formatter.write_dl(group)
        if rows:
            with formatter.section("Options"):
                formatter.write_dl(list(rows.values()))
