"""Reading YAML and JSON: what values come out, where they stand, and what is said of broken files."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.languages.documents.findings import Findings
from evenhand.languages.documents.tree import Document, read_document, read_yaml


def read(text: str) -> tuple[Document | None, list[str]]:
    """A YAML text, and the problems in it."""
    findings = Findings()
    document = read_yaml(Path("config.yaml"), text, findings)
    return document, [str(problem) for problem in findings.problems]


def value_of(text: str) -> object:
    """The value of a YAML text that has no problems."""
    document, problems = read(text)
    assert not problems
    assert document is not None
    return document.value


def written(folder: Path, name: str, data: bytes) -> tuple[Document | None, list[str]]:
    """What a file with these bytes is read as, and the problems in it."""
    path = folder / name
    path.write_bytes(data)
    findings = Findings()
    document = read_document(path, findings)
    return document, [str(problem) for problem in findings.problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("NO", "NO"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("12", 12),
        ("-7", -7),
        ("0o17", 15),
        ("017", 17),
        ("0x1F", 31),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("1_000", "1_000"),
        (".nan", ".nan"),
        ("2024-01-01", "2024-01-01"),
        ("12:30", "12:30"),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, value: object) -> None:
    """Only true, false and null are words; dates and `yes` are text."""
    assert value_of(f"a: {text}\n") == {"a": value}


def test_keys_are_text() -> None:
    """A variable may be called 1 or true."""
    assert value_of("1: a\ntrue: b\n") == {"1": "a", "true": "b"}


def test_merge_keys_fill_in_what_is_not_there() -> None:
    """`<<` brings in another object's keys; the object's own win."""
    assert value_of("x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3\n") == {
        "x": {"a": 1, "b": 2},
        "y": {"a": 1, "b": 3},
    }


def test_a_part_is_placed_at_its_key() -> None:
    """`at` gives the line and the column of a key, or of a list's item."""
    document, _ = read("tests:\n  - assert:\n      - type: contians\n")
    assert document is not None
    place = document.at("tests", 0, "assert", 0, "type")
    assert (place.line, place.column) == (3, 9)


def test_a_part_that_is_not_there_is_placed_around() -> None:
    """What is missing is missing from somewhere."""
    document, _ = read("a:\n  b: 1\n")
    assert document is not None
    assert document.at("a", "c", "d").line == 1


def test_every_duplicate_key_is_a_problem_with_its_place() -> None:
    """Two values for one key: only one could count, so neither does silently."""
    _, problems = read("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n")
    assert [problem.splitlines()[0] for problem in problems] == [
        "config.yaml:4:3: the key 'c' appears twice",
        "config.yaml:5:1: the key 'a' appears twice",
    ]


def test_an_unquoted_tag_is_explained() -> None:
    """`a: {{x}}` is an object to YAML, which nobody means."""
    _, problems = read("a: {{x}}\n")
    assert "has to be in quotes" in problems[0]


def test_a_tab_is_explained() -> None:
    """YAML's own message does not say what is wrong."""
    _, problems = read("a:\n\t- b\n")
    assert problems == [
        (
            "config.yaml:2:1: is not YAML: found character that cannot start any token\n"
            "  YAML is indented with spaces, not with tabs."
        )
    ]


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 5_000 + "a", "{a: " * 3_000])
def test_deep_nesting_is_refused_before_the_parser_crashes(text: str) -> None:
    """The parser is recursive C: a hundred thousand brackets would take the process down."""
    document, problems = read(text)
    assert document is None
    assert "nested more than 200 levels" in problems[0]


def test_an_alias_bomb_is_refused() -> None:
    """Eight lines that stand for a billion values are not read."""
    lines = ["a0: &a0 [x]"] + [
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)
    ]
    document, problems = read("\n".join(lines))
    assert document is None
    assert "aliases stand for more than" in problems[0]


def test_an_alias_inside_itself_is_refused() -> None:
    """It would never end."""
    document, problems = read("a: &a [*a]")
    assert document is None
    assert "an alias stands inside what it stands for" in problems[0]


def test_tags_construct_nothing() -> None:
    """A YAML file cannot run anything."""
    document, problems = read("a: !!python/object/apply:os.system [ls]")
    assert document is not None
    assert document.value == {"a": ["ls"]}
    assert "the tag !!python/object/apply:os.system is not known" in problems[0]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    """Windows editors write one."""
    document, problems = written(tmp_path, "c.yaml", b"\xef\xbb\xbfa: 1\n")
    assert not problems
    assert document is not None
    assert document.value == {"a": 1}


def test_text_that_is_not_utf_8_is_placed(tmp_path: Path) -> None:
    """Latin-1 is found where its first odd byte stands."""
    document, problems = written(tmp_path, "c.yaml", "a: 1\nb: café\n".encode("latin-1"))
    assert document is None
    assert "c.yaml:2:7: is not UTF-8: byte 0xe9" in problems[0]
    assert "save it as UTF-8" in problems[0]


def test_utf_16_with_a_mark_is_read(tmp_path: Path) -> None:
    """Its mark says what it is."""
    document, problems = written(tmp_path, "c.yaml", "a: café\n".encode("utf-16"))
    assert not problems
    assert document is not None
    assert document.value == {"a": "café"}


def test_json_errors_and_duplicates_are_problems(tmp_path: Path) -> None:
    """A JSON config is held to the same."""
    _, broken = written(tmp_path, "c.json", b'{"a": 1,\n "b": }')
    assert "c.json:2:7: is not JSON" in broken[0]
    _, twice = written(tmp_path, "c.json", b'{"a": 1, "a": 2}')
    assert "the key 'a' is in one object twice" in twice[0]


def test_parts_of_json_are_placed_when_asked_for(tmp_path: Path) -> None:
    """Also with tabs and with surrogate pairs nearby."""
    document, _ = written(tmp_path, "c.json", b'{\n\t"tests": [\n\t\t{"vars": {"q": "x"}}\n\t]\n}')
    assert document is not None
    assert document.at("tests", 0, "vars", "q").resolved().line == 3


def test_a_missing_file_is_a_problem(tmp_path: Path) -> None:
    """It says where it looked."""
    findings = Findings()
    assert read_document(tmp_path / "no.yaml", findings) is None
    assert "no.yaml: does not exist" in str(findings.problems[0])


def test_characters_escaped_in_halves_are_read_as_javascript_does():
    """In double quotes only, and not after a backslash that is one."""
    assert value_of(r'''a: "\ud83d\uDE00 \ud83e\udd16"''') == {"a": "😀 🤖"}
    assert value_of(r"a: '\ud83d\ude00'") == {"a": r"\ud83d\ude00"}
    assert value_of(r'a: "\\ud83d\\ude00"') == {"a": r"\ud83d\ude00"}
    _, problems = read(r'a: "\ud83d alone"')
    assert "is not YAML" in problems[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("!!str 5", "5"),
        ("'5'", "5"),
        ("!!str true", "true"),
        ("!!int 5", 5),
        ('!!int "7"', 7),
        ("!!float '1.5'", 1.5),
        ("!!float 3", 3),
        ('!!bool "true"', True),
        ('!!null ""', None),
        ("!!timestamp 2024-01-02", "2024-01-02"),
        ("!!map {a: 1}", {"a": 1}),
        ("!!seq [1]", [1]),
        ("!!set {a, b}", {"a": None, "b": None}),
        ("[!!str 1, 2]", ["1", 2]),
    ],
)
def test_a_value_is_what_its_tag_says(text: str, value: object) -> None:
    """A tag counts whether its text stands in quotes or not."""
    assert value_of(f"key: {text}\n") == {"key": value}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("!own 5", "the tag !own is not known"),
        ("!include other.yaml", "the tag !include is not known"),
        ("!ENV {a: 1}", "the tag !ENV is not known"),
        ("!!binary aGk=", "the tag !!binary is not known"),
        ("!!int x7", "'x7' is no !!int"),
        ("!!bool yes", "'yes' is no !!bool"),
    ],
)
def test_a_tag_that_says_nothing_is_a_problem(text: str, problem: str) -> None:
    """What another program would make of it is not silently left out."""
    _, problems = read(f"key: {text}\n")
    assert problem in problems[0]


def test_a_space_that_yaml_does_not_take_for_one_is_named_with_its_line() -> None:
    """It comes with text that was copied from a page, and cannot be seen."""
    _, problems = read("prompts:\u00a0[a]\nproviders: [echo]\n")
    assert "Line 1 has a space that YAML doesn't take for one (U+00A0)" in problems[0]
    assert value_of('a: "12\u00a0000"') == {"a": "12\u00a0000"}
