"""Our numbers about rankings are trec_eval's, through pytrec_eval."""

from __future__ import annotations

import random

import pytest
import pytrec_eval

from evenhand.scorers.metrics.ranking import parse

PAIRS = {
    "P@5": "P_5",
    "P@10": "P_10",
    "R@5": "recall_5",
    "R@10": "recall_10",
    "hit@1": "success_1",
    "hit@5": "success_5",
    "RR": "recip_rank",
    "AP": "map",
    "AP@5": "map_cut_5",
    "AP@10": "map_cut_10",
    "nDCG": "ndcg",
    "nDCG@5": "ndcg_cut_5",
    "nDCG@10": "ndcg_cut_10",
}


def drawn(seed: int, ties: bool) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Graded judgements and scored rankings of 50 queries."""
    draw = random.Random(seed)
    names = [f"d{i}" for i in range(40)]
    judged = {
        f"q{q}": {name: draw.choice([0, 0, 1, 2, 3]) for name in draw.sample(names, 15)}
        for q in range(50)
    }
    runs = {
        q: {
            name: float(draw.randrange(4)) if ties else draw.random()
            for name in draw.sample(names, draw.randrange(1, 30))
        }
        for q in judged
    }
    return judged, runs


@pytest.mark.parametrize("ties", [False, True], ids=["no ties", "ties"])
@pytest.mark.parametrize("seed", range(4))
def test_every_number_is_trec_evals(seed: int, ties: bool):
    """Graded, with unjudged documents, short rankings and equal scores."""
    judged, runs = drawn(seed, ties)
    theirs = pytrec_eval.RelevanceEvaluator(
        judged, {"P", "recall", "success", "recip_rank", "map", "map_cut", "ndcg", "ndcg_cut"}
    ).evaluate(runs)
    for query, grades in judged.items():
        if not any(grade > 0 for grade in grades.values()):
            continue
        for ours, name in PAIRS.items():
            found = parse(ours)(runs[query], grades)
            assert found == pytest.approx(theirs[query][name], abs=1e-12), (query, ours)
