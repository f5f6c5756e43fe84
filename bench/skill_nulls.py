"""How often a skill without effect would be said to help: 1,000 simulated skills, each with tasks of its own.

python -m bench.skill_nulls [SKILLS] [SEED]
"""

from __future__ import annotations

import random
import sys
from collections import Counter

from evenhand.analysis.comparison.case_values import CaseIds, ColumnCases, Measured, Seen
from evenhand.analysis.comparison.pairing import paired, with_verdicts
from evenhand.wings.coding_agents.commands.skill import DECIDES, word_of


def null_skill(random_: random.Random) -> str:
    """The word for a skill that changes nothing: 3 to 40 tasks of 1 to 6 checks, done 1 to 5 times each.

    Tasks are easy or hard, and their checks with them: the checks of one answer stand or fall together more often than
    not. Some tasks are always done, some never.
    """
    tasks, repeats = random_.randint(3, 40), random_.randint(1, 5)
    ids = CaseIds()
    sides = [Seen(cases=ColumnCases(ids), metrics={DECIDES: Measured()}) for _ in range(2)]
    for task in range(tasks):
        checks = random_.randint(1, 6)
        ease = random_.choice((0.0, 1.0, random_.random(), random_.betavariate(0.5, 0.5)))
        for side in sides:
            place = side.cases.place(str(task), str(task))
            for _ in range(repeats):
                luck = min(1.0, max(0.0, random_.gauss(ease, 0.2))) if 0 < ease < 1 else ease
                held = sum(random_.random() < luck for _ in range(checks))
                side.metrics[DECIDES].add(place, float(held == checks))
    comparison = paired(DECIDES, ("without", "with"), *sides, False, several=False)
    (result,) = with_verdicts([comparison], None)
    return word_of(result.verdict)


def main(skills: int, seed: int) -> None:
    """Prints how often each word was said."""
    random_ = random.Random(seed)
    words = Counter(null_skill(random_) for _ in range(skills))
    print(f"{skills:,} skills without effect, seed {seed}")
    for word, count in words.most_common():
        print(f"  {word:<24} {count:>6,}  {count / skills:.1%}")


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 1_000,
        int(sys.argv[2]) if len(sys.argv) > 2 else 1,
    )
