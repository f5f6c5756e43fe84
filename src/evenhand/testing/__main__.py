"""Runs the fake provider as a process: `python -m evenhand.testing --script rules.jsonl --ledger bill.txt`.

Its address is the first line that it prints.
"""

from __future__ import annotations

import argparse
import sys
import threading
from dataclasses import replace
from pathlib import Path

from evenhand.core.errors import ConfigError
from evenhand.testing.script import FAULTS, Script
from evenhand.testing.server import FakeProvider


def main() -> None:
    """Serves until it is stopped."""
    parser = argparse.ArgumentParser(prog="python -m evenhand.testing", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; 0 for any free port")
    parser.add_argument("--script", type=Path, help="rules, one JSON object a line")
    parser.add_argument("--ledger", type=Path, help="append each completion to this file")
    parser.add_argument("--latency-ms", type=float, default=0.0, help="before each answer")
    parser.add_argument("--api-key", default="", help="the only key that is let in")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME=SHARE",
        help=f"a status from 400, {', '.join(FAULTS)}; e.g. 500=0.1",
    )
    parser.add_argument("--seed", type=int, default=0, help="which requests meet a fault")
    options = parser.parse_args()
    try:
        shares = {n: float(share) for n, _, share in (f.partition("=") for f in options.fault)}
        script = Script.read(options.script) if options.script else Script()
        script = replace(script, faults=shares, seed=options.seed)
    except (ConfigError, ValueError) as error:
        sys.exit(str(error))
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
