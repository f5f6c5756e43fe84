"""`evenhand run` and `evenhand resume`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from evenhand.cli.exits import code_for, failed_code
from evenhand.cli.selecting import asked_for, selecting
from evenhand.cli.streams import set_apart, tell
from evenhand.core.errors import UsageError
from evenhand.scorers.rag.definitions import OURS, SYSTEMS, using_definitions

if TYPE_CHECKING:
    from evenhand.cli.asked import Asked
    from evenhand.core.plan import Plan
    from evenhand.core.run import CallRecord, RunStatus, TrialResult, VerdictWord
    from evenhand.engine.door import Finished, Settings
    from evenhand.report.progress import Progress
    from evenhand.store.runfile import RunFile

F = TypeVar("F", bound=Callable[..., object])


def _looks(command: F) -> F:
    """The options that say what is printed and how it exits; `run` and `resume` share them."""
    for option in reversed(
        (
            click.option(
                "--json", "as_json", is_flag=True, help="Print one JSON document to stdout."
            ),
            click.option(
                "-v",
                "--verbose",
                is_flag=True,
                help="Print every trial with every expectation, as they are settled.",
            ),
            click.option("--no-table", is_flag=True, help="Print the summary only."),
            click.option(
                "--no-progress",
                "--no-progress-bar",
                "no_progress",
                is_flag=True,
                help="Print no progress.",
            ),
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
                "-j",
                "--concurrency",
                "--max-concurrency",
                "concurrency",
                type=click.IntRange(1),
                help="Trials and calls in flight.",
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
                help="For one call of a function of yours.  [default: 60; 600 in eval sets]",
            ),
        )
    ):
        command = option(command)
    return command


@click.command(short_help="Run prompts × models × tests, and say what passed.")
@click.argument("paths", nargs=-1, metavar="[PATH[:LINE]]...")
@selecting
@click.option("-k", "names", default="", metavar="NAME", help="Only evals with this in their name.")
@click.option(
    "--case",
    default="",
    metavar="NAME",
    help="Of prompt directories: only the case with this name.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Take warnings for errors: hints about a config, evals that expect nothing.",
)
@_spending
@click.option(
    "--offline",
    is_flag=True,
    help="Answer from the folder's offline.jsonl instead of asking any model: no key, no network, no cost.",
)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help="Write the results to this file, too, in the format that its ending says.",
)
@click.option(
    "--no-write", is_flag=True, help="Keep no run: what is not printed or written is gone."
)
@click.option(
    "--fail-on-empty",
    is_flag=True,
    help="Exit with 5 where no test is left, also with --promptfoo-exit-codes.",
)
@click.option(
    "--retry-errors",
    is_flag=True,
    help="Redo the trials in error of the latest run instead, as `evenhand retry` does.",
)
@click.option(
    "--resume",
    "resumed",
    is_flag=False,
    flag_value="latest",
    default="",
    metavar="[RUN]",
    help="Go on with RUN, by default the latest, as `evenhand resume` does.",
)
@click.option(
    "--definitions",
    type=click.Choice(SYSTEMS),
    help="Whose definitions of RAG metrics count, for those that name none.",
)
@_looks
def run(
    paths: tuple[str, ...],
    names: str,
    case: str,
    strict: bool,
    concurrency: int | None,
    max_cost: float | None,
    no_cache: bool,
    time_limit: float | None,
    offline: bool,
    outputs: tuple[str, ...],
    no_write: bool,
    fail_on_empty: bool,
    retry_errors: bool,
    resumed: str,
    definitions: str | None,
    as_json: bool,
    verbose: bool,
    no_table: bool,
    no_progress: bool,
    exit_zero: bool,
    promptfoo_exit_codes: bool,
    **said: Any,
) -> int:
    """Run the prompts × models × tests of a folder, its eval sets, or the cases of prompt directories.

    PATH is a folder with a promptfooconfig.yaml or the file itself; or any number of eval files (*_evals.py), a line of
    an eval after a colon, and folders of them; or any number of prompt directories, prompts/ID. Without PATH, the
    folder you stand in.

    Every reply is kept the moment it arrives. Stopped with Ctrl-C or killed, a run goes on with `evenhand resume`,
    and what was received is not paid for again.
    """
    from dataclasses import replace  # noqa: PLC0415 (imported once it is known what is asked)

    from evenhand.core.errors import NothingSelected  # noqa: PLC0415 (see above)
    from evenhand.engine.door import Settings  # noqa: PLC0415 (see above)

    looks = _Looks(
        as_json,
        verbose,
        not no_table,
        not no_progress,
        exit_zero,
        promptfoo_exit_codes,
        outputs,
    )
    if retry_errors or resumed:
        redo = _retried if retry_errors else _again
        which = resumed or None
        return redo(which, looks, concurrency, max_cost, time_limit, no_cache=no_cache)
    asked = replace(asked_for(paths, said), offline=offline, names=names, strict=strict)
    asked = replace(asked, definitions=definitions or "", case=case)
    record: dict[str, Any] = {
        "asked": asked.record(),
        "concurrency": concurrency,
        "max_cost_usd": max_cost,
        "cache": not no_cache,
        "time_limit_s": time_limit,
    }
    with _home(no_write) as home:
        settings = Settings(
            home=home,
            concurrency=concurrency,
            cache=False if no_cache else None,
            max_cost_usd=max_cost,
            time_limit_s=time_limit,
            record=record,
        )
        try:
            return _run(asked, settings, None, looks)
        except NothingSelected as error:
            if not promptfoo_exit_codes or fail_on_empty:
                raise
            tell(_safe(str(error)))
            return 0


@contextlib.contextmanager
def _home(no_write: bool) -> Iterator[Path | None]:
    """Where the run is kept: as always, or in a folder that is gone afterwards."""
    if not no_write:
        yield None
        return
    import tempfile  # noqa: PLC0415 (seldom)

    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        yield Path(folder)


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
    verbose: bool,
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
    looks = _Looks(as_json, verbose, not no_table, not no_progress, exit_zero, promptfoo_exit_codes)
    return _again(run, looks, concurrency, max_cost, time_limit, no_cache=no_cache)


@click.command(short_help="Redo the trials in error of a run. Nothing is paid for twice unasked.")
@click.argument("run", required=False, metavar="[RUN]")
@_spending
@_looks
def retry(
    run: str | None,
    concurrency: int | None,
    max_cost: float | None,
    no_cache: bool,
    time_limit: float | None,
    as_json: bool,
    verbose: bool,
    no_table: bool,
    no_progress: bool,
    exit_zero: bool,
    promptfoo_exit_codes: bool,
) -> int:
    """Redo the trials in error of RUN (an id, the start of one, or a file; by default the latest), in its own file.

    All else stays as it is, and replies that were received are not asked for again: not those that a judge gave no
    verdict in, either. With --no-cache they are, all that these trials ask, and are paid for again. Where no trial is
    in error, nothing is run.
    """
    looks = _Looks(as_json, verbose, not no_table, not no_progress, exit_zero, promptfoo_exit_codes)
    return _retried(run, looks, concurrency, max_cost, time_limit, no_cache=no_cache)


def _retried(
    run: str | None,
    looks: _Looks,
    concurrency: int | None,
    max_cost: float | None,
    time_limit: float | None,
    *,
    no_cache: bool,
) -> int:
    from evenhand.cli.show import print_run  # noqa: PLC0415 (once it is known what is asked)
    from evenhand.core.run import verdict  # noqa: PLC0415 (see above)
    from evenhand.store.catalogue import find  # noqa: PLC0415 (see above)
    from evenhand.store.runfile import RunFile  # noqa: PLC0415 (see above)

    file = find(Path.cwd(), run)
    with RunFile.open(file) as earlier:
        meta, totals = earlier.meta, earlier.totals()
        if not totals.errors and meta.status == "finished":
            tell(f"no trial of run {meta.id} is in error: there is nothing to redo")
            print_run(earlier, as_json=looks.as_json, table=looks.table)
            return _exit_code(verdict(totals, meta.planned, meta.pass_rate), meta.status, 0, looks)
    return _again(
        str(file), looks, concurrency, max_cost, time_limit, no_cache=no_cache, anew=no_cache
    )


def _again(
    run: str | None,
    looks: _Looks,
    concurrency: int | None,
    max_cost: float | None,
    time_limit: float | None,
    *,
    no_cache: bool,
    anew: bool = False,
) -> int:
    """Goes on with an earlier run, as it was started but for what is said now."""
    from evenhand.cli.asked import Asked  # noqa: PLC0415 (imported once it is known what is asked)
    from evenhand.engine.door import Settings  # noqa: PLC0415 (see above)
    from evenhand.store.catalogue import find  # noqa: PLC0415 (see above)
    from evenhand.store.runfile import RunFile  # noqa: PLC0415 (see above)

    file = find(Path.cwd(), run)
    with RunFile.open(file) as earlier:
        meta = earlier.meta
    record = meta.settings
    if "asked" not in record:
        raise UsageError(
            f"run {meta.id} cannot be resumed: what it was made from is not known",
            hint="Ask again as before: `evenhand dataset` goes on from there, as does score_batch(…, resume=True).",
        )
    settings = Settings(
        concurrency=concurrency or record["concurrency"],
        cache=False if no_cache or not record["cache"] else None,
        max_cost_usd=record["max_cost_usd"] if max_cost is None else max_cost,
        time_limit_s=time_limit or record["time_limit_s"],
        anew=anew,
        record=record,
    )
    return _run(Asked.again(record), settings, file, looks)


@dataclass(frozen=True, slots=True)
class _Looks:
    """What is printed, and how it exits."""

    as_json: bool
    verbose: bool
    table: bool
    progress: bool
    exit_zero: bool
    promptfoo_exit_codes: bool
    outputs: tuple[str, ...] = ()


def _run(asked: Asked, settings: Settings, file: Path | None, looks: _Looks) -> int:
    from evenhand.cli.exits import USAGE  # noqa: PLC0415 (see above)

    offline = offline_answers(asked.folder) if asked.offline else contextlib.nullcontext()
    with offline, using_definitions(asked.definitions or OURS):
        plan, broken = asked.plan()
        for problem in broken:
            tell(_safe(str(problem)))
        settings = replace(settings, free=asked.offline)
        finished = _settle(plan, settings, file, looks, replayed=asked.offline)
    code = _report(finished, plan, looks)
    for line in asked.told(plan):
        tell(_safe(line))
    return code or (USAGE if broken else code)


def _safe(text: str) -> str:
    from evenhand.report.words import safe  # noqa: PLC0415 (seldom)

    return safe(text, multiline=True)


@contextlib.contextmanager
def offline_answers(folder: Path) -> Iterator[None]:
    """Inside, the vendors' addresses lead to a server of our own that answers from the folder's offline.jsonl."""
    from evenhand.testing import FakeProvider, Script  # noqa: PLC0415 (only for --offline)

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
    plan: Plan, settings: Settings, file: Path | None, looks: _Looks, *, replayed: bool
) -> Finished:
    from evenhand.engine import door  # noqa: PLC0415 (imported once it is known what is asked)
    from evenhand.report.console import heading, problem_lines  # noqa: PLC0415 (see above)

    for line in problem_lines(plan.hints):
        tell(line)
    progress = _progress(looks.progress)
    if progress is not None:
        progress.start(heading(plan) + (" · replies replayed, no key needed" if replayed else ""))
    try:
        with set_apart() as stdout:
            out = sys.stderr if looks.as_json else stdout
            return door.run(
                plan,
                settings,
                resume=file,
                progress=progress.update if progress else None,
                note=progress.note if progress else _note,
                resumed=_resumed,
                tell=_teller(plan, out, progress) if looks.verbose else None,
            )
    finally:
        if progress is not None:
            progress.stop()


def _progress(wanted: bool) -> Progress | None:
    if not wanted:
        return None
    from evenhand.report.progress import Progress  # noqa: PLC0415 (not wanted by those who want none)

    return Progress(sys.stderr, sys.stderr.isatty())


def _teller(plan: Plan, out: TextIO, progress: Progress | None) -> Callable[[TrialResult], None]:
    """Prints each trial whole, above the line that says how far the run is."""
    from evenhand.cli.show import verbose_for  # noqa: PLC0415 (only for -v)
    from evenhand.report.words import put_quietly  # noqa: PLC0415 (see above)

    verbose = verbose_for(out, plan.variants, plan.repeats)

    def tell(trial: TrialResult) -> None:
        if progress is not None:
            progress.make_way()
        put_quietly(out, verbose.text(trial))

    return tell


def _resumed(in_doubt: Sequence[CallRecord], last_words: Sequence[str]) -> None:
    """Said before anything is run: the same code may end this session as well."""
    from evenhand.report.console import doubt_lines  # noqa: PLC0415 (seldom)

    for line in doubt_lines(in_doubt, last_words):
        tell(line)


def _note(text: str) -> None:
    from evenhand.report.words import safe  # noqa: PLC0415 (seldom)

    tell(f"evenhand: {safe(text)}")


def _write(run_file: RunFile, outputs: Sequence[str]) -> None:
    """Writes the results to files, each in the format that its ending says."""
    from evenhand.cli.show import written  # noqa: PLC0415 (seldom)

    for name in outputs:
        to = Path(name)
        to.parent.mkdir(parents=True, exist_ok=True)
        written(run_file, to)


def _report(finished: Finished, plan: Plan, looks: _Looks) -> int:
    from evenhand.cli.show import print_run  # noqa: PLC0415 (imported once there is something to show)
    from evenhand.core.run import verdict  # noqa: PLC0415 (see above)
    from evenhand.store.runfile import RunFile  # noqa: PLC0415 (see above)

    # On a terminal the progress line has said it already.
    said = sys.stdout.isatty() and sys.stderr.isatty() and looks.progress
    with RunFile.open(finished.path) as run_file:
        totals = run_file.totals()
        print_run(run_file, as_json=looks.as_json, table=looks.table, with_heading=not said)
        _write(run_file, (*looks.outputs, *plan.options.outputs))
    ending = finished.ending
    word = verdict(totals, plan.size, plan.options.pass_rate)
    return _exit_code(word, ending.status, ending.signal, looks)


def _exit_code(word: VerdictWord, status: RunStatus, signal: int, looks: _Looks) -> int:
    return code_for(
        word,
        status,
        signal,
        promptfoo=looks.promptfoo_exit_codes,
        failures_are_fine=looks.exit_zero,
        failed=failed_code(os.environ),
    )
