"""How far two people's scores agree, or a judge's and a person's, where each item may count differently."""

from __future__ import annotations

import math
from collections.abc import Sequence


def quadratic_kappa(
    pairs: Sequence[tuple[float, float]], weights: Sequence[float] | None = None
) -> float | None:
    """Cohen's kappa with quadratic weights: 1 for agreement throughout, 0 for as much as chance would bring.

    A disagreement counts by the square of how far the scores are apart. So scores need not be whole, and levels that
    nobody used make no difference.

    Args:
        pairs: What the first and the second said of each item, on one scale.
        weights: For how many items each stands; one each by default.

    Returns:
        None without pairs, or where both said one and the same of every item.

    Source: Cohen, Psychol. Bull. 70 (1968), doi:10.1037/h0026256. By the moments it is Lin's coefficient of
        concordance, Biometrics 45 (1989), doi:10.2307/2532051.

    >>> round(quadratic_kappa([(1, 1), (2, 2), (3, 2), (4, 5)]), 4)
    0.8571
    """
    masses = [1.0] * len(pairs) if weights is None else list(weights)
    total = math.fsum(masses)
    if not total:
        return None

    def mean(values: Sequence[float]) -> float:
        return math.fsum(w * value for w, value in zip(masses, values, strict=True)) / total

    first, second = mean([a for a, _ in pairs]), mean([b for _, b in pairs])
    by_chance = (
        mean([(a - first) ** 2 for a, _ in pairs])
        + mean([(b - second) ** 2 for _, b in pairs])
        + (first - second) ** 2
    )
    return 1 - mean([(a - b) ** 2 for a, b in pairs]) / by_chance if by_chance > 1e-15 else None


def weighted_tau_b(
    pairs: Sequence[tuple[float, float]], weights: Sequence[float] | None = None
) -> float | None:
    """Kendall's τ_b: whether two orders agree, ties taken into account; from −1 to 1.

    Args:
        pairs: The two scores of each item.
        weights: For how many items each stands; one each by default. Two items count by the product of theirs.

    Returns:
        None where either gives every item the same score, or there are fewer than two.

    Source: Kendall, Biometrika 33 (1945), doi:10.1093/biomet/33.3.239.

    >>> weighted_tau_b([(1, 1), (2, 2), (3, 3)])
    1.0
    """
    masses = [1.0] * len(pairs) if weights is None else list(weights)
    agreeing = first_only = second_only = 0.0
    for i, (a, b) in enumerate(pairs):
        for (c, d), weight in zip(pairs[:i], masses, strict=False):
            left, right = (a > c) - (a < c), (b > d) - (b < d)
            both = weight * masses[i]
            agreeing += both * left * right
            first_only += both * (left != 0)
            second_only += both * (right != 0)
    if not first_only or not second_only:
        return None
    return agreeing / math.sqrt(first_only * second_only)
