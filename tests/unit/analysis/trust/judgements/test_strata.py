"""Which outputs were equally likely to be labelled, after several draws of several metrics."""

from __future__ import annotations

import pytest

from evenhand.analysis.trust.judgements.strata import (
    inclusions,
    strata_of,
    uneven,
    uniform_first,
    weight_of,
)
from evenhand.store.labels.draw import Draw, Stratum

N = 8


def a_draw(number: int, metrics: str, places: tuple[int, ...], *strata: tuple[int, ...]) -> Draw:
    """A draw of eight places, in these strata; metrics are called by a letter."""
    of = tuple(
        Stratum(str(i), len({*places} & {*each}), 0.5, each) for i, each in enumerate(strata)
    )
    design = "equal" if strata else "uniform"
    return Draw(
        number=number,
        at=0.0,
        seed=1,
        metrics=tuple(metrics),
        population=N,
        places=places,
        design=design,
        by="",
        strata=of,
    )


HALVES = (0, 1, 2, 3), (4, 5, 6, 7)
EVEN_AND_ODD = (0, 2, 4, 6), (1, 3, 5, 7)


def test_an_uneven_draw_of_another_metric_counts_where_a_draw_has_both():
    """What was drawn for one of them was left out when the other one's turn came."""
    both, other = a_draw(1, "mk", (0,)), a_draw(2, "k", (1, 5), *HALVES)
    assert uneven([both, other], "m") == [other]
    assert uneven([a_draw(1, "m", (0,)), other], "m") == []
    key = strata_of([both, other], "m")
    assert [key(place) for place in range(N)] == [(0,)] * 4 + [(1,)] * 4


def test_labels_are_a_uniform_draw_up_to_the_first_draw_that_is_none():
    """A uniform draw after it leaves out what it drew."""
    first, second, third = (
        a_draw(1, "m", (0,)),
        a_draw(2, "m", (1, 5), *HALVES),
        a_draw(3, "m", (2, 3)),
    )
    assert uniform_first([first, second, third], "m") == [first]
    assert uniform_first([first, third], "m") == [first, third]


def test_places_drawn_in_several_uniform_draws_are_as_likely_as_all_of_these_are_large():
    """Two and one of eight."""
    likely = inclusions([a_draw(1, "m", (0, 1)), a_draw(2, "m", (2,)), a_draw(3, "k", (3,))], "m")
    assert likely(0) == 3 / N


def test_after_uneven_draws_of_two_metrics_a_label_stands_for_places_alike_in_both():
    """Of even places in the first half two of two are labelled, of odd ones one of two."""
    draws = [a_draw(1, "a", (0, 1, 4), *HALVES), a_draw(2, "b", (2, 5), *EVEN_AND_ODD)]
    stands_for = weight_of(draws, {0, 1, 2, 4, 5})
    assert [stands_for(place) for place in (0, 1, 2, 4, 5)] == pytest.approx([1, 2, 1, 2, 2])
