"""Tryouts of judges: halves, errors, and when a winner is confirmed."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.runs import Make
from tests.unit.render.test_judge_trust import a_run, label

from evenhand.core.variant import Variant
from evenhand.wings.judge_checks.commands.tryout import tryout_lines
from evenhand.wings.judge_checks.tried import (
    CHOOSING,
    CONFIRMING,
    TODAY,
    JudgeTryout,
    Tried,
    TriedItem,
    TriedJudge,
    Tryout,
    decide,
)
from evenhand.wings.judge_checks.tryout_plan import halves_of, labelled_judges


def items(count: int, per_case: int = 1) -> tuple[TriedItem, ...]:
    """Labelled outputs: people fail each fourth, today's judge passes everything."""
    return tuple(
        TriedItem(
            index=i,
            case=f"case {i // per_case}",
            half=CONFIRMING if i // per_case % 2 else CHOOSING,
            people=i % 8 > 1,
            today=True,
            votes={},
        )
        for i in range(count)
    )


def tryout(of: tuple[TriedItem, ...], **variants: dict[int, bool | None]) -> JudgeTryout:
    """What variants with these verdicts came to; where they have none, they say what people say."""
    judge = TriedJudge("prose", "j", 0.001, of)
    today = Tried(TODAY, of, {item.index: item.today for item in of}, 0.001)
    tried = [
        Tried(name, of, {item.index: verdicts.get(item.index, item.people) for item in of}, None)
        for name, verdicts in variants.items()
    ]
    one = JudgeTryout(judge=judge, today=today, variants=tried)
    decide([one])
    return one


def shown(one: JudgeTryout) -> str:
    """Its lines."""
    lines = tryout_lines(
        Tryout(run="01K", tryout="01L", seed=0, variants=(), judges=(one,), calls=1, cost_usd=None)
    )
    return " ".join(" ".join(lines).split())


def test_a_perfect_variant_is_confirmed():
    """On 80 labels, of which today's judge has 20 wrong."""
    one = tryout(items(80), perfect={})
    assert (one.verdict, one.best) == ("confirmed", 0)
    assert one.confirmation is not None
    assert one.confirmation.p < 0.01
    assert one.today.tnr is not None
    assert (one.today.tnr.value, one.today.tpr and one.today.tpr.value) == (0, 1)
    assert "confirmed: 'perfect' agrees" in shown(one)


def test_fewer_than_60_labels_have_no_verdict():
    """59 do not, 60 do."""
    assert tryout(items(59), perfect={}).verdict == "no verdict"
    assert tryout(items(60), perfect={}).verdict == "confirmed"


def test_a_variant_that_says_the_same_is_not_better():
    """And one that is worse isn't either."""
    same: dict[int, bool | None] = dict.fromkeys(range(80), True)
    worse = same | dict.fromkeys(range(2, 8), False)
    one = tryout(items(80), same=same, worse=worse)
    assert one.verdict == "no variant is better"
    assert "no variant agrees with people more often than today's judge" in shown(one)


def test_a_variant_that_its_errors_could_put_ahead_leaves_open_whether_one_is_better():
    """It says what today's judge says, and nothing on 8 of the outputs; where those were right already, it is not."""
    same: dict[int, bool | None] = dict.fromkeys(range(80), True)
    wrong, right = [i for i in range(80) if i % 8 == 0], [i for i in range(80) if i % 8 == 2]
    one = tryout(items(80), same=same, doubtful=same | dict.fromkeys(wrong[:8], None))
    assert one.verdict == "no verdict"
    assert [variant.name for variant in one.open] == ["doubtful"]
    assert (
        "whether 'doubtful' (without a verdict on 8 of the 40 outputs used to choose) is better isn't known"
        in shown(one)
    )
    sure = tryout(items(80), same=same | dict.fromkeys(right[:8], None))
    assert (sure.verdict, sure.open) == ("no variant is better", [])


def test_errors_are_left_out_of_rates_and_keep_a_winner_from_being_confirmed():
    """The rate is of the others; its interval holds whatever the errors would have been."""
    silent: dict[int, bool | None] = {i: None for i in range(80) if i % 8 == 3}
    one = tryout(items(80), silent=silent)
    winner = one.variants[0]
    assert winner.errors == 10
    assert winner.agrees is not None
    assert winner.agrees.value == 1
    assert winner.agrees.low < 0.8
    assert one.verdict == "not confirmed"
    assert "10 errors could have gone either way" in shown(one)
    assert one.choosing[0].difference is not None
    assert one.choosing[0].difference.value == 10 / 40, "of the outputs with a verdict"


def test_outputs_of_one_case_count_as_one():
    """80 outputs of 8 cases can't show what 80 of 80 can, nor tell how often a judge is right."""
    one, other = tryout(items(80, per_case=8), perfect={}), tryout(items(80), perfect={})
    assert one.verdict == "not confirmed"
    for name in ("agrees", "tpr", "tnr"):
        few, many = getattr(one.today, name), getattr(other.today, name)
        assert few.value == many.value
        assert few.high - few.low > 1.2 * (many.high - many.low)


def test_with_several_judges_p_values_are_corrected_over_all_of_them():
    """The winner of each is confirmed beside the others."""
    alone = tryout(items(80), perfect={})
    both = [tryout(items(80), perfect={}), tryout(items(80), perfect={})]
    decide(both)
    assert alone.confirmation is not None
    assert both[0].confirmation is not None
    assert both[0].confirmation.p == 2 * alone.confirmation.p


def test_halves_are_even_follow_from_the_seed_and_have_as_many_failures_each():
    """Each case is in one half; another seed or metric divides them otherwise. The seed of the cases is 7."""
    rng = random.Random(7)
    cases = {f"case {rng.random()}": i % 10 > 2 for i in range(100)}
    halves = halves_of(cases, "prose", 0)
    for half in (CHOOSING, CONFIRMING):
        assert sum(one == half for one in halves.values()) == 50
        assert sum(one == half and not cases[case] for case, one in halves.items()) == 15
    assert halves == halves_of(dict(reversed(cases.items())), "prose", 0)
    assert halves != halves_of(cases, "prose", 1)
    assert halves != halves_of(cases, "tone", 0)


def test_a_variant_that_was_not_asked_everything_has_no_verdict():
    """As after a stop: what is there is shown."""
    of = items(80)
    one = tryout(of, part={})
    one.variants = [Tried("part", of, {0: False, 1: False}, None)]
    decide([one])
    assert one.verdict == "no verdict"
    assert "not all variants were asked about all labelled outputs" in shown(one)


def of_documents(count: int, size: int) -> tuple[TriedItem, ...]:
    """Labelled outputs of documents of so many; each is in one half."""
    return tuple(
        replace(
            one,
            cluster=f"doc={one.index // size}",
            half=CONFIRMING if one.index // size % 2 else CHOOSING,
        )
        for one in items(count)
    )


def test_outputs_of_one_cluster_are_no_more_than_one_case_of_a_variant():
    """80 labels of eight documents confirm nothing: four documents of a half are too few."""
    one = tryout(of_documents(80, 10), perfect={})
    assert (one.verdict, tryout(items(80), perfect={}).verdict) == (
        "not confirmed",
        "confirmed",
    )
    together, alone = one.variants[0], tryout(items(80), perfect={}).variants[0]
    assert together.agrees is not None
    assert alone.agrees is not None
    assert together.agrees.low < alone.agrees.low
    (noisy,) = tryout(of_documents(80, 10), noisy=dict.fromkeys(range(0, 80, 3), False)).variants
    (single,) = tryout(items(80), noisy=dict.fromkeys(range(0, 80, 3), False)).variants
    assert noisy.half_width is not None
    assert single.half_width is not None
    assert noisy.half_width > single.half_width


async def test_a_cluster_is_in_one_half(make_run: Make):
    """What is chosen on some of its outputs is not confirmed on others."""
    run = await a_run(
        make_run,
        200,
        change=lambda t: replace(t, vars={**t.vars, "doc": f"d{t.index // 10}"}),
        variants=(Variant(0, "p", "m", cluster="doc"),),
    )
    (judge,) = labelled_judges(label(run, lambda i: i % 10 < 7, size=120), 0)
    halves: dict[str, set[str]] = {}
    for item in judge.items:
        halves.setdefault(item.unit, set()).add(item.half)
    assert len(halves) == 20
    assert all(len(half) == 1 for half in halves.values())
