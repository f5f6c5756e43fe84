"""Published numbers, from the counts they were published of, and from the recorded tables where they are at hand."""

from __future__ import annotations

import csv
import gzip
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean

import pytest

from evenhand.stats.interval import mean_of_sums
from evenhand.stats.paired_difference import Differences, verdict
from evenhand.stats.tallies import Tally, of_tries, pass_hat, rate_of

TABLES = Path(__file__).parents[3] / "shared" / "data" / "judges"

# τ-bench, airline, gpt-4o (sierra-research/tau-bench, MIT): how many tasks passed so many of their four trials.
TAU_BENCH = {0: 14, 1: 12, 2: 10, 3: 4, 4: 10}
# PandaLM (WeOpenML/PandaLM, Apache-2.0): 999 pairs, rows the people's majority 0, 1 or 2, columns gpt-3.5-turbo's
# answer 0, 1, 2, "Tie" or none that can be read.
PANDALM = {0: (0, 42, 45, 5, 13), 1: (0, 332, 71, 13, 6), 2: (0, 86, 360, 20, 6)}
# LLMBar (princeton-nlp/LLMBar, MIT): of how many adversarial pairs GPT-4 got so large a share of the two orders right,
# without rules in its prompt and with them.
ADVERSARIAL = ("Neighbor", "GPTInst", "GPTOut", "Manual")
LLMBAR = {
    (0.0, 0.0): 42,
    (0.0, 0.5): 16,
    (0.0, 1.0): 17,
    (0.5, 0.0): 5,
    (0.5, 0.5): 7,
    (0.5, 1.0): 22,
    (1.0, 0.0): 1,
    (1.0, 0.5): 2,
    (1.0, 1.0): 207,
}


def rows(name: str) -> Iterator[dict[str, str]]:
    """The rows of a recorded table."""
    file = TABLES / name
    if not file.is_file():
        pytest.skip(f"there is no recorded table at {file}")
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
        yield from csv.DictReader(lines)


def tau_bench() -> list[tuple[int, int]]:
    """(passed, trials) of each of the fifty tasks."""
    return [(passed, 4) for passed, tasks in TAU_BENCH.items() for _ in range(tasks)]


def test_the_row_of_tau_bench() -> None:
    """pass^1 to pass^4 as in its README: .420, .273, .220, .200; over 50 tasks, 26 of them flaky."""
    published = (0.42, 0.2733, 0.22, 0.2)
    errors = (0.0522, 0.0555, 0.0565, 0.0571)
    for k, (rate, error) in enumerate(zip(published, errors, strict=True), 1):
        found = of_tries([[Tally(c, n - c)] for c, n in tau_bench()], k)
        assert found is not None
        assert (found.cases, found.always[0]) == (50, pytest.approx(rate, abs=5e-5))
        mean, low, high = mean_of_sums((pass_hat(n, c, k), 1) for c, n in tau_bench()) or (
            0,
            0,
            0,
        )
        assert mean == pytest.approx(rate, abs=5e-5)
        assert (high - low) / 2 / 2.009575 == pytest.approx(
            error, abs=6e-4
        )  # published with n, not n − 1
        assert found.always.low < rate < found.always.high
        assert found.always.high - found.always.low == pytest.approx(high - low, rel=0.06)
    assert sum(0 < c < n for c, n in tau_bench()) == 26


def test_repeats_of_tau_bench_are_not_taken_for_tasks() -> None:
    """200 trials of 50 tasks are worth 90 independent ones: a design effect of 2.21."""
    rate = rate_of([Tally(c, n - c) for c, n in tau_bench()])
    assert rate is not None
    low, high = rate.low, rate.high
    assert (high - low) / 2 == pytest.approx(1.96 * math.sqrt(0.42 * 0.58 / (200 / 2.21)), rel=0.05)


def test_the_recorded_trials_of_tau_bench_have_these_counts() -> None:
    """The table gives the counts above."""
    passes: Counter[str] = Counter()
    for row in rows("taubench_gpt4o_airline_trials__MIT.csv"):
        passes[row["task"]] += int(row["pass"])
    assert Counter(passes.values()) == Counter(TAU_BENCH)


def scores_of(table: Mapping[int, tuple[int, ...]]) -> tuple[float, float, float, float]:
    """Accuracy, and precision, recall and F1 as means over the three answers, in per cent."""
    counts = {h: (row[0] + row[3] + row[4], row[1], row[2]) for h, row in table.items()}
    total = sum(map(sum, counts.values()))
    said = [sum(counts[h][j] for h in counts) for j in range(3)]
    precision = [counts[j][j] / said[j] if said[j] else 0.0 for j in range(3)]
    recall = [counts[j][j] / sum(counts[j]) for j in range(3)]
    f1 = [2 * p * r / (p + r) if p + r else 0.0 for p, r in zip(precision, recall, strict=True)]
    right = sum(counts[j][j] for j in range(3)) / total
    return tuple(round(100 * x, 2) for x in (right, fmean(precision), fmean(recall), fmean(f1)))  # type: ignore[return-value]


def test_the_row_of_pandalm() -> None:
    """gpt-3.5-turbo against people: 71.07, 58.79, 57.36, 57.55, a tie or no answer taken for neither."""
    assert scores_of(PANDALM) == (71.07, 58.79, 57.36, 57.55)


def test_the_recorded_labels_of_pandalm_have_these_counts() -> None:
    """The table gives the counts above: a majority of three, and the first where all differ."""
    found: defaultdict[int, Counter[int]] = defaultdict(Counter)
    order = {"0": 0, "1": 1, "2": 2, "Tie": 3}
    for row in rows("pandalm_labels__Apache2.csv"):
        people = Counter(int(row[f"human{i}"]) for i in (1, 2, 3))
        found[people.most_common(1)[0][0]][order.get(row["gpt35"], 4)] += 1
    assert {h: tuple(c[i] for i in range(5)) for h, c in found.items()} == PANDALM


def llmbar(judge: str, prompt: str) -> dict[tuple[str, str], tuple[float, bool]]:
    """For each pair the share of its two orders that the judge got right, and whether it said the same in both."""
    return {
        (row["subset"], row["item"]): (
            fmean(row[f"winner_{order}_order"] == row["gold"] for order in ("original", "swapped")),
            row["winner_original_order"] == row["winner_swapped_order"],
        )
        for row in rows("llmbar_verdicts__MIT.csv.gz")
        if row["judge"] == judge and row["prompt"] == prompt
    }


def test_the_accuracy_of_llmbar() -> None:
    """GPT-4 with metrics and a reference, in per cent: right, and the same in both orders, for each subset."""
    found: defaultdict[str, list[tuple[float, bool]]] = defaultdict(list)
    for (subset, _), answer in llmbar("GPT-4", "Metrics_Reference").items():
        found[subset].append(answer)
    published = {
        "Natural": (96.0, 96.0),
        "Neighbor": (85.4, 94.8),
        "GPTInst": (89.7, 90.2),
        "GPTOut": (72.3, 83.0),
        "Manual": (83.7, 84.8),
    }
    for subset, (right, alike) in published.items():
        assert 100 * fmean(r for r, _ in found[subset]) == pytest.approx(right, abs=0.05)
        assert 100 * fmean(a for _, a in found[subset]) == pytest.approx(alike, abs=0.05)
    adversarial = [fmean(r for r, _ in found[subset]) for subset in ADVERSARIAL]
    assert 100 * fmean(adversarial) == pytest.approx(82.8, abs=0.05)


def test_rules_make_gpt_4_a_better_judge_of_llmbar() -> None:
    """From 71.2 to 81.0 % of 319 adversarial pairs: +9.9 points [6.6, 13.3] as scores, little else as rates."""
    pairs = [(pair, n) for pair, n in LLMBAR.items() for _ in range(n)]
    differences = [(after - before,) for (before, after), _ in pairs]
    assert fmean(before for (before, _), _ in pairs) == pytest.approx(0.712, abs=5e-4)
    assert fmean(after for (_, after), _ in pairs) == pytest.approx(0.810, abs=5e-4)
    scores = Differences(differences, scale=(-1, 1))
    assert scores.mean == pytest.approx(0.099, abs=5e-4)
    assert scores.interval() == pytest.approx((0.066, 0.133), abs=5e-4)
    rates = Differences(differences, rates=True, repeats=2)
    assert rates.interval() == pytest.approx((0.069, 0.133), abs=5e-4)
    for found in (scores, rates):
        assert found.p() < 0.0005
        assert verdict(found, found.p()) == "better"


def test_the_recorded_verdicts_of_llmbar_have_these_counts() -> None:
    """The table gives the counts above."""
    before, after = llmbar("GPT-4", "Vanilla_NoRules"), llmbar("GPT-4", "Vanilla")
    found = Counter((before[pair][0], after[pair][0]) for pair in before if pair[0] in ADVERSARIAL)
    assert found == LLMBAR
