"""`failures.yml`: the kinds of failure that people have named, each with its rule, examples, and the notes it covers.

    kinds:
      - name: invents a policy
        rule: States a rule, fee or deadline that the documents don't have.
        for: [A return costs 5 euros.]
        against: [I don't know what a return costs.]
        notes: [01M7YPHZRR1BZ4W0R6G4M5N3YC:17]
        ratified: {by: Ada, on: 2026-11-29}
    without_kind: [01M7YPHZRR1BZ4W0R6G4M5N3YC:23]

A note is named by its run and the output's place in it. A note that two kinds list is a failure of both; a failure that
is listed nowhere isn't coded yet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, cast

from msgspec.structs import replace

from evenhand.core.encoding import digest
from evenhand.core.errors import UsageError
from evenhand.core.json_schema import TEXT, TEXTS, Part, document
from evenhand.core.json_shapes import as_array, is_array, is_mapping
from evenhand.core.record import Record
from evenhand.core.table import Form, Path_, TableKey, TableReader, nested, own, schema_of, text
from evenhand.core.wording.words import clip, safe
from evenhand.languages.documents.findings import Findings, Place
from evenhand.languages.documents.tree import Document, read_document

FILE = "failures.yml"
LONGEST_NAME = 60
LONGEST_RULE = 300
LONGEST_EXAMPLE = 500
MOST_KINDS = 100
_NOTE = re.compile(r"[^\s:]+:\d{1,9}")


class NoteId(Record, frozen=True):
    """A reviewed output: the run's id, and the trial's place in its plan."""

    run: str
    index: int

    @staticmethod
    def of(text: str) -> NoteId:
        """The note that a text such as `01M7YPHZRR1BZ4W0R6G4M5N3YC:17` names."""
        run, _, index = text.rpartition(":")
        return NoteId(run, int(index))

    def __str__(self) -> str:
        return f"{self.run}:{self.index}"


def _line(longest: int, hint: str) -> Form:
    """A text of one line, of at most so many characters."""

    def problem(name: str, value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            return f"{name} is {value!r:.60}, not a text"
        if len(value) > longest:
            return f"{name} has {len(value):,} characters, and {longest:,} is the most"
        if safe(value) != value.strip():
            return f"{name} has line breaks, repeated spaces or characters that can't be printed"
        return ""

    schema: Part = {"type": "string", "minLength": 1, "maxLength": longest}
    return Form(schema=schema, problem=problem, hint=hint, value=str.strip, never_empty=True)


def _texts(check: Callable[[str, object], str], hint: str) -> Form:
    """A list of texts, each of which this finds no problem with."""

    def problem(name: str, value: object) -> str:
        if not is_array(value):
            return f"{name} is {value!r:.60}, not a list"
        wrong = (check(f"{name}, item {place}", one) for place, one in enumerate(value, 1))
        return next((what for what in wrong if what), "")

    return Form(schema=TEXTS, problem=problem, hint=hint, value=tuple)


def _note(name: str, value: object) -> str:
    named = isinstance(value, str) and _NOTE.fullmatch(value)
    return "" if named else f"{name}: {value!r:.60} doesn't name a note"


_NOTES = _texts(_note, "Write RUN:PLACE, as in 01M7YPHZRR1BZ4W0R6G4M5N3YC:17.")


def _example(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        return f"{name}: {value!r:.60} is not a text"
    return f"{name} is longer than {LONGEST_EXAMPLE:,}" if len(value) > LONGEST_EXAMPLE else ""


def _day(name: str, value: object) -> str:
    try:
        date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        return f"{name} is {value!r:.40}, not a date"
    return ""


class Ratified(Record, frozen=True):
    """Who accepted a kind, and when.

    Attributes:
        rule_id: Of the name, the rule and the examples as they were; empty where a person wrote it by hand.
    """

    by: Annotated[str, TableKey("Who accepted the kind.", _line(200, "Write a name."))] = ""
    on: Annotated[
        str,
        TableKey(
            "The day, such as 2026-11-29.",
            Form(schema=TEXT, problem=_day, hint="Write 2026-11-29.", never_empty=True),
        ),
    ] = ""
    rule_id: Annotated[
        str, TableKey("What was accepted, as `evenhand review ratify` writes it.", text())
    ] = ""


class Kind(Record, frozen=True, kw_only=True):
    """A kind of failure."""

    name: Annotated[
        str, TableKey("What the kind is called.", _line(LONGEST_NAME, "Write a few words."))
    ] = ""
    rule: Annotated[
        str, TableKey("When an output has it.", _line(LONGEST_RULE, "Write one sentence."))
    ] = ""
    examples_for: Annotated[
        tuple[str, ...],
        TableKey("Examples that have it.", _texts(_example, "Write short quotes."), "for"),
    ] = ()
    against: Annotated[
        tuple[str, ...],
        TableKey(
            "Examples that look like it, and don't have it.",
            _texts(_example, "Write short quotes."),
        ),
    ] = ()
    notes: Annotated[
        tuple[NoteId, ...],
        TableKey(
            "The notes that it covers: each is a run's id and the output's place in it.", _NOTES
        ),
    ] = ()
    ratified: Annotated[
        Ratified | None, TableKey("Who accepted the kind, and when.", nested(Ratified))
    ] = None

    @property
    def rule_id(self) -> str:
        """A digest of what a judge goes by: the name, the rule and the examples."""
        parts = (self.name, self.rule, *self.examples_for, "", *self.against)
        return digest("failure kind", *parts)[:12]

    @property
    def is_ratified(self) -> bool:
        """Whether a person accepted it as it is now."""
        ratified = self.ratified
        return ratified is not None and ratified.rule_id in ("", self.rule_id)


class Codebook(Record, frozen=True):
    """The kinds of one file, in its order, and the failures that people found no kind for."""

    kinds: Annotated[
        tuple[Kind, ...],
        TableKey("The kinds of failure.", own({"type": "array", "items": schema_of(Kind)})),
    ] = ()
    without_kind: Annotated[
        tuple[NoteId, ...], TableKey("The notes that people looked at and no kind covers.", _NOTES)
    ] = ()

    def named(self, name: str) -> Kind:
        """The kind of this name.

        Raises:
            UsageError: There is none.
        """
        from evenhand.core.names import did_you_mean  # noqa: PLC0415 (only where a name may be wrong)

        known = {kind.name: kind for kind in self.kinds}
        if name in known:
            return known[name]
        there = ", ".join(map(safe, known)) or "none"
        hint = did_you_mean(name, known) or f"There are: {there}."
        raise UsageError(f"no kind of failure is called {name!r}", hint=hint)

    def kinds_of(self, note: NoteId) -> list[str]:
        """The names of the kinds that cover a note."""
        return [kind.name for kind in self.kinds if note in kind.notes]

    @property
    def coded(self) -> frozenset[NoteId]:
        """The failures of which people said which kinds they have, or that they have none."""
        return frozenset(self.without_kind).union(*(kind.notes for kind in self.kinds))


def schema() -> Part:
    """The JSON Schema of a failures.yml."""
    return document("Kinds of failure", schema_of(Codebook, required=["kinds"]))


def read_codebook(path: Path) -> Codebook:
    """The kinds in a file.

    Raises:
        ConfigError: All that is wrong with it, with lines and columns.
    """
    findings = Findings()
    if not path.is_file():
        hint = "Write one, or let a model propose one: evenhand review propose."
        findings.problem(Place(path), "there is no such file", hint)
        raise findings.error()
    document = read_document(path, findings)
    book = _book(document, findings) if document is not None else Codebook()
    if findings.problems:
        raise findings.error()
    return book


def written(book: Codebook) -> str:
    """A file that `read_codebook` reads as this codebook. Each text is quoted, whatever is in it.

    >>> print(written(Codebook((Kind(name="a", rule="Says a."),))), end="")
    kinds:
      - name: "a"
        rule: "Says a."
    """
    lines = ["kinds:" if book.kinds else "kinds: []"]
    for kind in book.kinds:
        lines += [f"  - name: {_quoted(kind.name)}", f"    rule: {_quoted(kind.rule)}"]
        for key, texts in (
            ("for", kind.examples_for), ("against", kind.against), ("notes", map(str, kind.notes)),
        ):  # fmt: skip
            quoted = [f"      - {_quoted(one)}" for one in texts]
            lines += [f"    {key}:", *quoted] if quoted else []
        if kind.ratified is not None:
            lines.append(f"    ratified: {_ratified(kind.ratified)}")
    if book.without_kind:
        lines += ["without_kind:", *(f"  - {_quoted(str(one))}" for one in book.without_kind)]
    return "".join(f"{line}\n" for line in lines)


def with_ratified(before: str, book: Codebook) -> str:
    """A file's text with a line `ratified` in each kind, in the place of the one that is there.

    Comments and the rest stay as they are.

    Raises:
        ValueError: The kinds aren't such blocks.
    """
    lines = before.splitlines(keepends=True)
    others = [line for line in lines if not re.match(r" +ratified: *\{.*\} *$", line)]
    rules = [place for place, line in enumerate(others) if re.match(r" +rule:", line)]
    for place, kind in sorted(zip(rules, book.kinds, strict=True), reverse=True):
        if kind.ratified is not None:
            indent = others[place][: len(others[place]) - len(others[place].lstrip())]
            others.insert(place, f"{indent}ratified: {_ratified(kind.ratified)}\n")
    return "".join(others)


def ratify(book: Codebook, names: Collection[str], by: str, on: date) -> Codebook:
    """The codebook with kinds accepted by a person: those of these names, or all where there are none.

    Raises:
        UsageError: A name is not known.
    """
    for name in names:
        book.named(name)
    kinds = tuple(
        replace(kind, ratified=Ratified(by, on.isoformat(), kind.rule_id))
        if not names or kind.name in names
        else kind
        for kind in book.kinds
    )
    return replace(book, kinds=kinds)


def one_line(value: object, longest: int) -> str:
    """Foreign text as one line that can be printed, cut to so many columns; empty for what is no text."""
    return clip(safe(value), longest).strip() if isinstance(value, str) else ""


def _ratified(value: Ratified) -> str:
    fields = {"by": value.by, "on": value.on, "rule_id": value.rule_id}
    pairs = (f"{name}: {_quoted(each)}" for name, each in fields.items() if each)
    return f"{{{', '.join(pairs)}}}"


def _quoted(value: str) -> str:
    # A JSON text is a YAML text; only ASCII, so that no other reader takes U+2028 for a line break.
    return json.dumps(value, ensure_ascii=safe(value) != value)


def _book(document: Document, findings: Findings) -> Codebook:
    if not is_mapping(document.value):
        findings.problem(document.at(), "there are no kinds", "Write kinds: and a list below it.")
        return Codebook()
    tables = TableReader(
        lambda path, what, hint: findings.problem(document.at(*path), what, hint),
        lambda path, known: _unknown(document, findings, path, known),
    )
    items = document.value.get("kinds")
    if not is_array(items):
        findings.problem(document.at("kinds"), "kinds is not a list", "Write - name: … below it.")
        items = ()
    if len(items) > MOST_KINDS:
        findings.problem(
            document.at("kinds"), f"there are {len(items):,} kinds", f"{MOST_KINDS} is the most."
        )
    kinds = tuple(_kinds(document, findings, tables, items[:MOST_KINDS]))
    book = tables.read(Codebook, document.value, kinds=kinds)
    if findings.problems:
        return book
    listed = _note_ids(document.value.get("without_kind"))
    for note in listed:
        if names := book.kinds_of(note):
            what = f"{note} is listed without a kind, and under {names[0]!r}"
            findings.problem(document.at("without_kind"), what, "Leave one of them.")
    return replace(book, without_kind=listed)


def _kinds(
    document: Document, findings: Findings, tables: TableReader, items: Sequence[object]
) -> Iterator[Kind]:
    names: set[str] = set()
    for place, item in enumerate(items):
        at: Path_ = ("kinds", place)
        if not is_mapping(item):
            findings.problem(
                document.at(*at), f"{item!r:.60} is not a kind", "Write name: … and rule: …"
            )
            continue
        fields = cast("Mapping[str, object]", item)
        for key in ("name", "rule"):
            if key not in fields:
                findings.problem(document.at(*at), f"'{key}' is missing", f"Write {key}: …")
        before = len(findings.problems)
        kind = tables.read(Kind, fields, at)
        if len(findings.problems) > before:
            continue
        if kind.name and kind.name.lower() in names:
            what = f"two kinds are called {kind.name!r}"
            findings.problem(document.at(*at, "name"), what, "Merge them, or rename one.")
        names.add(kind.name.lower())
        if kind.ratified is not None:
            _check_ratified(document, findings, at, kind)
        yield replace(kind, notes=_note_ids(fields.get("notes")))


def _note_ids(texts: object) -> tuple[NoteId, ...]:
    return tuple(dict.fromkeys(NoteId.of(str(one)) for one in as_array(texts)))


def _check_ratified(document: Document, findings: Findings, at: Path_, kind: Kind) -> None:
    ratified = kind.ratified
    if ratified is None:
        return
    for key, value in (("by", ratified.by), ("on", ratified.on)):
        if not value:
            findings.problem(
                document.at(*at, "ratified"),
                f"ratified has no '{key}'",
                "Write {by: Ada, on: 2026-11-29}.",
            )


def _unknown(document: Document, findings: Findings, path: Path_, known: Collection[str]) -> None:
    from evenhand.core.names import did_you_mean  # noqa: PLC0415 (only where a key is wrong)

    hint = did_you_mean(str(path[-1]), known) or f"There are: {', '.join(known)}."
    findings.problem(document.at(*path), f"unknown key '{path[-1]}'", hint)
