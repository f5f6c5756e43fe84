"""How far two people, or a judge and a person, agree: beyond chance, for verdicts and for scores on a scale."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

Weights = Literal["none", "linear", "quadratic"]
"""What a disagreement counts: always 1, or by how far the two are apart, or by the square of that."""

Level = Literal["nominal", "ordinal", "interval"]
"""What is known of two different values: only that they differ, which is more, or by how much."""


def kappa(pairs: Sequence[tuple[float, float]], weights: Weights = "none") -> float | None:
    """Cohen's kappa: 1 for agreement throughout, 0 for as much as chance would bring, below 0 for less.

    Args:
        pairs: What the first and the second said of each item.
        weights: For scores; the distance is that between the places of two values among all that occur.

    Returns:
        None without pairs, or where both said one and the same of every item: chance would agree as well.

    Source: Cohen, Educ. Psychol. Meas. 20 (1960), doi:10.1177/001316446002000104; weighted: Psychol. Bull. 70 (1968),
        doi:10.1037/h0026256.

    >>> round(kappa([(1, 1)] * 90 + [(1, 0)] * 5 + [(0, 1)] * 4 + [(0, 0)]), 7)
    0.1346154
    """
    places = {
        value: i for i, value in enumerate(sorted({value for pair in pairs for value in pair}))
    }
    if len(places) < 2:
        return None

    def cost(a: float, b: float) -> float:
        if weights == "none":
            return float(a != b)
        distance = abs(places[a] - places[b])
        return distance if weights == "linear" else distance * distance

    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    by_chance = math.fsum(
        n * m * cost(a, b) for a, n in first.items() for b, m in second.items()
    ) / len(pairs)
    return 1 - math.fsum(cost(a, b) for a, b in pairs) / by_chance


def ac1(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Gwet's AC1: like kappa, but not small only because nearly all items are of one kind.

    Args:
        pairs: What the first and the second said of each item.

    Returns:
        1 where all that is said is one and the same; None without pairs.

    Source: Gwet, Br. J. Math. Stat. Psychol. 61 (2008), doi:10.1348/000711006X126600.

    >>> round(ac1([(1, 1)] * 90 + [(1, 0)] * 5 + [(0, 1)] * 4 + [(0, 0)]), 7)
    0.8995592
    """
    if not pairs:
        return None
    counts = Counter(value for pair in pairs for value in pair)
    if len(counts) < 2:
        return 1.0
    shares = [n / (2 * len(pairs)) for n in counts.values()]
    chance = math.fsum(share * (1 - share) for share in shares) / (len(shares) - 1)
    observed = sum(a == b for a, b in pairs) / len(pairs)
    return (observed - chance) / (1 - chance)


def alpha(items: Sequence[Sequence[float]], level: Level = "nominal") -> float | None:
    """Krippendorff's alpha, for any number of people, each of whom may have left items out.

    Args:
        items: For each item, what those who looked at it said. Items with fewer than two are left out.
        level: What is known of two different values.

    Returns:
        1 for agreement throughout, 0 for chance; None where no item has two, or all that is said is one and the same.

    Source: Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), repository.upenn.edu/asc_papers/43.

    >>> round(alpha([[1, 1], [2, 2], [1, 2], [2, 2]]), 4)
    0.5333
    """
    rated = [item for item in items if len(item) > 1]
    counts = Counter(value for item in rated for value in item)
    if len(counts) < 2:
        return None
    distance = _distance(level, counts)
    observed = math.fsum(
        distance(a, b) / (len(item) - 1)
        for item in rated
        for i, a in enumerate(item)
        for j, b in enumerate(item)
        if i != j
    )
    by_chance = math.fsum(
        n * m * distance(a, b) for a, n in counts.items() for b, m in counts.items()
    ) / (counts.total() - 1)
    return 1 - observed / by_chance


def _distance(level: Level, counts: Counter[float]) -> Callable[[float, float], float]:
    if level == "nominal":
        return lambda a, b: float(a != b)
    if level == "interval":
        return lambda a, b: (a - b) ** 2
    # Ordinal: two values are as far apart as there are ratings between them, each end counting half.
    values = sorted(counts)

    def between(a: float, b: float) -> float:
        low, high = min(a, b), max(a, b)
        inside = sum(counts[value] for value in values if low <= value <= high)
        return (inside - (counts[low] + counts[high]) / 2) ** 2

    return between


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
