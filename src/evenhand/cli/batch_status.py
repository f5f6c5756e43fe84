"""How far a run is, and what of it vendors have in batches."""

from __future__ import annotations

import time
from typing import Any

from evenhand.core.wording.words import count, money, safe, seconds, short_id
from evenhand.store.calls import OPEN, BatchRecord
from evenhand.store.runfile import RunFile

SCHEMA = "evenhand.status/1"

_STATES = {
    "intended": "may be submitted, it is looked up on resume",
    "out": "out",
    "cancelling": "late, being cancelled, out",
    "collected": "collected",
    "refused": "not taken",
    "gone": "results gone",
    "given_up": "given up",
}


def status_document(run: RunFile) -> dict[str, Any]:
    """What `evenhand status --json` prints; docs/formats/status-1.md says what each field is."""
    batches = run.batches()
    return {
        "schema": SCHEMA,
        "run": run.meta.id,
        "status": _status(run),
        "settled": run.totals().trials,
        "planned": run.meta.planned,
        "wave": max((batch.wave for batch in batches), default=0),
        "batches": [
            {
                "id": batch.id,
                "vendor_id": batch.vendor_id or None,
                "vendor": batch.vendor,
                "model": batch.model,
                "endpoint": batch.endpoint,
                "wave": batch.wave,
                "requests": batch.requests,
                "state": batch.state,
                "submitted_at": batch.submitted_at,
                "ended_at": batch.ended_at,
                "cost_bound_usd": batch.bound_usd,
                "message": batch.message,
            }
            for batch in batches
        ],
    }


def status_lines(run: RunFile) -> list[str]:
    """The status of a run in words: the run, and a line for each batch that is out."""
    batches, totals, meta = run.batches(), run.totals(), run.meta
    settled = f"{totals.trials:,} of {count(meta.planned, 'trial')} settled"
    lines = [f"{short_id(meta.id)} · {safe(meta.title)} · {_status(run)} · {settled}"]
    if not batches:
        return [*lines, "  it has no batches"]
    out = [batch for batch in batches if batch.state in OPEN]
    done = len(batches) - len(out)
    wave = max(batch.wave for batch in batches)
    lines.append(f"  wave {wave}: {count(len(out), 'batch', 'batches')} out, {done} done")
    lines += [f"  {_line(batch)}" for batch in batches if batch.state != "collected"]
    if out and not run.alive:
        lines.append(f"  next: evenhand resume {short_id(meta.id)}")
    return lines


def _status(run: RunFile) -> str:
    meta = run.meta
    if meta.status == "running":
        return "running" if run.alive else "killed"
    return meta.status


def _line(batch: BatchRecord) -> str:
    name = batch.vendor_id or batch.id
    parts = [
        f"{safe(name)}  {batch.vendor} {safe(batch.model)}",
        f"{count(batch.requests, 'request')}",
        _STATES[batch.state],
    ]
    if batch.submitted_at is not None and batch.state in ("out", "cancelling"):
        parts[-1] += f" for {seconds(max(0.0, time.time() - batch.submitted_at))}"
    if batch.state in OPEN:
        most = "cost not known" if batch.bound_usd is None else f"at most {money(batch.bound_usd)}"
        parts.append(most)
    if batch.message:
        parts.append(safe(batch.message))
    return " · ".join(parts)
