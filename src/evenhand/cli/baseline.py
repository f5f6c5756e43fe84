"""`evenhand baseline`: a run that you accept, as a small file that later runs are compared with."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.streams import tell


@click.command(short_help="Write a run as a baseline that `gate` compares with.")
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_runs)
@click.option(
    "--to",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write it; an earlier baseline there is replaced.",
)
@click.option("--outputs", is_flag=True, help="Also write the outputs.")
def baseline(run: str | None, to: Path, outputs: bool) -> int:
    """Write RUN to a small text file: each trial's outcomes, and hashes of its requests. Default: the latest run.

    Commit the file. `evenhand gate` compares the evals with it, and says whether they became worse.
    """
    from evenhand.analysis.gates.baseline_file import read_baseline, write_baseline
    from evenhand.analysis.gates.baseline_making import baseline_of
    from evenhand.core.judge_checks import refuse_judge_check
    from evenhand.core.wording.words import count, safe
    from evenhand.render.command_words import typed_for
    from evenhand.render.own_files import look_for_folder
    from evenhand.store.catalogue import find
    from evenhand.store.runfile import RunFile

    look_for_folder(to.parent, "--to")
    with RunFile.open(find(Path.cwd(), run)) as run_file:
        refuse_judge_check(run_file.meta)
        data = baseline_of(run_file, outputs=outputs)
        errors = run_file.totals().errors
        same = typed_for(run_file.meta)
    write_baseline(data, to)
    header = read_baseline(to).header
    tell(
        f"written to {safe(str(to))}: {count(header.cases, 'case')}, {count(header.trials, 'trial')}; commit it"
    )
    if errors:
        tell(f"{count(errors, 'trial')} in error: these may have come out either way in each gate")
    if header.offline:
        tell("its replies are scripted (--offline): it is no baseline for what models answer")
    tell(f"next: evenhand gate{same} --baseline {shlex.quote(safe(str(to)))} --margin 0.05")
    return 0
