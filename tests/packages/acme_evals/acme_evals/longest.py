"""`evenhand longest`: the longest outputs of a run."""

from pathlib import Path

import click
import msgspec

from evenhand import Run
from evenhand.wings import RunName, complete_runs, find, say_json, settings_of


class Settings(msgspec.Struct):
    """The table `[tool.evenhand.acme]` of a pyproject.toml."""

    most: int = 3


class Output(msgspec.Struct):
    """One output."""

    case: str
    characters: int


class Longest(msgspec.Struct, tag_field="schema", tag="acme.longest/1"):
    """The document that `--json` prints."""

    run: str
    outputs: list[Output]


@click.command()
@click.argument("run", required=False, type=RunName(), shell_complete=complete_runs)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
def longest(run: str | None, as_json: bool) -> int:
    """List the longest outputs of RUN. Default: the latest run."""
    with Run.open(find(Path.cwd(), run)) as opened:
        rows = sorted(opened.rows(), key=lambda row: -len(row["output"] or ""))
        outputs = [Output(row["case"], len(row["output"] or "")) for row in rows]
        document = Longest(opened.meta.id, outputs[: settings_of("acme", Settings).most])
    if as_json:
        say_json(msgspec.to_builtins(document))
        return 0
    for output in document.outputs:
        click.echo(f"{output.characters:8,}  {output.case}")
    return 0
