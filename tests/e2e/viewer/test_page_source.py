"""The page that lies in the package is the one whose source lies in `page/`, and its parts do what they say."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
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


def test_the_page_was_built_from_these_sources() -> None:
    """Whoever changes the page's source builds it, too: what is served is what can be read."""
    code = "import build_backend; assert build_backend.is_built(), 'run `just page`'"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=PAGE.parent / "packaging",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
@pytest.mark.timeout(180)
def test_the_page_is_what_building_it_once_more_comes_to(page: Path) -> None:
    """Nobody has changed the built files, and no build depends on when it is made."""
    assert page.is_dir()
    _run("node", "build.mjs", "--check")


def test_the_packed_parsers_are_those_of_the_package_that_is_pinned(page: Path) -> None:
    """Each database's, without the line that asks for a source map."""
    packed = PAGE.parent / "src/evenhand/languages/javascript/libraries/sql.json.xz"
    parsers = json.loads(lzma.decompress(packed.read_bytes()))
    assert page.is_dir()
    assert len(parsers) == 14
    for name, code in parsers.items():
        file = PAGE / "node_modules/node-sql-parser/build" / f"{name}.js"
        text = file.read_text("utf-8").partition("//# sourceMappingURL=")[0]
        assert code.rstrip() == text.rstrip(), name


@pytest.mark.timeout(180)
def test_the_parts_of_the_page_do_what_they_say(page: Path) -> None:
    """The page's own tests, of what needs no browser: filters, intervals, rendering."""
    assert page.is_dir()
    _run("node", "build.mjs", "--test")
