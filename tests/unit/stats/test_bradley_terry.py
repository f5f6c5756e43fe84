"""Strengths from paired comparisons: known vectors, a second way to the maximum, and how often intervals cover."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from evenhand.stats.bradley_terry import (
    Comparison,
    NotEstimable,
    Strengths,
    connected,
    fit,
)
from evenhand.stats.likelihood import factored, logistic, solved

SEED = 20_260_801


def in_both_orders(i: int, j: int, wins: float, ties: float = 0) -> Iterator[Comparison]:
    """So many wins of i over j, and ties, half of them with i shown first: no place is better."""
    for first, second, answer in ((i, j, "first"), (j, i, "second")):
        if wins:
            yield Comparison(f"{i}>{j}", first, second, answer, wins / 2)
        if ties:
            yield Comparison(f"{i}={j}", first, second, "tie", ties / 2)


def tournament(wins: Sequence[Sequence[int]], ties: dict[tuple[int, int], int]) -> list[Comparison]:
    """Comparisons from a table of wins, row over column."""
    games = [
        game
        for i, row in enumerate(wins)
        for j, won in enumerate(row)
        for game in in_both_orders(i, j, won)
    ]
    return games + [game for (i, j), n in ties.items() for game in in_both_orders(i, j, 0, n)]


WINS = [[0, 14, 18], [6, 0, 13], [2, 7, 0]]


def test_without_ties_it_is_what_choix_gives():
    """Numbers of choix 0.4.1, `ilsr_pairwise_dense`, centred."""
    fitted = fit(tournament(WINS, {}), prior=False)
    assert fitted.strengths == pytest.approx((0.9555356, -0.0816573, -0.8738783), abs=1e-6)
    assert (fitted.ties, fitted.converged) == (None, True)
    assert fitted.place == pytest.approx(0, abs=1e-9)


def test_with_ties_it_is_davidsons_estimate():
    """Numbers of a numerical maximiser of Davidson's likelihood; for two columns ln(w₁/w₂) and t/√(w₁w₂)."""
    fitted = fit(tournament(WINS, {(0, 1): 10, (0, 2): 6, (1, 2): 12}), prior=False)
    first, second, third = fitted.strengths
    assert (first - third, second - third) == pytest.approx((1.9029208, 0.8068511), abs=1e-6)
    assert math.exp(fitted.ties or 0) == pytest.approx(1.1305447, abs=1e-6)
    two = fit(tournament([[0, 30], [15, 0]], {(0, 1): 15}), prior=False)
    assert two.strengths[0] - two.strengths[1] == pytest.approx(math.log(2))
    assert math.exp(two.ties or 0) == pytest.approx(math.sqrt(0.5))
    assert two.beats(0, 1).value == pytest.approx(2 / 3)


def drawn(
    random: Random,
    cases: int,
    strengths: Sequence[float],
    *,
    place: float,
    ties: float,
    spread: float = 1.0,
) -> list[Comparison]:
    """Every pair of each case in both orders. A case has strengths of its own, so its answers depend on each other."""
    games: list[Comparison] = []
    for case in range(cases):
        own = [strength + random.gauss(0, spread) for strength in strengths]
        for i in range(len(own)):
            for j in range(len(own)):
                if i != j:
                    half = (own[i] - own[j] + place) / 2
                    odds = [math.exp(half), math.exp(-half), math.exp(ties)]
                    (answer,) = random.choices(("first", "second", "tie"), odds)
                    games.append(Comparison(str(case), i, j, answer))  # pyright: ignore[reportArgumentType]
    return games


def log_likelihood(games: Sequence[Comparison], theta: Sequence[float]) -> float:
    """Davidson and Beaver's, in their own words: worths π, ν and γ."""
    *strengths, place, ties = theta
    worths, order, nu = [math.exp(x) for x in strengths], math.exp(-place), math.exp(ties)
    total = 0.0
    for _, first, second, answer, weight in games:
        one, two = worths[first], order * worths[second]
        none = nu * math.sqrt(one * two)
        chance = {"first": one, "second": two, "tie": none}[answer] / (one + two + none)
        total += weight * math.log(chance)
    return total


def climbed(games: Sequence[Comparison], columns: int) -> list[float]:
    """The maximum by steps along each axis in turn, ever smaller ones: slow, and nothing that could be wrong."""
    theta, size = [0.0] * (columns + 2), 1.0
    best = log_likelihood(games, theta)
    while size > 1e-6:
        before = best
        for i in range(len(theta)):
            for step in (size, -size):
                tried = [x + step * (j == i) for j, x in enumerate(theta)]
                value = log_likelihood(games, tried)
                if value > best:
                    theta, best = tried, value
        if best <= before + 1e-12:
            size /= 2
    mean = sum(theta[:columns]) / columns
    return [*(x - mean for x in theta[:columns]), *theta[columns:]]


def test_the_maximum_is_where_a_plain_search_finds_it():
    """Three columns, ten cases, ties and a better place."""
    games = drawn(Random(SEED), 10, [0.5, 0, -0.5], place=0.7, ties=-0.3)
    fitted = fit(games, prior=False)
    assert [*fitted.strengths, fitted.place, fitted.ties] == pytest.approx(
        climbed(games, 3), abs=1e-3
    )


def test_the_place_and_the_strengths_are_told_apart():
    """From 3,000 cases, without cases of their own strength; the true chances are within a point and a half."""
    strengths = [0.8, 0.0, -0.8]
    fitted = fit(drawn(Random(SEED), 3000, strengths, place=0.6, ties=-0.5, spread=0))
    assert fitted.first_wins().value == pytest.approx(logistic(0.6), abs=0.015)
    for column, strength in enumerate(strengths):
        assert fitted.chance(column).value == pytest.approx(logistic(strength), abs=0.015)


def test_no_order_of_comparisons_or_columns_changes_the_result():
    """Shuffled, and with columns called otherwise."""
    random = Random(SEED)
    games = drawn(random, 12, [0.5, 0, -0.5], place=0.3, ties=-0.5)
    shuffled = random.sample(games, len(games))
    assert fit(games) == fit(shuffled)
    renamed = [one._replace(first=9 - one.first, second=9 - one.second) for one in games]
    assert fit(renamed).columns == (7, 8, 9)
    assert fit(renamed).chance(9) == pytest.approx(fit(games).chance(0))


@pytest.mark.parametrize("cases", [2, 5, 40])
def test_a_column_that_always_wins_has_a_finite_strength_and_an_interval_that_cases_allow(
    cases: int,
):
    """No narrower than the exact one of as many independent wins, by more than rounding; the fewer cases, the wider."""
    games = [
        Comparison(str(i), *order, answer)
        for i in range(cases)
        for order, answer in (((0, 1), "first"), ((1, 0), "second"))
    ]
    chance = fit(games).beats(0, 1)
    assert 0.5 < chance.value < 1
    assert 0 < chance.low < chance.value < chance.high < 1
    exact = 0.025 ** (1 / cases)
    assert chance.low < exact + 0.03


def test_answers_that_follow_the_place_alone_say_little_of_strengths():
    """Each case is like the others, and still the columns may differ."""
    games = [Comparison(str(i), *order, "first") for i in range(20) for order in ((0, 1), (1, 0))]
    fitted = fit(games)
    low, high = fitted.beats(0, 1)[1:]
    assert low < 0.2
    assert high > 0.8
    assert fitted.first_wins().low > 0.8


def test_answers_about_one_case_do_not_pass_for_more_cases():
    """The same answer four times over in each case leaves the interval as wide as before, or wider."""
    once = drawn(Random(SEED), 20, [0.5, -0.5], place=0.2, ties=-1)
    before, after = fit(once).beats(0, 1), fit(once * 4).beats(0, 1)
    assert after.high - after.low > 0.95 * (before.high - before.low)


def test_one_case_says_nothing_of_others():
    """The interval is everything."""
    games = drawn(Random(SEED), 1, [1, 0, -1], place=0, ties=-1)
    assert fit(games).chance(0)[1:] == (0, 1)


@pytest.mark.parametrize(
    ("games", "why"),
    [
        ([], "nothing was compared"),
        ([Comparison("a", 0, 1, "first", 0)], "nothing was compared"),
        ([*in_both_orders(0, 1, 2), *in_both_orders(2, 3, 2)], "2 groups"),
        ([*in_both_orders(0, 1, 0, 4)], "every comparison was a tie"),
        ([Comparison("a", 0, 1, "first"), Comparison("b", 0, 1, "second")], "one order only"),
        ([Comparison("a", 0, 1, "first"), Comparison("b", 1, 2, "tie")], "one order only"),
    ],
)
def test_what_cannot_be_estimated_says_why(games: list[Comparison], why: str):
    """Nothing, groups that never met, ties alone, and an order that follows from the columns."""
    with pytest.raises(NotEstimable, match=why):
        fit(games)


@pytest.mark.parametrize("weight", [-1, math.nan, math.inf])
def test_a_weight_that_is_none_is_refused(weight: float):
    """So is a column that is compared with itself, or was never compared."""
    with pytest.raises(ValueError, match="weight"):
        fit([Comparison("a", 0, 1, "first", weight)])
    with pytest.raises(ValueError, match="itself"):
        fit([Comparison("a", 1, 1, "first")])
    with pytest.raises(ValueError, match="itself"):
        fit([*in_both_orders(0, 1, 3)]).beats(1, 1)
    with pytest.raises(ValueError, match="was not compared"):
        fit([*in_both_orders(0, 1, 3)]).chance(7)


def test_groups_are_those_that_met_directly_or_by_way_of_others():
    """The largest first; none without comparisons."""
    assert connected([]) == []
    games = [*in_both_orders(4, 2, 1), *in_both_orders(0, 1, 1), *in_both_orders(1, 3, 0, 1)]
    assert connected(games) == [(0, 1, 3), (2, 4)]


def covered(fitted: Strengths, truth: Strengths) -> Iterator[bool]:
    """Whether each interval has what it should."""
    for column in fitted.columns:
        _, low, high = fitted.chance(column)
        yield low <= truth.chance(column).value <= high
    for column in fitted.columns[1:]:
        _, low, high = fitted.beats(0, column)
        yield low <= truth.beats(0, column).value <= high
    _, low, high = fitted.first_wins()
    yield low <= truth.first_wins().value <= high


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("cases", [8, 30])
@pytest.mark.parametrize("strengths", [(0, 0), (0.8, 0, -0.8), (2.5, 0, -2.5)])
def test_intervals_cover_in_at_least_93_of_100_draws_of_cases(
    cases: int, strengths: tuple[float, ...]
):
    """Answers of a case depend on each other; the truth is what 4,000 cases give. 60 draws, at most 7 % miss."""
    random = Random(SEED)
    settings = {"place": 0.4, "ties": -0.7}
    truth = fit(drawn(random, 4000, strengths, **settings), prior=False)
    hits = [
        hit
        for _ in range(60)
        for hit in covered(fit(drawn(random, cases, strengths, **settings)), truth)
    ]
    assert sum(hits) >= 0.93 * len(hits), f"seed {SEED}: {sum(hits)} of {len(hits)}"


def test_equations_are_solved_and_what_has_no_answer_says_so():
    """Against a product that is known; a matrix that is not positive definite has no factor."""
    random = Random(SEED)
    half = [[random.gauss(0, 1) for _ in range(6)] for _ in range(6)]
    matrix = [[sum(a * b for a, b in zip(r, s, strict=True)) for s in half] for r in half]
    x = [random.gauss(0, 1) for _ in range(6)]
    right = [sum(a * b for a, b in zip(row, x, strict=True)) for row in matrix]
    lower = factored(matrix)
    assert lower is not None
    assert solved(lower, right) == pytest.approx(x)
    assert factored([[1, 1], [1, 1]]) is None
    assert factored([[math.nan]]) is None
