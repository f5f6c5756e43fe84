"""Runs the unit tests of what was changed since the last commit: `python tests/changed.py`, as `just check` does.

These are the tests of the folders in which modules were changed, the tests that name a changed module, and tests that
were changed themselves. A change that reaches further is found by `just all`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNIT = ROOT / "tests" / "unit"
PACKAGE = ROOT / "src" / "evenhand"


def changed() -> list[Path]:
    """The files that differ from the last commit, new ones among them, and those that are gone."""
    words = ["git", "status", "--porcelain", "--no-renames", "--untracked-files=all"]
    lines = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / line[3:] for line in lines.splitlines()]


def unit_tests_of(files: list[Path]) -> set[Path]:
    """The test files and folders of tests that a change of these files concerns."""
    modules = [path for path in files if path.is_relative_to(PACKAGE) and path.suffix == ".py"]
    tests = {UNIT / path.parent.relative_to(PACKAGE) for path in modules}
    tests |= {path for path in files if path.is_relative_to(UNIT) and path.name.startswith("test_")}
    names = [".".join(path.relative_to(ROOT / "src").with_suffix("").parts) for path in modules]
    if names:
        named = re.compile(
            "|".join(rf"\b{re.escape(name.removesuffix('.__init__'))}\b" for name in names)
        )
        tests |= {path for path in UNIT.rglob("test_*.py") if named.search(path.read_text("utf-8"))}
    house = {UNIT / "test_house.py"} if files else set[Path]()
    there = {path for path in tests | house if path.exists()}
    return {path for path in there if there.isdisjoint(path.parents)}


if __name__ == "__main__":
    tests = sorted(map(str, unit_tests_of(changed())))
    if tests:
        command = [sys.executable, "-m", "pytest", "-q", "-n", "logical", *tests]
        sys.exit(subprocess.run(command, cwd=ROOT, check=False).returncode)
