"""Runs the evals beside it with --batch, against a fake provider: no key, no network, and a day takes seconds."""

import os
from pathlib import Path

from evenhand.cli import main
from evenhand.testing import BatchRules, FakeProvider, Rule, Script

SCRIPT = Script(
    [
        Rule(("is one word",), {"reasoning": "One word.", "passes": True, "confidence": 1}),
        Rule(("parcel",), "delivery"),
        Rule(("charged",), "billing"),
        Rule(("shoes",), "returns"),
    ]
)

if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    with FakeProvider(SCRIPT, batches=BatchRules(takes_s=6 * 3600, speed=6 * 3600)) as fake:
        os.environ.update(fake.env())
        main(["run", ".", "--batch", "--batch-poll", "0.2", "--no-cache"])
