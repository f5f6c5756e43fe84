"""How good a ranking is: P@k, R@k, hit@k, reciprocal rank, average precision, nDCG@k.

A ranking is a list of ids, the best first, or a dict from ids to scores. What is relevant is a collection of ids, or a
dict from ids to grades: a grade above 0 is relevant, and the higher the more. The numbers are those of trec_eval.

An id that is retrieved again is left out where it comes again: what stands below moves up. Where nothing is relevant,
there is nothing to find, and the answer is None: neither 0 nor 1. Retrieving nothing of what is relevant is 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Literal, TypeGuard

Retrieved = Sequence[Hashable] | Mapping[str, float]
Relevant = Collection[Hashable] | Mapping[Hashable, float]
Kind = Literal["P", "R", "hit", "RR", "AP", "nDCG", "nDCG_exp"]

_Set = set[Hashable] | frozenset[Hashable]
_NAME = re.compile(r"([A-Za-z]+(?:_exp)?)(?:@([0-9]+))?")
_WORDS: Mapping[str, Kind] = {
    "p": "P",
    "precision": "P",
    "r": "R",
    "recall": "R",
    "hit": "hit",
    "rr": "RR",
    "mrr": "RR",
    "ap": "AP",
    "map": "AP",
    "ndcg": "nDCG",
    "ndcg_exp": "nDCG_exp",
}
_WANT_K = frozenset[Kind]({"P", "R", "hit"})
_DISCOUNTS = [1 / math.log2(rank + 1) for rank in range(1, 1001)]


@dataclass(frozen=True, slots=True)
class RankMetric:
    """A number about rankings, by the name that the field has for it: `P@5`, `nDCG@10`, `RR`.

    Attributes:
        kind: Which one; `nDCG_exp` is nDCG with gains of 2^grade - 1.
        k: Only the first so many are looked at; None for all of them.

    Raises:
        ValueError: `k` is less than 1, or is None where the number cannot be had without it.
    """

    kind: Kind
    k: int | None = None

    def __post_init__(self) -> None:
        if self.k is None and self.kind in _WANT_K:
            msg = f"{self.kind} wants a cut: {self.kind}@5"
            raise ValueError(msg)
        if self.k is not None and self.k < 1:
            msg = f"{self}: the cut is less than 1"
            raise ValueError(msg)

    def __call__(self, retrieved: Retrieved, relevant: Relevant) -> float | None:
        """The number for one ranking; None where nothing is relevant."""
        if self.kind == "nDCG":
            return ndcg(retrieved, relevant, self.k)
        if self.kind == "nDCG_exp":
            return ndcg(retrieved, relevant, self.k, exponential=True)
        if self.kind == "RR":
            return reciprocal_rank(retrieved, relevant, self.k)
        if self.kind == "AP":
            return average_precision(retrieved, relevant, self.k)
        cut = self.k or 0
        if self.kind == "P":
            return precision_at(retrieved, relevant, cut)
        return (recall_at if self.kind == "R" else hit_at)(retrieved, relevant, cut)

    def __str__(self) -> str:
        return self.kind if self.k is None else f"{self.kind}@{self.k}"


def parse(name: str) -> RankMetric:
    """The number that this name means: what `str` gives, in upper or lower case.

    `MRR` and `MAP`, which are means over cases, are `RR` and `AP` of each; `precision` and `recall` are P and R.

    Raises:
        ValueError: There is none of this name, or it lacks its cut.

    >>> str(parse("ndcg@10"))
    'nDCG@10'
    """
    match = _NAME.fullmatch(name.strip())
    kind = _WORDS.get(match[1].lower()) if match else None
    if match is None or kind is None:
        msg = f"{name!r} is not the name of a ranking metric"
        raise ValueError(msg)
    return RankMetric(kind, None if match[2] is None else int(match[2]))


def ranked(scores: Mapping[str, float]) -> list[str]:
    """Ids by their scores, the highest first; of equal scores the id that sorts last comes first, as in trec_eval.

    >>> ranked({"a": 0.5, "b": 0.9, "c": 0.5})
    ['b', 'c', 'a']
    """
    return sorted(scores, key=lambda name: (scores[name], name), reverse=True)


def precision_at(retrieved: Retrieved, relevant: Relevant, k: int) -> float | None:
    """P@k: the relevant among the first k, divided by k, also where fewer were retrieved.

    Source: trec_eval, `P`.

    >>> precision_at(["a", "b", "c"], {"a", "c"}, 2)
    0.5
    """
    relevant_ids = _relevant(relevant)
    return _hits(retrieved, relevant_ids, k) / k if relevant_ids else None


def recall_at(retrieved: Retrieved, relevant: Relevant, k: int) -> float | None:
    """R@k: the relevant among the first k, divided by all that are relevant.

    Source: trec_eval, `recall`.

    >>> recall_at(["a", "b", "c"], {"a", "c"}, 2)
    0.5
    """
    relevant_ids = _relevant(relevant)
    return _hits(retrieved, relevant_ids, k) / len(relevant_ids) if relevant_ids else None


def hit_at(retrieved: Retrieved, relevant: Relevant, k: int) -> float | None:
    """hit@k: 1 where something relevant is among the first k, else 0.

    Source: trec_eval, `success`.

    >>> hit_at(["a", "b", "c"], {"c"}, 2)
    0.0
    """
    relevant_ids = _relevant(relevant)
    return float(_hits(retrieved, relevant_ids, k) > 0) if relevant_ids else None


def reciprocal_rank(retrieved: Retrieved, relevant: Relevant, k: int | None = None) -> float | None:
    """RR: 1 divided by the rank of the first that is relevant; 0 where none is. Its mean over cases is MRR.

    Source: trec_eval, `recip_rank`.

    >>> reciprocal_rank(["a", "b", "c"], {"b", "c"})
    0.5
    """
    relevant_ids = _relevant(relevant)
    if not relevant_ids:
        return None
    for rank, item in enumerate(_once(retrieved, k), 1):
        if item in relevant_ids:
            return 1 / rank
    return 0.0


def average_precision(
    retrieved: Retrieved, relevant: Relevant, k: int | None = None
) -> float | None:
    """AP: P@r summed over the ranks r of what is relevant, divided by all that are relevant. Its mean is MAP.

    With a cut, what is relevant below it counts as not found, as in trec_eval's `map_cut`.

    Source: trec_eval, `map` and `map_cut`.

    >>> average_precision(["a", "b", "c"], {"a", "c"})
    0.8333333333333333
    """
    relevant_ids = _relevant(relevant)
    if not relevant_ids:
        return None
    hits, total = 0, 0.0
    for rank, item in enumerate(_once(retrieved, k), 1):
        if item in relevant_ids:
            hits += 1
            total += hits / rank
    return total / len(relevant_ids)


def ndcg(
    retrieved: Retrieved, relevant: Relevant, k: int | None = None, *, exponential: bool = False
) -> float | None:
    """nDCG@k: Σ gain / log2(rank + 1), divided by what the best possible order would give.

    Args:
        relevant: Ids, each of grade 1, or grades by id.
        k: Only the first so many, of the ranking and of the best order; None for all.
        exponential: The gain is 2^grade - 1 and not the grade: what is very relevant counts much more.

    Source: Järvelin and Kekäläinen, 2002, doi.org/10.1145/582415.582418, as trec_eval's `ndcg_cut`; exponential gains:
    Burges et al., 2005, doi.org/10.1145/1102351.1102363.

    >>> round(ndcg(["a", "b", "c"], {"a", "c"}) or 0, 4)
    0.9197
    """
    if _grades(relevant):
        gains = {item: grade for item, grade in relevant.items() if grade > 0}
        if exponential:
            gains = {item: 2.0**grade - 1 for item, grade in gains.items()}
    else:
        gains = dict.fromkeys(relevant, 1.0)
    gained = [gains.get(item, 0.0) for item in _once(retrieved, k)]
    best = _discounted(sorted(gains.values(), reverse=True)[:k])
    # Infinity divided by infinity is NaN, which would make every comparison false and every mean NaN.
    if not math.isfinite(best):
        msg = "a grade is infinite, or its gain is"
        raise ValueError(msg)
    return _discounted(gained) / best if best else None


def _discounted(gains: Sequence[float]) -> float:
    if len(gains) > len(_DISCOUNTS):
        _DISCOUNTS.extend(
            1 / math.log2(rank + 1) for rank in range(len(_DISCOUNTS) + 1, len(gains) + 1)
        )
    return sum(map(mul, gains, _DISCOUNTS))


def _grades(relevant: Relevant) -> TypeGuard[Mapping[Hashable, float]]:
    # Sets first: whether something is a Mapping costs more to ask than most of these numbers do.
    return not isinstance(relevant, (set, frozenset)) and isinstance(relevant, Mapping)


def _relevant(relevant: Relevant) -> _Set:
    if _grades(relevant):
        return {item for item, grade in relevant.items() if grade > 0}
    return relevant if isinstance(relevant, (set, frozenset)) else set(relevant)


def _once(retrieved: Retrieved, k: int | None) -> Sequence[Hashable]:
    """The first k, each once, at its first rank; raises ValueError where k is less than 1."""
    if k is not None and k < 1:
        msg = f"k is {k!r}, less than 1"
        raise ValueError(msg)
    if not isinstance(retrieved, list) and isinstance(retrieved, Mapping):
        return ranked(retrieved)[:k]
    return list(dict.fromkeys(retrieved))[:k]


def _hits(retrieved: Retrieved, wanted: _Set, k: int) -> int:
    return len(wanted.intersection(_once(retrieved, k)))
