"""JSON objects are found in what models write, and nothing that a model writes can hurt the reader."""

from __future__ import annotations

import time

import pytest

from evenhand.scorers.json_objects import UnreadableError, objects_in, whole_objects


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ("", []),
        ("no braces", []),
        ("[]", []),
        ('{"a": 1}', [{"a": 1}]),
        ('Sure!\n```json\n{"a": {"b": "}"}}\n```\nBye {"c": 2}', [{"a": {"b": "}"}}, {"c": 2}]),
        ('[{"a": 1}, {"b": 2}]', [{"a": 1}, {"b": 2}]),
        ("{'a': True, b: null,}", [{"a": True, "b": None}]),
        ('{"a": 1, // one\n "b": "http://x"}', [{"a": 1, "b": "http://x"}]),
        ('{"a": "x\ny"}', [{"a": "x\ny"}]),
        ('{"a": {"b": 1', [{"a": {"b": 1}}]),
        ('{"a": 1, "a": 1}', [{"a": 1}]),
        ('{"a": 1, "a": 2}', []),
        ("{a: 1, a: 2}", []),
        (
            "{a: yes, b: 012, c: 1:30, d: 2024-01-01}",
            [{"a": "yes", "b": 12, "c": "1:30", "d": "2024-01-01"}],
        ),
        ("{1: 2, 0x10: .5, x: 1e3}", [{"1": 2, "16": 0.5, "x": 1000.0}]),
        ('{"a": NaN}', [{"a": "NaN"}]),
        ("{a: &x 1, b: *x}", []),
        ("{a: !!python/object:os.system x}", []),
        ("{[1]: 2", [{"[1]": 2}]),
        ("{<<: {a: 1}}", [{"<<": {"a": 1}}]),
        (r"\frac{1", [{"1": None}]),
    ],
)
def test_objects_are_read_with_good_will(text, objects):
    """Prose, fences, single quotes, bare keys, comments and trailing commas do not matter."""
    assert list(objects_in(text)) == objects


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"a": {"b": 1', "is cut off"),
        ('{"score": 0.', "is cut off"),
        ('{"r": "he said "so" once", "d": {"pass": true}}', "cannot be read"),
        ('{"pass": true, "pass": false}', "says 'pass' twice"),
        ('{"pass": true, "pass": true}', "says 'pass' twice"),
        ("{pass: true, pass: true}", "says 'pass' twice"),
        ("{x" * 2000, "has too many braces"),
    ],
)
def test_a_strict_reading_refuses_to_guess(text, what):
    """What begins as an object and cannot be read is not skipped for something inside of it."""
    with pytest.raises(UnreadableError, match=what):
        list(whole_objects(text, strict=True))


def test_a_strict_reading_passes_over_braces_that_begin_no_object():
    """Set notation, LaTeX and templates are prose."""
    text = r'\frac{1}{2 and {{name}} and { then {"pass": true}'
    found = list(whole_objects(text, strict=True))[-1]
    assert (found.value, text[found.start : found.end]) == ({"pass": True}, '{"pass": true}')


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000,
        '{"a":' * 100_000,
        "{a:" * 100_000,
        '{"a":[' * 50_000,
        "{a: " + "[" * 90_000,
        "{x" * 50_000 + "}" * 50_000,
        '{"' * 50_000,
        '{"a": "' + "x{" * 50_000,
    ],
    ids=lambda text: text[:8],
)
def test_hostile_texts_cost_little_and_crash_nothing(text):
    """However many braces, however deep: an answer in a moment."""
    started = time.process_time()
    list(objects_in(text))
    assert time.process_time() - started < 30  # far below a second, and minutes where it is not


def test_objects_after_many_braces_of_prose_are_still_found():
    """A judge may quote a page of LaTeX before its verdict."""
    text = r"\begin{x} \frac{1}{2} " * 300 + '{"pass": true}'
    assert list(objects_in(text))[-1] == {"pass": True}


@pytest.mark.parametrize("comment", ["/* true */", "/* true */ /**/", "/* two\n lines */"])
@pytest.mark.parametrize(
    "text",
    [
        '{# "passes": false}',
        '{"passes"#: false}',
        '{"passes":# false}',
        '{"passes": false#}',
        '{"passes": false, # }',
        "{# 'passes': false,}",
    ],
)
def test_a_comment_is_no_part_of_a_value(text: str, comment: str):
    """At each place where JSON has space; in quotation marks it is text."""
    assert list(objects_in(text.replace("#", f" {comment} "))) == [{"passes": False}]
    for quote in "\"'":
        kept = f"{quote}a /* b */ c{quote}"
        assert list(objects_in(f"{{why: {kept}, /* x */ b: 1}}")) == [
            {"why": "a /* b */ c", "b": 1}
        ]
