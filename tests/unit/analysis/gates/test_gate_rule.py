"""What a gate decides of differences, and how many more cases it asks for."""

from __future__ import annotations

from random import Random

import pytest

from evenhand.analysis.gates.gate_rule import gate_rule, more_cases
from evenhand.stats.extremes import Extremes, certain
from evenhand.stats.paired_difference import Differences


def rates(n: int, ahead: int, behind: int) -> Differences:
    """So many cases, of which some passed in one of the two only."""
    signs = [1.0] * ahead + [-1.0] * behind + [0.0] * (n - ahead - behind)
    return Differences([(sign,) for sign in signs], rates=True)


def word(data: Differences, margin: float) -> str:
    """What the gate says of one comparison."""
    return gate_rule(data, data.p(), margin=margin)


@pytest.mark.parametrize(
    ("n", "ahead", "behind", "margin", "expected"),
    [
        (200, 8, 8, 0.05, "non-inferior"),
        (200, 8, 11, 0.05, "undecided"),  # Tango's lower limit is −5.3 points
        (200, 2, 60, 0.05, "worse"),  # the upper limit is below −5
        (500, 2, 22, 0.05, "worse"),  # a drop of 4 is shown, and 5 is not excluded
        (2000, 5, 40, 0.05, "non-inferior"),  # a drop is shown, and it stays within the margin
        (200, 40, 2, 0.05, "better"),
        (4, 0, 4, 0.05, "undecided"),
        (0, 0, 0, 0.05, "undecided"),
    ],
)
def test_the_rule_of_a_gate(n: int, ahead: int, behind: int, margin: float, expected: str):
    """Non-inferiority, and worse where a drop is shown that is not shown to stay within the margin."""
    assert word(rates(n, ahead, behind), margin) == expected


def test_less_may_be_better():
    """Then the second is worse where it has more."""
    data = certain(rates(200, 60, 2))
    assert data.verdict(lambda p: p, lower=True, margin=0.05, rule=gate_rule) == ("worse", False)


def test_errors_leave_it_open():
    """What is not worse at one extreme and worse at the other is undecided, and no more cases are asked for."""
    data = Extremes(rates(200, 0, 60), rates(200, 30, 30))
    assert data.verdict(lambda p: p, margin=0.05, rule=gate_rule) == ("undecided", True)
    assert more_cases(data, 0.05) is None


@pytest.mark.parametrize(
    ("n", "ahead", "behind", "margin"),
    [(200, 8, 11, 0.05), (40, 1, 2, 0.1), (100, 5, 5, 0.03), (60, 0, 4, 0.05), (8, 1, 0, 0.1)],
)
def test_so_many_more_cases_decide_it_at_least_three_times_in_four(
    n: int, ahead: int, behind: int, margin: float
):
    """Promised are four in five: if they come out as these did, and if nothing changed; a quarter do less."""
    assert word(rates(n, ahead, behind), margin) == "undecided"
    more = more_cases(certain(rates(n, ahead, behind)), margin)
    assert more is not None
    both = (ahead + behind) / 2 / n
    shares = (ahead / n, behind / n), (both, both)
    assert min(decided(n + more, up, down, margin) for up, down in shares) >= 0.75
    assert min(decided(n + more // 4, up, down, margin) for up, down in shares) < 0.75


def decided(n: int, up: float, down: float, margin: float) -> float:
    """The share of gates of so many cases, so large a part of which is better or worse, that come to a verdict."""
    words: dict[tuple[int, int], str] = {}
    random, hits, draws = Random(1), 0, 400
    for _ in range(draws):
        thrown = [random.random() for _ in range(n)]
        table = sum(x < up for x in thrown), sum(up <= x < up + down for x in thrown)
        if table not in words:
            words[table] = word(rates(n, *table), margin)
        hits += words[table] != "undecided"
    return hits / draws


@pytest.mark.parametrize("margin", [0.05, 0.1])
def test_where_none_differs_so_many_more_decide_it_if_none_does(margin: float):
    """And one fewer doesn't: of how often cases differ nothing is known."""
    n = 20
    more = more_cases(certain(rates(n, 0, 0)), margin)
    assert more is not None
    assert word(rates(n + more, 0, 0), margin) == "non-inferior"
    assert word(rates(n + more - 1, 0, 0), margin) == "undecided"


def test_five_of_five_that_became_worse_are_no_chance():
    """A drop so large takes few more cases; those of an unchanged application would be thousands."""
    data = rates(5, 0, 5)
    assert more_cases(certain(data), 0.05, of=3) == 2


def test_a_gate_that_looks_several_times_takes_as_many_more_cases_as_its_own_level_does():
    """20 cases without a change would be 21 at 5 %, and that was promised again at each of them."""
    data = certain(rates(20, 0, 0))
    assert more_cases(data, 0.15) == 1
    assert more_cases(data, 0.15, level=lambda units: 0.024) == 3


def test_a_drop_takes_more_cases_where_it_is_one_of_several_results():
    """A drop is corrected for the number of tests: alone, fewer cases show it."""
    data = certain(rates(60, 1, 7))
    alone, of_ten = more_cases(data, 0.05), more_cases(data, 0.05, of=10)
    assert alone is not None
    assert of_ten is not None
    assert of_ten > 2 * alone


def test_scores_ask_for_more_cases_too():
    """By how the interval shrinks; none where the difference is as large as the margin."""
    spread = [0.3, -0.3, 0.1, -0.1, 0.2, -0.2, 0.0, 0.05, -0.05, 0.0]
    data = certain(Differences([(d,) for d in spread], scale=(-1, 1)))
    more = more_cases(data, 0.05)
    assert more is not None
    assert more > 10
    assert more_cases(data, 0.0) is None
    assert more_cases(certain(Differences([(0.1,)] * 3, scale=(-1, 1))), 0.05) == 2
    assert more_cases(certain(Differences([(0.1,)] * 3, scale=(-1, 1), scaled=False)), 0.05) == 2
    assert more_cases(certain(Differences([])), 0.05) is None


def test_more_cases_are_asked_for_in_the_direction_that_is_better():
    """Turned, they are the same differences the other way round."""
    fewer, more = rates(200, 8, 16), rates(200, 16, 8)
    assert more_cases(certain(fewer), 0.05) == more_cases(certain(more), 0.05, lower=True)
    assert more_cases(certain(more), 0.05) == more_cases(certain(fewer), 0.05, lower=True)
    assert more_cases(certain(fewer), 0.05) != more_cases(certain(more), 0.05)


@pytest.mark.parametrize("clusters", [12, 24])
def test_so_many_more_clusters_as_are_advised_decide_it(clusters: int):
    """They are clusters, not cases; few clusters' interval shrinks faster than with the root of their number."""
    units = [[0.2, 0.0, 0.0], [-0.2, 0.0, 0.0], [0.0, 0.0, 0.0]] * (clusters // 3)
    data = Differences(units, rates=True)
    assert word(data, 0.05) == "undecided"
    more = more_cases(certain(data), 0.05)
    assert more is not None
    assert more <= 5 * clusters
    assert word(data.of_size(clusters + more), 0.05) == "non-inferior"
