"""What the documentation and our messages tell people to install can be installed, before there is a release."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FILES = sorted(
    path
    for pattern in ("*.md", "*.yml", "docs/*.md", "src/evenhand/**/*.py", "src/evenhand/**/*.md")
    for path in ROOT.glob(pattern)
)
INSTALL = re.compile(r"(?:pip3?|uv|pipx) (?:pip )?(?:install|add)\s+([^`\n|&]+)")
OURS = re.compile(r"""(?:^|\s)['"]?evenhand(?![\w./*-]*(?:\.whl|\.db))(\[\w+\])?""")
EXTRAS = set(re.findall(r"evenhand\[(\w+)\]", "".join(p.read_text("utf-8") for p in FILES)))


def test_no_line_installs_a_release_that_is_not_there() -> None:
    """A line names an extra, which adds to an installation, or a wheel; the page on installing says more."""
    wrong: list[str] = []
    for path in FILES:
        text = path.read_text("utf-8")
        for line in INSTALL.finditer(text):
            foretold = "will be `" + line.group() in text
            if not foretold and any(not ours[1] for ours in OURS.finditer(line.group(1))):
                wrong.append(f"{path.relative_to(ROOT)}: {line.group()}")
    assert wrong == []


def test_every_extra_that_is_named_is_there_and_explained() -> None:
    """In messages and pages, in pyproject.toml and in the table of extras."""
    rows = re.findall(
        r"^\| `(\w+)` \|", (ROOT / "docs/installing.md").read_text("utf-8"), re.MULTILINE
    )
    assert sorted(rows) == sorted(PROJECT["optional-dependencies"])
    assert set(rows) >= EXTRAS
