"""Who may do what: three roles, each of which includes the ones before it, and what routes ask for.

A route declares its role where it is defined: `@needs("label")`. One that declares none may be read with `read`, and
written to with the greatest role, so that a forgotten declaration lets nobody in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, TypeVar, cast, get_args

from aiohttp import web

from evenhand.core.record import Record

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
    """Who sent a request that the gate let through."""
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
