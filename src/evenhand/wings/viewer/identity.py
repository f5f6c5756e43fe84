"""Who somebody is, as those who signed them in say; and the pages for somebody who isn't signed in, or has no role."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Protocol

from aiohttp import web

from evenhand.core.record import Record
from evenhand.store.labels.label import LONGEST_AUTHOR
from evenhand.wings.viewer.page import ICON

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


PLACE = """"use strict";
// Who follows a link to a place in the viewer gets there after signing in: no server sees what stands after the #.
{
  const kept = "evenhand.place";
  const place = sessionStorage.getItem(kept) ?? "";
  if (document.getElementById("app") === null) {
    if (location.hash.startsWith("#/")) sessionStorage.setItem(kept, location.hash);
  } else {
    sessionStorage.removeItem(kept);
    if (place.startsWith("#/") && location.hash.length < 3) location.replace(place);
  }
}
"""
_ICON = base64.b64encode(ICON.encode()).decode()


def page_of(title: str, text: str, link: str, words: str) -> str:
    """A page that says one thing, with one link; both are texts, whoever wrote them."""
    way = (
        f'<p><a class="button primary" href="{escape(link)}">{escape(words)}</a></p>\n'
        if link
        else ""
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<title>Evenhand</title>\n'
        f'<link rel="icon" href="data:image/svg+xml;base64,{_ICON}">\n'
        '<link rel="stylesheet" href="/sign-in.css">\n</head>\n<body>\n<main class="told">\n'
        f'<h1 class="told-title">{escape(title)}</h1>\n<p>{escape(text)}</p>\n{way}</main>\n'
        '<script src="/place.js"></script>\n</body>\n</html>\n'
    )
