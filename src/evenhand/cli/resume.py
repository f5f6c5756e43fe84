"""`evenhand resume`: going on with a run that is there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from evenhand.cli.batching import batch_options, policy_again
from evenhand.cli.completing import complete_runs
from evenhand.cli.drawing import DRAWN
from evenhand.cli.fleet_options import fleet_options
from evenhand.cli.grouped import GroupedCommand
from evenhand.cli.options import flag
from evenhand.cli.replaying import ReplayRequest
from evenhand.cli.run_and_report import run_asked, safe_text
from evenhand.cli.session import Session, exit_code, session_options
from evenhand.cli.streams import print_run, tell
from evenhand.cli.study import asked_of, study_of
from evenhand.cli.trusting import look_at_origin, trust_option
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_mapping
from evenhand.core.wording.words import short_id

if TYPE_CHECKING:
    from evenhand.core.run import RunMeta
    from evenhand.engine.door import Settings
    from evenhand.store.runfile import RunFile


@click.command(
    cls=GroupedCommand, short_help="Resume an unfinished run without paying for anything twice."
)
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_runs)
@flag(
    "--errors",
    help="As without it, but with --no-cache all calls of trials in error are made and paid for again.",
)
@batch_options
@fleet_options
@trust_option
@session_options
def resume(run: str | None, errors: bool, **options: Any) -> int:
    """Resume RUN and retry its errors. RUN is an id, the start of one, or a file. Default: the latest run.

    Finished trials are kept, unless they follow one that ended in an error, as in a conversation. Replies that the run
    has are read from its file. Calls that were in flight when a run was killed may have been charged: they are counted,
    with the most that they can have cost.

    For a run with --batch, collects the answers of its batches, and continues.

    Replies that the run has are used again, also those of a judge that hold no readable verdict; with --errors and
    --no-cache they are not.
    """
    go_on = redone if errors else gone_on
    return go_on(run, Session.of(options), batching=options)


def redone(run: str | None, session: Session, *, batching: Mapping[str, Any] | None = None) -> int:
    """Redoes the trials in error of a run."""
    from evenhand.store.run_lookup import find
    from evenhand.store.runfile import RunFile

    file = find(Path.cwd(), run)
    with RunFile.open(file) as earlier:
        meta = earlier.meta
        if not earlier.totals().errors and meta.status == "finished":
            tell(f"no trial of run {meta.id} is in error: there is nothing to redo")
            if (study := study_of(meta, file)) is not None:
                return study.printed(file, session)
            return _printed_again(earlier, session)
    return gone_on(str(file), session, anew=session.no_cache, batching=batching)


def gone_on(
    run: str | None,
    session: Session,
    *,
    anew: bool = False,
    batching: Mapping[str, Any] | None = None,
) -> int:
    """Goes on with an earlier run, as it was started but for what is said now."""
    from evenhand.engine.door import Settings
    from evenhand.store.run_lookup import find
    from evenhand.store.runfile import RunFile

    file = find(Path.cwd(), run)
    with RunFile.open(file) as earlier:
        meta = earlier.meta
        totals = earlier.totals()
        errors = totals.errors
        if meta.status == "decided" and not errors and not meta.settings.get("gate"):
            # It may have been killed before anybody saw its report.
            drawing = meta.settings.get(DRAWN)
            budget = is_mapping(drawing) and drawing.get("budget_usd") is not None
            option = (
                "--stop-when-decided" if drawing is None else "--budget" if budget else "--sample"
            )
            cached = ": the cache has its answers" if meta.settings.get("cache", True) else ""
            tell(
                f"run {short_id(meta.id)} has ended: {safe_text(meta.message)}\n"
                f"  To run all of its cases, run it again without {option}{cached}."
            )
            return _printed_again(earlier, session)
    # Before anything else: the file names code that would be run.
    look_at_origin(meta, trust=session.trust)
    record = meta.settings
    study = study_of(meta, file)
    if study is None and "asked" not in record:
        raise UsageError(
            f"run {meta.id} cannot be resumed: its file doesn't record what it was made from",
            hint="Run what made it again: `evenhand data` and score_batch(…, resume=True) continue from there;"
            " pytest and evals get from the cache what was answered already.",
        )
    if meta.status == "finished" and not errors and totals.trials >= meta.planned:
        tell(f"run {short_id(meta.id)} is finished and has no errors: nothing is left to run")
    sharded = meta.sharded
    settings = Settings(
        concurrency=session.concurrency or record.get("concurrency"),
        cache=False if session.no_cache or not record.get("cache", True) else None,
        # Not `or`: a budget of 0 is one.
        max_cost_usd=record.get("max_cost_usd") if session.max_cost is None else session.max_cost,
        time_limit_s=session.time_limit or record.get("time_limit_s"),
        retries=record.get("retries") if session.retries is None else session.retries,
        at_least=record["asked"].get("at_least") if "asked" in record else None,
        anew=anew,
        record=record,
        batch=policy_again(batching or {}, record.get("batch")),
        shard=sharded.shard if sharded is not None else None,
    )
    if study is not None:
        return run_asked(study.request, settings, file, session, report=study.report)
    if record.get("gate"):
        from evenhand.cli.gate import gate_gone_on as go_on
    else:
        go_on = _run_gone_on
    replayed = record.get("replay")
    if not replayed:
        return go_on(file, meta, settings, session)
    with ReplayRequest(str(replayed["file"]), asks=bool(replayed["asks"])).opened() as replay:
        settings = replace(
            settings,
            replay=replay,
            replay_asks=bool(replayed["asks"]),
            regrades=bool(replayed.get("regrades")),
        )
        return go_on(file, meta, settings, session)


def _printed_again(run: RunFile, session: Session) -> int:
    """Prints the report of a run that has ended, and returns the code that it exited with."""
    from evenhand.analysis.trust.run_verdict import verdict_of

    print_run(run, as_json=session.as_json, table=not session.no_table, calls=session.calls)
    return exit_code(verdict_of(run, run.totals()), run.meta.status, 0, session)


def _run_gone_on(file: Path, meta: RunMeta, settings: Settings, session: Session) -> int:
    return run_asked(asked_of(meta), settings, file, session)
