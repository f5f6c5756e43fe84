"""The intervals that the viewer's page is tested on are ours."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[2] / "vectors" / "intervals.json"


def _numbers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _numbers(each)
    else:
        yield value


def test_the_vectors_of_the_page_are_what_we_compute() -> None:
    """What the page is held to has not been left behind by a change of the statistics."""
    made = runpy.run_path(str(FILE.with_suffix(".py")))["vectors"]()
    kept = json.loads(FILE.read_text("utf-8"))
    assert kept.keys() == made.keys()
    assert list(_numbers(kept)) == [
        None if each is None else pytest.approx(each, abs=1e-12) for each in _numbers(made)
    ]
