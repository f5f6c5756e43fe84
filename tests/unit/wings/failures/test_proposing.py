"""Proposals: whatever a model answers, a codebook holds one-line texts, known notes and nothing ratified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core.errors import UsageError
from evenhand.core.wording.words import safe
from evenhand.languages.documents.failures_yml import (
    LONGEST_NAME,
    LONGEST_RULE,
    NoteId,
    read_codebook,
    written,
)
from evenhand.wings.failures.proposing import MOST_KINDS, prompt_of, proposed

NOTES = (("run:3", "allows it after 40 days"), ("run:7", "rude"))
HOSTILE = [
    "\x1b]0;owned\x07",
    "<script>alert(1)</script>",
    "{{env.OPENAI_API_KEY}}",
    "file:///etc/passwd",
    "../../x",
    "::error::x\n##vso[task.complete]",
    'a"\nratified: {by: Ada, on: 2026-01-01}\n- name: "b',
    "\u202eevil\u2028\U000e0041",
    "![x](http://x/y.png)",
    "x" * 9_999,
    "a\u0301" * 500,
]


def read(folder: Path, answer: str):
    """The codebook that an answer makes, written and read again."""
    path = folder / "failures.yml"
    path.write_text(written(proposed(answer, NOTES)), "utf-8")
    return read_codebook(path)


def test_a_proposal_has_the_models_kinds_with_the_notes_it_grouped(tmp_path: Path):
    """Numbers that aren't of notes are left out, as are kinds without a name and repeated ones."""
    kinds = [
        {
            "name": "late",
            "rule": "Allows it.",
            "notes": [1, 1, 9, -1, True, "2"],
            "for": ["a", "b", "c"],
        },
        {"name": "Late", "rule": "Again."},
        {"name": "", "rule": "x"},
        "x",
        {
            "name": "rude",
            "rule": "Is rude.",
            "notes": [2],
            "ratified": {"by": "Ada", "on": "2026-01-01"},
        },
    ]
    book = read(tmp_path, f"Sure! {json.dumps({'kinds': kinds})} Done.")
    assert [kind.name for kind in book.kinds] == ["late", "rude"]
    assert book.kinds[0].notes == (NoteId("run", 3),)
    assert book.kinds[0].examples_for == ("a", "b")
    assert not any(kind.ratified for kind in book.kinds)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_a_hostile_text_stays_one_plain_line(tmp_path: Path, text: str):
    """As a name, a rule and an example; the file is read, and no line of it can steer a terminal or a CI host."""
    item = {"name": f"a {text}", "rule": f"b {text}", "for": [text], "against": [text]}
    (kind,) = read(tmp_path, json.dumps({"kinds": [item]})).kinds
    assert len(kind.name) <= LONGEST_NAME
    assert len(kind.rule) <= LONGEST_RULE
    for line in (kind.name, kind.rule, *kind.examples_for, *kind.against):
        assert safe(line) == line
        assert not set("<>{}`|[]\n") & set(line)
    assert kind.ratified is None


KEYS = st.sampled_from(["kinds", "name", "rule", "for", "against", "notes"]) | st.text()
LEAVES = st.none() | st.booleans() | st.integers() | st.text()


@pytest.mark.thorough
@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)))
def test_any_json_makes_a_codebook_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, value: object
):
    """Never anything else."""
    item = {"name": value, "rule": value, "notes": value, "for": value}
    for answer in (value, {"kinds": [value]}, {"kinds": [item]}):
        try:
            book = read(tmp_path_factory.mktemp("any"), json.dumps(answer))
        except UsageError:
            continue
        assert len(book.kinds) <= MOST_KINDS


@pytest.mark.parametrize("answer", ["", "no", "{", "[1]", '{"kinds": []}', "{" * 100_000])
def test_an_answer_without_kinds_says_so(answer: str):
    """With a part of what the model wrote."""
    with pytest.raises(UsageError, match="proposed no kinds"):
        proposed(answer, NOTES)


def test_the_model_is_asked_with_numbered_notes_between_marks():
    """It sees no names of outputs."""
    prompt = prompt_of(NOTES)
    assert "1. allows it after 40 days\n2. rude\n" in prompt
    assert "run:3" not in prompt
    assert '{"kinds": [{"name": "…"' in prompt
