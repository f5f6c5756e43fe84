"""Who somebody is, as those who signed them in say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from aiohttp import web

from evenhand.core.record import Record
from evenhand.store.labels.label import LONGEST_AUTHOR

_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that nobody sees, though `str.isprintable` takes them: those of Unicode's
Default_Ignorable_Code_Point (DerivedCoreProperties.txt), and the blank of Braille."""


class Identity(Record, frozen=True):
    """A person's name, with which labels are signed, and groups."""

    name: str
    groups: Sequence[str] = ()


def identity(name: str, groups: Sequence[str] = ()) -> Identity | None:
    """The identity of this name; None where it is no name: a sign that nobody sees would make two names look alike."""
    plain = 0 < len(name) <= LONGEST_AUTHOR and name.isprintable() and name == name.strip()
    return Identity(name, groups) if plain and not _BLANK.search(name) else None


class SignIn(Protocol):
    """A way to sign in."""

    @property
    def page(self) -> str:
        """What somebody sees who isn't signed in, as HTML."""
        ...

    @property
    def signs_out(self) -> bool:
        """Whether somebody can sign out here."""
        ...

    async def ready(self) -> None:
        """Gets what is needed before anybody can sign in.

        Raises:
            UsageError: It can't be had.
        """
        ...

    def who(self, request: web.Request) -> Identity | None:
        """Who sends a request; None for somebody who isn't signed in.

        Raises:
            Refused: It says who sends it, and isn't to be believed.
        """
        ...

    def routes(self) -> Iterable[web.RouteDef]:
        """The routes that signing in needs."""
        ...
