"""For testing your evals, and ours.

A provider that answers from a script over real HTTP and keeps the bill, a model that answers in the process, a plan
made by hand, and the promises that every model, scorer and store has to keep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazily

if TYPE_CHECKING:
    from evenhand.testing.batch_queue import BatchRules as BatchRules
    from evenhand.testing.contracts import check_model as check_model
    from evenhand.testing.contracts import check_scorer as check_scorer
    from evenhand.testing.contracts import check_store as check_store
    from evenhand.testing.ledger import Ledger as Ledger
    from evenhand.testing.plan import example as example
    from evenhand.testing.plan import example_of as example_of
    from evenhand.testing.script import Rule as Rule
    from evenhand.testing.script import Script as Script
    from evenhand.testing.scripted import Scripted as Scripted
    from evenhand.testing.server import FakeProvider as FakeProvider
    from evenhand.testing.wings import check_wing as check_wing

_HOMES = {
    "BatchRules": "batch_queue",
    "FakeProvider": "server",
    "Ledger": "ledger",
    "Rule": "script",
    "Script": "script",
    "Scripted": "scripted",
    "check_model": "contracts",
    "check_scorer": "contracts",
    "check_store": "contracts",
    "check_wing": "wings",
    "example": "plan",
    "example_of": "plan",
}
__all__ = [*_HOMES]  # pyright: ignore[reportUnsupportedDunderAll] (made when asked for)  # noqa: PLE0604 (names)
__getattr__, __dir__ = lazily(__name__, _HOMES)
