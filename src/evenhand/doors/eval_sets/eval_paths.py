"""Which paths on the command line mean eval sets: asked of every path, and no set is needed to answer."""

from __future__ import annotations

from pathlib import Path

PATTERN = "*_evals.py"
ENDINGS = ("_evals.py", "_eval.py")
"""How eval files end; the first one is what we write."""
_NOT_OWN = frozenset({"node_modules", "site-packages"})


def is_evals(path: str) -> bool:
    """Whether a path on the command line means eval sets: a Python file, with a line or without, or a folder."""
    name, _ = split_line(path)
    file = Path(name)
    if file.suffix == ".py":
        return True
    if not file.is_dir() or any(file.glob("promptfooconfig.*")):
        return False
    evals = file / "evals"
    below = file if file.absolute().name == "evals" and not evals.is_dir() else evals
    return any(any(file.glob(f"*{end}")) or any(below.rglob(f"*{end}")) for end in ENDINGS)


def eval_files(folder: Path) -> list[Path]:
    """The eval files of a folder: beside others in it, and below its folder `evals` or, without one, below itself.

    Environments and packages below it are somebody else's.
    """
    below = folder / "evals" if (folder / "evals").is_dir() else folder
    files = {file for end in ENDINGS for file in (*below.rglob(f"*{end}"), *folder.glob(f"*{end}"))}
    return sorted(file for file in files if _is_own(file.relative_to(folder)))


def _is_own(file: Path) -> bool:
    folders = file.parts[:-1]
    return not any(name.startswith(".") or name in _NOT_OWN for name in folders)


def split_line(path: str) -> tuple[str, int | None]:
    """`file.py:41` as the file and the line; None for no line."""
    name, colon, line = path.rpartition(":")
    return (name, int(line)) if colon and line.isdigit() and name.endswith(".py") else (path, None)
