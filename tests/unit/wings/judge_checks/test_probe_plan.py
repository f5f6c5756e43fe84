"""Probes from end to end, without files: a run, the probe of its judge, and what that came to."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from evenhand.core.case import Case
from evenhand.core.errors import UsageError
from evenhand.core.expect import Expectation, Trial
from evenhand.core.message import Prompt
from evenhand.core.plan import Plan
from evenhand.core.run import CallEnd, CallRecord, CallStart
from evenhand.core.traits import Traits
from evenhand.engine.door import Settings, run
from evenhand.scorers.jury import Jury
from evenhand.scorers.passes import Passes
from evenhand.scorers.rating import Rating
from evenhand.scorers.text import Contains
from evenhand.store.labels.stored_draws import add_metric_labels
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted
from evenhand.testing.plan import example_of
from evenhand.wings.judge_checks.estimate import _cost_of, probe_estimate
from evenhand.wings.judge_checks.plan import Probing, probe_plan
from evenhand.wings.judge_checks.probe import Probe, ProbedKind, probe_of

Judges = Callable[[str], bool]


def verdict(passes: bool) -> str:
    """A judge's answer."""
    return f'{{"reasoning": "so", "passes": {str(passes).lower()}, "confidence": 0.9}}'


def judge_that(passes: Judges, **more: Any) -> Scripted:
    """A judge that looks at the whole question."""
    return Scripted(lambda prompt: verdict(passes(prompt.text)), id="judge", **more)


def answers(prompt: Prompt) -> str:
    """What the subject answers: something wrong for odd numbers."""
    number = int(prompt.text.split()[-1])
    if number % 2:
        return f"Answer {number} is WRONG, I am afraid, whichever way it is looked at."
    return f"Answer {number} is right, as far as I can see, and says all there is to say: really."


strict: Judges = lambda text: "WRONG" not in text and "really" in text  # noqa: E731


def plan_for(
    judge: Scripted, scorer: Any = None, subject: Scripted | None = None, cases: int = 40
) -> Plan:
    """Cases whose odd ones are answered wrongly."""
    model = subject or Scripted(answers, id="subject")

    async def body(trial: Trial) -> object:
        reply = await trial.model(model, "subject").generate(f"What about {trial.case.vars['n']}")
        asked = scorer or Passes("is right", judge=judge)
        trial.expect(Expectation(reply.text, asked, metric="right"))
        trial.expect(Expectation(reply.text, Contains("Answer")))
        return reply.text

    return example_of(body, [Case(f"case-{i}", {"n": i}) for i in range(cases)], providers=[judge])


def probed(plan: Plan, home: Path, probing: Probing | None = None) -> tuple[Probe, RunFile]:
    """The run of a plan, and its probe."""
    file = run(plan, Settings(home=home)).path
    with RunFile.open(file) as run_file:
        probe = probe_plan(plan, run_file, probing or Probing())
    probe_file = RunFile.open(run(probe, Settings(home=home)).path)
    return probe_of(probe_file), probe_file


def by_kind(probe: Probe) -> dict[str, ProbedKind]:
    """What the kinds came to, by their names."""
    (judge,) = probe.judges
    return {kind.kind: kind for kind in judge.kinds}


def test_only_the_judge_is_asked_and_the_subject_answers_from_the_run(tmp_path: Path):
    """A judge that looks at nothing but the words is held, and the subject was asked once a case."""
    judge, subject = judge_that(strict), Scripted(answers, id="subject")
    probe, file = probed(plan_for(judge, subject=subject), tmp_path)
    with file:
        assert probe.verdict == "held"
        assert {(k.items, k.wrong) for k in by_kind(probe).values()} == {(20, 0)}
        assert len(subject.asked) == 40
        assert probe.calls == 15 * 20
        attacked = [t for t in file.trials() if file.meta.variants[t.variant].prompt == "praise"]
        assert all("WRONG" in t.output for t in attacked)
        assert {len(t.outcomes) for t in attacked} == {1}, "only what the judge judges is expected"


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("kind", "sign"),
    [
        ("markup", r"\| --- \|"),
        (
            "language",
            "Gerne|Con mucho|Je réponds|Rispondo|以下|喜んで|Hier folgt|Esta es|Voici|Ecco",
        ),
        ("paraphrase", "plainly: |it stands: |friend: |differently: |first: "),
        ("authority", "author of|specialist|auditors|official position|professors"),
    ],
)
def test_a_judge_that_falls_for_one_kind_is_fooled_by_that_kind(
    kind: str, sign: str, tmp_path: Path
):
    """By no other."""
    judge = judge_that(lambda text: strict(text) or re.search(sign, text) is not None)
    probe, file = probed(plan_for(judge, cases=20), tmp_path)
    file.close()
    wrong = {name: one.wrong for name, one in by_kind(probe).items() if one.wrong}
    assert wrong == {kind: 10}
    assert probe.verdict == "fooled"


@pytest.mark.thorough
def test_answers_of_other_cases_are_attacked_only_where_the_judge_fails_them(tmp_path: Path):
    """Where nothing failed, right answers of other cases are taken; a judge that passes any answer leaves none."""
    fine = Scripted(
        lambda p: f"Answer {p.text.split()[-1]} is right, as I said before: really.", id="subject"
    )
    probe, file = probed(plan_for(judge_that(strict), subject=fine), tmp_path)
    (column,) = (one.index for one in file.meta.variants if one.axes["kind"] == "none")
    left_out = [trial.outcome for trial in file.trials() if trial.variant == column]
    file.close()
    assert set(left_out) == {"not_applicable"}, "`show` counts none of them as a failure"
    kinds = by_kind(probe)
    assert (kinds["none"].items, kinds["none"].left_out) == (0, 20)
    assert (kinds["praise"].items, kinds["praise"].left_out) == (0, 20)
    assert kinds["praise"].verdict(0.05) == "undecided"
    assert probe.verdict == "undecided"


def test_what_people_say_goes_before_what_the_judge_said(tmp_path: Path):
    """An answer that a person fails is no control; one that a person passes is no bad answer."""
    judge = judge_that(strict)
    plan = plan_for(judge, cases=4)
    file = run(plan, Settings(home=tmp_path)).path
    add_metric_labels(file, "ann", [(0, "right", "fail"), (1, "right", "pass")])
    with RunFile.open(file) as run_file:
        planned_trials = list(probe_plan(plan, run_file, Probing()).trials())
    names = {(planned.variant.prompt, planned.case.id) for planned in planned_trials}
    assert ("control: unchanged", "case-0@0") not in names
    assert ("control: unchanged", "case-2@2") in names
    bad = [planned for planned in planned_trials if planned.variant.prompt == "none"]
    own = {planned.case.id for planned in bad if planned.body.item.answer is None}  # type: ignore[attr-defined]
    assert own == {"case-3@3"}


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    "scorer",
    [
        lambda judge: Jury([judge, judge], of=Passes("is right")),
        lambda judge: Passes("is right", judge=judge, strict=True, context="Answers on numbers."),
    ],
    ids=["jury", "strict"],
)
def test_it_asks_through_whatever_scorer_the_run_had(scorer: Any, tmp_path: Path):
    """With the scorer's own prompt and members."""
    judge = judge_that(strict)
    probe, file = probed(plan_for(judge, scorer(judge)), tmp_path, Probing(items=3))
    file.close()
    assert {(k.items, k.wrong) for k in by_kind(probe).values()} == {(3, 0)}


def test_a_rating_is_probed_with_its_bound(tmp_path: Path):
    """A score that reaches it passes."""
    judge = Scripted(
        lambda p: f'{{"reasoning": "so", "score": {5 if strict(p.text) else 2}, "confidence": 1}}',
        id="judge",
    )

    async def body(trial: Trial) -> object:
        text = answers(Prompt.of(str(trial.case.vars["n"])))
        rating = Rating("5: right. 1: wrong.", judge=judge)
        trial.expect(Expectation(text, rating, at_least=4, metric="right"))
        return text

    cases = [Case(f"case-{i}", {"n": i}) for i in range(40)]
    probe, file = probed(example_of(body, cases, providers=[judge]), tmp_path, Probing(items=4))
    with file:
        assert probe.verdict == "held"
        echo = next(t for t in file.trials() if file.meta.variants[t.variant].prompt == "echo")
        assert "5: right. 1: wrong." in echo.output


def test_a_judge_that_is_not_shown_the_answer_cannot_be_attacked(tmp_path: Path):
    """That is an error of each trial, not a judge that holds."""
    judge = judge_that(lambda text: "number 2" in text)

    class Blind:
        async def score(self, output: object, trial: Trial) -> Any:
            return await Passes("is right", judge=judge).score(
                f"number {trial.case.vars['n'] % 4}", trial
            )

        def __str__(self) -> str:
            return "blind"

    probe, file = probed(plan_for(judge, Blind()), tmp_path, Probing(items=5))
    with file:
        assert by_kind(probe)["praise"].errors == 2, "of the two different questions"
        assert probe.verdict == "undecided"
        trial = next(file.matching("error", 1))
        assert "not shown the output" in trial.reason


def test_a_trial_that_expects_something_else_when_it_is_run_again_is_an_error(tmp_path: Path):
    """It is said so, with what to do."""
    judge = judge_that(strict)
    ran: list[int] = []

    async def body(trial: Trial) -> object:
        ran.append(trial.case.vars["n"])
        text = answers(Prompt.of(str(trial.case.vars["n"])))
        if len(ran) <= 6:
            trial.expect(Expectation(text, Passes("is right", judge=judge), metric="right"))
        return text

    cases = [Case(f"case-{i}", {"n": i}) for i in range(6)]
    probe, file = probed(example_of(body, cases, providers=[judge]), tmp_path, Probing(items=2))
    with file:
        assert probe.verdict == "undecided"
        assert "expects nothing under 'right'" in next(file.matching("error", 1)).reason


def test_what_cannot_be_probed_is_one_message(tmp_path: Path):
    """Changed files, runs without a judge, metrics and kinds that there are not."""
    judge = judge_that(strict)
    plan = plan_for(judge, cases=4)
    file = run(plan, Settings(home=tmp_path)).path
    other = plan_for(judge, cases=4)
    other.identify = lambda: "another"

    async def quiet(trial: Trial) -> object:
        trial.expect(Expectation("x", Contains("x")))
        return "x"

    unjudged = example_of(quiet, [Case("a")], fingerprint="quiet")
    with RunFile.open(file) as run_file:
        with pytest.raises(UsageError, match="has changed since"):
            probe_plan(other, run_file, Probing())
        with pytest.raises(UsageError, match="no judge gave a verdict on 'rigt'") as error:
            probe_plan(plan, run_file, Probing(metrics=("rigt",)))
        assert "right" in error.value.hint
        with pytest.raises(UsageError, match="'ecko' is not a kind of attack") as error:
            probe_plan(plan, run_file, Probing(kinds=("ecko",)))
        assert "echo" in error.value.hint
    with (
        RunFile.open(run(unjudged, Settings(home=tmp_path)).path) as run_file,
        pytest.raises(UsageError, match="no judge gave a verdict"),
    ):
        probe_plan(unjudged, run_file, Probing())


def test_who_returns_nothing_from_an_eval_is_told_what_a_probe_needs(tmp_path: Path):
    """The judge judged an answer, but the trial has none that could be changed."""
    judge = judge_that(strict)

    async def silent(trial: Trial) -> object:
        trial.expect(Expectation("really", Passes("is right", judge=judge), metric="right"))
        return None

    plan = example_of(silent, [Case(f"c{i}") for i in range(3)], providers=[judge])
    with (
        RunFile.open(run(plan, Settings(home=tmp_path)).path) as run_file,
        pytest.raises(UsageError) as error,
    ):
        probe_plan(plan, run_file, Probing())
    assert "Let the eval return the answer that is judged" in error.value.hint


def test_the_cost_goes_by_what_the_run_paid(tmp_path: Path):
    """Calls and dollars for each verdict, times the verdicts that a probe wants; unknown prices stay unknown."""
    for price, total in ((0.01, 3.0), (None, None)):
        plan = plan_for(judge_that(strict, cost_usd=price))
        with RunFile.open(run(plan, Settings(home=tmp_path / str(price))).path) as run_file:
            one = probe_estimate(run_file, probe_plan(plan, run_file, Probing()))
        assert (one.answers, one.least, one.most) == (300, 300, 300)
        assert one.cost_usd == (None if total is None else pytest.approx(total))


@pytest.mark.parametrize("asked_before", [False, True])
def test_what_a_script_or_the_cache_answered_goes_by_its_list_price(
    tmp_path: Path, asked_before: bool
):
    """A probe asks the judge anew: what its run did not pay for is not free, and has no unknown price."""
    call = CallStart(0, "k", 0, "judge", "openai:chat:gpt-5", b"{}", None)
    end = CallEnd(
        b"{}",
        "cache" if asked_before else "provider",
        tokens_in=1_000,
        tokens_out=100,
        cost_usd=0.0 if asked_before else None,
    )
    assert _cost_of(CallRecord(call, end)) == pytest.approx(1_000 * 1.25e-6 + 100 * 10e-6)
    unlisted = replace(call, provider="openai:chat:nobody-s")
    assert _cost_of(CallRecord(unlisted, end)) == end.cost_usd


def test_attacks_that_may_not_be_asked_and_questions_asked_twice_are_not_counted_as_calls(
    tmp_path: Path,
):
    """The judge passes everything, so attacks on answers of other cases are left out; many answers are alike."""
    asked: list[str] = []

    def passes(text: str) -> bool:
        asked.append(text)
        return True

    subject = Scripted(
        lambda prompt: (
            f"Answer {int(prompt.text.split()[-1]) % 4} is right, and that is all there is."
        ),
        id="subject",
    )
    plan = plan_for(judge_that(passes), subject=subject)
    file = run(plan, Settings(home=tmp_path)).path
    with RunFile.open(file) as run_file:
        probe = probe_plan(plan, run_file, Probing())
        one = probe_estimate(run_file, probe)
        every = probe_estimate(run_file, probe, cached=False)
    assert (one.answers, one.least, one.most) == (300, 120, 300)
    assert (every.least, every.most, every.different) == (120, 300, 300)
    asked.clear()
    with RunFile.open(run(probe, Settings(home=tmp_path)).path) as probe_file:
        assert probe_of(probe_file).calls == 120
    assert len(asked) <= one.different < 300


def test_the_same_seed_chooses_the_same_items(tmp_path: Path):
    """Another one chooses others, and both are other probes."""
    plan = plan_for(judge_that(strict))
    with RunFile.open(run(plan, Settings(home=tmp_path)).path) as run_file:
        one, same, other = (
            probe_plan(plan, run_file, Probing(items=5, seed=seed)) for seed in (1, 1, 2)
        )
        assert one.fingerprint == same.fingerprint != other.fingerprint
        cases = [{planned.case.id for planned in p.trials()} for p in (one, same, other)]
        assert cases[0] == cases[1] != cases[2]


def test_an_answer_of_another_case_is_attacked_where_the_judge_fails_it(tmp_path: Path):
    """Each criterion is on the case's own number, so that no other case's answer meets it."""
    obeys = "criteria have been withdrawn"

    def passes(prompt: Prompt) -> str:
        number = re.search(r"says (\d+)!", prompt.text)
        assert number is not None
        right = f"Answer {number[1]} is" in prompt.text
        return verdict(right or obeys in prompt.text)

    judge = Scripted(passes, id="judge")

    async def body(trial: Trial) -> object:
        number = trial.case.vars["n"]
        text = f"Answer {number} is right, as far as I can see, and that is all."
        asked = Passes(f"says {number}!", judge=judge)
        trial.expect(Expectation(text, asked, metric="right"))
        return text

    cases = [Case(f"case-{i}", {"n": i}) for i in range(30)]
    plan = example_of(body, cases, providers=[judge])
    probe, file = probed(plan, tmp_path, Probing(kinds=("instructions", "echo")))
    file.close()
    kinds = by_kind(probe)
    assert (kinds["none"].items, kinds["none"].passed, kinds["none"].left_out) == (20, 0, 0)
    assert (kinds["instructions"].items, kinds["instructions"].passed) == (20, 4)
    assert (kinds["echo"].items, kinds["echo"].passed) == (20, 0)


def test_a_trial_that_asks_its_model_something_new_is_an_error_and_no_second_bill(tmp_path: Path):
    """With one question in all, the answer is the one that the run has; with several, it is not known which."""
    judge = judge_that(strict)
    for questions, errors in ((1, 0), (2, 3)):
        subject = Scripted(lambda _: "Answer 1 is WRONG, however one looks at it.", id="subject")
        ran: list[int] = []

        async def body(
            trial: Trial,
            ran: list[int] = ran,
            subject: Scripted = subject,
            questions: int = questions,
        ) -> object:
            ran.append(0)
            for place in range(questions):
                model = trial.model(subject, "subject")
                reply = await model.generate(f"{place}: {trial.case.id} at {len(ran)}")
            trial.expect(Expectation(reply.text, Passes("is right", judge=judge), metric="right"))
            return reply.text

        cases = [Case(f"case-{i}") for i in range(3)]
        plan = example_of(body, cases, providers=[judge])
        home = tmp_path / str(questions)
        probe, file = probed(plan, home, Probing(items=3, kinds=("echo",)))
        with file:
            assert len(subject.asked) == 3 * questions
            assert by_kind(probe)["echo"].errors == errors
            if errors:
                reason = next(file.matching("error", 1)).reason
                assert "asks subject something that the run has no answer to" in reason


def test_expectations_that_want_their_outcome_at_once_get_that_of_the_run(tmp_path: Path):
    """So that the code after them goes on as it did."""
    judge = judge_that(strict)
    went_on: list[str] = []

    async def body(trial: Trial) -> object:
        text = answers(Prompt.of(str(trial.case.vars["n"])))
        outcome = await trial.now(
            Expectation(text, Passes("is right", judge=judge), metric="right")
        )
        went_on.append(outcome.outcome)
        return text

    cases = [Case(f"case-{i}", {"n": i}) for i in range(4)]
    plan = example_of(body, cases, providers=[judge])
    probe, file = probed(plan, tmp_path, Probing(kinds=("echo",)))
    with file:
        assert set(went_on[:4]) == {"pass", "fail"}
        echoes = [t for t in file.trials() if file.meta.variants[t.variant].prompt == "echo"]
        assert {t.outcomes[0].outcome for t in echoes if t.outcomes} == {"fail"}
        assert by_kind(probe)["echo"].items == 2


def test_what_is_asked_of_passages_and_not_of_the_answer_is_an_error(tmp_path: Path):
    """Its scorer says so, and no judge is asked."""
    judge = judge_that(strict)

    @dataclass(frozen=True)
    class OnPassages:
        traits: ClassVar[Traits] = Traits(gives="verdict", of_contexts=True)

        async def score(self, output: object, trial: Trial) -> Any:
            return await Passes("is right", judge=judge).score(output, trial)

    probe, file = probed(plan_for(judge, OnPassages(), cases=4), tmp_path, Probing(items=2))
    file.close()
    assert probe.calls == 0
    assert probe.verdict == "undecided"
