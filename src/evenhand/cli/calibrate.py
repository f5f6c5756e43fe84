"""`evenhand calibrate`: whether a run's judges can be trusted."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.numbers import Number
from evenhand.cli.streams import printing, tell
from evenhand.core.ranges import Range

RISK = Range(0.001, 0.999)


@click.command(short_help="Compare a run's judges with people's labels.")
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_runs)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
@click.option(
    "--to",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write calibration.json.  [default: beside the run's config]",
)
@click.option("--no-write", is_flag=True, help="Don't write calibration.json.")
@click.option(
    "--accept-risk",
    type=Number(RISK),
    metavar="R",
    help="Say which verdicts can stand if at most this share of them may be wrong; 0.1 is 10 %.",
)
def calibrate(
    run: str | None, as_json: bool, to: Path | None, no_write: bool, accept_risk: float | None
) -> int:
    """Say for each judge in RUN whether it can be trusted, and what its numbers come to once corrected.

    Needs labels of a random draw (`evenhand label`); with fewer than 30 there is no verdict. Writes calibration.json,
    which later runs read: commit it. It holds until the judge, its prompt, the system, the data or the rule changes.
    """
    from evenhand.report.calibrated import place_of, write_calibration
    from evenhand.report.calibration import calibrate as calibrated
    from evenhand.report.judge_checks import refuse_judge_check
    from evenhand.report.selective import selective_verdicts
    from evenhand.report.trust_lines import calibration_lines
    from evenhand.report.words import put
    from evenhand.store.catalogue import find
    from evenhand.store.runfile import RunFile

    with RunFile.open(find(Path.cwd(), run)) as run_file:
        refuse_judge_check(run_file.meta)
        calibration = calibrated(run_file)
        path = None if no_write else to or place_of(run_file.meta)
        selective = {} if accept_risk is None else selective_verdicts(run_file, accept_risk)
    labelled = any(judge.verdicts.labels for judge in calibration.judges)
    if path is not None and labelled:
        write_calibration(calibration, path)
        tell(f"written to {path}; commit it, and later runs are corrected with it")
    with printing():
        if as_json:
            from evenhand.report.document import json_text, writer

            decided = {key: verdicts.document() for key, verdicts in selective.items()}
            writer(sys.stdout)(json_text(calibration.document(decided or None)) + "\n")
        else:
            put(
                sys.stdout,
                "".join(f"{line}\n" for line in calibration_lines(calibration, selective)),
            )
            if not labelled and calibration.judges:
                tell("next: evenhand label --draw 60")
    return 0
