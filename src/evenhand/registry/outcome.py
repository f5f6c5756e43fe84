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
from evenhand.registry.evidence import EVALS, append, now
from evenhand.registry.models import model_id
from evenhand.registry.prompt import PromptFolder
from evenhand.scorers.triggers import PRECISION, RECALL
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
    judge: str
    partial: bool
    offline: bool
    pass_rate: float


@dataclass(slots=True)
class _Tally:
    """What the trials of one prompt come to so far."""

    cases: dict[str, list[bool]] = field(default_factory=dict[str, list[bool]])
    errors: int = 0
    cost_usd: float | None = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    named: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    reasons: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, trial: TrialResult) -> None:
        name = trial.description or trial.case
        self.cases.setdefault(name, []).append(trial.outcome in ("pass", "not_applicable"))
        if trial.outcome in ("error", "fail"):
            why = trial.error.message if trial.error else trial.reason
            self.reasons.setdefault(name, why[:300])
        self.errors += trial.outcome == "error"
        costs = (self.cost_usd, trial.cost_usd)
        self.cost_usd = None if None in costs else sum(cost or 0.0 for cost in costs)
        self.tokens_in += trial.tokens_in or 0
        self.tokens_out += trial.tokens_out or 0
        for metric in (PRECISION, RECALL):
            if metric in trial.named_scores:
                self.named.setdefault(metric, []).append(trial.named_scores[metric])


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
    passed = [name for name, held in tally.cases.items() if all(held)]
    trials = [held for case in tally.cases.values() for held in case]
    rate = sum(trials) / len(trials)
    green = len(passed) == len(tally.cases) if asked.pass_rate == 1 else rate >= asked.pass_rate
    low, high = wilson_of_clusters([(sum(c), len(c)) for c in tally.cases.values()])
    means = {name: sum(v) / len(v) for name, v in tally.named.items()}
    row: dict[str, Any] = {
        "ts": now(),
        "all_passed": green and not tally.errors,
        "total": len(tally.cases),
        "passed": len(passed),
        "failed_cases": [name for name in tally.cases if name not in passed],
        # What follows says what it is evidence of.
        "run": run,
        "content": asked.content.whole,
        "prompt_hash": asked.content.prompt,
        "cases_hash": asked.content.cases,
        "hooks_hash": asked.content.hooks,
        "version": asked.prompt.meta.version,
        "model": model_id(asked.prompt.meta.model),
        "models": list(asked.models),
        "judge": asked.judge or None,
        "partial": asked.partial,
        "offline": asked.offline,
        "trials": len(trials),
        "trials_passed": sum(trials),
        "errors": tally.errors,
        "pass_rate": rate,
        "interval": [low, high],
        "reasons": tally.reasons,
        "cost_usd": tally.cost_usd,
        "tokens_in": tally.tokens_in,
        "tokens_out": tally.tokens_out,
        "evenhand": __version__,
    }
    if means:
        row["triggering"] = {
            "precision": means.get(PRECISION),
            "recall": means.get(RECALL),
        }
    return row


def _told(asked: Asked, row: dict[str, Any]) -> str:
    line = f"{asked.prompt.id}: {row['passed']} of {row['total']} cases passed"
    for name, value in row.get("triggering", {}).items():
        line += f" · trigger {name} {'unknown' if value is None else format(value, '.2f')}"
    why = [
        word for word, holds in (("partial", asked.partial), ("offline", asked.offline)) if holds
    ]
    gates = f"{' and '.join(why)}, so that no gate counts it" if why else "kept"
    return f"{line} · {asked.prompt.path.name}/{EVALS}: {gates}"
