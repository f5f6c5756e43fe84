"""Cases of imported results that two runs call otherwise, found by their input."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.runs import Make, result

from evenhand.analysis.comparison.compared_runs import same_input
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
