"""`evenhand run` and `evenhand resume`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evenhand.cli.exits import code_for
from evenhand.cli.streams import tell
from evenhand.core.errors import UsageError

if TYPE_CHECKING:
    from evenhand.core.plan import Plan, Selection
    from evenhand.core.run import CallRecord
    from evenhand.engine.door import Finished, Settings
    from evenhand.report.progress import Progress

F = TypeVar("F", bound=Callable[..., object])


def _looks(command: F) -> F:
    """The options that say what is printed and how it exits; `run` and `resume` share them."""
    for option in reversed(
        (
            click.option(
                "--json", "as_json", is_flag=True, help="Print one JSON document to stdout."
            ),
            click.option("--no-table", is_flag=True, help="Print the summary only."),
            click.option("--no-progress", is_flag=True, help="Print no progress."),
            click.option("--exit-zero", is_flag=True, help="Exit with 0 when trials failed."),
            click.option(
                "--promptfoo-exit-codes",
                is_flag=True,
                help="Exit with 100 when trials failed, as promptfoo does.",
            ),
        )
    ):
        command = option(command)
    return command


def _spending(command: F) -> F:
    """The options that say how a plan is run."""
    for option in reversed(
        (
            click.option(
                "-j", "--concurrency", type=click.IntRange(1), help="Trials and calls in flight."
            ),
            click.option(
                "--max-cost",
                type=click.FloatRange(0),
                metavar="USD",
                help="Send no call that could take the run past this.",
            ),
            click.option(
                "--no-cache", is_flag=True, help="Neither read nor write the cache of replies."
            ),
            click.option(
                "--time-limit",
                type=click.FloatRange(0, min_open=True),
                metavar="SECONDS",
                help="For one call of a function of yours.  [default: 60]",
            ),
        )
    ):
        command = option(command)
    return command


@click.command(short_help="Run prompts × models × tests, and say what passed.")
@click.argument("path", default=".", type=click.Path(path_type=Path))
@click.option(
    "--filter",
    "filter_",
    default="",
    metavar="REGEX",
    help="Only tests whose description or variables match.",
)
@click.option("--first", type=click.IntRange(1), metavar="N", help="Only the first N tests.")
@click.option(
    "--sample", type=click.IntRange(1), metavar="N", help="Only N tests, drawn at random."
)
@click.option("--seed", type=int, default=0, show_default=True, help="For --sample.")
@click.option("--repeat", type=click.IntRange(1), metavar="N", help="Ask everything N times.")
@_spending
@click.option(
    "--offline",
    is_flag=True,
    help="Answer from the folder's offline.jsonl instead of asking any model: no key, no network, no cost.",
)
@click.option(
    "--strict-prompts",
    is_flag=True,
    help="Call prompt functions with promptfoo's one context argument, whatever their parameters are called.",
)
@_looks
def run(
    path: Path,
    filter_: str,
    first: int | None,
    sample: int | None,
    seed: int,
    repeat: int | None,
    concurrency: int | None,
    max_cost: float | None,
    no_cache: bool,
    time_limit: float | None,
    offline: bool,
    strict_prompts: bool,
    as_json: bool,
    no_table: bool,
    no_progress: bool,
    exit_zero: bool,
    promptfoo_exit_codes: bool,
) -> int:
    """Run the prompts × models × tests of PATH: a folder with a promptfooconfig.yaml, or the file itself.

    Every reply is kept the moment it arrives. Stopped with Ctrl-C or killed, a run goes on with `evenhand resume`,
    and what was received is not paid for again.
    """
    from evenhand.core.plan import Selection  # noqa: PLC0415 (imported once it is known what is asked)
    from evenhand.engine.door import Settings  # noqa: PLC0415 (see above)

    selection = Selection(filter_, first, sample, seed, repeat)
    record: dict[str, Any] = {
        "path": str(path.absolute()),
        "filter": filter_,
        "first": first,
        "sample": sample,
        "seed": seed,
        "repeats": repeat,
        "strict_prompts": strict_prompts,
        "offline": offline,
        "concurrency": concurrency,
        "max_cost_usd": max_cost,
        "cache": not no_cache,
        "time_limit_s": time_limit,
    }
    settings = Settings(
        concurrency=concurrency,
        cache=False if no_cache else None,
        max_cost_usd=max_cost,
        time_limit_s=time_limit,
        record=record,
    )
    with _offline(path) if offline else contextlib.nullcontext():
        plan = _load(path, selection, strict_prompts)
        finished = _settle(plan, settings, None, show_progress=not no_progress, replayed=offline)
    return _report(
        finished, plan, as_json, not no_table, not no_progress, exit_zero, promptfoo_exit_codes
    )


@click.command(short_help="Go on with a run that did not finish. Nothing is paid for twice.")
@click.argument("run", required=False, metavar="[RUN]")
@_spending
@_looks
def resume(
    run: str | None,
    concurrency: int | None,
    max_cost: float | None,
    no_cache: bool,
    time_limit: float | None,
    as_json: bool,
    no_table: bool,
    no_progress: bool,
    exit_zero: bool,
    promptfoo_exit_codes: bool,
) -> int:
    """Go on with RUN (an id, the start of one, or a file; by default the latest), or redo its errors.

    Trials with a verdict are left alone. Replies that were received are read from the run's file, not asked for again.
    Calls that were in flight when a run was killed may have been charged for: they are counted, with what they can
    have cost at most.
    """
    from evenhand.core.plan import Selection  # noqa: PLC0415 (imported once it is known what is asked)
    from evenhand.engine.door import Settings  # noqa: PLC0415 (see above)
    from evenhand.store.catalogue import find  # noqa: PLC0415 (see above)
    from evenhand.store.runfile import RunFile  # noqa: PLC0415 (see above)

    file = find(Path.cwd(), run)
    with RunFile.open(file) as earlier:
        meta = earlier.meta
    record = meta.settings
    path = Path(record.get("path", ""))
    if not record.get("path") or not path.exists():
        gone = path if record.get("path") else "what it was made from"
        raise UsageError(f"run {meta.id} cannot be resumed: {gone} does not exist")
    selection = Selection(
        record["filter"], record["first"], record["sample"], record["seed"], record["repeats"]
    )
    settings = Settings(
        concurrency=concurrency or record["concurrency"],
        cache=False if no_cache or not record["cache"] else None,
        max_cost_usd=record["max_cost_usd"] if max_cost is None else max_cost,
        time_limit_s=time_limit or record["time_limit_s"],
        record=record,
    )
    offline = bool(record["offline"])
    with _offline(path) if offline else contextlib.nullcontext():
        plan = _load(path, selection, bool(record["strict_prompts"]))
        finished = _settle(plan, settings, file, show_progress=not no_progress, replayed=offline)
    return _report(
        finished, plan, as_json, not no_table, not no_progress, exit_zero, promptfoo_exit_codes
    )


def _load(path: Path, selection: Selection, strict_prompts: bool) -> Plan:
    from evenhand.promptfoo.load import load  # noqa: PLC0415 (imported once it is known what is asked)

    return load(path, selection, strict_prompts=strict_prompts)


@contextlib.contextmanager
def _offline(path: Path) -> Iterator[None]:
    """Inside, the vendors' addresses lead to a server of our own that answers from the folder's offline.jsonl."""
    from evenhand.testing import FakeProvider, Script  # noqa: PLC0415 (only for --offline)

    folder = path if path.is_dir() else path.parent
    script = folder / "offline.jsonl"
    if not script.is_file():
        raise UsageError(
            f"--offline: there is no offline.jsonl in {folder}",
            hint="It holds what models would answer, one rule a line; `evenhand init` makes one to start from.",
        )
    before = dict(os.environ)
    with FakeProvider(Script.read(script)) as fake:
        os.environ.update(fake.env())
        try:
            yield
        finally:
            _restore(before)


def _restore(before: Mapping[str, str]) -> None:
    for name in set(os.environ) - set(before):
        del os.environ[name]
    os.environ.update(before)


def _settle(
    plan: Plan, settings: Settings, file: Path | None, *, show_progress: bool, replayed: bool
) -> Finished:
    from evenhand.engine import door  # noqa: PLC0415 (imported once it is known what is asked)
    from evenhand.report.console import heading, problem_lines  # noqa: PLC0415 (see above)

    for line in problem_lines(plan.hints):
        tell(line)
    progress = _progress(show_progress)
    if progress is not None:
        progress.start(heading(plan) + (" · replies replayed, no key needed" if replayed else ""))
    try:
        return door.run(
            plan,
            settings,
            resume=file,
            progress=progress.update if progress else None,
            note=progress.note if progress else _note,
            resumed=_resumed,
        )
    finally:
        if progress is not None:
            progress.stop()


def _progress(wanted: bool) -> Progress | None:
    if not wanted:
        return None
    from evenhand.report.progress import Progress  # noqa: PLC0415 (not wanted by those who want none)

    return Progress(sys.stderr, sys.stderr.isatty())


def _resumed(in_doubt: Sequence[CallRecord], last_words: Sequence[str]) -> None:
    """Said before anything is run: the same code may end this session as well."""
    from evenhand.report.console import doubt_lines  # noqa: PLC0415 (seldom)

    for line in doubt_lines(in_doubt, last_words):
        tell(line)


def _note(text: str) -> None:
    from evenhand.report.words import safe  # noqa: PLC0415 (seldom)

    tell(f"evenhand: {safe(text)}")


def _report(
    finished: Finished,
    plan: Plan,
    as_json: bool,
    table: bool,
    show_progress: bool,
    exit_zero: bool,
    promptfoo_exit_codes: bool,
) -> int:
    from evenhand.cli.show import print_run  # noqa: PLC0415 (imported once there is something to show)
    from evenhand.core.run import verdict  # noqa: PLC0415 (see above)
    from evenhand.store.runfile import RunFile  # noqa: PLC0415 (see above)

    # On a terminal the progress line has said it already.
    said = sys.stdout.isatty() and sys.stderr.isatty() and show_progress
    with RunFile.open(finished.path) as run_file:
        totals = run_file.totals()
        print_run(run_file, as_json=as_json, table=table, with_heading=not said)
    ending = finished.ending
    return code_for(
        verdict(totals, plan.size, plan.options.pass_rate),
        ending.status,
        ending.signal,
        promptfoo=promptfoo_exit_codes,
        failures_are_fine=exit_zero,
    )
