"""What `evenhand watch` runs: targets, each with the files that its last run was made of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.doors.eval_sets.changed_evals import changed_evals
from evenhand.doors.eval_sets.eval_paths import split_line
from evenhand.doors.prompt_directories.library import prompts_at
from evenhand.languages.documents.watching import Looked, look

WRITTEN = frozenset({"calibration.json", "canaries.json"})
"""Files that runs and their judges' checks write beside what they were made of: no change of the user's."""
_DATA = frozenset(
    ".csv .html .j2 .jinja .jinja2 .js .json .jsonl .md .mjs .parquet .sql .toml .ts .tsv .txt .xlsx .xml .yaml .yml"
    "".split()
)
_FOR_PEOPLE = ("README", "CHANGELOG", "LICENSE", "CONTRIBUTING", "AGENTS", "CLAUDE")


@dataclass(slots=True)
class Target:
    """One thing that is run by itself: an eval file, a prompt directory, or a config.

    Attributes:
        path: What `evenhand run` is given, with a line where one was named.
        folder: The folder that its code and data are in; runs are kept there.
        is_evals: Whether it is an eval file.
        files: Of an eval file, the files that its last run was made of, absolute; None before that is known. One that
            ends in a slash is a folder.
        text: Of an eval file, its text at its last run.
    """

    path: str
    folder: Path
    is_evals: bool
    files: frozenset[str] | None = None
    text: str = field(default="", repr=False)

    @property
    def file(self) -> str:
        """The target's path, without a line."""
        return split_line(self.path)[0]

    def read(self) -> None:
        """Keeps its text, so that the next change of it can be told from this one."""
        if self.is_evals:
            try:
                self.text = Path(self.file).read_text("utf-8")
            except (OSError, ValueError):
                self.text = ""

    def takes(self, file: str) -> bool:
        """Whether its last run was made of this file, as far as that is known."""
        if not self.is_evals:
            around = self.path if Path(self.path).is_dir() else str(self.folder)
            return file == self.path or file.startswith(os.path.join(around, ""))  # noqa: PTH118 (its end counts)
        # Before its first run ends nobody knows what it imports.
        if self.files is None:
            return file.endswith(".py") or _may_be_data(file)
        return file == self.file or any(
            file == one or (one.endswith("/") and file.startswith(one)) for one in self.files
        )

    def to_run(self, files: Sequence[str]) -> list[str]:
        """What to run after these of its files changed: paths for `evenhand run`; empty for nothing."""
        if not Path(self.file).exists():
            return []
        if list(files) != [self.file] or not self.is_evals or not self.text or self.files is None:
            return [self.path]
        before = self.text
        self.read()
        lines = changed_evals(before, self.text)
        if lines is None or split_line(self.path)[1] is not None:
            return [] if lines == [] else [self.path]
        return [f"{self.file}:{line}" for line in lines]


@dataclass(slots=True)
class Watched:
    """All targets, and the folders that they are in.

    Attributes:
        paths: What was asked for, absolute.
        targets: What is run.
    """

    paths: tuple[str, ...]
    targets: list[Target] = field(default_factory=list[Target])

    def find(self) -> list[Target]:
        """Looks for targets that are new, and drops those that are gone; the new ones."""
        targets = [target for path in self.paths for target in _targets(path)]
        known = {target.path for target in self.targets}
        self.targets = [target for target in self.targets if Path(target.file).exists()]
        new = [
            target for target in {t.path: t for t in targets}.values() if target.path not in known
        ]
        self.targets += new
        return new

    def look(self) -> Looked:
        """All files that a change may be in."""
        roots = {Path(target.folder) for target in self.targets} | {
            Path(path) for path in map(_without_line, self.paths)
        }
        return look(sorted(roots))

    def affected(self, files: Iterable[str]) -> list[tuple[Target, list[str]]]:
        """The targets that changes of these files are about, each with the files."""
        by_target: dict[str, list[str]] = {}
        for file in files:
            if Path(file).name in WRITTEN:
                continue
            those = [target for target in self.targets if target.takes(file)]
            if not those and _may_be_data(file):
                those = [t for t in self.targets if file.startswith(f"{t.folder}{os.sep}")]
            for target in those:
                by_target.setdefault(target.path, []).append(file)
        return [(t, by_target[t.path]) for t in self.targets if t.path in by_target]


def _may_be_data(file: str) -> bool:
    """Whether an application may read this file while it runs, without anybody's knowing."""
    path = Path(file)
    return path.suffix.lower() in _DATA and not path.name.upper().startswith(_FOR_PEOPLE)


def _without_line(path: str) -> str:
    return split_line(path)[0]


def _targets(path: str) -> list[Target]:
    """What a path stands for."""
    from evenhand.doors.eval_sets.eval_paths import eval_files, is_evals
    from evenhand.languages.documents.project import project_folder

    place = Path(_without_line(path))
    if is_evals(path):
        files = [path] if not place.is_dir() else list(map(str, eval_files(place)))
        return [
            Target(file, project_folder(Path(_without_line(file)).parent), is_evals=True)
            for file in files
        ]
    if place.exists() and not (place.is_dir() and any(place.glob("promptfooconfig.*"))):
        prompts = prompts_at(place)
        if prompts is not None:
            library, ids = prompts
            return [Target(str(library.prompts / one), library.root, is_evals=False) for one in ids]
    return [Target(path, place if place.is_dir() else place.parent, is_evals=False)]
