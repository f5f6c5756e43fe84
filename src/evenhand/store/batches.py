"""The batches of a run, read back."""

from __future__ import annotations

from typing import cast

from evenhand.core.batch import BatchRecord, BatchState
from evenhand.core.run import CallStart
from evenhand.store.calls import CALL_COLUMNS, CALLS, call_record
from evenhand.store.encoding import read_text, write_text
from evenhand.store.opened import OpenRun, readable

BATCH_COLUMNS = (
    "id, wave, vendor, address, account, model, endpoint, requests, state, vendor_id, intended_at, submitted_at, "
    "ended_at, bound_usd, message"
)


class RunBatches:
    """Reads the batches of an open run file.

    Args:
        run: The file.
    """

    def __init__(self, run: OpenRun) -> None:
        self._run = run

    def batches(self) -> list[BatchRecord]:
        """All batches of the run, in the order in which they were made; empty for a run that has none."""
        with readable(self._run.path):
            if not self._run.has_table("batch"):
                return []
            rows = self._run.db.execute(f"select {BATCH_COLUMNS} from batch order by rowid")  # noqa: S608 (fixed text)
            return [batch_record(row) for row in rows]

    def batched(self, batch: str) -> list[tuple[int, CallStart]]:
        """The calls of a batch that have no end, each with its id."""
        with readable(self._run.path):
            rows = self._run.db.execute(
                f"select call.id, {CALL_COLUMNS} from {CALLS} join batch_call on batch_call.call = call.id"  # noqa: S608 (fixed text)
                " where batch_call.batch = ? and reply.call is null order by call.id",
                (batch,),
            )
            return [(number, call_record(tuple(row)).start) for number, *row in rows]

    def depths(self) -> dict[int, int]:
        """In how many waves each trial had calls; without the trials that had none."""
        with readable(self._run.path):
            if not self._run.has_table("batch"):
                return {}
            return dict(
                self._run.db.execute(
                    "select call.trial, count(distinct batch.wave) from batch_call"
                    " join batch on batch.id = batch_call.batch join call on call.id = batch_call.call"
                    " where batch.state != 'refused' group by call.trial"
                )
            )

    def batched_usd(self) -> dict[tuple[str, str], float]:
        """What calls came to that batches answered, by role and model as asked for; unknown prices are left out."""
        with readable(self._run.path):
            if not self._run.has_table("batch"):
                return {}
            rows = self._run.db.execute(
                "select role, provider, total(cost_usd) from batch_call join call on call.id = batch_call.call"
                " join reply on reply.call = call.id where error = '' group by role, provider"
            )
            return {(role, provider): cost for role, provider, cost in rows}


def batch_record(row: tuple[object, ...]) -> BatchRecord:
    """A batch from the columns above.

    Raises:
        ValueError: The file is damaged.
    """
    *most, message = row
    record = BatchRecord(*most, message=read_text(cast("bytes", message)))  # pyright: ignore[reportArgumentType]
    if record.state not in _STATES:
        raise ValueError(f"a batch holds what its table does not: {row!r:.200}")
    return record


def batch_row(record: BatchRecord) -> tuple[object, ...]:
    """The columns of a batch."""
    return (
        record.id,
        record.wave,
        record.vendor,
        record.address,
        record.account,
        record.model,
        record.endpoint,
        record.requests,
        record.state,
        record.vendor_id,
        record.intended_at,
        record.submitted_at,
        record.ended_at,
        record.bound_usd,
        write_text(record.message),
    )


_STATES: frozenset[BatchState] = frozenset(
    ("intended", "out", "cancelling", "collected", "refused", "gone", "given_up")
)
