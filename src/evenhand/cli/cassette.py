"""`evenhand runs cassette`: what a run was answered, as a small file that later runs replay."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.options import file_option
from evenhand.cli.replaying import AGE
from evenhand.cli.streams import tell


@click.command(short_help="Write a run's answers to a file that `run --replay` takes.")
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_runs)
@file_option(
    "--to",
    required=True,
    metavar="FILE",
    help="Where to write it; an earlier cassette there is replaced.",
)
@click.option(
    "--max-age",
    type=AGE,
    metavar="AGE",
    help="Refuse to replay it when it is older: 30d, 12h, 2w.  [default: any age]",
)
def cassette(run: str | None, to: Path, max_age: int | None) -> int:
    """Write the requests and answers of RUN to a small text file, without secrets. Default: the latest run.

    Commit the file. `evenhand run PATH --replay FILE` answers every call from it, and sends nothing.
    """
    from evenhand.core.judge_checks import refuse_judge_check
    from evenhand.core.wording.words import count, safe
    from evenhand.render.command_words import typed_for
    from evenhand.render.own_files import look_for_folder
    from evenhand.store.cassette import is_of_models, scripted_over_models
    from evenhand.store.cassette_writing import cassette_of, write_cassette
    from evenhand.store.run_lookup import find
    from evenhand.store.runfile import RunFile

    look_for_folder(to.parent, "--to")
    with RunFile.open(find(Path.cwd(), run)) as run_file:
        refuse_judge_check(run_file.meta)
        data, header = cassette_of(run_file, max_age_s=max_age)
        if header.offline and is_of_models(to):
            raise scripted_over_models(to)
        errors, left = run_file.totals().errors, run_file.meta.planned - run_file.totals().trials
        same = typed_for(run_file.meta, "--offline")
    write_cassette(data, to)
    what = [
        count(header.calls, "call"),
        *([count(header.tools, "tool call")] if header.tools else []),
    ]
    tell(f"written to {safe(str(to))}: {', '.join(what)}, {len(data) / 1000:,.1f} kB; commit it")
    if header.hidden:
        places = count(header.hidden, "text")
        tell(
            f"{places} that looked like a secret left out; look at what is there before you commit it"
        )
    if errors:
        tell(f"{count(errors, 'trial')} in error: replayed, they will be again")
    if left:
        tell(f"{count(left, 'trial')} not settled: their calls are left out")
    if header.offline:
        tell("its replies are scripted (--offline): it says nothing of what models answer")
    tell(f"next: evenhand run{same} --replay {shlex.quote(safe(str(to)))}")
    return 0
