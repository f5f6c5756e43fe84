"""How the options of commands are declared, by what they take; one that takes anything else is a `click.option`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

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
