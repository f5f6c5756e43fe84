"""For testing your evals, and ours.

A provider that answers from a script over real HTTP and keeps the bill, a model that answers in the process, a plan
made by hand, and the promises that every model, scorer and store has to keep.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.testing.contracts import check_model, check_scorer, check_store
    from evenhand.testing.ledger import Ledger
    from evenhand.testing.plan import example, example_of
    from evenhand.testing.script import Rule, Script
    from evenhand.testing.scripted import Scripted
    from evenhand.testing.server import FakeProvider

__all__ = [
    "FakeProvider",
    "Ledger",
    "Rule",
    "Script",
    "Scripted",
    "check_model",
    "check_scorer",
    "check_store",
    "example",
    "example_of",
]

_HOMES = {
    "FakeProvider": "server",
    "Ledger": "ledger",
    "Rule": "script",
    "Script": "script",
    "Scripted": "scripted",
    "check_model": "contracts",
    "check_scorer": "contracts",
    "check_store": "contracts",
    "example": "plan",
    "example_of": "plan",
}


def __getattr__(name: str) -> object:
    """Imports what is asked for, when it is asked for."""
    home = _HOMES.get(name)
    if home is None:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"{__name__}.{home}"), name)
