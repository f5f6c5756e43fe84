"""Each example of the gallery, and of the guide on judges, is whole: its commands print what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.test_tutorial import COMMAND, ROOT, steps

PAGE = ROOT / "docs" / "gallery.md"
SECTIONS = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
JUDGES = (ROOT / "docs" / "judges.md").read_text("utf-8")
"""A guide with an example like these."""
CUT = "…"
"""A line of the page that stands for those that it leaves out."""
GUIDE = re.compile(r"Guide: \[[^\]]+\]\(([\w-]+)\.md")


def same(line: str) -> str:
    """A line without what differs from run to run: times, run ids, and the room that they take.

    Where times are long, the last column, which draws a mark for each case, gives way.
    """
    line = re.sub(r"\s+(?:cases 1–\d+|[✓✗!·]{3,})$", "", line)
    line = re.sub(r"±?\b[\d.]+ (?:m?s|min)\b", "TIME", line)
    return " ".join(re.sub(r"\b01[0-9A-Z]{8}\b", "ID", line).split()).replace("TIME TIME", "TIME")


def typed(line: str, folder: Path, last: int) -> tuple[str, int]:
    """What a command prints in this folder, and its exit code.

    Args:
        line: The command.
        folder: Where it is typed.
        last: The exit code of the one before.
    """
    if line == "echo $?":
        return str(last), 0
    if line.startswith("evenhand ") and not re.search(r"[^\w\s.,:=%/'\"-]", line):
        words = [*COMMAND, *shlex.split(line)[1:]]  # nothing for a shell to do: it starts warm
    else:
        program = " ".join(f"'{word}'" for word in COMMAND)
        line = re.sub(r"^evenhand(?= )", lambda _: program, line)
        line = re.sub(r"^pytest(?= )", f"'{sys.executable}' -m pytest -p no:cacheprovider", line)
        words = ["/bin/sh", "-c", line]
    done = subprocess.run(
        words,
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "TMPDIR")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return f"{done.stdout}\n{done.stderr}", done.returncode


def missing(shown: list[str], printed: str) -> list[str]:
    """The lines of the page that aren't printed, in their order."""
    lines = iter([same(line) for line in printed.splitlines()])
    return [line for line in shown if line.strip() not in ("", CUT) and same(line) not in lines]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("section", [*SECTIONS, JUDGES], ids=lambda text: text.splitlines()[0])
def test_an_example_of_the_gallery_prints_what_it_shows(section: str, tmp_path: Path):
    """Its files as written, its commands as typed: the lines of each output are printed, in this order."""
    shutil.copytree(
        ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns(".evenhand", "calibration.json")
    )  # fmt: skip
    code = 0
    shows = 0
    for match, is_file in steps(section):
        if is_file:
            path = tmp_path / match[1]
            path.parent.mkdir(exist_ok=True)
            path.write_text(match[2], "utf-8")
            continue
        for part in re.split(r"^\$ ", match[1], flags=re.MULTILINE)[1:]:
            line, *shown = part.splitlines()
            printed, code = typed(line, tmp_path, code)
            assert missing(shown, printed) == [], f"$ {line}\n{printed}"
            shows += len(shown)
    assert shows > 0


def test_the_gallery_has_twelve_examples_and_each_leads_to_its_guide():
    """No two to the same one."""
    guides = [GUIDE.findall(section) for section in SECTIONS]
    assert len(guides) == 12
    assert len({guide for (guide,) in guides}) == 12
