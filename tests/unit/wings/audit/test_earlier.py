"""What earlier runs have of the cases that are audited."""

from __future__ import annotations

import time
from pathlib import Path

from tests.runs import Make, result

from evenhand.core.variant import Variant
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_labels import append_labels
from evenhand.wings.audit.earlier import Stored, earlier_runs


async def home_of_a_labelled_run(make: Make) -> Path:
    """A folder with a run of two cases and an error, of which people passed, failed and starred some."""
    run = await make(
        [
            result(0, case="a", output="one"),
            result(1, case="b", ok=False, output="two"),
            result(2, case="c", ok=None),
            result(3, case="d", output={"not": "text"}),
        ],
        (Variant(0, "p", "m", eval="shop"),),
    )
    append_labels(
        run.path,
        [
            NewLabel(0, "verdict", "fail", "Ann"),
            NewLabel(1, "verdict", "fail", "Ann"),
            NewLabel(1, "verdict", "pass", "Ann"),
            NewLabel(3, "star", True, "Ann"),
        ],
    )
    return run.path.parents[1]


async def test_outputs_come_with_what_people_say_of_them(make_run: Make):
    """The last thing that they said; None where they gave no verdict. Other evals' cases are left out."""
    home = await home_of_a_labelled_run(make_run)
    keys = [("shop", case) for case in "abcd"]
    earlier = earlier_runs(home, keys)
    stored: dict[str, Stored] = {one.case: one for (_, _), (one,) in earlier.trials.items()}
    assert {case: (one.output, one.state, one.label) for case, one in stored.items()} == {
        "a": ("one", "pass", False),
        "b": ("two", "fail", True),
        "c": ("", "error", None),
        "d": (None, "pass", None),
    }
    assert earlier.runs == 1
    assert stored["a"].expectations == {'0 contains "sea"': ("pass", "")}
    assert sorted(earlier.outputs(["shop"])) == [("a", "one"), ("b", "two"), ("c", "")]
    assert earlier.outputs(["other"]) == []
    nothing = earlier_runs(home, [("other", "a")])
    assert (nothing.runs, nothing.trials) == (0, {})


async def test_what_was_run_or_labelled_later_does_not_count(make_run: Make):
    """An audit as of a moment sees what there was then."""
    begun = time.time() - 1
    home = await home_of_a_labelled_run(make_run)
    before_labels = earlier_runs(home, [("shop", "a")], before=begun)
    assert [one.label for (one,) in before_labels.trials.values()] == [None]
    now = earlier_runs(home, [("shop", "a")], before=time.time() + 1)
    assert [one.label for (one,) in now.trials.values()] == [False]
    assert earlier_runs(home, [("shop", "a")], before=begun - 60).runs == 0


async def test_runs_that_checked_judges_or_were_edited_are_no_history(make_run: Make):
    """Their outputs are not those of the application."""
    await make_run([result(0, case="a")], settings={"probe": {"kinds": []}})
    run = await make_run([result(0, case="a")])
    homes = [run.path.parents[2].with_name(name) / ".evenhand" for name in ("home0", "home1")]
    assert [earlier_runs(home, [("", "a")]).runs for home in homes] == [0, 1]


async def test_a_file_that_is_no_run_is_passed_over(make_run: Make):
    """The others are read all the same."""
    run = await make_run([result(0, case="a")])
    run.path.with_name("01ZZZZZZZZZZZZZZZZZZZZZZZZ.evn").write_bytes(b"no run")
    assert earlier_runs(run.path.parents[1], [("", "a")]).runs == 1
