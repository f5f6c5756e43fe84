"""The page that lies in the package is the one whose source lies in `page/`, and its parts do what they say."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "page"


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=PAGE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(180)
def test_the_types_of_the_page_hold(page: Path) -> None:
    """The compiler finds nothing, with every check of TypeScript's strict mode."""
    assert page.is_dir()
    _run("npm", "run", "types")


@pytest.mark.timeout(180)
def test_the_built_page_matches_its_source(page: Path) -> None:
    """Whoever changes the page's source builds it, too: what is served is what can be read."""
    assert page.is_dir()
    _run("node", "build.mjs", "--check")


@pytest.mark.timeout(180)
def test_the_parts_of_the_page_do_what_they_say(page: Path) -> None:
    """The page's own tests, of what needs no browser: filters, intervals, rendering."""
    assert page.is_dir()
    _run("node", "build.mjs", "--test")
