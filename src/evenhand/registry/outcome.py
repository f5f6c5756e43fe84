"""What a run says of each of its prompts, as a row of evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand import __version__
from evenhand.core.errors import StoreError
from evenhand.core.run import TrialResult
from evenhand.registry.content import Content
from evenhand.registry.evidence import EVALS, Row, append, now, number
from evenhand.registry.models import model_id
from evenhand.registry.prompt import PromptFolder
from evenhand.report.triggers import Found, found_by_triggers
from evenhand.stats.interval import wilson_of_clusters
from evenhand.store.runfile import RunFile


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run was asked of one prompt.

    Attributes:
        content: What the prompt was when the run began.
        columns: The indices of its variants.
        models: The ids of the models that answered.
        partial: Whether it was less than the whole suite, or not as it is written.
        offline: Whether the answers were scripted.
        pass_rate: The share of trials that has to pass.
    """

    prompt: PromptFolder
    content: Content
    columns: tuple[int, ...]
    models: tuple[str, ...]
    partial: bool
    offline: bool
    pass_rate: float


@dataclass(slots=True)
class _Tally:
    """What the trials of one prompt come to so far. An error, and what did not apply, is no verdict."""

    cases: dict[str, list[bool]] = field(default_factory=dict[str, list[bool]])
    errors: int = 0
    not_applicable: int = 0
    calls: int = 0
    cached: int = 0
    cost_usd: float | None = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    judges: dict[str, None] = field(default_factory=dict[str, None])
    reasons: dict[str, str] = field(default_factory=dict[str, str])
    triggers: Found | None = None

    def add(self, trial: TrialResult) -> None:
        name = trial.description or trial.case
        held = self.cases.setdefault(name, [])
        if trial.outcome in ("pass", "fail"):
            held.append(trial.outcome == "pass")
        if trial.outcome in ("error", "fail"):
            why = trial.error.message if trial.error else trial.reason
            self.reasons.setdefault(name, why[:300])
        self.errors += trial.outcome == "error"
        self.not_applicable += trial.outcome == "not_applicable"
        self.calls += trial.calls
        self.cached += trial.cached
        costs = (self.cost_usd, trial.cost_usd)
        self.cost_usd = None if None in costs else sum(cost or 0.0 for cost in costs)
        self.tokens_in += trial.tokens_in or 0
        self.tokens_out += trial.tokens_out or 0
        judges = (outcome.metadata.get("judge") for outcome in trial.outcomes)
        self.judges.update(dict.fromkeys(judge for judge in judges if isinstance(judge, str)))


def keep(run: Path, asked: Sequence[Asked]) -> list[str]:
    """Appends a row of evidence for each prompt, and says so, a line each.

    Args:
        run: The file of a run that has settled all its trials.
        asked: What it was asked, prompt by prompt.
    """
    tallies = [_Tally() for _ in asked]
    of = {column: tally for a, tally in zip(asked, tallies, strict=True) for column in a.columns}
    with RunFile.open(run) as file:
        for trial in file.trials():
            of[trial.variant].add(trial)
        for found in found_by_triggers(file):
            of[found.variant].triggers = found
        id_ = file.meta.id
    told: list[str] = []
    for one, tally in zip(asked, tallies, strict=True):
        row = _row(one, tally, id_)
        line = _told(one, row)
        try:
            append(one.prompt.path / EVALS, row)
        except StoreError as error:  # the run itself is kept: it is no reason to show nothing of it
            line = f"{line}, but {error.message}"
        told.append(line)
    return told


def _row(asked: Asked, tally: _Tally, run: str) -> dict[str, Any]:
    # A name has a reason where one of its trials failed, or is in error.
    passed = [name for name, held in tally.cases.items() if held and name not in tally.reasons]
    trials = [held for case in tally.cases.values() for held in case]
    rate = sum(trials) / len(trials) if trials else None
    green = rate is not None and rate >= asked.pass_rate
    low, high = wilson_of_clusters([(sum(c), len(c)) for c in tally.cases.values()])
    row: dict[str, Any] = {
        "ts": now(),
        "all_passed": green and not tally.errors,
        "total": len(tally.cases),
        "passed": len(passed),
        "failed_cases": list(tally.reasons),
        # What follows says what it is evidence of.
        "run": run,
        "content": asked.content.whole,
        "prompt_hash": asked.content.prompt,
        "cases_hash": asked.content.cases,
        "hooks_hash": asked.content.hooks,
        "version": asked.prompt.meta.version,
        "model": model_id(asked.prompt.meta.model),
        "models": list(asked.models),
        "judges": list(tally.judges),
        "partial": asked.partial,
        "offline": asked.offline,
        "trials": len(trials),
        "trials_passed": sum(trials),
        "errors": tally.errors,
        "not_applicable": tally.not_applicable,
        "pass_rate": rate,
        "interval": [low, high],
        "reasons": tally.reasons,
        "calls": tally.calls,
        "cached": tally.cached,
        "cost_usd": tally.cost_usd,
        "tokens_in": tally.tokens_in,
        "tokens_out": tally.tokens_out,
        "evenhand": __version__,
    }
    if tally.triggers is not None:
        found = tally.triggers
        row["triggering"] = {"precision": found.precision.told(), "recall": found.recall.told()}
    return row


def trigger_words(row: Row) -> list[str]:
    """Precision and recall of trigger tests in a row, in words: `trigger recall 0.67 of 3`."""
    found: list[str] = []
    for name in ("precision", "recall") if row.get("triggering") else ():
        rate, n = number(row, "triggering", name, "rate"), number(row, "triggering", name, "n")
        found.append(f"trigger {name} {'unknown' if rate is None else f'{rate:.2f}'} of {n or 0:g}")
    return found


def _told(asked: Asked, row: dict[str, Any]) -> str:
    line = f"{asked.prompt.id}: {row['passed']} of {row['total']} cases passed"
    line = " · ".join([line, *trigger_words(row)])
    why = [
        word for word, holds in (("partial", asked.partial), ("offline", asked.offline)) if holds
    ]
    gates = f"{' and '.join(why)}, so that no gate counts it" if why else "kept"
    return f"{line} · {asked.prompt.path.name}/{EVALS}: {gates}"
