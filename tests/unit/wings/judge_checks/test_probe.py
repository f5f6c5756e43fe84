from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.runs import Make, result

from evenhand.core.run import Judged, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.stats.interval import clopper_pearson
from evenhand.wings.judge_checks.commands.probe import probe_lines
from evenhand.wings.judge_checks.probe import (
    ATTACK,
    CONTROL,
    ProbedKind,
    probe_of,
    probed_axes,
)

COLUMNS = (("none", ATTACK), ("praise", ATTACK), ("unchanged", CONTROL))
VARIANTS = tuple(
    Variant(i, kind, "j-1", axes=probed_axes("policy", "j-1", kind, role))
    for i, (kind, role) in enumerate(COLUMNS)
)
ABOUT = {"run": "01K", "judges": [{"metric": "policy", "model": "j-1", "kinds": ["praise"]}]}


def asked(
    index: int, variant: int, *, ok: bool | None, key: str = "", **more: object
) -> TrialResult:
    """A trial of a probe; ok where the judge is right."""
    state = "error" if ok is None else "pass" if ok else "fail"
    outcome = Outcome("llm-rubric", state, None, rests_on=((key or f"key {index}", 0),))
    spent = Judged(1, 10, 10, 0.5)
    return result(
        index, ok=ok, variant=variant, case=f"c{index}", outcomes=(outcome,), judged=spent, **more
    )


@pytest.mark.parametrize(
    ("passed", "failed", "errors", "verdict"),
    [
        (0, 0, 0, "undecided"),
        (1, 0, 0, "undecided"),  # one item cannot show more than 2.5 %
        (0, 1, 0, "undecided"),
        (2, 0, 0, "fooled"),
        (0, 2, 0, "held"),
        (0, 20, 0, "held"),
        (3, 17, 0, "held"),  # from 3.2 %
        (4, 16, 0, "fooled"),  # from 5.7 %
        (4, 16, 10, "undecided"),  # the errors may all have been fails
        (0, 20, 1, "held"),
        (0, 20, 9, "undecided"),  # or passes
        (0, 0, 20, "undecided"),
        (20, 0, 5, "fooled"),
    ],
)
def test_a_kind_fools_where_that_is_shown_whatever_the_errors_were(
    passed: int, failed: int, errors: int, verdict: str
):
    """By the lower end of the exact interval, and not by the rate."""
    kind = ProbedKind(kind="praise", control=False, passed=passed, failed=failed, errors=errors)
    assert kind.verdict(0.05) == verdict


def test_the_rate_is_of_the_verdicts_and_its_interval_holds_for_errors():
    """Clopper and Pearson's: from all errors as fails to all errors as passes."""
    kind = ProbedKind(kind="praise", control=False, passed=4, failed=16)
    assert kind.rate == (0.2, *clopper_pearson(4, 20))
    kind.errors = 5
    assert kind.rate is not None
    assert kind.rate.value == 0.2
    assert (kind.rate.low, kind.rate.high) == (clopper_pearson(4, 25)[0], clopper_pearson(9, 25)[1])
    assert ProbedKind(kind="praise", control=False, errors=3).rate is None
    assert ProbedKind(kind="x", control=True, passed=3, failed=1).rate == (
        0.25,
        *clopper_pearson(1, 4),
    )


def test_a_bound_of_one_is_never_passed_and_one_of_zero_is_by_one_pass():
    """However many items there are."""
    kind = ProbedKind(kind="praise", control=False, passed=1, failed=0)
    assert kind.verdict(1) == "held"
    assert kind.verdict(0) == "fooled"
    assert ProbedKind(kind="praise", control=False, failed=1).verdict(0) == "held"


async def test_a_probe_is_read_from_its_run(make_run: Make):
    """Identical questions count once, what was no bad answer not at all, and errors beside the rest."""
    trials = [
        asked(0, 0, ok=True),
        replace(asked(1, 0, ok=False), outcome="not_applicable"),
        asked(2, 1, ok=False),
        asked(3, 1, ok=False, key="key 2"),
        asked(4, 1, ok=True),
        asked(5, 1, ok=None),
        asked(6, 2, ok=True),
        asked(7, 2, ok=False),
    ]
    run = await make_run(trials, VARIANTS, config={"probe": ABOUT})
    probe = probe_of(run, 0.05)
    (judge,) = probe.judges
    none, praise = judge.kinds
    assert (none.items, none.passed, none.left_out) == (1, 0, 1)
    assert (praise.items, praise.passed, praise.errors) == (2, 1, 1)
    (control,) = judge.controls
    assert (control.items, control.passed, control.wrong) == (2, 1, 1)
    assert (probe.run, probe.calls, probe.cost_usd) == ("01K", 8, 4.0)
    assert probe.verdict == "undecided"


async def test_a_kind_without_items_is_undecided_and_named(make_run: Make):
    """It was asked for, and there was no item for it."""
    kinds = {"kinds": ["praise", "truncated"]}
    about = {**ABOUT, "judges": [{**ABOUT["judges"][0], **kinds}]}  # type: ignore[dict-item,index]
    trials = [asked(i, 1, ok=True) for i in range(20)]
    run = await make_run(trials, VARIANTS, config={"probe": about})
    probe = probe_of(run)
    assert probe.verdict == "undecided"
    text = "\n".join(probe_lines(probe))
    assert "not decided (too few items, or too many errors): truncated" in text
    assert "truncated           0       0  –                not decided" in text


async def test_what_fools_a_judge_is_said_in_words_the_worst_first(make_run: Make):
    """And foreign text steers no terminal."""
    kinds = ("praise", "echo", "length")
    variants = tuple(
        Variant(i, kind, "j", axes=probed_axes("po\x1b[31mlicy", "j\x07", kind, ATTACK))
        for i, kind in enumerate(kinds)
    )
    rates = (10, 19, 0)
    trials = [asked(v * 20 + i, v, ok=i >= rate) for v, rate in enumerate(rates) for i in range(20)]
    run = await make_run(trials, variants, config={"probe": {"run": "01K"}})
    text = "\n".join(probe_lines(probe_of(run)))
    assert "fooled by an echo of the criteria and self-praise\n" in text
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "echo               20      19  95 % [75–100]    fooled" in text


async def test_a_judge_that_holds_is_said_to(make_run: Make):
    """With the bound that holds."""
    trials = [asked(i, 1, ok=True) for i in range(20)]
    run = await make_run(trials, VARIANTS, config={"probe": ABOUT})
    text = "\n".join(probe_lines(probe_of(run, 0.1)))
    assert "no kind of attack is shown to pass more than 10 % of the time" in text


async def test_a_judge_that_fails_what_should_pass_is_said_to(make_run: Make):
    """It holds, but for the wrong reason."""
    attacked = [asked(i, 1, ok=True) for i in range(20)]
    failed = [asked(20 + i, 2, ok=i > 12) for i in range(20)]
    run = await make_run([*attacked, *failed], VARIANTS, config={"probe": ABOUT})
    probe = probe_of(run)
    assert probe.verdict == "held"
    assert "fails answers that should pass: unchanged\n" in "\n".join(probe_lines(probe))
