"""Cases from traces: each input once, drawn by strata with the probability said, and nobody's data in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import UsageError
from evenhand.doors.spans.span import RawSpan
from evenhand.doors.spans.span_to_step import CASE
from evenhand.engine.door import waited_for
from evenhand.store.merging import keep_run
from evenhand.store.runfile import RunFile
from evenhand.wings.traces.cases import DrawnCases, Redaction, drawn_cases
from evenhand.wings.traces.run import TracedRun, Traces

START = 1_764_000_000_000_000_000


def kept(folder: Path, *rows: tuple[str, str]) -> Path:
    """A run of traces that each have an input, and call a tool."""
    traces = Traces(source="t")
    for i, (said, tool) in enumerate(rows):
        at, trace = START + i * 10**9, f"{i + 1:032x}"
        about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
        if said:
            about["gen_ai.input.messages"] = f'[{{"role": "user", "content": "{said}"}}]'
        traces.add(
            RawSpan(trace=trace, id="a", name="chat", start=at, end=at + 5, attributes=about)
        )
        if tool:
            calls = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
            traces.add(
                RawSpan(trace=trace, id="b", name=tool, start=at + 6, end=at + 9, attributes=calls)
            )
    run = TracedRun(traces)
    return waited_for(keep_run(folder, run.meta, run.trials()))


def drawn(path: Path, *words: object, **options: object) -> DrawnCases:
    """What is drawn from a run file."""
    with RunFile.open(path) as run:
        return drawn_cases(run, *words, **options)  # pyright: ignore[reportArgumentType]


def test_each_input_is_a_case_once(tmp_path: Path):
    """Case and spaces make no difference; what has no input is left out, and both are counted."""
    path = kept(tmp_path, ("Where is it?", ""), ("where  is it? ", ""), ("", ""), ("Refund!", ""))
    made = drawn(path)
    assert [case.input for case in made.cases] == ["Where is it?", "Refund!"]
    assert (made.traces, made.doubles, made.without) == (4, 1, 1)
    assert [case.metadata["probability"] for case in made.cases] == [1.0, 1.0]


def test_a_draw_by_strata_says_how_likely_each_case_was(tmp_path: Path):
    """Weighted by what they stand for, the drawn ones come to all of their stratum."""
    rows = [(f"a {i}", "search") for i in range(30)] + [(f"b {i}", "refund") for i in range(10)]
    path = kept(tmp_path, *rows)
    made = drawn(path, 8, by="tools", seed=1)
    assert [(one.name, one.size, one.drawn) for one in made.strata] == [
        ("refund", 10, 2),
        ("search", 30, 6),
    ]
    for one in made.strata:
        weights = [
            1 / case.metadata["probability"]
            for case in made.cases
            if case.metadata["stratum"] == one.name
        ]
        assert sum(weights) == pytest.approx(one.size)
    assert drawn(path, 8, by="tools", seed=1) == made
    assert drawn(path, 8, by="tools", seed=2).cases != made.cases


def test_every_case_is_drawn_as_often_as_any_other(tmp_path: Path):
    """Over 400 seeds, 3 of 6 each: 200 times, give or take 4 standard deviations."""
    path = kept(tmp_path, *[(f"case {i}", "") for i in range(6)])
    counts = dict.fromkeys([f"case {i}" for i in range(6)], 0)
    with RunFile.open(path) as run:
        for seed in range(400):
            for case in drawn_cases(run, 3, seed=seed).cases:
                counts[case.input] += 1
    assert all(abs(many - 200) < 40 for many in counts.values()), counts


def test_nothing_to_draw_from_is_said(tmp_path: Path):
    """Programs leave out what was said by default."""
    path = kept(tmp_path, ("", ""))
    with pytest.raises(UsageError, match="none of the 1 trials has an input"):
        drawn(path)
    with pytest.raises(UsageError, match="--by 'tool' divides nothing") as raised:
        drawn(path, by="tool")
    assert "tools" in (raised.value.hint or "")


@pytest.mark.parametrize("redacted", [True, False])
def test_input_output_and_error_are_redacted_unless_that_is_not_wanted(
    tmp_path: Path, redacted: bool
):
    """Each of them may hold what a person said."""
    traces = Traces(source="t")
    about = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.input.messages": "I am ann@example.com",
        "final_result": "Hello ann@example.com",
    }
    traces.add(
        RawSpan(
            trace="1" * 32,
            id="a",
            start=START,
            end=START + 5,
            status="error",
            error="no ann@example.com",
            attributes=about,
        )
    )
    run = TracedRun(traces)
    made = drawn(waited_for(keep_run(tmp_path, run.meta, run.trials())), redacted=redacted)
    (case,) = made.cases
    who = "[email]" if redacted else "ann@example.com"
    assert case.input == f"I am {who}"
    assert case.metadata["answered"] == f"Hello {who}"
    assert case.metadata["error"] == f"no {who}"
    assert made.hidden == ({"email": 3} if redacted else {})


def test_cases_of_one_name_are_numbered(tmp_path: Path):
    """An application named two different inputs alike; ids are unique, whatever was drawn."""
    traces = Traces(source="t")
    for i in range(3):
        about = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.input.messages": f'[{{"role": "user", "content": "{i}"}}]',
            CASE: "same",
        }
        traces.add(
            RawSpan(trace=f"{i + 1:032x}", id="a", start=START + i, end=START + 9, attributes=about)
        )
    run = TracedRun(traces)
    assert (run.meta.case_count, run.meta.repeats) == (1, 3)
    made = drawn(waited_for(keep_run(tmp_path, run.meta, run.trials())))
    assert [case.id for case in made.cases] == ["same", "same-2", "same-3"]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("mail ann.lee+x@mail.example.co.uk now", "mail [email] now"),
        ("card 4111 1111 1111 1111, thanks", "card [card], thanks"),
        ("order 4111 1111 1111 1112", "order 4111 1111 1111 1112"),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN [account]"),
        ("call (030) 1234-5678 or +491701234567", "call [phone] or [phone]"),
        (
            "on 2026-11-23 at 10:30, 3.14159265 and v1.2.3",
            "on 2026-11-23 at 10:30, 3.14159265 and v1.2.3",
        ),
        ("my password is hunter2!", "my password is [redacted]!"),
    ],
)
def test_what_identifies_people_is_hidden(text: str, clean: str):
    """And what only looks a little like it stays."""
    assert Redaction().of([text]) == [clean]
