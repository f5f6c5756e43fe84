"""Datasets from files and frames, and back to files."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evenhand.core.case import Case
from evenhand.core.errors import ConfigError, UsageError
from evenhand.doors.eval_sets import rows
from evenhand.doors.eval_sets.dataset import Dataset

ROWS: list[dict[str, Any]] = [
    {
        "id": "moon",
        "input": "What is the moon made of?",
        "expected": "rock",
        "context": ["The moon is rock.", 'It is "not" cheese,\nthey say.'],
        "tags": ["space", "easy, very"],
        "metadata": {"relevant": {"d1": 3, "d2": 1}, "reference_claims": ["It is rock."]},
        "year": 1969,
        "note": "",
    },
    {"id": "日本", "input": "首都は?", "expected": {"city": "東京"}, "year": 2.5, "id2": None},
    {"id": "3", "description": "bare", "flag": True, "vars": {"input": "clashes"}},
    {"id": "4", "description": "", "expected": "", "code": "007"},
]
FORMATS = ["csv", "tsv", "json", "jsonl", "yaml", "yml", "parquet"]


@pytest.mark.parametrize("ending", FORMATS)
def test_what_is_written_reads_back_the_same(tmp_path: Path, ending: str):
    """Ids, tags, metadata, relevant documents, numbers, what is missing: every case is equal."""
    before = Dataset(ROWS)
    after = Dataset.read(before.write(tmp_path / f"cases.{ending}"))
    assert list(after) == list(before)
    assert after.fingerprint == before.fingerprint


@pytest.mark.parametrize("ending", FORMATS)
def test_a_plain_table_stays_plain(tmp_path: Path, ending: str):
    """Texts are written as they are, under their own names."""
    plain = Dataset.of(
        {"id": "a", "input": "x", "topic": "=1+1"}, {"id": "b", "input": "y", "topic": ""}
    )
    file = plain.write(tmp_path / f"cases.{ending}")
    if ending == "csv":
        assert file.read_text() == "id,input,topic\na,x,=1+1\nb,y,\n"
    assert list(Dataset.read(file)) == list(plain)


def test_the_context_of_a_csv_is_a_list_in_json_or_one_text(tmp_path: Path):
    """Lists of anything but texts, and scalars, are the text that they are; nothing is none."""
    cells = ['["a", "b"]', "plain", "", "[1, 2]", "[not json", '{"a": 1}', "3"]
    file = tmp_path / "cases.csv"
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    file.write_text("id,context\n" + "".join(f"{i},{c}\n" for i, c in enumerate(quoted)))
    assert [case.context for case in Dataset.read(file)] == [
        ("a", "b"),
        ("plain",),
        (),
        ("[1, 2]",),
        ("[not json",),
        ('{"a": 1}',),
        ("3",),
    ]


def test_a_cell_may_be_as_large_as_a_book(tmp_path: Path):
    """Ten megabytes of context."""
    book = "word " * 2_000_000
    file = Dataset.of({"id": "a", "context": [book]}).write(tmp_path / "cases.csv")
    assert Dataset.read(file)[0].context == (book,)


@pytest.mark.parametrize("key", ["cases", "samples", "data", "tests"])
def test_an_object_may_hold_the_list(tmp_path: Path, key: str):
    """As other tools write it."""
    file = tmp_path / "cases.json"
    file.write_text(json.dumps({"name": "x", key: [{"id": "a"}, {"id": "b"}]}))
    assert [case.id for case in Dataset.read(file)] == ["a", "b"]


class HuggingFace:
    """What their library's datasets look like to us: features, columns, and rows as dicts."""

    features = MappingProxyType({"id": "string", "input": "string", "scores": "list"})
    column_names = ("id", "input", "scores")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        yield {"id": "a", "input": "x", "scores": [1.5, None]}
        yield {"id": "b", "input": None, "scores": None}


FRAME = {"id": ["a", "b"], "input": ["x", None], "scores": [[1.5, None], None]}


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame(FRAME), pl.DataFrame(FRAME), pa.table(FRAME), HuggingFace()],
    ids=["pandas", "polars", "pyarrow", "hugging face"],
)
def test_frames_are_cases_and_what_is_missing_is_left_out(frame: Any):
    """None, NaN and NA are no values."""
    found = Dataset(frame)
    assert list(found) == [
        Case("a", {"scores": [1.5, None]}, "x", description="a"),
        Case("b", {}, None, description="b"),
    ]


def test_values_of_numpy_and_times_become_pythons_own():
    """So that they can be written and hashed."""
    frame = pd.DataFrame(
        {"n": [1, 2], "x": [0.5, float("nan")], "t": pd.to_datetime(["2025-01-02", None])}
    )
    one, two = Dataset(frame)
    assert one.vars == {"n": 1, "x": 0.5, "t": "2025-01-02T00:00:00"}
    assert two.vars == {"n": 2}
    assert type(one.vars["n"]) is int


def test_rows_make_a_frame_again():
    """Through pandas and back, the cases are the same."""
    cases = Dataset.of({"id": "a", "input": "x", "n": 1}, {"id": "b", "input": "y", "n": 2})
    assert list(Dataset(pd.DataFrame(cases.rows()))) == list(cases)
    assert list(Dataset(pl.DataFrame(cases.rows()))) == list(cases)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("cases.csv", "to read a file"),
        ({"train": [], "test": []}, "'train', 'test'"),
        (pl.LazyFrame(FRAME), "collect"),
        (7, "not a list"),
        ([3], "not an object"),
        ([{"metadata": 3}], "metadata is 3"),
        ([{"vars": [1]}], r"vars is \[1\]"),
        ([{"context": 3}], "context is 3"),
        ([{"context": ["a", None]}], "context has None in it"),
        ([{"x": float("nan")}], "cannot be kept"),
        ([{"x": object()}], "cannot be kept"),
        ([{"id": "a"}, {"id": "a"}], "two cases have the id 'a'"),
    ],
)
def test_what_is_no_dataset_is_told(given: Any, said: str):
    """And what to give instead."""
    with pytest.raises(UsageError, match=f"(?i){said}"):
        Dataset(given)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "id,id\n1,2\n", ["a.csv:1: two columns are called 'id'"]),
        ("a.csv", "id,x:json\na,{\nb,1\n", ["a.csv:2: the column 'x:json' is not JSON"]),
        ("a.jsonl", '{"id": "a"}\n[1]\n{"x": NaN}\n', ["a.jsonl:2: a case is [1]", "a.jsonl:3:"]),
        ("a.json", '[{"id": "a"}, 3]', ["case 2 is 3, not an object"]),
        ("a.json", '{"id": "a",}', ["a.json:1:"]),
        ("a.json", "[" * 100_000, ["nested too deeply"]),
        ("a.yaml", "- id: a\n- [\n", ["a.yaml:3:1: is not YAML"]),
        ("a.yaml", "a: &x [1]\nb: *x\n", ["anchors and aliases are not followed"]),
        ("a.yaml", "- !!python/object:os.system {}\n", ["is not YAML"]),
        ("a.yaml", "", ["case 1 is None, not an object"]),
        ("a.parquet", "hello", ["is not Parquet"]),
        ("a.jsonl", "", ["holds no cases"]),
        ("a.jsonl", '{"context": [3]}', ["a.jsonl:1: context has 3 in it"]),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_place(
    tmp_path: Path, name: str, text: str, said: list[str]
):
    """Every problem at once."""
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError) as caught:
        Dataset.read(tmp_path / name)
    for part in said:
        assert part in str(caught.value)


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path):
    """In a table, in lines, and in a document."""
    for name in ("a.csv", "a.jsonl", "a.json", "a.yaml"):
        (tmp_path / name).write_bytes(b'{"id": "a"}\n{"id": "\xff"}\n')
        with pytest.raises(ConfigError, match=f"{name}:2: is not UTF-8"):
            Dataset.read(tmp_path / name)


def _workbook() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("xl/workbook.xml", "<plain/>")
    return buffer.getvalue()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.csv", _workbook(), "is an Excel workbook"),
        ("a.jsonl", _workbook(), "save it as CSV"),
        ("a.csv", _workbook().replace(b"xl/", b"xy/"), "is a zip archive"),
        ("a.tsv", b"PK\x03\x04 cut off", "is a zip archive"),
        ("a.csv", b"PAR1\x15\x04", "Rename it, so that its name ends in .parquet"),
        ("a.jsonl", b"\x1f\x8b\x08", "is compressed with gzip"),
        ("a.csv", "input\n1\n".encode("utf-16"), "is UTF-16"),
        ("a.parquet", b"PAR1 cut off", "is not a whole Parquet file"),
        ("a.parquet", _workbook(), "is not Parquet: it is an Excel workbook"),
        ("a.parquet", b"input\n1\n", "ends in what it is"),
    ],
)
def test_a_file_of_another_kind_than_its_name_says_is_told_once(
    tmp_path: Path, name: str, data: bytes, says: str, stream: bool
):
    """What it is, and what to do; no library's words, and no hint to change its encoding."""
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        Dataset.read(tmp_path / name, stream=stream)
    assert says in str(caught.value)
    assert str(caught.value).count(name) == 1
    assert "magic" not in str(caught.value)


def test_a_missing_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Parquet is for those who want it."""
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_text("x")
    with pytest.raises(UsageError, match=r"pip install 'evenhand\[parquet\]'"):
        Dataset.read(tmp_path / "a.parquet")


def test_what_cannot_be_written_is_told_and_leaves_no_file(tmp_path: Path):
    """An ending that says no format, a folder that is not there, half a character in a CSV."""
    cases = Dataset.of({"id": "a", "x": "\ud800"})
    with pytest.raises(UsageError, match=r"\.csv"):
        cases.write(tmp_path / "a.txt")
    with pytest.raises(UsageError, match="no folder"):
        cases.write(tmp_path / "no" / "a.csv")
    with pytest.raises(UsageError, match="half a character"):
        cases.write(tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []
    assert list(Dataset.read(cases.write(tmp_path / "a.jsonl"))) == list(cases)


def lines(tmp_path: Path, count: int) -> Path:
    """A file of so many cases."""
    file = tmp_path / f"{count}.jsonl"
    with file.open("w") as out:
        for i in range(count):
            out.write(json.dumps({"id": f"case {i}", "input": "x" * 200, "n": i}) + "\n")
    return file


STREAMED = ["jsonl", "csv", "tsv", "parquet"]


@pytest.mark.parametrize("ending", STREAMED)
def test_a_streamed_dataset_is_the_same_dataset(tmp_path: Path, ending: str):
    """Its cases, by place and in turn, forwards and back, its length and its fingerprint."""
    file = Dataset.read(lines(tmp_path, 2500)).write(tmp_path / f"copy.{ending}")
    held, streamed = Dataset.read(file), Dataset.read(file, stream=True)
    assert list(streamed) == list(held)
    assert len(streamed) == 2500
    assert streamed[-1] == held[-1]
    assert streamed[10:13] == list(held[10:13])
    assert [streamed[i] for i in (2400, 1, 1999, 2000)] == [held[i] for i in (2400, 1, 1999, 2000)]
    assert streamed.fingerprint == held.fingerprint


def test_rows_of_a_table_are_found_again_whatever_is_in_their_cells(tmp_path: Path):
    """Line breaks of every kind, quotes, letters of several bytes, blank lines, a mark at the start."""
    file = tmp_path / "odd.csv"
    rows = '\ufeffid,text\r\na,"one\r\ntwo"\n\nb,"日本\rqu""ote"\r\nc,last'
    file.write_bytes(rows.encode())
    held, streamed = Dataset.read(file), Dataset.read(file, stream=True)
    assert [case.vars["text"] for case in held] == ["one\r\ntwo", '日本\rqu"ote', "last"]
    assert [streamed[i] for i in (2, 0, 1)] == [held[i] for i in (2, 0, 1)]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("ending", STREAMED)
def test_a_streamed_dataset_holds_no_cases(tmp_path: Path, ending: str):
    """Three times the cases take next to no more memory than where each begins."""
    peaks: list[int] = []
    for count in (1000, 3000):
        file = Dataset.read(lines(tmp_path, count)).write(tmp_path / f"copy.{ending}")
        tracemalloc.start()
        streamed = Dataset.read(file, stream=True)
        assert sum(1 for _ in streamed) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 2000 * 100


def test_a_streamed_file_is_looked_at_whole(tmp_path: Path):
    """Doubles and rows that are wrong are told as for any file, and very many are not all told."""
    file = tmp_path / "a.jsonl"
    file.write_text('{"id": "a"}\n\n{"id": "b"}\n{"id": "a"}\n{"context": 3}\n')
    with pytest.raises(ConfigError) as caught:
        Dataset.read(file, stream=True)
    assert "a.jsonl:4: has the same id as line 1\n  Give each row an id of its own" in str(
        caught.value
    )
    assert "a.jsonl:5: context is 3" in str(caught.value)
    file.write_text("3\n" * 1000)
    with pytest.raises(ConfigError, match="more problems"):
        Dataset.read(file, stream=True)
    with pytest.raises(ConfigError, match="does not exist"):
        Dataset.read(tmp_path / "none.jsonl", stream=True)
    whole = tmp_path / "a.json"
    whole.write_text("[]")
    with pytest.raises(UsageError, match="evenhand data convert"):
        Dataset.read(whole, stream=True)
    table = tmp_path / "a.csv"
    table.write_bytes(b"id,text\na,\xff\n")
    with pytest.raises(ConfigError, match=r"a\.csv:2: is not UTF-8"):
        Dataset.read(table, stream=True)


def test_a_file_that_changes_under_a_stream_is_told(tmp_path: Path):
    """Cases of another file would be taken for these."""
    file = lines(tmp_path, 3)
    streamed = Dataset.read(file, stream=True)
    with file.open("a") as out:
        out.write('{"id": "new"}\n')
    with pytest.raises(UsageError, match="has changed"):
        list(streamed)
    with pytest.raises(UsageError, match="has changed"):
        streamed[0]


@pytest.mark.parametrize(
    ("ending", "character"), [("csv", "\n"), ("csv", ","), ("jsonl", " "), ("jsonl", "{")]
)
def test_a_row_that_is_gone_is_told_though_the_file_looks_the_same(
    tmp_path: Path, ending: str, character: str
):
    """Its size and its time are what they were: no case is left out silently, and no error is empty."""
    file = Dataset.read(lines(tmp_path, 3)).write(tmp_path / f"copy.{ending}")
    streamed = Dataset.read(file, stream=True)
    before, (*rows, last) = file.stat(), file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*rows, character.encode() * len(last)]))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    with pytest.raises(UsageError, match="copy"):
        streamed[2]
    with pytest.raises(UsageError, match="has changed"):
        list(streamed)


def test_a_split_keeps_every_case_once_in_order():
    """By shares, the same for the same seed, whatever the order of the rows."""
    cases = [{"id": str(i), "tags": ["even" if i % 2 == 0 else "odd"]} for i in range(100)]
    parts = Dataset(cases).split({"dev": 1, "test": 3}, seed=7)
    assert 12 <= len(parts["dev"]) <= 38
    ids = [case.id for case in parts["dev"]]
    assert ids == sorted(ids, key=int)
    assert {c.id for part in parts.values() for c in part} == {str(i) for i in range(100)}
    again = Dataset(cases[::-1]).split({"dev": 1, "test": 3}, seed=7)
    assert {c.id for c in again["dev"]} == set(ids)
    assert {c.id for c in Dataset(cases).split({"dev": 1, "test": 3}, seed=8)["dev"]} != set(ids)


def test_a_split_by_tags_has_the_same_mixture_in_each_part():
    """Half of each kind, not half of all."""
    cases = [{"id": str(i), "tags": ["rare"] if i < 10 else ["often"]} for i in range(100)]
    parts = Dataset(cases).split({"a": 0.5, "b": 0.5}, by="tags")
    assert [sum("rare" in c.tags for c in part) for part in parts.values()] == [5, 5]


def test_rows_that_are_added_move_no_other_case_to_another_part():
    """Nor do rows that are left out, or moved."""
    rows = [{"id": f"case {i}"} for i in range(200)]
    shares = {"dev": 0.2, "test": 0.8}

    def part_of(rows: list[dict[str, str]]) -> dict[str, str]:
        parts = Dataset(rows).split(shares, seed=3)
        return {case.id: name for name, part in parts.items() for case in part}

    before = part_of(rows)
    assert before == {k: v for k, v in part_of([{"id": "new"}, *rows]).items() if k != "new"}
    assert {k: v for k, v in before.items() if k in part_of(rows[50:])} == part_of(rows[50:])
    assert before == part_of(rows[::-1])
    # 20 % of 200, give or take four standard deviations
    assert 17 <= list(before.values()).count("dev") <= 63


def test_a_group_is_never_divided():
    """All questions of a document are on one side; cases of no group go by their own id."""
    rows = [
        {"id": f"q{i}", "metadata" if i % 2 else "vars": {"document": f"d{i // 5}"}}
        for i in range(200)
    ]
    parts = Dataset([*rows, {"id": "lone"}]).split({"a": 0.5, "b": 0.5}, group="document")
    documents = [
        {(c.vars | c.metadata).get("document") for c in part} - {None} for part in parts.values()
    ]
    assert documents[0]
    assert documents[1]
    assert documents[0].isdisjoint(documents[1])
    with pytest.raises(UsageError, match="no case has 'documnt'"):
        Dataset(rows).split({"a": 1, "b": 1}, group="documnt")
    with pytest.raises(UsageError, match="cannot both hold"):
        Dataset(rows).split({"a": 1, "b": 1}, group="document", by="document")


def test_a_part_without_a_case_is_refused():
    """An empty part would be evaluated as nothing."""
    with pytest.raises(UsageError, match="falls into 'rare'"):
        Dataset([{"id": str(i)} for i in range(3)]).split({"often": 1e9, "rare": 1})


def test_a_streamed_file_is_split_where_it_lies(tmp_path: Path):
    """Its parts are places in it, read as they are asked for."""
    file = tmp_path / "many.jsonl"
    file.write_text("".join(f'{{"id": "c{i}", "input": "{i}"}}\n' for i in range(500)))
    whole, streamed = Dataset.read(file), Dataset.read(file, stream=True)
    parts = streamed.split({"a": 0.3, "b": 0.7}, seed=1)
    for name, part in whole.split({"a": 0.3, "b": 0.7}, seed=1).items():
        assert list(parts[name]) == list(part)
        assert parts[name][1] == part[1]
        assert parts[name].fingerprint == part.fingerprint


@pytest.mark.parametrize("parts", [{}, {"a": 0}, {"a": -1, "b": 2}, {"a": float("nan")}])
def test_shares_must_be_above_nothing(parts: dict[str, float]):
    """And there must be some."""
    with pytest.raises(UsageError, match="the parts are"):
        Dataset.of({"id": "a"}).split(parts)
    with pytest.raises(UsageError, match="1 case cannot be split"):
        Dataset.of({"id": "a"}).split({"a": 1, "b": 1})


def test_the_formats_are_those_that_are_written():
    """What can be read can be written."""
    assert [name.removeprefix(".") for name in rows.FORMATS] == [*FORMATS]


@pytest.mark.parametrize("option", ["by", "group"])
def test_a_field_that_no_case_has_is_refused_in_a_split(option: str):
    """A slip would otherwise make another split than was meant."""
    cases = Dataset.of(*({"id": str(i), "topic": "a"} for i in range(10)))
    with pytest.raises(UsageError, match="no case has 'topics'"):
        cases.split({"dev": 0.5, "test": 0.5}, **{option: "topics"})
    assert cases.split({"dev": 0.5, "test": 0.5}, by="topic")


def test_columns_that_are_separated_by_something_else_are_a_problem(tmp_path: Path):
    """One column with a long name is never meant."""
    (tmp_path / "a.csv").write_text("id;input\na;b\n")
    with pytest.raises(ConfigError, match="its one column is called 'id;input'"):
        Dataset.read(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("input\na;b\n")
    assert Dataset.read(tmp_path / "b.csv")[0].input == "a;b"


def test_rows_that_say_the_same_without_an_id_are_told_what_they_lack(tmp_path: Path):
    """Their id was made of what they say, so its author has never seen it."""
    file = tmp_path / "d.jsonl"
    file.write_text('{"input": "a"}\n{"input": "b"}\n{"input": "a"}\n')
    with pytest.raises(ConfigError) as raised:
        Dataset.read(file)
    message = str(raised.value)
    assert "d.jsonl:3: this row says what line 1 says, and neither has an id" in message
    assert "Leave one out, or give each an `id`." in message
    file.write_text('{"id": 7}\n{"id": "7"}\n')
    with pytest.raises(ConfigError, match=r"d\.jsonl:2: the id '7' is taken already, in line 1"):
        Dataset.read(file)
