"""`evenhand.gate/1` read back: by what writes of a gate elsewhere, in another job perhaps."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from evenhand.analysis.gates.gate_results import GateVerdict
from evenhand.core.errors import UsageError
from evenhand.core.malformed import document_fault
from evenhand.core.run import RunStatus
from evenhand.core.wording.words import clip, safe

SCHEMA = "evenhand.gate/1"
LARGEST = 20_000_000


class GateChange(Struct, frozen=True):
    """A case that came out otherwise; the keys are those of the page on the format."""

    case: str
    name: str
    verdict: Literal["better", "worse"]
    baseline: float | None = None
    now: float | None = None
    trial: int | None = None


class GateRow(Struct, frozen=True):
    """A metric of a variant."""

    metric: str
    variant: str
    verdict: GateVerdict
    cases: int = 0
    because: str | None = None
    text: str = ""
    where: str | None = None
    kind: Literal["rate", "score"] = "score"
    better: int = 0
    worse: int = 0
    same: int = 0
    changed: tuple[GateChange, ...] = ()


class GateStopping(Struct, frozen=True):
    """What became of a gate that was to stop as soon as it is decided."""

    stopped: bool
    cases: int
    of: int


class GateDocument(Struct, frozen=True):
    """A gate."""

    schema: str
    verdict: GateVerdict
    results: tuple[GateRow, ...]
    margin: float
    asked: int = 0
    taken: int = 0
    of: int = 0
    cost_usd: float | None = None
    because: str | None = None
    notes: tuple[str, ...] = ()
    title: str = ""
    run: str | None = None
    baseline: str | None = None
    status: RunStatus = "finished"
    stopping: GateStopping | None = None


def read_gate(file: Path) -> GateDocument:
    """Reads what `evenhand gate --to FILE` wrote.

    Raises:
        UsageError: There is no such file, or it holds something else.
    """
    shown = safe(str(file))
    try:
        if file.stat().st_size > LARGEST:
            raise UsageError(f"{shown} has more than {LARGEST // 1_000_000} MB: it is no gate")
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{shown} cannot be read: {error.strerror or error}",
            hint="`evenhand gate --to FILE` writes it.",
        ) from error
    try:
        read = msgspec.json.decode(data, type=GateDocument)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        why = clip(safe(document_fault(data, error)), 200)
        raise UsageError(
            f"{shown} holds no gate: {why}",
            hint="Name a file that `evenhand gate --to FILE` wrote.",
        ) from error
    if read.schema != SCHEMA:
        raise UsageError(
            f"{shown} is {clip(safe(read.schema), 60)!r}, and not {SCHEMA!r}",
            hint="Name a file that `evenhand gate --to FILE` wrote.",
        )
    return read
