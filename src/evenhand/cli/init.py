"""`evenhand init`: a small folder that runs at once, to be changed into one's own.

Its files are in `scaffolds/`, as they are written (Python files as `….py.txt`, so that nobody takes them for ours);
`offline.jsonl` is what models would answer, so that the first run needs neither key nor network.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from evenhand.core.errors import UsageError

SCAFFOLDS = Path(__file__).parent / "scaffolds"
SKILLS = (".agents/skills/evenhand/SKILL.md", ".claude/skills/evenhand/SKILL.md")
"""Where coding agents look for what they can do in a repository."""


def init(folder: Path, kind: Literal["config", "python", "agent"] = "config") -> list[Path]:
    """Writes the files of a small working folder, and returns their paths. Nothing that is there is overwritten.

    Args:
        folder: Where; it is made where it is not there.
        kind: A promptfoo config with prompts and tests, eval sets in Python, or a skill for coding agents.

    Raises:
        UsageError: One of the files is there already, or cannot be written. Nothing was written in the first case.
    """
    scaffold = SCAFFOLDS / kind
    targets = {_target(folder / file.relative_to(scaffold)): file for file in _files(scaffold)}
    if kind == "agent":
        targets = {folder / place: scaffold / "SKILL.md" for place in SKILLS}
    there = [path for path in targets if path.exists()]
    if there:
        names = ", ".join(str(path.relative_to(folder)) for path in there)
        raise UsageError(
            f"{folder.absolute()}: {names} {'is' if len(there) == 1 else 'are'} there already; nothing was written",
            hint="Delete them first to have today's."
            if kind == "agent"
            else f"Name another folder: evenhand init my-evals{' --python' * (kind == 'python')}",
        )
    for path, source in targets.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(source.read_bytes())
        except OSError as error:
            raise UsageError(
                f"{path} cannot be written: {error.strerror or error}",
                hint="Name a folder that you may write to: evenhand init my-evals",
            ) from error
    return list(targets)


def _target(path: Path) -> Path:
    """Where a file of a scaffold goes."""
    return path.with_suffix("") if path.name.endswith(".py.txt") else path


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder, those on top first, each level by name."""
    entries = sorted(folder.iterdir())
    yield from (path for path in entries if path.is_file())
    for path in entries:
        if path.is_dir():
            yield from _files(path)
