"""One page for people who decide: the kinds of failure that matter most, with the share and an example of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evenhand.analysis.reviews.reviewed import Review, reviews_of
from evenhand.analysis.summaries.share_rows import percent_within
from evenhand.analysis.trust.labels.drawing import material_of
from evenhand.core.errors import UsageError
from evenhand.core.wording.spreadsheet_cells import as_text
from evenhand.core.wording.words import count, percent, short_id
from evenhand.doors.prompt_directories.site_page import cell, page, table, text
from evenhand.languages.documents.failures_yml import Codebook, NoteId
from evenhand.store.replacing import replace_file
from evenhand.store.runfile import RunFile
from evenhand.wings.failures.changes import change_lines
from evenhand.wings.failures.counting import (
    FailuresDocument,
    KindCount,
    named_variant,
)

MARK = '<meta name="generator" content="evenhand review count">'
MOST = 5
LONGEST = 1_000


def write_page(
    document: FailuresDocument, runs: Sequence[RunFile], book: Codebook, to: Path
) -> None:
    """Writes the page. One that it wrote earlier is written over.

    Raises:
        UsageError: Another file is there, or it cannot be written.
    """
    html = page("Kinds of failure", _parts(document, runs, book), MARK)
    replace_file(html.encode(), to, _is_page, "page of kinds")


def check_place(to: Path) -> None:
    """Looks whether the page may be written, before anything is paid for.

    Raises:
        UsageError: Another file is there, or there is no such folder.
    """
    if to.exists() and not _is_page(to):
        raise UsageError(f"{to} already exists", hint="Name another file, or delete that one.")
    if not to.parent.is_dir():
        raise UsageError(f"there is no folder {to.parent}")


def _is_page(path: Path) -> bool:
    return MARK in path.read_text("utf-8", "replace")


def _parts(document: FailuresDocument, runs: Sequence[RunFile], book: Codebook) -> Iterator[str]:
    yield "<h1>Kinds of failure</h1>"
    runs_read = ", ".join(map(short_id, document.runs))
    outputs = count(document.outputs, "output")
    facts = [f"{document.reviewed:,} of {outputs} reviewed by people (run {runs_read})"]
    if document.failed is not None:
        facts.append(f"{percent_within(document.failed)} of outputs fail")
    if document.covered is not None:
        facts.append(
            f"named kinds cover an estimated {percent_within(document.covered)} of failures"
        )
    yield f'<p class="lead">{text("; ".join(facts))}. In brackets: 95 % intervals.</p>'
    if document.uncoded:
        waiting = count(len(document.uncoded), "reviewed failure")
        yield f"<p>{text(f'{waiting} not coded yet: until then, intervals are wider.')}</p>"
    reviews = {one.note: one for run in runs for one in reviews_of(run)}
    by_id = {run.meta.id: run for run in runs}
    kinds = document.kinds[:MOST]
    if len(document.kinds) > MOST:
        yield f"<p>{text(f'The {MOST} most frequent of {len(document.kinds)} kinds:')}</p>"
    notes = {kind.name: kind.notes for kind in book.kinds}
    for kind in kinds:
        yield f"<h2>{text(kind.name)}</h2>"
        yield f"<p>{text(_share(kind))}</p><p>{text(kind.rule)}</p>"
        yield from _parts_of_kind(kind)
        yield from _example(notes[kind.name], reviews, by_id)
    if lines := list(change_lines(document.runs, document.changes, document.moves)):
        yield "<h2>Changes</h2>"
        yield f"<pre>{text(chr(10).join(lines))}</pre>"


def _share(kind: KindCount) -> str:
    share = "share not known" if kind.share is None else f"{percent_within(kind.share)} of outputs"
    return f"{share}{'' if kind.ratified else ' · not ratified'}"


def _parts_of_kind(kind: KindCount) -> Iterator[str]:
    rows = [
        *((named_variant(one, kind.variants), one.share) for one in kind.variants),
        *((one.tag, one.share) for one in kind.tags if len(kind.tags) > 1),
    ]
    cells = [
        (cell(name), cell(percent(share.value)), cell(percent_within(share)))
        for name, share in rows
        if share is not None
    ]
    if cells:
        yield table(("of", "share", "with its interval"), cells)


def _example(
    notes: Sequence[NoteId], reviews: Mapping[NoteId, Review], runs: Mapping[str, RunFile]
) -> Iterator[str]:
    """What was asked, what was answered and what people say of it: of the first note with words."""
    own = sorted((reviews[n] for n in notes if n in reviews), key=lambda one: not one.words)
    trial = runs[own[0].note.run].trial(own[0].note.index) if own else None
    if trial is None:
        return
    answered = as_text(trial.output)
    for name, words in (
        ("Asked", material_of(trial)),
        ("Answered", answered),
        ("People say", own[0].words),
    ):
        if words:
            cut = words if len(words) <= LONGEST else f"{words[:LONGEST]} …"
            yield f"<p><b>{name}</b></p><pre>{text(cut)}</pre>"
