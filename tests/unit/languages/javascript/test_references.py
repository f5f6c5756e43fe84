"""What files of JavaScript are called."""

from __future__ import annotations

import pytest

from evenhand.languages.javascript.references import is_reference, split_reference


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("file://a/b.js", ("a/b.js", "")),
        ("file://a.mjs:fn", ("a.mjs", "fn")),
        ("file://C:/a.ts:K.m", ("C:/a.ts", "K.m")),
    ],
)
def test_a_reference_is_a_path_and_an_export(reference, parts):
    """The export may be left out."""
    assert split_reference(reference) == parts
    assert is_reference(reference)


def test_other_files_and_texts_are_no_references():
    """Only files of JavaScript and TypeScript are ours."""
    assert not is_reference("file://a.py:js")
    assert not is_reference("a.js")
