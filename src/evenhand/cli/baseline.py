"""`evenhand baseline`: one or several runs that you accept, as a file that later runs are compared with."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.options import file_option, flag, number_option, text_option
from evenhand.cli.replaying import AGE
from evenhand.cli.streams import tell
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.ranges import REPEATS

if TYPE_CHECKING:
    from evenhand.analysis.gates.baseline import Baseline
    from evenhand.core.run import RunMeta
    from evenhand.store.runfile import RunFile

COMPARED = 20_000
"""Of more trials it isn't tried what a gate would say of equal results."""
NAMED = 3
"""So many results are named that a gate would leave undecided."""


@click.command(short_help="Write one or several runs as a baseline that `gate` compares with.")
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=complete_runs)
@file_option(
    "--to",
    required=True,
    metavar="FILE",
    help="Where to write it; an earlier baseline there is replaced.",
)
@number_option(
    "--of",
    "number",
    within=REPEATS,
    metavar="N",
    help="Make it of the run and of the N - 1 runs of the same config or set before it.",
)
@text_option(
    "--run-tag", "tag", metavar="NAME", help="With --of or --since: only runs with this tag."
)
@click.option(
    "--since",
    type=AGE,
    metavar="AGE",
    help="Make it of the run and of those of the same config or set before it that are no older: 30d, 12h, 2w.",
)
@flag("--outputs", help="Also write the outputs of the newest run.")
def baseline(
    runs: tuple[str, ...],
    to: Path,
    number: float | None,
    tag: str,
    since: float | None,
    outputs: bool,
) -> int:
    """Write RUN to a small text file: each trial's outcomes, and hashes of its requests. Default: the latest run.

    Of several runs the newest is what later runs are compared with. Earlier runs of the same system are repeats of it,
    and make a verdict take fewer calls. Runs of other systems say how hard each case is: that predicts the cases that
    `gate --sample` does not run.

    Commit the file. `evenhand gate` compares the evals with it, and says whether they became worse.
    """
    from evenhand.analysis.gates.baseline_file import read_baseline, write_baseline
    from evenhand.analysis.gates.gate_rule import (
        MARGINS,
        STEADY,
        VARYING,
        fewest_cases,
        least_margin,
    )
    from evenhand.analysis.gates.pooled_baseline import pooled_baseline
    from evenhand.core.wording.words import count, safe
    from evenhand.render.command_words import typed_for
    from evenhand.render.own_files import look_for_folder
    from evenhand.store.runfile import RunFile

    look_for_folder(to.parent, "--to")
    newest, earlier = _files(runs, number, tag, since)
    with RunFile.open(newest) as run_file:
        _look_at_kind(run_file.meta)
        pool = pooled_baseline(run_file, _opened(earlier), outputs=outputs)
        errors = run_file.totals().errors
        same, part = typed_for(run_file.meta), run_file.meta.sharded
        write_baseline(pool.data, to)
        written = read_baseline(to)
        header = written.header
        units, unit = _units(run_file, header.cases)
        margin = least_margin(units)
        # Errors, and what runs differ by, would leave results undecided for another reason.
        alike = not errors and not pool.pooled and header.trials <= COMPARED
        decided, undecided = _equal_results(written, run_file, margin) if alike else ([], [])
    parts = [count(header.cases, "case"), count(header.trials, "trial")]
    if pool.pooled:
        of = "of one system" if pool.recorded else "that are taken for one system"
        parts.append(f"{count(pool.pooled + 1, 'run')} {of}")
    if pool.systems:
        parts.append(f"{count(pool.systems, 'earlier system')}")
    tell(f"written to {safe(str(to))}: {', '.join(parts)}; commit it")
    for note in pool.notes:
        tell(note)
    if part is not None:
        tell(
            f"it is shard {part.shard} alone, of {count(part.cases, 'case')}: merge the shards, and take all of them"
        )
    if errors:
        tell(f"{count(errors, 'trial')} in error: these may have come out either way in each gate")
    if header.offline:
        tell("its replies are scripted (--offline): it is not a baseline for what models answer")
    if margin > MARGINS[0]:
        few = f"with {units:,}, even equal results of trials that run again are undecided"
        tell(f"a margin of {MARGINS[0]:g} needs {fewest_cases(MARGINS[0])} {unit}s or more: {few}")
    chosen = ""
    if undecided:
        more = f" and {len(undecided) - NAMED} more" if len(undecided) > NAMED else ""
        named = ", ".join(map(safe, undecided[:NAMED]))
        tell(
            f"at a margin of {margin:g}, equal results of trials that run again are undecided in {named}{more}"
        )
        chosen = "".join(f" --metric {shlex.quote(safe(metric))}" for metric in decided)
        chosen = chosen or " --undecided pass"
    tell(
        f"a margin of {margin:g} with {count(units, unit)} is for {STEADY}; for {VARYING},"
        " evenhand info power says how many it takes"
    )
    to_compare = f"--baseline {shlex.quote(safe(str(to)))} --margin {margin:g}"
    tell(f"next: evenhand gate{same} {to_compare}{chosen}")
    return 0


def _look_at_kind(meta: RunMeta) -> None:
    """That a gate could run such a run again.

    Raises:
        UsageError: It is of judges alone, or a session of pytest.
    """
    from evenhand.core.judge_checks import refuse_judge_check
    from evenhand.core.run import is_of_pytest

    refuse_judge_check(meta)
    if is_of_pytest(meta.title, meta.variants):
        raise UsageError(
            f"run {meta.id} is a session of pytest, which `evenhand gate` can't run",
            hint="Let the exit code of pytest decide, with `repeats(…, at_least=…)` for tests that may fail now and "
            "then; or compare sessions: evenhand compare latest~1 latest.",
        )


def _units(run: RunFile, cases: int) -> tuple[int, str]:
    """How many cases a gate of a run counts, or clusters where those are fewer in some variant; and what they are."""
    from evenhand.analysis.summaries.clusters import clusters_among

    sums, groups = run.sums(), run.groups(copies=True)
    columns = [(sums.of_column(one.index), groups[one.index]) for one in run.meta.variants]
    together = [clusters_among(column, own) for column, own in columns if own]
    return min([(cases, "case"), *((units, "cluster") for units in together)])


def _equal_results(baseline: Baseline, run: RunFile, margin: float) -> tuple[list[str], list[str]]:
    """The metrics of which a gate would decide equal results, and the results that it would leave undecided."""
    from evenhand.analysis.gates.gate_verdict import gate

    results = gate(baseline, run, margin).results
    several = len({result.variant for result in results}) > 1
    metrics = {result.metric: True for result in results}
    undecided: list[str] = []
    for result in results:
        if result.verdict == "undecided":
            metrics[result.metric] = False
            undecided.append(f"{result.variant} · {result.metric}" if several else result.metric)
    return [metric for metric, holds in metrics.items() if holds], undecided


def _files(
    runs: Sequence[str], number: float | None, tag: str, since: float | None
) -> tuple[Path, list[Path]]:
    """The newest of the runs that are meant, and the others, the newest first."""
    from evenhand.core.wording.words import count, safe, short_id
    from evenhand.store.run_lookup import find, id_of, newest_first

    several = number is not None or since is not None
    if tag and not several:
        raise UsageError(
            "--run-tag goes with --of or --since", hint="Say how many runs, or how old they may be."
        )
    if len(runs) > 1:
        if several:
            raise UsageError(
                "several runs are named, and --of or --since would look for others",
                hint="Name the runs, or one of them with --of or --since.",
            )
        paths = [find(Path.cwd(), run) for run in runs]
        ids = list(map(id_of, paths))
        if twice := [run for run in ids if ids.count(run) > 1]:
            raise UsageError(
                f"run {short_id(twice[0])} is named twice: it is one run, and no second draw",
                hint="Name each run once; a copy of its file is the same run.",
            )
        newest, *earlier = newest_first(paths)
        return newest, earlier
    if not several:
        return find(Path.cwd(), runs[0] if runs else None), []
    newest = find(Path.cwd(), runs[0]) if runs else _latest_whole()
    oldest = 0.0 if since is None else time.time() - since
    most = None if number is None else int(number)
    earlier = list(_before(newest, tag, oldest, None if most is None else most - 1))
    if most is not None and len(earlier) < most - 1:
        tagged = f" with the tag {safe(tag)!r}" if tag else ""
        number_of = count(len(earlier) + 1, "run")
        are = "are" if earlier else "is"
        tell(
            f"--of {most}: there {are} only {number_of} of this config or set{tagged}; runs of a part of its evals,"
            " or of more, don't count"
        )
    return newest, earlier


def _is_whole(run: RunFile) -> bool:
    """Whether a run of evals came to its end, and asked for itself: what a baseline may be made of."""
    meta = run.meta
    if not meta.is_of_evals or meta.status != "finished" or "replay" in meta.settings:
        return False
    if meta.sharded is not None:
        return False
    return not any(trial.taken for trial in run.trials())


def _latest_whole() -> Path:
    """The newest run of evals that came to its end; the latest where there is none, which says why not."""
    from evenhand.store.run_lookup import files, find, newest_first
    from evenhand.store.runfile import RunFile

    for path in newest_first(files(Path.cwd())):
        with contextlib.suppress(StoreError), RunFile.open(path) as run:
            if _is_whole(run):
                return path
    return find(Path.cwd(), None)


def _before(newest: Path, tag: str, oldest: float, most: int | None) -> Iterator[Path]:
    """The runs of the same config or set before a run, the newest first."""
    from evenhand.store.run_lookup import files, newest_first
    from evenhand.store.runfile import RunFile

    with RunFile.open(newest) as run:
        what, own = _of_what(run), run.meta.id
        ids = {own}
    left = most
    for path in newest_first(files(Path.cwd())):
        if left is not None and left <= 0:
            return
        with contextlib.suppress(StoreError), RunFile.open(path) as run:
            meta = run.meta
            same = _of_what(run) == what
            if (
                not same
                or meta.id in ids
                or not _is_whole(run)
                # Ids are in the order in which runs were made, also where a clock was set back.
                or not (meta.id < own and oldest <= meta.created_at)
                or (tag and tag not in run.remarks.tags)
            ):
                continue
            # A run can be in two homes: pulled from elsewhere, say.
            ids.add(meta.id)
            left = None if left is None else left - 1
            yield path


def _of_what(run: RunFile) -> tuple[str, str]:
    """The source that a run was made from, and its eval set, or its title where it was made in code."""
    from evenhand.core.variant import only_set

    source = run.meta.source
    return source, only_set(run.meta.variants) if source else run.plan_title


def _opened(paths: Sequence[Path]) -> Iterator[RunFile]:
    """The runs, opened one at a time."""
    from evenhand.store.runfile import RunFile

    for path in paths:
        with RunFile.open(path) as run:
            yield run
