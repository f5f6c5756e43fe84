"""Tables, from files and frames alike: no row is lost in silence, and columns without a name are nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evenhand.analysis.trust.labels.sheet_rows import read_rows
from evenhand.core.errors import ConfigError, UsageError
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.doors.importers.registry import read_runs
from evenhand.doors.promptfoo.config import read_config
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.doors.promptfoo.prompt_files import read_prompts
from evenhand.doors.promptfoo.tables import Csv
from evenhand.languages.documents.findings import Findings

Rows = list[list[str]]
Reader = Callable[[Path, str], Rows]

HEADERS: Mapping[str, Sequence[str]] = {
    "dataset": ("input", "n", "note"),
    "streamed": ("input", "n", "note"),
    "tests": ("input", "n", "note"),
    "ragas": ("user_input", "persona_name", "reference"),
    "deepeval": ("input", "n", "expected_output"),
    "labels": ("item", "verdict", "note"),
    "prompts": ("prompt", "n", "label"),
}
"""What the columns are called for each reader: the last one is that of a quoted cell."""


def _dataset(path: Path, _: str) -> Rows:
    return [
        [str(case.input or ""), case.vars["n"], case.vars["note"]] for case in Dataset.read(path)
    ]


def _streamed(path: Path, _: str) -> Rows:
    cases = Dataset.read(path, stream=True)
    return [[str(case.input or ""), case.vars["n"], case.vars["note"]] for case in cases]


def _tests(path: Path, delimiter: str) -> Rows:
    findings = Findings()
    tests = list(Csv(path, delimiter).rows(findings))
    if findings.problems:
        raise findings.error()
    names = HEADERS["tests"]
    return [[str(test.value["vars"][name]) for name in names] for test in tests]


def _imported(tool: str) -> Reader:
    def read(path: Path, _: str) -> Rows:
        (data,) = read_runs([path], tool).datasets
        return [
            [str(c.input or ""), str(c.vars.get("n", "")), str(c.expected or "")]
            for c in data.cases
        ]

    return read


def _labels(path: Path, _: str) -> Rows:
    columns = HEADERS["labels"]
    rows = list(read_rows(path, columns, ["item", "verdict"]))
    problems = [row.problem for row in rows if row.problem is not None]
    if problems:
        raise UsageError(f"{path}:{rows[-1].line}: {problems[0][0]}")
    return [[row.texts[name] for name in columns] for row in rows]


def _prompts(path: Path, _: str) -> Rows:
    (path.parent / "c.json").write_text(f'{{"prompts": ["file://{path.name}"]}}')
    findings = Findings()
    config = read_config([path.parent / "c.json"], Chosen(env={}), findings)
    assert config is not None
    prompts = read_prompts(config, findings, set())
    if findings.problems:
        raise findings.error()
    return [[prompt.raw, "", prompt.label] for prompt in prompts]


READERS: Mapping[str, Reader] = {
    "dataset": _dataset,
    "streamed": _streamed,
    "tests": _tests,
    "ragas": _imported("ragas"),
    "deepeval": _imported("deepeval"),
    "labels": _labels,
    "prompts": _prompts,
}

CELL = 'He said:\r\n"yes, ""7"" is Łódź\u2028", they said\n\nbye'
QUOTED = '"' + CELL.replace('"', '""') + '"'
RIGHT: Rows = [["a", "1", "x"], ["b", "2", CELL], ["c", "3", "y"]]


def table(reader: str, delimiter: str) -> bytes:
    """A table in which the last column of the second row is quoted."""
    lines = [
        delimiter.join(HEADERS[reader]),
        delimiter.join(("a", "1", "x")),
        delimiter.join(("b", "2", QUOTED)),
        delimiter.join(("c", "3", "y")),
    ]
    return "\n".join(lines).encode() + b"\n"


def is_beginning(rows: Rows, reader: str) -> bool:
    """Whether these are the first of the right rows; of the last one, the last cell may be cut short."""
    checked = (0, 2) if reader != "prompts" else (0,)
    for i, row in enumerate(rows):
        for j in checked:
            right = RIGHT[i][j]
            whole = row[j] == right or (i == len(rows) - 1 and j == 2 and right.startswith(row[j]))
            if not whole:
                return False
    return True


@pytest.mark.parametrize(
    ("reader", "delimiter"),
    [*product(READERS, [","]), *product(("dataset", "streamed", "tests"), ["\t"])],
)
def test_a_table_that_is_cut_inside_a_quoted_cell_loses_no_row_in_silence(
    reader: str, delimiter: str, tmp_path: Path
):
    """At every byte: the rows are the first of the right ones, or there is an error with a line."""
    whole = table(reader, delimiter)
    path = tmp_path / ("t.csv" if delimiter == "," else "t.tsv")
    path.write_bytes(whole)
    assert len(READERS[reader](path, delimiter)) == 3
    first = whole.index(b'"')
    last = whole.rindex(b'"')
    told = 0
    for cut in range(first + 1, last + 1):
        path.write_bytes(whole[:cut])
        rows, error = read_or_refused(reader, path, delimiter)
        if error:
            not_utf8 = f"{path.name}:4" in error and "is not UTF-8" in error
            assert f"{path.name}:3" in error or not_utf8, (cut, error)
            told += 1
        else:
            assert len(rows) == 2, cut
            assert is_beginning(rows, reader), cut
    assert told >= last - first - 8  # a cut after the first half of a doubled quote closes the cell


def read_or_refused(reader: str, path: Path, delimiter: str = ",") -> tuple[Rows, str]:
    """The rows of a table, or why there are none."""
    try:
        return READERS[reader](path, delimiter), ""
    except (UsageError, ConfigError) as error:
        return [], str(error)


@pytest.mark.parametrize("reader", READERS)
def test_a_quote_that_is_never_closed_is_an_error_with_its_line(reader: str, tmp_path: Path):
    """In any column, in the last row or before it, also where another quote comes later."""
    names = HEADERS[reader]
    path = tmp_path / "t.csv"
    for row, column, later in product((1, 2, 3), (0, 1, 2), (False, True)):
        rows = [list(names), ["a", "1", "x"], ["b", "2", "y"], ["c", "3", "z"], ["d", "4", "w"]]
        rows[row][column] = '"' + rows[row][column]
        if later:
            rows[4][0] = '"d"'
        path.write_text("".join(",".join(cells) + "\n" for cells in rows))
        rows, error = read_or_refused(reader, path)
        if reader == "tests" and later:  # the quotes are part of their cell, as in promptfoo
            findings = Findings()
            list(Csv(path).rows(findings))
            error = "\n".join(map(str, findings.hints))
        assert f"t.csv:{row + 1}" in error, (row, column, later)


@pytest.mark.parametrize("reader", [name for name in READERS if name != "tests"])
@pytest.mark.parametrize("cell", ['"7" pipe', '"7"x', '"a"b"c"', '""x'])
def test_text_after_the_quote_that_closes_a_cell_is_an_error_with_its_line(
    reader: str, cell: str, tmp_path: Path
):
    """Read as one text, its quotes would be gone."""
    path = tmp_path / "t.csv"
    path.write_text(f"{','.join(HEADERS[reader])}\na,1,x\nb,2,{cell}\nc,3,y\n")
    with pytest.raises((UsageError, ConfigError), match=r"t\.csv:3.* follows the quote"):
        READERS[reader](path, ",")


@pytest.mark.thorough
def test_a_long_cell_that_is_never_closed_takes_no_longer_than_its_length(tmp_path: Path):
    """A file of some megabytes is refused at once, and so is one of quotes."""
    for text in (
        '"' + "x,\n" * 500_000,
        '""' * 500_000 + '"' + ',"x"\n' * 100_000,
        '"' * 1_000_001,
    ):
        path = tmp_path / "t.csv"
        path.write_text(f"input,note\na,{text}")
        with pytest.raises((UsageError, ConfigError)):
            Dataset.read(path)
        findings = Findings()
        list(Csv(path).rows(findings))
        assert findings.problems or findings.hints


EMPTY = ("", "  ", "Unnamed: 3")
"""What a column without a name may be called."""


def with_empty(rows: Rows, places: Sequence[int], name: str) -> Rows:
    """A table with columns without values put in at these places."""
    wider = [list(row) for row in rows]
    for place in sorted(places, reverse=True):
        for i, row in enumerate(wider):
            row.insert(place, name if i == 0 else "")
    return wider


PLACES = [(0,), (1,), (2,), (3,), (0, 0), (3, 3), (0, 3), (1, 2), (3, 3, 3), (0, 1, 2, 3)]


@pytest.mark.parametrize(("places", "name"), list(product(PLACES, EMPTY)))
def test_a_table_with_empty_columns_has_the_cases_of_the_one_without(
    places: Sequence[int], name: str, tmp_path: Path
):
    """In front, in the middle and at the end; in CSV, TSV, frames, tests and imports."""
    rows = [["id", "input", "expected"], ["a", "q", "r"], ["b", "s", "t"]]
    wider = with_empty(rows, places, name)
    plain = Dataset.of(*(dict(zip(rows[0], row, strict=True)) for row in rows[1:]))
    for suffix, delimiter in ((".csv", ","), (".tsv", "\t")):
        path = tmp_path / f"t{suffix}"
        path.write_text("".join(delimiter.join(row) + "\n" for row in wider))
        for stream in (False, True):
            read = Dataset.read(path, stream=stream)
            assert read.fingerprint == plain.fingerprint
            assert list(read) == list(plain)
        findings = Findings()
        tests = list(Csv(path, delimiter).rows(findings))
        assert [test.value["vars"] for test in tests] == [
            dict(zip(rows[0], row, strict=True)) for row in rows[1:]
        ]
        assert not findings.problems
        assert not findings.hints
    frame = pd.DataFrame(wider[1:], columns=wider[0])
    assert Dataset(frame).fingerprint == plain.fingerprint
    path = tmp_path / "goldens.csv"
    path.write_text(
        "".join(",".join(row).replace("expected", "expected_output") + "\n" for row in wider)
    )
    (golden,) = read_runs([path], "deepeval").datasets
    path.write_text(
        "".join(",".join(row).replace("expected", "expected_output") + "\n" for row in rows)
    )
    (without,) = read_runs([path], "deepeval").datasets
    assert golden.cases == without.cases


@pytest.mark.parametrize("header", ["id,input,,", ",id,input", "id,,input", "id,input,  "])
def test_a_value_without_a_name_is_told_with_its_line(header: str, tmp_path: Path):
    """It would be lost, or a variable that nobody can name."""
    path = tmp_path / "t.csv"
    width = header.count(",") + 1
    row = ["x"] * width
    path.write_text(f"{header}\n{','.join(row)}\n")
    with pytest.raises(ConfigError, match=r"t\.csv:2: column \d has no name, and holds x"):
        Dataset.read(path)
    findings = Findings()
    list(Csv(path).rows(findings))
    assert [problem.line for problem in findings.problems] == [2]


def csv_of(frame: pd.DataFrame, folder: Path, **options: Any) -> Dataset:
    """The dataset of a frame that was saved as CSV."""
    path = folder / "f.csv"
    frame.to_csv(path, **options)
    return Dataset.read(path)


def indexed() -> list[pd.DataFrame]:
    """Frames with indexes of all kinds."""
    plain = pd.DataFrame({"input": ["a", "b", "c"], "expected": ["x", "y", "z"]})
    two = pd.MultiIndex.from_tuples([("f", "q1"), ("f", "q2"), ("g", "q3")], names=["set", "id"])
    counters = pd.MultiIndex.from_tuples([(0, 0), (0, 1), (1, 0)])
    return [
        plain,
        plain.set_index(pd.Index(["q1", "q2", "q3"], name="id")),
        plain.set_index(pd.Index(["q1", "q2", "q3"], name="case")),
        plain.set_index(two),
        plain.set_index(counters),
        plain[::-1],
        plain.iloc[1:],
        plain.set_index(pd.Index([7, 3, 99])),
        plain.assign(**{"": [None, None, None]}),
    ]


@pytest.mark.parametrize("frame", indexed())
def test_a_frame_and_its_csv_have_the_same_cases(frame: pd.DataFrame, tmp_path: Path):
    """The named levels of its index are columns; a counter is none."""
    assert [case.id for case in Dataset(frame)] == [case.id for case in csv_of(frame, tmp_path)]
    assert Dataset(frame).fingerprint == csv_of(frame, tmp_path).fingerprint
    again = pd.read_csv(tmp_path / "f.csv")  # an `Unnamed: 0`
    assert [case.id for case in Dataset(again)] == [case.id for case in Dataset(frame)]


def test_a_row_in_front_leaves_the_ids_of_the_others_as_they_are(tmp_path: Path):
    """The counter of a table is no part of an id."""
    frame = pd.DataFrame({"input": ["a", "b"], "expected": ["x", "y"]})
    longer = pd.DataFrame({"input": ["new", "a", "b"], "expected": ["z", "x", "y"]})
    before = [case.id for case in csv_of(frame, tmp_path)]
    assert [case.id for case in csv_of(longer, tmp_path)][1:] == before
    assert [case.id for case in Dataset(frame)] == before


def test_an_index_of_names_without_a_name_is_refused_and_none_is_lost():
    """As its CSV is."""
    frame = pd.DataFrame({"input": ["a"]}, index=pd.Index(["q1"]))
    with pytest.raises(UsageError, match=r"column 1 .* has no name, and holds 'q1'"):
        Dataset(frame)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([["a", "b"]], columns=["input", "input"]),
        pd.DataFrame([["a"]], columns=["input"], index=pd.Index(["b"], name="input")),
        pd.DataFrame([["a", "b"]], columns=[1, "1"]),
        pa.table([["a"], ["b"]], names=["input", "input"]),
    ],
    ids=["pandas", "index", "number", "pyarrow"],
)
def test_two_columns_of_a_name_are_refused(frame: Any):
    """Only one of them could count."""
    with pytest.raises(UsageError, match="two columns are called"):
        Dataset(frame)


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (pd.Series(["a", "b"]), "Give a frame"),
        (pl.Series(["a", "b"]), "Give a frame"),
        (pd.DataFrame({"input": ["a"]}).to_numpy(), "Give a frame"),
        (pa.array(["a"]), "not"),
        ({"input": ["a", "b"], "expected": ["x", "y"]}, "pandas.DataFrame(…)"),
        ({"train": pd.DataFrame({"input": ["a"]})}, "'train'"),
        ({"train": [{"input": "a"}], "test": [{"input": "b"}]}, "'train', 'test'"),
        (pl.LazyFrame({"input": ["a"]}), "collect()"),
        ("cases.csv", "Dataset.read('cases.csv')"),
    ],
    ids=[
        "series",
        "polars series",
        "array",
        "arrow array",
        "columns",
        "splits",
        "lists of rows",
        "lazy",
        "path",
    ],
)
def test_what_is_nearly_a_frame_is_refused_with_what_to_give(data: Any, hint: str):
    """Rather than read as something else."""
    with pytest.raises(UsageError) as error:
        Dataset(data)
    assert hint in str(error.value)


def test_frames_of_all_kinds_keep_their_cells():
    """Also of polars and pyarrow, where there is no index."""
    rows = [{"id": "a", "input": "x\u2028y", "n": 1}, {"id": "b", "input": "z" * 300_000, "n": 2}]
    expected = Dataset.of(*rows).fingerprint
    table = pa.Table.from_pylist(rows)
    frames = (pd.DataFrame(rows), pl.DataFrame(rows), table, table.to_batches()[0])
    assert {Dataset(frame).fingerprint for frame in frames} == {expected}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_marks_line_ends_and_padded_headers_are_no_part_of_a_cell(
    reader: str, end: str, mark: bytes, tmp_path: Path
):
    """And a cell may be as long as a document, with line separators of Unicode in it."""
    header = [f" {name} " for name in HEADERS[reader]]
    rows = [header, ["a", "1", '"x\u2028y, ""q"""'], ["z" * 300_000, "2", "b"]]
    path = tmp_path / "t.csv"
    path.write_bytes(mark + "".join(",".join(row) + end for row in rows).encode())
    first, second = READERS[reader](path, ",")
    assert (first[0], second[0]) == ("a", "z" * 300_000)
    assert first[2] == 'x\u2028y, "q"'


ROWS = [{"id": "a", "input": "q1"}, {"id": "b", "input": "q2"}]
KINDS = {
    "list.jsonl": (json.dumps(ROWS), "is one JSON list", "ends in .json."),
    "pretty.jsonl": (json.dumps(ROWS, indent=1), "is one JSON list", "ends in .json."),
    "one.jsonl": (json.dumps(ROWS[0], indent=1), "is one JSON object", "ends in .json."),
    "jq.jsonl": ("\n".join(json.dumps(r, indent=1) for r in ROWS), "over several lines", "jq -c ."),
    "lines.json": ("\n".join(map(json.dumps, ROWS)), "is not JSON: Extra data", "in .jsonl."),
    "cases.ndjson": ("", "'.ndjson'", "ends in .jsonl."),
    "cases.csv.gz": ("", "'.gz'", "gunzip"),
    "cases.ods": ("", "'.ods'", "save it as CSV"),
    "cases.pkl": ("", "'.pkl'", "frame.to_csv"),
    "cases.tab": ("", "'.tab'", ".tsv"),
}


def _refused_dataset(path: Path) -> str:
    with pytest.raises((ConfigError, UsageError)) as refused:
        Dataset.read(path)
    return str(refused.value)


def _refused_tests(path: Path) -> str:
    config = path.with_name("promptfooconfig.yaml")
    config.write_text(f"prompts: [a]\nproviders: [echo]\ntests: {path.name}\n")
    with pytest.raises(ConfigError) as refused:
        load(config)
    return str(refused.value)


@pytest.mark.parametrize("door", [_refused_dataset, _refused_tests], ids=["dataset", "tests"])
@pytest.mark.parametrize("name", KINDS)
def test_a_file_of_another_kind_is_refused_once_with_what_to_do(
    name: str, door: Callable[[Path], str], tmp_path: Path
):
    """By datasets and by promptfoo's tests alike; not once for each of its lines."""
    text, what, remedy = KINDS[name]
    path = tmp_path / name
    path.write_text(text)
    said = door(path)
    assert what in said
    assert remedy in said
    assert said.count("\n") == 1


def test_a_file_of_lines_is_read(tmp_path: Path):
    """Blank lines, a byte order mark and a single line are no other kind."""
    path = tmp_path / "cases.jsonl"
    for text in ('\n\n{"id": "a"}\n', '\ufeff{"id": "a"}', '{"id": "a", "x": [1]}\r\n\r\n'):
        path.write_text(text, "utf-8")
        assert [case.id for case in Dataset.read(path)] == ["a"]
