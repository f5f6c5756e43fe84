"""Logs of Inspect's with the command line, and what hostile ones reach."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.test_import_openai_evals import NASTY, evenhand
from tests.unit.wings.interchange.inspect_logs.conftest import (
    a_header,
    a_sample,
    deflated,
    members,
    zstandard,
)


def test_logs_are_imported_shown_and_compared(tmp_path: Path):
    """Two logs of a task: samples pair by their ids."""
    about = a_header()["eval"]
    later = a_header(
        eval={**about, "eval_id": "second", "created": "2026-11-24T10:00:00+00:00", "model": "b"}
    )
    wrong = {"includes": {"value": "I"}}
    zstandard(tmp_path / "a.eval", members(a_sample(), a_sample("two", scores=wrong)))
    deflated(tmp_path / "b.eval", members(a_sample(), a_sample("two"), header=later))
    imported = evenhand(tmp_path, "import", "inspect", "a.eval", "b.eval", "--json")
    assert imported.returncode == 0, imported.stderr
    runs = json.loads(imported.stdout)["runs"]
    assert [(run["passed"], run["trials"]) for run in runs] == [(1, 2), (2, 2)]
    compared = evenhand(tmp_path, "compare", runs[0]["run"], runs[1]["run"], "--json")
    passed = json.loads(compared.stdout)["results"][0]
    assert (passed["n"], passed["difference"]) == (2, 0.5)


def test_hostile_texts_of_a_log_reach_no_terminal(tmp_path: Path):
    """Escapes in every text."""
    sample = a_sample(
        NASTY,
        input=NASTY,
        target=NASTY,
        scores={NASTY: {"value": NASTY, "explanation": NASTY}},
        error={"message": NASTY},
        extra={NASTY: NASTY},
    )
    about = a_header()["eval"] | {"task": NASTY, "model": NASTY, "created": NASTY}
    header = a_header(eval=about, status=NASTY, error={"message": NASTY})
    deflated(tmp_path / "a.eval", members(sample, header=header))
    printed = ""
    for words in (
        ("import", "inspect", "a.eval"),
        ("show", "-v"),
        ("runs", "list"),
        ("history",),
    ):
        shown = evenhand(tmp_path, *words)
        assert "Traceback" not in shown.stderr
        printed += shown.stdout + shown.stderr
    assert "\x1b" not in printed
    assert "\x07" not in printed
