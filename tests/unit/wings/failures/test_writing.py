"""failures.yml is written whole or not at all, and by one person at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest

from evenhand.core.errors import UsageError
from evenhand.languages.documents.failures_yml import Codebook, Kind, ratify, read_codebook
from evenhand.wings.failures.writing import ratify_in, write_new

DAY = date(2026, 12, 1)
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


@pytest.mark.parametrize("names", [[], ["late"], ["rude"]], ids=str)
def test_to_ratify_a_kind_leaves_comments_and_layout_as_they_are(tmp_path: Path, names: list[str]):
    """Only lines `ratified` change; a file in another layout is written anew."""
    file = tmp_path / "failures.yml"
    file.write_text(COMMENTED)
    before, after = ratify_in(file, names, "Bo", DAY)
    assert (read_codebook(file), after) == (after, ratify(before, names, "Bo", DAY))
    text = file.read_text()
    assert "# Kinds of the shop. Ask Bo before you merge any." in text
    assert "# since May" in text
    assert text.count("ratified:") == (2 if names != ["late"] else 1)
    file.write_text("kinds:\n- rule: b\n  name: a\n")
    _, flow = ratify_in(file, [], "Bo", DAY)
    assert read_codebook(file) == flow
    assert list(tmp_path.iterdir()) == [file]


def test_of_people_who_ratify_at_once_nobodys_word_is_lost(tmp_path: Path):
    """Neither are the comments of the file."""
    file = tmp_path / "failures.yml"
    kinds = [f"  - name: kind {i}\n    rule: Says {i}.\n" for i in range(12)]
    file.write_text("# Ask Bo.\nkinds:\n" + "".join(kinds))
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda i: ratify_in(file, [f"kind {i}"], f"author {i}", DAY), range(12)))
    by = [kind.ratified.by for kind in read_codebook(file).kinds if kind.ratified is not None]
    assert by == [f"author {i}" for i in range(12)]
    assert file.read_text().startswith("# Ask Bo.\n")
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_is_there_or_a_folder_that_is_not_is_refused_in_words(tmp_path: Path):
    """And nothing is written over."""
    file = tmp_path / "failures.yml"
    book = Codebook((Kind(name="a", rule="Says a."),))
    write_new(book, file)
    assert read_codebook(file) == book
    with pytest.raises(UsageError, match="already exists"):
        write_new(Codebook(), file)
    assert read_codebook(file) == book
    with pytest.raises(UsageError, match="cannot be written"):
        write_new(book, tmp_path / "gone" / "failures.yml")


def test_a_folder_that_is_not_there_is_said_in_words(tmp_path: Path):
    """Not as an errno, and nothing is made."""
    file = tmp_path / "nowhere" / "failures.yml"
    with pytest.raises(UsageError) as caught:
        write_new(Codebook((Kind(name="late", rule="r"),)), file)
    assert caught.value.message.endswith("cannot be written: No such file or directory")
    assert not file.parent.exists()
