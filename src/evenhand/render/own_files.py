"""Where results are written: never over files that a run was made of, nor into folders that a slip would make."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.core.errors import UsageError

_NAMES = frozenset(
    {
        "offline.jsonl",
        "pyproject.toml",
        "meta.yml",
        "eval.yml",
        "prompt.xml",
        "calibration.json",
        "canaries.json",
    }
)
_CODE = frozenset({".py", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".rb", ".db", ".evn"})
_SCHEME = re.compile(r"^(?:file://|python:|exec:)")
_PART = re.compile(r"[#:][^/\\]*$")


def refuse_own(option: str, to: Path, source: str, config: Mapping[str, Any]) -> None:
    """Refuses to write results over what they are results of. A file that is not there yet may be written.

    Args:
        option: What named the file, for the message.
        source: The config file or folder of the run; empty for none.
        config: The run's configuration: any text in it that names the file counts.

    Raises:
        UsageError: The file is code, a run, or one that the run reads.
    """
    # Nothing is lost when an empty file is written over.
    if not to.is_file() or to.stat().st_size == 0:
        return
    if _is_own(to.resolve(), source, config):
        raise UsageError(
            f"{option} {to} is a file that runs are made of: it was not written over",
            hint=f"Write the results to another file: {option} results{to.suffix or '.json'}",
        )


def look_for_folder(folder: Path, option: str = "") -> None:
    """Looks whether a folder may be made: below the current one, or where it already exists. Others may be a slip.

    Args:
        folder: Where something is to be written.
        option: What named it, for the message; empty for the command's argument.

    Raises:
        UsageError: It is missing, and not below the current folder.
    """
    place = Path(os.path.abspath(folder))  # noqa: PTH100 (`..` is taken away, links are left)
    if not place.is_dir() and not place.is_relative_to(Path.cwd()):
        raise UsageError(
            f"{option}{': ' * bool(option)}there is no folder {place}",
            hint=f"Make it: mkdir -p {shlex.quote(str(place))}",
        )


def _is_own(target: Path, source: str, config: Mapping[str, Any]) -> bool:
    if target.name in _NAMES or target.suffix.lower() in _CODE:
        return True
    if target.stem == "promptfooconfig":
        return True
    if not source:
        return False
    at = Path(source)
    if target == at.resolve():
        return True
    folder = at if at.is_dir() else at.parent
    return any(_names(text, folder, target) for text in _texts(config))


def _names(text: str, folder: Path, target: Path) -> bool:
    """Whether a text of a config names this file: as a path or a pattern, with a function or a sheet behind it."""
    # Prompts and other long texts are no paths, and `resolve` refuses a NUL.
    if len(text) > 1000 or "\n" in text or "\0" in text or not text.strip():
        return False
    path = _SCHEME.sub("", text.strip())
    is_folder = text.endswith("/") or path != text.strip()
    for name in (path, _PART.sub("", path)):
        full = folder / name
        if any(sign in name for sign in "*?["):
            if target.match(str(full)):
                return True
        elif target == full.resolve() or (is_folder and full.resolve() in target.parents):
            return name not in ("", ".", "..", "/")
    return False


def _texts(value: object, key: str = "") -> Iterator[str]:
    """All texts of a configuration that may name a file, keys among them; where it writes results is none."""
    if key in ("outputPath", "description", "output"):
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield str(name)
            yield from _texts(one, str(name))
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for one in value:
            yield from _texts(one)
