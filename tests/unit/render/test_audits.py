"""What a judge's verdicts depend on beside the output: planted biases are found, and none where there is none."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import count as counting

import pytest
from tests.runs import Make
from tests.unit.render.test_judge_trust import a_run, label

from evenhand.analysis.trust.audit import Audit
from evenhand.analysis.trust.calibration import calibrate, corrected
from evenhand.analysis.trust.consistency import questions
from evenhand.analysis.trust.group_audits import LabelledOutput, OutputTraits, group_audits
from evenhand.core.document import as_object
from evenhand.core.run import AnswerDetails, TrialResult
from evenhand.core.variant import Variant
from evenhand.render.calibration_text import calibration_lines
from evenhand.store.runfile import RunFile

REFUSAL = "I'm sorry, I can't help with that."
JUDGE = "gpt-5-2026"
TWO = (
    Variant(0, "p", "gpt-5", provider_id="openai:chat:gpt-5"),
    Variant(1, "p", "claude", provider_id="anthropic:claude"),
)


def audits_of(run: RunFile) -> dict[str, Audit]:
    """The audits of a run with one judge under one metric, by name."""
    (audits,) = calibrate(run).audits.values()
    return {one.name: one for one in audits}


def text_of(run: RunFile) -> str:
    """What `calibrate` prints, on one line."""
    return " ".join(" ".join(calibration_lines(calibrate(run))).split())


def shaped(trial: TrialResult, *, passed: bool, output: str, variant: int = 0) -> TrialResult:
    """The same trial with this verdict of an OpenAI judge on this output of this variant."""
    outcome = trial.outcomes[0]
    metadata = {**outcome.metadata, "judge": JUDGE}
    return replace(
        trial,
        variant=variant,
        output=output,
        answer=AnswerDetails(model=("gpt-5-x", "claude-x")[variant]),
        outcomes=(replace(outcome, outcome="pass" if passed else "fail", metadata=metadata),),
    )


def good(i: int) -> bool:
    """What people say: two thirds are good."""
    return i % 3 > 0


async def test_a_judge_that_passes_long_answers_is_found_out(make_run: Make):
    """It passes every long one, and errs on one in twelve of the short; its odds, interval and counts are there."""

    def biased(trial: TrialResult) -> TrialResult:
        long = trial.index % 2 == 0
        passed = long or good(trial.index) is not (trial.index % 12 == 5)
        return shaped(trial, passed=passed, output="word " * (300 if long else 20))

    run = label(await a_run(make_run, change=biased, variants=TWO), good, size=120)
    found = audits_of(run)
    length = found["length"]
    assert length.result == "biased"
    assert length.estimate is not None
    assert length.estimate.value == math.inf
    assert length.estimate.low > 3
    assert length.labels == 120
    assert {(one.group, one.people) for one in length.counts} == {
        (group, people) for group in ("long", "short") for people in ("pass", "fail")
    }
    assert sum(one.items for one in length.counts) == 120
    row = length.row()
    assert (row.value, row.high) == (None, None)
    assert json.dumps(as_object(row), allow_nan=False)
    text = text_of(run)
    assert "audits biased by length" in text
    assert "for long outputs (1,500 characters or more)" in text
    assert "family: not applicable: all labelled outputs come from one family, openai" in text
    assert "refusals: not applicable: none of the labelled outputs is a refusal" in text


async def test_a_judge_that_favours_its_own_family_is_found_out(make_run: Make):
    """It passes what its sibling wrote nearly always, and is right on the other family's."""

    def biased(trial: TrialResult) -> TrialResult:
        i, own = trial.index, trial.index % 2 == 0
        passed = (good(i) or i % 10 < 8) if own else good(i) is not (i % 15 == 1)
        return shaped(trial, passed=passed, output=f"answer {i:04}", variant=int(not own))

    run = label(await a_run(make_run, change=biased, variants=TWO), good, size=150)
    family = audits_of(run)["family"]
    assert family.result == "biased"
    assert family.corrected_p is not None
    assert family.corrected_p <= 0.05
    assert family.estimate is not None
    assert family.estimate.low > 1
    assert (
        "or more for outputs of its own family (openai) as for outputs of other families"
        in family.words
    )


async def test_a_judge_that_likes_refusals_is_found_out(make_run: Make):
    """People fail them; it passes most of them, and few of the other bad answers."""

    def biased(trial: TrialResult) -> TrialResult:
        i, refuses = trial.index, trial.index % 6 == 0
        passed = i % 5 > 0 if refuses else good(i) is not (i % 20 == 9)
        return shaped(trial, passed=passed, output=REFUSAL if refuses else f"answer {i:04}")

    run = label(await a_run(make_run, change=biased, variants=TWO), good, size=150)
    refusals = audits_of(run)["refusals"]
    assert refusals.result == "biased"
    assert refusals.estimate is not None
    assert refusals.estimate.low > 1
    assert "for refusals as for other outputs that people judge alike" in refusals.words

    def polite(trial: TrialResult) -> TrialResult:
        output = str(biased(trial).output).replace(REFUSAL, "Sorry, no: we are closed on Sundays.")
        return replace(biased(trial), output=output)

    answers = label(await a_run(make_run, change=polite, variants=TWO), good, size=150)
    assert "none of the labelled outputs is a refusal" in audits_of(answers)["refusals"].words


async def test_without_labels_with_few_and_with_one_verdict_there_is_no_number(make_run: Make):
    """It says why; 29 labels are too few; a judge that passes everything, and people who do, show nothing."""

    def two_lengths(trial: TrialResult) -> TrialResult:
        return replace(trial, output="x" * (5 + trial.index % 2))

    run = await a_run(make_run, change=two_lengths)
    assert {audit.result for audit in audits_of(run).values()} == {"not applicable"}
    assert "length" not in text_of(run)  # what nobody could test has no line
    few = label(run, good, size=29)
    assert (
        audits_of(few)["length"].words
        == "too few labels of different questions: 29, and it takes 30"
    )
    kind = label(await a_run(make_run, said=lambda _: True, change=two_lengths), good)
    alike = audits_of(kind)["length"]
    assert alike.words.startswith("too few labels to show a bias: ")
    assert alike.words.endswith("of the judge")
    assert (alike.estimate, alike.p, alike.row().value) == (None, None, None)
    all_good = label(await a_run(make_run, change=two_lengths), lambda _: True)
    assert audits_of(all_good)["length"].result == "not shown"
    same = label(await a_run(make_run, change=lambda t: replace(t, output="x")), good)
    assert audits_of(same)["length"].words == "all labelled outputs have the same length"


@pytest.mark.parametrize("few", [1, 2, 4, 5])
def test_a_bias_rests_on_five_outputs_at_least(few: int):
    """Of the rarer kind, or with the rarer verdict; so many can be enough for a small p-value by chance."""
    kinds = {
        # The judge fails the few long ones that people pass.
        "kind": [(9 if i < few else 3, True, i >= few) for i in range(200)],
        # Both kinds are common: it fails few outputs, all of them long.
        "verdict": [(9 if i < 40 else 3, True, i >= few) for i in range(400)],
    }
    for name, outputs in kinds.items():
        labelled = [
            LabelledOutput(OutputTraits(length, "", refusal=False), people, judge)
            for length, people, judge in outputs
        ]
        length = group_audits("judge-1", labelled, random=True)[0]
        assert (length.p is None) == (few < 5), name
        if few < 5:
            assert f"rest on {few} output" in length.words


async def test_labels_that_are_no_random_draw_are_not_audited(make_run: Make):
    """Only the judge's passes were labelled."""
    run = await a_run(make_run, change=lambda t: replace(t, output="x" * (5 + t.index % 2)))
    run = label(run, good, size=200)
    from evenhand.store.labels.stored_draws import add_metric_labels

    taken_back = [(i, "prose", None) for i in range(200) if i % 10 >= 7]
    add_metric_labels(run.path, "ann", taken_back)
    with RunFile.open(run.path) as again:
        assert audits_of(again)["length"].words == "the labels are not a random draw"


@pytest.mark.parametrize(
    ("judge", "families", "why"),
    [
        (
            "judge-1",
            ["openai", "anthropic"],
            "the family of the model judge-1 is unknown",
        ),
        ("gpt-5+claude-4", ["openai", "anthropic"], "the jury is of several families: anthropic"),
        (
            "gpt-5",
            ["anthropic", "google"],
            "none of the labelled outputs comes from the judge's own",
        ),
        ("gpt-5+gpt-4o", ["openai", "openai"], "all labelled outputs come from one family, openai"),
        ("gpt-5", ["", ""], "the models that wrote the outputs are unknown"),
        ("gpt-5", ["openai", ""], "all labelled outputs come from one family, openai"),
    ],
)
def test_the_audit_of_the_own_family_needs_two_known_families(
    judge: str, families: list[str], why: str
):
    """Its own, and another one; outputs of an unknown model are in neither."""
    labelled = [
        LabelledOutput(OutputTraits(5, families[i % 2], refusal=False), good(i), i % 5 > 0)
        for i in range(60)
    ]
    audits = {one.name: one for one in group_audits(judge, labelled, random=True)}
    assert audits["family"].words.startswith(why)


async def test_repeated_questions_say_how_often_a_judge_agrees_with_itself(make_run: Make):
    """Repeats with the same output count, those with another one don't; a judge's error is no verdict."""

    def repeated(trial: TrialResult) -> TrialResult:
        case, repeat = divmod(trial.index, 2)
        passed = case % 10 < 7
        if case % 20 == 3 and repeat:
            passed = not passed
        output = f"answer {case}" + (f" again {repeat}" if case % 4 == 0 else "")
        trial = shaped(trial, passed=passed, output=output)
        if case == 1 and repeat:
            broken = replace(trial.outcomes[0], outcome="error", score=None, error="judge")
            trial = replace(trial, outcomes=(broken,), outcome="error", score=None)
        return replace(trial, case=f"case {case}", repeat=repeat)

    run = await a_run(make_run, change=repeated, variants=TWO, repeats=2)
    repeats = audits_of(run)["repeats"]
    assert repeats.result == "measured"
    assert repeats.items == 74, "75 of 100 cases have the same output twice, one of these an error"
    assert repeats.estimate is not None
    assert repeats.estimate.value == pytest.approx(69 / 74)
    assert repeats.estimate.low < 69 / 74 < repeats.estimate.high
    assert "5 of 74 questions asked more than once got both verdicts" in text_of(run)


async def test_a_question_is_the_calls_own_where_that_is_known(make_run: Make):
    """The same output with other passages beside it is another question."""

    def asked(trial: TrialResult) -> TrialResult:
        outcome = replace(trial.outcomes[0], rests_on=((f"key {trial.index % 2}", 0),))
        return replace(trial, output="the same", outcomes=(outcome,))

    run = await a_run(make_run, 4, change=asked)
    keys = [questions(trial)["prose", "judge-1"] for trial in run.trials()]
    assert keys[0] == keys[2] != keys[1] == keys[3]


async def test_a_jury_with_one_judge_three_times_is_asked_again(make_run: Make):
    """Its members' verdicts are compared; a member without a verdict, and a judge that sits once, are left out."""

    def jury(trial: TrialResult) -> TrialResult:
        members = [
            {"judge": "gpt-5", "passed": True},
            {"judge": "gpt-5", "passed": True},
            {"judge": "gpt-5", "passed": trial.index % 4 > 0},
            {"judge": "gpt-5", "passed": None, "error": "judge"},
            {"judge": "claude-4", "passed": False},
            "odd",
        ]
        return replace(trial, outcomes=(replace(trial.outcomes[0], metadata={"jury": members}),))

    repeats = audits_of(await a_run(make_run, 40, change=jury))["repeats"]
    assert repeats.items == 40
    assert repeats.estimate is not None
    assert repeats.estimate.value == pytest.approx((30 + 10 / 3) / 40)


async def test_repeats_with_the_same_output_are_one_label(make_run: Make):
    """Five identical answers to one question are no five pieces of evidence."""

    def repeated(trial: TrialResult) -> TrialResult:
        case, repeat = divmod(trial.index, 5)
        passed = case % 2 == 0 or good(case)
        shaped_ = shaped(trial, passed=passed, output="x" * (5 + case % 2))
        return replace(shaped_, case=f"case {case}", repeat=repeat)

    run = await a_run(make_run, 200, change=repeated, variants=TWO, repeats=5)
    run = label(run, lambda i: good(i // 5), size=200)
    found = audits_of(run)["length"]
    assert found.labels == 40


async def test_a_preference_for_a_place_is_among_the_audits_and_few_pairs_say_nothing(
    make_run: Make,
):
    """Nine of ten go to the first text; with five that go by the place there is no number."""

    def preference(trial: TrialResult, every: int) -> TrialResult:
        i = trial.index
        place = "second" if i % (10 * every) == 0 else "first"
        split = ("output", "other") if place == "first" else ("other", "output")
        winners = split if i % every == 0 else ("output", "output")
        orders = [
            {"first": first, "winner": winner}
            for first, winner in zip(("output", "other"), winners, strict=True)
        ]
        metadata = {"judge": JUDGE, "orders": orders, "consistent": winners[0] == winners[1]}
        return replace(trial, outcomes=(replace(trial.outcomes[0], metadata=metadata),))

    run = await a_run(make_run, change=lambda t: preference(t, 4))
    found = audits_of(run)
    assert found["orders"].result == "measured"
    assert found["orders"].estimate is not None
    assert found["orders"].estimate.value == 0.75
    assert found["position"].result == "biased"
    assert found["position"].row().value == 0.9
    few = audits_of(await a_run(make_run, change=lambda t: preference(t, 40)))["position"]
    assert (few.result, few.estimate) == ("not applicable", None)
    assert "5 preferences depended on position" in few.words


def test_all_tests_of_a_run_are_corrected_together():
    """Of two audits with p = 0.03 neither is biased; alone it is. What was not tested doesn't count."""
    one = Audit(name="length", result="not shown", words="", p=0.03)
    nothing = Audit(name="repeats", result="measured", words="")
    assert corrected({("a", "j"): [one, nothing]})["a", "j"][0].result == "biased"
    both = corrected({("a", "j"): [one], ("b", "j"): [one, nothing]})
    assert [audit.result for each in both.values() for audit in each] == [
        "not shown", "not shown", "measured",
    ]  # fmt: skip
    assert both["a", "j"][0].corrected_p == pytest.approx(0.06)


def drawn(rng: random.Random, n: int, odds: dict[str, float]) -> list[LabelledOutput]:
    """Labels of a judge that passes 90 % of what people pass and 30 % of what they fail, times the odds of each trait.

    People pass 70 %; short answers, other families and answers that don't refuse more often.
    """
    labelled: list[LabelledOutput] = []
    for _ in range(n):
        has = {
            "length": rng.random() < 0.5,
            "family": rng.random() < 0.5,
            "refusals": rng.random() < 0.25,
        }
        people = rng.random() < 0.85 - 0.1 * sum(has.values())
        chance = 0.9 if people else 0.3
        times = math.prod(odds.get(name, 1.0) for name, there in has.items() if there)
        raised = chance * times / (1 - chance + chance * times)
        traits = OutputTraits(
            rng.randint(500, 900) if has["length"] else rng.randint(50, 400),
            "openai" if has["family"] else "anthropic",
            has["refusals"],
        )
        labelled.append(LabelledOutput(traits, people, rng.random() < raised))
    return labelled


def share_found(
    seed: int, runs: int, n: int, names: Sequence[str], odds: dict[str, float]
) -> float:
    """In which share of runs, with two metrics each, one of these audits calls the judge biased."""
    rng = random.Random(seed)
    hits = 0
    for _ in range(runs):
        metrics = counting()
        drafts = {
            (f"m{next(metrics)}", "gpt-5"): group_audits("gpt-5", drawn(rng, n, o), random=True)
            for o in (odds, {})
        }
        audits = next(iter(corrected(drafts).values())) if odds else [
            audit for each in corrected(drafts).values() for audit in each
        ]  # fmt: skip
        hits += any(a.result == "biased" for a in audits if a.name in names)
    return hits / runs


@pytest.mark.thorough
def test_a_judge_without_a_bias_is_called_biased_in_at_most_five_per_cent_of_runs():
    """100 labels, six tests in each of 300 runs (seed 8); it errs often, and people's verdicts depend on the traits."""
    assert share_found(8, 300, 100, ("length", "family", "refusals"), {}) <= 0.05


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("name", "odds", "n", "power"),
    [("length", 6.0, 200, 0.7), ("family", 6.0, 200, 0.7), ("refusals", 8.0, 250, 0.6)],
)
def test_a_planted_bias_is_found(name: str, odds: float, n: int, power: float):
    """In 100 runs (seed 6), beside a second metric without one: at least in this share of them."""
    assert share_found(6, 100, n, (name,), {name: odds}) >= power


def test_the_group_with_the_higher_odds_comes_first_in_words_and_in_counts():
    """A judge that is hard on long answers passes short ones more easily; the estimate stays that of long ones."""
    labelled = [
        LabelledOutput(OutputTraits(900 if i % 2 else 9, "", refusal=False), good(i), i % 2 == 0)
        for i in range(60)
    ]
    labelled[1] = replace(labelled[1], judge=True)
    labelled[2] = replace(labelled[2], judge=False)
    (length,) = (
        one for one in group_audits("gpt-5", labelled, random=True) if one.name == "length"
    )
    assert length.estimate is not None
    assert length.estimate.high < 1
    assert "for short outputs as for long outputs (900 characters or more)" in length.words
    assert (
        "it passes 10 of 10 against 0 of 10 that people fail, and 19 of 20 against 1 of 20"
        in length.words
    )
