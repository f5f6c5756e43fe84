"""Finds eval sets: files called `*_evals.py`, below the folder `evals` or wherever the user points."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from types import ModuleType

from evenhand.authoring.evalset import EvalSet
from evenhand.core.errors import ConfigError, EvenhandError, Problem, UsageError

PATTERN = "*_evals.py"
SETUP = "setup.py"


@dataclass(slots=True)
class Found:
    """The sets that were found, the lines that were named, and the files that could not be read."""

    sets: list[EvalSet] = field(default_factory=list[EvalSet])
    lines: list[tuple[Path, int]] = field(default_factory=list["tuple[Path, int]"])
    problems: list[Problem] = field(default_factory=list[Problem])


def is_evals(path: str) -> bool:
    """Whether a path on the command line means eval sets: a Python file, with a line or without, or a folder."""
    name, _ = split_line(path)
    file = Path(name)
    if file.suffix == ".py":
        return True
    if not file.is_dir() or any(file.glob("promptfooconfig.*")):
        return False
    return any(file.glob(PATTERN)) or any((file / "evals").rglob(PATTERN))


def split_line(path: str) -> tuple[str, int | None]:
    """`file.py:41` as the file and the line; None for no line."""
    name, colon, line = path.rpartition(":")
    return (name, int(line)) if colon and line.isdigit() and name.endswith(".py") else (path, None)


def find(paths: Sequence[str]) -> Found:
    """The sets in these files and folders.

    A file that cannot be imported is a problem, and keeps no other from running.

    Raises:
        UsageError: A path does not exist, or a line stands in no eval.
        ConfigError: No file could be read.
    """
    found = Found()
    seen: set[Path] = set()
    whole: set[Path] = set()
    for given in paths:
        name, line = split_line(given)
        path = Path(name).resolve()
        if not path.exists():
            raise UsageError(f"{name} does not exist", hint=f"Looked in {path.parent}.")
        files = [path] if path.is_file() else _files(path)
        if not files:
            raise UsageError(f"{name} holds no {PATTERN}", hint="Eval files end in _evals.py.")
        for file in files:
            if file not in seen:
                seen.add(file)
                _read(file, found)
        if line is None:
            whole.update(files)
        else:
            _check_line(path, line, found)
            found.lines.append((path, line))
    found.lines = [(path, line) for path, line in found.lines if path not in whole]
    if not found.sets:
        if found.problems:
            raise ConfigError(found.problems)
        raise UsageError(
            f"{', '.join(paths)}: there is no EvalSet",
            hint="Write evals = EvalSet('…') at the top.",
        )
    return found


def _files(folder: Path) -> list[Path]:
    below = folder / "evals" if (folder / "evals").is_dir() else folder
    return sorted({*below.rglob(PATTERN), *folder.glob(PATTERN)})


def _read(file: Path, found: Found) -> None:
    setup = next(
        (
            parent / SETUP
            for parent in file.parents
            if parent.name == "evals" and (parent / SETUP).is_file()
        ),
        None,
    )
    for each in (setup, file):
        if each is None:
            continue
        module = _imported(each, found.problems)
        if module is None:
            return
        if each is file:
            sets = [
                v
                for v in vars(module).values()
                if isinstance(v, EvalSet) and v.path.resolve() == file
            ]
            found.sets += list(dict.fromkeys(sets))


def _imported(file: Path, problems: list[Problem]) -> ModuleType | None:
    name = f"evenhand_evals_{blake2b(str(file).encode(), digest_size=6).hexdigest()}_{file.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        problems.append(Problem(str(file), 0, 0, "cannot be imported"))
        return None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    for folder in (_project(file), file.parent, Path.cwd()):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    except EvenhandError as error:
        del sys.modules[name]
        problems.append(Problem(str(file), _line_in(file, error), 0, error.message, error.hint))
        return None
    except Exception as error:  # noqa: BLE001 (a user's file may raise anything; the others still run)
        del sys.modules[name]
        what = f"cannot be imported: {type(error).__name__}: {error}"
        problems.append(Problem(str(file), _line_in(file, error), 0, what))
        return None
    return module


def _project(file: Path) -> Path:
    """The folder that holds `evals`, where the application under test is as a rule; or the file's own."""
    return next((parent.parent for parent in file.parents if parent.name == "evals"), file.parent)


def _line_in(file: Path, error: BaseException) -> int:
    if isinstance(error, SyntaxError):
        return error.lineno or 0
    lines = [
        frame.lineno or 0
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(file)
    ]
    return lines[-1] if lines else 0


def _check_line(path: Path, line: int, found: Found) -> None:
    evals = [e for s in found.sets for e in s.evals if e.path.resolve() == path]
    if not any(e.first <= line <= e.last for e in evals):
        there = ", ".join(f"{e.name} ({e.first}–{e.last})" for e in evals)
        raise UsageError(
            f"{path.name}:{line} stands in no eval", hint=f"There are: {there or 'none'}."
        )
