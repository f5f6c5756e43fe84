"""The first calls to an account, of which nobody knows yet what it takes."""

from __future__ import annotations

import pytest

from evenhand.engine.opening import A_SECOND, AT_ONCE, LATE_S, SPREAD_S, Opening

NOW = 1000.0
CEILING = 100
NAMED = 10.0
"""Calls a second that the headers come to."""


def sent(opening: Opening, now: float) -> int:
    """How many calls go out at this moment, 100 at most."""
    for count in range(100):
        if opening.wait_s(now):
            return count
        opening.sent(now)
    return 100


def test_until_one_is_answered_a_few_go_out_at_once_and_the_others_one_after_the_other():
    """However long nothing was sent."""
    opening = Opening(CEILING)
    assert sent(opening, NOW) == AT_ONCE
    assert opening.wait_s(NOW) == pytest.approx(1 / A_SECOND)
    assert sent(opening, NOW + 2.5 / A_SECOND) == 2
    assert sent(opening, NOW + 60) == AT_ONCE


def test_a_refusal_that_names_no_limit_opens_nothing():
    """The first answer does."""
    opening = Opening(CEILING)
    sent(opening, NOW)
    opening.heard(0, NOW, refused=True)
    assert sent(opening, NOW) == 0
    opening.heard(0, NOW, refused=False)
    assert sent(opening, NOW) == 100


@pytest.mark.parametrize(("round_trip_s", "within_s"), [(0.2, 0.2), (30, SPREAD_S)])
def test_from_the_first_answer_on_all_that_may_be_in_flight_go_out_within_a_round_trip(
    round_trip_s: float, within_s: float
):
    """Within half a second at the latest: refusals come sooner than answers."""
    opening = Opening(CEILING)
    sent(opening, NOW)
    opening.heard(0, NOW, refused=False, took_s=round_trip_s)
    assert sent(opening, NOW) == 0
    steps = 50
    out = sum(sent(opening, NOW + within_s * step / steps) for step in range(1, steps))
    assert out == pytest.approx(CEILING * (steps - 1) / steps, abs=1)
    assert not opening.over
    assert sent(opening, NOW + within_s) == 100
    assert opening.over


def test_where_no_more_may_be_in_flight_than_go_out_at_once_the_first_answer_ends_it():
    """Whoever takes the place of an answered call need not wait."""
    opening = Opening(AT_ONCE)
    sent(opening, NOW)
    opening.heard(0, NOW + 30, refused=False, took_s=30)
    assert opening.over
    assert opening.wait_s(NOW + 30) == 0


def test_what_became_due_while_the_loop_was_busy_goes_out_at_once_but_no_more():
    """Of a pause of a tenth of a second, what became due in LATE_S."""
    opening = Opening(CEILING)
    sent(opening, NOW)
    opening.heard(0, NOW, refused=False, took_s=0.2)
    assert sent(opening, NOW + 0.1) == round(CEILING / 0.2 * LATE_S)


def test_a_call_that_fails_for_a_reason_of_its_own_opens_it():
    """Unless headers name a rate: that is kept to until it is clear what the limit is."""
    opening, named = Opening(CEILING), Opening(CEILING)
    for one in (opening, named):
        sent(one, NOW)
    named.heard(NAMED, NOW, refused=False)
    opening.failed()
    named.failed()
    assert (sent(opening, NOW), sent(named, NOW)) == (100, 0)


def test_a_call_that_fails_while_the_others_go_out_within_a_round_trip_does_not_send_them_all_at_once():
    """They keep their pace."""
    opening = Opening(CEILING)
    sent(opening, NOW)
    opening.heard(0, NOW, refused=False, took_s=0.2)
    opening.failed()
    assert sent(opening, NOW) == 0
    assert not opening.over


def test_a_call_that_is_not_sent_leaves_its_place_to_another():
    """No more than that."""
    opening = Opening(CEILING)
    sent(opening, NOW)
    opening.withdrawn()
    assert sent(opening, NOW) == 1
    for _ in range(100):
        opening.withdrawn()
    assert sent(opening, NOW) == AT_ONCE


def test_where_headers_name_a_rate_twice_as_much_is_sent():
    """One after the other from the first answer on, and no reserve of before that."""
    opening = Opening(CEILING)
    opening.sent(NOW)
    opening.heard(NAMED, NOW, refused=False)
    assert sent(opening, NOW) == 0
    assert sent(opening, NOW + 0.075) == 1  # twice ten a second make one each 0.05 s
    assert sent(opening, NOW + 60) == 1


def test_more_answers_than_a_reserve_of_a_second_explains_open_it():
    """Within a second: 1.25 times ten, and two."""
    opening = Opening(CEILING)
    opening.sent(NOW)
    answers = 0
    while not opening.over:
        assert not opening.heard(NAMED, NOW, refused=False)
        answers += 1
    assert answers == 15


def test_only_what_was_answered_since_a_reserve_was_full_counts():
    """It is full where fewer calls were answered than came in: then it lets as many through again."""
    opening = Opening(CEILING)
    opening.sent(NOW)
    for _ in range(14):
        opening.heard(NAMED, NOW, refused=False)
    for _ in range(15):
        opening.heard(NAMED, NOW + 10, refused=False)
    assert not opening.over
    opening.heard(NAMED, NOW + 10, refused=False)
    assert opening.over


def test_a_second_refusal_has_calls_held_to_what_headers_name():
    """The first may be an accident."""
    opening = Opening(CEILING)
    opening.sent(NOW)
    assert not opening.heard(NAMED, NOW, refused=True)
    assert opening.heard(NAMED, NOW, refused=True)
    assert opening.over
