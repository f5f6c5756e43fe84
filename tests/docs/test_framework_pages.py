"""The page of frameworks has the call of each that is tested, and the matrix is what its script writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.frameworks.frameworks import FRAMEWORKS, Framework
from tests.frameworks.newest import PAGE, RESULTS, page

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "frameworks.md").read_text("utf-8")


def test_every_call_on_the_page_is_python() -> None:
    """Though its framework may not be here."""
    blocks = re.findall(r"^```py\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 10
    for block in blocks:
        compile(block, "block", "exec")
        assert len(block.splitlines()) <= 10


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda one: one.agent)
def test_each_framework_of_the_matrix_is_on_the_page(framework: Framework) -> None:
    """By its name."""
    assert framework.title.partition(",")[0].partition(":")[0] in TEXT


def test_the_matrix_is_what_the_tests_came_to() -> None:
    """Of every framework, and nothing is a no that is expected to hold."""
    results = json.loads(RESULTS.read_text("utf-8"))
    assert PAGE.read_text("utf-8") == page(results)
    assert {*results} == {framework.agent for framework in FRAMEWORKS}
