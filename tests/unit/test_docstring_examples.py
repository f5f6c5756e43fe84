"""The examples in docstrings, of all modules that have some."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in (SOURCE / "evenhand").rglob("*.py")
    if "\n    >>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_in_docstrings_are_right(module: str) -> None:
    """Each number that a docstring gives is what the function gives."""
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted > 0
    assert results.failed == 0
