"""Shards: together they are the plan, and what belongs together is in one of them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from evenhand.core.case import Case
from evenhand.core.errors import UsageError
from evenhand.core.expect import Trial
from evenhand.core.plan import Plan, Row, Sheet, Slot
from evenhand.core.shard import Shard, Sharded
from evenhand.core.shard_part import Part
from evenhand.core.variant import Variant
from evenhand.testing.plan import example


async def says(trial: Trial) -> str:
    """A body."""
    return trial.case.id


def shards(plan: Plan, count: int) -> list[Part]:
    """All shards of a plan."""
    return [Part(plan, Shard(i, count)) for i in range(1, count + 1)]


@pytest.mark.parametrize("seed", range(5))
def test_every_trial_is_in_exactly_one_shard(seed: int):
    """Of plans of any size, with repeats and several variants."""
    draw = random.Random(seed)
    cases, repeats, count = draw.randint(1, 30), draw.randint(1, 3), draw.randint(1, 7)
    variants = [Variant(i, f"p{i}", "m") for i in range(draw.randint(1, 3))]
    plan = example(cases, says, repeats=repeats, variants=variants)
    parts = shards(plan, count)
    for index in range(plan.size):
        assert sum(index in part for part in parts) == 1
    assert sum(part.size for part in parts) == plan.size
    assert sum(part.cases for part in parts) == cases
    assert max(part.cases for part in parts) - min(part.cases for part in parts) <= 1


def test_a_case_is_whole_in_its_shard():
    """With all its variants and repeats."""
    variants = [Variant(i, f"p{i}", "m") for i in range(3)]
    plan = example(7, says, repeats=2, variants=variants)
    for part in shards(plan, 3):
        mine = [planned.case.id for planned in plan.trials() if planned.index in part]
        assert len(mine) == 6 * len(set(mine))


def test_a_row_of_several_cases_with_repeats_is_dealt_by_case():
    """Their repeats come after all of them."""

    def rows() -> Iterator[Row]:
        for n in range(4):
            cases = tuple(Case(f"{n}.{i}", {}) for i in range(2))
            yield Row(
                cases=cases,
                slots=lambda *_: [Slot(variant=Variant(0, "p", "m"), body=says)],
                repeats=3,
            )

    sheet = Sheet(variants=[Variant(0, "p", "m")], rows=rows, case_count=8, size=24, repeats=3)
    plan = Plan(title="rows", sheets=[sheet], identify=lambda: "f")
    for part in shards(plan, 2):
        mine = [planned.case.id for planned in plan.trials() if planned.index in part]
        assert part.cases == 4
        assert len(mine) == 12
        assert all(mine.count(case) == 3 for case in mine)


def test_what_comes_after_something_is_in_the_shard_of_that():
    """A conversation of turns that lie far apart, and one that joins two others."""
    after = {3: (0,), 6: (3,), 7: (1, 2)}

    def rows() -> Iterator[Row]:
        for i in range(8):
            yield Row(
                cases=(Case(f"c{i}", {}),),
                slots=lambda _, index: [
                    Slot(variant=Variant(0, "p", "m"), body=says, after=after.get(index, ()))
                ],
            )

    plan = Plan(
        title="turns",
        sheets=[Sheet(variants=[Variant(0, "p", "m")], rows=rows, case_count=8, size=8)],
        identify=lambda: "f",
    )
    owners = {i: n for n, part in enumerate(shards(plan, 3)) for i in range(8) if i in part}
    assert len(owners) == 8
    assert owners[0] == owners[3] == owners[6]
    assert owners[1] == owners[2] == owners[7]
    assert len(set(owners.values())) == 3


@pytest.mark.parametrize("text", ["", "3", "0/3", "4/3", "1/0", "-1/3", "1/2/3", "a/b", "1/99999"])
def test_what_is_no_shard_is_refused_with_an_example(text: str):
    """Quoting what was written."""
    with pytest.raises(UsageError, match="is not a shard") as caught:
        Shard.of(text)
    assert f"'{text}'" in str(caught.value)
    assert "1/3" in caught.value.hint


def test_a_shard_is_read_as_it_is_kept():
    """In the settings of its run."""
    sharded = Sharded(Shard.of(" 2 / 3"), 24, 8)
    assert Sharded.of({"shard": sharded.record()}) == sharded
    assert Sharded.of({}) is None
