"""What the page shows of a dataset that is reviewed: whoever drew it implements this."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Review(Protocol):
    """A dataset that was drawn from a run, and is reviewed on the page."""

    run: Path
    """The run's file."""
    file: Path
    """The dataset's file."""

    @property
    def places(self) -> Sequence[int]:
        """The drawn trials' places in the run."""
        ...

    def write(self) -> object:
        """Writes the dataset as the decisions have it."""
        ...
