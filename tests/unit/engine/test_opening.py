"""The first calls to an account, of which nobody knows yet what it takes."""

from __future__ import annotations

import pytest

from evenhand.engine.opening import A_SECOND, AT_ONCE, Opening

NOW = 1000.0
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
    opening = Opening()
    assert sent(opening, NOW) == AT_ONCE
    assert opening.wait_s(NOW) == pytest.approx(1 / A_SECOND)
    assert sent(opening, NOW + 2.5 / A_SECOND) == 2
    assert sent(opening, NOW + 60) == AT_ONCE


def test_a_refusal_that_names_no_limit_opens_nothing():
    """The first answer does."""
    opening = Opening()
    sent(opening, NOW)
    opening.heard(0, NOW, refused=True)
    assert sent(opening, NOW) == 0
    opening.heard(0, NOW, refused=False)
    assert sent(opening, NOW) == 100


def test_a_call_that_fails_for_a_reason_of_its_own_opens_it():
    """Unless headers name a rate: that is kept to until it is clear what the limit is."""
    opening, named = Opening(), Opening()
    for one in (opening, named):
        sent(one, NOW)
    named.heard(NAMED, NOW, refused=False)
    opening.failed()
    named.failed()
    assert (sent(opening, NOW), sent(named, NOW)) == (100, 0)


def test_a_call_that_is_not_sent_leaves_its_place_to_another():
    """No more than that."""
    opening = Opening()
    sent(opening, NOW)
    opening.withdrawn()
    assert sent(opening, NOW) == 1
    for _ in range(100):
        opening.withdrawn()
    assert sent(opening, NOW) == AT_ONCE


def test_where_headers_name_a_rate_twice_as_much_is_sent():
    """One after the other from the first answer on, and no reserve of before that."""
    opening = Opening()
    opening.sent(NOW)
    opening.heard(NAMED, NOW, refused=False)
    assert sent(opening, NOW) == 0
    assert sent(opening, NOW + 0.075) == 1  # twice ten a second make one each 0.05 s
    assert sent(opening, NOW + 60) == 1


def test_more_answers_than_a_reserve_of_a_second_explains_open_it():
    """Within a second: 1.25 times ten, and two."""
    opening = Opening()
    opening.sent(NOW)
    answers = 0
    while not opening.over:
        assert not opening.heard(NAMED, NOW, refused=False)
        answers += 1
    assert answers == 15


def test_only_what_was_answered_since_a_reserve_was_full_counts():
    """It is full where fewer calls were answered than came in: then it lets as many through again."""
    opening = Opening()
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
    opening = Opening()
    opening.sent(NOW)
    assert not opening.heard(NAMED, NOW, refused=True)
    assert opening.heard(NAMED, NOW, refused=True)
    assert opening.over
