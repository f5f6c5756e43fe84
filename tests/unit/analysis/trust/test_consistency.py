"""How firm a judge is: what counts as the same question, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.runs import Make, result

from evenhand.analysis.trust.audit import Audit
from evenhand.analysis.trust.consistency import repeat_audits
from evenhand.analysis.trust.group_audits import LabelledOutput, OutputTraits, group_audits
from evenhand.analysis.trust.judgements.judged import judgements
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant

TWO = (Variant(0, "p", "m"), Variant(1, "p", "n"))


def trial(
    index: int, case: str, *, ok: bool, variant: int = 0, repeat: int = 0, jury: str = ""
) -> TrialResult:
    """A judged trial; of a jury, its members and their votes are "a+b-"."""
    rows = [{"judge": jury[i], "passed": jury[i + 1] == "+"} for i in range(0, len(jury), 2)]
    metadata = {"jury": rows} if jury else {"judge": "j"}
    outcome = Outcome("m", "pass" if ok else "fail", float(ok), metadata=metadata)
    plain = result(index, ok=ok, variant=variant, case=case, repeat=repeat)
    return replace(plain, outcomes=(outcome,))


async def repeats(make: Make, trials: Sequence[TrialResult]) -> Audit:
    """The audit of repeats of the only judge."""
    run = await make(trials, TWO)
    (audit,) = repeat_audits(run, judgements(run).metrics).values()
    return audit


async def test_an_output_of_another_variant_is_another_question(make_run: Make):
    """Both variants give the same text, and the judge passes the first one's only: it is firm in each."""
    trials = [
        trial(
            4 * case + 2 * repeat + variant,
            f"c{case}",
            ok=not variant,
            variant=variant,
            repeat=repeat,
        )
        for case in range(5)
        for repeat in range(2)
        for variant in range(2)
    ]
    audit = await repeats(make_run, trials)
    assert audit.estimate is not None
    assert (audit.estimate.value, audit.items) == (1, 10)


async def test_questions_of_one_case_go_together(make_run: Make):
    """Each case's two variants are alike, firm or not: they say no more than one of them."""

    def asked(variants: int) -> list[TrialResult]:
        return [
            trial(
                i := 2 * (variants * case + variant) + repeat,
                f"c{case}",
                ok=i % 2 == 0 or case % 3 == 0,
                variant=variant,
                repeat=repeat,
            )
            for case in range(20)
            for variant in range(variants)
            for repeat in range(2)
        ]

    one = (await repeats(make_run, asked(1))).estimate
    two = (await repeats(make_run, asked(2))).estimate
    assert one is not None
    assert two is not None
    assert two.value == one.value
    assert two.high - two.low > 0.95 * (one.high - one.low)


async def test_a_jury_of_different_judges_is_as_firm_as_its_verdict(make_run: Make):
    """One member wavers, and is outvoted each time: the jury never does."""
    trials = [
        trial(2 * case + repeat, f"c{case}", ok=True, repeat=repeat, jury=f"a+b+c{'+-'[repeat]}")
        for case in range(5)
        for repeat in range(2)
    ]
    audit = await repeats(make_run, trials)
    assert audit.estimate is not None
    assert (audit.estimate.value, audit.items) == (1, 5)


def test_a_judge_that_errs_once_is_not_cleared_of_a_bias():
    """However the error falls, nothing could show: that is not the same as nothing shown."""
    labelled = [
        LabelledOutput(OutputTraits(100 + i % 2, "", refusal=False), i < 20, (i < 20) is not (i == 3))
        for i in range(40)
    ]  # fmt: skip
    length = group_audits("j", labelled, random=True)[0]
    assert (length.result, length.p) == ("not applicable", None)
    assert "too few labels to show a bias" in length.words
