"""How the options of commands are declared, by what they take; one that takes anything else is a `click.option`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from evenhand.core.ranges import Range

F = TypeVar("F", bound=Callable[..., Any] | click.Command)


def flag(*names: str, **about: Any) -> Callable[[F], F]:
    """An option that is there or isn't."""
    return click.option(*names, is_flag=True, **about)


def text_option(*names: str, **about: Any) -> Callable[[F], F]:
    """An option that takes a text; empty where it isn't there."""
    return click.option(*names, default="", **about)


def repeatable(*names: str, **about: Any) -> Callable[[F], F]:
    """An option that may be there several times."""
    return click.option(*names, multiple=True, **about)


def number_option(*names: str, within: Range, **about: Any) -> Callable[[F], F]:
    """An option that takes a number of a range."""
    return click.option(*names, type=Number(within), **about)


def file_option(*names: str, **about: Any) -> Callable[[F], F]:
    """An option that takes the path of a file, which need not be there."""
    return click.option(*names, type=click.Path(path_type=Path, dir_okay=False), **about)


class Number(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] (it takes none before 8.5)
    """A number of a range. NaN and infinities are in none."""

    name = "number"

    def __init__(self, within: Range) -> None:
        self._within = within

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number.

        Raises:
            BadParameter: It is none, or not in the range.
        """
        number: object = value
        if isinstance(value, str):
            try:
                number = int(value) if self._within.whole else float(value)
            except ValueError:
                number = None
        written = value if number is None else number
        if isinstance(written, float) and written.is_integer():
            written = int(written)  # as it is typed
        if problem := self._within.problem("it", written):
            self.fail(f"{problem}.", param, ctx)
        return number  # pyright: ignore[reportReturnType] (a number, as it is in the range)
