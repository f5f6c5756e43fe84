"""The tutorial can be followed: its files are written, its commands run, its outputs are the real ones.

`python tests/docs/test_tutorial.py EMPTY_FOLDER` writes the outputs into the page anew.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
FILE = re.compile(r"^`([\w/.]+)`\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WIDE = "140"
"""So many columns that none of a table gives way, however long the times of a busy machine are."""
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def steps(text: str) -> Iterator[tuple[re.Match[str], bool]]:
    """The files and the console blocks in the order of the page, each with whether it is a file."""
    matches = [*FILE.finditer(text), *CONSOLE.finditer(text)]
    for match in sorted(matches, key=lambda m: m.start()):
        yield match, match.re is FILE


def steady(text: str) -> str:
    """An output without what differs from run to run, times and ids, and without what depends on the width alone."""
    text = re.sub(r"±?\b[\d.]+ (?:m?s|min)\b|±\?", "…", text)
    text = re.sub(r"\b01[0-9A-Z]{8}\b", "ID", text)
    text = re.sub(r"cases 1–\d+|[✓✗!](?: ?[✓✗!])+|·(?=\s+next:)", "", text)
    return " ".join(text.split()).replace("… …", "…")


def typed(block: str, folder: Path, columns: str = "") -> str:
    """What a console block shows when its commands are typed anew in this folder.

    Args:
        columns: How wide it is; empty for the width of a pipe.
    """
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "TMPDIR")}
    if columns:
        env["COLUMNS"] = columns
    lines: list[str] = []
    code = 0
    for line in re.findall(r"^\$ (.+)$", block, re.MULTILINE):
        lines.append(f"$ {line}")
        if line == "echo $?":
            lines.append(str(code))
            continue
        done = subprocess.run(
            [*COMMAND, *shlex.split(line)[1:]],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        code = done.returncode
        lines.append(done.stdout.rstrip())
    return "\n".join(lines) + "\n"


def test_the_tutorial_can_be_followed_and_shows_what_is_printed(tmp_path: Path):
    """Each file as written, each command as typed: its output is the one on the page."""
    assert followed(PAGE, tmp_path) >= 5


def test_the_first_example_of_the_readme_prints_what_it_shows(tmp_path: Path):
    """The file as written, the command as typed: its output is the one in the README."""
    assert followed(ROOT / "README.md", tmp_path) == 1


def followed(page: Path, folder: Path) -> int:
    """How many console blocks of a page show what they print, its files being written to this folder."""
    text = page.read_text("utf-8")
    ran = 0
    for match, is_file in steps(text):
        if is_file:
            path = folder / match[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(match[2], "utf-8")
        else:
            assert steady(typed(match[1], folder, WIDE)) == steady(match[1])
            ran += 1
    return ran


def fill(page: Path, folder: Path) -> None:
    """Run the commands of the page in an empty folder, and write their outputs into it."""
    text = page.read_text("utf-8")
    parts: list[str] = []
    end = 0
    for match, is_file in steps(text):
        if is_file:
            path = folder / match[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(match[2], "utf-8")
        else:
            parts += [text[end : match.start(1)], typed(match[1], folder)]
            end = match.end(1)
    page.write_text("".join([*parts, text[end:]]), "utf-8")


if __name__ == "__main__":
    fill(PAGE, Path(sys.argv[1]))


def test_a_newcomer_is_at_a_gate_after_fifteen_commands():
    """From the installation, over evals of their own, to a step that fails in CI: what the tutorial has one type."""
    path = PAGE.read_text("utf-8").partition("## 6. ")[0]
    typed = re.findall(r"^\$ .+", path, re.MULTILINE)
    for block in re.findall(r"^```sh\n(.*?)^```$", path, re.MULTILINE | re.DOTALL):
        typed += block.strip().splitlines()
    assert any("--at-least" in line for line in typed)
    assert len(typed) <= 15, typed
