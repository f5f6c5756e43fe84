"""Files that are no results of promptfoo's are refused in our words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evenhand.core.errors import UsageError
from evenhand.report.interchange.promptfoo_results.reading import read_results


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "'results' is missing or of another kind"),
        ({"results": 5}, "'results' is missing"),
        ({"results": {"version": "x"}}, "of 'results' is missing or of another kind"),
        ([], "it is of another kind"),
        ("{", "it is not JSON"),
    ],
)
def test_what_is_of_another_kind_is_named_without_the_librarys_words(
    value: object, words: str, tmp_path: Path
):
    """Where, what, and where such files come from."""
    path = tmp_path / "results.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    with pytest.raises(UsageError) as error:
        read_results(path)
    text = str(error.value)
    assert words in text
    assert "promptfoo export eval" in text
    assert [theirs for theirs in ("Expected `", "Object missing", "$.") if theirs in text] == []
