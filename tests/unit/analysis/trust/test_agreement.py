"""How far a judge and people agree, where repeats, variants and strata matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evenhand.analysis.trust.agreement import Agreement, agreement
from evenhand.analysis.trust.judgements.judged import Item, JudgedMetric
from evenhand.stats.correction import Estimate
from evenhand.store.labels.draw import Draw, Stratum

REPEATS = 5


def judged(
    n: int, passes: Callable[[int], bool], case: Callable[[int], str] = str, variants: int = 1
) -> JudgedMetric:
    """A judge's verdicts on so many outputs."""
    metric = JudgedMetric(metric="m", model="judge")
    metric.items = [
        Item(index=i, case=case(i), variant=i % variants, passed=passes(i)) for i in range(n)
    ]
    return metric


def of_repeats(i: int) -> str:
    """The case of an output, each of which is repeated."""
    return f"case {i // REPEATS}"


def width(estimate: Estimate | None) -> float:
    """How wide its interval is."""
    assert estimate is not None
    return estimate.high - estimate.low


def two_strata(n: int, metric: str = "m") -> list[Draw]:
    """A draw of everything in the first half of the plan, and of half of the other one."""
    first, second = tuple(range(n // 2)), tuple(range(n // 2, n))
    strata = Stratum("a", n // 2, 1.0, first), Stratum("b", n // 4, 0.5, second)
    places = first + second[::2]
    return [
        Draw(
            number=1,
            at=0.0,
            seed=1,
            metrics=(metric,),
            population=n,
            places=places,
            design="equal",
            by="",
            strata=strata,
        )
    ]


def drawn(metric: JudgedMetric, draws: list[Draw], people: Callable[[int], bool]) -> Agreement:
    """How far people who labelled what was drawn agree with the judge."""
    places = set(draws[0].places)
    return agreement(
        metric, {item: people(item.index) for item in metric.items if item.index in places}, draws
    )


def test_what_is_said_of_fails_is_what_is_said_of_passes_with_all_verdicts_turned():
    """Fails are of repeated cases here and passes are not: each has the design effect of its own labels."""

    def case(i: int) -> str:
        return of_repeats(i) if i >= 100 else f"single {i}"

    def judge(i: int) -> bool:
        return i < 90 or of_repeats(i) in ("case 21", "case 25")

    metric = judged(200, judge, case)
    people = {item: item.index < 100 for item in metric.items}
    turned = judged(200, lambda i: not judge(i), case)
    others = {item: item.index >= 100 for item in turned.items}
    plain, other = agreement(metric, people, []), agreement(turned, others, [])
    assert width(plain.tnr) > 1.5 * width(plain.tpr), "ten outputs of each side are misjudged"
    assert (plain.tnr, plain.tpr) == (other.tpr, other.tnr)


def test_labels_of_repeats_in_strata_say_less_than_labels_of_cases():
    """The corrected rate, and how often the judge is right, of uneven draws too."""
    n = 200
    draws = two_strata(n)
    alike = drawn(
        judged(n, lambda i: i // REPEATS % 10 < 7, of_repeats),
        draws,
        lambda i: i // REPEATS % 10 in (0, 1, 2, 3, 4, 8),
    )
    single = drawn(
        judged(n, lambda i: i // REPEATS % 10 < 7),
        draws,
        lambda i: i // REPEATS % 10 in (0, 1, 2, 3, 4, 8),
    )
    for one, other in (
        (alike.corrected, single.corrected),
        (alike.tpr, single.tpr),
        (alike.tnr, single.tnr),
    ):
        assert width(one) > 1.3 * width(other)


def test_the_labels_of_a_variant_speak_of_the_outputs_of_that_variant():
    """The judge passes four of five outputs of the first and one of five of the second, and people agree."""

    def good(i: int) -> bool:
        return (i // 2 % 5 < 4) if i % 2 == 0 else (i // 2 % 5 < 1)

    found = drawn(judged(200, good, variants=2), two_strata(200), good)
    rates: Mapping[int, float] = {
        variant: one.shares.both_pass + one.shares.missed
        for variant, one in found.weighted_by_variant.items()
    }
    assert abs(rates[0] - 0.8) < 0.05
    assert abs(rates[1] - 0.2) < 0.05


def test_a_stratum_of_which_more_is_labelled_has_no_more_say():
    """People's rate is that of all outputs, whatever was drawn."""
    metric = judged(200, lambda i: i < 100)
    found = drawn(metric, two_strata(200), lambda i: i < 100)
    assert found.corrected is not None
    assert abs(found.corrected.value - 0.5) < 0.02
    assert len(found.labelled[0]) == 150
    assert sum(one.weight for one in found.labelled[0]) == 200
