"""`evenhand init`: a small folder that runs at once, to be changed into one's own.

Its files are in `scaffold/`, as they are written; `offline.jsonl` is what models would answer, so that the first run
needs neither key nor network.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evenhand.core.errors import UsageError

SCAFFOLD = Path(__file__).parent / "scaffold"


def init(folder: Path) -> list[Path]:
    """Writes the files of a small working folder, and returns their paths. Nothing that is there is overwritten.

    Raises:
        UsageError: One of the files is there already, or cannot be written. Nothing was written in the first case.
    """
    wanted = {folder / source.relative_to(SCAFFOLD): source for source in _files(SCAFFOLD)}
    there = [path for path in wanted if path.exists()]
    if there:
        names = ", ".join(str(path.relative_to(folder)) for path in there)
        raise UsageError(
            f"{folder.absolute()}: {names} {'is' if len(there) == 1 else 'are'} there already; nothing was written",
            hint="Name another folder: evenhand init my-evals",
        )
    for path, source in wanted.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(source.read_bytes())
        except OSError as error:
            raise UsageError(
                f"{path} cannot be written: {error.strerror or error}",
                hint="Name a folder that you may write to: evenhand init my-evals",
            ) from error
    return list(wanted)


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder, those on top first, each level by name."""
    entries = sorted(folder.iterdir())
    yield from (path for path in entries if path.is_file())
    for path in entries:
        if path.is_dir():
            yield from _files(path)
