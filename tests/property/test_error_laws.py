"""Random runs with repeats, clusters, weights, errors and what does not apply: what is printed agrees with arithmetic.

The arithmetic here is a few lines of its own, which read the trials of `evenhand.run/1` and nothing else: an error may
have come to either end, each case counts once, and so does each cluster.
"""

from __future__ import annotations

import csv
import io
import json
import random
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand import EvalSet, Run, Score, at_least, compare, run
from evenhand.render.document import document
from evenhand.render.export import export

SCALE = (1.0, 5.0)
BOUND = 3
RATE = 0.6
Ends = tuple[float, float]
World = Mapping[tuple[str, str, int], Sequence[float | str | None]]
"""For each case, variant and repeat what two scorers of the metric come to: a number, `error`, or None."""


class Looked:
    """Comes to what the world says."""

    def score(self, output: str, trial: Any) -> Score:
        value = json.loads(output)
        if value == "error":
            msg = "scripted"
            raise RuntimeError(msg)
        return Score(value, scale=SCALE)


def world_of(seed: int, cases: int, variants: Sequence[str], repeats: int) -> World:
    """Half of the worlds have errors in one variant, and a few have nothing else there."""
    chance = random.Random(seed)
    broken = {variant: chance.choice([0, 0.1, 0.4, 1]) for variant in variants}
    apart = chance.choice([0, 0, 0.2])

    def value(variant: str) -> float | str | None:
        if chance.random() < broken[variant]:
            return "error"
        return None if chance.random() < apart else float(chance.randint(1, 5))

    return {
        (f"c{case}", variant, repeat): (value(variant), value(variant))
        for case in range(cases)
        for variant in variants
        for repeat in range(repeats)
    }


def run_of(world: World, folder: Path, *, documents: int = 0, weight: float = 1) -> Run:
    """A run in which each trial comes to what its world says; cases go together by document, if there are any."""
    ids = list(dict.fromkeys(case for case, *_ in world))
    evals = EvalSet(
        "world",
        data=[
            {"id": one, "input": one, "metadata": {"doc": place % documents if documents else one}}
            for place, one in enumerate(ids)
        ],
        over={"prompt": list(dict.fromkeys(variant for _, variant, _ in world))},
        repeats=1 + max(repeat for *_, repeat in world),
        cluster="doc" if documents else "",
        pass_rate=RATE,
        require={"q": at_least(BOUND)},
    )

    @evals.eval
    def answers(case, prompt, repeat, expect) -> str:
        first, second = world[case.id, prompt, repeat]
        expect(json.dumps(first), Looked(), at_least=BOUND, metric="q", label="one", weight=weight)
        expect(json.dumps(second), Looked(), at_least=BOUND, metric="q", label="two")
        return "an answer"

    return run(evals, home=folder, progress=False)


def in_ends(
    trials: Iterable[Mapping[str, Any]],
    value: Callable[[Mapping[str, Any]], Ends | None],
    documents: int,
) -> Ends | None:
    """The mean over clusters of the means over cases of the means over trials, at both ends."""
    cases: dict[str, list[Ends]] = {}
    for trial in trials:
        ends = value(trial)
        if ends is not None:
            cases.setdefault(trial["case"], []).append(ends)
    clusters: dict[object, list[Ends]] = {}
    for case, of_case in cases.items():
        cluster = int(case[1:]) % documents if documents else case
        clusters.setdefault(cluster, []).append(_mean(of_case))
    return _mean([_mean(each) for each in clusters.values()]) if clusters else None


def _mean(ends: Sequence[Ends]) -> Ends:
    least, most = zip(*ends, strict=True)
    return sum(least) / len(ends), sum(most) / len(ends)


def passed(trial: Mapping[str, Any]) -> Ends | None:
    """Whether a trial passed, at both ends."""
    return {"pass": (1.0, 1.0), "fail": (0.0, 0.0), "error": (0.0, 1.0)}.get(trial["outcome"])


def measured(trial: Mapping[str, Any]) -> Ends | None:
    """What the metric of a trial is, by weight; anything on the scale where a part of it is in error."""
    outcomes = trial["outcomes"]
    if any(one["outcome"] == "error" for one in outcomes):
        return SCALE
    pairs = [(one["score"], one["weight"]) for one in outcomes if one["score"] is not None]
    if not pairs:
        return None
    mean = sum(score * weight for score, weight in pairs) / sum(weight for _, weight in pairs)
    return mean, mean


def scored(trial: Mapping[str, Any]) -> Ends | None:
    """The score of a trial: the share of its expectations that passed, by weight; open where one is in error."""
    outcomes = [one for one in trial["outcomes"] if one["outcome"] != "not_applicable"]
    if not outcomes:
        return None
    if any(one["outcome"] == "error" for one in outcomes):
        return 0.0, 1.0
    total = sum(one["weight"] for one in outcomes)
    share = sum(one["weight"] for one in outcomes if one["outcome"] == "pass") / total
    return share, share


def _state(ends: Ends, bound: float) -> str:
    kept = {end >= bound - 1e-9 for end in ends}
    return "open" if len(kept) > 1 else "kept" if True in kept else "missed"


SHAPES = [
    (seed, cases, repeats, documents, weight)
    for seed, (cases, repeats, documents, weight) in enumerate(
        [(1, 1, 0, 1), (6, 1, 0, 3), (8, 3, 0, 1), (12, 1, 4, 2), (9, 2, 3, 1), (25, 1, 0, 1)] * 2
    )
]


@pytest.mark.parametrize(("seed", "cases", "repeats", "documents", "weight"), SHAPES)
def test_a_run_says_what_its_trials_come_to(
    tmp_path: Path, seed: int, cases: int, repeats: int, documents: int, weight: float
) -> None:
    """Counts, rates, scores, requirements and the verdict, in the document and the files that are exported."""
    world = world_of(seed, cases, ["a", "b"], repeats)
    with run_of(world, tmp_path, documents=documents, weight=weight) as made:
        whole = document(made.file)
        trials = whole["trials"]
        counts = Counter(one["outcome"] for one in trials)
        assert len(trials) == cases * repeats * 2
        assert (whole["totals"]["passed"], whole["totals"]["failed"]) == (
            counts["pass"],
            counts["fail"],
        )
        assert whole["totals"]["errors"] == counts["error"]
        for one in whole["rates"]:
            own = [trial for trial in trials if trial["variant"] == one["variant"]]
            ends = in_ends(own, passed, documents)
            _agree((one["rate_least"], one["rate_most"]), ends, (one["low"], one["high"]))
            score = in_ends(own, scored, documents)
            if one["score"] and score:
                mean = one["score"]
                assert (mean["least"], mean["most"]) == pytest.approx(score)
                assert mean["mean"] == (mean["least"] if mean["least"] == mean["most"] else None)
            if one["score"] and score and one["score"]["low"] is not None:
                assert 0 <= one["score"]["low"] <= score[0] + 1e-9
                assert score[1] - 1e-9 <= one["score"]["high"] <= 1
        states = [_required(one, trials, documents) for one in whole["requirements"]]
        word = (
            "failed" if "missed" in states else "passed" if {*states} == {"kept"} else "undecided"
        )
        assert (whole["verdict"], made.verdict) == (word, word)
        for trial, row in zip(trials, made.rows(), strict=True):
            ends = measured(trial)
            known = ends is not None and ends[0] == ends[1]
            assert row.get("score:q") == (pytest.approx(ends[0]) if known and ends else None)
            assert trial["named_scores"].get("q") == row.get("score:q")
            share = scored(trial)
            assert trial["score"] == (
                pytest.approx(share[0]) if share and share[0] == share[1] else None
            )
        _exported(made, tmp_path, trials, counts)


def _agree(values: tuple[Any, Any], ends: Ends | None, interval: tuple[Any, Any]) -> None:
    if ends is None:
        assert values == (None, None)
        return
    assert values == (pytest.approx(ends[0]), pytest.approx(ends[1]))
    assert interval[0] <= ends[0] + 1e-9
    assert interval[1] >= ends[1] - 1e-9


def _required(one: Mapping[str, Any], trials: Sequence[Any], documents: int) -> str:
    """The state that a requirement has to have; it is compared with what is said of it."""
    own = [trial for trial in trials if trial["variant"] == one["variant"]]
    ends = in_ends(own, passed if one["metric"] == "passed" else measured, documents)
    if one["variant"] is None or ends is None:
        assert one["state"] == "open"
        return "open"
    _agree((one["least"], one["most"]), ends, (ends[0], ends[1]))
    assert one["state"] == _state(ends, RATE if one["metric"] == "passed" else BOUND)
    return one["state"]


def _exported(made: Run, folder: Path, trials: Sequence[Any], counts: Counter[str]) -> None:
    export(made.file, folder / "o.csv")
    rows = list(csv.DictReader(io.StringIO((folder / "o.csv").read_text())))
    assert Counter(row["outcome"] for row in rows) == counts
    for row, trial in zip(rows, trials, strict=True):
        q = trial["named_scores"].get("q")
        assert row.get("score:q", "") == ("" if q is None else str(q))
    export(made.file, folder / "o.junit.xml")
    cases = ET.parse(folder / "o.junit.xml").getroot().findall(".//testcase")
    kinds = Counter(child.tag for case in cases for child in case)
    assert (kinds["failure"], kinds["error"], kinds["skipped"]) == (
        counts["fail"],
        counts["error"],
        counts["not_applicable"],
    )


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize(("seed", "cases", "repeats", "documents", "weight"), SHAPES)
def test_a_comparison_holds_whatever_the_errors_came_to(
    tmp_path: Path, seed: int, cases: int, repeats: int, documents: int, weight: float
) -> None:
    """Of two runs of one test no case is left out because a trial of it is in error, on one side or on both."""
    worlds = [world_of(seed * 2 + side, cases, ["a"], repeats) for side in (0, 1)]
    with (
        run_of(worlds[0], tmp_path / "1", documents=documents, weight=weight) as one,
        run_of(worlds[1], tmp_path / "2", documents=documents, weight=weight) as two,
    ):
        sides = [document(each.file)["trials"] for each in (one, two)]
        whole = compare(one, two, metric=["passed", "q"]).document()
        for result in json.loads(json.dumps(whole, default=list))["results"]:
            value = passed if result["metric"] == "passed" else measured
            own = [{t["case"] for t in side if value(t) is not None} for side in sides]
            common = own[0] & own[1]
            ends = [
                in_ends([t for t in side if t["case"] in common], value, documents)
                for side in sides
            ]
            assert not result["left_out"]["unlike"]
            assert not result["left_out"]["errors"]
            assert result["n"] == len(common)
            first, second = ends
            if first is None or second is None:
                continue
            _agree((result["first_least"], result["first_most"]), first, first)
            _agree((result["second_least"], result["second_most"]), second, second)
            difference = second[0] - first[1], second[1] - first[0]
            _agree(
                (result["difference_least"], result["difference_most"]),
                difference,
                (-9 if result["low"] is None else result["low"], result["high"] or 9),
            )
            if result["verdict"] == "better":
                assert difference[0] > 0
            if result["verdict"] == "worse":
                assert difference[1] < 0
