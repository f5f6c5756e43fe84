"""Marks of an unfinished merge are named in whatever file they stand, before anything is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import ConfigError
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.languages.documents.findings import Findings
from evenhand.languages.documents.tree import conflict_in, read_document

OURS, THEIRS = "<<<<<<< HEAD\n", ">>>>>>> theirs\n"


def conflict(first: str, second: str) -> str:
    """Both sides of a conflict, as git writes them."""
    return f"{OURS}{first}\n=======\n{second}\n{THEIRS}"


@pytest.mark.parametrize(
    ("name", "before", "first", "second", "after"),
    [
        ("d.csv", "id,input\n", "a,b", "c,d", ""),
        ("one.csv", "input\n", "a", "b", ""),
        ("d.jsonl", "", '{"id": "a"}', '{"id": "b"}', ""),
        ("d.yaml", "- id: x\n", "- id: a", "- id: b", ""),
        ("d.json", "[\n", '{"id": "a"}', '{"id": "b"}', "]\n"),
    ],
)
def test_an_unresolved_merge_in_a_dataset_is_named_with_its_line_and_is_no_case(
    tmp_path: Path, name: str, before: str, first: str, second: str, after: str
) -> None:
    """In every format, and not as a row with too few cells or as text that is not JSON."""
    file = tmp_path / name
    file.write_text(before + conflict(first, second) + after)
    with pytest.raises(ConfigError) as caught:
        Dataset.read(file)
    problem = caught.value.problems[0]
    assert problem.line == before.count("\n") + 1
    assert "unresolved merge conflict" in problem.what
    assert "<<<<<<<" in problem.hint
    assert not any("cells" in each.what or "JSON" in each.what for each in caught.value.problems)


@pytest.mark.parametrize("name", ["c.yaml", "c.json"])
def test_an_unresolved_merge_in_a_config_is_named_where_it_begins(
    tmp_path: Path, name: str
) -> None:
    """The parser stumbles some lines further down, over something else."""
    file = tmp_path / name
    whole = "a: 1\n" + conflict("b: 2", "b: 3")
    file.write_text(whole if name.endswith("yaml") else "{\n" + conflict('"b": 2', '"b": 3') + "}")
    findings = Findings()
    assert read_document(file, findings) is None
    assert [(p.line, p.what) for p in findings.problems] == [
        (2, "an unresolved merge conflict begins here")
    ]


def test_what_only_looks_like_a_merge_is_data(tmp_path: Path) -> None:
    """A rule of equals signs in a column of texts, and a conflict that a cell quotes."""
    file = tmp_path / "d.csv"
    file.write_text('input\n=======\n"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x"\n')
    assert [case.input[:8] for case in Dataset.read(file)] == ["=======", "<<<<<<< "]
    assert conflict_in("<<<<<<< HEAD\na\n>>>>>>> x") is None
