"""`evenhand import`: runs that promptfoo recorded."""

from __future__ import annotations

from pathlib import Path

import click

from evenhand.cli.streams import tell


@click.command(name="import", short_help="Import promptfoo results as a run.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def import_(file: Path) -> int:
    """Make a run of FILE, a JSON file of promptfoo's results (version 3), or of Evenhand's export of one.

    It is shown and exported like any other run, and keeps its id: it is not imported twice.
    """
    from evenhand.cli.show import print_run  # noqa: PLC0415 (once it is known what is asked)
    from evenhand.engine.door import waited_for  # noqa: PLC0415 (see above)
    from evenhand.report.promptfoo_results.reading import read_results  # noqa: PLC0415 (see above)
    from evenhand.store.catalogue import called, files, newest_first  # noqa: PLC0415 (see above)
    from evenhand.store.keeping import keep_run  # noqa: PLC0415 (see above)
    from evenhand.store.labels import append_labels  # noqa: PLC0415 (see above)
    from evenhand.store.runfile import RunFile  # noqa: PLC0415 (see above)

    recorded = read_results(file)
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
