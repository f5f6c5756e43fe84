"""Gates that ended before their report, or before all was run: what is said, and how to go on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.e2e import test_gate as whole
from tests.e2e.test_gate import RULES, Folder

from evenhand.wings.viewer.listing import Runs


@pytest.fixture(name="folder")
def in_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    """An empty one; see `tests.e2e.test_gate`."""
    return whole.in_folder(tmp_path, monkeypatch, capsys)


@pytest.mark.thorough
def test_a_gate_that_was_decided_before_it_could_say_so_is_told_by_resume(folder: Folder):
    """As if it was killed between its last trial and its report: nothing is asked again."""
    folder.write(cases=400)
    folder.baseline()
    words = ("--all", "--stop-when-decided", "-j", "1", "--to", "gate.json", "--json")
    ended = folder.gate(*words)
    assert ended.document["stopped"]
    (folder.path / "gate.json").unlink()
    again = folder.run("resume", "--no-progress", "--json")
    assert (again.code, again.document) == (ended.code, ended.document)
    assert json.loads((folder.path / "gate.json").read_text()) == ended.document


def test_the_list_of_runs_has_what_each_gate_came_to(folder: Folder):
    """Failed trials of a run may be no worse than the baseline's, and passed ones undecided."""
    half = "Answer half. {{q}}"
    folder.write([half])
    folder.baseline()
    assert folder.gate("--all", margin="0.02").code == 3
    assert folder.gate("--all", margin="0.3").code == 0
    folder.write(["Answer no. {{q}}"])
    assert folder.gate("--all").code == 1
    listed = [(one.verdict, one.of_gate, one.gate_verdict) for one in Runs(folder.path).list()]
    assert listed == [
        ("failed", True, "worse"),
        ("failed", True, "not worse"),
        ("failed", True, "undecided"),
        ("failed", False, None),
    ]


def test_a_gate_whose_run_did_not_finish_says_why_and_how_to_go_on(folder: Folder):
    """Whether or not what was run is in the baseline; it doesn't blame the baseline for what was not run."""
    folder.rules = ({"match": "Answer key.*q5$", "fault": "401"}, *RULES)
    folder.write()
    folder.baseline()
    folder.write(["Answer key. {{q}}"])
    ended = folder.gate("-j", "1")
    assert "did not finish" in ended.out
    assert "401" in ended.err
    assert re.search(r"^next: evenhand resume \w+$", ended.err, re.MULTILINE)
    tests = [
        {"vars": {"q": q}, "assert": [{"type": "contains", "value": "yes"}]}
        for q in ("new", "q5", "q1")
    ]
    folder.write(["Answer key. {{q}}"], tests=tests)
    ended = folder.gate("-j", "1")
    assert "nothing: the run did not finish, and so far has no case in common" in ended.out
    assert "something else" not in ended.out


def test_why_a_gate_could_not_run_is_one_sentence_after_the_other(folder: Folder):
    """The document has no lines to set apart what is wrong from what to do."""
    folder.write()
    assert folder.gate("--to", "gate.json").code == 2
    because = json.loads((folder.path / "gate.json").read_text())["because"]
    assert "there is no baseline b.evn. Make one" in because
