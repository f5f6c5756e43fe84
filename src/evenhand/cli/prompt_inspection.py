"""The verbs of `evenhand prompt` that only look: list, show, log and doctor."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.completing import complete_prompts
from evenhand.cli.exits import FAILED, PASSED
from evenhand.cli.numbers import Number
from evenhand.cli.prompt_lookup import (
    document_of,
    in_json,
    library_here,
    plain,
    prompt_named,
    prompts_meant,
    say,
)
from evenhand.cli.streams import say_wrapped, tell
from evenhand.core.ranges import ROWS

if TYPE_CHECKING:
    from evenhand.doors.prompt_directories.doctor import Looked


@click.command(name="list", short_help="List prompts and the state of their evidence.")
@click.option(
    "--status",
    type=click.Choice(["draft", "tested", "ready"]),
    help="Only prompts with this status.",
)
@click.option("--tag", default="", help="Only prompts with this tag.")
@click.option("--check", is_flag=True, help="Exit with 1 if a ready prompt's evidence is stale.")
@in_json
def list_(status: str | None, tag: str, *, check: bool, as_json: bool) -> int:
    """List the prompts: status, version, uses, and whether their evidence is current."""
    from evenhand.doors.prompt_directories.listing import listed, table

    library = library_here()
    rows = [
        row
        for row in listed(library)
        if (status is None or row.status == status) and (not tag or tag in row.tags)
    ]
    if as_json:
        say(document_of([row.document() for row in rows]))
    else:
        for line in table(rows, library.prompts):
            say_wrapped(plain(line), "    ")
    return FAILED if check and any(row.is_stale for row in rows) else PASSED


@click.command(short_help="Show a prompt, its usage and its evidence.")
@click.argument("id_", metavar="ID", shell_complete=complete_prompts)
@in_json
def show(id_: str, *, as_json: bool) -> int:
    """Show a prompt: its metadata, its usage with medians, its latest evidence, and what the next status requires."""
    from evenhand.doors.prompt_directories.listing import described, description_lines

    description = described(prompt_named(id_))
    if as_json:
        say(document_of(description))
    else:
        for line in description_lines(description):
            say_wrapped(plain(line), "    ")
    return PASSED


@click.command(short_help="Print the latest rows of a prompt's usage or evals.")
@click.argument("id_", metavar="ID", shell_complete=complete_prompts)
@click.option("--last", type=Number(ROWS), default=10, show_default=True, help="Number of rows.")
@click.option("--evals", is_flag=True, help="Print evals instead of usage.")
@click.option("--promotions", is_flag=True, help="Print promotions instead of usage.")
def log(id_: str, last: int, *, evals: bool, promotions: bool) -> int:
    """Print the latest rows of .usage.jsonl, .eval.jsonl or .promotions.jsonl, unchanged."""
    from evenhand.core.encoding import encode
    from evenhand.doors.prompt_directories.evidence import EVALS, PROMOTIONS, USAGE, read
    from evenhand.languages.documents.findings import Findings

    name = EVALS if evals else PROMOTIONS if promotions else USAGE
    rows = read(library_here().folder(id_) / name)
    findings = Findings()
    rows.tell(findings)
    for hint in findings.hints:
        tell(str(hint))
    for row in rows.rows[-last:]:
        say(encode(row).decode())
    return PASSED


@click.command(short_help="Check prompts for problems, with file and line.")
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=complete_prompts)
@click.option("--check", is_flag=True, help="Treat stale evidence of a ready prompt as a problem.")
@click.option(
    "--evidence",
    is_flag=True,
    help="Check every row of evidence against its run, if the run is on this machine.",
)
@click.option("--quiet", is_flag=True, help="Print only prompts with problems or warnings.")
@in_json
def doctor(ids: tuple[str, ...], *, check: bool, evidence: bool, quiet: bool, as_json: bool) -> int:
    """Check these prompts, or all, and list problems and warnings with file and line.

    An ID may be the path of one of its files, as pre-commit passes them. Exits with 1 if there are problems; warnings
    don't count. With --evidence, a row that its run contradicts is a problem, and a row whose run is not on this
    machine is a warning.
    """
    from evenhand.core.wording.words import count
    from evenhand.doors.prompt_directories.doctor import look
    from evenhand.doors.prompt_directories.runs import KeptRuns
    from evenhand.store.catalogue import home_for

    looks = [
        one
        for library, names in prompts_meant(ids).items()
        for one in look(library, names, KeptRuns(home_for(library.root)) if evidence else None)
    ]
    bad = [one for one in looks if one.problems or (check and one.stale)]
    if as_json:
        say(document_of([_row(one) for one in looks]))
    else:
        for one in looks:
            if not quiet or one.problems or one.warnings:
                say(f"{'FAIL' if one in bad else 'PASS'} {one.id}")
                if one.audit is not None:
                    say(f"  {one.audit}")
                for kind, problems in (("", one.problems), ("warning: ", one.warnings)):
                    for problem in problems:
                        text = str(problem).replace("\n", "\n  ")
                        say_wrapped(plain(f"  {kind}{text}"), "    ")
        warned = sum(len(one.warnings) for one in looks)
        say(f"{count(len(looks), 'prompt')}, {len(bad)} with problems, {count(warned, 'warning')}")
    return FAILED if bad else PASSED


def _row(one: Looked) -> dict[str, Any]:
    def rows(problems: Any) -> list[dict[str, Any]]:
        return [
            {"file": p.file, "line": p.line, "column": p.column, "what": p.what, "hint": p.hint}
            for p in problems
        ]

    return {
        "id": one.id,
        "problems": rows(one.problems),
        "warnings": rows(one.warnings),
        "evidence": one.standing.state if one.standing else None,
        "audit": asdict(one.audit) if one.audit is not None else None,
    }
