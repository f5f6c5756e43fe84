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
from evenhand.report.rates import share_row
from evenhand.report.triggers import Found, found_by_triggers
from evenhand.stats.tallies import Tally, counted, rate_of
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
class _Seen:
    """What the trials of one prompt come to so far."""

    cases: dict[str, Tally] = field(default_factory=dict[str, Tally])
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
        self.cases[name] = counted(self.cases.get(name, Tally()), trial.outcome)
        if trial.outcome in ("error", "fail"):
            why = trial.error.message if trial.error else trial.reason
            self.reasons.setdefault(name, why[:300])
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
    tallies = [_Seen() for _ in asked]
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


def _row(asked: Asked, seen: _Seen, run: str) -> dict[str, Any]:
    # A name has a reason where one of its trials failed, or is in error.
    passed = [name for name, tally in seen.cases.items() if tally.n and name not in seen.reasons]
    errors = sum(tally.errors for tally in seen.cases.values())
    rate = share_row(rate_of(seen.cases.values()))
    least = rate["rate_least"]
    green = least is not None and least >= asked.pass_rate - 1e-9
    row: dict[str, Any] = {
        "ts": now(),
        "all_passed": green and not errors,
        "total": len(seen.cases),
        "passed": len(passed),
        "failed_cases": list(seen.reasons),
        # What follows says what it is evidence of.
        "run": run,
        "content": asked.content.whole,
        "prompt_hash": asked.content.prompt,
        "cases_hash": asked.content.cases,
        "hooks_hash": asked.content.hooks,
        "version": asked.prompt.meta.version,
        "model": model_id(asked.prompt.meta.model),
        "models": list(asked.models),
        "judges": list(seen.judges),
        "partial": asked.partial,
        "offline": asked.offline,
        "trials": sum(tally.passed + tally.failed for tally in seen.cases.values()),
        "trials_passed": sum(tally.passed for tally in seen.cases.values()),
        "errors": errors,
        "not_applicable": seen.not_applicable,
        "pass_rate": rate["rate"],
        "pass_rate_least": least,
        "pass_rate_most": rate["rate_most"],
        "interval": [0.0, 1.0] if least is None else [rate["low"], rate["high"]],
        "reasons": seen.reasons,
        "calls": seen.calls,
        "cached": seen.cached,
        "cost_usd": seen.cost_usd,
        "tokens_in": seen.tokens_in,
        "tokens_out": seen.tokens_out,
        "evenhand": __version__,
    }
    if seen.triggers is not None:
        found = seen.triggers
        row["triggering"] = {
            "precision": found.precision.document(),
            "recall": found.recall.document(),
        }
    return row


def trigger_words(row: Row) -> list[str]:
    """Precision and recall of trigger tests in a row, in words: `trigger recall 0.67 of 3`."""
    found: list[str] = []
    for name in ("precision", "recall") if row.get("triggering") else ():
        n = number(row, "triggering", name, "n") or 0
        found.append(f"trigger {name} {_rate(row, name)} of {n:g}")
    return found


def _rate(row: Row, name: str) -> str:
    """A rate of trigger tests; what errors leave it between, where they do."""
    ends = ("rate", "rate_least", "rate_most")
    rate, least, most = (number(row, "triggering", name, end) for end in ends)
    if rate is not None:
        return f"{rate:.2f}"
    return "unknown" if least is None or most is None else f"{least:.2f}–{most:.2f}"


def _told(asked: Asked, row: dict[str, Any]) -> str:
    line = f"{asked.prompt.id}: {row['passed']} of {row['total']} cases passed"
    line = " · ".join([line, *trigger_words(row)])
    why = [
        word for word, holds in (("partial", asked.partial), ("offline", asked.offline)) if holds
    ]
    gates = f"{' and '.join(why)}, so that no gate counts it" if why else "kept"
    return f"{line} · {asked.prompt.path.name}/{EVALS}: {gates}"
