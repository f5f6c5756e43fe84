"""People's and judges' preferences of PandaLM (WeOpenML/PandaLM, Apache-2.0), ranked; where the table is at hand."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from evenhand.stats.bradley_terry import Answer, Comparison, fit

TABLE = Path(__file__).parents[3] / "shared/data/judges/pandalm_labels__Apache2.csv"
PEOPLE = ("human1", "human2", "human3")
MODELS = ("bloom-7b", "cerebras-gpt-6.7B", "llama-7b", "opt-7b", "pythia-6.9b")
ANSWERS: dict[str, Answer] = {"0": "tie", "Tie": "tie", "1": "first", "2": "second"}
SEED = 20_260_803


def votes(voters: Sequence[str]) -> list[list[Comparison]]:
    """What these said of each of the 999 pairs. What cannot be read is no vote."""
    if not TABLE.is_file():
        pytest.skip(f"there is no recorded table at {TABLE}")
    with TABLE.open() as lines:
        return [
            [
                Comparison(row["idx"], *map(MODELS.index, row["pair"].split("_")), ANSWERS[vote])
                for vote in (row[voter] for voter in voters)
                if vote in ANSWERS
            ]
            for row in csv.DictReader(lines)
        ]


def test_people_rank_llama_first_and_cerebras_last_and_gpt_35_agrees():
    """Each chance that the judge gives a model lies in people's interval. Each voter's text order is the same."""
    people = fit(vote for pair in votes(PEOPLE) for vote in pair)
    judge = fit(vote for pair in votes(["gpt35"]) for vote in pair)
    for fitted in (people, judge):
        order = sorted(fitted.columns, key=lambda c: -fitted.chance(c).value)
        assert [MODELS[c] for c in (order[0], order[-1])] == ["llama-7b", "cerebras-gpt-6.7B"]
        assert fitted.beats(order[0], order[-1]).low > 0.7
        assert fitted.first_wins().low < 0.5 < fitted.first_wins().high
    for column in people.columns:
        _, low, high = people.chance(column)
        assert low < judge.chance(column).value < high


def test_intervals_from_a_hundred_pairs_cover_what_all_of_them_say():
    """In at least 93 % of 100 draws with replacement; three votes on a pair depend on each other."""
    pairs, random = votes(PEOPLE), Random(SEED)
    truth = fit((vote for pair in pairs for vote in pair), prior=False)
    hits: list[bool] = []
    for _ in range(100):
        drawn = random.choices(pairs, k=100)
        fitted = fit(vote._replace(cluster=str(i)) for i, pair in enumerate(drawn) for vote in pair)
        for column in fitted.columns:
            _, low, high = fitted.chance(column)
            hits.append(low <= truth.chance(column).value <= high)
    assert sum(hits) >= 0.93 * len(hits), f"seed {SEED}: {sum(hits)} of {len(hits)}"
