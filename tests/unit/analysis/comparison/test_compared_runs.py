"""Cases of imported results that two runs call otherwise, found by their input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.runs import Make, result

from evenhand.analysis.comparison.compared_runs import same_input
from evenhand.core.definition import Definition
from evenhand.core.score import Outcome
from evenhand.render.comparing import compare
from evenhand.store.runfile import RunFile

IMPORTED = {"imported": {"id": "x", "file": "x.json", "from": "deepeval"}}


async def imported(make_run: Make, cases: Sequence[tuple[str, str]], **meta) -> RunFile:
    """A run of cases as (id, input)."""
    trials = [
        result(i, case=case, input=asked, description=case) for i, (case, asked) in enumerate(cases)
    ]
    return await make_run(trials, settings=IMPORTED, **meta)


def numbered(asked: str, start: int = 0) -> list[tuple[str, str]]:
    """Cases that a tool calls by their place: one for each letter."""
    return [(f"test_{i}", letter) for i, letter in enumerate(asked, start)]


@pytest.mark.parametrize(
    ("first", "second", "paired"),
    [
        ("abcdef", "abcdef", "abcdef"),
        ("abcdef", "fedcba", "abcdef"),
        ("abcdef", "xabcdef", "abcdef"),
        ("abcdef", "bcdef", "bcdef"),
        ("abcdef", "abxcdef", "abcdef"),
        ("abcdef", "uvwxyz", ""),
        ("aabcde", "abcdea", "bcde"),
        ("abcdef", "bacxfe", "abcef"),
    ],
)
async def test_cases_that_are_called_by_their_place_are_paired_by_what_they_ask(
    first: str, second: str, paired: str, make_run: Make
) -> None:
    """In another order, with a row in front or without one: never two that ask something else, none by two."""
    one = await imported(make_run, numbered(first))
    two = await imported(make_run, numbered(second))
    renamed = same_input(one, two)
    names = {case: renamed.get(case, case) for case, _ in numbered(second)}
    assert len({*names.values()}) == len(second), "no two cases become one"
    mine = dict(numbered(first))
    pairs = [(mine[names[case]], asked) for case, asked in numbered(second) if names[case] in mine]
    assert {asked for own, asked in pairs if own == asked} >= set(paired)
    (passed,) = (row for row in compare(one, two).summary_rows() if row["metric"] == "passed")
    assert passed["n"] == sum(own == asked for own, asked in pairs)


async def test_ids_of_ones_own_are_never_changed(make_run: Make) -> None:
    """Of runs that were not imported."""
    one = await make_run([result(0, case="a", input="x")])
    two = await make_run([result(0, case="b", input="x")])
    assert same_input(one, two) == {}


Checks = dict[str, bool | float]


async def checked(
    make_run: Make, checks: Checks, *, ours: bool = True, judge: str = "", tool: str = "deepeval"
) -> RunFile:
    """A run of ten cases in which each check comes to the same: a verdict, or a number without a bound."""
    about: dict[str, Any] = {"judge": judge, "prompt": "passes/1"} if judge else {}
    outcomes = [
        Outcome(name, "pass" if came else "fail", float(came), metric=name, metadata=about)
        if isinstance(came, bool)
        else Outcome(name, "not_applicable", None, named={name: came})
        for name, came in checks.items()
    ]
    known = tuple(Definition("Passes" if judge else "Equals") for _ in outcomes)
    ok = all(came is not False for came in checks.values())
    trials = [
        replace(
            result(i, ok=ok, case=f"c{i}", input=f"q{i}"),
            outcomes=tuple(outcomes),
            named_scores={name: float(came) for name, came in checks.items()},
            definitions=known if ours else (),
        )
        for i in range(10)
    ]
    about_run = {"imported": {"id": tool, "from": tool}}
    return await make_run(trials, settings={} if ours else about_run)


def verdicts(one: RunFile, other: RunFile) -> dict[str, str]:
    """What a comparison says of each metric."""
    return {row["metric"]: row["verdict"] for row in compare(one, other).summary_rows()}


async def test_a_check_that_an_imported_run_has_alone_changes_the_test(make_run: Make) -> None:
    """Where it decides. A number without a bound has no part in the verdict."""
    more = await checked(make_run, {"correct": True, "polite": False}, ours=False)
    ours = await checked(make_run, {"correct": True})
    for pair in ((more, ours), (ours, more)):
        assert verdicts(*pair)["passed"] == "undecided"
        assert "polite: only in the" in str(compare(*pair))
    number = await checked(make_run, {"correct": False, "length": 4.0}, ours=False)
    assert verdicts(number, ours) == {"passed": "better", "correct": "better"}


async def test_a_number_of_another_tools_is_no_better_than_one_of_a_judge_of_ours(
    make_run: Make,
) -> None:
    """What differs is who judged. The two may have another name for the same thing, which is told."""
    theirs = await checked(make_run, {"faithfulness": False}, ours=False)
    ours = await checked(make_run, {"faithfulness": True}, judge="gpt-5")
    text = str(compare(theirs, ours))
    assert set(verdicts(theirs, ours).values()) == {"undecided"}
    assert "judged by gpt-5 instead of an unknown judge or scorer" in text
    assert "! recorded by deepeval and by Evenhand" in text
    others = await checked(make_run, {"faithfulness": True}, ours=False, tool="ragas")
    assert "! recorded by deepeval and by ragas" in str(compare(theirs, others))
    traces = await checked(make_run, {"faithfulness": True}, ours=False, tool="traces")
    assert "! recorded by deepeval and by another program" in str(compare(theirs, traces))
    later = await checked(make_run, {"faithfulness": True}, ours=False)
    assert "! recorded by" not in str(compare(theirs, later))
    assert set(verdicts(theirs, later).values()) == {"better"}


@pytest.mark.parametrize(
    ("theirs", "note"),
    [
        ({"input": "What?"}, False),
        ({"vars": {"q": "What?"}}, True),
        ({"input": None}, True),
        ({"vars": {"q": "Why?"}}, True),
    ],
)
async def test_cases_that_only_an_id_has_in_common_are_told(
    theirs: dict[str, Any], note: bool, make_run: Make
) -> None:
    """Many tools count their cases, so that an id says little. Where both have variables alone, these tell it."""
    trials = [result(i, case=f"{i}") for i in range(6)]
    bare = [replace(one, **{"input": None, "vars": {}, **theirs}) for one in trials]
    other = await make_run(bare, settings=IMPORTED)
    ours = await make_run([replace(one, vars={}, input="What?") for one in trials])
    words = "nothing but the id says that 6 cases of both runs are the same"
    assert (words in str(compare(other, ours))) is note
    variables = await make_run([replace(one, input=None, vars={"q": "What?"}) for one in trials])
    told = words in str(compare(other, variables))
    assert told is (theirs != {"vars": {"q": "What?"}})
