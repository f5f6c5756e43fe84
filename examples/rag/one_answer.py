"""One answer from retrieved passages, measured: `python examples/rag/one_answer.py`.

It runs offline: a server on this machine stands for the judge, and answers from offline.jsonl. Without the `with` block,
and with OPENAI_API_KEY set, the real model is asked.
"""

import os
import sys
from pathlib import Path

from evenhand import score
from evenhand.testing import FakeProvider, Script

HERE = Path(__file__).parent


def main() -> int:
    scored = score(
        question="How long can I send shoes back, and what does it cost?",
        answer="You can send shoes back within 30 days. Returns are free.",
        context=[
            "Shoes can be sent back within 30 days of the day they arrive.",
            "Please use our label. A return parcel costs 4 euros.",
            "The shop is open from 9 to 18 o'clock.",
        ],
        expected="Within 30 days. The parcel costs 4 euros.",
        metrics=[
            "faithfulness",
            "answer_relevance",
            "correctness",
            "context_precision",
            "context_recall",
            "entity_recall",
        ],
        weights={"faithfulness": 2, "correctness": 2, "context_recall": 1},
        judge="openai:gpt-5-mini",
    )
    print(scored)
    for claim in scored["faithfulness"].details["claims"]:
        print(f"  {claim['verdict']}: {claim['claim']} ({claim['reasoning']})")
    return 0 if (scored["faithfulness"].value or 0) >= 0.8 else 1


if __name__ == "__main__":
    with FakeProvider(Script.read(HERE / "offline.jsonl")) as fake:
        os.environ.update(fake.env())
        sys.exit(main())
