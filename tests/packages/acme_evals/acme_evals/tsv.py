"""Runs as tab-separated values."""

import json
from typing import TextIO

from evenhand.store.runfile import RunFile


def write(run: RunFile, out: TextIO) -> int:
    """Writes a line for each trial; how many there were."""
    count = 0
    for trial in run.trials():
        out.write(f"{json.dumps(trial.case)}\t{trial.outcome}\t{json.dumps(trial.output)}\n")
        count += 1
    return count
