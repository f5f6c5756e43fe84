"""What numbers about rankings cost: 1,000 rankings of twenty, six numbers each.

python bench/rankings.py
"""

from __future__ import annotations

import random
import time

from evenhand.scorers.metrics.ranking import parse


def main() -> None:
    """Measures five rounds, and prints the best."""
    draw = random.Random(1)
    cases = [(draw.sample(range(1000), 20), set(draw.sample(range(1000), 10))) for _ in range(1000)]
    metrics = [*map(parse, ["P@5", "R@10", "hit@5", "RR", "AP", "nDCG@10"])]
    took: list[float] = []
    for _ in range(5):
        start = time.process_time()
        for ranked, relevant in cases:
            for metric in metrics:
                metric(ranked, relevant)
        took.append(time.process_time() - start)
    print(f"1,000 rankings, 6 numbers each: {min(took) * 1000:.0f} ms of CPU")


if __name__ == "__main__":
    main()
