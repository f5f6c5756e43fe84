"""What corrected rates of draws that aren't uniform promise, over many draws; `DRAWS=1000` makes the table below.

500 outputs, of which n are labelled; the judge shows doubt of some. Seed 3, 1,000 draws each, nominal 95 %: how many
intervals hold the pass rate that people give all 500, and how wide they are as against a uniform draw's.

| outputs | draw | n = 50 | n = 100 | width |
| --- | --- | --- | --- | --- |
| doubts where it errs | uniform | 0.954 | 0.978 | 1.00 |
| doubts where it errs | active | 0.972 | 0.991 | 0.85 |
| doubts where it errs | equal | 0.994 | 0.990 | 1.03 |
| sure where it errs | uniform | 0.959 | 0.976 | 1.00 |
| sure where it errs | active | 0.950 | 0.962 | 1.04 |
| sure where it errs | equal | 0.957 | 0.958 | 1.16 |
| nearly all pass | uniform | 0.957 | 0.968 | 1.00 |
| nearly all pass | active | 0.977 | 0.980 | 0.90 |
| nearly all pass | equal | 0.979 | 0.993 | 1.02 |
| no better than chance | uniform | 0.957 | 0.970 | 1.00 |
| no better than chance | active | 0.945 | 0.967 | 1.01 |
| no better than chance | equal | 0.936 | 0.961 | 1.03 |
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence

import pytest

from evenhand.analysis.trust.judgements.strata import drawn_within_strata
from evenhand.analysis.trust.labels.uneven_drawing import FLOOR, _spread  # pyright: ignore[reportPrivateUsage]
from evenhand.stats.correction import (
    Verdicts,
    _mixture,  # pyright: ignore[reportPrivateUsage]
)
from evenhand.stats.interval import wilson
from evenhand.stats.weighted import (
    Weighted,
    allocated,
    corrected_by_strata,
    half_width_by_strata,
    weighted,
)

SEED = 3
DRAWS = int(os.environ.get("DRAWS", "120"))
OUTPUTS = 500
Item = tuple[int, bool, bool]
"""An output: its stratum, whether people pass it, whether the judge does."""

POPULATIONS = {
    "doubts where it errs": [
        (0.1, 0.0, 0.5, 0.6, 0.45), (0.2, 0.5, 0.6, 0.8, 0.3), (0.7, 1.0, 0.75, 0.97, 0.04),
    ],
    "sure where it errs": [(0.2, 0.0, 0.6, 0.98, 0.02), (0.8, 1.0, 0.7, 0.75, 0.3)],
    "nearly all pass": [(0.15, 0.0, 0.7, 0.8, 0.5), (0.85, 1.0, 0.98, 0.98, 0.5)],
    "no better than chance": [(0.3, 0.0, 0.6, 0.5, 0.45), (0.7, 1.0, 0.7, 0.42, 0.38)],
}  # fmt: skip
"""Strata, each with its share, the judge's certainty, its pass rate, and people's among what it passes and fails."""


def outputs(rng: random.Random, name: str) -> list[Item]:
    """The outputs of a population."""
    items: list[Item] = []
    for stratum, (share, _, passes, good, missed) in enumerate(POPULATIONS[name]):
        for _ in range(round(share * OUTPUTS)):
            judge = rng.random() < passes
            items.append((stratum, rng.random() < (good if judge else missed), judge))
    return items


def drawn(rng: random.Random, name: str, design: str, items: Sequence[Item], n: int) -> list[Item]:
    """A draw of n of them."""
    if design == "uniform":
        return rng.sample(items, n)
    groups = [[i for i in items if i[0] == k] for k in range(len(POPULATIONS[name]))]
    spreads = [
        _spread(sure) * len(g) for (_, sure, *_), g in zip(POPULATIONS[name], groups, strict=True)
    ]
    shares = {
        "active": [
            (1 - FLOOR) * s / sum(spreads) + FLOOR * len(g) / len(items)
            for s, g in zip(spreads, groups, strict=True)
        ],
        "equal": [1.0] * len(groups),
    }[design]
    numbers = allocated(shares, [len(g) for g in groups], n)
    return [i for g, k in zip(groups, numbers, strict=True) for i in rng.sample(g, k)]


def counts(items: Sequence[Item], labelled: Sequence[Item]) -> list[Verdicts]:
    """The strata's counts."""
    strata = sorted({i[0] for i in items})
    own = {k: Counter((p, j) for s, p, j in labelled if s == k) for k in strata}
    return [
        Verdicts(
            *(
                own[k][pair]
                for pair in ((True, True), (True, False), (False, True), (False, False))
            ),
            sum(j for s, _, j in items if s == k),
            sum(s == k for s, _, _ in items),
        )
        for k in strata
    ]


def holds(found: Weighted, labels: int, judge: int, items: int, truth: float) -> bool:
    """Whether the interval holds the truth. Its ends take long: as a rule it is looked up how much lies below it."""
    about = half_width_by_strata(found, labels, items)
    low, high = wilson(found.uniform.rate * found.uniform.size, found.uniform.size)
    if high - low < 2.1 * about:
        rate = corrected_by_strata(found.uniform, judge, items)
        return rate.low <= truth <= rate.high
    return 0.025 <= _mixture(found.uniform[:4], judge, items)(truth) <= 0.975


def measured(name: str, design: str, n: int) -> tuple[float, float, float, float]:
    """Coverage of the rate, of TPR and TNR, and the mean width."""
    rng = random.Random(f"{SEED} {name} {design} {n}")
    covered = tpr_covered = tnr_covered = 0
    width = 0.0
    for _ in range(DRAWS):
        items = outputs(rng, name)
        strata = counts(items, drawn(rng, name, design, items, n))
        judge, people = sum(j for *_, j in items), sum(p for _, p, _ in items)
        if design == "uniform":
            one = Verdicts(*map(sum, zip(*strata, strict=True)))
            strata = [one]
        found = weighted(strata)
        covered += holds(found, n, judge, len(items), people / len(items))
        width += 2 * half_width_by_strata(found, n, len(items)) / DRAWS
        both = sum(p and j for _, p, j in items)
        neither = sum(not p and not j for _, p, j in items)
        tpr_covered += found.tpr is None or found.tpr.low <= both / people <= found.tpr.high
        tnr = neither / (len(items) - people)
        tnr_covered += found.tnr is None or found.tnr.low <= tnr <= found.tnr.high
    return covered / DRAWS, tpr_covered / DRAWS, tnr_covered / DRAWS, width


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("design", ["active", "equal"])
@pytest.mark.parametrize("name", POPULATIONS)
def test_weighted_intervals_cover_what_people_say_of_all_outputs(name: str, design: str):
    """50 labels of 500: of DRAWS draws hardly fewer than 93 % cover; TPR's and TNR's intervals hold theirs, too."""
    rate, tpr, tnr, _ = measured(name, design, 50)
    noise = 2.6 * (0.07 * 0.93 / DRAWS) ** 0.5
    assert rate >= 0.93 - noise, SEED
    assert min(tpr, tnr) >= 0.9 - noise, SEED


@pytest.mark.thorough
def test_an_active_draw_is_narrower_where_the_judge_doubts_what_it_gets_wrong():
    """By a tenth or more against a uniform draw of as many; where it is sure of its errors, hardly wider."""
    helpful, harmful = "doubts where it errs", "sure where it errs"
    assert measured(helpful, "active", 50)[3] < 0.9 * measured(helpful, "uniform", 50)[3]
    assert measured(harmful, "active", 50)[3] < 1.1 * measured(harmful, "uniform", 50)[3]


def test_what_more_labels_would_bring_is_what_they_bring():
    """Of 60 active labels, what is said of 100 is within a tenth of what 100 come to, on average."""
    rng = random.Random(SEED)
    name = "doubts where it errs"
    said = came = 0.0
    for _ in range(60):
        items = outputs(rng, name)
        fewer, more = (
            weighted(counts(items, drawn(rng, name, "active", items, n))) for n in (60, 100)
        )
        judge = sum(j for *_, j in items)
        end = corrected_by_strata(more.uniform, judge, len(items))
        said += half_width_by_strata(fewer, 100, len(items))
        came += (end.high - end.low) / 2
    assert said == pytest.approx(came, rel=0.1), SEED


@pytest.mark.parametrize("design", ["active", "equal"])
def test_labels_that_lean_within_their_strata_are_found_out_and_drawn_ones_are_not(design: str):
    """100 labels, three to one towards the judge's passes: nine of ten are refused; of drawn ones, one in a hundred."""
    rng = random.Random(SEED)
    leaning = chance = 0
    for i in range(600):
        if i % 50 == 0:
            items = outputs(rng, "no better than chance")
        labelled = drawn(rng, "no better than chance", design, items, 100)
        chance += drawn_within_strata(counts(items, labelled)) < 0.01
        sizes = Counter(stratum for stratum, *_ in labelled)
        biased: list[Item] = []
        for stratum, size in sizes.items():
            there = [one for one in items if one[0] == stratum]
            # One after the other by weight, all at once: Efraimidis and Spirakis, doi:10.1016/j.ipl.2005.11.003.
            keys = [rng.random() ** (1 / (3 if j else 1)) for *_, j in there]
            order = sorted(range(len(there)), key=keys.__getitem__, reverse=True)
            biased += [there[i] for i in order[:size]]
        leaning += drawn_within_strata(counts(items, biased)) < 0.01
    assert leaning >= 540, SEED
    assert chance <= 12, SEED
