"""The files that hooks, graders and schemas load: what decides a verdict beside the file that is named.

How this works: a program is read, not run. Every word in it that is the name of a file in the repository counts, from
the program's folder, from the prompt's and from the repository's root, and so do the modules that Python imports; then
the files found are read in the same way. Too much is found rather than too little: a file that only a comment names
makes evidence stale, which another run mends. What a program builds the name of while it runs is not found; kept in
the prompt's folder it counts all the same, as all files there do.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from evenhand.doors.prompt_directories.library import (
    ALIASES,
    EVAL,
    EXAMPLES,
    META,
    PROMPTS,
    TEMPLATE,
    leads_out,
)
from evenhand.providers.local_code import command_files

LONGEST = 512 * 1024
"""Bytes of a program that are read for names."""
MOST = 2_000
_WORD = re.compile(r"[\s\"'`()<>|&;=,${}\[\]*?#]+")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_SCHEME = re.compile(r"\A(?:file://|python:|exec:|package:)")
_PROGRAMS = frozenset(
    {"", ".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".json"}
    | {".yml", ".yaml", ".awk", ".jq", ".toml"}
)
_ENDINGS = ("", ".py", ".js", ".mjs", ".cjs", ".ts", ".json", ".sh")
_SCRIPT = re.compile(r"\.[cm]?[jt]s(?::|$)")
_APART = frozenset({META, ALIASES, EVAL, TEMPLATE, "offline.jsonl"})
"""What a prompt's folder has that is hashed elsewhere, or decides nothing."""


def reached(starts: Iterable[Path], folder: Path, root: Path) -> set[Path]:
    """The files of the repository that these load, and those that they load in turn; without these themselves.

    Args:
        starts: Programs, or files that name some.
    """
    first = [path for path in starts if path.is_file()]
    files: set[Path] = set()
    waiting = list(first)
    while waiting and len(files) < MOST:
        for path in _named_in(waiting.pop(), folder, root):
            if path not in files and path not in first:
                files.add(path)
                waiting.append(path)
    return files


def reached_by_id(model: str, folder: Path, root: Path) -> set[Path]:
    """The files that a model's id names, `python:answers.py:call_api` say, and those that they load."""
    if not model.startswith(("python:", "exec:", "file:")) and not _SCRIPT.search(model):
        return set()
    files = {path for word in _words(model) for path in _meant(word, (root,), root)}
    if model.startswith("exec:"):
        with contextlib.suppress(ValueError):  # a quote that is not closed
            run = command_files(shlex.split(model.removeprefix("exec:")), root)
            files |= {path for path in run if _counts(path, root)}
    return files | reached(files, folder, root)


def beside(folder: Path) -> Iterator[Path]:
    """The files of a prompt's folder that nothing else accounts for: not its metadata, its cases or its evidence."""
    for place, folders, names in os.walk(folder):
        # Changed in place, which keeps os.walk out of those that are left out.
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith((".", "__pycache__"))
            and not (Path(place) == folder and name == EXAMPLES)
        )
        for name in sorted(names):
            path = Path(place, name)
            ours = Path(place) == folder and (name in _APART or name.upper().startswith("README"))
            if not name.startswith(".") and not ours and not leads_out(path, folder):
                yield path


def _named_in(file: Path, folder: Path, root: Path) -> Iterator[Path]:
    """The files that one file names."""
    try:
        if file.suffix not in _PROGRAMS or file.stat().st_size > LONGEST:
            return
        text = file.read_bytes().decode("utf-8", "replace")
    except OSError:
        return
    places = tuple(dict.fromkeys((file.parent, folder, root)))
    for word in dict.fromkeys(_words(text)):
        yield from _meant(word, places, root)
    if file.suffix == ".py":
        for module, places_of in _imports(text, file, places):
            yield from _meant(module, places_of, root)


def _words(text: str) -> Iterator[str]:
    """What may be the name of a file: it has a dot or a slash in it."""
    for piece in _WORD.split(text):
        word = _SCHEME.sub("", piece)
        if len(word) > 300 or ("." not in word and "/" not in word) or not word.strip("./"):
            continue
        yield word
        if ":" in word:  # grader.py:function
            yield word.rpartition(":")[0]
        if _MODULE.fullmatch(word):  # python -m checks.lint
            yield word.replace(".", "/")


def _meant(word: str, places: Iterable[Path], root: Path) -> Iterator[Path]:
    """The files that a word is the name of: as it is, and without the folders before it, which a variable may hold."""
    parts = [part for part in word.split("/") if part and part != "."]
    endings = ("",) if parts and parts[-1].endswith(_ENDINGS[1:]) else _ENDINGS
    for place in places:
        for i in range(len(parts)):
            name = os.path.normpath(os.path.join(place, *parts[i:]))
            for ending in (*endings, "/__init__.py"):
                if os.path.isfile(name + ending) and _counts(Path(name + ending), root):
                    yield Path(name + ending)


def _counts(path: Path, root: Path) -> bool:
    """Whether this is a file of the repository that may decide something; evidence and metadata decide nothing."""
    if not path.is_relative_to(root) or leads_out(path, root):
        return False
    inside = path.relative_to(root).parts
    if any(part.startswith(".") for part in inside):
        return False
    ours = len(inside) == 3 and inside[0] == PROMPTS  # prompts/ID/FILE
    return not (ours and inside[-1] in _APART)


def _imports(
    text: str, file: Path, places: tuple[Path, ...]
) -> Iterator[tuple[str, tuple[Path, ...]]]:
    """The modules that a Python file imports, as paths without an ending, and where they are looked for."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name.replace(".", "/"), places
        elif isinstance(node, ast.ImportFrom):
            where = places
            if node.level:
                up = file.parent
                for _ in range(node.level - 1):
                    up = up.parent
                where = (up,)
            base = (node.module or "").replace(".", "/")
            if base:
                yield base, where
            for name in node.names:
                yield f"{base}/{name.name}".lstrip("/"), where
