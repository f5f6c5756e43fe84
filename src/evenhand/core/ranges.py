"""The numbers that options, configs and arguments take: one range for each, wherever it is said.

Each is wider than anybody needs, and narrow enough that no clock, table or file is asked for what it cannot do.
"""

from __future__ import annotations

import math

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_number
from evenhand.core.record import Record


class Range(Record, frozen=True):
    """The numbers from one to another, both of them included where they are finite.

    Attributes:
        whole: Only whole numbers.
        unit: What they count, in words.
    """

    least: float
    most: float
    whole: bool = False
    unit: str = ""

    def __contains__(self, value: object) -> bool:
        if not is_number(value):
            return False
        # NaN fails every comparison, so it is in no range.
        if not (self.least <= value <= self.most) or abs(value) == math.inf:
            return False
        return not self.whole or value == int(value)

    def __str__(self) -> str:
        unit = f" of {self.unit}" if self.unit else ""
        kind = "a whole number" if self.whole else "a number"
        if self.least == -math.inf:
            return f"{kind}{unit}"
        end = "on" if self.most == math.inf else f"to {_plain(self.most)}"
        return f"{kind}{unit} from {_plain(self.least)} {end}"

    def problem(self, name: str, value: object) -> str:
        """What to say of a value that is not in the range; empty for one that is, and for None."""
        if value is None or value in self:
            return ""
        share = self.least >= 0 and self.most <= 1
        written = isinstance(value, str) and value.strip().endswith("%") and not self.unit
        percentage = _percentage(value) if share or (written and not self.whole) else None
        meant = "" if percentage is None else f": {percentage:g} % is {percentage / 100:g}"
        return f"{name} is {_shown(value)}, not {self}{meant}"

    def check(self, name: str, value: object) -> None:
        """Lets a number of the range pass, or None.

        Raises:
            UsageError: It is something else.
        """
        problem = self.problem(name, value)
        if problem:
            raise UsageError(problem)


def _percentage(value: object) -> float | None:
    """The percentage that is meant where a share is written as `80` or `80%`; None where none is."""
    try:
        written = str(value).strip()
        number = float(written.removesuffix("%"))
    except ValueError:  # also of a whole number of more than 4,300 digits
        return None
    return number if (0 if written.endswith("%") else 1) <= number <= 100 else None


def _shown(value: object) -> str:
    """A value as it was written, however long."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more than 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _plain(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


_LONGEST = 60

CONCURRENCY = Range(1, 10_000, whole=True)
REPEATS = Range(1, 1_000_000, whole=True)
PER_DOCUMENT = Range(1, 50, whole=True)
ROWS = Range(1, 1_000_000_000, whole=True)
SHOWN = Range(0, 1_000_000_000, whole=True)
SEED = Range(-(2**63), 2**63 - 1, whole=True)
BUDGET_USD = Range(0, 1_000_000_000, unit="US dollars")
RETRIES = Range(0, 100, whole=True)
SECONDS = Range(0.001, 31_536_000, unit="seconds")
MILLISECONDS = Range(0, 31_536_000_000, unit="milliseconds")
NUMBER = Range(-math.inf, math.inf)
NOT_NEGATIVE = Range(0, math.inf)
MARGIN = Range(0, 1_000_000_000_000)
PERCENT = Range(0, 100)
SHARE = Range(0, 1)
WAVES = Range(1, 1_000, whole=True)
BATCH_SIZE = Range(1, 100_000, whole=True)
WORKERS = Range(1, 1_000, whole=True)
CANARIES = Range(0, 10_000, whole=True)
PORTS = Range(0, 65_535, whole=True)
EXIT_CODE = Range(0, 255, whole=True)
