"""`evenhand runs status`: how far a run is, and what of it vendors have in batches."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.options import flag
from evenhand.core.document import Key, as_object, filled
from evenhand.core.record import Record
from evenhand.core.wording.words import count, money, put, safe, seconds, short_id
from evenhand.store.calls import OPEN, BatchRecord
from evenhand.store.runfile import RunFile


@click.command(short_help="Say how far a run is, and which of its batches are out.")
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_runs)
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def status(run: str | None, as_json: bool) -> int:
    """Say how far RUN is: trials settled, batches out and since when, and what they cost at most.

    RUN is an id, the start of one, or a file. Default: the latest run. No model is called; `evenhand resume` asks
    for the batches.
    """
    from evenhand.store.run_lookup import find

    with RunFile.open(find(Path.cwd(), run)) as run_file:
        if as_json:
            put(sys.stdout, json.dumps(status_document(run_file), indent=2) + "\n")
        else:
            put(sys.stdout, "\n".join(status_lines(run_file)) + "\n")
    return 0


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


class StatusBatch(Record, frozen=True, kw_only=True):
    """What `evenhand.status/1` says of a batch."""

    id: Annotated[str, Key("our name for it, with which the ids of its requests begin")]
    vendor_id: Annotated[
        str | None,
        Key("the vendor's name for it", null="it is not known whether the vendor took it"),
    ]
    vendor: Annotated[str, Key("`openai`, `anthropic`, `google` or `mistral`")]
    model: Annotated[str, Key("the model that all its requests ask")]
    endpoint: Annotated[str, Key("what they are sent to, below the API's address")]
    wave: Annotated[int, Key("the wave that it belongs to, from 1")]
    requests: Annotated[int, Key("how many it has", "requests")]
    state: Annotated[
        str,
        Key(
            "`intended` (about to be submitted when the process died: `resume` looks for it), `out`, "
            "`cancelling` (out, and cancelled as it was late), `collected`, `refused` (the vendor took none "
            "of it), `gone` (its results are no longer kept), or `given_up` (it was late, and didn't even end "
            "when it was cancelled)"
        ),
    ]
    submitted_at: Annotated[
        float | None,
        Key(
            "when the vendor took it",
            "seconds since 1970",
            null="it is not known whether the vendor took it",
        ),
    ]
    ended_at: Annotated[
        float | None,
        Key(
            "when it was cancelled, collected, refused or given up, the last of these",
            "seconds since 1970",
            null="it is out",
        ),
    ]
    cost_bound_usd: Annotated[
        float | None, Key("what it costs at most", "US dollars", null="a price is not known")
    ]
    message: Annotated[str, Key("why it came to nothing; empty where it didn't")]


class StatusDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.status/1`."""

    schema: Annotated[str, Key("`evenhand.status/1`")]
    run: Annotated[str, Key("the run's id")]
    status: Annotated[
        str,
        Key(
            "`running`, `killed`, or what [`run.status`](run-1.md) says; `waiting`: batches are out, and "
            "nobody waits for them"
        ),
    ]
    settled: Annotated[int, Key("those that have a result", "trials")]
    planned: Annotated[int, Key("those of the plan", "trials")]
    wave: Annotated[
        int, Key("how many times requests were submitted together; 0 for a run without batches")
    ]
    batches: Annotated[
        list[StatusBatch],
        Key("all of the run's batches, in the order in which they were submitted"),
    ]


def status_document(run: RunFile) -> dict[str, Any]:
    """What `evenhand runs status --json` prints; docs/formats/status-1.md says what each field is."""
    batches = run.batches()
    return as_object(
        StatusDocument(
            schema=SCHEMA,
            run=run.meta.id,
            status=_status(run),
            settled=run.totals().trials,
            planned=run.meta.planned,
            wave=max((batch.wave for batch in batches), default=0),
            batches=[
                filled(
                    StatusBatch,
                    batch,
                    vendor_id=batch.vendor_id or None,
                    cost_bound_usd=batch.bound_usd,
                )
                for batch in batches
            ],
        )
    )


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
        most = "cost unknown" if batch.bound_usd is None else f"at most {money(batch.bound_usd)}"
        parts.append(most)
    if batch.message:
        parts.append(safe(batch.message))
    return " · ".join(parts)
