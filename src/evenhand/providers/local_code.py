"""What a program or a function of the user's consists of, as far as its answers may depend on it.

A changed file is another model: an answer that was cached for the old one must not stand for the new one.
"""

from __future__ import annotations

import os
from pathlib import Path

from evenhand.core.encoding import digest

MOST_FILES = 2_000
LARGEST = 4_000_000
_NOT_CODE = frozenset({"node_modules", "venv", "site-packages", "__pycache__"})


def code_digest(*files: Path) -> str:
    """A hash of these files and of all Python files in and below their folders. Files that are not there count nothing.

    Hidden folders, virtual environments and files of more than 4 MB are left out, and no more than 2,000 are read.
    """
    files_by_path: dict[str, Path] = {}
    for file in files:
        if not file.is_file():
            continue
        files_by_path[str(file.resolve())] = file
        for path in _python_below(file.resolve().parent):
            files_by_path.setdefault(str(path), path)
    parts: list[bytes] = []
    for name in sorted(files_by_path)[:MOST_FILES]:
        path = files_by_path[name]
        try:
            if path.stat().st_size <= LARGEST:
                parts += [path.name.encode("utf-8", "replace"), path.read_bytes()]
        except OSError:
            continue
    return digest(*parts)


def _python_below(folder: Path) -> list[Path]:
    files: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _NOT_CODE)
        files += [Path(place, name) for name in sorted(names) if name.endswith(".py")]
        if len(files) >= MOST_FILES:
            break
    return files
