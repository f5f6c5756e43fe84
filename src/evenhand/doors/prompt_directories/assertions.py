"""The assertions of an eval.yml: each operator read once, and asked of each output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import field

from evenhand.core.definition import written_definition
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import EvenhandError, UsageError
from evenhand.core.expect import Expectation, Scorer
from evenhand.core.json_shapes import is_array, is_mapping, is_number, is_whole
from evenhand.core.message import Task
from evenhand.core.names import did_you_mean
from evenhand.core.provider import Provider, judging_task
from evenhand.core.record import MutableRecord, Record
from evenhand.doors.assertions.assertion import Make
from evenhand.doors.assertions.identity import assertions_digest
from evenhand.doors.assertions.reading import AssertionReader, Judges
from evenhand.doors.prompt_directories.eval_scorers import Finds, Has, Long
from evenhand.doors.prompt_directories.library import Library, leads_out
from evenhand.languages.documents.findings import At, Findings, Place, shown_path
from evenhand.languages.documents.tree import read_document
from evenhand.providers.roster import DefaultJudge, Roster
from evenhand.scorers.structured import IsJson, validator

OPERATORS: Mapping[str, str] = {
    "contains": "this text is in the output",
    "not_contains": "this text is not in the output",
    "contains_any": "one of these texts is in the output",
    "contains_all": "each of these texts is in the output",
    "matches": "this regular expression, Python's, finds something",
    "not_matches": "this regular expression finds nothing",
    "min_words": "it has at least this many words",
    "max_words": "it has at most this many words",
    "min_tokens": "as min_words, unless defaults say tokens: tokens",
    "max_tokens": "as max_words, unless defaults say tokens: tokens",
    "json_schema": "the output is JSON that fits this schema, or the one in this file",
}


class CaseJudges(Record, frozen=True):
    """Who is asked by the typed assertions of one case. Implements `evenhand.doors.assertions.reading.Judges`.

    Attributes:
        roster: Finds models by name.
        named: Who judges, in the case or else by default; empty for nobody.
        findings: Where names that nobody knows are noted.
    """

    roster: Roster
    named: DefaultJudge
    findings: Findings

    def judge(self, spec: object, place: Place, task: Task = "generate") -> Provider | None:
        """The model that a `provider` names: by its id, or as an object with an id and a config."""
        fields = spec if is_mapping(spec) else {"id": spec}
        id_, config = fields.get("id"), fields.get("config") or {}
        if not isinstance(id_, str) or not isinstance(config, Mapping):
            hint = "Write provider: openai:chat:gpt-5-mini, or {id: …, config: {…}}."
            self.findings.problem(place, f"a provider is {spec!r}, not a model", hint)
            return None
        try:
            model = self.roster.make(id_, config=config) if config else self.roster(id_)
        except UsageError as error:
            self.findings.problem(place, error.message, error.hint)
            return None
        if judging_task(model, task) is None:
            self.findings.problem(place, f"{id_} cannot do what this assertion asks of a model")
            return None
        return model

    def default_judge(self, place: Place, task: Task = "generate") -> Provider | None:
        """Who judges where the assertion names nobody; nobody embeds, classifies or moderates by default."""
        if task != "generate":
            return None
        try:
            return self.roster.judge_of(self.named)
        except UsageError as error:
            self.findings.problem(place, error.message, error.hint)
            return None


class OperatorReader(MutableRecord, kw_only=True):
    """Reads the assertions of one eval.yml: its own operators, and those with a `type`.

    Attributes:
        library: Where files that are named are looked for first, and then in `folder`.
        counts_tokens: Whether `max_tokens` means tokens, and not words.
        files: The files that were named.
        checked: A digest of each item that was read, in their order; empty for one of which it can't be known what it
            depends on.
        told_words: Whether it has been said that `max_tokens` counts words: once for a file is enough.
    """

    library: Library
    folder: Path
    findings: Findings
    counts_tokens: bool = False
    files: set[Path] = field(default_factory=set[Path])
    checked: list[str] = field(default_factory=list[str])
    told_words: bool = False

    def read(self, item: object, at: At, judges: Judges | None) -> list[Make]:
        """What one item of `assert` expects.

        Args:
            at: Where it and its keys stand.
            judges: Who is asked by those with a `type`; None leaves these unread.
        """
        if not is_mapping(item) or not item:
            self.findings.problem(
                at(),
                f"an assertion is {item!r}, not an operator with a value",
                'Write - contains: "…".',
            )
            return []
        if "type" in item:
            return self._typed(item, at, judges)
        makes: list[Make] = []
        for op, value in item.items():
            if op not in OPERATORS:
                near = did_you_mean(op, OPERATORS) or f"There are: {', '.join(OPERATORS)}."
                self.findings.problem(at(op), f"assertion '{op}' is not known", near)
                continue
            scorer = self._scorer(op, value, at(op))
            if scorer is not None:
                makes.append(_expecting(scorer))
                self.checked.append(self._operator_digest(op, value, at(op)))
        return makes

    def _typed(self, fields: Mapping[str, Any], at: At, judges: Judges | None) -> list[Make]:
        """An assertion with a `type`, which all front doors share. What is wrong with it is its case's error."""
        self.files.update(_named(fields, self.library.root))
        if judges is None:
            return []
        reader = AssertionReader(self.library.root, judges, self.findings)
        expected = reader.one(fields, at)
        self.files.update(reader.files)
        if expected.contests:
            what = f"'{fields['type']}' compares the outputs of variants, and a case has one"
            self.findings.problem(at("type"), what, "Compare prompts with `evenhand compare`.")
        for problem in expected.broken.values():
            self.findings.problems.append(problem)
        self.checked.append(assertions_digest(expected.assertions))
        return list(expected.makes)

    def _operator_digest(self, op: str, value: object, place: Place) -> str:
        schema = op == "json_schema" and isinstance(value, str)
        path = self.file(str(value), place) if schema else None
        try:
            content = path.read_bytes() if path is not None else encode(value)
        except (OSError, TypeError, ValueError):
            return ""
        return digest(op, content, str(self.counts_tokens))

    def _scorer(self, op: str, value: object, place: Place) -> Scorer | None:
        if op == "json_schema":
            return self._schema(value, place)
        if op in ("matches", "not_matches"):
            return self._pattern(op, value, place)
        if op.endswith(("_tokens", "_words")):
            return self._long(op, value, place)
        texts = self._texts(op, value, place)
        return Has(op, texts) if texts else None

    def _texts(self, op: str, value: object, place: Place) -> Sequence[str]:
        several = op in ("contains_any", "contains_all")
        items = value if several else [value]
        if not is_array(items) or not items:
            hint = f"Write {op}: [one, two]."
            self.findings.problem(place, f"{op} is {value!r}, not a list of texts", hint)
            return ()
        texts: list[str] = []
        for text in items:
            if is_number(text):
                text = str(text)  # noqa: PLW2901 (contains: 30 means the text)
            if not isinstance(text, str) or not text:
                self.findings.problem(place, f"{op}: {text!r} is not a text to look for")
                return ()
            texts.append(text)
        return texts

    def _pattern(self, op: str, value: object, place: Place) -> Scorer | None:
        if not isinstance(value, str):
            self.findings.problem(place, f"{op} is {value!r}, not a regular expression")
            return None
        try:
            re.compile(value)
        except (re.error, OverflowError, RecursionError) as error:
            self.findings.problem(place, f"{op}: {value!r} is not a regular expression: {error}")
            return None
        return Finds(op, value)

    def _long(self, op: str, value: object, place: Place) -> Scorer | None:
        if not is_whole(value) or value < 0:
            self.findings.problem(place, f"{op} is {value!r}, not a whole number")
            return None
        counts = "tokens" if self.counts_tokens and op.endswith("_tokens") else "words"
        if counts == "words" and op.endswith("_tokens") and not self.told_words:
            self.told_words = True
            named = op.replace("tokens", "words")
            what = f"{op} counts words, as it always has in an eval.yml"
            hint = f"Write {named}; or 'tokens: tokens' below defaults, to count tokens."
            self.findings.hint(place, what, hint)
        return Long(op, value, counts)

    def _schema(self, value: object, place: Place) -> Scorer | None:
        schema = value
        if isinstance(value, str):
            path = self.file(value, place)
            if path is None:
                return None
            document = read_document(path, self.findings, place)
            if document is None:
                return None
            schema = document.value
        if not is_mapping(schema):
            hint = "Write the schema itself, or the name of a file with it."
            self.findings.problem(place, f"json_schema is {schema!r}, not a schema", hint)
            return None
        try:
            validator(json.dumps(schema))
            return IsJson(schema)
        except (EvenhandError, ValueError) as error:
            self.findings.problem(place, f"json_schema: {error}")
            return None

    def file(self, name: str, place: Place) -> Path | None:
        """The file that is meant, of the repository first and then of the prompt; None, and a problem, for none."""
        root = self.library.root
        tried = [base / name for base in (root, self.folder)]
        for path in tried:
            if path.is_file() and not leads_out(path, root):
                self.files.add(path)
                return path
        if any(leads_out(path, root) for path in tried):
            what = f"{name!r} leads out of the repository"
            self.findings.problem(place, what, "Only files in it are read.")
            return None
        looked = " and ".join(shown_path(path.parent) for path in tried)
        self.findings.problem(place, f"{name!r} does not exist", f"Looked in {looked}.")
        return None


def _named(value: object, base: Path) -> Iterator[Path]:
    """The files that a typed assertion names anywhere, `file://grader.py:function` say."""
    if isinstance(value, str) and value.startswith("file://"):
        name = value.removeprefix("file://")
        for path in (base / name, base / name.rpartition(":")[0]):
            if path.is_file() and not leads_out(path, base):
                yield path
    elif isinstance(value, (list, Mapping)):
        items = value.values() if is_mapping(value) else value
        for item in items:
            yield from _named(item, base)


def _expecting(scorer: Scorer) -> Make:
    definition = written_definition(scorer)
    if isinstance(scorer, Long):  # of whoever answered: tokens are a model's own
        return lambda cell: Expectation(
            cell.output, replace(scorer, model=cell.provider_id), definition=definition
        )
    return lambda cell: Expectation(cell.output, scorer, definition=definition)
