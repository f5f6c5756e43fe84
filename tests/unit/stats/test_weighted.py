"""Labels of strata: one stratum is a uniform draw, and of several each counts by its size."""

from __future__ import annotations

from itertools import permutations

import pytest
from scipy.stats import hypergeom

from evenhand.analysis.trust.judgements.strata import drawn_within_strata
from evenhand.stats.agreement import ac1, kappa
from evenhand.stats.correction import (
    Estimate,
    Verdicts,
    corrected_rate,
    drawn_at_random,
    replaced_share,
)
from evenhand.stats.design_effect import DesignEffects
from evenhand.stats.weighted import (
    UniformLabels,
    allocated,
    corrected_by_strata,
    half_width_by_strata,
    weighted,
    weighted_share,
)

TABLE = Verdicts(11, 9, 7, 33, 78, 332)


def test_one_stratum_is_a_uniform_draw():
    """The corrected rate, the test of the draw and ρ² are those of the labels as they are, to 1e-9."""
    found = weighted([TABLE])
    assert found.uniform[:4] == pytest.approx(TABLE[:4], abs=1e-9)
    corrected = corrected_by_strata(found.uniform, TABLE.passed, TABLE.items)
    assert corrected == pytest.approx(corrected_rate(TABLE), abs=1e-9)
    assert drawn_within_strata([TABLE]) == pytest.approx(drawn_at_random((18, 60), (78, 332)))


def test_labels_in_proportion_agree_as_the_labels_do():
    """Where the judge passes as much of the labels as of all, κ, AC1, ρ², TPR and TNR are the unweighted ones."""
    table = Verdicts(40, 10, 5, 45, 450, 1000)
    found = weighted([table])
    assert found.kappa == pytest.approx(kappa(table.pairs))
    assert found.ac1 == pytest.approx(ac1(table.pairs))
    assert found.rho2 == pytest.approx(replaced_share(table.pairs))
    assert found.tpr is not None
    assert found.tnr is not None
    assert (found.tpr.value, found.tnr.value) == pytest.approx((40 / 50, 45 / 50))


def test_each_stratum_counts_by_its_size_and_not_by_its_labels():
    """By hand: 160 outputs of which the judge is right, 40 of which it is right half of the time."""
    found = weighted([Verdicts(10, 0, 0, 10, 80, 160), Verdicts(5, 5, 5, 5, 20, 40)])
    assert found.shares == pytest.approx((0.45, 0.05, 0.05, 0.45))
    assert found.uniform.rate == pytest.approx(0.5)
    assert found.uniform.size == pytest.approx(200**2 / (20 * 8**2 + 20 * 2**2))


def test_a_stratum_with_too_few_labels_is_put_together_with_the_next():
    """One label among 90 outputs does not decide about them alone, none is no error, and no label at all is one."""
    lonely = weighted([Verdicts(0, 0, 1, 0, 90, 90), Verdicts(9, 0, 1, 0, 10, 10)])
    assert lonely.shares.both_pass == pytest.approx(9 / (90 + 10))
    empty = weighted([Verdicts(0, 0, 0, 0, 50, 50), Verdicts(6, 0, 2, 0, 50, 50)])
    assert empty.shares.both_pass == pytest.approx(0.75)
    assert empty.tnr is not None
    with pytest.raises(ValueError, match="no stratum has a label"):
        weighted([Verdicts(0, 0, 0, 0, 5, 9)])


@pytest.mark.parametrize(
    "strata",
    [
        [Verdicts(5, 0, 0, 0, 5, 5)],
        [Verdicts(0, 0, 0, 3, 0, 9), Verdicts(0, 0, 0, 2, 0, 4)],
        [Verdicts(1, 0, 0, 0, 4, 9)],
        [Verdicts(0, 2, 2, 0, 2, 4), Verdicts(1, 0, 0, 1, 500, 1000)],
    ],
)
def test_whatever_is_0_there_is_a_rate_within_its_interval(strata):
    """All labelled, all failed, a single label, a judge that is always wrong."""
    found = weighted(strata)
    passed, items = sum(s.passed for s in strata), sum(s.items for s in strata)
    rate = corrected_by_strata(found.uniform, passed, items)
    assert 0 <= rate.low <= rate.value <= rate.high <= 1
    assert half_width_by_strata(found, 100, items) > 0
    for share in (found.tpr, found.tnr):
        assert share is None or 0 <= share.low <= share.value <= share.high <= 1


def test_the_test_of_the_draw_is_the_sum_of_hypergeometric_counts():
    """SciPy's, convolved by hand for two strata."""
    strata = [Verdicts(6, 0, 2, 4, 30, 60), Verdicts(1, 1, 0, 6, 5, 20)]
    first, second = hypergeom(60, 30, 12), hypergeom(20, 5, 8)
    likely = [sum(first.pmf(k) * second.pmf(t - k) for k in range(t + 1)) for t in range(21)]
    expected = sum(p for p in likely if p <= likely[9] * (1 + 1e-9))
    assert drawn_within_strata(strata) == pytest.approx(expected, rel=1e-9)


def test_a_draw_is_divided_by_shares_and_no_stratum_gives_more_than_it_has():
    """None gets fewer than two, if there is room; what one cannot give, the others do."""
    assert allocated([1, 1, 1], [100, 100, 4], 40) == [18, 18, 4]
    assert allocated([100, 1], [100, 100], 20) == [18, 2]
    assert allocated([5, 1], [3, 1], 99) == [3, 1]
    assert allocated([1, 1, 1], [9, 9, 9], 2) == [1, 1, 0]
    assert allocated([], [], 5) == []


def test_a_share_of_equal_weights_has_wilsons_interval():
    """And none without labels."""
    found = weighted_share([(2.0, True)] * 8 + [(2.0, False)] * 2)
    assert found == pytest.approx((0.8, 0.490162, 0.943318), abs=1e-6)
    assert weighted_share([]) is None


def width(estimate: Estimate | None) -> float:
    """How wide its interval is."""
    assert estimate is not None
    return estimate.high - estimate.low


def test_one_label_in_the_stratum_that_is_labelled_most_does_not_decide_about_it_alone():
    """Put together with the one before it, both are known as well as by fewer labels than there are."""
    few, most = Verdicts(5, 0, 5, 0, 1000, 1000), Verdicts(1, 0, 0, 0, 50, 50)
    labels = weighted([few, most]).uniform
    alone = weighted([few]).uniform
    assert alone.both_pass + alone.excused <= labels.both_pass + labels.excused <= 11


def test_a_draw_divided_into_many_strata_says_what_a_uniform_one_says():
    """The prior is there once for all of them, and not once for each."""
    strata = [Verdicts(2, 0, 0, 2, 10, 20)] * 20
    whole = weighted([Verdicts(40, 0, 0, 40, 200, 400)])
    found = weighted(strata)

    def rate(labels: UniformLabels) -> float:
        """People's rate among what the judge passes, with the prior."""
        return (labels.both_pass + 0.5) / (labels.both_pass + labels.excused + 1)

    assert rate(found.uniform) == pytest.approx(rate(whole.uniform), abs=0.005)


def test_where_labels_alone_are_surer_repeats_widen_their_interval_as_well():
    """A judge that knows nothing: as many labels of cases that are alike say a quarter."""
    labels = weighted([Verdicts(25, 25, 25, 25, 200, 400)] * 2).uniform
    plain = corrected_by_strata(labels, 400, 800)
    alike = DesignEffects(rate=4.0, alone=4.0, cases=50, labels=200)
    assert width(corrected_by_strata(labels, 400, 800, effects=alike)) > 1.8 * width(plain)


def test_one_label_in_the_stratum_that_is_labelled_least_does_not_decide_about_it_alone():
    """Eleven labels of which one stands for half of the outputs say as much as four of a uniform draw."""
    labels = weighted([Verdicts(1, 0, 0, 0, 500, 500), Verdicts(5, 0, 5, 0, 500, 500)]).uniform
    assert 3 < labels.both_pass + labels.excused < 4


def test_the_order_of_strata_does_not_matter():
    """Those with too few labels are put together with the ones that are labelled most nearly as they are."""
    strata = [
        Verdicts(1, 0, 0, 0, 500, 500),
        Verdicts(5, 0, 5, 0, 500, 500),
        Verdicts(0, 0, 1, 0, 50, 50),
        Verdicts(9, 0, 1, 0, 20, 20),
    ]
    first, *others = [weighted(order).uniform for order in permutations(strata)]
    for other in others:
        assert other == pytest.approx(first)


def test_repeats_widen_each_interval_by_their_own_effect():
    """A judge that knows much: the corrected rate, TPR and TNR, each at a time; with too few cases there is no rate."""
    strata = [Verdicts(45, 5, 5, 45, 200, 400)] * 2
    plain = weighted(strata)
    tpr = weighted(strata, effects=DesignEffects(tpr=4.0))
    tnr = weighted(strata, effects=DesignEffects(tnr=4.0))
    assert width(tpr.tpr) > 1.7 * width(plain.tpr)
    assert width(tnr.tnr) > 1.7 * width(plain.tnr)
    assert (tpr.tnr, tnr.tpr) == (plain.tnr, plain.tpr)
    rate = corrected_by_strata(plain.uniform, 400, 800)
    alike = DesignEffects(rate=4.0, alone=4.0, cases=50, labels=200)
    assert width(corrected_by_strata(plain.uniform, 400, 800, effects=alike)) > 1.5 * width(rate)
    few = DesignEffects(cases=3, labels=200)
    assert corrected_by_strata(plain.uniform, 400, 800, effects=few) is None


def spread_of(passed: float, failed: float) -> float:
    """The variance of the beta distribution of so many labels, with Jeffreys' prior."""
    one, other = passed + 0.5, failed + 0.5
    return one * other / ((one + other) ** 2 * (one + other + 1))


def test_of_later_outputs_the_strata_themselves_are_a_draw():
    """The variance between the strata, over the outputs that showed their shares; nothing where strata are alike."""
    unlike = weighted([Verdicts(19, 10, 1, 10, 80, 200), Verdicts(1, 2, 19, 18, 80, 200)])
    passed = [(19 + 0.25) / 20.5, (1 + 0.25) / 20.5]  # half of the prior each
    between = ((passed[0] - passed[1]) / 2) ** 2 / (160 + 1)
    assert spread_of(unlike.later.both_pass, unlike.later.excused) == pytest.approx(
        spread_of(unlike.uniform.both_pass, unlike.uniform.excused) + between
    )
    failed = [(10 + 0.25) / 20.5, (2 + 0.25) / 20.5]
    between = ((failed[0] - failed[1]) / 2) ** 2 / (240 + 1)
    assert spread_of(unlike.later.missed, unlike.later.both_fail) == pytest.approx(
        spread_of(unlike.uniform.missed, unlike.uniform.both_fail) + between
    )
    assert unlike.later[4:] == unlike.uniform[4:]
    alike = weighted([Verdicts(9, 5, 1, 5, 100, 200)] * 2)
    assert alike.later == pytest.approx(alike.uniform)


def test_a_share_is_no_surer_than_the_labels_that_it_is_of():
    """Of three labels that people pass the judge passes all, whatever else is known of the outputs that it fails."""
    tpr = weighted([Verdicts(3, 0, 0, 50, 950, 1000)]).tpr
    assert width(tpr) > 0.5
