"""What begins and ends where calls are held back, and what a call that is not sent leaves behind: nothing."""

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


def test_the_opening_is_over_where_calls_are_held_back():
    """What was refused says more than that nothing is known."""
    held = Pace(100, 100)
    refuse_five(held)
    assert held.width == 1
    assert held.opening.over


def test_a_tenth_of_a_second_is_made_up_for_at_a_rate_that_headers_name():
    """Of a hundred calls a second, and one percent less."""
    held = pace()
    held.named = 100.0
    refuse_five(held)
    later, sent = NOW + 60, 0
    while held.admits(0, sent, later):
        held.permit(0, sent + 1, later)
        sent += 1
    assert sent == 9
