"""A skill's folder: SKILL.md, and evals/evals.json as the convention of agent skills has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from evenhand.core.encoding import digest
from evenhand.core.json_shapes import is_array, is_object
from evenhand.core.record import Record
from evenhand.languages.documents.findings import Findings, Place, unreadable
from evenhand.languages.documents.tree import Document, read_document, read_text

SKILL = "SKILL.md"
PLACES = ("evals/evals.json", "evals.json")
_CHECKS = ("assertions", "expectations")
_KNOWN = frozenset({"id", "name", "prompt", "expected_output", "files", *_CHECKS})
_NAME = re.compile(r"^name:\s*['\"]?([\w.-]+)", re.MULTILINE)


class SkillEval(Record, frozen=True):
    """One task of a skill's evals.

    Attributes:
        id: What it is called; its place in the list, from 1, where it has no name.
        checks: What a good answer does, a sentence each; at least one.
        files: What the agent is given, below the skill's folder.
    """

    id: str
    prompt: str
    checks: tuple[str, ...]
    files: tuple[Path, ...] = ()


class Skill(Record, frozen=True):
    """A skill with its evals.

    Attributes:
        evals: Its tasks, in the file's order.
        digest: Of all its files but the evals.
    """

    name: str
    folder: Path
    text: str
    evals: tuple[SkillEval, ...]
    digest: str


def read_skill(folder: Path) -> Skill:
    """The skill in a folder.

    Raises:
        ConfigError: All that is wrong with its files.
    """
    findings = Findings()
    folder = folder.resolve()
    text = read_text(folder / SKILL, findings)
    file = next((folder / name for name in PLACES if (folder / name).is_file()), None)
    evals: tuple[SkillEval, ...] = ()
    if file is None:
        findings.problem(
            Place(folder / PLACES[0]),
            "does not exist",
            'Write {"evals": [{"id": 1, "prompt": "…", "assertions": ["…"]}]}, a task each.',
        )
    elif (document := read_document(file, findings)) is not None:
        evals = _evals(document, folder, findings)
    if findings.problems:
        raise findings.error()
    named = _NAME.search((text or "").partition("\n---")[0])
    return Skill(named[1] if named else folder.name, folder, text or "", evals, _digest(folder))


def _evals(document: Document, folder: Path, findings: Findings) -> tuple[SkillEval, ...]:
    value = document.value
    rows = value.get("evals") if is_object(value) else None
    if not is_array(rows) or not rows:
        findings.problem(
            document.at(),
            "holds no evals",
            'Write an object with a list of tasks: {"evals": [{"prompt": "…", "assertions": ["…"]}]}.',
        )
        return ()
    evals: list[SkillEval] = []
    names: set[str] = set()
    for i, row in enumerate(rows):
        one = _eval(document, i, row, folder, findings)
        if one is None:
            continue
        if one.id in names:
            findings.problem(document.at("evals", i), f"the id {one.id!r} appears twice")
        names.add(one.id)
        evals.append(one)
    return tuple(evals)


def _eval(
    document: Document, i: int, row: object, folder: Path, findings: Findings
) -> SkillEval | None:
    at = document.at
    if not is_object(row):
        findings.problem(at("evals", i), "an eval is an object with a prompt")
        return None
    for key in row.keys() - _KNOWN:
        findings.hint(at("evals", i, key), f"unknown key '{key}' of an eval is not used")
    prompt = row.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        findings.problem(at("evals", i), "an eval needs a prompt", 'Write "prompt": "…".')
        return None
    files = _files(document, i, row, folder, findings)
    checks: list[str] = []
    for key in _CHECKS:
        listed = row.get(key) or []
        if not is_array(listed):
            findings.problem(at("evals", i, key), f"{key} is not a list of sentences")
            continue
        for j, check in enumerate(listed):
            if isinstance(check, str) and check.strip():
                checks.append(check)
            else:
                findings.problem(at("evals", i, key, j), "this is not a sentence to check")
    expected = row.get("expected_output")
    if not checks and isinstance(expected, str) and expected.strip():
        checks = [f"does what is expected: {expected}"]
    if not checks and not any(row.get(key) for key in _CHECKS):
        findings.problem(
            at("evals", i),
            "nothing is expected of the answer",
            'Write "assertions": ["what a good answer does", …].',
        )
    if not checks:
        return None
    identity = row.get("id", row.get("name", i + 1))
    return SkillEval(str(identity), prompt, tuple(dict.fromkeys(checks)), files)


def _files(
    document: Document, i: int, fields: Mapping[str, object], folder: Path, findings: Findings
) -> tuple[Path, ...]:
    """The files of an eval, which are below the skill's folder and nowhere else."""
    listed = fields.get("files") or []
    if not is_array(listed):
        findings.problem(document.at("evals", i, "files"), "files is not a list of paths")
        return ()
    files: list[Path] = []
    for j, name in enumerate(listed):
        place = document.at("evals", i, "files", j)
        path = (folder / str(name)).resolve()
        if not isinstance(name, str) or not path.is_relative_to(folder):
            findings.problem(place, f"{name!r} is not a path below the skill's folder")
        elif not path.is_file():
            findings.problem(place, f"{name} does not exist", f"Looked in {folder}.")
        elif (refusal := unreadable(path)) is not None:
            findings.problem(place, f"{name} {refusal[0]}", refusal[1])
        else:
            files.append(path)
    return tuple(files)


def _digest(folder: Path) -> str:
    """Of what the agent is given of the skill."""
    parts: list[bytes | str] = []
    for path in files_of(folder):
        parts += [path.relative_to(folder).as_posix(), path.read_bytes()]
    return digest(*parts)


def files_of(folder: Path) -> list[Path]:
    """The skill's files, without its evals and hidden ones."""
    inside = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [
        path
        for path in inside
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.relative_to(folder).parts[0] not in ("evals", "evals.json", "offline.jsonl")
    ]
