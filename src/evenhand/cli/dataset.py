"""`evenhand data`: look at cases, convert and split them, store what is counted against, write some."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from msgspec.structs import replace

from evenhand.cli.exits import NO_VERDICT, PASSED
from evenhand.cli.grouped import OptionSet
from evenhand.cli.options import flag, number_option, text_option
from evenhand.cli.streams import printing, tell
from evenhand.cli.verbs import WingGroup
from evenhand.core.errors import UsageError
from evenhand.core.ranges import BUDGET_USD, CONCURRENCY, PER_DOCUMENT, SEED, SHOWN

if TYPE_CHECKING:
    from evenhand.doors.eval_sets.dataset import Dataset
    from evenhand.doors.eval_sets.preparing import Prepared
    from evenhand.engine.door import Settings

_FILE = click.Path(path_type=Path)
_SHOWN = 5
_STREAMED = (".jsonl", ".csv", ".tsv")


_asking = OptionSet(
    click.option("--to", required=True, type=_FILE, help="The file to write."),
    number_option("-j", "--concurrency", within=CONCURRENCY, help="Number of calls in flight."),
    number_option(
        "--max-cost",
        within=BUDGET_USD,
        metavar="USD",
        help="Make no call that could take the cost past USD.",
    ),
    flag("--no-cache", help="Don't read or write the reply cache."),
    flag("--offline", help="Answer from the folder's offline.jsonl."),
)
"""The options of what asks models."""


@click.group(
    name="data", cls=WingGroup, short_help="Show, convert, split, enrich or generate a dataset."
)
def data() -> None:
    """Show, convert, split, enrich or generate a dataset.

    A dataset is a file of cases: .csv, .tsv, .json, .jsonl, .yaml or .parquet.
    """


@data.command(short_help="Show the number of cases, fields, tags and the first cases.")
@click.argument("file", type=_FILE)
@number_option("--first", within=SHOWN, default=_SHOWN, help="Show N cases.  [default: 5]")
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def show(file: Path, first: int, as_json: bool) -> int:
    """Show a dataset: the number of cases, fields, tags, the fingerprint and the first cases."""
    from evenhand.core.wording.words import clip, count, safe
    from evenhand.doors.eval_sets.rowcase import row_of

    data = _read(file, stream=True)
    fields: dict[str, int] = {}
    tags: dict[str, int] = {}
    for case in data:
        for name in row_of(case):
            fields[name] = fields.get(name, 0) + 1
        for tag in case.tags:
            tags[tag] = tags.get(tag, 0) + 1
    cases = [row_of(case) for case in data[:first]]
    with printing():
        if as_json:
            head = {"name": data.name, "count": len(data), "fingerprint": data.fingerprint}
            document = {**head, "fields": fields, "tags": tags, "cases": cases}
            from evenhand.core.wording.json_text import writer

            text = json.dumps(document, ensure_ascii=False, indent=2)
            writer(sys.stdout)(text + "\n")
            return PASSED
        click.echo(
            f"{safe(data.name)}: {count(len(data), 'case')} · fingerprint {data.fingerprint[:12]}\n"
        )
        for name, number in fields.items():
            share = "" if number == len(data) else f"  in {number:,} of them"
            click.echo(f"  {safe(name)}{share}")
        if tags:
            listed = ", ".join(f"{safe(tag)} ({number:,})" for tag, number in sorted(tags.items()))
            click.echo(f"\n  tags: {listed}")
        for row in cases:
            more = {name: value for name, value in row.items() if name != "id"}
            click.echo(f"\n  {safe(str(row['id']))}")
            for name, value in more.items():
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                click.echo(f"    {safe(name)}  {clip(safe(text), 100)}")
    return PASSED


@data.command(short_help="Write the same cases in another format.")
@click.argument("file", type=_FILE)
@click.argument("to", type=_FILE)
@click.option(
    "--for",
    "tool",
    metavar="TOOL",
    help="Write a dataset that this tool reads, in JSON or YAML: pydantic-evals.",
)
def convert(file: Path, to: Path, tool: str | None) -> int:
    """Convert FILE to TO. The extension of TO sets the format.

    Ids, tags, metadata and every value are kept: what is written reads back as the same cases.

    With --for pydantic-evals, write a dataset of pydantic-evals. One that was imported from there is equal to what it
    was, with its evaluators.
    """
    from evenhand.core.wording.words import count, safe

    data = _read(file, stream=tool is None)
    if tool is not None:
        from evenhand.core.wing import part, parts
        from evenhand.doors.eval_sets.writing import write_document

        brought = part("datasets", tool)
        if brought is None:
            raise UsageError(
                f"--for {tool!r} is not known", hint=f"There are: {', '.join(parts('datasets'))}."
            )
        document_of = cast("Callable[[Dataset, str], Mapping[str, object]]", brought.load())
        write_document(document_of(data, data.name), to)
        click.echo(f"{safe(str(to))}: {count(len(data), 'case')}")
        return PASSED
    data.write(to)
    click.echo(f"{safe(str(to))}: {count(len(data), 'case')} · fingerprint {data.fingerprint[:12]}")
    return PASSED


@data.command(short_help="Split a dataset into parts at random.")
@click.argument("file", type=_FILE)
@click.option(
    "--into",
    required=True,
    metavar="NAME=SHARE,…",
    help="The parts and their shares: dev=0.2,test=0.8.",
)
@number_option("--seed", within=SEED, default=0, show_default=True, help="Seed of the split.")
@text_option(
    "--by",
    metavar="FIELD",
    help="Keep the shares within each value of this field (tags or a column).",
)
@text_option(
    "--group", metavar="FIELD", help="Keep cases with the same value of this column in one part."
)
def split(file: Path, into: str, seed: int, by: str, group: str) -> int:
    """Split FILE into parts at random and write each beside it: FILE-dev.csv, FILE-test.csv.

    The part of a case depends only on its id and the seed, so rows that you add later don't move the others. Give cases
    ids; without one, the id is a hash of the row.
    """
    from evenhand.core.wording.words import count, safe

    data = _read(file, stream=True)
    parts: dict[str, float] = {}
    for part in into.split(","):
        name, _, share = part.partition("=")
        try:
            parts[name.strip()] = float(share)
        except ValueError:
            raise UsageError(
                f"--into {into!r}: {part!r} is not a part", hint="Write --into dev=0.2,test=0.8"
            ) from None
        if not name.strip() or any(sign in name for sign in "/\\."):
            raise UsageError(f"--into {into!r}: {name!r} can't be the name of a part")
    files = {name: file.with_name(f"{file.stem}-{name}{file.suffix}") for name in parts}
    there = [str(to) for to in files.values() if to.exists()]
    if there:
        hint = "Move it away, or give the part another name."
        verb = "exists" if len(there) == 1 else "exist"
        raise UsageError(f"{', '.join(there)} already {verb}", hint=hint)
    for name, dataset_part in data.split(parts, seed=seed, by=by, group=group).items():
        dataset_part.write(files[name])
        click.echo(f"{safe(str(files[name]))}: {count(len(dataset_part), 'case')}")
    return PASSED


@data.command(short_help="Store with each case the facts that answers are measured against.")
@click.argument("file", type=_FILE)
@_asking
@click.option("--judge", metavar="MODEL", help="The model to ask.  [default: the project's judge]")
@click.option(
    "--with",
    "parts",
    default="reference_claims,entities,sub_questions",
    help="What to find.  [default: reference_claims,entities,sub_questions]",
)
def enrich(
    file: Path,
    to: Path,
    judge: str | None,
    parts: str,
    **options: Any,
) -> int:
    """Find the facts that answers are measured against, and store them with the cases.

    A judge lists the claims and entities of the right answer, and the parts of the question. They go into each case's
    metadata, so that every run is measured against the same facts. Facts that a case has are kept. If it is stopped,
    the same command continues.
    """
    from evenhand.doors.eval_sets.preparing import enrich as find
    from evenhand.doors.eval_sets.writing import look_for_place

    look_for_place(to)
    data = _read(file)
    with _answering(options) as settings:
        prepared = find(
            data,
            judge=judge,
            parts=[part.strip() for part in parts.split(",")],
            source=file.absolute(),
            settings=settings,
            to=to,
        )
    what = f"{prepared.asked_about:,} were asked about"
    return _report(prepared, to, what, offline=options["offline"])


@data.command(short_help="Write questions and their answers from documents.")
@click.argument("documents", nargs=-1, required=True)
@_asking
@click.option(
    "--model", required=True, metavar="MODEL", help="The model that writes the questions."
)
@number_option(
    "--per-document",
    within=PER_DOCUMENT,
    default=5,
    show_default=True,
    help="Questions per document.",
)
def generate(
    documents: tuple[str, ...],
    to: Path,
    model: str,
    per_document: int,
    **options: Any,
) -> int:
    """Write cases from DOCUMENTS (files and folders of text): questions, answers, and the passages that hold them.

    A pair is kept only if its quotes are in the document, and no other pair asks the same. If it is stopped, the same
    command continues, and nothing is paid for twice. Review the cases before you rely on them.
    """
    from evenhand.doors.eval_sets.generating import generate as write
    from evenhand.doors.eval_sets.writing import look_for_place

    look_for_place(to)
    with _answering(options) as settings:
        prepared = write(
            documents,
            model=model,
            per_document=per_document,
            source=to.absolute().parent,
            settings=settings,
            to=to,
        )
    if not len(prepared.data):
        _complain(prepared)
        tell(f"no pair could be used; {to} was not written")
        return NO_VERDICT
    what = f"{prepared.dropped:,} dropped (duplicates, or quotes not found)"
    return _report(prepared, to, what, offline=options["offline"])


@contextlib.contextmanager
def _answering(options: Mapping[str, Any]) -> Iterator[Settings]:
    """Inside, replies come from models, or from the folder's offline.jsonl.

    Yields:
        How to run.
    """
    from evenhand.engine.door import Settings

    settings = Settings(
        concurrency=options["concurrency"],
        cache=False if options["no_cache"] else None,
        max_cost_usd=options["max_cost"],
    )
    if not options["offline"]:
        yield settings
        return
    from evenhand.cli.offline import offline_answers, script_digest, unused_rules

    folder = Path.cwd()
    record = {"asked": {"offline": True}, "script": script_digest(folder)}
    with offline_answers(folder) as script:
        yield replace(settings, free=True, record=record)
    for line in unused_rules(script, always=False):
        tell(line)


def _read(file: Path, *, stream: bool = False) -> Dataset:
    from evenhand.doors.eval_sets.dataset import Dataset

    # Only these formats can be read row by row.
    return Dataset.read(file.absolute(), stream=stream and file.suffix.lower() in _STREAMED)


def _report(prepared: Prepared, to: Path, what: str, *, offline: bool) -> int:
    from evenhand.core.wording.words import count, safe, spent

    cost = spent(prepared.cost_usd, scripted=offline)
    click.echo(
        f"{safe(str(to))}: {count(len(prepared.data), 'case')} · {what} · {count(prepared.calls, 'call')} · {cost}"
    )
    _complain(prepared)
    return NO_VERDICT if prepared.errors else PASSED


def _complain(prepared: Prepared) -> None:
    from evenhand.core.wording.words import count, safe

    if prepared.recovered:
        tell("an earlier attempt ended before its file was written: its replies were used again")
    if prepared.in_doubt:
        calls = count(prepared.in_doubt, "call")
        tell(f"in doubt: {calls} in flight when this was killed; they may have been charged for")
    for case, why in [*prepared.errors.items()][:_SHOWN]:
        tell(safe(f"{case}: {why}"))
    if len(prepared.errors) > _SHOWN:
        tell(f"… and {count(len(prepared.errors) - _SHOWN, 'more error')}")
