"""Where prompts come from: written in the config, or files of many kinds."""

from __future__ import annotations

import io
import itertools
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.core.json_schema import ANY, TABLE, TEXT
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.table import TableKey, own
from evenhand.doors.assertions.code_files import file_problems
from evenhand.doors.promptfoo.config import Config
from evenhand.doors.promptfoo.models import read_settings
from evenhand.doors.promptfoo.prompts import (
    AnyPrompt,
    FunctionPrompt,
    ProgramPrompt,
    TextPrompt,
    is_chat,
)
from evenhand.languages.documents.findings import At, Findings, Place, matching
from evenhand.languages.documents.tree import (
    RESOLVE,
    UNRESOLVED,
    conflict_in,
    read_document,
    read_text,
)
from evenhand.languages.javascript.references import ENDINGS as JAVASCRIPT
from evenhand.languages.templates.printing import as_json
from evenhand.languages.templates.rendering import has_tags, left_open

ENDINGS = frozenset(
    ".cjs .cts .j2 .js .json .jsonl .md .mjs .mts .py .ts .txt .yml .yaml .csv".split()
)
_PROGRAMS = frozenset(".sh .bash .rb .pl .ps1 .exe .bat .cmd".split())
_INTERPRETERS = {".sh": ("sh",), ".bash": ("bash",), ".rb": ("ruby",), ".pl": ("perl",)}
"""What runs a script that is not executable, or runs it all the same."""
KEYS: Mapping[str, TableKey] = {
    "id": TableKey("The prompt's file, or its name.", own(TEXT)),
    "label": TableKey("What it is called in results.", own(TEXT)),
    "raw": TableKey("The prompt's text.", own(ANY)),
    "config": TableKey("Settings of the model for this prompt.", own(TABLE)),
    "display": TableKey("The former name of label.", own(TEXT)),
    "function": TableKey("No effect: only in JavaScript.", own(ANY)),
    "prefix": TableKey("Before the prompt.", own(TEXT)),
    "suffix": TableKey("After the prompt.", own(TEXT)),
}


class _Entry(Record, frozen=True):
    """One item under `prompts`.

    Attributes:
        raw: As written: text, a path, or a command.
        label: What it is called; empty for what promptfoo calls it.
        settings: They go over the model's own.
        id: A name of its own; empty for none.
    """

    raw: object
    label: str
    settings: Mapping[str, Any]
    place: Place
    id: str = ""


def read_prompts(config: Config, findings: Findings, files: set[Path]) -> list[AnyPrompt]:
    """The prompts of a config, in their order.

    Args:
        files: Is told which files their settings are in.
    """
    reader = _PromptReader(config, findings)
    prompts: list[AnyPrompt] = []
    for entry in _entries(config, findings, files):
        if isinstance(entry.raw, str) and entry.raw:
            prompts += reader.read(entry.raw, entry)
        elif entry.raw is not None:
            findings.problem(
                entry.place,
                f"a prompt is {entry.raw!r}, not text",
                "Write text, file://prompt.txt or prompts.py:function.",
            )
    if not prompts and not findings.problems:
        findings.problem(config.at("prompts"), "there are no prompts")
    _look_at_texts(prompts, findings)
    return prompts


def _entries(config: Config, findings: Findings, files: set[Path]) -> list[_Entry]:
    prompts = config.value.get("prompts")
    if prompts is None:
        findings.hint(
            config.at(),
            "there are no prompts: the variable 'prompt' is sent as it is",
            "Name some under prompts.",
        )
        prompts = ["{{prompt}}"]
    if isinstance(prompts, str):
        return [_Entry(prompts, "", {}, config.at("prompts"))]
    if is_mapping(prompts):
        for raw, label in prompts.items():
            if isinstance(label, str) and has_tags(label) and not has_tags(raw):
                what = (
                    f"the prompt is '{_clipped(raw)}', and '{_clipped(label)}' is what it is called"
                )
                findings.hint(
                    config.at("prompts", raw), what, f"Write a list: - {{label: {raw}, raw: …}}."
                )
        return [
            _Entry(raw, str(label), {}, config.at("prompts", raw)) for raw, label in prompts.items()
        ]
    if is_array(prompts):
        items = prompts
        return [_entry(item, config, i, findings, files) for i, item in enumerate(items)]
    findings.problem(
        config.at("prompts"),
        f"prompts is {prompts!r}, not a list",
        'Write a list: ["Say {{word}}.", "file://prompt.txt"].',
    )
    return []


def _entry(item: object, config: Config, i: int, findings: Findings, files: set[Path]) -> _Entry:
    place = config.at("prompts", i)
    if not is_mapping(item):
        return _Entry(item, "", {}, place)
    findings.unknown(item, KEYS, partial(config.at, "prompts", i))
    raw = item.get("raw", item.get("id"))
    if raw is None:
        findings.problem(
            place,
            "a prompt has neither 'raw' nor 'id'",
            "Write raw: <text>, or id: file://prompt.txt",
        )
    # Beside its text, `id` is a name of its own; alone, it says where the text is.
    id_ = str(item.get("id") or "") if "raw" in item else ""
    label = str(item.get("label") or "")
    whose = f"prompt {label or i}"
    settings = read_settings(
        item.get("config"), whose, config, config.base, place=place, findings=findings, files=files
    )
    return _Entry(raw, label, settings, place, id_)


def _look_at_texts(prompts: Sequence[AnyPrompt], findings: Findings) -> None:
    """Notes texts with a tag that is never closed."""
    for prompt in prompts:
        if not isinstance(prompt, TextPrompt) or is_chat(prompt.raw):
            continue
        line = left_open(prompt.raw)
        if line:
            findings.hint(
                prompt.place,
                f"prompt '{_clipped(prompt.label)}': a tag is opened and not closed, so the line is sent as it is: "
                f"{_clipped(line)}",
            )


class _PromptReader:
    """Makes the prompts that the entries of one config stand for."""

    def __init__(self, config: Config, findings: Findings) -> None:
        self._config = config
        self._findings = findings

    def read(self, raw: str, entry: _Entry) -> list[AnyPrompt]:
        """The prompts that one entry stands for: itself, or those in the files that it names."""
        base = self._config.base
        if raw.startswith("exec:"):
            return self._command(raw, entry)
        if not _may_be_path(raw):
            return [self._text(entry.label or raw, raw, entry)]
        text = raw.removeprefix("file://")
        name, function = _split_function(text)
        pattern = base / name
        paths = [
            p
            for path in matching(pattern)
            for p in (matching(path / "*") if path.is_dir() else [path])
            if p.is_file()
        ]
        if not paths:
            if raw.startswith("file://") or Path(name).suffix in ENDINGS:
                if pattern.is_dir():
                    what = f"{name} is a folder without files"
                    self._findings.problem(
                        entry.place, what, "Put prompts into it, or name a file."
                    )
                    return []
                folder = pattern.parent
                names = [p.name for p in folder.glob("*")] if folder.is_dir() else []
                hint = did_you_mean(Path(name).name, names) or f"Looked in {folder}."
                self._findings.problem(entry.place, f"prompt file {name} does not exist", hint)
                return []
            # Text with a slash or an asterisk in it looks like a path, and is a prompt where no file matches.
            return [self._text(entry.label or raw, raw, entry)]
        prompts: list[AnyPrompt] = []
        for path in paths:
            # No label has the config's own folder in it: runs of two copies of a folder have the same columns.
            label_path, whole_path = os.path.relpath(path, base), ""
            # A single file keeps the name that the config gives it, since filters go by that name.
            single = len(paths) == 1 and pattern == path
            if single and not Path(name).is_absolute():
                label_path = text
            elif single:
                label_path, whole_path = label_path + text.removeprefix(name), text
            elif not path.is_relative_to(base):
                whole_path = str(path)
            for prompt in self._from_file(path, label_path, function, entry):
                if whole_path:
                    prompt.by_path = prompt.label.replace(label_path, whole_path, 1)
                prompts.append(prompt)
        return prompts

    def _text(
        self, label: str, text: str, entry: _Entry, place: Place | None = None, at: At | None = None
    ) -> TextPrompt:
        templates = self._config.templates
        where = place or entry.place
        return TextPrompt(
            label=label,
            raw=text,
            config=entry.settings,
            place=where,
            id=entry.id,
            templates=templates,
            at=at,
        )

    def _program(self, label: str, command: str, file: Path, entry: _Entry) -> ProgramPrompt:
        base = self._config.base
        return ProgramPrompt(
            label=label,
            command=command,
            folder=base,
            path=file,
            config=entry.settings,
            place=entry.place,
            id=entry.id,
        )

    def _command(self, raw: str, entry: _Entry) -> list[AnyPrompt]:
        base = self._config.base
        command = raw.removeprefix("exec:").strip()
        try:
            words = shlex.split(command)
        except ValueError as error:
            what = f"{raw!r} cannot be read: {error}"
            self._findings.problem(entry.place, what, "Close the quote.")
            return []
        files = [base / word for word in words]
        file = next((path for path in files if path.is_file()), base)
        # A bare name is looked up on PATH when it is run; only a path can be checked here.
        if not words or (os.sep in words[0] and not files[0].is_file()):
            self._findings.problem(entry.place, f"{raw!r} names no program", f"Looked in {base}.")
            return []
        return [self._program(entry.label or command, command, file, entry)]

    def _from_file(
        self, path: Path, label_path: str, function: str, entry: _Entry
    ) -> list[AnyPrompt]:
        """The prompts of one file. Labels are those of promptfoo: filters and results go by them.

        Args:
            label_path: The file as the config names it.
        """
        label, findings = entry.label, self._findings
        if path.suffix in _PROGRAMS or (path.suffix not in ENDINGS and os.access(path, os.X_OK)):
            command = shlex.join([*_INTERPRETERS.get(path.suffix, ()), str(path)])
            if not os.access(path, os.X_OK) and path.suffix not in _INTERPRETERS:
                what = f"{path.name} is not executable"
                findings.problem(entry.place, what, f"chmod +x {path.name}")
            return [self._program(label or label_path, command, path, entry)]
        if path.suffix == ".py" or path.suffix in JAVASCRIPT:
            return [self._from_code(path, function, label or label_path, entry)]
        here = Place(path)
        if path.suffix in (".yaml", ".yml", ".json"):
            written = self._structured(path, entry.place)
            if written is None:
                return []
            text, at = written
            # promptfoo calls a JSON prompt by all of its text, and a YAML prompt by its beginning.
            beginning = text if path.suffix == ".json" else text[:80]
            return [self._text(label or f"{label_path}: {beginning}", text, entry, here, at)]
        text = read_text(path, findings, entry.place)
        if text is None:
            return []
        if (conflict := conflict_in(text)) is not None:
            findings.hint(Place(path, conflict, 1), UNRESOLVED, f"It is sent as it is. {RESOLVE}")
        if path.suffix == ".csv":
            return self._from_table(path, text, entry)
        separator = self._config.env.get("PROMPTFOO_PROMPT_SEPARATOR") or "---"
        named = _named_pieces(path.suffix, text, label_path, label, separator)
        if not named:
            findings.problem(entry.place, f"prompt file {path.name} is empty")
        # Blank lines are no prompts, but they count for the line numbers of the others.
        lines = [n for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        places = [Place(path, n) for n in lines] if path.suffix == ".jsonl" else [here] * len(named)
        return [
            self._text(name, piece, entry, place)
            for (name, piece), place in zip(named, places, strict=True)
        ]

    def _from_table(self, path: Path, text: str, entry: _Entry) -> list[AnyPrompt]:
        from evenhand.languages.documents.delimited import NotDelimited  # noqa: PLC0415 (imported on use)

        try:
            named = _of_csv(text, entry.label)
        except NotDelimited as error:
            self._findings.problem(Place(path, error.line), error.what, error.hint)
            return []
        return [self._text(name, raw, entry, Place(path, line)) for line, name, raw in named]

    def _structured(self, path: Path, place: Place) -> tuple[str, At | None] | None:
        """The text of a JSON or YAML file that is a prompt, and where its parts are.

        None, and its problems, where it cannot be read.

        A file with tags that is JSON or YAML only once they are filled in, such as a chat with a loop, is the template
        that is written there.
        """
        # Kept apart: faults of the YAML are none of a template that is YAML only once it is filled in.
        reading = Findings(replacing=self._findings.replacing)
        document = read_document(path, reading, place)
        if document is None:
            text = read_text(path, Findings(replacing=True), place)
            if text is not None and has_tags(text):
                return text, None
            self._findings.problems += reading.problems
            return None
        self._findings.problems += reading.problems
        self._findings.hints += reading.hints
        value = document.value
        return value if isinstance(value, str) else as_json(value), document.at

    def _from_code(self, path: Path, function: str, label: str, entry: _Entry) -> AnyPrompt:
        config, findings = self._config, self._findings
        if path.suffix == ".py" and not function:
            # As in promptfoo, a file without a function is a program.
            findings.hint(
                entry.place,
                f"{path.name} is run as a program, and what it prints is the prompt",
                f"To call a function of it, name one: {path.name}:function_name",
            )
            python = config.env.get("PROMPTFOO_PYTHON") or sys.executable
            return self._program(label, shlex.join([python, str(path)]), path, entry)
        reference = f"file://{path.name}:{function}" if function else f"file://{path.name}"
        if path.suffix == ".py":
            wrong = file_problems(reference, path.parent, function)
        else:
            from evenhand.languages.javascript import running as javascript  # noqa: PLC0415 (only for configs with code)

            wrong = javascript.problems(javascript.function(path, function))
        for what, hint in wrong:
            findings.problem(entry.place, what, hint)
        return FunctionPrompt(
            label=label,
            path=path,
            function=function,
            strict=config.strict_prompts,
            config=entry.settings,
            place=entry.place,
            id=entry.id,
            templates=config.templates,
        )


def _named_pieces(
    suffix: str, text: str, name: str, label: str, separator: str
) -> list[tuple[str, str]]:
    """The prompts in the text of a file, each with what it is called."""
    pieces = [text]
    if suffix in (".txt", ".jsonl"):
        text = text.replace("\r\n", "\n")  # Git's and Windows' doing: no part of a prompt
        pieces = text.split("\n")
    if suffix == ".txt":
        lines = rf"^[^\S\n]*{re.escape(separator)}[^\S\n]*$"
        pieces = [piece.strip() for piece in re.split(lines, text, flags=re.MULTILINE)]
    pieces = [piece for piece in pieces if piece.strip()]

    def called(piece: str) -> str:
        if suffix == ".txt":
            return f"{label}: {name}: {piece}" if label else f"{name}: {piece}"
        if suffix == ".jsonl":
            return f"{label or name}: {piece}" if len(pieces) > 1 else label or name
        return label or f"{name}: {piece[:50]}..."

    return [(called(piece), piece) for piece in pieces]


def _of_csv(text: str, label: str) -> list[tuple[int, str, str]]:
    """The prompts in the text of a CSV file, each with its line and what it is called.

    Raises:
        NotDelimited: It is not CSV.
    """
    from evenhand.languages.documents.delimited import records  # noqa: PLC0415 (imported on use)

    table = records(io.StringIO(text, newline=""))
    _, names = next(table, (1, []))
    header = [name.strip() for name in names]
    lines: list[int] = []
    rows: list[dict[str, str]] = []
    for line, cells in table:
        if any(cells):
            lines.append(line)
            rows.append(dict(zip(header, cells, strict=False)))
    texts = [row.get("prompt") or next(iter(row.values()), "") for row in rows]
    # The labels that rows bring along, so that none that is made up below is the same.
    used = {row["label"] for row in rows if row.get("label")}
    prompts: list[tuple[int, str, str]] = []
    for i, (line, row, raw) in enumerate(zip(lines, rows, texts, strict=True), 1):
        if not raw:
            continue
        named = row.get("label") or ""
        if not named:
            plain = f"{label}: {raw}" if len(rows) > 1 else label
            named = plain = plain if label else f"Prompt {i} - {raw}"
            for again in itertools.count(1):
                if named not in used:
                    break
                named = f"{plain} (row {i}{f'.{again}' if again > 1 else ''})"
            used.add(named)
        prompts.append((line, named, raw))
    return prompts


def _may_be_path(text: str) -> bool:
    if "\n" in text:
        return False
    if text.startswith("file://"):
        return True
    if "{{" in text or len(text) > 400:
        return False
    name, _ = _split_function(text)
    return Path(name).suffix in ENDINGS | _PROGRAMS or (
        " " not in text and any(char in text for char in "*/\\")
    )


def _split_function(text: str) -> tuple[str, str]:
    path, colon, name = text.rpartition(":")
    # A colon in prose or in a drive's name (`C:`) does not split anything.
    return (path, name) if colon and path.endswith(tuple(ENDINGS)) else (text, "")


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:39] + "…"
