"""Gates: what a prompt has to show before it is promoted, and whether what it has shown is still about what it is.

Evidence counts for the prompt, its cases and its hooks as they are now, for the model that it is sent to, for the whole
of its suite, and where it ended well. Everything else is history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evenhand.core.errors import UsageError
from evenhand.documents.findings import Findings
from evenhand.registry.cases import EvalFile, read_eval
from evenhand.registry.content import Content, content_of
from evenhand.registry.evidence import EVALS, PROMOTIONS, USAGE, Row, Rows, number, read
from evenhand.registry.hooks import is_hook
from evenhand.registry.library import EVAL, VERIFY
from evenhand.registry.models import model_id
from evenhand.registry.prompt import STATUSES, PromptFolder, Status
from evenhand.registry.usage import successful

USES: dict[Status, int] = {"tested": 3, "ready": 10}

State = Literal["current", "stale", "forced", "none"]
"""Its evidence is about what it is now · about something else · it was promoted without · it has no need of any."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All rows of a prompt, and what they have to be about to count.

    Attributes:
        model: The id of the model that it is sent to.
        own_model: The one that meta.yml names; those that eval.yml names are part of the content.
    """

    usage: Rows
    evals: Rows
    promotions: Rows
    content: Content
    model: str
    own_model: str


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a prompt's evidence holds for the status that it has, and what is missing."""

    state: State
    missing: tuple[str, ...] = ()


def evidence_of(prompt: PromptFolder, suite: EvalFile | None = None) -> Evidence:
    """A prompt's evidence.

    Args:
        suite: Its eval.yml, where it has been read already.
    """
    return Evidence(
        read(prompt.path / USAGE),
        read(prompt.path / EVALS),
        read(prompt.path / PROMOTIONS),
        content_of(prompt, suite),
        sent_to(prompt, suite),
        model_id(prompt.meta.model),
    )


def sent_to(prompt: PromptFolder, suite: EvalFile | None = None) -> str:
    """The id of the model that a prompt is sent to: of meta.yml, or else of eval.yml; empty for none."""
    if prompt.meta.model:
        return model_id(prompt.meta.model)
    found = suite or read_eval(prompt, Findings(), lambda *_: None, with_inputs=False)
    return model_id(found.model) if found else ""


def next_status(prompt: PromptFolder) -> Status:
    """The status that comes after a prompt's own.

    Raises:
        UsageError: There is none.
    """
    place = STATUSES.index(prompt.meta.status)
    if place == len(STATUSES) - 1:
        raise UsageError(
            f"{prompt.id} is ready: cannot promote (already at top)",
            hint=f"For a breaking change: evenhand prompt new {prompt.id}-v2 --from {prompt.id}",
        )
    return STATUSES[place + 1]


def unmet(prompt: PromptFolder, target: Status, evidence: Evidence) -> list[str]:
    """What keeps a prompt from this status, in words; nothing for nothing."""
    asked = prompt.meta.promotion
    wanted = USES[target] if asked.min_uses is None else asked.min_uses
    found = _uses(prompt, target, evidence)
    missing: list[str] = []
    if found < wanted:
        kind = "verified sends" if _verified_only(prompt, target) else "successful sends"
        line = f"{found} of {wanted} {kind} of this prompt as it is now, to {evidence.model or 'its model'}"
        sent = sum(row.get("sent") is True for row in evidence.usage.rows)
        if sent > found:
            line += f" ({sent} sends in all)"
        if _verified_only(prompt, target) and not is_hook(prompt.path / VERIFY):
            line += (
                "; it has no verify.sh that can be run: write one, or say 'promotion: "
                "{require_verified: false}' in meta.yml"
            )
        missing.append(line)
    if target == "ready" and asked.require_eval:
        missing += _eval_unmet(prompt, evidence)
    return missing


def standing(prompt: PromptFolder, evidence: Evidence) -> Standing:
    """Whether a prompt's evidence holds for the status that it has."""
    status = prompt.meta.status
    if status == "draft":
        return Standing("none")
    missing = unmet(prompt, status, evidence)
    if not missing:
        return Standing("current")
    if forced(evidence, status):
        return Standing("forced", tuple(missing))
    return Standing("stale", tuple(missing))


def forced(evidence: Evidence, status: Status) -> bool:
    """Whether somebody promoted the prompt to this status, as it is now, without the evidence, and said why."""
    rows = [row for row in evidence.promotions.rows if row.get("to") == status]
    last = rows[-1] if rows else {}
    return bool(last.get("forced")) and last.get("content") == evidence.content.whole


def latest_eval(evidence: Evidence) -> Row | None:
    """The latest eval of the whole suite as it is now; None for none."""
    for row in reversed(evidence.evals.rows):
        if _counts(row, evidence):
            return row
    return None


def _counts(row: Row, evidence: Evidence) -> bool:
    return (
        row.get("content") == evidence.content.whole
        and row.get("partial") is False
        and row.get("offline") is False
        and row.get("model") == evidence.own_model
    )


def _verified_only(prompt: PromptFolder, target: Status) -> bool:
    return target == "ready" and prompt.meta.promotion.require_verified


def _uses(prompt: PromptFolder, target: Status, evidence: Evidence) -> int:
    rows = successful(evidence.usage.rows, evidence.content, evidence.model)
    if _verified_only(prompt, target):
        return sum(row.get("verified") is True for row in rows)
    return sum(row.get("verified") is not False for row in rows)


def _eval_unmet(prompt: PromptFolder, evidence: Evidence) -> list[str]:
    asked = prompt.meta.promotion
    if not (prompt.path / EVAL).is_file():
        return ["there is no eval.yml"]
    row = latest_eval(evidence)
    if row is None:
        why = _why_not(evidence.evals.rows, evidence)
        return [f"no eval of the whole suite as it is now{why}"]
    missing: list[str] = []
    if row.get("all_passed") is not True:
        names = row.get("failed_cases")
        failed = ", ".join(map(str, names)) if isinstance(names, list) else ""
        missing.append(f"the latest eval is not green: {failed or 'it did not end well'}")
    trials = number(row, "trials") or 0
    if trials < asked.min_n:
        missing.append(f"the latest eval had {trials:g} of {asked.min_n} trials")
    low = number(row, "interval", 0) or 0.0
    if low < asked.at_least:
        missing.append(
            f"the latest eval's pass rate is at least {low:.3f} (95 %), wanted {asked.at_least:g}"
        )
    return missing


def _why_not(rows: Sequence[Row], evidence: Evidence) -> str:
    """What the last row of evals lacks, in words."""
    if not rows:
        return ""
    row = rows[-1]
    if "content" not in row:
        return " (the last one does not say what of)"
    reasons = {
        "of an earlier version": row.get("content") != evidence.content.whole,
        "partial": row.get("partial") is not False,
        "answered from offline.jsonl": row.get("offline") is not False,
        "with another model": row.get("model") != evidence.own_model,
    }
    said = ", ".join(reason for reason, holds in reasons.items() if holds)
    return f" (the last one was {said})" if said else ""
