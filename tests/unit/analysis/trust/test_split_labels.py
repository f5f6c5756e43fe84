"""Outputs on which people are split: what is left out is said, and intervals and bounds hold for either verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.runs import Make
from tests.unit.render.test_judge_trust import a_run, label

from evenhand.analysis.comparison.judged_differences import JudgedRun, judged_differences
from evenhand.analysis.trust.calibrated import judged_rates
from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.calibration_file import place_of, write_calibration
from evenhand.analysis.trust.judged_document import judged_rows
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.core.requirement import Bound, Requirement
from evenhand.render.calibration_text import calibration_lines
from evenhand.render.comparison import judged_line
from evenhand.render.judged_rates import judged_lines, shared_standing, standing
from evenhand.stats.correction import Estimate
from evenhand.stats.split_labels import SplitItem, SplitShare, difference_around, split_share
from evenhand.store.labels.stored_draws import add_metric_labels
from evenhand.store.runfile import RunFile

LABELS, SPLIT = 100, 20


def good(i: int) -> bool:
    """People pass eight of ten."""
    return i % 10 < 8


async def labelled(make: Make, folder: Path, *, split: int = SPLIT, **more: Any) -> RunFile:
    """A run of which a hundred outputs are labelled; on the first of these, another person says the opposite."""
    source = {"source": str(folder / "promptfooconfig.yaml")}
    run = label(await a_run(make, 400, said=good, **source, **more), good, size=LABELS)
    other = [
        (place, "prose", "fail" if good(place) else "pass")
        for place in run.draws()[0].places[:split]
    ]
    add_metric_labels(run.path, "bob", other)  # type: ignore[arg-type]
    return RunFile.open(run.path)


async def test_a_corrected_rate_says_what_it_leaves_out_and_holds_for_either_verdict(
    make_run: Make, tmp_path: Path
):
    """In `calibrate`, in the run, in its document, and in a later run by the file."""
    run = await labelled(make_run, tmp_path)
    calibration = calibrate(run)
    (judge,) = calibration.judges
    assert (judge.verdicts.labels, judge.unused) == (LABELS - SPLIT, 0)
    assert judge.split is not None
    assert (judge.split.items, judge.split.share) == (SPLIT, SPLIT / LABELS)
    text = "\n".join(calibration_lines(calibration))
    assert "20 labelled outputs left out: people are split on them" in text
    assert "the interval of the corrected rate holds whichever way people decide on these" in text
    assert judge.people is not None
    assert judge.people < 0, "those on which they are split count in how far people agree"
    write_calibration(calibration, place_of(run.meta))
    (own,) = judged_rates(run)
    (later,) = judged_rates(
        await a_run(make_run, 400, said=good, source=str(tmp_path / "promptfooconfig.yaml"))
    )
    for one in (own, later):
        assert one.corrected is not None
        assert one.agreed is not None
        assert one.corrected.value == one.agreed.value
        # A fifth of all outputs may all be passes, or all be failures.
        least, most = one.values
        assert one.corrected.low < min(least, one.agreed.low)
        assert one.corrected.high > max(most, one.agreed.high)
        assert "80 labels, today, without 20 outputs on which people are split" in standing(one)
        shared = shared_standing([one, one], ["a", "b"])
        assert "80 labels each, without 40 outputs on which people are split" in shared
    (row,) = judged_rows(run)
    assert (row.labels, row.split) == (80, 20)


async def test_without_a_split_nothing_is_said_and_nothing_is_wider(make_run: Make, tmp_path: Path):
    """Two people who agree on all are one."""
    run = await labelled(make_run, tmp_path, split=0)
    (one,) = judged_rates(run)
    assert (one.split, one.agreed) == (None, None)
    assert one.corrected is not None
    assert one.values == (one.corrected.value,)
    assert "split" not in standing(one)
    assert not any("split" in line for line in calibration_lines(calibrate(run)))


async def test_a_bound_is_kept_only_if_it_is_for_either_verdict(make_run: Make, tmp_path: Path):
    """Of outputs on which people agree, 80 % pass; of all, it may be 64 %: no pass where 70 % are required."""
    for split, word in ((0, "passed"), (SPLIT, "undecided")):
        run = await labelled(
            make_run,
            tmp_path / str(split),
            split=split,
            settings={"calibrated": "required"},
            requirements=(Requirement("prose", Bound(at_least=0.7), (0,)),),
        )
        assert verdict_of(run) == word
        text = "\n".join(judged_lines(run, ["p"], 200))
        assert ("no verdict: prose is " in text) is bool(split)
        assert ("% if people decide otherwise where they are split, wanted" in text) is bool(split)


async def test_a_judged_difference_holds_for_either_verdict(make_run: Make, tmp_path: Path):
    """Either side's outputs on which people are split may all pass, and the other's all fail."""
    ends: list[Estimate] = []
    for split in (0, SPLIT):
        first, second = [
            JudgedRun(await labelled(make_run, tmp_path / f"{side}{split}", split=split))
            for side in "ab"
        ]
        (one,) = judged_differences(first, second, [(0, 0)], [("a", "b")])
        assert one.corrected is not None
        ends.append(one.corrected)
        said = "80 and 80 labels, without 40 outputs on which people are split" in judged_line(one)
        assert said is bool(split)
        assert one.row().split == [split, split]
    without, with_split = ends
    assert with_split.low < without.low - 0.2
    assert with_split.high > without.high + 0.2


def test_the_ends_of_a_rate_are_those_of_all_items():
    """Eighty of a hundred agree, of which 90 % pass: of all, 72 to 92 % do."""
    share = SplitShare(20, 0.2, 0.29)
    assert share.ends(0.9) == pytest.approx((0.72, 0.92))
    around = share.around(Estimate(0.9, 0.8, 0.95))
    assert around.value == 0.9
    assert around.low <= 0.8 * 0.8
    assert around.high >= 0.95 * 0.8 + 0.2
    none = difference_around(Estimate(0.1, 0.0, 0.2), (around, None), (around, None))
    assert none == Estimate(0.1, 0.0, 0.2)


def test_items_that_go_together_or_weigh_more_leave_more_open():
    """Twenty of a hundred in four documents of twenty tell less of how many there are; and so do a few heavy ones."""
    alone = split_share([SplitItem(str(i), i < 20) for i in range(100)])
    together = split_share([SplitItem(str(i // 5), i < 20) for i in range(100)])
    heavy = split_share([SplitItem(str(i), i < 20, 1.0 if i % 10 else 50.0) for i in range(100)])
    assert alone is not None
    assert together is not None
    assert heavy is not None
    assert alone.most < together.most
    assert alone.most < heavy.most
    assert split_share([SplitItem("a", split=False)]) is None
