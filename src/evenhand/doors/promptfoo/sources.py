"""Where tests come from: written in the config, in files of many kinds, made by a program, or scenarios.

A source is walked, not held, and can be walked again: 100,000 rows pass through without being kept. What is wrong with
a file is found on the first walk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from evenhand.core.encoding import TooDeep, decode_once
from evenhand.core.json_shapes import as_mapping, is_array, is_mapping, is_object
from evenhand.core.names import did_you_mean
from evenhand.core.record import MutableRecord, Record
from evenhand.doors.promptfoo.config import Config
from evenhand.doors.promptfoo.environment import (
    env_filled,
    how_to_set,
    not_secret,
    switched_on,
    unset,
)
from evenhand.doors.promptfoo.generated_tests import generated, is_program
from evenhand.doors.promptfoo.models import with_files_read
from evenhand.doors.promptfoo.tests import Line, TestSource, WrittenTest
from evenhand.languages.documents.file_kinds import ending_hint, not_lines, other_kind
from evenhand.languages.documents.findings import At, Findings, Place, matching, unreadable
from evenhand.languages.documents.tree import Document, read_document, replaced
from evenhand.languages.javascript.references import is_reference

TABLES = frozenset({".csv", ".tsv", ".xlsx", ".xls"})
_ELSEWHERE = ("http://", "https://", "huggingface://", "az://")


class ListedTests(MutableRecord, kw_only=True):
    """Tests in a YAML or JSON document: the config itself, or a file of tests."""

    document: Document
    items: list[object]
    prefix: tuple[str | int, ...]
    home: Path
    path: Path | None = None
    data: bool = False
    numbered: bool = False
    by_function: bool = False
    """A function has made them."""

    def rows(self, findings: Findings) -> Iterator[WrittenTest]:
        for i, item in enumerate(self.items):
            at = _at(self.document, (*self.prefix, i))
            if is_mapping(item):
                name = f"Row #{i + 1}" if self.numbered else ""
                # As in promptfoo, the provider that a function gives a test is asked only if it is code in JavaScript.
                asks = not self.by_function or is_reference(str(item.get("provider")))
                yield WrittenTest(item, at, self.data, name, self.home if asks else None)
            else:
                findings.problem(at(), f"a test is {item!r}, not an object")


class Jsonl(MutableRecord):
    """A file with one JSON object a line."""

    path: Path
    env: Mapping[str, str]
    numbered: bool = False

    def rows(self, findings: Findings) -> Iterator[WrittenTest]:
        path, home, count = self.path, self.path.parent, 0
        kind = other_kind(path) or not_lines(path)
        if kind is not None:
            findings.problem(Place(path), *kind)
            return
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")  # noqa: PLW2901 (a mark that editors leave)
                if line.isspace():
                    continue
                if not line.isascii():
                    line = replaced(line, path, findings, number).encode()  # noqa: PLW2901
                try:
                    value = decode_once(line)
                except (ValueError, RecursionError) as error:
                    findings.problem(Place(path, number), *_not_json(error))
                    continue
                if is_object(value):
                    # A look at the bytes costs little: rows that name no variable are not walked for tags.
                    test = env_filled(value, self.env) if line.find(b"env") >= 0 else value
                    count += 1
                    name = f"Row #{count}" if self.numbered else ""
                    yield WrittenTest(test, Line(path, number), True, name, home)
                else:
                    findings.problem(Place(path, number), f"a test is {value!r}, not an object")


class RowsOfTable(MutableRecord):
    """A document whose objects are rows of a table: columns that begin with `__` say something of the test."""

    document: Document
    items: list[object]
    path: Path | None = None

    def rows(self, findings: Findings) -> Iterator[WrittenTest]:
        from evenhand.doors.promptfoo.tables import table_row  # noqa: PLC0415 (imported on use)

        for i, item in enumerate(self.items):
            place = self.document.at(i)
            if not is_mapping(item):
                findings.problem(place, f"a row is {item!r}, not an object")
                continue
            cells = {
                key: value if isinstance(value, str) else "" if value is None else str(value)
                for key, value in item.items()
            }
            yield table_row(cells, i + 1, Line(self.document.file, place.resolved().line), findings)


class Scenario(MutableRecord):
    """Each row of settings with each test: the test goes over the row, their assertions are added."""

    settings: list[TestSource]
    tests: list[TestSource]
    number: int
    path: Path | None = None

    def rows(self, findings: Findings) -> Iterator[WrittenTest]:
        number = self.number
        for setting in (row for source in self.settings for row in source.rows(findings)):
            # The tests are walked anew for each row, so that a large file of them is never held.
            for test in (row for source in self.tests for row in source.rows(findings)):
                value = _over(setting.value, test.value, f"__scenario_{number}__")
                # As in promptfoo, only a provider that the test itself names is asked, not one of the row.
                home = test.home if "provider" in test.value else None
                yield WrittenTest(value, test.at, test.data and setting.data, test.name, home)
            number += 1


def _over(row: Mapping[str, Any], test: Mapping[str, Any], conversation: str) -> dict[str, Any]:
    both: dict[str, Any] = {**row, **test}
    for key in ("vars", "options", "metadata"):
        if isinstance(row.get(key), Mapping) and isinstance(test.get(key), Mapping):
            both[key] = {**row[key], **test[key]}
    if isinstance(row.get("assert"), list) and isinstance(test.get("assert"), list):
        both["assert"] = [*row["assert"], *test["assert"]]
    metadata = both.get("metadata") or {}
    if isinstance(metadata, Mapping):
        # The tests of one row are one conversation, unless their metadata name another.
        both["metadata"] = {"conversationId": conversation, **metadata}
    return both


def read_sources(config: Config, findings: Findings, files: set[Path]) -> list[TestSource]:
    """The sources that a config names under `tests` and `scenarios`; none at all means one test without variables.

    Args:
        files: Is told which files they are made of, beside those that they are walked in.
    """
    if config.overrides.model_outputs:
        return given_outputs(config, findings, files)
    tests, scenarios = config.value.get("tests"), config.value.get("scenarios")
    if tests in (None, []) and not scenarios:
        findings.hint(
            config.at(), "there are no tests: the prompts are run once, without variables"
        )
        return [
            ListedTests(
                document=config.document, items=[{"vars": {}}], prefix=("tests",), home=config.base
            )
        ]
    reader = _Sources(config, findings, files)
    sources = [] if tests is None else reader.of(tests, config.document, ("tests",))
    return sources + (reader.scenarios(scenarios) if scenarios else [])


def given_outputs(config: Config, findings: Findings, files: set[Path]) -> list[TestSource]:
    """A test for each of the outputs that are named beside a config: the text in `output`, and its `tags`."""
    overrides = config.overrides
    path, expected = config.base / overrides.model_outputs, config.base / overrides.assertions
    outputs = read_document(path, findings, Place(config.base))
    asserts = read_document(expected, findings, Place(config.base))
    if outputs is None or asserts is None:
        return []
    files.add(expected)
    for document, what in ((outputs, "outputs"), (asserts, "assertions")):
        if not isinstance(document.value, list):
            findings.problem(document.at(), f"isn't a list of {what}")
    tests: list[WrittenTest] = []
    for i, item in enumerate(cast("list[object]", outputs.value) if not findings.problems else ()):
        fields = item if is_mapping(item) else {"output": item}
        if not isinstance(fields.get("output"), str):
            findings.problem(
                outputs.at(i), f"an output is {item!r}", "Write text, or {output, tags}."
            )
            continue
        variables = {"output": str(fields["output"])}
        tags = fields.get("tags")
        if is_array(tags):
            variables["tags"] = ", ".join(map(str, tags))
        # What a model said is data, whatever it looks like.
        value = {"vars": variables, "assert": asserts.value}
        tests.append(WrittenTest(value, _OutputPlaces(outputs, i, asserts), data=True))
    return [_Rows(tests, path)]


class _OutputPlaces(Record, frozen=True):
    """Where the parts of a test stand whose assertions are in a file of their own."""

    outputs: Document
    number: int
    asserts: Document

    def __call__(self, *path: str | int) -> Place:
        if path[:1] == ("assert",):
            return self.asserts.at(*path[1:])
        return self.outputs.at(self.number)


class _Rows(MutableRecord):
    """Tests that are here already."""

    tests: list[WrittenTest]
    path: Path | None = None

    def rows(self, findings: Findings) -> Iterator[WrittenTest]:
        del findings
        yield from self.tests


class _Sources:
    """Reads what a config says of its tests."""

    def __init__(self, config: Config, findings: Findings, files: set[Path]) -> None:
        self._config = config
        self._findings = findings
        self._files = files

    def of(
        self, tests: object, document: Document, path: tuple[str | int, ...]
    ) -> list[TestSource]:
        """The sources of a list of tests, or of the files that it names."""
        place = document.at(*path)
        if isinstance(tests, str):
            return self._named(tests, place, None, alone=True)
        if is_mapping(tests) and "path" in tests:
            fields = tests
            return self._named(str(fields["path"]), place, fields)
        if not is_array(tests):
            hint = "Begin each of them with '- '." if is_mapping(tests) else ""
            self._findings.problem(place, f"{path[-1]} is {tests!r}, not a list or a file", hint)
            return []
        sources: list[TestSource] = []
        inline = 0
        for i, item in enumerate(tests):
            here = document.at(*path, i)
            fields = as_mapping(item)
            if isinstance(item, str):
                sources += self._named(item, here, None)
            # An object with `vars` is a test, whatever else is in it.
            elif isinstance(fields.get("path"), str) and "vars" not in fields:
                sources += self._named(str(fields["path"]), here, fields)
            else:
                inline += 1
                sources.append(_Inline(document, item, (*path, i), self._home(document)))
        # The usual case: one source walks all of them, in place of one for each test.
        if inline == len(tests):
            return [
                ListedTests(document=document, items=tests, prefix=path, home=self._home(document))
            ]
        return sources

    def _home(self, document: Document) -> Path:
        """The folder that paths of tests in a document start from."""
        config = self._config
        return config.base if document is config.document else document.file.parent

    def scenarios(self, written: object) -> list[TestSource]:
        """The sources of a config's scenarios."""
        config = self._config
        items = written if is_array(written) else [written]
        sources: list[TestSource] = []
        number = 0
        for i, item in enumerate(items):
            document, path = config.document, ("scenarios", i)
            for scenario, where, inside in self._scenario(item, document, path):
                at = where.at(*inside)
                known = ("description", "config", "tests")
                self._findings.unknown(scenario, known, at, " of a scenario")
                settings = self.of(scenario.get("config") or [{}], where, (*inside, "config"))
                tests = self.of(scenario.get("tests") or [{}], where, (*inside, "tests"))
                sources.append(Scenario(settings, tests, number))
                # Rows are numbered across scenarios. What is wrong with them is reported when they are run, not here.
                number += sum(1 for source in settings for _ in source.rows(Findings()))
        return sources

    def _scenario(
        self, item: object, document: Document, path: tuple[str | int, ...]
    ) -> Iterator[tuple[Mapping[str, object], Document, tuple[str | int, ...]]]:
        if isinstance(item, str):
            for file in self._matching(item, document.at(*path)):
                other = read_document(file, self._findings, document.at(*path))
                if other is None:
                    continue
                self._files.add(file)
                if not is_array(other.value):
                    yield from self._scenario(other.value, other, ())
                    continue
                for i, one in enumerate(other.value):
                    yield from self._scenario(one, other, (i,))
        elif is_mapping(item):
            yield item, document, path
        else:
            self._findings.problem(
                document.at(*path), f"a scenario is {item!r}, not an object with config and tests"
            )

    def _named(
        self, text: str, place: Place, fields: Mapping[str, object] | None, *, alone: bool = False
    ) -> list[TestSource]:
        """The sources that a path stands for.

        Args:
            fields: What is said beside it: `config` for a program.
            alone: It is all that the config says of its tests.
        """
        findings = self._findings
        name = text.removeprefix("file://")
        if name.startswith(_ELSEWHERE):
            findings.problem(
                place,
                f"tests are not fetched from {name.split(':')[0]} addresses",
                "Download them into a CSV or JSONL file, so that a run can be repeated.",
            )
            return []
        if is_program(name):
            settings = None if fields is None else fields.get("config")
            settings = with_files_read(
                settings, self._config, self._config.base, place, findings, self._files
            )
            rows = generated(name, settings, self._config.base, place, findings)
            if rows is None:
                return []
            path, items = rows
            document = Document(path, items, None, "")
            base = self._config.base
            # What a program returns is data: tags in it are not filled in.
            return [
                ListedTests(
                    document=document,
                    items=items,
                    prefix=(),
                    home=base,
                    path=path,
                    data=True,
                    by_function=True,
                )
            ]
        # `tests.xlsx#Prices` names a sheet of the workbook.
        name, _, sheet = name.partition("#")
        return [
            source
            for path in self._matching(name, place)
            for source in self._from_file(path, sheet, place, rows=fields is not None, alone=alone)
        ]

    def _matching(self, name: str, place: Place) -> list[Path]:
        pattern = self._config.base / name.removeprefix("file://")
        wrong = unreadable(pattern)
        if wrong is not None:
            self._findings.problem(place, f"tests file {name} {wrong[0]}", wrong[1])
            return []
        paths = matching(pattern)
        if not paths:
            folder = pattern.parent
            there = [p.name for p in folder.glob("*")] if folder.is_dir() else []
            hint = did_you_mean(Path(name).name, there) or f"Looked in {folder}."
            for variable in unset(name):
                hint = how_to_set(variable)
            self._findings.problem(place, f"tests file {name} does not exist", hint)
        return paths

    def _from_file(
        self, path: Path, sheet: str, place: Place, *, rows: bool, alone: bool
    ) -> list[TestSource]:
        findings = self._findings
        suffix = path.suffix.lower()
        wrong = unreadable(path)
        if wrong is not None:
            findings.problem(place, f"tests file {path.name} {wrong[0]}", wrong[1])
            return []
        if suffix in (".csv", ".tsv"):
            delimiter = self._config.env.get("PROMPTFOO_CSV_DELIMITER") or ","
            if len(delimiter) != 1 or delimiter in '"\r\n':
                findings.problem(
                    place,
                    f"PROMPTFOO_CSV_DELIMITER is {delimiter!r}",
                    "It is one character: a comma, a semicolon or a tab.",
                )
                return []
            strict = switched_on(self._config.env, "PROMPTFOO_CSV_STRICT")
            from evenhand.doors.promptfoo.tables import Csv  # noqa: PLC0415 (imported on use)

            return [Csv(path, "\t" if suffix == ".tsv" else delimiter, strict)]
        if suffix in (".xlsx", ".xls"):
            from evenhand.doors.promptfoo.tables import Xlsx  # noqa: PLC0415 (imported on use)

            return [Xlsx(path, sheet)]
        if suffix == ".jsonl":
            # Secrets stay out: what a test holds is sent to models, and stored.
            return [Jsonl(path, not_secret(self._config.env), alone)]
        if suffix not in (".json", ".yaml", ".yml"):
            findings.problem(
                place,
                f"tests cannot be read from '{path.suffix}' files",
                ending_hint(suffix)
                or "CSV, XLSX, JSONL, JSON and YAML can be, and Python functions.",
            )
            return []
        document = read_document(path, findings, place)
        if document is None:
            return []
        if is_mapping(document.value):
            return [
                ListedTests(
                    document=document,
                    items=[document.value],
                    prefix=(),
                    home=path.parent,
                    path=path,
                )
            ]
        if not is_array(document.value):
            findings.problem(Place(path, 1), "holds no tests: it is not a list of them")
            return []
        items = document.value
        if suffix == ".json":
            document.value = items = env_filled(items, not_secret(self._config.env))
        # As in promptfoo, a YAML file that `path:` names holds rows of a table, and no tests.
        if rows and suffix != ".json":
            return [RowsOfTable(document, items, path)]
        # JSON is what programs write, so it is data; YAML is written by hand, like the config.
        return [
            ListedTests(
                document=document,
                items=items,
                prefix=(),
                home=path.parent,
                path=path,
                data=suffix == ".json",
                numbered=alone,
            )
        ]


class _Inline(MutableRecord):
    """One test of a config whose tests are partly in files."""

    document: Document
    item: object
    where: tuple[str | int, ...]
    home: Path
    path: Path | None = None

    def rows(self, findings: Findings) -> Iterator[WrittenTest]:
        at = _at(self.document, self.where)
        if is_mapping(self.item):
            yield WrittenTest(self.item, at, home=self.home)
        else:
            findings.problem(at(), f"a test is {self.item!r}, not an object or a file")


def content_digest(path: Path) -> str:
    """A hash of a file's bytes."""
    h = blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            h.update(chunk)
    return h.hexdigest()


def _not_json(error: Exception) -> tuple[str, str]:
    """What to say of a line that is no JSON, and what to do."""
    if isinstance(error, TooDeep):
        return f"cannot be read: {error}", ""
    return f"is not JSON: {error}", "Each line is one whole JSON object."


def _at(document: Document, prefix: tuple[str | int, ...]) -> At:
    return lambda *path: document.at(*prefix, *path)
