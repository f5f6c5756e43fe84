"""Where tests come from: written in the config, or rows of CSV, JSONL, JSON and YAML files.

A source is walked, not held, and can be walked again: 100,000 rows pass through without being kept. What is wrong with
a file is found on the first walk.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol, cast

from evenhand.core.encoding import decode
from evenhand.promptfoo.cells import wrong_columns
from evenhand.promptfoo.config import Config
from evenhand.promptfoo.findings import At, Findings, Place, did_you_mean, matching
from evenhand.promptfoo.tree import Document, decoded, read_document


@dataclass(slots=True)
class Row:
    """A test as written.

    Attributes:
        value: Its keys.
        at: Where its parts are written.
        data: It comes from a dataset: its variables are data, in which nothing is filled in and no file is named.
    """

    value: Mapping[str, Any]
    at: At
    data: bool = False


class Source(Protocol):
    """Some tests. `path` is None for those in the config itself."""

    @property
    def path(self) -> Path | None: ...

    def rows(self, findings: Findings) -> Iterator[Row]:
        """The tests, in their order; problems with the file itself are noted, and the rows concerned left out."""
        ...


@dataclass(slots=True)
class Listed:
    """Tests in a YAML or JSON document: the config itself, or a file of tests."""

    document: Document
    items: list[object]
    prefix: tuple[str | int, ...]
    path: Path | None = None
    data: bool = False

    def rows(self, findings: Findings) -> Iterator[Row]:
        for i, item in enumerate(self.items):
            at = _at(self.document, (*self.prefix, i))
            if isinstance(item, Mapping):
                yield Row(cast("Mapping[str, Any]", item), at, self.data)
            else:
                findings.problem(at(), f"a test is {item!r}, not an object")


@dataclass(slots=True)
class Jsonl:
    """A file with one JSON object a line."""

    path: Path

    def rows(self, findings: Findings) -> Iterator[Row]:
        path = self.path
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")  # noqa: PLW2901 (a mark that editors leave)
                if line.isspace():
                    continue
                try:
                    value = decode(line)
                except (ValueError, RecursionError) as error:
                    findings.problem(Place(path, number), *_not_json(line, error))
                    if number == 1 and line[:2] in (b"\xff\xfe", b"\xfe\xff"):
                        return
                    continue
                if isinstance(value, dict):
                    yield Row(cast("dict[str, Any]", value), _Line(path, number), data=True)
                else:
                    findings.problem(Place(path, number), f"a test is {value!r}, not an object")


@dataclass(slots=True)
class Csv:
    """A CSV file: a header, then one test a row. Columns whose name begins with `__` say something about the test."""

    path: Path
    delimiter: str = ","
    header: list[str] = field(default_factory=list[str])

    def rows(self, findings: Findings) -> Iterator[Row]:
        data = _start(self.path)
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            text = decoded(self.path.read_bytes(), self.path, findings) or ""
            yield from self._parsed(iter(text.splitlines(keepends=True)), findings)
            return
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as lines:
                yield from self._parsed(lines, findings)
        except UnicodeDecodeError:
            decoded(self.path.read_bytes(), self.path, findings)

    def _parsed(self, lines: Iterator[str], findings: Findings) -> Iterator[Row]:
        csv.field_size_limit(2**31 - 1)
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        path = self.path
        try:
            header = [name.strip() for name in next(reader, [])]
            self._look_at(header, findings)
            width, before = len(header), reader.line_num
            for cells in reader:
                line, before = before + 1, reader.line_num
                if not any(cells):
                    continue
                if len(cells) != width:
                    if any(cells[width:]) or len(cells) < width:
                        findings.problem(
                            Place(path, line),
                            f"the row has {len(cells)} cells, the header has {width}",
                            "A cell with commas has to stand in double quotes.",
                        )
                        continue
                    cells = cells[:width]  # noqa: PLW2901 (empty cells at the end)
                yield Row(dict(zip(header, cells, strict=True)), _Line(path, line), data=True)
        except csv.Error as error:
            findings.problem(
                Place(path, reader.line_num),
                f"is not CSV: {error}",
                'A quote inside a quoted cell is written twice: "".',
            )

    def _look_at(self, header: list[str], findings: Findings) -> None:
        path = self.path
        for what, hint in wrong_columns(header):
            findings.problem(Place(path, 1), what, hint)
        if not any(header):
            findings.problem(Place(path, 1), "is empty", "Its first row names the variables.")
        if len(header) == 1 and any(char in header[0] for char in ";\t"):
            findings.hint(
                Place(path, 1),
                "has one column only, whose name holds the separator of another dialect",
                "PROMPTFOO_CSV_DELIMITER names a separator other than the comma.",
            )
        for i, name in enumerate(header):
            if name in header[:i]:
                findings.problem(
                    Place(path, 1, i + 1),
                    f"the column '{name}' is here twice",
                    "Only one could count.",
                )
            if not name and any(header):
                findings.hint(Place(path, 1, i + 1), f"column {i + 1} has no name")


def read_sources(config: Config, findings: Findings) -> list[Source]:
    """The sources that a config names under `tests`; none at all means one test without variables."""
    given = config.value.get("tests")
    if given is None:
        findings.hint(
            config.at(), "there are no tests: the prompts are run once, without variables"
        )
        return [Listed(config.document, [{"vars": {}}], ("tests",))]
    if isinstance(given, str):
        return _from_reference(given, config, config.at("tests"), findings)
    if isinstance(given, Mapping) and "path" in given:
        return _from_reference(
            str(cast("Mapping[str, object]", given)["path"]), config, config.at("tests"), findings
        )
    if not isinstance(given, list):
        findings.problem(config.at("tests"), f"tests is {given!r}, not a list or a file")
        return []
    items = cast("list[object]", given)
    if not items:
        findings.problem(
            config.at("tests"),
            "there are no tests",
            "Write some, or leave 'tests' out to run each prompt once.",
        )
    sources: list[Source] = []
    inline: list[int] = []
    for i, item in enumerate(items):
        path = cast("Mapping[str, object]", item).get("path") if isinstance(item, Mapping) else item
        if isinstance(path, str) and (not isinstance(item, Mapping) or "vars" not in item):
            sources += _from_reference(path, config, config.at("tests", i), findings)
        else:
            inline.append(i)
            sources.append(_Inline(config.document, item, i))
    return [Listed(config.document, items, ("tests",))] if len(inline) == len(items) else sources


@dataclass(slots=True)
class _Inline:
    """One test of a config whose tests are partly in files."""

    document: Document
    item: object
    index: int
    path: Path | None = None

    def rows(self, findings: Findings) -> Iterator[Row]:
        at = _at(self.document, ("tests", self.index))
        if isinstance(self.item, Mapping):
            yield Row(cast("Mapping[str, Any]", self.item), at)
        else:
            findings.problem(at(), f"a test is {self.item!r}, not an object or a file")


def content_digest(path: Path) -> str:
    """A hash of a file's bytes."""
    h = blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            h.update(chunk)
    return h.hexdigest()


def _from_reference(text: str, config: Config, place: Place, findings: Findings) -> list[Source]:
    name = text.removeprefix("file://")
    if name.startswith(("http://", "https://", "huggingface://", "az://")):
        findings.problem(
            place,
            f"tests from {name.split(':')[0]} addresses are not supported yet",
            "Download the file.",
        )
        return []
    if ".py" in Path(name.split(":")[0]).suffix or name.endswith((".js", ".ts", ".mjs")):
        findings.problem(
            place,
            f"tests made by a program ({name}) are not supported yet",
            "Write them to a CSV or JSONL file.",
        )
        return []
    pattern = config.base / name
    paths = matching(pattern)
    if not paths:
        folder = pattern.parent
        near = (
            did_you_mean(Path(name).name, [p.name for p in folder.glob("*")])
            if folder.is_dir()
            else ""
        )
        findings.problem(place, f"tests file {name} does not exist", near or f"Looked in {folder}.")
    return [source for path in paths for source in _from_file(path, config, place, findings)]


def _from_file(path: Path, config: Config, place: Place, findings: Findings) -> list[Source]:
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        delimiter = "\t" if suffix == ".tsv" else config.env.get("PROMPTFOO_CSV_DELIMITER") or ","
        return [Csv(path, delimiter)]
    if suffix == ".jsonl":
        return [Jsonl(path)]
    if suffix in (".json", ".yaml", ".yml"):
        document = read_document(path, findings, place)
        if document is None:
            return []
        if isinstance(document.value, Mapping):
            return [Listed(document, [document.value], (), path)]
        if isinstance(document.value, list):
            # JSON is what programs write, so it is data; YAML is written by hand, like the config.
            return [
                Listed(document, cast("list[object]", document.value), (), path, suffix == ".json")
            ]
        findings.problem(Place(path, 1), "holds no tests: it is not a list of them")
        return []
    findings.problem(
        place,
        f"tests cannot be read from '{path.suffix}' files",
        "CSV, JSONL, JSON and YAML can be.",
    )
    return []


def _not_json(line: bytes, error: Exception) -> tuple[str, str]:
    """What to say of a line that is no JSON, and what to do."""
    if line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "is UTF-16", "Save it as UTF-8."
    try:
        line.decode()
    except UnicodeDecodeError as wrong:
        return (
            f"is not UTF-8: byte 0x{line[wrong.start]:02x} at column {wrong.start + 1} has no meaning there",
            "It is probably Latin-1 or Windows-1252; save it as UTF-8.",
        )
    if line.lstrip()[:1] == b"[" and isinstance(error, ValueError):
        return (
            f"is not JSON: {error}",
            "Each line is one object; a file that is one list ends in .json.",
        )
    return f"is not JSON: {error}", "Each line is one whole JSON object."


@dataclass(frozen=True, slots=True)
class _Line:
    """Where the parts of a row in a data file are: all on its line."""

    path: Path
    number: int

    def __call__(self, *path: str | int) -> Place:
        del path
        return Place(self.path, self.number)


def _at(document: Document, prefix: tuple[str | int, ...]) -> At:
    return lambda *path: document.at(*prefix, *path)


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(2)
