"""Gates that run a part of their cases, and baselines of several runs."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.e2e import test_gate as whole
from tests.e2e.test_gate import RULES, Folder

from evenhand.analysis.gates.baseline_file import read_baseline, written
from evenhand.analysis.summaries.rates import rates
from evenhand.core.encoding import encode
from evenhand.core.run import TrialResult
from evenhand.stats.tallies import Tally, rate_of
from evenhand.store.run_lookup import find
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script

HALF = "Answer half. {{q}}"


@pytest.fixture(name="folder")
def in_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    """An empty one; see `tests.e2e.test_gate`."""
    return whole.in_folder(tmp_path, monkeypatch, capsys)


def latest(folder: Folder) -> list[TrialResult]:
    """The trials of the newest run."""
    with RunFile.open(find(folder.path, None)) as run:
        return list(run.trials())


def test_a_gate_of_a_sample_speaks_of_all_cases(folder: Folder):
    """80 of 200 cases are run, and the verdict says what was run and what is predicted."""
    folder.write([HALF], cases=200)
    folder.baseline()
    ended = folder.gate("--all", "--sample", "80", "--margin", "0.1")
    assert ended.code == 0
    assert "over 200 cases, 80 run and 120 predicted" in ended.out
    assert "stopped after 80 of 200 cases, drawn at random (seed 0)" in ended.out
    assert "80 of 200 trials run" in ended.out
    assert "only in the baseline" not in ended.out
    document = folder.gate("--all", "--sample", "80", "--margin", "0.1", "--json").document
    (row,) = [one for one in document["results"] if one["metric"] == "passed"]
    assert (row["cases"], row["predicted"]) == (80, 120)
    assert 0 <= row["explained"] <= 1
    assert document["stopping"]["sampled"]
    assert (document["stopping"]["cases"], document["stopping"]["of"]) == (80, 200)


def test_what_a_sample_predicts_is_as_large_as_what_all_cases_show(folder: Folder):
    """Half of the cases fail now: the difference of a sample is near −50 points, and the gate blocks."""
    folder.write(cases=200)
    folder.baseline()
    folder.write([HALF], cases=200)
    ended = folder.gate("--sample", "60", "--margin", "0.05", "--json")
    assert ended.code == 1
    (row,) = [one for one in ended.document["results"] if one["metric"] == "passed"]
    assert row["difference"]["value"] == pytest.approx(-0.5, abs=0.15)
    assert row["difference"]["low"] < -0.5 < row["difference"]["high"]


def test_a_sample_is_drawn_in_proportion_to_what_passed(folder: Folder):
    """Of 100 cases that passed and 100 that failed, 20 and 20."""
    folder.write([HALF], cases=200)
    folder.baseline()
    folder.gate("--all", "--sample", "40", "--margin", "0.1")
    outcomes = Counter(trial.outcome for trial in latest(folder))
    assert outcomes == {"pass": 20, "fail": 20}


@pytest.mark.thorough
def test_the_same_seed_runs_the_same_cases_and_another_one_others(folder: Folder):
    """A second gate pays for nothing that the first has in the cache."""
    folder.write(cases=100)
    folder.baseline()
    ids: list[set[str]] = []
    for seed in ("1", "1", "2"):
        folder.gate("--all", "--sample", "30", "--seed", seed)
        ids.append({trial.case for trial in latest(folder)})
        assert len(ids[-1]) == 30
    assert ids[0] == ids[1] != ids[2]


def test_a_sample_of_more_than_there_is_runs_all(folder: Folder):
    """And says so."""
    folder.write()
    folder.baseline()
    ended = folder.gate("--all", "--sample", "900")
    assert ended.code == 0
    assert "a sample of 900: there are 60 cases in all, and all are run" in ended.err
    assert "60 of 60 trials run" in ended.out
    assert "predicted" not in ended.out


def test_a_gate_of_a_sample_goes_on_after_it_was_killed_with_the_same_cases(folder: Folder):
    """What `resume` says is what the gate would have said."""
    folder.write([HALF], cases=200)
    folder.baseline()
    words = ("--all", "--sample", "80", "--margin", "0.1", "-j", "1", "--to", "gate.json", "--json")
    ended = folder.gate(*words)
    (folder.path / "gate.json").unlink()
    again = folder.run("resume", "--no-progress", "--json")
    assert (again.code, again.document) == (ended.code, ended.document)


def test_flips_are_drawn_more_often_and_the_chances_are_kept(folder: Folder):
    """The run's file has the chance of each case that was run."""
    folder.write([HALF], cases=100)
    folder.baseline()
    ended = folder.gate("--all", "--sample", "40", "--draw", "flips", "--margin", "0.15")
    shown = " ".join(folder.run("show").out.split())
    assert (
        "stopped after 40 of 100 cases, as many as were to be run. More of those that came out both ways before were"
        " drawn: its rates are not those of all cases"
    ) in shown
    assert ended.code in (0, 3)
    with RunFile.open(find(folder.path, None)) as run:
        chances = run.meta.decided["chances"]
        cases = {trial.case for trial in run.trials()}
        share = rates(run)[0].share
    assert set(chances) == cases
    # Outcomes of the baseline had a say in the draw: of as many cases that were planned, the interval is narrower.
    assert share is not None
    alike = rate_of(
        [Tally(1)] * round(share.least * 40) + [Tally(0, 1)] * round(40 - share.least * 40)
    )
    assert alike is not None
    assert share.low < alike.low < alike.high < share.high
    assert all(0.25 * 0.4 <= chance <= 1 for chance in chances.values())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--sample", "5", "--budget", "1"), "both say how many cases"),
        (("--draw", "flips"), "all cases are run"),
        (("--sample", "0"), "from 1"),
        (("--budget", "-1"), "from 0"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_run(
    folder: Folder, words: tuple[str, ...], message: str
):
    """Exit 2, one message, no run."""
    folder.write()
    folder.baseline()
    runs = len(list((folder.path / ".evenhand" / "runs").glob("*.db")))
    ended = folder.gate("--all", *words)
    assert ended.code == 2
    assert message in ended.err
    assert len(list((folder.path / ".evenhand" / "runs").glob("*.db"))) == runs


def with_costs(folder: Folder, cost: float | None) -> None:
    """Has the baseline's trials cost so much."""
    baseline = read_baseline(folder.path / "b.evn")
    trials = [replace(one, cost_usd=cost) for one in baseline.trials]
    (folder.path / "b.evn").write_bytes(written(baseline.header, trials))


def test_a_budget_runs_as_many_cases_as_it_pays_for(folder: Folder):
    """At 2 cents a case, 80 cents are 40 of 100 cases; what is not known, or pays for none, is said."""
    folder.write(cases=100)
    folder.baseline()
    with_costs(folder, 0.02)
    ended = folder.gate("--all", "--budget", "0.8")
    assert "over 100 cases, 40 run and 60 predicted" in ended.out
    ended = folder.gate("--all", "--budget", "0.01")
    assert ended.code == 2
    assert "pays for no case: by the baseline one costs $0.02" in ended.err
    with_costs(folder, None)
    ended = folder.gate("--all", "--budget", "0.8")
    assert ended.code == 2
    assert "doesn't say what its cases cost" in ended.err


def test_a_baseline_of_several_runs_has_their_trials_as_repeats(folder: Folder):
    """Three runs of 60 cases; the newest is what the header names."""
    folder.write()
    for _ in range(3):
        folder.run("run", "--offline", "--no-progress", "--no-cache")
    ended = folder.run("baseline", "--of", "3", "--to", "b.evn")
    assert ended.code == 0
    assert "60 cases, 180 trials, 3 runs of one system" in ended.err
    head, *rows = map(json.loads, (folder.path / "b.evn").read_text().splitlines())
    assert len(head["pooled"]) == 2
    assert {row["repeat"] for row in rows} == {0, 1, 2}
    assert all("subject" not in row for row in rows if row["repeat"])
    assert folder.gate("--all").code == 0


def test_runs_of_another_system_say_how_hard_cases_are_and_are_compared_with_nothing(
    folder: Folder,
):
    """An earlier prompt that failed everything: no drop is hidden by it, and no gain shown."""
    folder.write(["Answer no. {{q}}"])
    folder.run("run", "--offline", "--no-progress")
    folder.write()
    folder.run("run", "--offline", "--no-progress")
    ended = folder.run("baseline", "--of", "2", "--to", "b.evn")
    assert "60 cases, 60 trials, 1 earlier system" in ended.err
    rows = [json.loads(line) for line in (folder.path / "b.evn").read_text().splitlines()[1:]]
    assert all(row["earlier"]["passed"] == [0.0] for row in rows)
    gate = folder.gate("--all", "--json").document
    (row,) = [one for one in gate["results"] if one["metric"] == "passed"]
    assert row["difference"]["value"] == 0


def test_the_pool_ends_where_the_test_was_another_one(folder: Folder):
    """The run that was asked otherwise is left out, and so are those before it."""
    folder.write(asserts=[{"type": "contains", "value": "ye"}])
    folder.run("run", "--offline", "--no-progress")
    folder.write()
    for _ in range(2):
        folder.run("run", "--offline", "--no-progress")
    ended = folder.run("baseline", "--of", "3", "--to", "b.evn")
    assert ended.code == 0
    assert "2 runs of one system" in ended.err
    assert re.search(
        r"the pool ends at run \w+, as the test was another one then: 60 cases", ended.err
    )


def test_fewer_runs_than_were_asked_for_are_said(folder: Folder):
    """And a run that is named twice is refused: it is no second draw."""
    folder.write()
    folder.run("run", "--offline", "--no-progress")
    ended = folder.run("baseline", "--of", "5", "--to", "b.evn")
    assert ended.code == 0
    assert "there is only 1 run of this config or set" in ended.err
    ended = folder.run("baseline", "latest", "latest", "--to", "b.evn")
    assert ended.code == 2
    assert "named twice" in ended.err


def test_a_run_before_the_clock_was_set_back_is_an_earlier_one(folder: Folder):
    """It has the later time; its id says that it was made before."""
    folder.write()
    folder.run("run", "--offline", "--no-progress", "--no-cache")
    file = find(folder.path, None)
    with RunFile.open(file) as run:
        meta = run.meta
    with closing(sqlite3.connect(file)) as db, db:
        later = replace(meta, created_at=meta.created_at + 3600)
        db.execute("update run set meta = ?", (encode(later),))
    folder.run("run", "--offline", "--no-progress", "--no-cache")
    ended = folder.run("baseline", "--of", "2", "--to", "b.evn")
    assert "2 runs of one system" in ended.err


def test_shards_are_no_further_draws_of_the_run_that_they_were_merged_to(folder: Folder):
    """Nor is a copy of a run's file. Their trials would count twice, and make every gate surer than it may be."""
    folder.write()
    for shard in ("1/2", "2/2"):
        folder.run("run", "--offline", "--no-progress", "--shard", shard)
    runs = folder.path / ".evenhand" / "runs"
    shards = sorted(map(str, runs.glob("*.db")))
    ended = folder.run("baseline", shards[1], "--to", "b.evn")
    assert "it is shard 2/2 alone, of 60 cases: merge the shards" in ended.err
    whole = str(runs / "whole.db")
    folder.run("runs", "merge", *shards, "--to", whole)
    ended = folder.run("baseline", "--of", "5", "--to", "b.evn")
    assert "60 cases, 60 trials; commit it" in ended.err
    assert "there is only 1 run of this config or set" in ended.err
    ended = folder.run("baseline", whole, *shards, "--to", "b.evn")
    assert "60 cases, 60 trials; commit it" in ended.err
    assert ended.err.count("its trials, so they are no new draws") == 2
    copy = folder.path / "copy.db"
    copy.write_bytes(Path(whole).read_bytes())
    ended = folder.run("baseline", whole, str(copy), "--to", "b.evn")
    assert ended.code == 2
    assert "named twice" in ended.err


def test_a_run_that_lacks_a_case_of_two_variants_lacks_one_case(folder: Folder):
    """And not two."""
    folder.write(["Answer yes. {{q}}", "Answer no. {{q}}"], cases=30)
    folder.run("run", "--offline", "--no-progress", "--no-cache", "--first", "20")
    folder.run("run", "--offline", "--no-progress", "--no-cache")
    ended = folder.run("baseline", "--of", "2", "--to", "b.evn")
    assert "lacks 10 cases: these have fewer repeats" in ended.err


def test_a_baseline_of_one_run_has_no_key_that_earlier_versions_did_not_have(folder: Folder):
    """They read it."""
    folder.rules = RULES
    folder.write()
    folder.run("run", "--offline", "--no-progress")
    folder.run("baseline", "--to", "b.evn")
    head, *rows = map(json.loads, (folder.path / "b.evn").read_text().splitlines())
    assert not {"pooled", "systems"} & set(head)
    assert not any("earlier" in row for row in rows)


@pytest.mark.thorough
def test_the_run_of_a_gate_of_a_sample_is_compared_over_all_cases(folder: Folder):
    """A run of a sample that no gate made is compared over its own cases, and so are the first cases."""
    folder.write([HALF], cases=200)
    folder.run("run", "--offline", "--no-progress")
    first = newest(folder)
    folder.run("baseline", "--to", "b.evn")
    folder.gate("--all", "--sample", "80", "--margin", "0.1")
    document = json.loads(folder.run("compare", first, newest(folder), "--json").out)
    (row,) = [one for one in document["results"] if one["metric"] == "passed"]
    assert (row["n"], row["predicted"]) == (80, 120)
    assert row["difference"] == 0
    for part in (("--sample", "80"), ("--first", "80")):
        folder.run("run", "--offline", "--no-progress", *part)
        document = json.loads(folder.run("compare", first, newest(folder), "--json").out)
        (row,) = [one for one in document["results"] if one["metric"] == "passed"]
        assert (row["n"], row["predicted"], row["explained"]) == (80, 0, None)


def test_earlier_runs_are_repeats_of_the_first_and_none_is_named_twice(folder: Folder):
    """With one more run of the same system each case of the first has two trials; another system has none there."""
    folder.write(["Answer no. {{q}}"])
    folder.run("run", "--offline", "--no-progress")
    other = newest(folder)
    folder.write()
    names: list[str] = []
    for _ in range(3):
        folder.run("run", "--offline", "--no-progress")
        names.append(newest(folder))
    words = ("compare", names[1], names[2], "--json", "--earlier", names[0], "--earlier", other)
    document = json.loads(folder.run(*words).out)
    (row,) = [one for one in document["results"] if one["metric"] == "passed"]
    assert (row["first"], row["difference"]) == (1, 0)
    ended = folder.run("compare", names[1], names[2], "--earlier", names[2])
    assert ended.code == 2
    assert "named twice" in ended.err


def test_a_part_of_which_nothing_has_changed_says_nothing_of_the_rest(folder: Folder):
    """The prompt changes for one case in twenty, and a sample without any of these is taken from the baseline."""
    folder.write(["Answer {% if q == 'q7' %}yes{% else %}yes{% endif %}. {{q}}"], cases=300)
    folder.baseline()
    folder.write(["Answer {% if q == 'q7' %}no{% else %}yes{% endif %}. {{q}}"], cases=300)
    for seed in range(3):
        ended = folder.gate("--sample", "20", "--seed", str(seed), "--margin", "0.02", "--json")
        for row in ended.document["results"]:
            assert row["difference"]["low"] < 0 < row["difference"]["high"], seed


def test_what_is_taken_differs_by_nothing_whatever_earlier_runs_were_like(folder: Folder):
    """Pooled with a run that was better: the trials that are taken are the baseline's own, and no drop."""
    folder.write([HALF], cases=200)
    folder.rules = ({"reply": "yes"},)
    folder.write([HALF], cases=200)
    folder.run("run", "--offline", "--no-progress", "--no-cache")
    folder.rules = RULES
    folder.write([HALF], cases=200)
    folder.run("run", "--offline", "--no-progress", "--no-cache")
    folder.run("baseline", "--of", "2", "--to", "b.evn")
    tests = [
        {
            "description": f"case {i}",
            "vars": {"q": f"q{i}"},
            "assert": [{"type": "contains", "value": "yes"}],
        }
        for i in range(200)
    ]
    tests[0]["vars"]["q"] = "q0 0"
    folder.write([HALF], tests=tests)
    document = folder.gate("--json").document
    assert document["taken"] >= 190
    (row,) = [one for one in document["results"] if one["metric"] == "passed"]
    assert row["difference"]["value"] == 0


def test_runs_with_more_or_fewer_cases_are_of_the_same_system(folder: Folder):
    """A case that was added makes no other system of the runs before."""
    folder.write(cases=59)
    folder.run("run", "--offline", "--no-progress", "--no-cache")
    folder.write(cases=60)
    folder.run("run", "--offline", "--no-progress", "--no-cache")
    ended = folder.run("baseline", "--of", "2", "--to", "b.evn")
    assert "60 cases, 119 trials, 2 runs of one system" in ended.err
    assert "lacks 1 case: these have fewer repeats" in ended.err


def test_what_the_cache_answered_is_no_new_draw(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    """The same run again, all of it from the cache; then one that asks again."""
    folder.write()
    with FakeProvider(Script([Rule((), "yes")])) as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{fake.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        for _ in range(2):
            assert folder.run("run", "--no-progress").code == 0
        ended = folder.run("baseline", "--of", "2", "--to", "b.evn")
        assert "its answers went through the cache, and are not new draws" in ended.err
        assert "60 cases, 60 trials;" in ended.err
        folder.run("run", "--no-progress", "--no-cache")
        ended = folder.run("baseline", "--of", "3", "--to", "b.evn")
        assert "60 cases, 120 trials, 2 runs of one system" in ended.err


def test_runs_that_are_no_whole_runs_are_passed_over(folder: Folder):
    """Gates of samples between two runs: `--of 2` is of these two."""
    folder.write([HALF], cases=60)
    folder.run("run", "--offline", "--no-progress")
    folder.run("baseline", "--to", "b.evn")
    folder.run("run", "--offline", "--no-progress")
    for _ in range(2):
        folder.gate("--all", "--sample", "25", "--margin", "0.1")
    ended = folder.run("baseline", "--of", "2", "--to", "c.evn")
    assert ended.code == 0
    assert "60 cases, 120 trials, 2 runs of one system" in ended.err


def newest(folder: Folder) -> str:
    """The id of the newest run."""
    return find(folder.path, None).stem


SET = """
import random
from evenhand import EvalSet
from evenhand.scorers import Contains

rows = [{{"id": f"c{{i}}", "input": f"q{{i}}"}} for i in range(100)]
evals = EvalSet("set", data=rows, repeats={repeats}, over={{"v": {variants}}})


@evals.eval
def answers(case, expect, v):
    fails = random.Random(f"{seed} {{case.id}} {{random.random()}}").random() < {share}
    expect("no" if fails else "yes", Contains("yes"))
"""


def a_set(
    folder: Folder, share: float, repeats: int = 1, variants: tuple[str, ...] = ("x",)
) -> str:
    """Writes a set that fails so often, and returns its file: a module is imported once in a process."""
    text = SET.format(share=share, repeats=repeats, variants=list(variants), seed=share)
    file = folder.path / f"set{len(list(folder.path.glob('set*')))}_evals.py"
    file.write_text(text)
    return file.name


def of_set(folder: Folder, file: str, *words: str) -> str:
    """What a gate of it says."""
    ended = folder.run(
        "gate", file, "--baseline", "b.evn", "--no-progress", "--to", "g.json", *words
    )
    return " ".join(ended.out.split())


def test_advice_on_more_cases_than_were_left_out_says_that_these_are_among_them(folder: Folder):
    """Of 60 that were left out nobody can run 62 more; the comment has the sentence as it is."""
    file = a_set(folder, 0.0)
    folder.run("run", file, "--no-progress")
    folder.run("baseline", "--to", "b.evn")
    text = (folder.path / file).read_text()
    file = a_set(folder, 0.0)
    (folder.path / file).write_text(text.replace("fails = ", "fails = case.id == 'c1' or "))
    says = of_set(folder, file, "--sample", "40", "--margin", "0.05")
    assert (
        "more cases, including those that were left out, would decide it four times in five" in says
    )
    (row, *_) = json.loads((folder.path / "g.json").read_text())["results"]
    assert row["because"].endswith("would decide it four times in five")


def test_what_repeats_would_save_is_not_said_to_be_unknown_where_cases_were_repeated(
    folder: Folder,
):
    """Where the cases that were left out would decide it, nobody looked at repeats."""
    file = a_set(folder, 0.0, repeats=3)
    folder.run("run", file, "--no-progress")
    folder.run("baseline", "--to", "b.evn")
    says = of_set(folder, file, "--sample", "40", "--margin", "0.05")
    assert (
        "more of the cases that were left out would decide it if they come out like these" in says
    )
    assert "no case was repeated" not in says
