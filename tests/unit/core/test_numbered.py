"""Numbers found by hash: like a dict, whatever the hashes."""

from __future__ import annotations

import random

from evenhand.core.numbered import HashedNumbers


def test_numbers_are_found_under_their_hashes_and_no_other():
    """Few hashes and many, of either sign, some with several numbers."""
    seed = 20_261
    draw = random.Random(seed)
    for spread in (3, 400, 1 << 62):
        hashed, wanted = HashedNumbers(), dict[int, list[int]]()
        for number in range(500):
            key = draw.randint(-spread, spread)
            hashed.add(key, number)
            wanted.setdefault(key, []).append(number)
        assert len(hashed) == 500, seed
        assert {key: sorted(hashed.of(key)) for key in wanted} == wanted, seed
        assert not list(hashed.of(spread + 1)), seed


def test_a_number_takes_the_place_of_the_one_before():
    """However often it is put."""
    hashed = HashedNumbers()
    for number in range(300):
        hashed.put(number % 7 - 3, number)
    assert len(hashed) == 7
    assert list(hashed.of(-3)) == [294]
