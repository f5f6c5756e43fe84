"""What a call that is not sent after all leaves behind: nothing."""

from __future__ import annotations

from evenhand.engine.pace import Pace

NOW = 1000.0


def pace() -> Pace:
    """Of an account that takes 100 calls at once and has answered some."""
    made = Pace(100, 100)
    made.opening.over = True
    return made


def refuse_five(held: Pace) -> None:
    """Five calls are sent and refused, while another one is in flight."""
    for permit in [held.permit(0, among, NOW) for among in range(2, 7)]:
        held.refused(permit, 1, NOW, None)


def test_calls_that_are_not_sent_make_no_refusals_look_rare():
    """Five of five are refused, not of 305."""
    held = pace()
    for _ in range(300):
        held.withdrawn(held.permit(0, 1, NOW))
    refuse_five(held)
    assert held.width == 1


def test_a_call_that_is_not_sent_leaves_no_credit_at_a_rate_that_has_begun_since():
    """Nothing was debited for it there."""
    held = pace()
    held.named = 10.0
    permit = held.permit(0, 1, NOW)
    refuse_five(held)
    wait_s = held.wait_s(0, NOW)
    assert wait_s > 0
    held.withdrawn(permit)
    assert held.wait_s(0, NOW) == wait_s


def test_a_call_that_is_not_sent_leaves_its_place_in_the_window():
    """A window of 20 calls that was found: 19 others are under way."""
    held = pace()
    for _ in range(20):
        held.accepted(held.permit(0, 1, NOW), NOW, saturated=False)
    for permit in [held.permit(0, 20, NOW) for _ in range(20)]:
        held.refused(permit, 0, NOW, 60.0)
    later = NOW + 61
    held.accepted(held.permit(0, 1, later), later, saturated=False)
    permits = [held.permit(0, nth, later) for nth in range(1, 20)]
    assert not held.admits(0, 19, later)
    held.withdrawn(permits[0])
    assert held.admits(0, 18, later)
    held.permit(0, 19, later)
    assert not held.admits(0, 19, later)
