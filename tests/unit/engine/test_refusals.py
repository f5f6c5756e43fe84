"""Limits are told from shedding by how many calls are refused."""

from __future__ import annotations

import pytest

from evenhand.engine.refusals import LEAST_REFUSED, LONG_RUN, Refusals


def counted(sent: int, refused: int, shed: float = 0.0) -> Refusals:
    """After so many calls."""
    refusals = Refusals()
    refusals.shed = shed
    for _ in range(sent):
        refusals.sent()
    for _ in range(refused):
        refusals.refused()
    return refusals


@pytest.mark.parametrize(
    ("sent", "refused", "shed", "exceeds"),
    [
        (100, 10, 0.0, False),
        (100, 21, 0.0, False),
        (100, 22, 0.0, True),
        (100, 50, 0.3, False),
        (100, 60, 0.3, False),
        (100, 90, 0.3, True),
        (100, 100, 0.6, False),
        (0, 1, 0.0, True),
    ],
)
def test_more_refusals_than_shedding_explains_are_a_limit(
    sent: int, refused: int, shed: float, exceeds: bool
):
    """Up to a tenth may be shed by anyone, and up to twice of what is known to be shed."""
    assert counted(sent, refused, shed).exceed_shedding() is exceeds


@pytest.mark.parametrize(
    ("sent", "refused", "same"),
    [
        (LONG_RUN, 30, True),
        (LONG_RUN, 18, True),
        (LONG_RUN, 17, False),
        (LONG_RUN - 1, 30, False),
        (LONG_RUN, LEAST_REFUSED - 1, False),
    ],
)
def test_as_many_refusals_while_calls_are_held_back_are_shedding(
    sent: int, refused: int, same: bool
):
    """Three in ten were refused before; a short run and a handful of calls show nothing."""
    refusals = counted(100, 30)
    refusals.begin_holding()
    for number in range(sent):
        refusals.held(refused=number < refused)
    assert refusals.as_many_as_before() is same
    refusals.free()
    assert refusals.shed == refused / sent
