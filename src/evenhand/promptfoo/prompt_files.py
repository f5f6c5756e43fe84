"""Where prompts come from: written in the config, or files of many kinds."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from evenhand.assertions.code_files import file_problems
from evenhand.core.names import did_you_mean
from evenhand.documents.findings import Findings, Place, matching
from evenhand.documents.tree import read_document, read_text
from evenhand.javascript import running as javascript
from evenhand.javascript.source import ENDINGS as JAVASCRIPT
from evenhand.promptfoo.config import Config
from evenhand.promptfoo.environment import env_filled
from evenhand.promptfoo.program_prompt import ProgramPrompt
from evenhand.promptfoo.prompts import AnyPrompt, FunctionPrompt, TextPrompt, is_chat
from evenhand.promptfoo.settings import read_settings
from evenhand.templates.printing import as_json
from evenhand.templates.rendering import has_tags, left_open

ENDINGS = frozenset(
    ".cjs .cts .j2 .js .json .jsonl .md .mjs .mts .py .ts .txt .yml .yaml .csv".split()
)
_PROGRAMS = frozenset(".sh .bash .rb .pl .ps1 .exe .bat .cmd".split())
_INTERPRETERS = {".sh": ("sh",), ".bash": ("bash",), ".rb": ("ruby",), ".pl": ("perl",)}
"""What runs a script that is not executable, or runs it all the same."""
_SEPARATOR = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
_KEYS = frozenset({"id", "label", "raw", "config", "display", "function", "prefix", "suffix"})


def read_prompts(config: Config, findings: Findings) -> list[AnyPrompt]:
    """The prompts of a config, in their order."""
    given = config.value.get("prompts")
    if given is None:
        findings.hint(
            config.at(),
            "there are no prompts: the variable 'prompt' is sent as it is",
            "Name some under prompts.",
        )
        given = ["{{prompt}}"]
    entries: list[tuple[object, str, Mapping[str, Any], Place, str]] = []
    if isinstance(given, str):
        entries.append((given, "", {}, config.at("prompts"), ""))
    elif isinstance(given, Mapping):
        for raw, label in cast("Mapping[str, object]", given).items():
            entries.append((raw, str(label), {}, config.at("prompts", raw), ""))
    elif isinstance(given, list):
        for i, item in enumerate(cast("list[object]", given)):
            entries.append(_entry(item, config, i, findings))
    else:
        findings.problem(config.at("prompts"), f"prompts is {given!r}, not a list")
    found: list[AnyPrompt] = []
    for raw, label, settings, place, id_ in entries:
        if isinstance(raw, str) and raw:
            prompts = _read(raw, label, settings, place, config, findings)
            for prompt in prompts:
                prompt.id = id_
            found += prompts
        elif raw is not None:
            findings.problem(
                place,
                f"a prompt is {raw!r}, not text",
                "Write text, file://prompt.txt or prompts.py:function.",
            )
    if not found and not findings.problems:
        findings.problem(config.at("prompts"), "there are no prompts")
    _look_at_texts(found, findings)
    return found


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


def _entry(
    item: object, config: Config, i: int, findings: Findings
) -> tuple[object, str, Mapping[str, Any], Place, str]:
    place = config.at("prompts", i)
    if not isinstance(item, Mapping):
        return item, "", {}, place, ""
    fields = cast("Mapping[str, Any]", item)
    for key in fields:
        if key not in _KEYS:
            findings.hint(
                config.at("prompts", i, key),
                f"unknown key '{key}' is not used",
                did_you_mean(key, _KEYS),
            )
    raw = fields.get("raw", fields.get("id"))
    if raw is None:
        findings.problem(
            place,
            "a prompt has neither 'raw' nor 'id'",
            "Write raw: <text>, or id: file://prompt.txt",
        )
    # Beside its text, `id` is a name of its own; alone, it says where the text is.
    id_ = str(fields.get("id") or "") if "raw" in fields else ""
    label = str(fields.get("label") or "")
    settings = read_settings(
        fields.get("config"), f"prompt {label or i}", config.base, place, findings, config.files
    )
    return raw, label, settings, place, id_


def _read(
    raw: str,
    label: str,
    settings: Mapping[str, Any],
    place: Place,
    config: Config,
    findings: Findings,
) -> list[AnyPrompt]:
    """The prompts that one entry stands for: itself, or those in the files that it names."""
    if raw.startswith("exec:"):
        return _program(raw, label, settings, place, config, findings)
    if not _may_be_path(raw):
        return [TextPrompt(label or raw, raw, settings, place, templates=config.templates)]
    text = raw.removeprefix("file://")
    name, function = _split_function(text)
    pattern = config.base / name
    paths = [
        p
        for path in matching(pattern)
        for p in (matching(path / "*") if path.is_dir() else [path])
        if p.is_file()
    ]
    if not paths:
        if raw.startswith("file://") or Path(name).suffix in ENDINGS:
            folder = pattern.parent
            names = [p.name for p in folder.glob("*")] if folder.is_dir() else []
            hint = did_you_mean(Path(name).name, names) or f"Looked in {folder}."
            findings.problem(place, f"prompt file {name} does not exist", hint)
            return []
        return [TextPrompt(label or raw, raw, settings, place, templates=config.templates)]
    found: list[AnyPrompt] = []
    for path in paths:
        shown = str(path.relative_to(config.base) if path.is_relative_to(config.base) else path)
        shown = text if len(paths) == 1 and pattern == path else shown
        found += _from_file(path, shown, function, label, settings, place, config, findings)
    return found


def _program(
    raw: str,
    label: str,
    settings: Mapping[str, Any],
    place: Place,
    config: Config,
    findings: Findings,
) -> list[AnyPrompt]:
    command = raw.removeprefix("exec:").strip()
    try:
        words = shlex.split(command)
    except ValueError as error:
        findings.problem(place, f"{raw!r} cannot be read: {error}", "Close the quote.")
        return []
    files = [config.base / word for word in words]
    file = next((path for path in files if path.is_file()), config.base)
    if not words or (os.sep in words[0] and not files[0].is_file()):
        findings.problem(place, f"{raw!r} names no program", f"Looked in {config.base}.")
        return []
    return [ProgramPrompt(label or command, command, config.base, file, settings, place)]


def _from_file(
    path: Path,
    shown: str,
    function: str,
    label: str,
    settings: Mapping[str, Any],
    place: Place,
    config: Config,
    findings: Findings,
) -> list[AnyPrompt]:
    """The prompts of one file. Labels are those of promptfoo: filters and results go by them.

    Args:
        shown: The file as the config names it.
    """
    if path.suffix in _PROGRAMS or (path.suffix not in ENDINGS and os.access(path, os.X_OK)):
        command = shlex.join([*_INTERPRETERS.get(path.suffix, ()), str(path)])
        if not os.access(path, os.X_OK) and path.suffix not in _INTERPRETERS:
            findings.problem(place, f"{path.name} is not executable", f"chmod +x {path.name}")
        return [ProgramPrompt(label or shown, command, config.base, path, settings, place)]
    if path.suffix == ".py" or path.suffix in JAVASCRIPT:
        named = label or shown
        return _from_code(path, function, named, settings, place, config, findings)
    here = Place(path)
    if path.suffix in (".yaml", ".yml", ".json"):
        text = _structured(path, place, config, findings)
        if text is None:
            return []
        beginning = text if path.suffix == ".json" else text[:80]
        return [
            TextPrompt(
                label or f"{shown}: {beginning}", text, settings, here, templates=config.templates
            )
        ]
    text = read_text(path, findings, place)
    if text is None:
        return []
    text = str(env_filled(text, config.env))
    if path.suffix == ".txt":
        pieces = [piece.strip("\r\n") for piece in _SEPARATOR.split(text)]
    elif path.suffix == ".jsonl":
        pieces = text.split("\n")
    elif path.suffix == ".csv":
        return _from_csv(text, label, settings, here, config)
    else:
        pieces = [text]
    pieces = [piece for piece in pieces if piece.strip()]
    if not pieces:
        findings.problem(place, f"prompt file {path.name} is empty")

    def called(piece: str) -> str:
        if path.suffix == ".txt":
            return f"{label}: {shown}: {piece.strip()}" if label else f"{shown}: {piece.strip()}"
        if path.suffix == ".jsonl":
            return f"{label or shown}: {piece}" if len(pieces) > 1 else label or shown
        return label or f"{shown}: {piece[:50]}..."

    return [
        TextPrompt(
            called(piece),
            piece.rstrip("\r\n") if path.suffix == ".txt" else piece,
            settings,
            here,
            templates=config.templates,
        )
        for piece in pieces
    ]


def _structured(path: Path, place: Place, config: Config, findings: Findings) -> str | None:
    """The text of a JSON or YAML file that is a prompt; None, and its problems, where it cannot be read.

    A file with tags that is JSON or YAML only once they are filled in, such as a chat with a loop, is the template
    that is written there.
    """
    reading = Findings()
    document = read_document(path, reading, place)
    if document is None:
        text = read_text(path, Findings(), place)
        if text is not None and has_tags(text):
            return str(env_filled(text, config.env))
        findings.problems += reading.problems
        return None
    findings.problems += reading.problems
    findings.hints += reading.hints
    value = env_filled(document.value, config.env)
    return value if isinstance(value, str) else as_json(value)


def _from_code(
    path: Path,
    function: str,
    label: str,
    settings: Mapping[str, Any],
    place: Place,
    config: Config,
    findings: Findings,
) -> list[AnyPrompt]:
    if path.suffix == ".py" and not function:
        # As in promptfoo, a file without a function is a program.
        findings.hint(
            place,
            f"{path.name} is run as a program, and what it prints is the prompt",
            f"To call a function of it, name one: {path.name}:function_name",
        )
        python = config.env.get("PROMPTFOO_PYTHON") or sys.executable
        command = shlex.join([python, str(path)])
        return [ProgramPrompt(label, command, config.base, path, settings, place)]
    reference = f"file://{path.name}:{function}" if function else f"file://{path.name}"
    wrong = (
        file_problems(reference, path.parent, function)
        if path.suffix == ".py"
        else javascript.problems(javascript.function(path, function))
    )
    for what, hint in wrong:
        findings.problem(place, what, hint)
    return [
        FunctionPrompt(
            label,
            path,
            function,
            config.strict_prompts,
            settings,
            place,
            templates=config.templates,
        )
    ]


def _from_csv(
    text: str, label: str, settings: Mapping[str, Any], here: Place, config: Config
) -> list[AnyPrompt]:
    import csv  # noqa: PLC0415 (prompts are seldom kept in CSV files)
    import io  # noqa: PLC0415 (see above)

    rows = list(csv.DictReader(io.StringIO(text)))
    texts = [row.get("prompt") or next(iter(row.values()), "") for row in rows]
    used = {row["label"] for row in rows if row.get("label")}
    found: list[AnyPrompt] = []
    for i, (row, raw) in enumerate(zip(rows, texts, strict=True), 1):
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
        found.append(TextPrompt(named, raw, settings, here, templates=config.templates))
    return found


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
    return (path, name) if colon and path.endswith(tuple(ENDINGS)) else (text, "")


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:39] + "…"
