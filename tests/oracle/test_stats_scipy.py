"""Our intervals and tests against SciPy's, against brute force, and against recorded vectors where they are at hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random

import pytest

from evenhand.stats.bounded import _shares, mean_on_scale
from evenhand.stats.distributions import beta_quantile, beta_share, t_quantile, t_tail
from evenhand.stats.interval import clopper_pearson, mean_of_sums, wilson, z_of
from evenhand.stats.multiple import benjamini_hochberg
from evenhand.stats.paired_difference import sign_flip, t_test
from evenhand.stats.paired_rates import mcnemar, paired_rates
from evenhand.stats.stratified import Stratum, common_odds_ratio

stats = pytest.importorskip("scipy.stats")

VECTORS = Path(__file__).parents[3] / "shared" / "vectors" / "statistics"


def vectors(topic: str) -> list[dict]:
    """The recorded vectors on a topic."""
    file = VECTORS / "vectors.json"
    if not file.is_file():
        pytest.skip(f"there are no recorded vectors at {file}")
    found = [vector for vector in json.loads(file.read_text()) if vector["topic"] == topic]
    assert found, topic
    return found


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("n", [1, 2, 10, 57, 1000])
def test_wilson_is_scipys(n: int, confidence: float) -> None:
    """For every count of small samples and some of large ones."""
    for k in {*range(min(n, 12) + 1), n // 2, n - 1, n}:
        theirs = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
        assert wilson(k, n, confidence) == pytest.approx((theirs.low, theirs.high), abs=1e-10)


@pytest.mark.parametrize("df", [1, 2, 3.5, 9, 30, 250, 10_000])
def test_t_is_scipys(df: float) -> None:
    """Quantiles and tails, from narrow to wide."""
    for confidence in (0.01, 0.5, 0.9, 0.95, 0.999):
        assert t_quantile(confidence, df) == pytest.approx(
            stats.t.ppf((1 + confidence) / 2, df), rel=1e-7
        )
    for t in (1e-3, 0.5, 1.0, 2.0, 7.0, 40.0):
        assert t_tail(t, df) == pytest.approx(2 * stats.t.sf(t, df), rel=1e-9)


@pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 0), (6, 0), (10, 2), (25, 12), (7, 7), (3, 40)])
def test_mcnemar_is_scipys_binomial_test(b: int, c: int) -> None:
    """The exact test is a binomial one on the pairs that differ."""
    exact = stats.binomtest(min(b, c), b + c).pvalue if b + c else 1.0
    assert mcnemar(b, c) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(
    ("n", "b", "c"), [(50, 12, 2), (200, 8, 11), (8, 8, 0), (8, 1, 0), (30, 0, 0), (20, 3, 17)]
)
def test_tango_is_the_constrained_maximum_likelihood(n: int, b: int, c: int) -> None:
    """The nuisance parameter found by brute force instead of by Tango's closed form gives the same statistic ±z."""
    optimize = pytest.importorskip("scipy.optimize")

    def statistic(delta: float) -> float:
        def minus_log_likelihood(q: float) -> float:  # q: probability that only the second passes
            cells = ((b, q + delta), (c, q), (n - b - c, 1 - 2 * q - delta))
            return -sum(k * math.log(max(p, 1e-300)) for k, p in cells if k)

        low, high = max(0.0, -delta), (1 - delta) / 2
        q = optimize.minimize_scalar(
            minus_log_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-13}
        ).x
        return (b - c - n * delta) / math.sqrt(n * (2 * q + delta * (1 - delta)))

    found = paired_rates(n, b, c)
    if found.low > -0.999:
        assert statistic(found.low) == pytest.approx(z_of(), abs=1e-4)
    if found.high < 0.999:
        assert statistic(found.high) == pytest.approx(-z_of(), abs=1e-4)


FIRST = [0.9, 0.4, 0.7, 0.65, 0.8, 0.3, 1.0, 0.55]
SECOND = [0.8, 0.35, 0.75, 0.4, 0.6, 0.35, 0.9, 0.5]


def test_the_t_test_is_scipys() -> None:
    """The p-value of eight paired scores."""
    theirs = stats.ttest_rel(FIRST, SECOND)
    differences = [a - b for a, b in zip(FIRST, SECOND, strict=True)]
    assert t_test(differences) == pytest.approx(theirs.pvalue, rel=1e-9)


def test_the_chance_of_weighted_shares_is_scipys_beta_distribution() -> None:
    """Where scores are 0 and 1 the limit of a mean comes from a beta distribution, as Clopper and Pearson's does."""
    for n, ones, bound in ((5, 3, 0.6), (8, 7, 0.4), (50, 45, 0.95), (200, 190, 0.93)):
        terms = [(1 - bound, ones), (-bound, n - ones)]
        low = stats.beta.cdf(bound, ones, n - ones + 1)
        high = stats.beta.cdf(bound, ones + 1, n - ones)
        assert _shares(terms, [-bound]) == pytest.approx([low], abs=1e-7)
        assert _shares(terms, [1 - bound]) == pytest.approx([high], abs=1e-7)


def test_many_scores_on_a_scale_come_to_scipys_t_interval() -> None:
    """Two thousand scores: the ends differ by less than a hundredth of the interval's width."""
    random = Random(12)
    scores = [random.betavariate(3, 2) for _ in range(2_000)]
    low, high = stats.t.interval(0.95, 1_999, stats.tmean(scores), stats.sem(scores))
    _, least, most = mean_on_scale([(score, 1) for score in scores], (0, 1)) or (0, 0, 0)
    assert (least, most) == pytest.approx((low, high), abs=0.03 * (high - low))


def test_sign_flips_are_scipys_permutation_test() -> None:
    """Exactly, for eight cases with ties among the sums; by random throws, for sixty, as near as throws come."""
    differences = [a - b for a, b in zip(FIRST, SECOND, strict=True)]
    theirs = stats.permutation_test(
        (FIRST, SECOND), lambda a, b, axis: (a - b).mean(axis), permutation_type="samples"
    )
    assert sign_flip(differences) == pytest.approx(theirs.pvalue, abs=1e-12)
    random = Random(11)
    many = [random.gauss(0.3, 1) for _ in range(60)]
    assert sign_flip(many) == pytest.approx(stats.ttest_1samp(many, 0).pvalue, abs=0.01)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1, 7), (9, 2), (46, 6), (2_000, 3)])
def test_the_beta_distribution_is_scipys(a: float, b: float) -> None:
    """Shares and quantiles, in the middle and at the ends."""
    for share in (1e-6, 0.025, 0.5, 0.975):
        point = stats.beta.ppf(share, a, b)
        assert beta_quantile(a, b, share) == pytest.approx(point, rel=1e-8)
        assert beta_share(a, b, point) == pytest.approx(stats.beta.cdf(point, a, b), rel=1e-8)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("n", [1, 2, 10, 57, 1000])
def test_clopper_pearson_is_scipys(n: int, confidence: float) -> None:
    """For every count of small samples and some of large ones."""
    for k in {*range(min(n, 12) + 1), n // 2, n - 1, n}:
        theirs = stats.binomtest(k, n).proportion_ci(confidence, method="exact")
        ours = clopper_pearson(k, n, confidence)
        assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-10)


def test_false_discoveries_are_scipys() -> None:
    """Benjamini and Hochberg's correction, with ties and in any order."""
    p_values = [0.04, 0.001, 0.04, 0.9, 0.03, 1.0, 0.0]
    theirs = stats.false_discovery_control(p_values, method="bh")
    assert benjamini_hochberg(p_values) == pytest.approx(list(theirs), rel=1e-12)


def test_a_mean_is_scipys() -> None:
    """With one score a case it is the ordinary t interval."""
    scores = [3.0, 4.5, 4.0, 5.0, 2.5]
    low, high = stats.t.interval(0.95, 4, loc=sum(scores) / 5, scale=stats.sem(scores))
    assert mean_of_sums((s, 1) for s in scores) == pytest.approx((3.8, low, high))


def test_recorded_proportions() -> None:
    """Wilson's and Clopper and Pearson's intervals, on which statsmodels and SciPy agree."""
    for vector in vectors("proportion_ci_95"):
        k, n = vector["input"]["k"], vector["input"]["n"]
        assert wilson(k, n) == pytest.approx(vector["expected"]["wilson"], abs=1e-9)
        exact = vector["expected"]["clopper_pearson"]
        assert clopper_pearson(k, n) == pytest.approx(exact, abs=1e-9)


def test_recorded_corrections() -> None:
    """Many p-values at once, as statsmodels corrects them."""
    for vector in vectors("multiplicity"):
        assert vector["input"]["method"] == "fdr_bh"
        ours = benjamini_hochberg(vector["input"]["p"])
        assert ours == pytest.approx(vector["expected"], abs=1e-9)


def test_recorded_paired_tests() -> None:
    """McNemar's exact test, and Tango's interval."""
    for vector in vectors("mcnemar"):
        b, c = vector["input"]["b"], vector["input"]["c"]
        assert mcnemar(b, c) == pytest.approx(vector["expected"]["exact"], abs=1e-9)
        flips = [1.0] * b + [-1.0] * c
        assert sign_flip(flips) == pytest.approx(vector["expected"]["exact"], abs=1e-9)
    for vector in vectors("tango_ci_95"):
        found = paired_rates(*(vector["input"][name] for name in "nbc"))
        assert (found.low, found.high) == pytest.approx(vector["expected"], abs=1e-8)  # as recorded


def test_the_odds_ratio_of_one_table_is_scipys():
    """The conditional estimate; SciPy's interval is without mid-p, so it holds ours."""
    rng = Random(11)
    for _ in range(30):
        n, m = rng.randint(3, 30), rng.randint(3, 30)
        a, c = rng.randint(1, n - 1), rng.randint(1, m - 1)
        found = common_odds_ratio([Stratum(a, n, c, m)])
        theirs = stats.contingency.odds_ratio([[a, n - a], [c, m - c]])
        exact = theirs.confidence_interval(0.95)
        assert found is not None
        assert found.value == pytest.approx(theirs.statistic, rel=1e-6)
        assert exact.low <= found.low < found.high <= exact.high
