"""Numbers on the command line: those of a range, or a message that says which they are."""

from __future__ import annotations

from typing import Any

import click

from evenhand.core.ranges import Range


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
