"""How well pages are found: `python examples/rag/search.py`. No model is asked, and no key is needed."""

import sys
from pathlib import Path

from shop import search

from evenhand import Dataset, score_batch

HERE = Path(__file__).parent


def main() -> int:
    questions = Dataset.read(HERE / "questions.csv")
    with score_batch(
        questions,
        lambda question: {"retrieved": search(question)},
        metrics=["P@1", "R@3", "hit@1", "RR", "AP", "nDCG@3"],
        at_least={"nDCG@3": 0.6},
        name="search",
    ) as report:
        print(report)
        return 0 if report.verdict == "passed" else 1


if __name__ == "__main__":
    sys.exit(main())
