"""Whether a judge can stand in for a person: the alternative-annotator test.

How this works: each person is left out in turn. On every item the judge and that person are held against the others,
and whoever agrees with them at least as much wins; both win where they agree alike. A judge takes a person's place if
the person does not win more often by more than a margin, which is what a person costs more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evenhand.stats.student import t_tail

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
        """Whether it can stand in for half of the people or more."""
        return 2 * self.replaced >= self.people


def alternative_annotator(
    judge: Mapping[int, bool],
    people: Mapping[str, Mapping[int, bool]],
    margin: float = MARGIN,
) -> Alternative | None:
    """The test over all people who labelled enough.

    Args:
        judge: The judge's verdicts, by item.
        people: Each person's verdicts, by item.
        margin: How much more often a person may win, from 0 to 1: 0.2 for experts, 0.1 for people found anywhere.

    Returns:
        None with fewer than two people who share FEWEST items with somebody.

    Source: Calderon, Reichart and Dror, "The Alternative Annotator Test" (ACL 2025), arXiv:2501.10970; the correction
        for several people is that of Benjamini and Yekutieli, doi:10.1214/aos/1013699998.

    >>> labels = {i: i % 2 == 0 for i in range(40)}
    >>> alternative_annotator(labels, {"ann": labels, "bo": labels})
    Alternative(people=2, replaced=2, advantage=1.0)
    """
    p_values: list[float] = []
    advantages: list[float] = []
    for person, verdicts in people.items():
        wins: list[tuple[bool, bool]] = []
        for item, verdict in verdicts.items():
            others = [
                labels[item] for name, labels in people.items() if name != person and item in labels
            ]
            if not others or item not in judge:
                continue
            by_judge, by_person = others.count(judge[item]), others.count(verdict)
            wins.append((by_judge >= by_person, by_person >= by_judge))
        if len(wins) < FEWEST:
            continue
        p_values.append(_p_value([mine - its for its, mine in wins], margin))
        advantages.append(sum(its for its, _ in wins) / len(wins))
    if len(p_values) < 2:
        return None
    return Alternative(len(p_values), _rejected(p_values), math.fsum(advantages) / len(advantages))


def _p_value(differences: Sequence[float], margin: float) -> float:
    """One-sided, that the person wins more often by the margin or more."""
    n = len(differences)
    mean = math.fsum(differences) / n
    variance = math.fsum((one - mean) ** 2 for one in differences) / (n - 1)
    if not variance:
        return float(mean >= margin)
    t = (mean - margin) / math.sqrt(variance / n)
    tail = t_tail(abs(t), n - 1) / 2
    return tail if t < 0 else 1 - tail


def _rejected(p_values: Sequence[float]) -> int:
    """How many hypotheses fall at LEVEL."""
    m = len(p_values)
    harmonic = math.fsum(1 / i for i in range(1, m + 1))
    ordered = sorted(p_values)
    return max((i for i, p in enumerate(ordered, 1) if p <= i * LEVEL / (m * harmonic)), default=0)
