"""The prompts of a repository, and one of them, in words and in numbers."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

from evenhand.core.record import Record
from evenhand.core.wording.words import count, near
from evenhand.doors.prompt_directories.evidence import USAGE, Row, oldest_first, read
from evenhand.doors.prompt_directories.library import Library
from evenhand.doors.prompt_directories.outcome import trigger_words
from evenhand.doors.prompt_directories.promotion_rules import (
    Gate,
    Standing,
    evidence_of,
    gates,
    latest_eval,
    lowered,
    next_status,
    standing,
)
from evenhand.doors.prompt_directories.prompt import STATUSES, PromptFolder, read_prompt
from evenhand.doors.prompt_directories.runs import KeptRuns
from evenhand.languages.documents.findings import Findings
from evenhand.store.run_lookup import home_for

HEADS = ("id", "status", "version", "sent", "verified", "evidence", "title")


class ListedPrompt(Record, frozen=True, kw_only=True):
    """One prompt in the list.

    Attributes:
        evidence: `current`, `stale`, `forced`, `waived`, `none`; `unreadable` where its files cannot be read.
        lowered: Which gates meta.yml lowers.
    """

    id: str
    status: str
    version: str
    title: str
    tags: Sequence[str]
    sent: int
    verified: int
    evidence: str
    missing: Sequence[str]
    lowered: Sequence[str] = ()

    @property
    def is_stale(self) -> bool:
        """Whether the prompt is called ready on evidence that is about something else, or cannot be read."""
        return self.status == "ready" and self.evidence in ("stale", "unreadable")

    def document(self) -> Mapping[str, Any]:
        """For programs."""
        return asdict(self)


def listed(library: Library) -> list[ListedPrompt]:
    """All prompts, by name."""
    return [_listed(library, id_) for id_ in library.ids()]


def _listed(library: Library, id: str) -> ListedPrompt:
    findings = Findings()
    prompt = read_prompt(library, id, findings)
    usage = usage_of(read(prompt.path / USAGE).rows)
    stands = Standing("none")
    if prompt.meta.status != "draft":  # a draft has nothing to show, and need not be read whole
        stands = standing(prompt, evidence_of(prompt))
    state = "unreadable" if findings.problems else stands.state
    meta, missing = prompt.meta, stands.missing
    less = lowered(meta.promotion, meta.status) if meta.status != "draft" else ()
    return ListedPrompt(
        id=id,
        status=meta.status,
        version=meta.version,
        title=meta.title,
        tags=meta.tags,
        sent=usage.sent,
        verified=usage.verified,
        evidence=state,
        missing=missing,
        lowered=less,
    )


def table(rows: Sequence[ListedPrompt], prompts: Path) -> list[str]:
    """The list for people: a line each, and below it how many are stale.

    Args:
        prompts: The folder that they are in.
    """
    cells = [HEADS, *(_cells(row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(HEADS) - 1)]
    lines = [
        "  ".join(
            [*(text.ljust(w) for text, w in zip(row, widths, strict=False)), row[-1]]
        ).rstrip()
        for row in cells
    ]
    counts = ", ".join(
        f"{sum(row.status == status for row in rows)} {status}" for status in reversed(STATUSES)
    )
    stale = [row.id for row in rows if row.is_stale]
    lines += ["", f"{count(len(rows), 'prompt')}: {counts}"]
    lines += [f"{row.id} has weaker gates: {', '.join(row.lowered)}" for row in rows if row.lowered]
    if stale:
        lines.append(f"marked ready without current evidence: {', '.join(stale)}")
        lines += [f"{row.id} falls short: {'; '.join(row.missing)}" for row in rows if row.is_stale]
        path = shlex.quote(near(prompts / stale[0]))
        send = f"; for sends that are missing, evenhand prompt send {shlex.quote(stale[0])}"
        lines.append(f"\nnext: evenhand run {path}{send}")
    return lines


def _cells(row: ListedPrompt) -> tuple[str, ...]:
    evidence = "" if row.evidence == "none" else row.evidence
    return (row.id, row.status, row.version, str(row.sent), str(row.verified), evidence, row.title)


def described(prompt: PromptFolder) -> dict[str, Any]:
    """All that is known of a prompt."""
    evidence = evidence_of(prompt, runs=KeptRuns(home_for(prompt.library.root)))
    stands = standing(prompt, evidence)
    meta = prompt.meta
    row = latest_eval(evidence)
    last = next(reversed(oldest_first(evidence.evals.rows)), None)
    description: dict[str, Any] = {
        "id": prompt.id,
        "title": meta.title,
        "summary": meta.summary,
        "status": meta.status,
        "version": meta.version,
        "created": meta.created,
        "updated": meta.updated,
        "model": evidence.model or None,
        "tags": meta.tags,
        "inputs": [asdict(i) for i in meta.inputs],
        "description": meta.description or None,
        "triggers": meta.triggers,
        "not_for": meta.not_for,
        "notes": meta.notes or None,
        "examples": prompt.examples(),
        "content": evidence.content.whole,
        "usage": asdict(usage_of(evidence.usage.rows)),
        "loaded": evidence.content.loaded,
        "evidence": stands.state,
        "missing": stands.missing,
        "gates": [asdict(gate) for gate in stands.gates],
        "lowered": lowered(meta.promotion, "ready"),
        "latest_eval": row,
        "last_eval": last,
        "broken_lines": {
            rows.path.name: list(rows.broken)
            for rows in (evidence.usage, evidence.evals, evidence.promotions)
            if rows.broken
        },
    }
    if meta.status != STATUSES[-1]:
        target = next_status(prompt)
        here = replace(evidence, must_be_here=meta.promotion.require_runs)
        ahead = gates(prompt, target, here)
        missing = [gate.line for gate in ahead if not gate.met]
        description["next"] = {
            "status": target,
            "missing": missing,
            "gates": [asdict(gate) for gate in ahead],
        }
    return description


def description_lines(about: Mapping[str, Any]) -> list[str]:
    """The description of a prompt as lines of text."""
    usage: Mapping[str, Any] = about["usage"]
    lines = [
        f"{about['id']} {about['version']} · {about['status']} · {about['title']}",
        f"  {about['summary']}",
        f"  model {about['model'] or 'none'} · created {about['created']} · updated {about['updated']}",
    ]
    inputs = [_input_words(i) for i in about["inputs"]]
    lines += [f"  inputs: {', '.join(inputs)}"] if inputs else []
    lines += (
        [f"  description: {' '.join(about['description'].split())}"] if about["description"] else []
    )
    lists = ("tags", "examples", "triggers", "not_for")
    lines += [f"  {key}: {', '.join(about[key])}" for key in lists if about[key]]
    if about["notes"]:
        lines += ["  notes:", *(f"    {line}" for line in about["notes"].splitlines())]
    counts = f"{usage['verified']} verified, {usage['refuted']} rejected, {usage['unverified']} not verified"
    uses = f"{count(usage['total'], 'row')}, {usage['sent']} sent: {counts}; last {usage['last']}"
    lines += ["", f"usage: {uses if usage['last'] else 'none'}"]
    medians = [f"{key} {value:g}" for key, value in usage["medians"].items() if value is not None]
    if medians:
        lines.append(f"  medians: {', '.join(medians)}")
    lines.append(f"evidence: {about['evidence']}")
    lines += [f"  {Gate(**gate)}" for gate in about["gates"]]
    if about["lowered"]:
        lines.append(f"meta.yml weakens the gates: {', '.join(about['lowered'])}")
    if about["loaded"]:
        lines.append(f"counts with it: {', '.join(about['loaded'])}")
    if about["last_eval"]:
        lines.append(f"last eval: {_eval_line(about['last_eval'])}")
    for name, broken in about["broken_lines"].items():
        lines.append(f"{name}: lines that are not rows, skipped: {', '.join(map(str, broken))}")
    if "next" in about:
        missing = about["next"]["missing"]
        lines.append(
            f"to be {about['next']['status']}: {'all is there' if not missing else 'missing'}"
        )
        lines += [f"  {Gate(**gate)}" for gate in about["next"]["gates"]]
    return lines


def _input_words(entry: Mapping[str, Any]) -> str:
    if entry["required"]:
        return str(entry["name"])
    return f"{entry['name']} (may be left out)"


def _eval_line(row: Row) -> str:
    line = f"{row.get('ts')}: {row.get('passed')} of {row.get('total')} cases passed"
    for key in ("partial", "offline"):
        line += f", {key}" if row.get(key) else ""
    return ", ".join([line, *trigger_words(row)])


MEASURED = ("duration_ms", "prompt_words", "output_words")


class PromptUsage(Record, frozen=True, kw_only=True):
    """What a prompt's rows of usage come to.

    Attributes:
        total: Rows, dry ones too.
        sent: Of those, the ones that were sent.
        verified: Sent, and verify.sh found nothing wrong.
        refuted: Sent, and verify.sh found something wrong.
        unverified: Sent, and nobody looked.
        last: When the last one ended; empty for none.
        medians: Of the rows that were sent, by key; of outputs, those that there are. None where none has the key.
    """

    total: int
    sent: int
    verified: int
    refuted: int
    unverified: int
    last: str
    medians: dict[str, float | None]


def usage_of(rows: Sequence[Row]) -> PromptUsage:
    """What these rows come to."""
    sent = [row for row in rows if row.get("sent") is True]
    return PromptUsage(
        total=len(rows),
        sent=len(sent),
        verified=sum(row.get("verified") is True for row in sent),
        refuted=sum(row.get("verified") is False for row in sent),
        unverified=sum(row.get("verified") is None for row in sent),
        last=str(oldest_first(rows)[-1].get("ts") or "") if rows else "",
        medians={key: _median(sent, key) for key in MEASURED[:-1]}
        | {"output_words": _median([row for row in sent if not row.get("error")], "output_words")},
    )


def _median(rows: Sequence[Row], key: str) -> float | None:
    values = [row[key] for row in rows if type(row.get(key)) in (int, float)]
    return float(median(values)) if values else None
