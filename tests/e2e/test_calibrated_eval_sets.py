"""Judges of eval sets that people have checked: what else ran is no change of what was judged."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.cli import main
from evenhand.testing import FakeProvider, Rule, Script

JUDGED = {"reasoning": "It is warm.", "passes": True, "confidence": 0.9}
STRICT = Rule((r"An answer on thing \d[789]",), {**JUDGED, "passes": False})
MANY = """
from evenhand import Case, EvalSet, Expect
from evenhand.scorers import Passes

ROWS = [{"id": f"c{i}", "input": f"thing {i:02d}"} for i in range(60)]
slugs = EvalSet("many slugs", data=ROWS, judge="openai:chat:gpt-5")


@slugs.eval
def many(case: Case, expect: Expect) -> str:
    answer = f"An answer on {case.input}"
    expect(answer, Passes("is kind"))
    return answer
"""
OTHER = """
from evenhand import EvalSet, Expect

more = EvalSet("more")


@more.eval
def ok(expect: Expect) -> None:
    expect(True, "ok")
"""
Evenhand = Callable[..., str]


@pytest.fixture
def evenhand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A command in a folder whose evals a judge is asked in; with what it printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/many_evals.py").write_text(MANY)

    def go(*words: str) -> str:
        with pytest.raises(SystemExit):
            main(list(words))
        printed = capsys.readouterr()
        return printed.out + printed.err

    with FakeProvider(Script([STRICT, Rule(reply=JUDGED)])) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        yield go


def calibrate(evenhand: Evenhand, folder: Path, labels: int = 60) -> str:
    """Labels a draw of the latest run, of which people find less kind than its judge, and calibrates it."""
    file = folder / "draw.csv"
    file.unlink(missing_ok=True)
    evenhand("label", "latest", "--draw", str(labels), "--seed", "1", "--to", "draw.csv")
    with file.open(encoding="utf-8", newline="") as draw:
        rows = list(csv.DictReader(draw))
    for row in rows:
        row["verdict"] = "pass" if int(row["output"].split()[-1]) % 10 < 5 else "fail"
    with file.open("w", encoding="utf-8", newline="") as draw:
        table = csv.DictWriter(draw, rows[0].keys())
        table.writeheader()
        table.writerows(rows)
    evenhand("label", "latest", "--from", "draw.csv", "--by", "ann")
    return evenhand("calibrate")


def corrected(evenhand: Evenhand, *run: str) -> tuple[str, list[str], object]:
    """Whether the calibration holds for a run, what has changed, and the corrected rate."""
    evenhand("run", *run, "--no-progress")
    (rate,) = json.loads(evenhand("show", "--json"))["judged"]
    return rate["calibration"], rate["changed"], rate["corrected"]


@pytest.mark.parametrize("several", [False, True])
def test_a_calibration_holds_whatever_else_runs(
    evenhand: Evenhand, tmp_path: Path, *, several: bool
):
    """Made of one file's run or of two files' run, it corrects the numbers of both."""
    other = tmp_path / "evals/other_evals.py"
    if several:
        other.write_text(OTHER)
    evenhand("run", "--no-progress")
    assert "usable with labels" in calibrate(evenhand, tmp_path)
    other.write_text(OTHER)
    both = corrected(evenhand)
    alone = corrected(evenhand, "evals/many_evals.py")
    assert both == alone
    assert alone[:2] == ("fresh", [])
    assert alone[2]


def test_too_few_labels_are_not_said_to_correct_later_runs(evenhand: Evenhand, tmp_path: Path):
    """They are written, and stand in no gate; enough of them do."""
    evenhand("run", "--no-progress")
    few = " ".join(calibrate(evenhand, tmp_path, labels=3).split())
    assert "3 labels are too few" in few
    assert "no judge in it can be used yet, so gates ignore its corrections" in few
    assert "later runs are corrected" not in few
    told = " ".join(evenhand("run", "--no-progress", "--no-cache").split())
    assert re.search(
        r": \d+ % \[[^]]*\] by [^·]+ · \d+ % [^·]+ corrected, 3 labels[^·]+ · too few", told
    )
    assert "commit it, and later runs are corrected with it" in calibrate(evenhand, tmp_path)


def test_a_set_with_the_same_criterion_is_not_checked_by_the_calibration_of_another(
    evenhand: Evenhand, tmp_path: Path
):
    """That of the labelled one holds in a run of both; alone, the other one is said to be another."""
    evenhand("run", "--no-progress")
    calibrate(evenhand, tmp_path)
    more = MANY.replace("many", "few").replace("thing", "item")
    (tmp_path / "evals/more_evals.py").write_text(more)
    evenhand("run", "--no-progress")
    rates = {r["variant"]["prompt"]: r for r in json.loads(evenhand("show", "--json"))["judged"]}
    first, second = rates["many slugs: many"], rates["few slugs: few"]
    assert (first["calibration"], first["labels"], bool(first["corrected"])) == ("fresh", 60, True)
    assert (second["calibration"], second["changed"]) == ("missing", ["evals"])
    assert second["corrected"] is None
    shown = " ".join(evenhand("run", "evals/more_evals.py", "--no-progress").split())
    assert "not checked against people: the calibration is for other evals" in shown
    assert "stale" not in shown


FEW = MANY.replace("many", "few").replace('f"c{i}"', 'f"d{i}"')


def edited(few: Path) -> Path:
    """The eval with more cases, in another file: this process has imported the first one."""
    few.unlink(missing_ok=True)
    other = few.with_name("more_evals.py")
    other.write_text(FEW.replace("range(60)", "range(100)"))
    return other


def standings(evenhand: Evenhand, *run: str) -> dict[str, tuple[str, list[str], bool]]:
    """For each eval of a run whether its calibration holds, what has changed, and whether its rate is corrected."""
    evenhand("run", *run, "--no-progress")
    return {
        rate["variant"]["prompt"].rpartition(": ")[2]: (
            rate["calibration"],
            rate["changed"],
            bool(rate["corrected"]),
        )
        for rate in json.loads(evenhand("show", "--json"))["judged"]
    }


def test_a_calibration_of_two_evals_with_the_same_criterion_holds_for_each_alone(
    evenhand: Evenhand, tmp_path: Path
):
    """That the other one doesn't run, or has changed, is no change of it."""
    few = tmp_path / "evals/few_evals.py"
    few.write_text(FEW)
    evenhand("run", "--no-progress")
    assert "usable with labels" in calibrate(evenhand, tmp_path, labels=110)
    holds = ("fresh", [], True)
    assert standings(evenhand) == {"many": holds, "few": holds}
    assert standings(evenhand, "evals/many_evals.py") == {"many": holds}
    assert standings(evenhand, "evals/few_evals.py") == {"few": holds}
    few = edited(few)
    stale = ("stale", ["data"], False)
    assert standings(evenhand) == {"many": holds, "few": stale}
    assert standings(evenhand, str(few)) == {"few": stale}


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("together", [False, True])
def test_calibrating_one_eval_leaves_what_the_file_says_of_another_with_the_same_criterion(
    evenhand: Evenhand, tmp_path: Path, *, together: bool
):
    """Whether that was calibrated alone, or both together; in runs of both, each has its own."""
    few = tmp_path / "evals/few_evals.py"
    if together:
        few.write_text(FEW)
    evenhand("run", "--no-progress")
    calibrate(evenhand, tmp_path, labels=110 if together else 60)
    few = edited(few)
    evenhand("run", str(few), "--no-progress")
    calibrate(evenhand, tmp_path, labels=40)
    holds = ("fresh", [], True)
    assert standings(evenhand) == {"many": holds, "few": holds}
    assert standings(evenhand, "evals/many_evals.py") == {"many": holds}
    rows = json.loads((tmp_path / "calibration.json").read_text())["judges"]
    assert [{variant["eval"] for variant in row["variants"]} for row in rows] == [
        {"few slugs: few"},
        {"many slugs: many"},
    ]
    # Again, it replaces its own alone.
    evenhand("run", str(few), "--no-progress", "--no-cache")
    calibrate(evenhand, tmp_path, labels=50)
    rows = json.loads((tmp_path / "calibration.json").read_text())["judges"]
    assert [row["labels"] for row in rows] == [50, 110 if together else 60]
