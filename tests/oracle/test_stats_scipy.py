"""Our intervals and tests against SciPy's, against brute force, and against recorded vectors where they are at hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from evenhand.stats.compare import mcnemar, mcnemar_mid, paired_means, paired_rates
from evenhand.stats.interval import mean_of_clusters, wilson, z_of
from evenhand.stats.power import detectable_mean
from evenhand.stats.student import t_quantile, t_tail

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
    """The exact test is a binomial one on the pairs that differ; mid-p takes half the point off each side."""
    exact = stats.binomtest(min(b, c), b + c).pvalue if b + c else 1.0
    assert mcnemar(b, c) == pytest.approx(exact, rel=1e-12)
    if b != c:
        mid = 2 * stats.binom.cdf(min(b, c), b + c, 0.5) - stats.binom.pmf(min(b, c), b + c, 0.5)
        assert mcnemar_mid(b, c) == pytest.approx(mid, rel=1e-12)


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


def test_paired_means_are_scipys_t_test() -> None:
    """Mean, interval and p-value."""
    first = [0.9, 0.4, 0.7, 0.65, 0.8, 0.3, 1.0, 0.55]
    second = [0.8, 0.35, 0.75, 0.4, 0.6, 0.35, 0.9, 0.5]
    theirs = stats.ttest_rel(first, second)
    interval = theirs.confidence_interval(0.95)
    ours = paired_means(list(zip(first, second, strict=True)))
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_a_mean_is_scipys() -> None:
    """With one score a case it is the ordinary t interval."""
    scores = [3.0, 4.5, 4.0, 5.0, 2.5]
    low, high = stats.t.interval(0.95, 4, loc=sum(scores) / 5, scale=stats.sem(scores))
    assert mean_of_clusters([[s] for s in scores]) == pytest.approx((3.8, low, high))


def test_recorded_proportions() -> None:
    """Wilson intervals that statsmodels and SciPy agree on."""
    for vector in vectors("proportion_ci_95"):
        ours = wilson(vector["input"]["k"], vector["input"]["n"])
        assert ours == pytest.approx(vector["expected"]["wilson"], abs=1e-9)


def test_recorded_paired_tests() -> None:
    """McNemar's test, exact and mid-p, and Tango's interval."""
    for vector in vectors("mcnemar"):
        b, c = vector["input"]["b"], vector["input"]["c"]
        assert mcnemar(b, c) == pytest.approx(vector["expected"]["exact"])
        assert mcnemar_mid(b, c) == pytest.approx(vector["expected"]["midp"])
    for vector in vectors("tango_ci_95"):
        found = paired_rates(*(vector["input"][name] for name in "nbc"))
        assert (found.low, found.high) == pytest.approx(vector["expected"], abs=1e-7)


def test_recorded_power() -> None:
    """The smallest difference that so many cases detect, with and without repeats."""
    for vector in vectors("miller_mde"):
        given = vector["input"]
        ours = detectable_mean(
            given["n"], given["omega2"], (given["sA2"], given["sB2"]), (given["KA"], given["KB"])
        )
        assert ours == pytest.approx(vector["expected"], rel=1e-9)
