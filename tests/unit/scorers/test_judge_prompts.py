"""What judges are told about the form of their answer favours none of the answers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import evenhand.scorers

PROMPTS = sorted((Path(evenhand.scorers.__file__).parent / "prompts").rglob("*.md"))
KEY = re.compile(r'^ *- "(\w+)": (.*(?:\n(?! *- |\{|-|\n).*)*)', re.MULTILINE)


@pytest.mark.parametrize("path", PROMPTS, ids=lambda path: path.stem)
def test_a_key_that_is_true_or_false_is_described_by_both(path: Path):
    """An example with one of the two would lead a judge to it; nor is there a reply to copy."""
    text = path.read_text("utf-8")
    for key, words in KEY.findall(text):
        if words.startswith(("true", "false")):
            assert "true" in words, key
            assert "false" in words, key
    assert not re.search(r'"\w+"\s*:\s*(?:true|false)\s*[,}]', text)
