"""`evenhand compare`: whether one run, or variant, is better than another on the same cases."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.exits import code_for_comparison
from evenhand.cli.options import flag, number_option, repeatable, text_option
from evenhand.cli.remote_run_names import RunName
from evenhand.cli.streams import printing, tell
from evenhand.core.ranges import MARGIN


@click.command(short_help="Compare two runs case by case.")
@click.argument("a", metavar="[A]", required=False, type=RunName(), shell_complete=complete_runs)
@click.argument("b", metavar="[B]", required=False, type=RunName(), shell_complete=complete_runs)
@repeatable(
    "--metric",
    "metrics",
    metavar="NAME",
    help="passed, score, latency, cost, a metric, or the label of an expectation; may be repeated.  "
    "[default: passed, and every metric that both have, except rankings]",
)
@number_option(
    "--margin",
    within=MARGIN,
    metavar="X",
    help="Accept B being worse by this much; 0.05 is 5 points of a pass rate.",
)
@text_option(
    "--cluster",
    metavar="KEY",
    help="Variable or metadata key of cases that belong together (clusters).  [default: as the eval set says]",
)
@repeatable("--lower", metavar="NAME", help="A metric where lower is better; may be repeated.")
@repeatable(
    "--earlier",
    metavar="RUN",
    type=RunName(),
    shell_complete=complete_runs,
    help="A run before A; may be repeated. Of the same system it counts as repeats of A, of another one it says how"
    " hard cases are.",
)
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def compare(
    a: str | None,
    b: str | None,
    metrics: tuple[str, ...],
    margin: float | None,
    cluster: str,
    lower: tuple[str, ...],
    earlier: tuple[str, ...],
    as_json: bool,
) -> int:
    """Compare B with A on the cases that both have: better, worse, no detectable difference, or undecided.

    A and B are runs (an id, the start of one, a file, `latest`, `latest~1` for the one before, or `REMOTE#RUN`),
    variants of a run (`RUN:VARIANT`), or variants of the latest run (`:VARIANT`). Variants of two runs are paired by
    eval, prompt and model.

    Without B, A is compared with the latest run; without both, the latest run with the newest one before it of the
    same config or eval set.

    Exits with 0 if B is not worse, 1 if it is worse, and 3 if the data don't decide it.
    """
    from evenhand.core.wording.words import put
    from evenhand.render.comparing import compare as compared

    b = b or "latest"
    if a is None:
        a = _before_latest()
    else:
        _tell_other_suite(a, b)
    comparison = compared(
        a, b, metric=metrics, margin=margin, cluster=cluster, lower=lower, earlier=earlier
    )
    with printing():
        if as_json:
            from evenhand.core.wording.json_text import writer
            from evenhand.render.comparison_document import json_parts

            write = writer(sys.stdout)
            for part in json_parts(comparison):
                write(part)
            write("\n")
        else:
            from evenhand.core.wording.ink import width_of
            from evenhand.core.wording.words import folded
            from evenhand.render.comparison import lines

            width = width_of(sys.stdout)
            sides = comparison.first, comparison.second
            head = folded(" → ".join(sides), width, "", "  ", names=sides)
            put(sys.stdout, "\n".join([*head, "", *lines(comparison, width)]) + "\n")
    return code_for_comparison(comparison.verdict)


def _before_latest() -> str:
    """The newest run of what the latest run is of, before it, as it is called in a command.

    Raises:
        UsageError: There is none.
    """
    from evenhand.core.errors import UsageError
    from evenhand.core.wording.words import safe
    from evenhand.store.run_lookup import called, find, run_before
    from evenhand.store.runfile import RunFile

    here = Path.cwd()
    latest = find(here, None)
    with RunFile.open(latest) as run:
        meta, title = run.meta, run.plan_title
        before = run_before(here, run)
    if before is not None:
        return called(here, before)
    variants = ", or compare its variants: evenhand compare :1 :2" if len(meta.variants) > 1 else ""
    raise UsageError(
        f"there is no run of {safe(title)} before the latest, {called(here, latest)}",
        hint=f"Run it again{variants}",
    )


def _tell_other_suite(a: str, b: str) -> None:
    """Says so where `latest~1` is a run of other evals than the run beside it, and which run may be meant."""
    from evenhand.core.wording.words import safe
    from evenhand.store.run_lookup import called, find, run_before, runs_back
    from evenhand.store.runfile import RunFile

    here = Path.cwd()
    refs = [name.partition(":")[0] for name in (a, b)]
    counted = [bool(ref) and bool(runs_back(ref)) for ref in refs]
    if not any(counted):
        return
    mine = counted.index(True)
    ref, other = refs[mine], refs[1 - mine] or "latest"
    with RunFile.open(find(here, ref)) as run, RunFile.open(find(here, other)) as beside:
        if run.plan_title == beside.plan_title:
            return
        title, before = safe(beside.plan_title), run_before(here, beside)
        tell(f"{ref} is a run of {safe(run.plan_title)}, and {other} is one of {title}")
    if before is None:
        tell(f"  There is no run of {title} before it; `evenhand runs list` lists all.")
    else:
        names = [called(here, before), other]
        tell(f"  next: evenhand compare {' '.join(names if mine == 0 else names[::-1])}")
