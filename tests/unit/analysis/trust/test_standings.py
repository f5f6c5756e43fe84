"""Rankings of variants, from the answers that a run keeps."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import Any

import pytest
from tests.runs import Make, result

from evenhand.analysis.filters.where import narrow
from evenhand.analysis.summaries.grid import Grid
from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs
from evenhand.analysis.trust.ranking_calibration import judges_chances
from evenhand.analysis.trust.ranking_corrections import standings
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.render.document import document
from evenhand.render.findings import findings
from evenhand.render.markdown import write_markdown
from evenhand.stats.bradley_terry import Comparison
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.columns import parts
from evenhand.wings.viewer.head import notes

SEED = 20_260_802
NAME = 'ranking by "x"'
NAMES = ("plain", "warm", "terse", "stiff")
VARIANTS = tuple(Variant(i, name, "m") for i, name in enumerate(NAMES))


def order(first: int, said: str, **more: Any) -> dict[str, Any]:
    """One answer."""
    return {"first": first, "said": said, "judge": "judge-1", **more}


def broken(first: int) -> dict[str, Any]:
    """One that is missing."""
    return {"first": first, "error": "judge", "reason": "no idea"}


def trial(
    index: int, variant: int, case: str, pairs: dict[int, Sequence[Any]], **more: Any
) -> TrialResult:
    """A trial that keeps its pairs with these other variants."""
    metadata = {
        "ranked": [
            {"variant": other, "winner": None, "consistent": True, "orders": list(orders)}
            for other, orders in pairs.items()
        ]
    }
    outcome = Outcome(NAME, "pass", 0.5, metadata=metadata)
    return result(index, variant=variant, case=case, outcomes=(outcome,), **more)


def drawn(cases: int, strengths: Sequence[float], *, place: float = 0.0) -> list[TrialResult]:
    """A run in which every pair is shown in both orders, with ties."""
    random, trials = Random(SEED), []
    k = len(strengths)

    def answer(one: int, two: int) -> dict[str, Any]:
        half = (strengths[one] - strengths[two] + place) / 2
        odds = [math.exp(half), math.exp(-half), 0.4]
        return order(one, random.choices(("first", "second", "tie"), odds)[0])

    for case in range(cases):
        for i in range(k):
            pairs = {j: (answer(i, j), answer(j, i)) for j in range(i + 1, k)}
            trials.append(trial(len(trials), i, f"c{case}", pairs))
    return trials


def lines(run: RunFile) -> list[str]:
    """What is said of rankings below the table."""
    said = findings(run, Grid(run))
    return said[next((i for i, line in enumerate(said) if NAME in line), len(said)) :]


async def test_variants_are_ranked_by_the_chance_to_beat_the_average_with_the_place_told_apart(
    make_run: Make,
):
    """The same in words, in Markdown and for programs. The seed is 20260802."""
    run = await make_run(drawn(60, [0.2, 1.0, -1.2], place=0.6), VARIANTS[:3])
    (one,) = standings(run)
    assert [standing.variant for standing in one.ranked] == [1, 0, 2]
    assert (one.name, one.judges, one.cases, one.answers, one.errors) == (
        NAME, ("judge-1",), 60, 360, 0,
    )  # fmt: skip
    assert one.not_behind == ()
    assert one.first_wins is not None
    assert 0.5 < one.first_wins.low < 1 / (1 + math.exp(-0.6)) < one.first_wins.high
    for standing in one.ranked:
        assert standing.won + standing.lost + standing.tied == 240
        assert standing.chance.low < standing.chance.least == standing.chance.most
    text = lines(run)
    assert text[0] == f"{NAME}, the chance to beat the average variant, ties aside"
    assert text[1].startswith("  1  warm   ")
    assert text[4] == "  warm beats all others"
    assert text[5].startswith("  if both are equally good, the judge prefers the one shown first ")
    assert text[6].startswith("  360 answers of judge-1 about 60 cases, ")
    assert text[6].endswith(" ties; not checked against people")
    (row,) = document(run)["rankings"]
    assert [each["variant"]["prompt"] for each in row["ranked"]] == ["warm", "plain", "terse"]
    assert [each["behind_first"] for each in row["ranked"]] == [False, True, True]
    assert row["ranked"][0]["rate"] == one.ranked[0].chance.value
    assert row["first_wins"]["low"] == one.first_wins.low
    out = io.StringIO()
    write_markdown(run, out)
    assert text[1] in out.getvalue()


async def test_variants_that_are_alike_are_not_told_apart(make_run: Make):
    """A few cases do not decide which is best."""
    run = await make_run(drawn(8, [0.1, 0.0, 0.0]), VARIANTS[:3])
    (one,) = standings(run)
    assert set(one.not_behind) == {standing.variant for standing in one.ranked[1:]}
    assert lines(run)[4].startswith("  not decided: whether ")
    assert " or " in lines(run)[4]


async def test_answers_in_error_are_no_ties_and_may_have_been_either(make_run: Make):
    """The range of each chance holds both, and its interval what either would have given."""
    trials = drawn(20, [0.5, -0.5])
    (before,) = standings(await make_run(trials, VARIANTS[:2]))
    more = [
        trial(40 + 2 * i + v, v, f"e{i}", {1: (broken(0), broken(1))} if v == 0 else {}, ok=None)
        for i in range(3)
        for v in (0, 1)
    ]
    run = await make_run([*trials, *more], VARIANTS[:2])
    (after,) = standings(run)
    assert (after.answers, after.errors, after.ties) == (before.answers, 6, before.ties)
    for was, now in zip(before.ranked, after.ranked, strict=True):
        assert now.chance.least < was.chance.least == was.chance.most < now.chance.most
        assert now.chance.low < was.chance.low
        assert now.chance.high > was.chance.high
        assert (now.won, now.lost, now.tied) == (was.won, was.lost, was.tied)
    assert after.first_wins is not None
    assert after.first_wins.least < after.first_wins.most
    assert "6 more missing" in lines(run)[-1 - _compared(run)]


def _compared(run: RunFile) -> int:
    return sum(line.startswith("by pass rate: ") for line in findings(run, Grid(run)))


async def test_trials_in_error_leave_their_comparisons_open(make_run: Make):
    """A model that gave no output may have won or lost all of its pairs."""
    trials = drawn(20, [0.5, 0.0, -0.5])
    (before,) = standings(await make_run(trials, VARIANTS[:3]))
    lost = [
        trial(60, 0, "late", {1: (order(0, "first"), order(1, "second"))}),
        trial(61, 1, "late", {}),
        result(62, variant=2, case="late", ok=None),
    ]
    (after,) = standings(await make_run([*trials, *lost], VARIANTS[:3]))
    assert (after.answers, after.errors) == (before.answers + 2, 4)
    third = next(standing for standing in after.ranked if standing.variant == 2)
    assert third.chance.least < third.chance.most


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ({1: (order(0, "tie"), order(1, "tie"))}, "every comparison was a tie"),
        ({1: (order(0, "first"),)}, "each pair was shown in one order only"),
        ({1: (broken(0), broken(1))}, "no answer of a judge can be used"),
    ],
)
async def test_what_cannot_be_ranked_says_why(make_run: Make, pairs: Any, why: str):
    """No strength is shown."""
    run = await make_run([trial(0, 0, "a", pairs), trial(1, 1, "a", {})], VARIANTS[:2])
    (one,) = standings(run)
    assert one.ranked == ()
    assert why in one.why
    assert lines(run)[0].startswith(f"{NAME}: no ranking: {why}")
    assert document(run)["rankings"][0]["why"] == one.why


async def test_variants_that_were_never_compared_with_the_others_are_named(make_run: Make):
    """The larger group is ranked."""
    trials = drawn(10, [0.5, 0.0, -0.5])
    both = (order(3, "first"), order(4, "second"))
    trials += [trial(30, 3, "z", {4: both}), trial(31, 4, "z", {})]
    variants = (*VARIANTS, Variant(4, "loud", "m"))
    run = await make_run(trials, variants)
    (one,) = standings(run)
    assert {standing.variant for standing in one.ranked} == {0, 1, 2}
    assert one.apart == (3, 4)
    assert "  never compared with these: stiff and loud" in lines(run)
    assert [each["prompt"] for each in document(run)["rankings"][0]["apart"]] == ["stiff", "loud"]


@pytest.mark.parametrize("has_output", [True, False])
async def test_a_variant_without_any_answer_is_named_and_its_answers_are_missing(
    make_run: Make, has_output: bool
):
    """Whether its judge never answered or it never had an output: a ranking doesn't drop it without a word."""
    trials: list[TrialResult] = []
    for case in range(4):
        rows = {1: [order(0, "first")]} | ({2: [broken(0)]} if has_output else {})
        trials.append(trial(len(trials), 0, f"c{case}", rows))
        rows = {2: [broken(1)]} if has_output else {}
        trials.append(trial(len(trials), 1, f"c{case}", rows))
        trials.append(result(len(trials), variant=2, case=f"c{case}", ok=None))
    run = await make_run(trials, variants=VARIANTS[:3])
    (one,) = standings(run)
    assert (one.answers, one.errors, one.apart) == (4, 8, (2,))
    assert "never compared with these: terse" in "\n".join(lines(run))


@pytest.mark.parametrize(
    ("cases", "upset", "circle"), [(12, 0, True), (12, 6, False), (4, 0, False)]
)
async def test_preferences_in_a_circle_are_no_order(
    make_run: Make, cases: int, upset: int, circle: bool
):
    """Each is as strong as the others, and yet beats the next: not by chance, unless cases are few or waver."""
    trials: list[TrialResult] = []
    for case in range(cases):
        last = "first" if case < upset else "second"
        trials.append(
            trial(len(trials), 0, f"c{case}", {1: [order(0, "first")], 2: [order(0, last)]})
        )
        trials.append(trial(len(trials), 1, f"c{case}", {2: [order(2, "second")]}))
        trials.append(trial(len(trials), 2, f"c{case}", {}))
    run = await make_run(trials, variants=VARIANTS[:3])
    (one,) = standings(run)
    assert one.circle == ((0, 1, 2) if circle else ())
    said = "no order fits: the judge prefers plain to warm, warm to terse and terse to plain"
    assert (said in "\n".join(lines(run))) is circle


async def test_a_variant_that_always_wins_has_no_infinite_number(make_run: Make):
    """In three cases, which say little."""
    trials: list[TrialResult] = []
    for case in range(3):
        both = (order(0, "first"), order(1, "second"))
        trials += [
            trial(2 * case, 0, f"c{case}", {1: both}),
            trial(2 * case + 1, 1, f"c{case}", {}),
        ]
    (one,) = standings(await make_run(trials, VARIANTS[:2]))
    best, worst = one.ranked
    assert 0.5 < best.chance.least < 1
    assert best.chance.low < 0.5
    assert worst.chance.least == pytest.approx(1 - best.chance.least)
    assert one.not_behind == (1,)


async def test_a_run_without_comparisons_has_no_ranking(make_run: Make):
    """Nor one with a single variant, nor one whose metadata only looks like comparisons."""
    assert standings(await make_run([result(0)])) == []
    assert document(await make_run([result(0)]))["rankings"] == []
    odd: list[Any] = [3, {"variant": "1", "orders": []}, {"variant": 9, "orders": [{}]}]
    odd += [{"variant": 1, "orders": [{"first": 7, "said": "first"}, "consistent", {"first": 0}]}]
    fake = Outcome("own", "pass", 1.0, metadata={"consistent": True, "ranked": odd})
    own = [result(0, outcomes=(fake,), case="a"), result(1, variant=1, case="a")]
    assert standings(await make_run(own, VARIANTS[:2])) == []


async def test_a_view_ranks_the_variants_that_it_has_and_none_that_were_chosen_by_result(
    make_run: Make,
):
    """A filter by variant leaves the pairs of two that are left; one by outcome would decide the ranking."""
    run = await make_run(drawn(10, [0.5, 0.0, -0.5]), VARIANTS[:3])
    (two,) = standings(narrow(run, "-variant:warm"))
    assert {standing.variant for standing in two.ranked} == {0, 2}
    assert two.answers == 20
    (some,) = standings(narrow(run, "case:c1"))
    assert (some.cases, some.answers) == (1, 6)
    assert standings(narrow(run, "variant:warm")) == []
    assert standings(narrow(run, "status:pass")) == []


async def test_the_viewer_finds_the_same_among_the_trials_that_it_marks(make_run: Make):
    """It reads all trials anyway, and hands over the places of those with preferences."""
    run = await make_run(drawn(10, [0.5, 0.0, -0.5]), VARIANTS[:3])
    judged = [place for part in parts(run) for place in part.judged]
    assert 0 < len(judged) < 30
    assert standings(run, judged) == standings(run)
    (line,) = [line for line in notes(run).findings if NAME in line]
    assert line.startswith(f"{NAME}, the chance to beat the average variant, ties aside: 1. ")
    assert line.endswith("; not checked against people")


async def test_names_and_judges_steer_no_terminal(make_run: Make):
    """What somebody else wrote is shown, not obeyed."""
    nasty = Outcome(
        "ranking by \x1b[31mred",
        "pass",
        1.0,
        metadata={"ranked": [{"variant": 1, "consistent": True, "orders": [
            order(0, "first", judge="\x1b[2Jj"), order(1, "first", judge="\x1b[2Jj")]}]},
    )  # fmt: skip
    run = await make_run(
        [result(0, outcomes=(nasty,), case="a"), result(1, variant=1, case="a")], VARIANTS[:2]
    )
    said = "\n".join(findings(run, Grid(run)))
    assert "\\x1b[31m" in said
    assert "\x1b" not in said


@pytest.mark.thorough
def test_of_variants_that_are_alike_none_is_said_to_beat_another_for_being_picked_as_the_best():
    """Eight of them in 100 runs. Intervals that hold for seven comparisons at once say so in 11 of these runs."""
    random = Random(SEED)
    names = range(8)
    orders = [order for pair in combinations(names, 2) for order in (pair, pair[::-1])]
    wrong = 0
    for _ in range(100):
        answers = [
            Comparison(str(case), *order, random.choice(("first", "second")))
            for case in range(40)
            for order in orders
        ]
        pairs = ComparedPairs(name=NAME, answers=answers)
        wrong += len(judges_chances(pairs, names).not_behind) < 7
    assert wrong <= 5
