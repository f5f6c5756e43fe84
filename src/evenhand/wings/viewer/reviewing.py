"""What the page shows of a dataset that is reviewed: whoever drew it implements this."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Review(Protocol):
    """A dataset that was drawn from a run, and is reviewed on the page.

    Attributes:
        run: The run's file.
        file: The dataset's file.
        places: The drawn trials' places in the run.
    """

    run: Path
    file: Path
    places: Sequence[int]

    def write(self) -> object:
        """Writes the dataset as the decisions have it."""
        ...
