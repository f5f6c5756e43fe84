"""Lists that are read for their extreme: forty equal groups have a lowest one, too."""

from __future__ import annotations

from random import Random

import pytest

from evenhand.stats.multiple import benjamini_hochberg
from evenhand.stats.standouts import dispersion_p, group_p


@pytest.mark.thorough
def test_of_forty_equal_groups_none_stands_out() -> None:
    """In 95 % of draws and more, whether groups share cases or not; seed 11."""
    random = Random(11)
    for overlapping in (False, True):
        found = 0
        for _ in range(100):
            cases = [float(random.random() < 0.7) for _ in range(400)]
            order = [random.sample(range(400), 10) for _ in range(40)]
            places = order if overlapping else [range(i, i + 10) for i in range(0, 400, 10)]
            ps = []
            for chosen in map(set, places):
                inside = [cases[i] for i in chosen]
                ps.append(group_p(inside, [c for i, c in enumerate(cases) if i not in chosen]))
            found += min(benjamini_hochberg(ps)) <= 0.05
        assert found <= 5


def test_a_group_that_is_really_worse_stands_out() -> None:
    """Ten cases of which none passes, among 400 of which 70 % do."""
    cases = [float(i % 10 < 7) for i in range(390)]
    assert group_p([0.0] * 10, cases) * 40 < 0.05
    assert group_p([1.0] * 10, [1.0] * 20) == group_p([], [1.0]) == group_p([1.0], []) == 1.0


def test_cases_that_waver_by_chance_are_told_from_hard_ones() -> None:
    """Thirty cases with five repeats: equally likely to pass, and half of them hard; seed 5."""
    random = Random(5)
    alarms = 0
    for _ in range(200):
        tries = [(sum(random.random() < 0.7 for _ in range(5)), 5) for _ in range(30)]
        alarms += dispersion_p(tries) <= 0.05
    assert alarms <= 20
    assert dispersion_p([(5, 5)] * 15 + [(1, 5)] * 15) < 0.001
    assert dispersion_p([]) == dispersion_p([(2, 2)]) == dispersion_p([(3, 3), (2, 2)]) == 1.0
