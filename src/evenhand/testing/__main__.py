"""Runs the fake provider as a process: `python -m evenhand.testing --script rules.jsonl --ledger bill.txt`.

Its address is the first line that it prints.
"""

from __future__ import annotations

import argparse
import threading
from pathlib import Path

from evenhand.testing.script import Script
from evenhand.testing.server import FakeProvider


def main() -> None:
    """Serves until it is stopped."""
    parser = argparse.ArgumentParser(prog="python -m evenhand.testing", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path)
    parser.add_argument("--ledger", type=Path)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--api-key", default="")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME=SHARE")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    script = Script.read(options.script) if options.script else Script()
    script.faults = {name: float(share) for name, _, share in (f.partition("=") for f in options.fault)}
    script.seed = options.seed
    fake = FakeProvider(
        script,
        api_key=options.api_key,
        latency_ms=options.latency_ms,
        ledger=options.ledger,
        port=options.port,
    )
    with fake:
        print(fake.url, flush=True)  # noqa: T201 (what the caller waits for)
        threading.Event().wait()


if __name__ == "__main__":
    main()
