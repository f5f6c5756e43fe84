from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "stats.beta",
        "stats.bradley_terry",
        "stats.compare",
        "stats.interval",
        "stats.likelihood",
        "stats.linear",
        "stats.multiple",
        "stats.permutation",
        "stats.power",
        "providers.families",
        "stats.repeats",
        "stats.stratified",
        "stats.student",
        "report.comparison_text",
        "report.words",
    ],
)
def test_the_examples_in_docstrings_are_right(module: str) -> None:
    """Each number that a docstring gives is what the function gives."""
    found = doctest.testmod(importlib.import_module(f"evenhand.{module}"))
    assert found.attempted > 0
    assert found.failed == 0
