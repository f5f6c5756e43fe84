from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.stats.distributions import t_quantile, t_tail
from evenhand.stats.interval import mean_of_sums, wilson, z_of


def test_small_proportions_by_hand() -> None:
    """For all or nothing the Wilson bound is n / (n + z²), and what is left of it."""
    z2 = z_of() ** 2
    assert wilson(8, 8) == (pytest.approx(8 / (8 + z2)), 1.0)
    assert wilson(0, 8) == (0.0, pytest.approx(z2 / (8 + z2)))
    assert wilson(1, 2)[0] == pytest.approx(0.5 - 0.5 * math.sqrt(z2 / (2 + z2)))


def test_nothing_seen_is_nothing_known() -> None:
    """No trials: anything from 0 to 1."""
    assert wilson(0, 0) == (0.0, 1.0)
    assert mean_of_sums([]) is None
    assert mean_of_sums([(0.0, 0), (0.0, 0)]) is None


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3)])
def test_what_is_no_proportion_is_refused(k: int, n: int) -> None:
    """Neither fewer than none nor more than all can have passed."""
    with pytest.raises(ValueError, match="not a proportion"):
        wilson(k, n)


@pytest.mark.parametrize("confidence", [0, 1, 1.5])
def test_confidence_lies_between_none_and_certainty(confidence: float) -> None:
    """An interval of 100 % confidence is none."""
    with pytest.raises(ValueError, match="confidence"):
        wilson(1, 2, confidence)
    with pytest.raises(ValueError, match="confidence"):
        t_quantile(confidence, 3)


@given(n=st.integers(1, 500), share=st.floats(0, 1), confidence=st.floats(0.5, 0.999))
def test_an_interval_holds_what_was_seen_and_mirrors(
    n: int, share: float, confidence: float
) -> None:
    """The rate lies inside, failures mirror passes, and more confidence is wider."""
    k = round(share * n)
    low, high = wilson(k, n, confidence)
    assert 0 <= low <= k / n <= high <= 1
    other_low, other_high = wilson(n - k, n, confidence)
    assert (1 - other_high, 1 - other_low) == (pytest.approx(low), pytest.approx(high))
    wider = wilson(k, n, (1 + confidence) / 2)
    assert wider[0] <= low
    assert wider[1] >= high


def test_a_mean_by_hand() -> None:
    """Scores 1, 2, 3: mean 2, s = 1, t of 2 degrees 4.3027."""
    mean, low, high = mean_of_sums([(1.0, 1), (2.0, 1), (3.0, 1)]) or (0, 0, 0)
    assert mean == 2
    assert high - mean == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert mean - low == pytest.approx(high - mean)


def test_clustered_scores_have_the_published_error() -> None:
    """[1,1,1,0 | 1,1 | 0,0,0 | 1,0,1]: standard error .1720766, corrected .1986969."""
    clusters = [[1.0, 1, 1, 0], [1.0, 1], [0.0, 0, 0], [1.0, 0, 1]]
    mean, _, high = mean_of_sums((sum(c), len(c)) for c in clusters) or (0, 0, 0)
    assert mean == pytest.approx(7 / 12)
    assert (high - mean) / t_quantile(0.95, 3) == pytest.approx(0.1986969, abs=1e-7)


def test_one_cluster_tells_nothing_of_the_spread() -> None:
    """A mean, and no bounds."""
    assert mean_of_sums([(3.0, 2)]) == (1.5, -math.inf, math.inf)


@pytest.mark.parametrize(
    ("df", "quantile"),
    [(1, 12.706205), (2, 4.302653), (5, 2.570582), (30, 2.042272), (1000, 1.962339)],
)
def test_t_is_as_in_the_tables(df: int, quantile: float) -> None:
    """The printed table of every textbook."""
    assert t_quantile(0.95, df) == pytest.approx(quantile, abs=1e-6)
    assert t_tail(quantile, df) == pytest.approx(0.05, abs=1e-7)


def test_the_ends_of_t() -> None:
    """At 0 everything is further away, at infinity nothing; without degrees of freedom there is no t."""
    assert t_tail(0, 5) == 1
    assert t_tail(math.inf, 5) == 0
    assert t_tail(-2, 1) == t_tail(2, 1) == pytest.approx(1 - 2 * math.atan(2) / math.pi)
    with pytest.raises(ValueError, match="degrees"):
        t_tail(1, 0)
    for low, high in itertools.pairwise([0.1, 1, 5, 40, 1e6]):
        assert t_tail(low, 7) > t_tail(high, 7)
