"""Corrected rates of repeated cases hold as often as they promise; without repeats, they are what they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t

from evenhand.stats.correction import Estimate, Verdicts, corrected_rate
from evenhand.stats.design_effect import (
    FEWEST_CASES,
    CaseLabel,
    DesignEffects,
    design_effects,
    share_effect,
)
from evenhand.stats.interval import clopper_pearson
from evenhand.stats.weighted import corrected_by_strata, weighted

SEED = 20_261_126
DRAWS = 60


class Output(NamedTuple):
    """An output with people's verdict and the judge's."""

    case: str
    people: bool
    judge: bool


class World(NamedTuple):
    """What outputs are like.

    Attributes:
        rate: People's pass rate.
        tpr: Of what people pass, the share that the judge passes.
        tnr: Of what people fail, the share that the judge fails.
        alike: The correlation of two outputs of a case; 1 where all are the same.
    """

    rate: float
    tpr: float
    tnr: float
    alike: float

    def run(self, random: Random, cases: int, repeats: int) -> list[Output]:
        """All outputs of a run, people's verdicts included."""
        chances = (
            (str(case), *[self._of_case(random, p) for p in (self.rate, self.tpr, self.tnr)])
            for case in range(cases)
        )
        outputs: list[Output] = []
        for case, rate, tpr, tnr in chances:
            for _ in range(repeats):
                people = random.random() < rate
                judge = random.random() < tpr if people else random.random() >= tnr
                outputs.append(Output(case, people, judge))
        return outputs

    def _of_case(self, random: Random, chance: float) -> float:
        if self.alike == 1:
            return float(random.random() < chance)
        size = (1 - self.alike) / self.alike
        return random.betavariate(chance * size, (1 - chance) * size)


def verdicts(outputs: Sequence[Output], labelled: Sequence[Output]) -> Verdicts:
    """The counts."""
    cells = Counter((one.people, one.judge) for one in labelled)
    return Verdicts(
        *(cells[people, judge] for people in (True, False) for judge in (True, False)),
        sum(one.judge for one in outputs),
        len(outputs),
    )


def effects(
    outputs: Sequence[Output], labelled: Sequence[Output], *, same_trials: bool = True
) -> DesignEffects:
    """How far the cases go together."""
    return design_effects(
        [(one.case, one.judge) for one in outputs],
        [CaseLabel(*one) for one in labelled],
        same_trials=same_trials,
    )


def corrected(
    outputs: Sequence[Output], labelled: Sequence[Output], *, same_trials: bool = True
) -> Estimate:
    """The corrected rate."""
    found = corrected_rate(
        verdicts(outputs, labelled), effects=effects(outputs, labelled, same_trials=same_trials)
    )
    assert found is not None
    return found


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("world", "cases", "repeats", "labels"),
    [
        (World(0.8, 0.95, 0.6, 1.0), 40, 5, 100),
        (World(0.5, 0.95, 0.6, 1.0), 40, 3, 100),
        (World(0.8, 0.9, 0.7, 0.5), 60, 5, 100),
        (World(0.95, 0.8, 0.9, 1.0), 40, 5, 100),
    ],
)
def test_corrected_rates_of_repeated_cases_cover(
    world: World, cases: int, repeats: int, labels: int
):
    """Of 60 draws 54 or more: fewer come in 3 % where 95 % are promised. Had each repeat been a case, fewer would."""
    random, covered, before = Random(SEED), 0, 0
    for _ in range(DRAWS):
        outputs = world.run(random, cases, repeats)
        labelled = random.sample(outputs, labels)
        found = corrected(outputs, labelled)
        covered += found.low <= world.rate <= found.high
        plain = corrected_rate(verdicts(outputs, labelled))
        assert plain is not None
        before += plain.low <= world.rate <= plain.high
    assert before < 0.9 * DRAWS
    assert covered >= 0.9 * DRAWS


@pytest.mark.thorough
def test_labels_of_an_earlier_run_cover_too_and_say_less_than_its_own():
    """New repeats of the same cases: of 60 draws 54 or more; had each trial been a case, fewer."""
    world, random = World(0.8, 0.95, 0.6, 1.0), Random(SEED)
    covered = before = 0
    for _ in range(DRAWS):
        chances = [(random.random() < 0.8, str(case)) for case in range(60)]
        first, later = (
            [
                Output(case, ok, random.random() < (world.tpr if ok else 1 - world.tnr))
                for ok, case in chances
                for _ in range(3)
            ]
            for _ in range(2)
        )
        labelled = random.sample(first, 60)
        found = corrected(later, labelled, same_trials=False)
        covered += found.low <= world.rate <= found.high
        plain = corrected_rate(verdicts(later, labelled))
        assert plain is not None
        before += plain.low <= world.rate <= plain.high
    assert before < covered
    assert covered >= 0.9 * DRAWS


@pytest.mark.thorough
def test_weighted_labels_of_repeated_cases_cover():
    """What the judge passes is drawn half as often: of 60 draws 54 or more; had each repeat been a case, fewer."""
    world, random = World(0.8, 0.95, 0.6, 1.0), Random(SEED)
    covered = before = 0
    for _ in range(DRAWS):
        outputs = world.run(random, 60, 5)
        strata = [[one for one in outputs if one.judge == side] for side in (True, False)]
        drawn = [
            random.sample(each, len(each) // part)
            for each, part in zip(strata, (5, 2), strict=True)
        ]
        counts = [verdicts(*each) for each in zip(strata, drawn, strict=True) if each[1]]
        labels = [
            CaseLabel(*one, len(each) / len(some))
            for each, some in zip(strata, drawn, strict=True)
            for one in some
        ]
        judged = [(one.case, one.judge) for one in outputs]
        found = design_effects(judged, labels, same_trials=True)
        uniform, passed = weighted(counts, effects=found).uniform, len(strata[0])
        for effects_of_cases in (found, DesignEffects()):
            rate = corrected_by_strata(uniform, passed, len(outputs), effects=effects_of_cases)
            assert rate is not None
            holds = rate.low <= world.rate <= rate.high
            if effects_of_cases is found:
                covered += holds
            else:
                before += holds
    assert before < 0.9 * DRAWS
    assert covered >= 0.9 * DRAWS


@pytest.mark.thorough
@given(st.integers(0, 2**32), st.integers(30, 90), st.integers(10, 30))
@settings(deadline=None, max_examples=60)
def test_without_repeats_nothing_is_otherwise(seed: int, cases: int, labels: int):
    """Neither in the run itself, nor in a later one in which everything is answered from the cache."""
    random = Random(seed)
    outputs = World(0.7, 0.9, 0.6, 0.5).run(random, cases, 1)
    labelled = random.sample(outputs, labels)
    plain = corrected_rate(verdicts(outputs, labelled))
    assert corrected(outputs, labelled) == plain
    assert corrected(outputs, labelled, same_trials=False) == plain


@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(12, 40))
@settings(deadline=None, max_examples=30)
def test_repeats_that_are_all_alike_never_make_an_interval_narrower(
    seed: int, repeats: int, cases: int
):
    """Whoever runs and labels everything again, and gets the same, knows no more of other cases."""
    once = World(0.7, 0.9, 0.6, 0.5).run(Random(seed), cases, 1)
    again = once * repeats
    one, other = corrected(once, once), corrected(again, again)
    assert other.high - other.low >= one.high - one.low - 1e-9


@given(st.integers(0, 2**32), st.integers(2, 4))
@settings(deadline=None, max_examples=30)
def test_neither_names_nor_order_nor_the_unit_of_weights_matter(seed: int, repeats: int):
    """And no effect is below 1."""
    random = Random(seed)
    outputs = World(0.7, 0.9, 0.6, 0.7).run(random, 20, repeats)
    labelled = random.sample(outputs, 30)
    found = effects(outputs, labelled)
    other = design_effects(
        [(f"x{one.case}", one.judge) for one in reversed(outputs)],
        [CaseLabel(f"x{one.case}", one.people, one.judge, 7.0) for one in reversed(labelled)],
        same_trials=True,
    )
    assert found == pytest.approx(other)
    assert min(found[:4]) >= 1


def test_shares_of_repeated_cases_cover():
    """How often a judge agrees with people: of 100 draws, 95. Had each repeat been a case, at most 85 would."""
    random, covered, before = Random(SEED), 0, 0
    for _ in range(100):
        agrees = [(str(case), random.random() < 0.8) for case in range(40)]
        labelled = random.sample(agrees * 5, 100)
        right = sum(ok for _, ok in labelled)
        for effect in (share_effect(labelled), 1.0):
            low, high = clopper_pearson(right / effect, 100 / effect)
            if effect > 1:
                covered += low <= 0.8 <= high
            else:
                before += low <= 0.8 <= high
    assert before <= 85
    assert covered >= 95


def test_the_effect_of_a_share_is_1_where_no_case_is_repeated():
    """Also of none, and of one; repeats that are all right or all wrong count about once."""
    assert share_effect([]) == share_effect([("a", True)]) == 1
    assert share_effect([(str(i), i % 3 > 0) for i in range(50)]) == 1
    for all_right in (True, False):
        verdicts = [(str(i // 5), all_right or i // 5 % 2 > 0) for i in range(100)]
        assert 4.5 < share_effect(verdicts) < 7


def test_without_labels_or_verdicts_there_is_no_effect():
    """Nothing is divided by nothing."""
    labels = [CaseLabel("a", True, True), CaseLabel("a", True, False)]
    assert design_effects([], labels, same_trials=False)[:4] == (1, 1, 1, 1)
    assert design_effects([("a", True)] * 2, [], same_trials=True)[:4] == (1, 1, 1, 1)


def test_labels_of_too_few_cases_correct_nothing():
    """Fifty labels of nine cases say next to nothing of others; nine labels of nine cases are few, and say so."""
    outputs = World(0.7, 0.9, 0.6, 0.5).run(Random(SEED), FEWEST_CASES - 1, 6)
    few = effects(outputs, outputs[:50])
    assert few.too_few
    assert corrected_rate(verdicts(outputs, outputs[:50]), effects=few) is None
    single = outputs[::6]
    assert not effects(single, single).too_few
    assert not effects(outputs, []).too_few


@pytest.mark.parametrize(("groups", "repeats"), [(4, 3), (10, 2), (40, 5)])
def test_repeats_that_are_all_alike_say_as_much_as_their_few_cases_do(groups: int, repeats: int):
    """By hand: as many times as they are repeated, G/(G − 1), and Student's quantile for so few cases."""
    verdicts = [(str(case), case % 2 == 0) for case in range(groups) for _ in range(repeats)]
    student = (t.ppf(0.975, groups - 1) / norm.ppf(0.975)) ** 2
    assert share_effect(verdicts) == pytest.approx(repeats * student * groups / (groups - 1))


def test_each_side_has_the_design_effect_of_its_own_labels():
    """What people fail is of repeated cases, and what they pass is not; with all verdicts turned it is the opposite."""
    labels = [CaseLabel(f"single {i}", people=True, judge=i % 4 > 0) for i in range(40)]
    labels += [CaseLabel(f"case {i // 5}", people=False, judge=i // 5 % 4 == 0) for i in range(100)]
    turned = [one._replace(people=not one.people, judge=not one.judge) for one in labels]
    found, other = (
        design_effects([(one.case, one.judge) for one in each], each, same_trials=True)
        for each in (labels, turned)
    )
    assert found.tnr > 3 * found.tpr
    assert (found.tpr, found.tnr) == pytest.approx((other.tnr, other.tpr))


def test_labels_of_few_cases_speak_of_all_cases():
    """By hand: Student's quantile is that of the ten labelled cases, and G/(G − 1) that of all forty."""
    judged = [(str(case), case % 2 == 0) for case in range(40) for _ in range(3)]
    labels = [
        CaseLabel(str(case), people=case % 4 < 2, judge=case % 2 == 0)
        for case in range(12)
        for _ in range(3)
    ]
    student = (t.ppf(0.975, 11) / norm.ppf(0.975)) ** 2
    found = design_effects(judged, labels, same_trials=True)
    assert found.alone == pytest.approx(3 * student * 40 / 39)


def test_few_labels_do_not_show_that_repeats_differ():
    """By hand: four labels that are opposite in each case, drawn to what five that are alike would say."""
    verdicts = [(case, ok) for case in "ab" for ok in (True, False)]
    student = (t.ppf(0.975, 1) / norm.ppf(0.975)) ** 2
    assert share_effect(verdicts) == pytest.approx(5 * 2 / (4 + 5) * student * 2)


def test_a_label_of_an_earlier_trial_says_less_where_it_goes_with_the_new_verdict():
    """Each case is there once in either run; only of the same run it says as much as it seems to."""
    judged = [(str(i), i % 2 == 0) for i in range(100)]
    labels = [CaseLabel(str(i), people=i % 2 == 0, judge=i % 10 < 7) for i in range(100)]
    assert design_effects(judged, labels, same_trials=True).rate == 1
    assert design_effects(judged, labels, same_trials=False).rate > 1.1


def test_repeats_count_by_how_many_trials_their_labels_stand_for():
    """Cases that are repeated are alike; the more trials they stand for beside single ones, the less is known."""
    judged = [(f"case {i // 5}", i // 5 % 2 == 0) for i in range(50)]
    judged += [(f"single {i}", i % 2 == 0) for i in range(50)]

    def rate(weight: float) -> float:
        labels = [
            CaseLabel(
                case, int(case.split()[1]) % 3 == 0, ok, weight if case.startswith("case") else 1.0
            )
            for case, ok in judged
        ]
        return design_effects(judged, labels, same_trials=True).rate

    assert rate(0.2) < rate(1.0) < rate(5.0)
