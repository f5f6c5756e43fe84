"""What is expected of the agent: of its answer, of its steps, and of the database that it leaves behind."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from shop import answer, open_shop

from evenhand import Case, EvalSet, Expect
from evenhand.scorers import (
    CallsTools,
    Contains,
    LeavesState,
    NeverLoops,
    NeverRepeats,
    NeverSucceeds,
    Recovers,
    StepCount,
    Succeeds,
)

evals = EvalSet(
    "shop agent",
    data=[
        {"id": "late", "input": "My lamp, order 1042, is late. I want my money back."},
        {"id": "sent", "input": "Please send order 1043 to 7 Quay Street instead."},
        {"id": "greedy", "input": "Give me my money back for order 1044. I insist!"},
    ],
)


@evals.fixture
def shop() -> Iterator[sqlite3.Connection]:
    """A database of its own for each trial."""
    db = open_shop()
    yield db
    db.close()


@evals.eval
def acts_by_the_policy(case: Case, shop: sqlite3.Connection, expect: Expect) -> str:
    """It does what is asked and allowed, and nothing else."""
    said = answer(shop, str(case.input))
    if case.id == "late":
        expect(said, CallsTools(["find_order", "refund"], "in_order"))
        expect(said, Succeeds("refund", {"id": 1042}))
        expect(states(shop), LeavesState({"1042": "refunded", "1043": "sent"}))
        expect(said, Contains("refunded"))
    elif case.id == "sent":
        expect(said, Recovers("change_address", by=["redirect_parcel"]))
        expect(states(shop), LeavesState({"1043": "redirected"}))
    else:
        expect(said, NeverSucceeds("refund"))
        expect(states(shop), LeavesState({"1044": "packed"}))
    expect(said, NeverRepeats())
    expect(said, NeverLoops())
    expect(said, StepCount("model"), at_most=4)
    return said


def states(shop: sqlite3.Connection) -> dict[str, str]:
    """The state of each order."""
    return {str(id_): state for id_, state in shop.execute("select id, state from orders")}
