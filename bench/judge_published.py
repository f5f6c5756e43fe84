"""What was published or noted of the recorded tables, beside what comes out of them here."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from judge_tables import (
    ALPACA_EVAL,
    COUNTS,
    LLMBAR,
    OWN,
    PANDALM,
    SIDES,
    TAU_BENCH,
    majority,
    recorded,
    rows,
)

from evenhand.stats.agreement import alpha, kappa
from evenhand.stats.tallies import Tally, of_tries

PLACES = ("original", "swapped")


class Figure(NamedTuple):
    """A number, or a few, as somebody published it and as it comes out here."""

    what: str
    published: str
    here: str


def published(folder: Path) -> Iterator[Figure]:
    """Every figure, in the order of the tables."""
    yield from arena(folder)
    yield from pandalm(folder)
    yield from llmbar(folder)
    yield from tau_bench(folder)
    yield null_model(folder)


def listed(values: Sequence[float], places: int) -> str:
    return " ".join(f"{value:.{places}f}" for value in values)


def arena(folder: Path) -> Iterator[Figure]:
    """How often people and a judge name Claude, and the counts that this bench carries."""
    short = {
        "qwen3-235b-a22b-no-thinking": "Qwen3",
        "gemini-2.5-pro": "Gemini 2.5 Pro",
        "gemini-2.5-flash": "Gemini 2.5 Flash",
    }
    tables: dict[str, tuple[int, ...]] = {}
    for table in recorded(folder):
        place, _, other = table.source.partition(", against ")
        if place == "Arena":
            counts = Counter(table.pairs)
            cells = tuple(counts[people, judge] for people in (1, -1) for judge in (1, -1))
            tables[f"Arena, against {short[other]}, {table.judge}"] = cells
    same = sum(tables.get(name) == counts for name, counts in COUNTS.items())
    yield Figure("Arena: tables with the counts that this bench carries", "6", f"{same}")
    both, missed, excused, neither = tables["Arena, against Gemini 2.5 Pro, gpt-4o-mini"]
    n = both + missed + excused + neither
    yield Figure(
        "Arena, Gemini 2.5 Pro: votes, people's rate, gpt-4o-mini's",
        "276 .2355 .1594",
        f"{n} " + listed([(both + missed) / n, (both + excused) / n], 4).replace("0.", "."),
    )


def pandalm(folder: Path) -> Iterator[Figure]:
    """Accuracy, and precision, recall and F1 as means over the three answers; a tie or no answer counts as 0."""
    table = list(rows(folder, PANDALM))
    people = [[float(row[f"human{i}"]) for i in (1, 2, 3)] for row in table]
    labels = Counter(majority(row) for row in table)
    yield Figure(
        "PandaLM: people's 0, 1, 2",
        "105 422 472",
        f"{labels[0]} {labels[1]} {labels[-1]}",
    )
    between = [
        kappa([(one[a], one[b]) for one in people]) or 0 for a, b in ((0, 1), (0, 2), (1, 2))
    ]
    yield Figure("PandaLM: κ of people", "0.85 0.88 0.86", listed(between, 2))
    yield Figure("PandaLM: α of people", "0.8642", f"{alpha(people) or 0:.4f}")
    for name, judge, figures in (
        ("gpt-3.5-turbo", "gpt35", "71.07 58.79 57.36 57.55"),
        ("PandaLM-7B", "pandalm7b", "66.77 57.38 57.50 57.43"),
    ):
        pairs = [(majority(row), SIDES.get(row[judge], 0)) for row in table]
        yield Figure(f"PandaLM: {name}, accuracy … F1, %", figures, listed(_scores(pairs), 2))


def _scores(pairs: Sequence[tuple[int, int]]) -> list[float]:
    cells = Counter(pairs)
    right, precision, recall, f1 = 0, list[float](), list[float](), list[float]()
    for side in (0, 1, -1):
        hits = cells[side, side]
        p = hits / max(1, sum(cells[other, side] for other in (0, 1, -1)))
        r = hits / max(1, sum(cells[side, other] for other in (0, 1, -1)))
        right += hits
        precision.append(p)
        recall.append(r)
        f1.append(2 * p * r / (p + r) if p + r else 0.0)
    return [100 * x for x in (right / len(pairs), fmean(precision), fmean(recall), fmean(f1))]


def llmbar(folder: Path) -> Iterator[Figure]:
    """Accuracy over both orders, and how often both orders say the same."""
    verdicts: defaultdict[tuple[str, str, str], list[tuple[float, bool]]] = defaultdict(list)
    for row in rows(folder, LLMBAR):
        sides = [row[f"winner_{place}_order"] for place in PLACES]
        right = fmean(side == row["gold"] for side in sides)
        verdicts[row["judge"], row["prompt"], row["subset"]].append((right, sides[0] == sides[1]))

    def percent(
        prompt: str, subsets: Sequence[str], part: int, judge: str = "GPT-4"
    ) -> list[float]:
        return [
            100 * fmean(one[part] for one in verdicts[judge, prompt, subset]) for subset in subsets
        ]

    best = "Metrics_Reference"
    yield Figure(
        "LLMBar: GPT-4 right, metrics + reference, adversarial, %",
        "82.8",
        f"{fmean(percent(best, OWN[1:], 0)):.1f}",
    )
    yield Figure(
        "LLMBar: the same by part, %", "96.0 85.4 89.7 72.3 83.7", listed(percent(best, OWN, 0), 1)
    )
    yield Figure(
        "LLMBar: same in both orders by part, %",
        "96.0 94.8 90.2 83.0 84.8",
        listed(percent(best, OWN, 1), 1),
    )
    vanilla = "Vanilla_NoRules"
    yield Figure(
        "MT-Bench: GPT-4 right, same in both orders, %",
        "81.0 87.0",
        listed([percent(vanilla, ["MT-Bench"], part)[0] for part in (0, 1)], 1),
    )


def tau_bench(folder: Path) -> Iterator[Figure]:
    """pass^1 to pass^4 of fifty tasks with four trials each."""
    passes: Counter[str] = Counter()
    for row in rows(folder, TAU_BENCH):
        passes[row["task"]] += int(row["pass"])
    tallies = [Tally(c, 4 - c) for c in passes.values()]
    always = [
        tries.always.value
        for k in range(1, 5)
        if (tries := of_tries([[tally] for tally in tallies], k))
    ]
    yield Figure("τ-bench: pass^1 … pass^4", "0.4200 0.2733 0.2200 0.2000", listed(always, 4))
    flaky = sum(0 < c < 4 for c in passes.values())
    yield Figure("τ-bench: tasks that pass in some trials only", "26", f"{flaky}")


def null_model(folder: Path) -> Figure:
    """How often GPT-4 prefers a constant text to an answer, from its log-probabilities."""
    wins = [2 - float(row["preference"]) for row in rows(folder, ALPACA_EVAL)]
    error = stdev(wins) / len(wins) ** 0.5
    return Figure(
        "AlpacaEval: win rate of a constant answer, %",
        "76.92 ± 0.909",
        f"{100 * (1 - fmean(wins)):.2f} ± {100 * error:.3f}",
    )
