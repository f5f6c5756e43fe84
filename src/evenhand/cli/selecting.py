"""The options that say which part of the tests is meant: the same wherever tests are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

F = TypeVar("F", bound=Callable[..., object])

_OPTIONS = (
    click.option(
        "--filter",
        "filter_",
        default="",
        metavar="REGEX",
        help="Only tests whose description or variables match.",
    ),
    click.option("--first", type=click.IntRange(1), metavar="N", help="Only the first N tests."),
    click.option(
        "--sample", type=click.IntRange(1), metavar="N", help="Only N tests, drawn at random."
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="For --sample."),
    click.option("--repeat", type=click.IntRange(1), metavar="N", help="Ask everything N times."),
)


def selecting(command: F) -> F:
    """Adds the options of a selection to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
