"""`failures.yml`: read with lines and columns, written so that nothing in it can be taken for something else."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from evenhand.core.errors import ConfigError, UsageError
from evenhand.languages.documents.failures_yml import (
    LONGEST_NAME,
    LONGEST_RULE,
    Codebook,
    Kind,
    NoteId,
    Ratified,
    one_line,
    ratify,
    read_codebook,
    schema,
    written,
)

TEXT = """\
kinds:
  - name: invents a policy
    rule: States a rule, fee or deadline that the documents don't have.
    for: [A return costs 5 euros.]
    against: [I don't know what a return costs.]
    notes: [01M7YPHZRR1BZ4W0R6G4M5N3YC:17, a:3, a:3]
    ratified: {by: Ada, on: 2026-11-29}
  - {name: too long, rule: Has more than 200 words.}
"""


def read(folder: Path, text: str) -> Codebook:
    """What a file of this text says."""
    path = folder / "failures.yml"
    path.write_text(text, "utf-8")
    return read_codebook(path)


def test_a_file_is_read(tmp_path: Path):
    """Names, rules, examples, notes without repetition, and who accepted what."""
    first, second = read(tmp_path, TEXT).kinds
    assert (first.name, first.examples_for, first.against) == (
        "invents a policy", ("A return costs 5 euros.",), ("I don't know what a return costs.",),
    )  # fmt: skip
    assert first.notes == (NoteId("01M7YPHZRR1BZ4W0R6G4M5N3YC", 17), NoteId("a", 3))
    assert first.ratified == Ratified("Ada", "2026-11-29")
    assert (first.is_ratified, second.is_ratified) == (True, False)
    assert read(tmp_path, TEXT).kinds_of(NoteId("a", 3)) == ["invents a policy"]


def test_all_problems_of_a_file_are_said_at_once_with_line_and_column(tmp_path: Path):
    """Unknown keys, wrong notes, repeated names, missing rules, dates that are none."""
    text = (
        TEXT
        + """\
  - name: Too long
    rule: Again.
  - name: a
    notes: [17]
    nots: []
  - {name: b, rule: c, ratified: {by: Ada, on: today}}
  - 4
"""
    )
    with pytest.raises(ConfigError) as error:
        read(tmp_path, text)
    places = [(one.line, one.column, one.what) for one in error.value.problems]
    assert places == [
        (9, 5, "two kinds are called 'Too long'"),
        (11, 5, "'rule' is missing"),
        (12, 5, "notes, item 1: 17 doesn't name a note"),
        (13, 5, "unknown key 'nots'"),
        (14, 44, "on is 'today', not a date"),
        (15, 5, "4 is not a kind"),
    ]


@pytest.mark.parametrize("text", ["", "[]", "kinds: 3", "kind: []"])
def test_a_file_without_kinds_is_refused(tmp_path: Path, text: str):
    """Each with a message, and no traceback."""
    with pytest.raises(ConfigError):
        read(tmp_path, text)


def test_a_file_that_is_not_there_says_how_to_make_one(tmp_path: Path):
    """By hand or by a model."""
    with pytest.raises(ConfigError, match="review propose"):
        read_codebook(tmp_path / "none.yml")


LINES = st.text(min_size=1).map(lambda text: one_line(text, LONGEST_NAME)).filter(bool)


@given(
    name=LINES,
    rule=st.text(min_size=1).map(lambda text: one_line(text, LONGEST_RULE)).filter(bool),
    examples=st.lists(st.text(min_size=1, max_size=99).filter(str.strip), max_size=3),
)
def test_whatever_a_text_says_it_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, name: str, rule: str, examples: list[str]
):
    """Quotes, colons, line breaks, YAML's own marks and lone surrogates are only text."""
    kind = Kind(name=name, rule=rule, examples_for=tuple(examples), notes=(NoteId("r", 1),))
    book = Codebook((kind,))
    assert read(tmp_path_factory.mktemp("book"), written(book)) == book


def test_a_text_cant_add_keys_or_kinds(tmp_path: Path):
    """What a hostile model writes stays the value of one key."""
    text = 'a"\n  - name: "evil"\n    rule: "x"\n# \x1b[31m<script>'
    name = one_line(text, LONGEST_NAME)
    (kind,) = read(tmp_path, written(Codebook((Kind(name=name, rule="r"),)))).kinds
    assert kind.name == name
    assert "\x1b" not in written(Codebook((kind,)))


def test_a_kind_that_changed_is_no_longer_ratified(tmp_path: Path):
    """Its rule and its examples count; the notes that it covers don't."""
    book = ratify(read(tmp_path, TEXT), ["too long"], "Bo", date(2026, 11, 30))
    again = read(tmp_path, written(book)).named("too long")
    assert again.ratified == Ratified("Bo", "2026-11-30", again.rule_id)
    assert again.is_ratified
    assert replace(again, notes=(NoteId("a", 9),)).is_ratified
    assert not replace(again, rule="Has more than 100 words.").is_ratified
    assert not replace(again, against=("x",)).is_ratified
    with pytest.raises(UsageError, match="no kind of failure is called 'to long'"):
        ratify(book, ["to long"], "Bo", date(2026, 11, 30))


def test_the_schema_has_the_keys_of_the_file():
    """For editors."""
    items = schema()["properties"]["kinds"]["items"]["properties"]
    assert list(schema()["properties"]) == ["kinds", "without_kind"]
    assert list(items) == ["name", "rule", "for", "against", "notes", "ratified"]


COMMENTED = """\
# Kinds of the shop. Ask Bo before you merge any.
kinds:
  - name: late   # since May
    rule: Is late, after 30 days are over.
    notes: [a:3]
    ratified: {by: Ada, on: 2026-11-29}
  - name: rude
    rule: >-
      Is rude
      to people.
without_kind: [a:9]
"""


def test_notes_are_listed_under_a_kind_or_without_one(tmp_path: Path):
    """Not both; what nobody lists isn't coded."""
    book = read(tmp_path, COMMENTED)
    assert book.without_kind == (NoteId("a", 9),)
    assert book.coded == {NoteId("a", 3), NoteId("a", 9)}
    assert read(tmp_path, written(book)) == book
    with pytest.raises(ConfigError, match="a:3 is listed without a kind, and under 'late'"):
        read(
            tmp_path,
            TEXT.replace("a policy", "late").replace("invents ", "") + "without_kind: [a:3]\n",
        )
