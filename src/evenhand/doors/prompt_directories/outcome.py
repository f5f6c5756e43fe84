"""What a run says of each of its prompts, as a row of evidence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import field

from evenhand.analysis.summaries.rates import share_row
from evenhand.analysis.summaries.skill_discovery import TriggerRates, trigger_rates
from evenhand.core.document import as_object
from evenhand.core.encoding import decode
from evenhand.core.errors import StoreError
from evenhand.core.json_shapes import is_mapping
from evenhand.core.record import MutableRecord, Record
from evenhand.core.run import CallRecord, TrialResult
from evenhand.core.version import __version__
from evenhand.core.wording.words import count, near
from evenhand.doors.prompt_directories.content import Content
from evenhand.doors.prompt_directories.evidence import EVALS, Row, append, now, number
from evenhand.doors.prompt_directories.prompt import PromptFolder
from evenhand.providers.addresses import origin
from evenhand.stats.tallies import Tally, counted, rate_of
from evenhand.store.runfile import RunFile, digest_of

_AS_THEY_ARE = ("judge", "judge_named_by", "partial", "offline", "pass_rate")


class PromptRequest(Record, frozen=True, kw_only=True):
    """What a run was asked of one prompt, as the run's file keeps it.

    Attributes:
        content: What the prompt was when the run began.
        variants: The indices of its variants.
        model: The id of the model that meta.yml names; empty for none.
        models: The ids of the models that answered.
        judge: The id of who judges by default; empty where nobody is needed.
        judge_named_by: Who named that judge; see `judging`.
        partial: Whether it was less than the whole suite, or not as it is written.
        offline: Whether the answers were scripted.
        pass_rate: The share of trials that has to pass.
    """

    id: str
    version: str
    content: Content
    variants: tuple[int, ...]
    model: str
    models: tuple[str, ...]
    judge: str
    judge_named_by: str
    partial: bool
    offline: bool
    pass_rate: float

    def record(self) -> dict[str, Any]:
        """For the run's file."""
        return {
            "id": self.id,
            "version": self.version,
            "content": self.content.whole,
            "hashes": [self.content.prompt, self.content.cases, self.content.hooks],
            "columns": list(self.variants),
            "model": self.model,
            "models": list(self.models),
            **{name: getattr(self, name) for name in _AS_THEY_ARE},
        }

    @staticmethod
    def read(fields: Mapping[str, Any]) -> PromptRequest | None:
        """What a run's file says; None where an earlier version wrote it, which did not keep all of it."""
        try:
            return PromptRequest(
                id=fields["id"],
                version=fields["version"],
                content=Content(*fields["hashes"]),
                variants=tuple(fields["columns"]),
                model=fields["model"],
                models=tuple(fields["models"]),
                **{name: fields[name] for name in _AS_THEY_ARE},
            )
        except (KeyError, TypeError):
            return None


class _PromptCounts(MutableRecord, kw_only=True):
    """What the trials of one prompt come to so far.

    Attributes:
        judges: The judges that were asked, by the journal of calls.
        named_judges: Those that outcomes name; for judges whose calls cost nothing, and are not in the journal.
    """

    cases: dict[str, Tally] = field(default_factory=dict[str, Tally])
    not_applicable: int = 0
    calls: int = 0
    cached: int = 0
    cost_usd: float | None = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    judges: dict[str, None] = field(default_factory=dict[str, None])
    named_judges: dict[str, None] = field(default_factory=dict[str, None])
    asked_at: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    answered: dict[str, None] = field(default_factory=dict[str, None])
    reasons: dict[str, str] = field(default_factory=dict[str, str])
    triggers: TriggerRates | None = None

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
        self.named_judges.update(dict.fromkeys(judge for judge in judges if isinstance(judge, str)))

    def add_call(self, call: CallRecord) -> None:
        """Who was asked, where, and what the answer called itself."""
        start = call.start
        self.asked_at.setdefault(start.provider, {})[address_in(start.identity)] = None
        if start.role == "judge":
            self.judges[start.provider] = None
        elif call.end is not None and call.end.model:
            self.answered[call.end.model] = None


def address_in(identity: bytes) -> str:
    """Where a journaled request was sent, as scheme, host and port; empty for what has no address."""
    try:
        request = decode(identity)
    except ValueError:
        return ""
    url = request.get("url") if is_mapping(request) else None
    return origin(url) if isinstance(url, str) else ""


def rows_of(run: RunFile) -> list[tuple[PromptRequest, dict[str, Any]]]:
    """The rows of evidence that a run comes to, prompt by prompt; none of a run that an earlier version made."""
    written = run.meta.config.get("prompts")
    requests = [PromptRequest.read(one) for one in written] if isinstance(written, list) else []
    known = [one for one in requests if one is not None]
    counts = {one.id: _PromptCounts() for one in known}
    of = {variant: counts[one.id] for one in known for variant in one.variants}
    if not known:
        return []
    variant_of: dict[int, int] = {}
    for trial in run.trials():
        variant_of[trial.index] = trial.variant
        of[trial.variant].add(trial)
    for call in run.calls():
        if call.start.trial in variant_of:
            of[variant_of[call.start.trial]].add_call(call)
    for rates in trigger_rates(run):
        of[rates.variant].triggers = rates
    bound = {"run": run.meta.id, "run_digest": digest_of(run)}
    return [(one, {**_row(one, counts[one.id]), **bound}) for one in known]


def keep(run: Path, prompts: Mapping[str, PromptFolder]) -> list[str]:
    """Appends a row of evidence for each prompt, and says so, a line each.

    Args:
        run: The file of a run that has settled all its trials.
        prompts: Those that it was about, by id.
    """
    with RunFile.open(run) as file:
        rows = rows_of(file)
    if not rows:
        return ["no evidence is kept of this run: an earlier version of Evenhand began it"]
    messages: list[str] = []
    for request, row in rows:
        folder = prompts[request.id].path
        line = _evidence_line(request, row, folder)
        try:
            append(folder / EVALS, {"ts": now(), **row, "evenhand": __version__})
        except StoreError as error:  # the run itself is kept: it is no reason to show nothing of it
            line = f"{line}, but {error.message}"
        messages.append(line)
    return messages


def _row(request: PromptRequest, counts: _PromptCounts) -> dict[str, Any]:
    # A name has a reason where one of its trials failed, or is in error.
    passed = [
        name for name, tally in counts.cases.items() if tally.n and name not in counts.reasons
    ]
    errors = sum(tally.errors for tally in counts.cases.values())
    rate = share_row(rate_of(counts.cases.values()))
    least = rate["rate_least"]
    # 1e-9 allows for rounding: 2/3 is a little less than the 0.6666666667 that a file may have for it.
    green = least is not None and least >= request.pass_rate - 1e-9
    row: dict[str, Any] = {
        "all_passed": green and not errors,
        "total": len(counts.cases),
        "passed": len(passed),
        "failed_cases": list(counts.reasons),
        # What follows says what it is evidence of.
        "prompt": request.id,
        "content": request.content.whole,
        "prompt_hash": request.content.prompt,
        "cases_hash": request.content.cases,
        "hooks_hash": request.content.hooks,
        "version": request.version,
        "model": request.model,
        "models": list(request.models),
        "answered": sorted(counts.answered),
        "judges": sorted(counts.judges or counts.named_judges),
        "judge": request.judge,
        "judge_named_by": request.judge_named_by,
        "addresses": {model: sorted(places) for model, places in sorted(counts.asked_at.items())},
        "partial": request.partial,
        "offline": request.offline,
        "trials": sum(tally.passed + tally.failed for tally in counts.cases.values()),
        "trials_passed": sum(tally.passed for tally in counts.cases.values()),
        "errors": errors,
        "not_applicable": counts.not_applicable,
        "pass_rate": rate["rate"],
        "pass_rate_least": least,
        "pass_rate_most": rate["rate_most"],
        "interval": [0.0, 1.0] if least is None else [rate["low"], rate["high"]],
        "reasons": counts.reasons,
        "calls": counts.calls,
        "cached": counts.cached,
        "cost_usd": counts.cost_usd,
        "tokens_in": counts.tokens_in,
        "tokens_out": counts.tokens_out,
    }
    if counts.triggers is not None:
        rates = counts.triggers
        row["triggering"] = {
            "precision": as_object(rates.precision.row()),
            "recall": as_object(rates.recall.row()),
        }
    return row


def trigger_words(row: Row) -> list[str]:
    """Precision and recall of trigger tests in a row, in words: `trigger recall 0.67 of 3`."""
    words: list[str] = []
    for name in ("precision", "recall") if row.get("triggering") else ():
        n = number(row, "triggering", name, "n") or 0
        words.append(f"trigger {name} {_rate(row, name)} of {n:g}")
    return words


def _rate(row: Row, name: str) -> str:
    """A rate of trigger tests; what errors leave it between, where they do."""
    ends = ("rate", "rate_least", "rate_most")
    rate, least, most = (number(row, "triggering", name, end) for end in ends)
    if rate is not None:
        return f"{rate:.2f}"
    return "unknown" if least is None or most is None else f"{least:.2f}–{most:.2f}"


def _evidence_line(request: PromptRequest, row: dict[str, Any], folder: Path) -> str:
    line = f"{request.id}: {row['passed']} of {count(row['total'], 'case')} passed"
    errors = [count(row["errors"], "error")] if row["errors"] else []
    line = " · ".join([line, *errors, *trigger_words(row)])
    why = [
        word
        for word, holds in (("partial", request.partial), ("offline", request.offline))
        if holds
    ]
    gates = f", {' and '.join(why)}, so that no gate counts it" if why else ""
    return f"{line} · evidence: {near(folder / EVALS)}{gates}"
