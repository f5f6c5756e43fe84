"""Requirements, tags, labels and measures as the page is sent them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.runs import Make, result
from tests.unit.wings.viewer.conftest import Asking

from evenhand import EvalSet, at_least, run
from evenhand.analysis.filters.where import narrow
from evenhand.analysis.summaries.rates import mean_of
from evenhand.analysis.summaries.slices import slices_by_tag
from evenhand.core.variant import Variant
from evenhand.render.run import Run
from evenhand.scorers import Label
from evenhand.wings.viewer import head, history
from evenhand.wings.viewer.history import measures


def labelled(home: Path, labels: int = 2, **how: object) -> Run:
    """A run of cases with a label and a tag each, all answered right but the first."""
    data = [
        {"id": f"c{i}", "expected": f"l{i % labels}", "tags": [f"t{i % labels}"]}
        for i in range(3 * labels)
    ]
    evals = EvalSet("labels", data=data, **how)

    @evals.eval
    def says(case, expect) -> None:
        expect("l1" if case.id == "c0" else case.expected, Label(case.expected))

    return run(evals, home=home, progress=False)


async def test_a_run_is_sent_with_its_requirements_tags_and_labels(ask: Asking) -> None:
    """Of the whole run, under one address; a run that has none says what it passes at."""
    told = await ask.json("/summary")
    assert told == {
        "requirements": [], "failures_allowed": False, "pass_rate": 1.0,
        "tags": [], "more_tags": 0, "labels": [], "without": "",
    }  # fmt: skip


def test_a_requirement_has_numbers_and_the_words_of_the_command_line(tmp_path: Path) -> None:
    """Five of six: value, ends, bound and state; trials that fail are allowed where no pass rate is required."""
    with labelled(tmp_path, require={"label": at_least(0.5)}) as found:
        told = head.summary(found.file)
        (one,) = told.requirements
    assert (one.metric, one.column, one.state, one.shares) == ("label", "says", "kept", False)
    assert one.least == one.most == pytest.approx(5 / 6)
    assert (one.at_least, one.words.value, one.words.wanted) == (0.5, "0.8333", "at least 0.5")
    assert one.words.interval == f"{one.low:.3g}–{one.high:.3g}"
    assert (told.failures_allowed, told.pass_rate) == (True, None)


def test_of_many_tags_and_labels_the_first_are_sent_and_the_rest_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing vanishes without a word: answers with a label that is not listed are counted apart."""
    monkeypatch.setattr(head, "MOST_TAGS", 3)
    with labelled(tmp_path, labels=40) as found:
        told = head.summary(found.file)
        own = slices_by_tag(found.file)
    assert ([tag.tag for tag in told.tags], told.more_tags) == (["t0", "t1", "t10"], 37)
    for tag in told.tags:
        (one,), (sent,) = own[tag.tag], tag.columns
        assert one.pooled is not None
        assert sent.pooled is not None
        assert (sent.pooled.low, sent.pooled.high) == (one.pooled.low, one.pooled.high)
        assert sent.rate != sent.pooled
    (one,) = told.labels
    assert (len(one.labels), len(one.answers), one.more) == (30, 30, 10)
    assert all(sum(row.answered) + row.elsewhere == 3 for row in one.labels)


async def test_trials_that_were_chosen_by_what_came_of_them_meet_no_requirement(
    make_run: Make,
) -> None:
    """A report of the failures says why it has no rates."""
    found = narrow(await make_run([result(0), result(1, ok=False)]), "status:fail")
    told = head.summary(found)
    assert (told.requirements, told.tags, told.labels) == ([], [], [])
    assert "chosen by their outcomes" in told.without


async def test_a_metric_over_runs_has_the_interval_of_its_column(make_run: Make) -> None:
    """Cases count once; a trial in error may have come to anything on the metric's scale."""
    tones = [(0.2, 0.4), (0.6, 0.6), (1.0, None)]
    trials = [
        result(
            2 * i + repeat,
            ok=None if value is None else True,
            case=f"c{i}",
            repeat=repeat,
            named_scores={} if value is None else {"tone": value},
        )
        for i, pair in enumerate(tones)
        for repeat, value in enumerate(pair)
    ]
    (column,) = measures(await make_run(trials))
    tone = column.means["~tone"]
    wanted = mean_of([(0.6, 2, 0), (1.2, 2, 0), (1.0, 1, 1)], (0, 1))
    assert wanted is not None
    assert (tone.least, tone.most, tone.low, tone.high, tone.n) == pytest.approx(
        (*wanted.between, wanted.low, wanted.high, 3)
    )
    assert tone.least != tone.most  # the error may have had any value
    assert not column.partial


async def test_what_a_column_cost_is_had_over_time_also_for_each_pass(make_run: Make) -> None:
    """Where every price is known; the cost per pass not where nothing passed."""
    columns = [Variant(n, f"p{n}", "m") for n in range(3)]
    trials = [
        result(
            2 * variant + i, ok=variant == 0 and i == 0, variant=variant, case=f"c{i}", cost_usd=c
        )
        for variant, costs in enumerate([(0.25, 0.5), (0.5, 0.5), (0.5, None)])
        for i, c in enumerate(costs)
    ]
    found = [
        {name: mean.most for name, mean in column.means.items() if name.startswith("cost")}
        for column in measures(await make_run(trials, columns))
    ]
    assert found == [{"cost": 0.75, "cost per pass": 0.75}, {"cost": 1.0}, {}]


async def test_a_very_large_run_keeps_its_rates_scores_and_latencies_over_time(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its metrics are not read, and it says so: what stands in the small rows is there, with intervals."""
    monkeypatch.setattr(history, "MOST", 5)
    trials = [
        result(i, score=i % 2, latency_s=0.01 * i, named_scores={"tone": 0.5}) for i in range(6)
    ]
    (column,) = measures(await make_run(trials, (Variant(0, "p", "m"),)))
    assert column.partial
    assert set(column.means) == {"score", "latency"}
    assert column.means["score"].low is not None
    assert (column.means["latency"].low or 0) >= 0
    assert (column.least, column.most) == (1, 1)
