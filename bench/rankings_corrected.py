"""How often the intervals of rankings that are corrected by labels cover what people would have said.

python bench/rankings_corrected.py [DRAWS]

Cases have strengths of their own, so answers about one case depend on each other. People answer by these, in one order
that is drawn; the judge sees them through noise of its own, favours columns and the text shown first, and is asked in
both orders. The truth is what people say of 6,000 such cases.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from evenhand.stats.bradley_terry import Comparison, Strengths, fit
from evenhand.stats.corrected_strengths import JudgedPair, LabelledPair, corrected_strengths
from evenhand.stats.likelihood import Answer

SEED = 20_261_123
OWN = 2.0
"""The standard deviation of what cases add to each output, on the scale of log-odds."""
PEOPLES_PLACE = 0.1
PEOPLES_TIES = -0.5


class Setting(NamedTuple):
    """Cases, columns, and a judge.

    Attributes:
        cases: How many cases a run has.
        strengths: The columns' mean strengths, for people.
        bias: What the judge adds to each column.
        noise: The standard deviation of what it adds to each output.
        place: What it adds to the text shown first.
        labels: How many pairs people label.
    """

    cases: int
    strengths: tuple[float, ...]
    bias: tuple[float, ...]
    noise: float
    place: float
    labels: int


SETTINGS = {
    f"{len(strengths)} columns, {kind}, {cases} cases, {labels} labels": Setting(
        cases, strengths, bias[: len(strengths)], noise, place, labels
    )
    for strengths in ((0.6, 0.0, -0.6), (0.9, 0.4, 0.0, -0.4, -0.9))
    for kind, bias, noise, place in (
        ("a good judge", (0.3, 0.0, -0.3, 0.2, 0.0), 0.5, 0.3),
        ("a poor judge", (-1.0, 0.8, 0.5, -0.4, 0.6), 2.0, 1.5),
    )
    for cases in (40, 200)
    for labels in (50, 100)
}


def answer(draw: random.Random, lean: float, ties: float) -> Answer:
    """What somebody says who leans so far towards the first text."""
    odds = [math.exp(lean / 2), math.exp(-lean / 2), math.exp(ties)]
    words: tuple[Answer, ...] = ("first", "second", "tie")
    return draw.choices(words, odds)[0]


def judged_run(draw: random.Random, setting: Setting) -> list[LabelledPair]:
    """Every pair of each case, with people's answer and the judge's."""
    pairs: list[LabelledPair] = []
    for case in range(setting.cases):
        own = [strength + draw.gauss(0, OWN) for strength in setting.strengths]
        verdicts = [
            s + b + draw.gauss(0, setting.noise) for s, b in zip(own, setting.bias, strict=True)
        ]
        for one, two in combinations(range(len(own)), 2):
            first, second = draw.choice(((one, two), (two, one)))
            answer_ = answer(draw, own[first] - own[second] + PEOPLES_PLACE, PEOPLES_TIES)
            wins = losses = 0.0
            for sign in (1, -1):
                lean = 1.5 * (verdicts[one] - verdicts[two]) * sign + setting.place
                word = answer(draw, lean, -1.0)
                if word != "tie":
                    won = (word == "first") is (sign > 0)
                    wins, losses = wins + won / 2, losses + (not won) / 2
            people = Comparison(str(case), first, second, answer_)
            pairs.append(LabelledPair(people, JudgedPair(str(case), one, two, wins, losses)))
    return pairs


def truth_of(setting: Setting, cases: int = 6_000) -> Strengths:
    """What people say of very many cases."""
    many = judged_run(random.Random(SEED), setting._replace(cases=cases))
    return fit([pair.people for pair in many], prior=False)


class Found(NamedTuple):
    """How often intervals cover, of how many; their mean width, and that of the labels alone, summed."""

    covered: int
    intervals: int
    width: float
    alone: float
    raw: int
    weight: float


def one_draw(draw: random.Random, setting: Setting, truth: Strengths) -> Found:
    """One run, its labels and its ranking."""
    pairs = judged_run(draw, setting)
    labels, judged = draw.sample(pairs, setting.labels), [pair.judge for pair in pairs]
    one = corrected_strengths(labels, judged)
    alone = fit([label.people for label in labels])
    columns: Sequence[int] = one.strengths.columns
    covered, width, wide, raw = 0, 0.0, 0.0, 0
    judges = fit(_raw(judged))
    for column in columns:
        true = truth.chance(column).value
        _, low, high = one.strengths.chance(column)
        covered += low <= true <= high
        width += high - low
        _, low, high = alone.chance(column)
        wide += high - low
        _, low, high = judges.chance(column)
        raw += low <= true <= high
    return Found(covered, len(columns), width, wide, raw, one.weight)


def _raw(judged: Sequence[JudgedPair]) -> list[Comparison]:
    words: tuple[Answer, ...] = ("first", "second", "tie")
    return [
        Comparison(pair.cluster, *order, word, share)
        for pair in judged
        for order, won, lost in (
            ((pair.one, pair.two), pair.wins, pair.losses),
            ((pair.two, pair.one), pair.losses, pair.wins),
        )
        for word, share in zip(words, (won, lost, 1 - won - lost), strict=True)
        if share > 0
    ]


def main() -> None:
    """Prints a line for each setting."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"{draws} draws each, seed {SEED}: coverage of corrected, of raw; width, to labels alone")
    shares: list[float] = []
    start = time.process_time()
    for name, setting in SETTINGS.items():
        if setting.labels > setting.cases * math.comb(len(setting.strengths), 2):
            continue
        draw, truth = random.Random(SEED), truth_of(setting)
        results = [one_draw(draw, setting, truth) for _ in range(draws)]
        count = sum(one.intervals for one in results)
        shares.append(sum(one.covered for one in results) / count)
        width, alone = sum(one.width for one in results), sum(one.alone for one in results)
        raw = sum(one.raw for one in results) / count
        weight = sum(one.weight for one in results) / draws
        print(
            f"{name:50} {100 * shares[-1]:5.1f} %  {100 * raw:5.1f} %  {100 * width / count:3.0f} points"
            f"  {width / alone:.2f}  weight {weight:.2f}",
            flush=True,
        )
    print(f"on average {100 * sum(shares) / len(shares):.1f} %, at worst {100 * min(shares):.1f} %")
    print(f"{time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main()
