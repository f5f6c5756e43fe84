"""`evenhand run --at-least --sample` with a baseline: pass rate, interval and verdict are about all cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e import test_gate as whole
from tests.e2e.test_gate import Folder

HALF = "Answer half. {{q}}"
NO = "Answer no. {{q}}"


@pytest.fixture(name="folder")
def in_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    """With a baseline of 200 cases, of which half passed."""
    folder = whole.in_folder(tmp_path, monkeypatch, capsys)
    folder.write([HALF], cases=200)
    folder.baseline()
    return folder


def sampled(folder: Folder, bound: str, *words: str) -> whole.Ended:
    """A run of 60 of the 200 cases."""
    return folder.run(
        "run", "--offline", "--no-progress", "--at-least", bound, "--sample", "60",
        "--baseline", "b.evn", *words,
    )  # fmt: skip


def test_the_rate_of_a_sample_is_that_of_all_cases_and_so_is_its_verdict(folder: Folder):
    """What half of the cases came to is known before it is asked again: a bound near the rate is decided."""
    kept, missed = sampled(folder, "0.45"), sampled(folder, "0.55")
    assert (kept.code, missed.code) == (0, 1)
    assert "% [" in kept.out
    assert "over 200 cases, 60 run and 140 predicted, wanted at least 45 %" in " ".join(
        kept.out.split()
    )
    assert "60 of 200 cases run, drawn at random (seed 0)" in kept.out
    document = json.loads(sampled(folder, "0.5", "--json").out)
    (row,) = document["requirements"]
    assert (row["cases"], row["left_out"], row["state"]) == (60, 140, "open")
    assert row["low"] < 0.5 < row["high"]
    assert row["value"] == pytest.approx(0.5, abs=0.03)
    assert row["high"] - row["low"] < 0.12
    assert document["verdict"] == "undecided"
    (column,) = document["run"]["decided"]["columns"]
    assert (column["of"], column["predicted"]) == (200, True)
    assert sampled(folder, "0.5").code == 3


def test_a_run_that_has_ended_is_reported_again_by_resume(folder: Folder):
    """It may have been killed before anybody saw its report: the verdict is the same, and nothing is asked."""
    for bound, code in (("0.45", 0), ("0.55", 1), ("0.5", 3)):
        first = sampled(folder, bound, "--json")
        again = folder.run("resume", "--no-progress", "--json")
        assert (first.code, again.code) == (code, code)
        assert "run it again without --sample" in again.err
        before, after = json.loads(first.out), json.loads(again.out)
        assert after["requirements"] == before["requirements"]
        assert after["run"] == before["run"]


def test_a_comparison_takes_a_sample_for_a_sample(folder: Folder):
    """It predicts, too, and doesn't say that somebody looked and stopped."""
    part = json.loads(sampled(folder, "0.3", "--json").out)["run"]["id"]
    whole_run = next(p.stem for p in sorted(folder.path.rglob("runs/*.db")) if p.stem != part)
    ended = folder.run("compare", whole_run, part)
    text = " ".join(ended.out.split())
    assert "over 200 cases, 60 run and 140 predicted" in text
    assert "ran a sample of its cases: 60 of 200 trials" in text
    assert "as soon as it was decided" not in text


SET = """
from evenhand import EvalSet
from evenhand.scorers import Contains

evals = EvalSet("set", data=[{{"id": f"c{{i}}", "input": f"q{{i}}"}} for i in range(100)])


@evals.eval
def answers(case, expect):
    number = int(case.id[1:])
    if number not in {silent}:
        expect("{wanted}" if number % 10 else "wrong", Contains("{wanted}"))
"""


def of_set(folder: Folder, silent: list[int], wanted: str = "yes", size: int = 40) -> str:
    """What a sample of a set says in which these cases expect nothing."""
    # A name of its own: a module is imported once in a process.
    file = folder.path / f"of_{len(silent)}_{wanted}_{size}_evals.py"
    file.write_text(SET.format(silent=silent, wanted=wanted))
    ended = folder.run(
        "run", file.name, "--no-progress", "--at-least", "0.5", "--sample", str(size),
        "--baseline", "set.evn",
    )  # fmt: skip
    return " ".join(ended.out.split())


@pytest.fixture(name="of_half")
def a_set(folder: Folder) -> Folder:
    """With a baseline of 100 cases, of which 80 expect something."""
    (folder.path / "s_evals.py").write_text(SET.format(silent=list(range(20)), wanted="yes"))
    assert folder.run("run", "s_evals.py", "--no-progress").code == 1
    assert folder.run("baseline", "--to", "set.evn").code == 0
    return folder


def test_cases_to_which_nothing_applies_are_no_part_of_what_a_rate_is_about(of_half: Folder):
    """The baseline says which these are; where it is wrong, it is said that their number is estimated."""
    text = of_set(of_half, list(range(20)))
    run = int(text.split(" over 80 cases, ")[1].split()[0])
    assert 20 < run < 40
    assert f"over 80 cases, {run} run and {80 - run} predicted" in text
    other = of_set(of_half, list(range(10, 60)))
    assert "over about " in other
    assert " assumed to be like them" in other
    assert "predicted" not in other


def test_how_many_cases_of_each_set_count_is_known_where_the_baseline_says_so(folder: Folder):
    """Each set has a part of the sample: too few cases to predict from, but how many there are isn't estimated."""
    sets = [
        SET.format(silent=[], wanted="yes")
        .replace("range(100)", f"range({size})")
        .replace("evals =", f"{name} =")
        .replace("@evals", f"@{name}")
        .replace('"set"', f'"{name}"')
        for name, size in (("large", 60), ("small", 40))
    ]
    (folder.path / "two_evals.py").write_text("".join(sets))
    run = "run", "two_evals.py", "--no-progress"
    assert folder.run(*run).code == 1
    assert folder.run("baseline", "--to", "two.evn").code == 0
    ended = folder.run(*run, "--at-least", "0.5", "--sample", "30", "--baseline", "two.evn")
    text = " ".join(ended.out.split())
    assert "over 60 cases, " in text
    assert "over 40 cases, " in text
    assert "about" not in text


def test_a_sample_says_that_the_baseline_is_of_another_test(of_half: Folder):
    """It predicts what it can; who reads its numbers should know."""
    assert "different tests in the baseline" not in of_set(of_half, list(range(20)))
    text = of_set(of_half, list(range(20)), "no")
    assert "of them were different tests in the baseline, so it predicts less" in text


def test_one_case_does_not_decide(of_half: Folder):
    """One verb for one case."""
    assert "1 case does not decide it" in of_set(of_half, list(range(20)), size=1)


def test_a_list_and_a_history_call_a_sample_a_sample(folder: Folder):
    """Nothing was decided here, and nobody looked whether something was."""
    assert sampled(folder, "0.5").code == 3
    assert "sample" in folder.run("runs", "list").out.splitlines()[0]
    history = folder.run("runs", "history").out
    assert "sample: 60 of 200 trials" in history
    assert "decided" not in history


def test_a_history_that_misleads_makes_no_verdict_wrong(folder: Folder):
    """Nothing passes any more, though half of it did: the interval is near 0, not between."""
    folder.write([NO], cases=200)
    ended = sampled(folder, "0.3", "--json")
    assert ended.code == 1
    (row,) = json.loads(ended.out)["requirements"]
    assert row["high"] < 0.1


def broken(folder: Folder) -> str:
    """Some replies are missing from now on; returns the script as it was."""
    script = folder.path / "offline.jsonl"
    before = script.read_text()
    script.write_text(json.dumps({"match": "Answer half. q1.3", "fault": "400"}) + "\n" + before)
    return before


def test_errors_may_have_gone_either_way(folder: Folder):
    """Cases without a reply leave rate and interval open by their share; asked again, none is open."""
    before = broken(folder)
    (row,) = json.loads(sampled(folder, "0.3", "--json", "--no-cache").out)["requirements"]
    assert row["errors"] > 0
    assert row["value"] is None
    assert row["low"] < row["least"] < row["most"] < row["high"]
    (folder.path / "offline.jsonl").write_text(before)
    again = folder.run("resume", "--errors", "--no-progress", "--json")
    (row,) = json.loads(again.out)["requirements"]
    assert (row["cases"], row["left_out"], row["errors"]) == (60, 140, 0)


def test_a_run_of_a_sample_does_not_go_on_with_another_baseline(folder: Folder):
    """What predicted the cases that aren't run has to be there to the end."""
    broken(folder)
    run = json.loads(sampled(folder, "0.3", "--json", "--no-cache").out)["run"]["id"]
    folder.write([NO], cases=200)
    folder.baseline()
    folder.write([HALF], cases=200)
    refused = folder.run("resume", "--errors", run, "--no-progress")
    assert refused.code == 2
    assert "b.evn has changed since it began" in refused.err


def test_what_a_sample_needs_is_said(folder: Folder):
    """Without a baseline the rate is that of the cases drawn, and a line says what is missing; nothing is sent."""
    alone = folder.run("run", "--offline", "--no-progress", "--sample", "60", "--at-least", "0.2")
    assert alone.code == 0
    assert "with --baseline FILE the others are predicted" in alone.err
    for words, says in (
        (("--baseline", "b.evn"), "--baseline has no effect here"),
        (("--budget", "2"), "--budget needs --baseline"),
        (("--budget", "2", "--sample", "3", "--baseline", "b.evn"), "both say how many"),
        (("--sample", "60", "--baseline", "b.evn"), "there is nothing to decide"),
        (("--sample", "60", "--baseline", "none.evn", "--at-least", "1"), "there is no baseline"),
        (
            ("--sample", "60", "--baseline", "b.evn", "--stop-when-decided"),
            "don't go together",
        ),
        (("--budget", "2", "--baseline", "b.evn", "--at-least", "1"), "what its cases cost"),
    ):
        refused = folder.run("run", "--offline", "--no-progress", *words)
        assert refused.code == 2
        assert says in refused.err
    every = folder.run(
        "run", "--offline", "--no-progress", "--sample", "200", "--at-least", "0.5",
        "--baseline", "b.evn",
    )  # fmt: skip
    assert every.code == 0
    assert "there are 200 cases in all, and all are run" in every.err
