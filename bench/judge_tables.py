"""People's verdicts beside judges', pair by pair: recorded ones where they are at hand, and made-up ones.

A verdict on a pair of texts is 1 if the first is better, −1 if the second is, 0 for a tie. As a pass rate, 1 is a pass.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from evenhand.stats.corrected_differences import LabelledCase

ARENA = "arena2025_human_vs_judge__MIT.csv"
LLMBAR = "llmbar_verdicts__MIT.csv.gz"
PANDALM = "pandalm_labels__Apache2.csv"
TAU_BENCH = "taubench_gpt4o_airline_trials__MIT.csv"
ALPACA_EVAL = "alpacaeval_nullmodel_gpt4turbo__Apache2.csv"
FILES = (ARENA, LLMBAR, PANDALM, TAU_BENCH, ALPACA_EVAL)
CLAUDE = "claude-opus-4-20250514"
OWN = ("Natural", "Neighbor", "GPTInst", "GPTOut", "Manual")
"""LLMBar's own pairs: ordinary ones, and four adversarial parts."""
SIDES = {"1": 1, "2": -1, "0": 0, "Tie": 0, "A": 1, "B": -1, "model_a": 1, "model_b": -1}

COUNTS = {
    "Arena, against Qwen3, gpt-5.2": (78, 32, 116, 49),
    "Arena, against Qwen3, gpt-4o-mini": (28, 82, 34, 131),
    "Arena, against Gemini 2.5 Pro, gpt-5.2": (35, 30, 64, 147),
    "Arena, against Gemini 2.5 Pro, gpt-4o-mini": (11, 54, 33, 178),
    "Arena, against Gemini 2.5 Flash, gpt-5.2": (74, 59, 84, 108),
    "Arena, against Gemini 2.5 Flash, gpt-4o-mini": (38, 95, 30, 162),
}
"""How often both name Claude Opus 4, only people do, only the judge, neither. Arena votes of 2025
(yiqunchen/debias-llm-as-a-judge, MIT), for a machine without the recorded tables."""


@dataclass(frozen=True, slots=True)
class Table:
    """What people and one judge say of the same pairs.

    Attributes:
        source: Whose texts they are.
        judge: The judge, and its prompt.
        pairs: People's verdict and the judge's, for each pair on which the judge has one.
    """

    source: str
    judge: str
    pairs: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return f"{self.judge} on {self.source}"

    @property
    def passes(self) -> list[tuple[float, float]]:
        """The same as (people pass it, the judge passes it)."""
        return [(float(people == 1), float(judge == 1)) for people, judge in self.pairs]


def rows(folder: Path, name: str) -> Iterator[dict[str, str]]:
    """The rows of a recorded table."""
    file = folder / name
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
        yield from csv.DictReader(lines)


def majority(row: dict[str, str]) -> int:
    """What most of PandaLM's three people say; the first of them where all differ."""
    return SIDES[Counter(row[f"human{i}"] for i in (1, 2, 3)).most_common(1)[0][0]]


def recorded(folder: Path) -> list[Table]:
    """Each judge on each set of texts."""
    tables: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for row in rows(folder, ARENA):
        if row["judge_pick"]:
            turned = 1 if row["model_a"] == CLAUDE else -1  # the first is always the same model
            other = row["model_b"] if turned == 1 else row["model_a"]
            key = f"Arena, against {other}", row["judge"]
            tables[key].append(
                (turned * SIDES[row["human_winner"]], turned * SIDES[row["judge_pick"]])
            )
    for row in rows(folder, PANDALM):
        for judge in ("gpt35", "pandalm7b"):
            if row[judge] in SIDES:
                tables["PandaLM", judge].append((majority(row), SIDES[row[judge]]))
    for row in rows(folder, LLMBAR):
        if row["winner_original_order"] in SIDES:
            key = "LLMBar", f"{row['judge']} {row['prompt']}"
            tables[key].append((SIDES[row["gold"]], SIDES[row["winner_original_order"]]))
    return [Table(*key, tuple(pairs)) for key, pairs in tables.items()]


def parts_of_llmbar(folder: Path) -> list[Table]:
    """Four judges on LLMBar's own pairs, MT-Bench's and LLMEval²'s, each alone."""
    tables: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for row in rows(folder, LLMBAR):
        wide = row["prompt"] == "Vanilla_NoRules" and row["judge"] != "Falcon"
        if wide and row["subset"] != "FairEval" and row["winner_original_order"] in SIDES:
            source = "LLMBar's own" if row["subset"] in OWN else row["subset"]
            key = source, f"{row['judge']} {row['prompt']}"
            tables[key].append((SIDES[row["gold"]], SIDES[row["winner_original_order"]]))
    return [Table(*key, tuple(pairs)) for key, pairs in tables.items()]


def panel(folder: Path, *, judge: str = "", prompt: str = "") -> list[tuple[float, bool]]:
    """A panel's verdicts on LLMBar's own pairs: how far it agrees, from 0 to 1, and whether the majority is right.

    An even split is settled for the first text.

    Args:
        folder: With the tables.
        judge: Members are the prompts of this judge, in both orders.
        prompt: Or all judges with this prompt, in both orders.
    """
    votes: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    gold: dict[tuple[str, str], int] = {}
    for row in rows(folder, LLMBAR):
        if row["subset"] not in OWN or (row["judge"] != judge and row["prompt"] != prompt):
            continue
        pair = row["subset"], row["item"]
        gold[pair] = SIDES[row["gold"]]
        sides = (row[f"winner_{order}_order"] for order in ("original", "swapped"))
        votes[pair] += [SIDES[side] for side in sides if side in SIDES]
    return [
        (abs(sum(votes[pair])) / len(votes[pair]), (sum(votes[pair]) >= 0) == (side > 0))
        for pair, side in gold.items()
    ]


def counted() -> list[Table]:
    """The tables whose counts are in this file."""
    tables: list[Table] = []
    for name, (both, missed, excused, neither) in COUNTS.items():
        source, _, judge = name.rpartition(", ")
        pairs = [(1, 1)] * both + [(1, -1)] * missed + [(-1, 1)] * excused + [(-1, -1)] * neither
        tables.append(Table(source, judge, tuple(pairs)))
    return tables


def simulated(random: Random, items: int = 400) -> list[Table]:
    """Judges from good to useless, on systems from bad to good: by their TPR and TNR."""
    tables: list[Table] = []
    for rate in (0.3, 0.6, 0.9):
        for tpr, tnr in ((0.95, 0.9), (0.9, 0.7), (0.95, 0.5), (0.6, 0.5)):
            people = [1 if random.random() < rate else -1 for _ in range(items)]
            pairs = [
                (p, 1 if random.random() < (tpr if p == 1 else 1 - tnr) else -1) for p in people
            ]
            tables.append(
                Table(f"outputs of which {rate:.0%} pass", f"TPR {tpr} TNR {tnr}", tuple(pairs))
            )
    return tables


def two_sides(table: Table) -> list[LabelledCase]:
    """The pairs as two systems on the same cases: which of the two is the better one."""
    return [LabelledCase((p == 1, j == 1), (p == -1, j == -1)) for p, j in table.pairs]


SYSTEMS = (
    # how many pass in the first and second; how far they find the same cases hard; TPR; TNR; the same of the judge
    (0.7, 0.8, 0.5, 0.9, 0.7, 0.0),
    (0.9, 0.95, 0.5, 0.95, 0.5, 0.0),
    (0.5, 0.6, 0.8, 0.8, 0.8, 0.8),
    (0.6, 0.6, 1.0, 0.95, 0.9, 0.8),
    (0.95, 0.98, 0.8, 0.95, 0.9, 0.0),
    (0.95, 0.99, 1.0, 0.9, 0.7, 0.5),
    (0.9, 0.9, 0.9, 0.9, 0.7, 0.8),
    (0.2, 0.8, 0.0, 0.9, 0.7, 0.0),
)


def two_systems(random: Random, system: tuple[float, ...], items: int = 500) -> list[LabelledCase]:
    """Two made-up systems on the same cases, of which some are hard for both people and judge; see SYSTEMS."""
    first, second, common, tpr, tnr, alike = system
    cases: list[LabelledCase] = []
    for _ in range(items):
        hard, odd = random.random(), random.random()
        sides: list[tuple[bool, bool]] = []
        for rate in (first, second):
            people = (hard if random.random() < common else random.random()) < rate
            doubt = odd if random.random() < alike else random.random()
            sides.append((people, doubt < (tpr if people else 1 - tnr)))
        cases.append(LabelledCase(*sides))
    return cases
