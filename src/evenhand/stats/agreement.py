"""How far two people, or a judge and a person, agree: beyond chance, for verdicts and for scores on a scale."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from evenhand.stats.design_effect import FEWEST_CASES
from evenhand.stats.distributions import t_tail

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


FEWEST = 30
"""Items that a person must have labelled, and somebody else too."""
MARGIN = 0.2
"""How much more often a person who knows the subject may win."""
LEVEL = 0.05


class Alternative(NamedTuple):
    """What the test comes to.

    Attributes:
        people: How many people it was held against.
        replaced: How many of them it can stand in for.
        advantage: How often the judge agrees with the others at least as much as the person left out, from 0 to 1.
    """

    people: int
    replaced: int
    advantage: float

    @property
    def passed(self) -> bool:
        """Whether the judge can stand in for half of the people or more."""
        return 2 * self.replaced >= self.people


def alternative_annotator(
    judge: Mapping[int, bool],
    people: Mapping[str, Mapping[int, bool]],
    margin: float = MARGIN,
    cases: Mapping[int, str] | None = None,
) -> Alternative | None:
    """The test over all people who labelled enough.

    Args:
        judge: The judge's verdicts, by item.
        people: Each person's verdicts, by item.
        margin: How much more often a person may win, from 0 to 1: 0.2 for experts, 0.1 for people found anywhere.
        cases: Of which case each item is: items of a case go together. None where each is of another one.

    Returns:
        None with fewer than two people who share FEWEST items with somebody, of FEWEST_CASES cases or more.

    Source: Calderon, Reichart and Dror, "The Alternative Annotator Test" (ACL 2025), arXiv:2501.10970; the correction
        for several people is that of Benjamini and Yekutieli, doi:10.1214/aos/1013699998. With
        cases, the standard error is that of clusters: Miller (2024), arXiv:2411.00640, §2.2.

    >>> labels = {i: i % 2 == 0 for i in range(40)}
    >>> alternative_annotator(labels, {"ann": labels, "bo": labels})
    Alternative(people=2, replaced=2, advantage=1.0)
    """
    p_values: list[float] = []
    advantages: list[float] = []
    for person, verdicts in people.items():
        wins: list[bool] = []
        by_case: defaultdict[str | int, list[int]] = defaultdict(list)
        for item, verdict in verdicts.items():
            others = [
                labels[item] for name, labels in people.items() if name != person and item in labels
            ]
            # Without a third opinion nobody can be right about the item, and without the judge's there is no contest.
            if not others or item not in judge:
                continue
            by_judge, by_person = others.count(judge[item]), others.count(verdict)
            its, mine = by_judge >= by_person, by_person >= by_judge
            wins.append(its)
            by_case[item if cases is None else cases[item]].append(mine - its)
        if len(wins) < FEWEST or len(by_case) < FEWEST_CASES:
            continue
        p_values.append(_p_value(by_case.values(), margin))
        advantages.append(sum(wins) / len(wins))
    if len(p_values) < 2:
        return None
    return Alternative(len(p_values), _rejected(p_values), math.fsum(advantages) / len(advantages))


def _p_value(clusters: Collection[Sequence[int]], margin: float) -> float:
    """One-sided, that the person wins more often by the margin or more.

    Args:
        clusters: Of each case, how much more the person wins on its items.
        margin: Where that begins to be too much.
    """
    groups, n = len(clusters), sum(map(len, clusters))
    mean = sum(map(sum, clusters)) / n
    squares = math.fsum((sum(each) - len(each) * mean) ** 2 for each in clusters)
    # Without spread there is no t: every case shows the same lead, which reaches the margin or does not.
    if not squares:
        return float(mean >= margin)
    t = (mean - margin) * n / math.sqrt(squares * groups / (groups - 1))
    tail = t_tail(abs(t), groups - 1) / 2
    return tail if t < 0 else 1 - tail


def _rejected(p_values: Sequence[float]) -> int:
    """How many hypotheses fall at LEVEL."""
    m = len(p_values)
    # The tests share labels, so their p-values depend on each other; the harmonic sum pays for that.
    harmonic = math.fsum(1 / i for i in range(1, m + 1))
    ordered = sorted(p_values)
    return max((i for i, p in enumerate(ordered, 1) if p <= i * LEVEL / (m * harmonic)), default=0)
