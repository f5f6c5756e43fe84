"""The intervals that the viewer's page is tested on are ours."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "vectors"


def _numbers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _numbers(each)
    else:
        yield value


def _check(name: str, near: float) -> None:
    made = runpy.run_path(str(FOLDER / f"{name}.py"))["vectors"]()
    kept = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    assert kept.keys() == made.keys()
    assert list(_numbers(kept)) == [
        None if each is None else pytest.approx(each, abs=near) for each in _numbers(made)
    ]


def test_the_vectors_of_the_page_are_what_we_compute() -> None:
    """What the page is held to has not been left behind by a change of the statistics."""
    _check("intervals", 1e-12)


def test_the_vectors_of_rates_with_errors_are_what_we_compute() -> None:
    """Means on a known scale; rates with unequal repeats, errors among them and cases wholly in error."""
    _check("bounded", 1e-7)
