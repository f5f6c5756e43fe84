from __future__ import annotations

import io
import tracemalloc
from dataclasses import replace

import pytest
from tests.runs import Make, result

from evenhand.analysis.summaries.grid import Grid, column_names
from evenhand.core.errors import UsageError
from evenhand.core.run import CallEnd, CallStart, TrialError
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.core.wording.ink import Ink
from evenhand.render.cell import call_lines, find_cells
from evenhand.render.console import show_trial
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.cell import cell


def found(run: RunFile, ref: str) -> list[int]:
    """The places of the cells that a reference means."""
    return [trial.index for trial in find_cells(run, Grid(run), ref)]


def shown(run: RunFile, ref: str, **how) -> str:
    """What is printed of a cell."""
    out = io.StringIO()
    show_trial(run, ref, out, **{"width": 100, **how})
    return out.getvalue()


@pytest.mark.parametrize("ref", ["better:3", "prompts.py:better:3", "bett:3", "better:case2"])
async def test_a_cell_is_found_by_any_of_its_names(summaries_run: RunFile, ref: str) -> None:
    """Column by its name, its prompt or a part of it; case by number or id."""
    assert found(summaries_run, ref) == [7]


async def test_a_model_or_a_case_alone_means_several_cells(summaries_run: RunFile) -> None:
    """All columns of a model, all columns of a case."""
    assert found(summaries_run, "Claude:3") == [6, 7, 8]
    for case in ("case2", "3", ":3"):
        assert found(summaries_run, case) == [6, 7, 8]


async def test_an_exact_name_goes_before_a_part_of_one(make_run: Make) -> None:
    """`a` is not `ab`, and repeats of a cell come together."""
    variants = (Variant(0, "ab", "m"), Variant(1, "a", "m"))
    trials = [replace(result(i, variant=i % 2, case="c"), repeat=i // 2) for i in range(4)]
    run = await make_run(trials, variants, repeats=2)
    assert found(run, "a:1") == [1, 3]
    assert found(run, "ab:1") == [0, 2]


async def test_cases_with_other_characters_are_found(make_run: Make) -> None:
    """An id need not be ASCII, and may look like a number."""
    run = await make_run([result(0, case="größe"), result(1, case="42")])
    assert found(run, "größe") == [0]
    assert found(run, "42") == [1]
    assert found(run, "1") == [0]


async def test_a_case_is_found_by_the_name_that_reports_show(make_run: Make) -> None:
    """Its description, with its number or without, alone or in a column; several that share one are all meant."""
    variants = (Variant(0, "plain", "m"), Variant(1, "strict", "m"))
    described = ("shoes", "receipt", "say: no", "receipt", "")
    trials = [
        replace(result(2 * i + v, variant=v, case=f"hash{i}"), description=text)
        for i, text in enumerate(described)
        for v in (0, 1)
    ]
    run = await make_run(trials, variants)
    assert found(run, "shoes") == found(run, "1 shoes") == [0, 1]
    assert found(run, "strict:shoes") == [1]
    assert found(run, "say: no") == [4, 5]
    assert found(run, "receipt") == [2, 3, 6, 7]
    assert found(run, "4 receipt") == [6, 7]
    with pytest.raises(UsageError) as caught:
        found(run, "reciept")
    hint = "Did you mean 'receipt'? Its cases: 1 shoes, 2 receipt, 3 say: no, 4 receipt, 5 hash4."
    assert hint in str(caught.value)


async def test_a_run_of_one_column_needs_no_name_of_it(make_run: Make) -> None:
    """`:2` and `2` are its second case, whatever the column is called."""
    run = await make_run([result(0, case="a"), result(1, case="b")])
    assert found(run, ":2") == found(run, "2") == [1]


async def test_a_cell_that_is_named_as_an_example_is_there(make_run: Make) -> None:
    """Of tests, each column has cases of its own."""
    variants = (Variant(0, "test_a", ""), Variant(1, "test_b", ""))
    run = await make_run([result(0, case="a"), result(1, variant=1, case="b")], variants)
    for ref in ("test_b", "test_b:1"):
        with pytest.raises(UsageError, match="'test_b:2'"):
            found(run, ref)
    assert found(run, "test_b:2") == [1]


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("99", "has no result of case '99'"),
        ("0", "Cases are counted from 1 to"),
        ("9" * 5_000, "no result of case '999"),
        (f"#{'9' * 5_000}:1", "has no variant"),
        ("beter:3", "Did you mean 'better'?"),
        ("better:9", "has no result of case '9'"),
        ("nonsense", "has no case 'nonsense'"),
        ("better", "It is a variant: name one of its cases, as 'better:1'."),
        ("nonsense:1", "has no variant 'nonsense'"),
        (":9", "has no result of case '9'"),
    ],
)
async def test_a_cell_that_is_not_there_is_refused_with_what_there_is(
    summaries_run: RunFile, ref: str, words: str
) -> None:
    """The message names the columns or the range of cases."""
    with pytest.raises(UsageError) as caught:
        found(summaries_run, ref)
    assert words in str(caught.value)


async def test_a_cell_shows_all_that_is_known_of_it(make_run: Make) -> None:
    """Variables, prompt, output, expectations with their reasons, calls, and what the user's code printed."""
    outcomes = (
        Outcome("llm-rubric is polite", "pass", 0.9, "It is."),
        Outcome(
            "assert-set",
            "fail",
            0.5,
            "one failed",
            2.0,
            metadata={
                "components": [
                    {"pass": True, "reason": "fine"},
                    {"pass": False, "reason": "no date"},
                    "odd",
                ]
            },
        ),
        Outcome("rag", "not_applicable", None, "no context"),
    )
    start = CallStart(0, "k", 0, "subject", "openai:chat:x", b"{}", None)
    calls = [
        (start, CallEnd(b"{}", "provider", 1.25, 1200, 30, 0.002, "x", attempts=3)),
        (replace(start, role="judge", nth=1), CallEnd(b"{}", "cache", 0.5, None, None, None, "x")),
        (
            replace(start, nth=2),
            CallEnd(b"", "provider", error="timed-out", message="no answer in 60 s"),
        ),
        (replace(start, nth=3), None),
    ]
    trial = result(
        0,
        ok=False,
        case="a1",
        description="greeting",
        prompt="Say\nhello",
        output={"text": "hé"},
        vars={"name": "Ada", "items": [1, 2]},
        outcomes=outcomes,
        score=0.6666666,
        log="debug\n",
    )
    text = shown(await make_run([trial], calls=calls), "1")
    assert text == (
        "✗ Say {{x}} · 1 greeting   fail, score 0.6667\n"
        "  case a1 · Say {{x}} · echo\n"
        "\n"
        "  variables\n"
        "    name   Ada\n"
        "    items  [ 1, 2 ]\n"
        "\n"
        "  prompt\n"
        "    Say\n"
        "    hello\n"
        "\n"
        "  output\n"
        "    {\n"
        '      "text": "hé"\n'
        "    }\n"
        "\n"
        "  expected\n"
        "  ✓ llm-rubric is polite  0.9\n"
        "      It is.\n"
        "  ✗ assert-set  0.5  (weight 2)\n"
        "      one failed\n"
        "      ✓ fine\n"
        "      ✗ no date\n"
        "  – rag  not applicable\n"
        "      no context\n"
        "\n"
        "  calls\n"
        "    subject   openai:chat:x   provider · 1.2 s · $0.0020 · 1,200 → 30 tokens · 3 attempts\n"
        "    judge     openai:chat:x   cache · 500 ms · price unknown\n"
        "    subject   openai:chat:x   timed-out\n"
        "             no answer in 60 s\n"
        "    subject   openai:chat:x   in doubt: no answer, as the process was killed or the caller gave up\n"
        "\n"
        "  printed by your code\n"
        "    debug\n"
        "\n"
    )


async def test_scripted_replies_are_no_providers(make_run: Make) -> None:
    """In the terminal and in the viewer; what the script didn't answer in such a run is what it was."""
    at_script = b'{"url": "http://127.0.0.1:8123/v1/chat/completions"}'
    calls = [
        (
            CallStart(0, f"k{nth}", nth, "subject", "openai:chat:x", identity, None),
            CallEnd(b"{}", origin, 0.5, None, None, None, "x"),
        )
        for nth, (origin, identity) in enumerate(
            [("provider", at_script), ("cache", at_script), ("provider", b"{}")]
        )
    ]
    run = await make_run([result(0)], calls=calls, settings={"asked": {"offline": True}})
    (trial,) = run.trials()
    origins = ["script", "cache", "provider"]
    assert [call.origin for call in cell(run, trial).calls] == origins
    lines = call_lines(run, trial, 80, Ink(False), whole=False)[2:]
    assert [line.split()[2] for line in lines] == origins


async def test_a_case_is_shown_with_its_input_and_its_right_answer(make_run: Make) -> None:
    """Those of eval sets have both; an input that is also a variable is shown once."""
    run = await make_run(
        [
            result(0, input={"q": "Why?"}, expected=["a", "b"], vars={"lang": "en"}),
            result(1, input="Why?", expected=0, vars={"input": "Why?"}),
            result(2),
        ]
    )
    first, second, third = (shown(run, str(index)) for index in range(1, 4))
    assert '  input\n    {\n      "q": "Why?"\n    }\n\n  variables\n    lang  en\n' in first
    assert '  right answer\n    [\n      "a",\n      "b"\n    ]\n\n' in first
    assert second.count("Why?") == 1
    assert "  right answer\n    0\n" in second
    assert not any(word in third for word in ("input", "right answer", "variables"))


async def test_an_error_shows_what_to_do(make_run: Make) -> None:
    """Slug, message and advice, and no output where there is none."""
    error = TrialError("code", "ValueError: no\nTraceback", "Fix grader.py.")
    text = shown(await make_run([result(0, ok=None, output=None, error=error)]), "1")
    assert "error\n" in text.splitlines()[0] + "\n"
    assert "  error  code\n    ValueError: no\n    Traceback\n    Fix grader.py.\n" in text
    assert "output" not in text


async def test_long_texts_are_cut_and_foreign_ones_made_harmless(make_run: Make) -> None:
    """Forty lines of a text, then how much there is; escapes are shown."""
    trial = result(0, output="\x1b[2J\u202e" + "line\n" * 500, prompt="p", log="\x07")
    text = shown(await make_run([trial]), "1", width=60)
    assert "… (2,505 characters in all)" in text
    assert text.endswith("  in full: evenhand show 01KAEXAMPL 1 --json\n")
    assert "\\x1b[2J\\u202e" in text
    assert all(c.isprintable() or c == "\n" for c in text)
    assert len(text.splitlines()) < 60


@pytest.mark.thorough
async def test_a_text_of_many_megabytes_costs_little_more_than_its_beginning(
    make_run: Make,
) -> None:
    """Twenty million words took a list of them, and forty times the memory."""
    run = await make_run([result(0, output="of it " * 10_000_000)])
    with RunFile.open(run.path) as opened:
        assert opened.word_sums() == [[(20_000_000, 1, 0)]]
        tracemalloc.start()
        text = shown(opened, "1")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert "… (60,000,000 characters in all)" in text
    assert most < 400_000_000


async def test_repeats_are_shown_one_after_the_other(make_run: Make) -> None:
    """A cell that was repeated is shown once for each repeat."""
    trials = [replace(result(i, case="c"), repeat=i) for i in range(3)]
    text = shown(await make_run(trials, repeats=3), "c")
    assert [line for line in text.splitlines() if "repeat" in line][2].startswith(
        "✓ Say {{x}} · case 1 · repeat 3"
    )


def test_columns_have_the_shortest_names_that_tell_them_apart() -> None:
    """What all have in common is left out; equal names are numbered."""

    def names(*pairs: tuple[str, str]) -> list[str]:
        return column_names([Variant(i, prompt, model) for i, (prompt, model) in enumerate(pairs)])

    assert names(("p.py:a", "m"), ("p.py:b", "m")) == ["a", "b"]
    assert names(("p", "m"), ("p", "n")) == ["m", "n"]
    assert names(("x:a", "m"), ("x:b", "n")) == ["a · m", "b · n"]
    assert names(("a", ""), ("b", "m")) == ["a", "b · m"]
    assert names(("p.py:a", "m")) == ["p.py:a"]
    assert names(("p", "m"), ("p", "m")) == ["p #1", "p #2"]
    assert names(("x:", "m"), ("x:b", "m")) == ["x:", "x:b"]
    assert names(("a" * 90 + "1", "m"), ("a" * 90 + "2", "m"))[1].endswith("aa2")
    assert names(("a" * 90 + "1" + "b" * 90, "m"), ("a" * 90 + "2" + "b" * 90, "n"))[1] != "…"
    assert names() == []
