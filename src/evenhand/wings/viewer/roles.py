"""Who somebody is, and who may do what: three roles, each of which includes those before it, and what routes ask for.

A route declares its role where it is defined: `@needs("label")`. One that declares none may be read with `read`, and
written to with the greatest role, so that a forgotten declaration lets nobody in.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from html import escape
from typing import Any, Literal, Protocol, TypeVar, cast, get_args

from aiohttp import web

from evenhand.core.record import Record
from evenhand.store.labels.label import LONGEST_AUTHOR
from evenhand.wings.viewer.page import ICON

Role = Literal["", "read", "label", "run"]
"""read: see runs · label: also label, remark and delete · run: also ask models again. Empty: nothing."""
ROLES: tuple[Role, ...] = get_args(Role)
GROUP = "group:"
_NEEDS = "__evenhand_needs__"
_SAFE = ("GET", "HEAD")
F = TypeVar("F", bound=Callable[..., object])


class Person(Record, frozen=True):
    """Who asks.

    Attributes:
        name: As the sign-in gives it; empty for the one at this machine, who names themselves.
        role: What they may do.
    """

    name: str
    role: Role


NOBODY = Person("", "")
SOMEBODY_HERE = Person("", "run")
"""Anyone with the token of a viewer on this machine."""
_PERSON: Any = getattr(web, "RequestKey", lambda name, _: name)("evenhand.person", Person)
"""Where a request says who sent it: aiohttp 3.14 warns of keys that are texts, and earlier ones know no others."""


def person_of(request: web.Request) -> Person:
    """Who sent a request that was let through."""
    return cast("Person", request.get(_PERSON, NOBODY))


def admit(request: web.Request, person: Person) -> bool:
    """Notes who sent a request; whether they may have what they ask for."""
    request[_PERSON] = person
    role: Role = "read" if request.method in _SAFE else "run"
    needed: Role = getattr(request.match_info.handler, _NEEDS, role)
    return has(person, needed)


def has(person: Person, role: Role) -> bool:
    """Whether somebody has at least this role."""
    return ROLES.index(person.role) >= ROLES.index(role)


def needs(role: Role) -> Callable[[F], F]:
    """Declares the role that a route's handler asks for."""

    def declared(handler: F) -> F:
        setattr(handler, _NEEDS, role)
        return handler

    return declared


class Roles(Record, frozen=True, forbid_unknown_fields=True):
    """Who has which role: names, `*@example.com`, `group:NAME`, or `*` for anyone who signed in."""

    read: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    run: tuple[str, ...] = ()

    def of(self, name: str, groups: Collection[str]) -> Role:
        """The greatest role that somebody has."""
        for role in reversed(ROLES[1:]):
            entries: Sequence[str] = getattr(self, role)
            if any(_matches(entry, name, groups) for entry in entries):
                return role
        return ""

    def problems(self) -> list[str]:
        """What is wrong with the entries."""
        if not (self.read or self.label or self.run):
            return ["roles: nobody has a role, so nobody could read anything"]
        return [
            f"roles.{role}: {entry!r} is not a name, *@domain, {GROUP}NAME or *"
            for role in ROLES[1:]
            for entry in cast("Sequence[str]", getattr(self, role))
            if not _is_entry(entry)
        ]


def _is_entry(entry: str) -> bool:
    if entry.startswith(GROUP):
        return len(entry) > len(GROUP)
    domain = entry.startswith("*@") and len(entry) > 2 and "*" not in entry[1:]
    return bool(entry) and entry == entry.strip() and ("*" not in entry or entry == "*" or domain)


def _matches(entry: str, name: str, groups: Collection[str]) -> bool:
    """Groups count as they are written; in names, the case of ASCII letters doesn't matter."""
    if entry.startswith(GROUP):
        return entry.removeprefix(GROUP) in groups
    if entry == "*":
        return True
    if entry.startswith("*@"):
        local, _, domain = name.rpartition("@")
        return bool(local) and "@" not in local and _folded(domain) == _folded(entry[2:])
    return _folded(entry) == _folded(name)


def _folded(name: str) -> bytes:
    # Not str.lower: it makes a `k` of the Kelvin sign, and two names must not become one.
    return name.encode("utf-8", "surrogatepass").lower()


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
