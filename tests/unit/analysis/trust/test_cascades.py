"""The limits of a cascade count each cluster once, and outputs on which people are split as wrong."""

from __future__ import annotations

from evenhand.analysis.trust.cascades import CascadeCalibration, cascade_calibration
from evenhand.analysis.trust.judgements.judged import CascadeStages, Item, JudgedMetric
from evenhand.store.labels.draw import Draw

LABELS = 100


def item(index: int, size: int) -> Item:
    """An output of a document of so many, 1 for none, that both judges are sure to judge alike."""
    stages = CascadeStages(
        id="{}",
        risk=0.1,
        stage="then",
        first_passed=index % 3 > 0,
        first=0.9,
        then=1.0,
        question="q",
        system="s",
        judges=("a", "b"),
    )
    return Item(
        index=index,
        case=f"c{index}",
        variant=0,
        passed=index % 3 > 0,
        stages=stages,
        cluster=f"doc={index // size}" if size > 1 else "",
    )


def calibrated(size: int, split: int = 0) -> CascadeCalibration:
    """By a hundred labels of two hundred outputs that say the judges are right; on some of them people are split."""
    items = [item(i, size) for i in range(200)]
    places = tuple((i * 69) % 200 for i in range(LABELS))
    drawn = Draw(number=1, at=0.0, seed=1, metrics=("m",), population=200, places=places)
    people = {items[i]: items[i].passed for i in places[split:]}
    hard = [items[i] for i in places[:split]]
    one = cascade_calibration(
        JudgedMetric(metric="m", model="a > b", items=items), people, [drawn], hard
    )
    assert one is not None
    return one


def test_labels_of_one_cluster_count_once_in_the_limits_of_a_cascade():
    """A hundred labels of ten documents are ten: the verdicts may not stand at a risk of 10 %."""
    alone, together = calibrated(1), calibrated(20)
    assert alone.limits is not None
    assert (alone.labels, alone.decided_first) == (LABELS, 200)
    assert "from 0.90 on, at a risk of 10 % (95 % confidence)" in alone.lines()[0]
    assert (together.labels, together.limits) == (10, None)
    assert "no verdicts may stand at a risk of 10 % (95 % confidence; each cluster counts once) yet" in (
        together.lines()[0]
    )  # fmt: skip


def test_outputs_on_which_people_are_split_count_as_wrong_in_the_limits_of_a_cascade():
    """Twelve of a hundred: left out, the first judge would decide everything."""
    one = calibrated(1, split=12)
    assert (one.labels, one.wrong, one.split, one.limits) == (LABELS, 12, 12, None)
    first, last = one.lines()
    assert "people disagree with or are split on 12 of 100 verdicts" in first
    assert last == "people are split on 12 labelled outputs: the verdicts on these count as wrong"
    assert calibrated(1).missing == one.missing == 0
