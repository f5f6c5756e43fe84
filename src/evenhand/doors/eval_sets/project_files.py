"""The project's own files: the code and the data that decide what its trials do, beside the eval files themselves."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from evenhand.core.definition import LETTERS, brief, file_code, file_digest
from evenhand.core.encoding import decode, digest, digest_of, encode
from evenhand.doors.eval_sets.eval_paths import ENDINGS, eval_files, split_line
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.prompt import Prompt
from evenhand.engine.place import OURS

_OURS = f"{Path(OURS).resolve()}{os.sep}"
LONGEST = 200
"""Characters of what may name a file; what is longer is a text."""


def project_of(file: Path) -> Path:
    """The folder that holds `evals`, where the application under test is as a rule; or the file's own."""
    return next((parent.parent for parent in file.parents if parent.name == "evals"), file.parent)


def files_of(sets: Iterable[Path]) -> dict[str, str]:
    """A digest of each file of the projects of these eval files that is imported, by its path in its project.

    Application, judges, setup and eval files are; installed packages are not, nor what is read as data.
    """
    digests: dict[str, str] = {}
    for file in dict.fromkeys(sets):
        if not file.is_file():  # typed at a prompt
            continue
        folder = project_of(file.resolve())
        for path in {str(file.resolve()), *_imported_below(folder)}:
            try:
                digests[os.path.relpath(path, folder)] = digest(Path(path).read_bytes())
            except OSError:  # gone since, or in an archive
                continue
    return dict(sorted(digests.items()))


def code_of(sets: Iterable[EvalSet]) -> dict[str, str]:
    """The application's code, as far as it is imported: of modules, and of eval files without what their checks say."""
    code: dict[str, str] = {}
    for file in dict.fromkeys(one.path.resolve() for one in sets):
        if file.is_file():
            folder = project_of(file)
            for path in {file, *_application_below(folder)}:
                name = os.path.relpath(path, folder)
                with_evals = path == file or name.endswith(ENDINGS)
                code |= file_code(path, name, with_evals=with_evals)
    return dict(sorted(code.items()))


def session_code(root: Path) -> dict[str, str]:
    """The application's code as a session of pytest imported it, without test files: they hold the checks.

    Args:
        root: Pytest's root folder.
    """
    folder = root.resolve()
    return {
        os.path.relpath(path, folder): file_digest(path)
        for path in sorted(_application_below(folder))
    }


def _application_below(folder: Path) -> Iterator[Path]:
    """The files of the modules that are imported from this folder, without those that pytest takes for tests."""
    for path in map(Path, _imported_below(folder)):
        tests = path.name.startswith(("test_", "conftest.")) or path.stem.endswith("_test")
        if path.suffix == ".py" and not tests:
            yield path


def data_of(sets: Iterable[EvalSet]) -> dict[str, str]:
    """A digest of each dataset, each prompt and each folder of files of these sets, by what people call them.

    A folder that holds the eval file as well is no folder of data: it is left out.
    """
    digests: dict[str, str] = {}
    for evals in sets:
        project = project_of(evals.path.resolve())
        if evals.data is not None:
            file = evals.data.file
            name = _below(file, project) if file is not None else f"the data of {evals.name!r}"
            digests[name] = evals.data.fingerprint
        for prompt in (value for values in evals.over.values() for value in values):
            if isinstance(prompt, Prompt):
                digests[f"the prompt {prompt.name!r} of {evals.name!r}"] = digest(prompt.text)
        folder = evals.files.resolve()
        if folder.is_dir() and not evals.path.resolve().is_relative_to(folder):
            digests[f"{_below(folder, project)}{os.sep}"] = digest_of(_contents(folder))
    return digests


def changed_files(paths: Iterable[str], digests: Mapping[str, str]) -> list[str]:
    """The files that these digests are of, by their names there, and that are no longer as they were.

    Nothing is imported. What the digests have that is no file, such as a dataset, is left out.

    Args:
        paths: What was run: eval files, with a line or without, and folders of them.
        digests: As `files_of` made them.
    """
    files = [
        file
        for path in (Path(split_line(path)[0]).resolve() for path in paths)
        for file in (eval_files(path) if path.is_dir() else [path])
        if file.is_file()
    ]
    changed: set[str] = set()
    for folder in {project_of(file) for file in files}:
        for name, before in digests.items():
            path = folder / name
            if path.suffix == ".py" and path.is_file() and digest(path.read_bytes()) != before:
                changed.add(name)
    names = {os.path.relpath(file, project_of(file)) for file in files}
    if names and digests and names.isdisjoint(digests):  # those of another folder
        changed |= names
    return sorted(changed)


def named_content(folder: Path, name: str | Path) -> str:
    """A short digest of the file or folder that this names; empty where there is none."""
    if len(str(name)) > LONGEST or "\n" in str(name):
        return ""
    path = folder / name
    with contextlib.suppress(OSError, ValueError):
        if path.is_file():
            return file_digest(path)
        if str(name) and path.is_dir() and not folder.is_relative_to(path.resolve()):
            return digest_of(_contents(path))[:LETTERS]
    return ""


def axis_contents(axes: Mapping[str, object], folder: Path) -> dict[str, str]:
    """A digest of what each axis' value says, where that is more than its label and can be known.

    Args:
        axes: The values by name.
        folder: Where files are looked for that a value names.
    """
    contents: dict[str, str] = {}
    for name, value in axes.items():
        if isinstance(value, Prompt):
            contents[name] = brief(value.text)
        elif isinstance(value, str | Path):
            contents[name] = named_content(folder, value)
        elif not isinstance(value, int | float | None):
            # An object that holds a client, say, has no form in JSON: it is known by its label.
            with contextlib.suppress(TypeError, ValueError):
                contents[name] = brief(decode(encode(value)))
    return {name: content for name, content in contents.items() if content}


def _imported_below(folder: Path) -> Iterator[str]:
    below = f"{folder}{os.sep}"
    installed = tuple(
        f"{prefix}{os.sep}"
        for prefix in {os.path.realpath(p) for p in (sys.prefix, sys.base_prefix)}
        if prefix.startswith(below)
    )
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or "site-packages" in file or "dist-packages" in file:
            continue
        # Of thousands of modules, nearly all have their plain path already.
        plain = file.startswith(os.sep) and ".." not in file
        path = file if plain else os.path.abspath(file)  # noqa: PTH100 (a link stays as it is)
        if path.startswith(below) and not path.startswith((_OURS, *installed)):
            yield path


def _below(path: Path, project: Path) -> str:
    return os.path.relpath(path.resolve(), project)


def _contents(folder: Path) -> Iterator[bytes | str]:
    """All files below a folder, hidden ones left out: name and content."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            yield str(name)
            # Evals cannot read it either.
            with contextlib.suppress(OSError), path.open("rb") as file:
                while chunk := file.read(1 << 20):
                    yield chunk
