"""Numbers found by hash: like a dict, whatever the hashes."""

from __future__ import annotations

import random

from evenhand.core.numbered import HashedNumbers, NumberedTexts


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


def test_texts_have_their_numbers_whatever_room_there_was_for_them():
    """For none, for a few, and for more than come; also texts with one hash."""

    class Same(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return 7

    for room in (0, 5, 2_000):
        texts = NumberedTexts(room)
        cases = ["", "é", "\ud800", *(f"case {i}" for i in range(900))]
        cases += [Same(f"same {i}") for i in range(20)]
        assert [texts.number(case) for case in cases] == [*range(len(cases))], room
        assert [texts.number(case) for case in reversed(cases)] == [*reversed(range(len(cases)))]
        assert [texts.find(case) for case in cases] == [*range(len(cases))], room
        assert texts.find("case 900") == texts.find(Same("same 20")) == -1
        assert list(texts) == cases
