"""Shares of kinds of failure and what named kinds cover: by hand, at their ends, and in simulations with errors."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest

from evenhand.stats.correction import Verdicts
from evenhand.stats.kind_shares import kind_share, named_share

SEED = 20_261_129


def test_a_share_is_the_complement_of_a_corrected_pass_rate_within_its_interval():
    """Fifteen of 17 outputs that people gave the kind, the judge found; the judge gives it 18 % of all."""
    estimate = kind_share([Verdicts(80, 3, 2, 15, 410, 500)])
    assert estimate is not None
    assert 0.12 < estimate.low < estimate.value < estimate.high < 0.23


def test_a_kind_that_nobody_found_may_have_no_output_at_all():
    """Its upper end says how rare it is."""
    estimate = kind_share([Verdicts(57, 3, 0, 0, 470, 500)])
    assert estimate is not None
    assert estimate.low == 0
    assert 0 < estimate.high < 0.08


def test_without_labels_nothing_is_known():
    """None is not 0."""
    assert kind_share([]) is None
    assert kind_share([Verdicts(0, 0, 0, 0, 400, 500)]) is None
    assert named_share([]) is None


def test_strata_count_by_their_size_and_not_by_their_labels():
    """Failures that are three times as likely to be drawn don't make a share three times as large."""
    failed, passed = Verdicts(10, 0, 0, 20, 34, 100), Verdicts(30, 0, 0, 0, 400, 400)
    estimate = kind_share([failed, passed])
    assert estimate is not None
    assert estimate.value == pytest.approx(66 / 500, abs=0.03)


def test_a_failure_whose_kinds_have_no_other_note_counts_as_unnamed():
    """So does one without a kind; of several kinds, one with another note is enough."""
    failures = [(1.0, ["late"]), (1.0, ["late", "odd"]), (1.0, ["rude"]), (1.0, [])]
    estimate = named_share(failures)
    assert estimate is not None
    assert estimate.value == 0.5
    assert named_share([(3.0, ["a"]), (3.0, ["a"]), (2.0, [])]).value == 0.75  # pyright: ignore[reportOptionalMemberAccess]


def test_all_kinds_may_be_named_though_one_has_a_single_note():
    """The upper end is 1, and with one failure the lower end is near 0."""
    estimate = named_share([(1.0, ["late"])] * 30 + [(1.0, ["odd"])])
    assert estimate is not None
    assert estimate.high == 1
    assert estimate.low < 0.97
    one = named_share([(1.0, ["odd"])])
    assert one is not None
    assert (one.value, one.low < 0.1) == (0, True)
    assert one.low <= one.value <= one.high


def test_the_ends_of_what_named_kinds_cover_are_those_worked_out_by_hand():
    """40 of 100 failures have no other note: Wilson's end above, 1.96 standard errors below."""
    estimate = named_share([(1.0, ["late"])] * 60 + [(1.0, [f"odd {i}"]) for i in range(40)])
    assert estimate is not None
    assert estimate.value == pytest.approx(0.6)
    assert estimate.high == pytest.approx(0.6 + 1.96 * math.sqrt(0.4 * 0.6 / 100), abs=1e-4)
    assert estimate.low == pytest.approx(1 - 0.498, abs=1e-3)  # of 40 in 100


@pytest.mark.parametrize("notes", [15, 60, 200])
def test_the_interval_of_what_named_kinds_cover_holds(notes: int):
    """In at least 92 % of 400 draws from thirty kinds; the seed is 20261129. `bench/failure_kinds.py` has more."""
    sizes = [1 / (rank + 1) for rank in range(30)]
    total, holds = math.fsum(sizes), 0
    for draw in range(400):
        rng = Random(f"{SEED} {notes} {draw}")
        kinds = rng.choices(range(30), sizes, k=notes)
        truth = math.fsum(sizes[kind] for kind in Counter(kinds)) / total
        estimate = named_share([(1.0, [str(kind)]) for kind in kinds])
        assert estimate is not None
        holds += estimate.low <= truth <= estimate.high
    assert holds / 400 >= 0.92


@pytest.mark.thorough
def test_the_interval_of_a_rare_kind_and_of_a_frequent_one_holds():
    """In at least 92 % of 150 draws of 60 labels, failures three times as likely; the seed is 20261129."""
    for share in (0.01, 0.3):
        holds = 0
        for draw in range(150):
            rng = Random(f"{SEED} {share} {draw}")
            has = [rng.random() < share for _ in range(400)]
            codes = [rng.random() < (0.7 if one else 0.06) for one in has]
            fails = [rng.random() < (0.8 if one else 0.2) for one in has]
            strata: list[Verdicts] = []
            for state, labels in ((True, 35), (False, 25)):
                places = [i for i in range(400) if fails[i] is state]
                pairs = Counter((not has[i], not codes[i]) for i in rng.sample(places, labels))
                strata.append(
                    Verdicts(
                        pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False],
                        sum(not codes[i] for i in places), len(places),
                    )
                )  # fmt: skip
            estimate = kind_share(strata)
            assert estimate is not None
            holds += estimate.low <= sum(has) / 400 <= estimate.high
        assert holds / 150 >= 0.92
