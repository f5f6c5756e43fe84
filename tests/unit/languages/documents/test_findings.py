"""What is wrong with a user's files, and what is worth a hint."""

from __future__ import annotations

from pathlib import Path

from evenhand.languages.documents.findings import Findings, Place

FILE = Path("promptfooconfig.yaml")


def test_each_unknown_key_is_hinted_at_where_it_stands_with_the_key_that_was_meant():
    """Where no known key is near, the hint is what the caller says of all."""
    findings = Findings()
    lines = {"vars": 1, "asert": 2, "zebra": 3}
    findings.unknown(
        lines,
        ("vars", "assert"),
        lambda key: Place(FILE, lines[key], 1),
        " of a test is not used",
        otherwise="There are: vars, assert.",
    )
    assert [str(hint) for hint in findings.hints] == [
        "promptfooconfig.yaml:2:1: unknown key 'asert' of a test is not used\n  Did you mean 'assert'?",
        "promptfooconfig.yaml:3:1: unknown key 'zebra' of a test is not used\n  There are: vars, assert.",
    ]


def test_keys_without_places_are_hinted_at_where_their_table_stands():
    """Settings of a provider say only where the provider is."""
    findings = Findings()
    findings.unknown(["spede", "cache"], {"speed", "cache"}, Place(FILE, 7, 3), noun="option")
    (hint,) = findings.hints
    assert (hint.line, hint.what) == (7, "unknown option 'spede' is not used")
