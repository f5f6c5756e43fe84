"""`evenhand import`: runs that other tools recorded."""

from __future__ import annotations

from pathlib import Path

import click

from evenhand.cli.streams import tell


@click.command(name="import", short_help="Import another tool's results as a run.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--from",
    "importer",
    default="promptfoo",
    show_default=True,
    metavar="NAME",
    help="The tool that wrote FILE: promptfoo, or the name of an importer that an installed package adds.",
)
def import_(file: Path, importer: str) -> int:
    """Make a run from FILE, the results of another tool.

    By default, FILE is a JSON file of promptfoo's results (version 3), as promptfoo or `evenhand export` writes it.
    The run can be shown, compared and exported like any other. The same results aren't imported twice.
    """
    from evenhand.cli.show import print_run
    from evenhand.engine.door import waited_for
    from evenhand.report.importers import read_run
    from evenhand.store.catalogue import called, files, newest_first
    from evenhand.store.keeping import keep_run
    from evenhand.store.labels import append_labels
    from evenhand.store.runfile import RunFile

    recorded = read_run(file, importer)
    path = waited_for(keep_run(Path.cwd(), recorded.meta, recorded.trials()))
    if labels := list(recorded.labels()):
        append_labels(path, labels)
    with RunFile.open(path) as run:
        print_run(run, as_json=False, table=True)
    tell(f"imported as {recorded.meta.id}")
    known = newest_first(files(Path.cwd()))
    if known and known[0] != path:
        short = called(Path.cwd(), path)
        tell(
            f"There are newer runs: without an id, commands take the newest. This one: evenhand show {short}"
        )
    return 0
