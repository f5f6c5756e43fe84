"""Which judges are one judge, and which numbers of a case hang on another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, cast

import pytest

from evenhand.analysis.comparison.case_judges import (
    AskedJudge,
    AskedJudges,
    CaseJudges,
    JudgeChanges,
    judges_asked,
    judges_of,
    other_settings,
)
from evenhand.core.cascade import JOINS
from evenhand.core.definition import Definition
from evenhand.core.encoding import encode
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.store.runfile import RunFile


def asked(name: str, id_: str, *settings: str) -> dict[str, AskedJudge]:
    """What a judge was asked by."""
    return {name: AskedJudge(frozenset({id_}), frozenset(settings))}


def by(judge: str, version: str = "passes/1") -> dict[str, Any]:
    """What a verdict says of its judge."""
    return {"judge": judge, "prompt": version}


def jury(*judges: str) -> dict[str, Any]:
    """What a jury's verdict says; a member without a name gave an error."""
    return {"jury": [by(judge) if judge else {"error": "timeout"} for judge in judges]}


def outcome(metric: str, metadata: Mapping[str, Any], **more: Any) -> Outcome:
    """A verdict."""
    return Outcome(metric, "pass", 1.0, metric=metric, metadata=metadata, **more)


def trial(*outcomes: Outcome, repeat: int = 0) -> TrialResult:
    """A trial with these verdicts."""
    return TrialResult(
        index=0, case="c", variant=0, repeat=repeat, outcome="pass", score=1.0, outcomes=outcomes
    )


def change(
    first: TrialResult | list[TrialResult],
    second: TrialResult | list[TrialResult],
    metric: str = "passed",
    judges: tuple[AskedJudges, AskedJudges] = ({}, {}),
) -> str:
    """How one case was judged otherwise; several trials are its repeats."""
    sides = CaseJudges(judges[0]), CaseJudges(judges[1])
    for side, trials in zip(sides, (first, second), strict=True):
        for one in trials if isinstance(trials, list) else [trials]:
            side.add(0, one)
    return JudgeChanges(*sides, [(0, 0)]).of_case(metric, 0, 0)


def of_judges(one: Mapping[str, Any], two: Mapping[str, Any], *judges: AskedJudges) -> str:
    """How one expectation was judged otherwise."""
    known = (judges[0], judges[1]) if judges else ({}, {})
    return change(trial(outcome("q", one)), trial(outcome("q", two)), "q", known)


def test_another_model_is_another_judge():
    """So is another version of its prompt, and other settings."""
    gpt = asked("gpt-5", "openai:gpt-5", "a", "b")
    assert of_judges(by("gpt-5"), by("gpt-4o")) == "judged by gpt-4o instead of gpt-5"
    assert "with the prompt passes/2 instead of passes/1" in of_judges(
        by("gpt-5"), by("gpt-5", "passes/2")
    )
    assert "with the prompt passes/1 instead of an unknown one" in of_judges(
        {"judge": "gpt-5"}, by("gpt-5")
    )
    other = asked("gpt-5", "openai:gpt-5", "c")
    assert of_judges(by("gpt-5"), by("gpt-5"), gpt, other) == "judged by gpt-5 with other settings"
    some = asked("gpt-5", "openai:gpt-5", "b", "c")
    assert of_judges(by("gpt-5"), by("gpt-5"), gpt, some) == ""


def test_a_snapshot_that_the_vendor_changed_behind_its_name_is_the_same_judge():
    """The same id was asked; where that isn't known, the name but for its date."""
    may, june = "gpt-5-2026-05-01", "gpt-5-2026-06-01"
    known = asked(may, "openai:gpt-5", "a"), asked(june, "openai:gpt-5", "a")
    assert of_judges(by(may), by(june), *known) == ""
    assert of_judges(by(may), by(june)) == ""
    assert of_judges(by(may), by("gpt-5")) == ""
    chosen = asked(may, f"openai:{may}", "a"), asked(june, f"openai:{june}", "b")
    assert of_judges(by(may), by(june), *chosen) == f"judged by {june} instead of {may}"
    # A vendor whose address names the model sends the same settings to both.
    address = asked("small", "google:small", "a"), asked("large", "google:large", "a")
    assert of_judges(by("small"), by("large"), *address) == "judged by large instead of small"


def test_a_jury_with_another_member_is_another_jury():
    """A member that gave an error may have been any of them."""
    assert of_judges(jury("a", "b", "c"), jury("c", "a", "b")) == ""
    assert of_judges(jury("a", "b", "c"), jury("a", "", "b")) == ""
    replaced = of_judges(jury("a", "b", "c"), jury("a", "b", "d"))
    assert replaced == "judged by a+b+d instead of a+b+c"
    assert of_judges(jury("a", "b", "c"), jury("a", "b"))
    assert of_judges(jury("a", "a", "b"), jury("a", "b", "b"))
    assert of_judges(jury("a", "b", "c"), jury("", "", "d"))


def test_a_cascade_with_another_second_judge_is_another_judge():
    """Also if the second was never asked in one of the runs."""
    known = (
        {**asked("a", "x:a", "1"), **asked("b", "x:b", "2")},
        asked("a", "x:a", "1"),
    )
    assert of_judges(by("a > b"), by("a > b"), *known) == ""
    assert of_judges(by("a > b"), by("a > c"), *known) == "judged by a+c instead of a+b"


def test_a_verdict_hangs_on_each_judged_expectation_that_counts():
    """One judge in common isn't enough, and what weighs nothing decides nothing."""
    before = trial(outcome("tone", by("a")), outcome("facts", by("b")), outcome("length", {}))
    now = trial(outcome("tone", by("c")), outcome("facts", by("b")), outcome("length", {}))
    other = "judged by c instead of a"
    for metric, words in {
        "passed": other,
        "score": other,
        "tone": other,
        "facts": "",
        "length": "",
        "latency": "",
        "cost": "",
        "of all together": other,
    }.items():
        assert change(before, now, metric) == words, metric
    one, two = (trial(outcome("tone", by(name), weight=0.0)) for name in ("a", "c"))
    assert change(one, two, "passed") == ""
    assert change(one, two, "tone") == other


def test_further_numbers_belong_to_the_expectation_that_gave_them():
    """Judged or not."""
    before, now = (
        trial(
            outcome("facts", by(judge), named={"claims": 3.0}),
            outcome("length", {}, named={"words": 9.0}),
        )
        for judge in ("a", "b")
    )
    assert change(before, now, "claims")
    assert change(before, now, "words") == ""


def test_repeats_that_a_fallback_judged_make_another_case():
    """As some of its verdicts are another judge's."""
    first = [trial(outcome("q", by("a")), repeat=i) for i in range(3)]
    second = [*first[:2], trial(outcome("q", by("b")), repeat=2)]
    assert change(first, first) == ""
    assert change(first, second)


@pytest.mark.parametrize("alike", [0, 1])
def test_a_verdict_that_is_missing_would_have_been_that_of_the_same_judges(alike: int):
    """If all others were judged by another judge, a case with an error is no case in common."""
    error = Outcome("q", "error", None, metric="q", error="judge")
    sides = CaseJudges(), CaseJudges()
    for place in range(3):
        sides[0].add(place, trial(outcome("q", by("a"))))
        sides[1].add(place, trial(outcome("q", by("a" if place < alike else "b"))))
    sides[0].add(3, trial(outcome("q", by("a"))))
    sides[1].add(3, trial(error))
    changes = JudgeChanges(*sides, [(i, i) for i in range(4)])
    texts = [bool(changes.of_case("q", i, i)) for i in range(4)]
    assert texts == [not alike, True, True, not alike]


def test_what_nobody_judged_is_compared():
    """There is no judge, as what asked says; that it is another one now, the tests' changes say."""
    plain = trial(outcome("length", {}))
    assert change(plain, plain) == ""
    computed = replace(trial(outcome("q", {})), definitions=(Definition("Equals"),))
    assert change(trial(outcome("q", by("a"))), computed) == ""


def test_what_nobody_says_who_scored_it_is_not_a_judges():
    """An imported number may be another judge's, or code's. Of two such nothing is known to differ."""
    imported = trial(outcome("q", {}))
    number = trial(Outcome("q", "not_applicable", None, named={"q": 0.5}))
    assert change(imported, imported) == change(imported, number) == ""
    for one in (imported, number):
        for metric in ("q", "passed"):
            words = change(one, trial(outcome("q", by("a"))), metric)
            assert words == "judged by a instead of an unknown judge or scorer"
    failed = trial(Outcome("q", "error", None, metric="q", error="judge"))
    assert change(failed, trial(outcome("q", by("a")))) == ""


def test_all_of_a_jury_judged():
    """Each is named, but for those that gave no answer; a cascade is one judge."""
    assert [*judges_of(outcome("q", jury("a", "", "b")))] == ["a (passes/1)", "b (passes/1)"]
    assert [*judges_of(outcome("q", by(f"a{JOINS}b")))] == [f"a{JOINS}b (passes/1)"]
    assert [*judges_of(outcome("q", {}))] == []


@pytest.mark.parametrize(
    ("temperatures", "settings"),
    [
        ([0, 0, 0, 0], 1),
        # Two settings for two cases each are settings of the judge.
        ([0, 0, 1, 1], 2),
        # An application's requests may hold what is judged among their settings.
        ([0, 1, 2, 2], 0),
        # Of one request nobody can tell.
        ([0], 1),
    ],
)
def test_settings_that_most_requests_have_of_their_own_are_none_of_the_judges(
    temperatures: list[int], settings: int
):
    """They hold what is judged, and differ with it."""

    class Asks:
        class meta:  # noqa: N801
            code: ClassVar[dict[str, str]] = {}

        def judge_requests(self, most: int) -> Iterator[tuple[str, str, bytes]]:
            del most
            for one in temperatures:
                yield "openai:j", "j", encode({"body": {"temperature": one}})

    (judge,) = judges_asked(cast("RunFile", Asks())).values()
    assert len(judge.settings) == settings


@pytest.mark.parametrize(
    ("now", "word"),
    [
        (("a+1", "b+2"), ""),  # something is the same
        (("a+3", "b+4"), "code"),
        (("a+3", "b"), ""),  # of one setting the code isn't known
        (("c+1", "d+2"), "settings"),
        ((), ""),
    ],
)
def test_the_code_of_a_judge_is_another_one_where_it_is_for_all_its_settings(
    now: tuple[str, ...], word: str
):
    """What isn't known of one side is taken to be the same."""
    before = AskedJudge(frozenset({"exec:judge"}), frozenset({"a+1", "b+2"}))
    after = AskedJudge(frozenset({"exec:judge"}), frozenset(now))
    assert other_settings(before, after) == other_settings(after, before) == word


def test_a_jury_with_one_more_member_is_another_jury_whichever_run_it_is_in():
    """Also where the smaller one is a part of the larger."""
    two, three = jury("a", "b"), jury("a", "b", "c")
    assert of_judges(two, three) == "judged by a+b+c instead of a+b"
    assert of_judges(three, two) == "judged by a+b instead of a+b+c"


def test_a_judge_with_one_name_is_the_same_by_whichever_address_it_was_asked():
    """Through another vendor, with the same settings."""
    ours, theirs = asked("gpt-5", "openai:gpt-5", "a"), asked("gpt-5", "azure:gpt-5", "a")
    assert of_judges(by("gpt-5"), by("gpt-5"), ours, theirs) == ""
