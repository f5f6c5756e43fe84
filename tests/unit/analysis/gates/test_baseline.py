"""Baselines: what they hold of a run, and which files are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs import Make, baseline_of, result

from evenhand.analysis.comparison.case_values import CaseIds, read, read_trials
from evenhand.analysis.gates.baseline_file import read_baseline, write_baseline
from evenhand.core.errors import UsageError
from evenhand.core.run import CallEnd, CallStart
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.store.runfile import RunFile

TWO = (Variant(0, "plain", "m"), Variant(1, "strict", "m"))
JUDGED = Outcome(
    "kind",
    "pass",
    0.8,
    "a reason that quotes the output",
    metric="kindness",
    weight=2.0,
    named={"warmth": 0.5},
    metadata={"judge": "j", "prompt": "p/1", "instrument": "i", "raw": "text"},
    at_least=0.5,
    scale=(0, 1),
)


async def a_run(make: Make, **meta: Any) -> RunFile:
    """Two variants, three cases, two repeats; an error, a judge, and calls."""
    trials = []
    for case in ("c", "a", "b"):
        for repeat in (0, 1):
            for variant in (0, 1):
                ok = None if (case, variant, repeat) == ("b", 1, 1) else bool(variant)
                one = result(len(trials), ok=ok, variant=variant, case=case, repeat=repeat)
                judged = () if ok is None else (*one.outcomes, JUDGED)
                numbers = {} if ok is None else {"kindness": 0.8, "warmth": 0.5}
                trials.append(
                    replace(
                        one, outcomes=judged, named_scores=numbers, cost_usd=0.01, index=len(trials)
                    )
                )
    calls = [
        (CallStart(0, "s1", 0, "subject", "m", b"{}", None), CallEnd(b"{}", "provider")),
        (CallStart(0, "j1", 0, "judge", "j", b"{}", None), CallEnd(b"{}", "cache")),
        (CallStart(1, "s2", 0, "subject", "m", b"{}", None), CallEnd(b"", "provider", error="x")),
        (CallStart(1, "s3", 0, "subject", "m", b"{}", None), None),
    ]
    return await make(trials, TWO, calls=calls, repeats=2, **meta)


def rows(data: bytes) -> list[dict[str, Any]]:
    """The lines of a baseline."""
    return [json.loads(line) for line in data.splitlines()]


async def test_its_trials_are_sorted_and_hold_no_texts(make_run: Make):
    """By case, variant and repeat; hashes of what was answered, and neither outputs nor reasons."""
    data = baseline_of(await a_run(make_run))
    head, *trials = rows(data)
    places = [(one["case"], one["variant"], one["repeat"]) for one in trials]
    assert places == sorted(places)
    assert (head["cases"], head["trials"]) == (3, 12)
    assert b"sea rises" not in data
    assert b"a reason" not in data
    assert b"text" not in data
    first = next(one for one in trials if (one["case"], one["variant"]) == ("c", "plain"))
    assert (first["subject"], first["judge"]) == (["s1"], ["j1"])
    assert trials[3]["expectations"][-1]["judge"] == {
        "judge": "j",
        "prompt": "p/1",
        "instrument": "i",
    }
    other = next(one for one in trials if (one["case"], one["variant"]) == ("c", "strict"))
    assert other["subject"] == ["s2"], (
        "it was sent and ended; of a call without an end nothing is known"
    )


async def test_the_same_run_is_the_same_file_and_outputs_are_there_on_request(make_run: Make):
    """Byte for byte; `outputs` adds them."""
    run = await a_run(make_run)
    assert baseline_of(run) == baseline_of(run)
    assert rows(baseline_of(run, outputs=True))[1]["output"].startswith("The sea")


async def test_a_comparison_sees_in_a_baseline_what_it_sees_in_its_run(
    make_run: Make, tmp_path: Path
):
    """Values, errors, bounds, judges and scales of every metric."""
    run = await a_run(make_run)
    path = tmp_path / "evals" / "b.evn"
    write_baseline(baseline_of(run), path)
    baseline = read_baseline(path)
    ids = CaseIds()
    theirs = read(run, {0, 1}, (), "", ids)
    ours = read_trials(baseline.results(), {0, 1}, ids=ids, scales=baseline.scales)
    for column in (0, 1):
        mine, other = ours[column], theirs[column]
        assert mine.metrics.keys() == other.metrics.keys()
        assert set(mine.cases) == set(other.cases)
        for metric in other.metrics:
            for case in other.cases:
                one, two = mine.value(metric, case), other.value(metric, case)
                assert sorted(one.values) == sorted(two.values)
                assert (one.errors, one.other) == (two.errors, two.other)
        assert (mine.bounded, mine.judges, dict(mine.scales)) == (
            other.bounded,
            other.judges,
            dict(other.scales),
        )


async def test_a_run_that_nothing_can_be_compared_with_makes_no_baseline(make_run: Make):
    """Unfinished, all errors, nothing that applied, nothing expected, no trial."""
    cases = {
        "did not finish: 1 of 9 trials": ([result(0)], {"planned": 9}),
        "has no verdict (all 2 trials ended in an error)": (
            [result(i, ok=None) for i in (0, 1)],
            {},
        ),
        "nothing applied to any trial": ([replace(result(0), outcome="not_applicable")], {}),
        "expects nothing of its outputs": ([replace(result(0), outcomes=())], {}),
        "it has no trial": ([], {}),
    }
    for words, (trials, meta) in cases.items():
        run = await make_run(trials, **meta)
        with pytest.raises(UsageError) as refused:
            baseline_of(run)
        assert words in str(refused.value)


async def test_two_trials_of_one_place_are_refused(make_run: Make):
    """They could not be told apart."""
    run = await make_run([result(0, case="x"), result(1, case="x")])
    with pytest.raises(UsageError, match="two trials of case 'x'"):
        baseline_of(run)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: b"", "is empty"),
        (lambda data: b"\n\n", "is empty"),
        (lambda data: b"hello\n", "b.evn:1: this is not a baseline"),
        (lambda data: b"[]\n", "the line is not a JSON object"),
        (lambda data: b"\xff\xfe\x00", "b.evn:1: this is not a baseline"),
        (lambda data: b'{"schema":"evenhand.run/1"}\n', "its schema is 'evenhand.run/1'"),
        (lambda data: b'{"schema":"evenhand.baseline/2"}\n', "this Evenhand reads"),
        (lambda data: b'{"schema":"evenhand.baseline/1"}\n', "`title` is missing"),
        (lambda data: data.replace(b'"score":1.0', b'"score":0.5', 1), "it was edited or merged"),
        (lambda data: data.replace(b'"outcome":"fail"', b'"outcome":"pass"'), "it was edited"),
        (
            lambda data: data.replace(b'"outcome":"fail"', b'"outcome":"maybe"'),
            "`outcome` is 'maybe'",
        ),
        (lambda data: data[: data.rindex(b'{"case"')], "has 11 trials, and its first line says 12"),
        (lambda data: data[:-20], "this is not a baseline"),
        (lambda data: data.splitlines()[0], "holds no trial"),
        (lambda data: data + b"<<<<<<< mine\n", "an open merge conflict"),
    ],
)
async def test_a_file_that_is_not_whole_is_refused(
    make_run: Make, tmp_path: Path, change: Any, words: str
):
    """Each with what is wrong and what to do."""
    path = tmp_path / "b.evn"
    path.write_bytes(change(baseline_of(await a_run(make_run))))
    with pytest.raises(UsageError) as refused:
        read_baseline(path)
    assert words in str(refused.value)
    assert refused.value.hint


async def test_line_ends_of_another_system_are_no_damage(make_run: Make, tmp_path: Path):
    """A checkout may have turned them."""
    path = tmp_path / "b.evn"
    path.write_bytes(baseline_of(await a_run(make_run)).replace(b"\n", b"\r\n"))
    assert len(read_baseline(path).trials) == 12


async def test_only_a_baseline_is_written_over(make_run: Make, tmp_path: Path):
    """An earlier or damaged one, or an empty file; nothing else, and no folder."""
    data = baseline_of(await a_run(make_run))
    path = tmp_path / "b.evn"
    for before in (b"", data, data[:300]):
        path.write_bytes(before)
        write_baseline(data, path)
        assert path.read_bytes() == data
    path.write_bytes(b"my notes")
    with pytest.raises(UsageError, match="is not a baseline"):
        write_baseline(data, path)
    assert path.read_bytes() == b"my notes"
    with pytest.raises(UsageError):
        write_baseline(data, tmp_path)
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".b")] == []


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path):
    """It says how to make one."""
    with pytest.raises(UsageError, match="there is no baseline") as refused:
        read_baseline(tmp_path / "none.evn")
    assert "evenhand baseline" in refused.value.hint
