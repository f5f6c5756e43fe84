"""Whether a judge can stand in for a person: the alternative-annotator test.

How this works: each person is left out in turn. On every item the judge and that person are held against the others,
and whoever agrees with them at least as much wins; both win where they agree alike. A judge takes a person's place if
the person does not win more often by more than a margin, which is what a person costs more.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from evenhand.stats.design_effect import FEWEST_CASES
from evenhand.stats.distributions import t_tail

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
