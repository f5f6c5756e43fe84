"""A gate as a comment: short enough, whatever it holds, and nothing in it does anything."""

from __future__ import annotations

import re

import pytest
from msgspec import convert
from msgspec.structs import replace

from evenhand.analysis.gates.gate_document import GateChange, GateDocument, GateRow
from evenhand.analysis.gates.gate_results import Gate, Stopping
from evenhand.core.scripted import SCRIPTED
from evenhand.render.gate import document, lines
from evenhand.wings.code_hosts.comment_text import (
    LONGEST,
    CommentLinks,
    address,
    annotation_lines,
    markdown,
    prose,
)

HOSTILE = (
    "](https://evil.example) @ann #12 <img src=x onerror=alert(1)> `` ` ``` ||| \\| \n\n/close\n# x"
    "\x1b[31m\u202e -->  <!-- evenhand:gate --> </details>"
)


def gate(results: int, cases: int, text: str, notes: int = 0) -> GateDocument:
    """A gate in which everything is worse, and all texts are these."""
    changed = tuple(
        GateChange(
            case=f"{text}{i}",
            name=f"{text}{i}",
            verdict="worse",
            baseline=1.0,
            now=0.0,
            trial=i,
            failed=text,
        )
        for i in range(cases)
    )
    rows = tuple(
        GateRow(
            metric=f"{text}{i}",
            variant=f"{text}{i}",
            verdict="worse",
            cases=cases,
            because=text,
            text=text,
            where=f"{text}:{i}",
            worse=cases + 1000,
            changed=changed,
        )
        for i in range(results)
    )
    return GateDocument(
        schema="evenhand.gate/1",
        verdict="worse",
        results=rows,
        margin=0.05,
        asked=1,
        taken=2,
        of=3,
        cost_usd=0.1,
        because=text,
        notes=(text,) * notes,
        title=text,
        run=text,
    )


@pytest.mark.thorough(after=7)
@pytest.mark.parametrize("text", ["x" * 5000, HOSTILE, "`" * 5000, "|" * 3000, "é😀" * 2000])
@pytest.mark.parametrize(("results", "cases"), [(1, 100), (60, 100), (5000, 2), (0, 0)])
def test_it_is_never_longer_than_a_host_takes(text: str, results: int, cases: int):
    """What is left out is counted."""
    links = CommentLinks("https://ci.example/" + "r" * 900, "https://ci.example/log", "a" * 40)
    made = markdown(gate(results, cases, text, notes=500), links)
    assert len(made) <= LONGEST
    if results > 40:
        assert re.search(r"and [\d,]+ more", made) or "| metric |" not in made


def test_a_case_that_is_worse_says_which_expectation_it_failed():
    """No column for it where that is not known of any."""
    made = markdown(gate(1, 1, "x"), CommentLinks())
    assert "| ✗ | `x0` | 1 | 0 | `x` |" in made
    plain = gate(1, 1, "x")
    rows = tuple(
        replace(row, changed=[replace(one, failed=None) for one in row.changed])
        for row in plain.results
    )
    assert "| ✗ | `x0` | 1 | 0 |\n" in markdown(replace(plain, results=rows), CommentLinks())


def test_the_headline_says_how_many_results_could_not_be_compared():
    """One that was compared doesn't count as nothing."""
    plain = replace(gate(2, 0, "x"), verdict="nothing")
    for other in ("nothing", "not worse"):
        first, second = plain.results
        rows = (replace(first, verdict="nothing"), replace(second, verdict=other))
        words = "nothing could" if other == "nothing" else "1 of 2 results could not"
        made = markdown(replace(plain, results=rows), CommentLinks())
        assert made.startswith(f"### ! {words} be compared with the baseline")


def test_hostile_text_stands_in_code_spans_only():
    """No link, mention, HTML, command or control of a terminal is left outside of them."""
    made = markdown(gate(2, 3, HOSTILE, notes=2), CommentLinks("https://ci.example/r.html"))
    outside = re.sub(r"(?<=<summary><code>)[^<>]*(?=</code>)", "", made)
    outside = re.sub(r"(?<!`)(`+)(?!`)(?:.*?[^`])\1(?!`)", "", outside)
    assert "//evil.example" not in outside
    assert "@ann" not in outside
    assert "<img" not in outside
    assert "\x1b" not in made
    assert "\u202e" not in made
    assert not re.search(r"^\s*/close", made, re.MULTILINE)
    assert outside.count("<details") == outside.count("</details>") == 2
    for line in made.splitlines():
        if line.startswith("| "):
            cells = len(re.findall(r"(?<!\\)\|", line)) - 1
            assert cells in (4, 5), line


def test_what_is_listed_says_how_many_more_there_are():
    """Of cases, of results, and of notes."""
    made = markdown(gate(1, 30, "case ", notes=25))
    assert "and 1,010 more" in made
    assert "- and 5 more" in made
    assert "1,030 worse, 0 better" in made


def test_metrics_that_changed_alike_list_their_cases_once():
    """Passing, and the only thing that is asked."""
    changed = (
        GateChange(case="a", name="refund", verdict="worse", baseline=1.0, now=0.0, trial=0),
    )
    rows = [
        GateRow(metric=m, variant="plain", verdict="worse", cases=9, worse=1, changed=changed)
        for m in ("passed", "tone")
    ]
    made = markdown(
        GateDocument(schema="evenhand.gate/1", verdict="worse", results=tuple(rows), margin=0.05)
    )
    assert made.count("`refund`") == 1
    assert "`tone`: the same cases as `passed`" in made


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "it may be 5 points worse, one-sided; about 37 more cases",
            "it may be 5 points worse, one-sided; about 37 more cases",
        ),
        ("-12 points [-20, -5]", "-12 points \\[-20, -5\\]"),
        (
            "trials of eval sets always run",
            "trials of eval sets always run",
        ),
        ("see www.evil.example", "`see www.evil.example`"),
        ("a@b", "`a@b`"),
        ("GH-1", "`GH-1`"),
    ],
)
def test_plain_sentences_stay_as_they_are(text: str, shown: str):
    """Whatever else there is, is code."""
    assert prose(text, 100) == shown


def test_only_addresses_of_the_web_are_linked():
    """And nothing in them ends the link."""
    assert address("https://ci/a(1)[2]") == "https://ci/a%281%29%5B2%5D"
    for bad in (
        "javascript:x",
        "https://a b",
        "https://a>b",
        "",
        "file:///x",
        "https://" + "x" * 2000,
    ):
        assert address(bad) == ""


def test_annotations_name_a_file_and_cannot_become_other_commands():
    """No new line, no other property; ten at most."""
    lines = annotation_lines(gate(30, 3, HOSTILE))
    assert len(lines) == 10
    for line in lines:
        assert re.fullmatch(r"::error file=[^\n,]*,line=\d+,title=evenhand gate::[^\n]*", line)
    unknown = GateDocument(
        schema="evenhand.gate/1",
        verdict="worse",
        results=(GateRow(metric="m", variant="v", verdict="worse"),),
        margin=0.1,
    )
    assert annotation_lines(unknown) == []


def test_a_gate_that_stopped_early_says_after_how_many_cases():
    """It came to its end: nothing is missing."""
    document = GateDocument(
        schema="evenhand.gate/1",
        verdict="better",
        results=(),
        margin=0.05,
        asked=94,
        of=500,
        status="decided",
        because="x",
    )
    stopped = replace(document, stopping=Stopping(stopped=True, cases=94, of=500))
    assert "stopped after 94 of 500 cases: decided" in markdown(stopped)
    assert "stopped after" not in markdown(document)


@pytest.mark.parametrize(
    ("asked", "taken", "in_flight"),
    [(90, 0, False), (80, 10, False), (91, 0, True), (40, 60, True)],
)
def test_trials_that_a_gate_stopped_too_late_for_are_explained(
    asked: int, taken: int, in_flight: bool
):
    """In the comment and on the terminal: more were run than the verdict goes by."""
    stopping = Stopping(stopped=True, cases=30, of=60, looks=10)
    came_to = Gate(
        results=(), margin=0.05, asked=asked, taken=taken, of=180, cost_usd=0.0, stopping=stopping
    )
    said = f"{asked} of 180 trials run"
    said += ", with those in flight when it was decided: they change nothing" if in_flight else " ·"
    texts = (markdown(convert(document(came_to), GateDocument)), "\n".join(lines(came_to)))
    for text in texts:
        assert said in text
        assert "stopped after 30 of 60 cases" in text


def test_a_gate_of_a_sample_says_how_many_cases_were_run_and_how_many_it_is_about():
    """The verdict is on all of them."""
    of_part = GateRow(metric="m", variant="v", verdict="not worse", cases=80, predicted=120)
    stopping = Stopping(stopped=True, cases=80, of=200, sampled=True)
    text = markdown(
        GateDocument(
            schema="evenhand.gate/1",
            verdict="not worse",
            results=(of_part,),
            margin=0.05,
            asked=80,
            of=200,
            status="decided",
            because=None,
            stopping=stopping,
        )
    )
    assert "200 (80 run)" in text
    assert "stopped after 80 of 200 cases, drawn at random" in text


def test_scripted_replies_have_no_unknown_cost():
    """As in the terminal: nobody is asked for money."""
    unknown = replace(gate(1, 1, "x"), cost_usd=None)
    assert "cost unknown" in markdown(unknown, CommentLinks())
    scripted = replace(unknown, notes=(SCRIPTED,))
    assert "cost unknown" not in markdown(scripted, CommentLinks())
