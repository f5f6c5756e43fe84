"""`evenhand info power` of runs on the command line: cost, wording, and runs that say nothing of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.test_gate import in_folder

from evenhand.store.catalogue import files, newest_first


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
