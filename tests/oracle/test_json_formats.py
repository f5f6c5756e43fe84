"""Formats of JSON Schema are checked as ajv-formats checks them, by which promptfoo goes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evenhand.scorers.structured import misfit

RECORDED = json.loads((Path(__file__).parent / "json_formats.json").read_text("utf-8"))


@pytest.mark.parametrize("name", RECORDED["fits"])
def test_a_format_takes_what_ajv_takes(name):
    """All formats of ajv-formats, each over the same values: texts, numbers, truth values and null."""
    schema = json.dumps({"format": name})
    fits = "".join("10"[bool(misfit(schema, value))] for value in RECORDED["values"])
    differs = [
        v
        for v, a, b in zip(RECORDED["values"], fits, RECORDED["fits"][name], strict=True)
        if a != b
    ]
    assert differs == []
