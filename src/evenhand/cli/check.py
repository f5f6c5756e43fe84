"""`evenhand check`: everything that can be known before anything is sent."""

from __future__ import annotations

import shlex

import click

from evenhand.cli.selecting import selecting
from evenhand.cli.streams import tell
from evenhand.core.errors import ConfigError


@click.command(short_help="Validate a folder, count its calls and price them. Sends nothing.")
@click.argument("paths", nargs=-1, metavar="[PATH[:LINE]]...")
@selecting
@click.option(
    "--strict-prompts", is_flag=True, help="Read prompt functions as `run --strict-prompts` does."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
def check(
    paths: tuple[str, ...],
    filter_: str,
    first: int | None,
    sample: int | None,
    seed: int,
    repeat: int | None,
    strict_prompts: bool,
    as_json: bool,
) -> int:
    """Validate PATHs, and say what a run would do and cost.

    PATH is a folder with a promptfooconfig.yaml or the file itself; or any number of eval files, a line of an eval
    after a colon, and folders of them. Without PATH, the folder you stand in. All problems are shown at once, each
    with its file, line and column. Nothing is sent.
    """
    from evenhand.cli.asked import Asked  # noqa: PLC0415 (once it is known what is asked)
    from evenhand.report.console import estimate_lines, estimate_row, problem_lines  # noqa: PLC0415 (see above)

    asked = Asked(paths or (".",), filter_, first, sample, seed, repeat, strict_prompts)
    plan, broken = asked.plan()
    if broken:
        raise ConfigError(broken)
    estimates = plan.estimate()
    if as_json:
        from evenhand.core.encoding import encode  # noqa: PLC0415 (see above)

        click.echo(encode(estimate_row(plan, estimates)).decode())
        return 0
    shown = "" if paths in ((), (".",)) else shlex.join(paths)
    for line in problem_lines(plan.hints, len(plan.hints)):
        tell(line)
    for line in estimate_lines(plan, estimates, shown):
        click.echo(line)
    return 0
