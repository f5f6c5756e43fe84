"""`evenhand info power`: how many cases, repeats or labels a question takes."""

from __future__ import annotations

from pathlib import Path

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.options import flag, number_option
from evenhand.cli.streams import say_json, say_lines
from evenhand.core.ranges import Range

SHARE = Range(0, 1)
SIZE = Range(0.001, 0.999)
JUDGED = Range(1, 10**9, whole=True)


@click.command(short_help="Say how many cases, repeats or labels you need.")
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=complete_runs)
@number_option(
    "--rate", within=SHARE, metavar="P", help="The pass rate you expect, instead of a RUN's."
)
@number_option(
    "--difference",
    within=SIZE,
    default=0.05,
    show_default=True,
    metavar="D",
    help="The difference of two pass rates to show; 0.05 is 5 points.",
)
@number_option(
    "--differing",
    within=SHARE,
    metavar="S",
    help="The share of cases on which the two disagree.  [default: as in RUN, or for two that are half alike]",
)
@number_option(
    "--half-width",
    within=SIZE,
    default=0.05,
    show_default=True,
    metavar="H",
    help="How far a corrected pass rate may be off.",
)
@number_option(
    "--rho2",
    within=SHARE,
    metavar="R",
    help="The share of labels that the judge replaces; needs --rate.",
)
@number_option(
    "--judged", within=JUDGED, metavar="N", help="How many outputs the judge judges; needs --rate."
)
@click.option(
    "--baseline",
    metavar="FILE",
    help="Say how many cases a gate has to run against this baseline, with --difference as its margin.",
)
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def power(
    runs: tuple[str, ...],
    rate: float | None,
    difference: float,
    differing: float | None,
    half_width: float,
    rho2: float | None,
    judged: int | None,
    baseline: str | None,
    as_json: bool,
) -> int:
    """Say how many cases show a difference, what repeats save, and how many labels a judge needs.

    From RUN, a run that was made before (default: the latest), or from numbers: --rate 0.8. Power is 80 %, confidence
    95 %. With RUN, labels are counted for each of its judges; with numbers, for a judge with --rho2. Further runs say
    how much the judge varies (if they judge the outputs of the first again), or the wording (if they word the prompt or
    the judge's prompt otherwise).
    """
    from contextlib import ExitStack

    from msgspec.structs import replace

    from evenhand.analysis.estimates.several_runs import pilot_of_runs
    from evenhand.analysis.gates.baseline_file import read_baseline
    from evenhand.analysis.gates.sample_size import sample_size
    from evenhand.analysis.trust.power import JudgeWorth, Pilot, Power
    from evenhand.core.errors import UsageError
    from evenhand.render.power_text import lines
    from evenhand.store.run_lookup import find
    from evenhand.store.runfile import RunFile

    if rate is not None and runs:
        raise UsageError(
            "--rate can't be combined with a RUN", hint="A run has a pass rate of its own."
        )
    if rate is not None and baseline is not None:
        raise UsageError(
            "--rate can't be combined with --baseline", hint="Name a run of what the gate runs."
        )
    if differing is not None and differing < difference:
        raise UsageError(
            f"--differing {differing:g} is less than the difference, {difference:g}",
            hint="Two pass rates differ by no more than the share of cases on which they disagree.",
        )
    if rate is not None:
        pilot = Pilot(rate=rate, differing=differing, judges=[JudgeWorth("", rate, rho2, judged)])
    else:
        if rho2 is not None or judged is not None:
            raise UsageError(
                "--rho2 and --judged need --rate", hint="A run has numbers of its own."
            )
        with ExitStack() as stack:
            paths = [find(Path.cwd(), run) for run in runs or (None,)]
            files = [stack.enter_context(RunFile.open(path)) for path in paths]
            pilot = pilot_of_runs(files)
            if baseline is not None:
                sample = sample_size(read_baseline(Path(baseline)), files[0], difference)
                pilot = replace(pilot, sample=sample)
        if differing is not None:
            pilot = replace(pilot, differing=differing, alike=None, alike_range=None, pair=None)
    if difference > max(pilot.rate, 1 - pilot.rate) + 1e-9:
        raise UsageError(
            f"no pass rate differs from {pilot.rate:g} by {difference:g}",
            hint=f"Write --difference {max(pilot.rate, 1 - pilot.rate):g}, or less.",
        )
    answers = Power(pilot, difference, half_width)
    if as_json:
        say_json(answers.document())
        return 0
    say_lines(lines(answers))
    return 0
