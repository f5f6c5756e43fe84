"""`evenhand calibrate`: whether a run's judges can be trusted, and whether another one would be better."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.options import file_option, flag, number_option, repeatable
from evenhand.cli.session import Session, spending_options
from evenhand.cli.streams import say_json, say_lines, tell
from evenhand.cli.trusting import look_at_origin, trust_option
from evenhand.core.errors import UsageError
from evenhand.core.ranges import Range

if TYPE_CHECKING:
    from evenhand.analysis.trust.calibration import Calibration
    from evenhand.store.runfile import RunFile

RISK = Range(0.001, 0.999)
SEED = Range(0, 2**53, whole=True)


@click.command(short_help="Compare a run's judges with people's labels.")
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_runs)
@flag("--json", "as_json", help="Print one JSON document to stdout.")
@file_option(
    "--to",
    help="Where to write calibration.json; one there is replaced.  [default: beside the run's config]",
)
@flag("--no-write", help="Don't write calibration.json.")
@number_option(
    "--accept-risk",
    within=RISK,
    metavar="R",
    help="Say which verdicts can stand if at most this share of them may be wrong; 0.1 is 10 %.",
)
@repeatable(
    "--try",
    "tried",
    metavar="FILE|KEY=VALUE",
    help="Try variants of the judge on the labelled outputs: a YAML file of them, or one, such as"
    " model=openai:gpt-5-mini, repeats=3 or criteria='…'. May be repeated.",
)
@repeatable(
    "--metric",
    "metrics",
    metavar="NAME",
    help="With --try: only the judges of this metric; may be repeated.",
)
@number_option(
    "--seed",
    within=SEED,
    metavar="N",
    help="With --try: the seed that divides the labels into halves.  [default: 0]",
)
@flag("--dry-run", help="With --try: estimate calls and cost, send nothing.")
@flag("--offline", help="With --try: answer from the folder's offline.jsonl.")
@trust_option
@spending_options
@flag("--no-progress", help="Don't print progress.")
def calibrate(
    run: str | None,
    as_json: bool,
    to: Path | None,
    no_write: bool,
    accept_risk: float | None,
    **options: Any,
) -> int:
    """Say for each judge in RUN whether it can be trusted, and correct its numbers.

    Needs labels of a random draw (`evenhand label`); with fewer than 30 there is no verdict. Writes calibration.json,
    which later runs read: commit it. It holds until the judge, its prompt, the system, the data, its clusters or the
    rule change.
    Judges in it that this run has no verdict on stay as they are.

    With --try it asks variants of the judge about the labelled outputs instead, and says whether one of them agrees
    with people more often. It writes nothing beside the run; with the id of such a tryout it prints or continues it.
    """
    from evenhand.cli.study import run_or_folder
    from evenhand.core.judge_checks import is_tryout, refuse_judge_check
    from evenhand.store.runfile import RunFile

    path = run_or_folder(run)
    with RunFile.open(path) as run_file:
        meta = run_file.meta
    tried = tuple(dict.fromkeys(options.pop("tried")))
    if tried or is_tryout(meta):
        if to is not None or no_write or accept_risk is not None:
            raise UsageError(
                "--to, --no-write and --accept-risk have no effect here",
                hint="They are for calibrations, and this run is a tryout.",
            )
        return _tryout(path, tried, **options, as_json=as_json)
    refuse_judge_check(meta)
    for name, value in options.items():
        if value and name != "no_progress":
            raise UsageError(
                f"--{'metric' if name == 'metrics' else name.replace('_', '-')} has no effect here",
                hint="It goes with --try.",
            )
    return _calibrated(path, as_json, to, no_write, accept_risk)


def _tryout(
    path: Path,
    tried: tuple[str, ...],
    *,
    metrics: tuple[str, ...],
    seed: float | None,
    dry_run: bool,
    offline: bool,
    **options: Any,
) -> int:
    """Tries variants, or goes on with that."""
    from evenhand.core.judge_checks import is_tryout, refuse_judge_check
    from evenhand.store.runfile import RunFile
    from evenhand.wings.judge_checks.commands.tryout import (
        TryoutRequest,
        continue_tryout,
        try_variants,
    )

    session = Session.of(options)
    with RunFile.open(path) as run_file:
        meta = run_file.meta
    if is_tryout(meta):
        if tried or metrics or seed is not None or dry_run:
            raise UsageError(
                f"run {meta.id} is a tryout, whose variants, metrics and halves can't be changed",
                hint="Name the run whose judges it tried to start another one.",
            )
        return continue_tryout(meta, path, session)
    refuse_judge_check(meta)
    if dry_run and session.as_json:
        raise UsageError("--dry-run prints no document", hint="Leave --json out.")
    look_at_origin(meta, trust=session.trust)
    request = TryoutRequest.of(
        meta,
        path,
        offline=offline,
        tried=tried,
        base=str(Path.cwd()),
        seed=int(seed or 0),
        metrics=metrics,
    )
    return try_variants(request, session, dry_run=dry_run)


def _calibrated(
    file: Path,
    as_json: bool,
    to: Path | None,
    no_write: bool,
    accept_risk: float | None,
) -> int:
    """Prints a calibration, and writes it."""
    from evenhand.analysis.trust.calibration import calibrate as calibrated
    from evenhand.analysis.trust.calibration_file import (
        calibrated_before,
        check_place,
        has_usable_judge,
        place_of,
        update_calibration,
        write_calibration,
    )
    from evenhand.analysis.trust.selective import selective_verdicts
    from evenhand.core.wording.words import near, safe, short_id
    from evenhand.render.calibration_text import calibration_lines
    from evenhand.store.runfile import RunFile

    with RunFile.open(file) as run_file:
        calibration = calibrated(run_file)
        meta = run_file.meta
        path = None if no_write else to or place_of(meta)
        selective = {} if accept_risk is None else selective_verdicts(run_file, accept_risk)
        following = _following(run_file, calibration)
    labelled = calibration.labelled
    if path is not None and labelled:
        written, remaining = True, []
        if to is None:
            check_place(file, path, "--to")
            written, remaining = update_calibration(calibration, path)
        else:
            write_calibration(calibration, path)
        if written:
            tell(
                f"written to {near(path)}; commit it, and later runs are corrected with it"
                if has_usable_judge(path)
                else f"written to {near(path)}; no judge in it can be used yet, so with --calibrated required,"
                " a run has no verdict"
            )
        if remaining:
            tell(
                f"{'kept there' if written else f'{near(path)} is kept'}, as this run has no verdict that could replace"
                f" it: {safe(', '.join(remaining))}\n  --to {near(path)} writes this run's calibration all the same"
            )
    elif before := calibrated_before(calibration, place_of(meta)):
        tell(f"calibrated before, in {near(place_of(meta))}: {safe(', '.join(before))}")
    if as_json:
        decided = {key: verdicts.row() for key, verdicts in selective.items()}
        say_json(calibration.document(decided or None))
    else:
        heading = f"run {short_id(meta.id)} · {safe(meta.title)}"
        say_lines([heading, "", *calibration_lines(calibration, selective)])
    for line in following:
        tell(line)
    return 0


def _following(run: RunFile, calibration: Calibration) -> list[str]:
    """What to do where labels are missing: which run has them, whether cases are too few, and what to label."""
    from evenhand.analysis.trust.calibrated import judged_rates
    from evenhand.analysis.trust.labels.what_next import (
        labelled_run,
        labels_can_suffice,
        next_labels,
        too_few,
    )
    from evenhand.analysis.trust.trust_rules import FEWEST, ONE_METRIC
    from evenhand.render.command_words import typed_for

    labels = [judge.verdicts.labels for judge in calibration.judges]
    labels += [len(ranking.labels.pairs) for ranking in calibration.rankings]
    if not labels or max(labels) >= FEWEST:
        return []
    rates = judged_rates(run)
    if rates and all(one.trusted for one in rates):
        return []  # it is corrected already, by labels of another run
    lines: list[str] = []
    other = labelled_run(run)
    if other is not None:
        verb = "calibrate" if other.labels else "label"
        here = f", or to have them count here, too: {other.command}" if other.command else ""
        lines.append(f"! run {other.name} has {other.words}: evenhand {verb} {other.name}{here}")
    if few := too_few(run) if calibration.judges else "":
        lines.append(f"! {few}")
    if other is not None:
        return lines
    if few and not calibration.rankings and not labels_can_suffice(run):
        # Metrics of one case each become one first, which the line above says.
        again = typed_for(run.meta, "--first", "--sample", "--filter-range")
        more = [] if ONE_METRIC in few else [f"next: add cases, then evenhand run{again}"]
        return [*lines, *more]
    if command := next_labels(run):
        lines.append(f"next: {command}")
    return lines
