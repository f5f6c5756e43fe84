"""What an import came to: its runs, and what became of the parts of its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec.structs import asdict

from evenhand.analysis.summaries.column_names import shortened
from evenhand.core.document import Key, as_object, filled
from evenhand.core.record import Record
from evenhand.core.run import RunMeta, Totals
from evenhand.core.wording.ink import Ink
from evenhand.core.wording.words import clip, count, safe
from evenhand.languages.documents.foreign import Note

SCHEMA = "evenhand.import/1"
READ: Mapping[str, str] = {
    "translated": "read",
    "changed": "read, but not as it was",
    "left_out": "not imported",
}
"""What the kinds of notes are called where runs are imported."""


class ImportRun(Record, frozen=True, kw_only=True):
    """What `evenhand.import/1` says of a run."""

    run: Annotated[str, Key("its id here")]
    file: Annotated[str, Key("its run file")]
    imported_id: Annotated[str, Key("what the other tool calls it")]
    title: Annotated[str, Key("the name of what was evaluated")]
    name: Annotated[str, Key("what people called this run; empty if they didn't")]
    started_at: Annotated[float, Key("", "seconds since 1970")]
    new: Annotated[bool, Key("false if it had been imported before")]
    trials: Annotated[int, Key("", "trials")]
    passed: Annotated[int, Key("", "trials")]
    failed: Annotated[int, Key("", "trials")]
    errors: Annotated[int, Key("", "trials")]
    not_applicable: Annotated[int, Key("", "trials")]


class ImportDataset(Record, frozen=True, kw_only=True):
    """What `evenhand.import/1` says of a dataset."""

    file: Annotated[str, Key("where its cases are")]
    name: Annotated[str, Key("what the other tool calls it")]
    cases: Annotated[int, Key("", "cases")]
    fingerprint: Annotated[str, Key("a hash of all that the cases say")]
    new: Annotated[bool, Key("false if the file had been there with the same cases")]


class ImportNote(Record, frozen=True, kw_only=True):
    """What `evenhand.import/1` says of a note."""

    kind: Annotated[
        str,
        Key(
            "`translated`: it was read; `changed`: it was read, but not as it was; `left_out`: it was not "
            "imported"
        ),
    ]
    where: Annotated[
        str, Key("the file, the line of a JSONL file, and the path inside it, of the first place")
    ]
    text: Annotated[str, Key("what, and why")]
    more: Annotated[int, Key("how many other places it holds for", "places")]


class ImportDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.import/1`."""

    schema: Annotated[str, Key("`evenhand.import/1`")]
    importer: Annotated[str, Key("the tool that wrote the files")]
    runs: Annotated[list[ImportRun], Key("oldest first")]
    datasets: Annotated[list[ImportDataset], Key("in the order of the files")]
    notes: Annotated[
        list[ImportNote],
        Key("what became of the parts of the files; empty for tools whose files are read whole"),
    ]


class ImportedFile(Record, frozen=True):
    """A run that was imported, or was there already.

    Attributes:
        meta: What is known of it as a whole.
        new: Whether it was made now.
    """

    path: Path
    meta: RunMeta
    totals: Totals
    new: bool

    @property
    def name(self) -> str:
        """What the other tool calls this run, beside its title; empty where it says nothing."""
        name = self.meta.config.get("name")
        return name if isinstance(name, str) else ""


class ImportedDataset(Record, frozen=True):
    """A dataset that was written, or was there already.

    Attributes:
        name: What the other tool calls it.
        fingerprint: A hash of all that they say.
        new: Whether it was made now.
    """

    path: Path
    name: str
    cases: int
    fingerprint: str
    new: bool


def document(
    importer: str,
    runs: Sequence[ImportedFile],
    notes: Iterable[Note],
    datasets: Sequence[ImportedDataset] = (),
) -> dict[str, Any]:
    """What `evenhand import --json` prints: docs/formats/import-1.md."""
    return as_object(
        ImportDocument(
            schema=SCHEMA,
            importer=importer,
            runs=[_row(one) for one in runs],
            datasets=[filled(ImportDataset, one, file=str(one.path)) for one in datasets],
            notes=[ImportNote(**asdict(one)) for one in notes],
        )
    )


_COUNTS = ("trials", "passed", "failed", "errors", "not_applicable")


def _row(one: ImportedFile) -> ImportRun:
    totals = one.totals
    return ImportRun(
        run=one.meta.id,
        file=str(one.path),
        imported_id=one.meta.settings.get("imported", {}).get("id", ""),
        title=one.meta.title,
        name=one.name,
        started_at=one.meta.created_at,
        new=one.new,
        **{name: getattr(totals, name) for name in _COUNTS},
    )


def newest_pair(runs: Sequence[ImportedFile]) -> Sequence[ImportedFile]:
    """The newest run that has an earlier one with the same title, behind that one; empty for no such pair."""
    before: dict[str, ImportedFile] = {}
    pair: Sequence[ImportedFile] = ()
    for one in runs:
        if one.meta.title in before:
            pair = (before[one.meta.title], one)
        before[one.meta.title] = one
    return pair


def run_lines(runs: Sequence[ImportedFile], names: Sequence[str]) -> Iterator[str]:
    """A line for each run, in columns."""
    titles = shortened([safe(one.meta.title) for one in runs], 32)
    own_names = shortened([safe(one.name) for one in runs], 28)
    models = shortened([safe(", ".join(v.model for v in one.meta.variants)) for one in runs], 24)
    rows = [
        (
            safe(name),
            title,
            own_name,
            model,
            _came_to(one.totals),
            "" if one.new else "already there",
        )
        for one, name, title, own_name, model in zip(
            runs, names, titles, own_names, models, strict=True
        )
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    for row in rows:
        # A column that is empty in all rows takes no room.
        cells = [text.ljust(width) for text, width in zip(row, widths, strict=True) if width]
        yield f"  {'  '.join(cells)}".rstrip()


def dataset_lines(datasets: Sequence[ImportedDataset]) -> Iterator[str]:
    """A line for each dataset."""
    for one in datasets:
        there = "" if one.new else ", already there"
        yield f"  {safe(str(one.path))}: {count(one.cases, 'case')} of {safe(clip(one.name, 60))}{there}"


def _came_to(totals: Totals) -> str:
    errors = f", {count(totals.errors, 'error')}" if totals.errors else ""
    if totals.not_applicable == totals.trials:
        return f"{count(totals.trials, 'trial')}, measured only"
    return f"{totals.passed:,} of {totals.trials:,} passed{errors}"


def note_lines(
    notes: Iterable[Note], ink: Ink, headings: Mapping[str, str] = READ
) -> Iterator[str]:
    """The notes under their headings, by their kinds."""
    for kind, heading in headings.items():
        of_kind = [one for one in notes if one.kind == kind]
        if of_kind:
            yield f"  {ink(heading, 'bold')}"
        for one in of_kind:
            more = f" (and {one.more:,} more places)" if one.more > 1 else ""
            more = " (and 1 more place)" if one.more == 1 else more
            yield f"    {safe(one.where)}: {safe(one.text)}{more}"
