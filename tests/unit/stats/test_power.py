"""How likely McNemar's exact test is to show a difference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from evenhand.stats.power import chance_to_show


@pytest.mark.parametrize("n", [4, 6, 30, 114, 700])
@pytest.mark.parametrize(
    ("difference", "differing"), [(0.0, 0.3), (0.1, 0.14), (0.05, 0.5), (0.2, 0.2), (0.3, 0.99)]
)
@pytest.mark.parametrize("level", [0.05, 0.001])
def test_the_chance_is_summed_over_all_ways_in_which_cases_may_differ_and_divide(
    n: int, difference: float, differing: float, level: float
):
    """By SciPy: over all numbers of cases that differ, the chance that so many are ahead that p is small enough."""
    ahead = (1 + difference / differing) / 2
    m = np.arange(1, n + 1)
    needed = binom.isf(level / 2, m, 0.5).astype(int) + 1  # the fewest with so small a tail
    chance = (binom.pmf(m, n, differing) * binom.sf(needed - 1, m, ahead)).sum()
    assert chance_to_show(n, difference, differing, level) == pytest.approx(chance, abs=1e-5)
