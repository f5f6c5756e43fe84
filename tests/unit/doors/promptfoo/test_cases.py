"""Tests: how rows of every kind are read, merged with the defaults, spread, and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from evenhand.doors.promptfoo.config import read_config
from evenhand.doors.promptfoo.load import load, read_folder
from evenhand.doors.promptfoo.models import FolderModels
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.doors.promptfoo.reader import TestReader as Reader
from evenhand.doors.promptfoo.reader import Tests as AllTests
from evenhand.doors.promptfoo.reader import numbered
from evenhand.doors.promptfoo.sources import read_sources
from evenhand.doors.promptfoo.tables import Csv, assertion_from_cell, relaxed
from evenhand.doors.promptfoo.tests import Test as OneTest
from evenhand.languages.documents.findings import Findings


def read(folder: Path, config: Mapping[str, object]) -> tuple[list[OneTest], Findings]:
    """The tests of a config, checked."""
    path = folder / "promptfooconfig.json"
    path.write_text(json.dumps(config))
    findings = Findings()
    found = read_config([path], Chosen(env={}), findings)
    assert found is not None
    sources = read_sources(found, findings, set())
    reader = Reader.of(found, FolderModels(found, findings), findings)
    checked = list(numbered(sources, reader, findings))
    tests = [test for _, test in checked]
    if not findings.problems:
        problems = {place: test.problem for place, test in checked if test.problem is not None}
        again = AllTests(sources, reader.unchecked(), problems)
        assert list(map(told, again)) == list(map(told, tests))
    return tests, findings


def told(test: OneTest) -> object:
    """What tells tests apart."""
    return (
        test.description,
        test.variables,
        test.threshold,
        test.metadata,
        len(test.expected.makes),
    )


def problems(folder: Path, config: Mapping[str, object]) -> list[str]:
    """What is wrong with the tests of a config."""
    _, findings = read(folder, config)
    return [str(problem) for problem in findings.problems + findings.broken_parts]


def of_file(folder: Path, name: str, data: str | bytes) -> tuple[list[OneTest], list[str]]:
    """The tests in a file, and what is wrong with it, without the folder's name."""
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    tests, findings = read(folder, {"tests": name})
    return tests, [
        str(problem).partition("/" + name)[2] or str(problem)
        for problem in findings.problems + findings.broken_parts
    ]


# Tables


def test_columns_are_variables_and_special_ones_say_something_of_the_test(tmp_path: Path) -> None:
    """Every special column of promptfoo's tables."""
    (test,), wrong = of_file(
        tmp_path,
        "t.csv",
        "q,__expected,__expected2,__threshold,__metric,__description,__prefix,__metadata:area,__metadata:tags[],"
        "__config:__expected:threshold\n"
        'hi,"contains:a, b",not-regex:x+,0.5,tone,first,Please ,law,"a\\,b, c",0.3\n',
    )
    assert not wrong
    assert test.variables == {"q": "hi"}
    assert test.description == "first"
    assert test.threshold == 0.5
    assert test.prefix == "Please "
    assert test.metadata == {"area": "law", "tags": ["a,b", "c"], "threshold": 0.3}
    assert len(test.expected.makes) == 2
    assert [a["type"] for a in test.raw["assert"]] == ["contains", "not-regex"]
    assert [a["metric"] for a in test.raw["assert"]] == ["tone", "tone"]
    assert test.raw["assert"][0]["threshold"] == "0.3"


@pytest.mark.parametrize(
    ("cell", "assertion"),
    [
        ("2", {"type": "equals", "value": "2"}),
        ("contains: a", {"type": "contains", "value": "a"}),
        ("not-icontains:a:b", {"type": "not-icontains", "value": "a:b"}),
        ("contains-all:a,b", {"type": "contains-all", "value": "a,b"}),
        ("is-json", {"type": "is-json"}),
        ("latency(500)", {"type": "latency", "threshold": 500.0}),
        ("llm-rubric(0.8):kind", {"type": "llm-rubric", "threshold": 0.8, "value": "kind"}),
        ("similar(0.9):x", {"type": "similar", "threshold": 0.9, "value": "x"}),
        ("similar:x", {"type": "similar", "threshold": 0.8, "value": "x"}),
        ("grade: is kind", {"type": "llm-rubric", "value": "is kind"}),
        ("python: len(output)", {"type": "python", "value": "len(output)"}),
        ("python:file://g.py:f", {"type": "python", "value": "file://g.py:f"}),
        ("file://g.py:f", {"type": "python", "value": "file://g.py:f"}),
        ("eval: true", {"type": "javascript", "value": "true"}),
        ("containsx", {"type": "equals", "value": "containsx"}),
        ("note: this", {"type": "equals", "value": "note: this"}),
        ("assert-set:x", {"type": "equals", "value": "assert-set:x"}),
        ("contains:two\nlines", {"type": "contains", "value": "two\nlines"}),
    ],
)
def test_a_cell_stands_for_an_assertion(cell: str, assertion: Mapping[str, object]) -> None:
    """Type, threshold and value; anything else is what the output must equal."""
    assert assertion_from_cell(cell) == assertion


def test_ragged_rows_are_placed_at_the_line_on_which_they_begin(tmp_path: Path) -> None:
    """Also after cells with line breaks in them; blank lines are none."""
    tests, wrong = of_file(tmp_path, "t.csv", 'a,b\n"x\ny",1\n\n2\n3,4,5\n6,7\n')
    assert len(tests) == 2
    assert [text.splitlines()[0] for text in wrong] == [
        ":5: the row has 1 cells, the header has 2",
        ":6: the row has 3 cells, the header has 2",
    ]


def test_a_table_may_begin_with_a_mark_and_be_utf_16(tmp_path: Path) -> None:
    """As spreadsheets save them."""
    for data in (b"\xef\xbb\xbfa,b\n1,caf\xc3\xa9\n", "a,b\n1,café\n".encode("utf-16")):
        (test,), wrong = of_file(tmp_path, "t.csv", data)
        assert not wrong
        assert test.variables == {"a": "1", "b": "café"}
    (test,), wrong = of_file(tmp_path, "t.csv", "a\nline\u2028line\n".encode("utf-16"))
    assert (test.variables, wrong) == ({"a": "line\u2028line"}, [])


@pytest.mark.parametrize(
    ("name", "data", "place"),
    [
        ("t.csv", b"q\nx\ncaf\xe9\n", "3:4"),
        ("t.csv", b'q\nx\n"caf\xe9"" "x\n', "3:5"),
        ("t.tsv", b"q\tb\nx\t1\ncaf\xe9\t2\n", "3:4"),
        ("t.jsonl", b'{"vars": {"q": "x"}}\n{"vars": {"q": "caf\xe9"}}\n', "2:20"),
        ("t.json", b'[{"vars": {"q": "x"}},\n{"vars": {"q": "caf\xe9"}}]', "2:20"),
        ("t.yaml", b"- vars: {q: x}\n- vars: {q: caf\xe9}\n", "2:16"),
        ("q.txt", b"caf\xe9\n", "1:4"),
        ("promptfooconfig.yaml", b"# \xe9\n", "1:3"),
        ("p.txt", b"{{q}}\ncaf\xe9", "2:4"),
        ("p.json", b'["{{q}}",\n"caf\xe9"]', "2:5"),
    ],
)
def test_a_byte_that_is_no_utf8_is_read_as_promptfoo_reads_it(
    tmp_path: Path, name: str, data: bytes, place: str
) -> None:
    """In every file that a folder names: replaced, with a hint that has its place; a run reads the same."""
    tests = f"file://{name}" if name.startswith("t.") else [{"vars": {"q": "file://q.txt"}}]
    prompt = name if name.startswith("p.") else "p.txt"
    config = {"prompts": [f"file://{prompt}"], "providers": ["echo"], "tests": tests}
    for file in ("q.txt", "p.txt"):
        (tmp_path / file).write_bytes(b"x{{q}}")
    text = json.dumps(config).encode()
    (tmp_path / "promptfooconfig.yaml").write_bytes(text)
    (tmp_path / name).write_bytes(data + text if name.startswith("promptfooconfig") else data)
    folder = read_folder(tmp_path)
    (hint,) = [str(hint) for hint in folder.hints if "UTF-8" in str(hint)]
    assert f"{name}:{place}: is not UTF-8: byte 0xe9" in hint
    values = [test.variables["q"] for test in folder.tests]
    if name.startswith("t."):
        assert any("\ufffd" in str(value) for value in values), values
    assert not folder.broken


@pytest.mark.parametrize(("header", "column"), [("a,a", 2), ("a,b, a", 3)])
def test_two_columns_of_one_name_are_a_problem(tmp_path: Path, header: str, column: int) -> None:
    """Only one of them could count: the second is pointed at, wherever it is."""
    _, wrong = of_file(tmp_path, "t.csv", f"{header}\n1,2,3\n")
    assert f":1:{column}: the column 'a' appears twice" in wrong[0]


@pytest.mark.parametrize(
    ("column", "what"),
    [
        ("__config:__expected:provider", "only 'threshold' can be set"),
        ("__config:__expected2:threshold", "there is no column '__expected2'"),
    ],
)
def test_columns_that_can_mean_nothing_are_problems(tmp_path: Path, column: str, what: str) -> None:
    """They would be ignored in silence."""
    _, wrong = of_file(tmp_path, "t.csv", f"q,__expected,{column}\n1,2,3\n")
    assert len(wrong) == 1
    assert what in wrong[0]


def test_a_table_whose_only_expectations_are_misspelt_is_refused(tmp_path: Path) -> None:
    """Once for all of its rows: any answer would pass them. With one underscore, it may be a variable."""
    _, wrong = of_file(tmp_path, "t.csv", "q,__expectd\n1,2\n3,4\n")
    assert len(wrong) == 1
    assert "Did you mean '__expected'?" in wrong[0]
    _, wrong = of_file(tmp_path, "t.csv", "q,_expected\n1,2\n")
    assert wrong == []


def test_misspelt_special_columns_are_hints(tmp_path: Path) -> None:
    """They are variables, as in promptfoo."""
    (tmp_path / "t.csv").write_text("_expected,__expcted,__expected,q\n1,2,3,4\n")
    _, findings = read(tmp_path, {"tests": "t.csv"})
    assert [hint.hint for hint in findings.hints] == ["Did you mean '__expected'?"] * 2
    assert not findings.problems


def test_another_separator_is_suspected(tmp_path: Path) -> None:
    """One column called `a;b` is seldom meant."""
    (tmp_path / "t.csv").write_text("a;b\n1;2\n")
    _, findings = read(tmp_path, {"tests": "t.csv"})
    assert "PROMPTFOO_CSV_DELIMITER" in findings.hints[0].hint


# JSON Lines, JSON, YAML


def test_lines_of_json_are_tests(tmp_path: Path) -> None:
    """Blank lines are none, and a mark at the start is no part of the first."""
    tests, wrong = of_file(
        tmp_path,
        "t.jsonl",
        b'\xef\xbb\xbf{"vars": {"q": 1}}\n\n{"vars": {"q": 2}, "threshold": 0.5}\r\n',
    )
    assert not wrong
    assert [test.variables for test in tests] == [{"q": 1}, {"q": 2}]


def test_each_broken_line_is_a_problem(tmp_path: Path) -> None:
    """All of them at once, each with its line."""
    lines = [
        b'{"vars": {}}',
        b"{",
        b"[1]",
        b'{"question": "x"}',
        b'{"a": "caf\xe9}',
        b"[" * 100_000,
    ]
    _, wrong = of_file(tmp_path, "t.jsonl", b"\n".join(lines))
    assert [text.partition(":")[2].partition(":")[0] for text in wrong] == ["2", "3", "4", "5", "6"]
    assert "is not JSON" in wrong[0]
    assert "not an object" in wrong[1]
    assert "Put its variables under 'vars'" in wrong[2]
    assert "is not JSON" in wrong[3]


def test_tests_in_json_and_yaml_files(tmp_path: Path) -> None:
    """A list of them, or one."""
    tests, wrong = of_file(tmp_path, "t.json", '[{"vars": {"q": 1}}, {"vars": {"q": 2}}]')
    assert not wrong
    assert len(tests) == 2
    tests, wrong = of_file(tmp_path, "t.yaml", "- vars: {q: 1}\n- vars: {q: 2}\n")
    assert not wrong
    assert len(tests) == 2


def test_data_is_never_a_template_nor_a_path(tmp_path: Path) -> None:
    """Tags and file:// in data files stay text; in a YAML file of tests they are the author's own."""
    row = {"vars": {"q": "{{x}}", "f": "file://secret.txt"}}
    (tmp_path / "secret.txt").write_text("secret")
    for name, text in (
        ("t.jsonl", json.dumps(row)),
        ("t.json", json.dumps([row])),
        ("t.csv", "q,f\n{{x}},file://secret.txt\n"),
    ):
        (tmp_path / name).write_text(text)
        (test,), findings = read(tmp_path, {"tests": name})
        assert (test.files, test.tagged) == (frozenset(), frozenset())
        assert "'f'" in findings.hints[0].what
    (test,), _ = of_file(tmp_path, "t.yaml", json.dumps([row]))
    assert (test.files, test.tagged) == ({"f"}, {"q"})


def test_files_of_tests_and_tests_may_be_mixed(tmp_path: Path) -> None:
    """In the order in which they are written; files of a pattern from the last name on, as in promptfoo."""
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"vars": {"q": name}}))
    tests, _ = read(tmp_path, {"tests": ["file://*.jsonl", {"vars": {"q": "c"}}, "a.jsonl"]})
    assert [test.variables["q"] for test in tests] == ["b", "a", "c", "a"]


@pytest.mark.parametrize(
    ("tests", "what", "hint"),
    [
        ("no.csv", "no.csv does not exist", "Looked in"),
        ("no.py:make", "no.py does not exist", "Looked in"),
        ("tests.py:make", "tests.py has no function 'make'", "It has: generate_tests"),
        ("tests.py", "tests.py:generate_tests returned a dict", ""),
        ("https://x.org/t.csv", "not fetched from https", "Download"),
        ("t.xlsx", "is not a workbook", ""),
        ("t.doc", "cannot be read", "CSV"),
        (5, "tests is 5", ""),
        ([5], "a test is 5", ""),
    ],
)
def test_what_is_wrong_with_tests_is_said(
    tmp_path: Path, tests: object, what: str, hint: str
) -> None:
    """At their place in the config."""
    (tmp_path / "t.xlsx").write_text("")
    (tmp_path / "t.doc").write_text("")
    (tmp_path / "tests.py").write_text("def generate_tests():\n    return {}\n")
    _, findings = read(tmp_path, {"tests": tests})
    (said,) = findings.problems + findings.broken_parts
    assert what in said.what
    assert hint in said.hint


def test_a_broken_assertion_keeps_no_other_from_being_settled(tmp_path: Path) -> None:
    """It is said when the file is read, and is an error in its own test alone."""
    tests, findings = read(
        tmp_path,
        {"tests": [{"assert": [{"type": "contians"}, {"type": "contains", "value": "x"}]}]},
    )
    assert not findings.problems
    assert len(findings.broken_parts) == 1
    assert len(tests[0].expected.makes) == 2


def test_without_tests_the_prompts_are_run_once(tmp_path: Path) -> None:
    """As promptfoo does, with a hint."""
    for config in ({}, {"tests": []}):
        tests, findings = read(tmp_path, config)
        assert [test.variables for test in tests] == [{}]
        assert "there are no tests" in findings.hints[0].what


# Defaults


def test_a_test_goes_over_the_defaults(tmp_path: Path) -> None:
    """Variables, options and metadata by key; assertions are added; a threshold is inherited."""
    (first, second), findings = read(
        tmp_path,
        {
            "metadata": {"team": "a"},
            "defaultTest": {
                "vars": {"x": "1", "y": "2"},
                "assert": [{"type": "contains", "value": "a"}],
                "options": {"prefix": "P", "suffix": "S"},
                "metadata": {"k": "d"},
                "threshold": 0.5,
            },
            "tests": [
                {
                    "vars": {"y": "3"},
                    "assert": [{"type": "contains", "value": "b"}],
                    "options": {"prefix": "Q"},
                    "metadata": {"k": "t"},
                    "threshold": 0,
                },
                {"vars": {}, "options": {"disableDefaultAsserts": True}},
            ],
        },
    )
    assert not findings.problems
    assert first.variables == {"x": "1", "y": "3"}
    assert (first.prefix, first.suffix) == ("Q", "S")
    assert first.metadata == {"k": "t"}  # that of defaultTest stands instead of the config's
    assert first.threshold == 0
    assert len(first.expected.makes) == 2
    assert len(second.expected.makes) == 0
    assert second.threshold == 0.5


def test_the_judge_is_the_nearest_one_named(tmp_path: Path) -> None:
    """The assertion's, else the test's, else the default's."""
    rubric: dict[str, Any] = {"type": "llm-rubric", "value": "kind"}
    (test, other), findings = read(
        tmp_path,
        {
            "defaultTest": {"options": {"provider": "openai:default"}, "assert": [rubric]},
            "tests": [
                {"vars": {}, "assert": [{**rubric, "provider": "openai:own"}]},
                {"vars": {}, "options": {"provider": "openai:test"}},
            ],
        },
    )
    assert not findings.problems
    assert test.expected.judged == ("openai:default", "openai:own")
    assert other.expected.judged == ("openai:test",)


def test_defaults_may_be_kept_in_a_file(tmp_path: Path) -> None:
    """And so may variables."""
    (tmp_path / "d.yaml").write_text("vars: {x: 1}\n")
    (tmp_path / "v.yaml").write_text("y: 2\n")
    (test,), _ = read(
        tmp_path, {"defaultTest": "file://d.yaml", "tests": [{"vars": "file://v.yaml"}]}
    )
    assert test.variables == {"x": 1, "y": 2}


# Lists of variables


def test_lists_of_text_are_spread_and_other_lists_are_not(tmp_path: Path) -> None:
    """Every combination, the last variable varying fastest."""
    (test,), _ = read(
        tmp_path,
        {
            "tests": [
                {"vars": {"a": ["1", "2"], "b": ["x", "y"], "n": [1, 2], "o": [{"k": 1}], "e": []}}
            ]
        },
    )
    assert [(case["a"], case["b"]) for case in test.cases()] == [
        ("1", "x"),
        ("1", "y"),
        ("2", "x"),
        ("2", "y"),
    ]
    assert test.count() == 4
    assert next(test.cases())["n"] == [1, 2]


def test_spreading_can_be_turned_off(tmp_path: Path) -> None:
    """For lists that belong together, such as passages."""
    (test,), _ = read(
        tmp_path, {"tests": [{"vars": {"a": ["1", "2"]}, "options": {"disableVarExpansion": True}}]}
    )
    assert [case["a"] for case in test.cases()] == [["1", "2"]]


def test_a_pattern_of_files_that_is_not_spread_is_a_problem(tmp_path: Path) -> None:
    """Of the test or of all tests: a model would be sent the names of the files."""
    (tmp_path / "a.md").write_text("a")
    pattern, off = {"doc": "file://*.md"}, {"disableVarExpansion": True}
    for test, shared in (({"vars": pattern}, {}), ({"vars": {"b": "c"}}, {"vars": pattern})):
        config = {"tests": [{**test, "options": off}], "defaultTest": shared}
        (problem,) = problems(tmp_path, config)
        assert "file://*.md is a pattern of files, and disableVarExpansion" in problem
    one = {
        "tests": [{"vars": {"doc": "file://a.md"}, "options": off}],
        "defaultTest": {"vars": pattern},
    }
    assert not problems(tmp_path, one)


def test_a_pattern_of_files_is_spread(tmp_path: Path) -> None:
    """A case for each file; none is a problem."""
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(name)
    (test,), _ = read(tmp_path, {"tests": [{"vars": {"doc": "file://*.md"}}]})
    assert [Path(str(case["doc"])).name for case in test.cases()] == ["b.md", "a.md"]
    assert (
        "no file matches" in problems(tmp_path, {"tests": [{"vars": {"doc": "file://*.nope"}}]})[0]
    )


# What is checked


@pytest.mark.parametrize(
    ("test", "what", "hint"),
    [
        (
            {"assert": [{"type": "contians", "value": "x"}]},
            "assertion type 'contians' is not known",
            "'contains'",
        ),
        (
            {"assert": [{"type": "not-contians", "value": "x"}]},
            "'not-contians' is not known",
            "'not-contains'",
        ),
        (
            {"assert": [{"type": "pi", "value": "x"}]},
            "'pi' is not run here",
            "llm-rubric asks the same",
        ),
        ({"assert": [{"type": "contains"}]}, "has no value", "value:"),
        ({"assert": [{"value": "x"}]}, "an assertion has no type", "type:"),
        ({"assert": {"type": "contains"}}, "assert is", "- type:"),
        ({"assert": ["contains:x"]}, "an assertion is 'contains:x'", "type:"),
        ({"assert": [{"type": "regex", "value": "("}]}, "(", ""),
        ({"assert": [{"type": "contains", "value": "x", "weight": -1}]}, "weight is -1", ""),
        (
            {"assert": [{"type": "contains", "value": "x", "threshold": "high"}]},
            "threshold is 'high'",
            "",
        ),
        (
            {"assert": [{"type": "python", "value": "file://grdr.py"}]},
            "grdr.py does not exist",
            "grader.py",
        ),
        (
            {"assert": [{"type": "python", "value": "file://grader.py:x"}]},
            "no function 'x'",
            "get_assert",
        ),
        *(
            ({"assert": [{"type": type_, "value": value}]}, "not a text", "")
            for type_ in ("contains", "not-icontains", "starts-with", "regex")
            for value in (["a"], {"a": 1}, True, False)
        ),
        ({"assert": [{"type": "contains-any", "value": 5}]}, "the value is 5", "value: [5]"),
        ({"assert": [{"type": "icontains-all", "value": True}]}, "the value is true", "list"),
        ({"assert": [{"type": "is-json", "value": True}]}, "the schema is", "any JSON"),
        ({"assert": [{"type": "contains-json", "value": "yes"}]}, "the schema is", "any JSON"),
        ({"assert": [{"type": "is-json", "value": [1]}]}, "the schema is", ""),
        (
            {"assert": [{"type": "equals", "value": "a", "metric": ["m"]}]},
            "metric is ['m']",
            "one name",
        ),
        (
            {"assert": [{"type": "equals", "value": "a", "metric": True}]},
            "metric is true",
            "in quotes: 'true'",
        ),
        (
            {"assert": [{"type": "javascript", "value": "file://g.tsx"}]},
            "g.tsx is neither Python nor JavaScript",
            ".ts",
        ),
        ({"vars": {"f": "file://no.txt"}}, "no.txt does not exist", "Looked in"),
        ({"vars": {}, "metadata": "x"}, "metadata is 'x'", ""),
        ({"vars": {}, "options": {"transform": "file://no.py"}}, "no.py does not exist", ""),
        ({"vars": {}, "options": {"transformVars": "file://no.py"}}, "no.py does not exist", ""),
        ({"question": "x"}, "neither 'vars' nor 'assert'", "vars"),
        ({"vars": {}, "threshold": "x"}, "threshold is 'x'", ""),
    ],
)
def test_what_is_wrong_with_a_test_is_said(
    tmp_path: Path, test: object, what: str, hint: str
) -> None:
    """Before anything is asked, with the nearest word or with what to do."""
    (tmp_path / "grader.py").write_text("def get_assert(output, context): return True\n")
    (tmp_path / "g.tsx").write_text("export default () => true\n")
    _, findings = read(tmp_path, {"tests": [{"vars": {}}, test]})
    (said,) = findings.problems + findings.broken_parts
    assert what in said.what
    assert hint in said.hint


def test_unknown_keys_are_tolerated_with_the_nearest_word(tmp_path: Path) -> None:
    """Of a test, of its options, of an assertion."""
    _, findings = read(
        tmp_path,
        {
            "tests": [
                {
                    "vars": {},
                    "asert": [],
                    "options": {"prefx": 1},
                    "assert": [{"type": "is-json", "wieght": 2}],
                }
            ]
        },
    )
    assert not findings.problems
    assert [hint.hint for hint in findings.hints] == [
        "Did you mean 'assert'?",
        "Did you mean 'prefix'?",
        "Did you mean 'weight'?",
    ]


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ('x,y\n"a "b" c",2\n"d",3\n', [["x", "y"], ['"a "b" c"', "2"], ["d", "3"]]),
        ('"a ""q"" b","c "d"\r\ne,"f\ng"', [['a "q" b', '"c "d"'], ["e", "f\ng"]]),
        ("a,\n,b", [["a", ""], ["", "b"]]),
        ('"a "b, c" d",1', [['"a "b', ' c" d"', "1"]]),
        ('""x,1\n"",2\n', [['""x', "1"], ["", "2"]]),
        ('"x "" "y" z",2\n', [['"x " "y" z"', "2"]]),
    ],
)
def test_stray_quotes_are_read_as_csv_parse_reads_them(text: str, records: list[list[str]]) -> None:
    """What csv-parse makes of these with relax_quotes."""
    assert [cells for _, cells in relaxed(text, ",")] == records


def test_a_table_with_stray_quotes_is_read_unless_strict(tmp_path: Path) -> None:
    """With a hint, each row once; a quote that is never closed is a problem either way."""
    path = tmp_path / "t.csv"
    path.write_text('x,y\n"d",3\n"a "b" c",2\n"e",4\n')
    findings = Findings()
    found = [(row.value["vars"]["x"], str(row.at())) for row in Csv(path).rows(findings)]
    assert [value for value, _ in found] == ["d", '"a "b" c"', "e"]
    assert found[2][1].endswith("t.csv:4")
    assert "no rule for" in findings.hints[0].what
    findings = Findings()
    assert len(list(Csv(path, strict=True).rows(findings))) == 1
    assert "is not CSV" in findings.problems[0].what
    path.write_text('x\n"a\n')
    findings = Findings()
    assert not list(Csv(path).rows(findings))
    assert "not closed" in findings.problems[0].what


def test_tests_in_json_name_the_environment_but_no_secrets(tmp_path: Path) -> None:
    """Whoever made the file may choose what is asked, and not read keys."""
    test = {"vars": {"q": "{{env.ZED}} {{ env.MY_API_KEY }} {{env.NOPE}} {{x}}"}}
    (tmp_path / "t.jsonl").write_text(json.dumps(test) + "\n")
    (tmp_path / "t.json").write_text(json.dumps([test]))
    config = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": ["t.jsonl", "t.json"]}
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    plan = load(tmp_path, Chosen(env={"ZED": "zed", "MY_API_KEY": "k"}))
    wanted = "zed {{ env.MY_API_KEY }} {{env.NOPE}} {{x}}"
    assert [planned.case.vars["q"] for planned in plan.trials()] == [wanted, wanted]


def test_a_reader_of_tests_is_whole_when_it_is_made(tmp_path: Path) -> None:
    """It cannot be told names or set to checking later; one that checks no more is another one."""
    path = tmp_path / "promptfooconfig.json"
    path.write_text(json.dumps({"tests": [{"vars": {"a": "b"}, "prompts": ["none"]}]}))
    findings = Findings()
    config = read_config([path], Chosen(env={}), findings)
    assert config is not None
    known = {"prompts": ["one"], "providers": []}
    reader = Reader.of(config, FolderModels(config, findings), findings, known)
    for name in (field.name for field in fields(Reader)):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(reader, name, None)
    sources = read_sources(config, findings, set())
    ((_, test),) = numbered(sources, reader, findings)
    assert test.problem is not None
    assert "no prompt is called 'none'" in test.problem.what
    ((_, unchecked),) = numbered(sources, reader.unchecked(), findings)
    assert unchecked.problem is None
    (again,) = AllTests(sources, reader.unchecked(), {1: test.problem})
    assert again.problem == test.problem


def test_a_cell_that_begins_like_an_assertion_and_is_plain_text_is_a_hint(tmp_path: Path) -> None:
    """Promptfoo compares it word for word, which is seldom meant; ordinary text with a colon is left alone."""
    cells = ["contains-jsn:x", "similar(abc):x", "https://x.example", "Answer: yes", "note:x"]
    (tmp_path / "t.csv").write_text("x,__expected\n" + "".join(f"1,{cell}\n" for cell in cells))
    _, findings = read(tmp_path, {"prompts": ["a"], "providers": ["echo"], "tests": "t.csv"})
    told = [(hint.line, hint.hint) for hint in findings.hints if "word for word" in hint.what]
    assert told == [
        (2, "Did you mean 'contains-json'?"),
        (3, "Write similar(0.8): …, if that is meant: the threshold is a number."),
    ]
