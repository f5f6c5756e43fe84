"""Every answer of an application, measured, with a gate for CI: `python examples/rag/many_answers.py`.

It runs offline: a server on this machine stands for the judge, and answers from many_answers.jsonl. Without the `with`
block, and with OPENAI_API_KEY set, the real model is asked.
"""

import os
import sys
from pathlib import Path

from shop import answer

from evenhand import Dataset, score_batch
from evenhand.testing import FakeProvider, Script

HERE = Path(__file__).parent


def main() -> int:
    with score_batch(
        Dataset.read(HERE / "questions.csv"),
        answer,
        metrics=["faithfulness", "token_f1", "nDCG@3"],
        weights={"faithfulness": 2, "token_f1": 1},
        at_least={"faithfulness": 0.8, "token_f1": 0.5},
        judge="openai:gpt-5-mini",
        name="the shop's answers",
    ) as report:
        print(report)
        for case in report.failures():
            print(f"  below a bound: {case.case}: {case.answer}")
        return {"passed": 0, "failed": 1, "undecided": 3}[report.verdict]


if __name__ == "__main__":
    with FakeProvider(Script.read(HERE / "many_answers.jsonl")) as fake:
        os.environ.update(fake.env())
        sys.exit(main())
