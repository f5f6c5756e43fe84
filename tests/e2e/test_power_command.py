"""`evenhand info power` of runs on the command line: cost, wording, and runs that say nothing of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest
from tests.e2e.test_gate import in_folder

from evenhand.store.run_lookup import files, newest_first


def test_two_wordings_of_a_prompt_say_how_far_wording_moves_the_pass_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """One passes all cases, the other half of them; the same wording twice is refused."""
    folder = in_folder(tmp_path, monkeypatch, capsys)
    for prompt in ("Answer yes. {{q}}", "Answer half. {{q}}"):
        folder.write([prompt], cases=20)
        assert folder.run("run", "--offline", "--no-progress").code in (0, 1)
    newest, other = (path.stem for path in newest_first(files(tmp_path)))
    both = folder.run("info", "power", newest, other)
    assert both.code == 0
    assert "another wording of the prompt moves the pass rate by about " in both.out
    assert "(2 wordings × 20 cases)" in both.out
    assert "at the least cost: " in both.out
    document = json.loads(folder.run("info", "power", newest, other, "--json").out)
    assert (document["wording"]["of"], document["wording"]["cases"]) == ("prompt", 20)
    assert [part["part"] for part in document["parts"]] == ["cases and repeats", "wording"]
    same = folder.run("info", "power", newest, newest)
    assert (same.code, same.out) == (2, "")
    assert "have the same wording" in same.err


def test_a_baseline_of_several_runs_says_how_many_cases_a_gate_has_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """All cases come out alike in all runs, so that the fewest are enough; a baseline of one run can't tell."""
    folder = in_folder(tmp_path, monkeypatch, capsys)
    folder.write(["Answer half. {{q}}"], cases=40)
    for _ in range(3):
        assert folder.run("run", "--offline", "--no-progress", "--no-cache").code in (0, 1)
    assert folder.run("baseline", "--of", "3", "--to", "three.evn").code == 0
    assert folder.run("baseline", "--to", "one.evn").code == 0
    command = ("info", "power", "--baseline", "three.evn", "--difference", "0.2")
    result = folder.run(*command)
    assert result.code == 0
    sample = json.loads(folder.run(*command, "--json").out)["sample"]
    assert (sample["of"], sample["margin"]) == (40, 0.2)
    assert (
        f"a gate with --margin 0.2 --sample {sample['cases']} passes an unchanged system four times in five: "
        f"{sample['cases']} of 40 cases, once each"
    ) in result.out
    for more, says in (
        (("--baseline", "one.evn"), "it has one result for each"),
        (("--baseline", "none.evn"), "there is no baseline none.evn"),
        (("--baseline", "three.evn", "--rate", "0.8"), "--rate can't be combined with --baseline"),
    ):
        refused = folder.run("info", "power", *more)
        assert (refused.code, refused.out) == (2, "")
        assert says in refused.err


@pytest.mark.thorough
def test_clusters_show_what_the_runs_table_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """In the words of the run, and with as many clusters as that takes."""
    random, rows = Random(2), list[dict[str, object]]()
    for i in range(60):
        one, two = (
            (i // 5) % 4 > 0 if random.random() < 0.8 else random.random() < 0.7 for _ in "ab"
        )
        rows.append({
            "vars": {"x": f"{one} {i}", "y": f"{two} {i}", "doc": f"d{i // 5}"},
            "assert": [{"type": "contains", "value": "True"}],
        })  # fmt: skip
    config = {
        "evenhand": {"cluster": "doc"},
        "prompts": ["a {{x}}", "b {{y}}"],
        "providers": ["echo"],
        "tests": rows,
    }
    folder = in_folder(tmp_path, monkeypatch, capsys)
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config))
    report = " ".join(folder.run("run", "--no-progress").out.split())
    words = re.search(r"60 cases in 12 clusters can only show differences of (\d+) points", report)
    assert words is not None
    power = folder.run("info", "power", "--difference", "0.1")
    assert (
        f"60 cases in 12 clusters, as the run has, can show a difference of {words[1]} points"
        in power.out
    )
    document = json.loads(folder.run("info", "power", "--difference", "0.1", "--json").out)
    assert f"{document['could_show'] * 100:.0f}" == words[1]
    assert document["effect"] > 1.5
    named = json.loads(folder.run("info", "power", "--differing", "0.9", "--json").out)
    assert named["could_show"] > document["could_show"]


@pytest.mark.parametrize(("rate", "most"), [("0.5", "0.5"), ("0.3", "0.7")])
def test_a_difference_that_no_other_pass_rate_has_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rate: str,
    most: str,
):
    """Half of all cases can't pass 80 points more often, or less."""
    folder = in_folder(tmp_path, monkeypatch, capsys)
    result = folder.run("info", "power", "--rate", rate, "--difference", "0.8")
    assert (result.code, result.out) == (2, "")
    assert f"no pass rate differs from {rate} by 0.8" in result.err
    assert f"--difference {most}" in result.err
    assert folder.run("info", "power", "--rate", rate, "--difference", most).code == 0
