"""Results are never written over what a run was made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import UsageError
from evenhand.render.own_files import refuse_own

CONFIG = {
    "prompts": ["file://prompts/*.md", {"id": "file://more/"}],
    "tests": "file://cases.csv",
    "defaultTest": {"assert": [{"type": "python", "value": "file://check.txt:grade"}]},
    "files": {"questions.csv": "068d346a7f5d7f6cf5489dc7415d280b"},
    "outputPath": "results.json",
    "description": "report.json",
}


@pytest.mark.parametrize(
    "name",
    [
        "config.yaml",
        "promptfooconfig.yaml",
        "cases.csv",
        "prompts/plain.md",
        "more/one.txt",
        "check.txt",
        "questions.csv",
        "offline.jsonl",
        "grade.py",
        "link.json",
    ],
)
def test_what_a_run_was_made_of_is_not_written_over(tmp_path: Path, name: str) -> None:
    """As a path, a pattern, a folder, with a function behind it, or through a link."""
    to = tmp_path / name
    to.parent.mkdir(exist_ok=True)
    (tmp_path / "cases.csv").write_text("mine")
    if name == "link.json":
        to.symlink_to("cases.csv")
    else:
        to.write_text("mine")
    with pytest.raises(UsageError, match="a file that runs are made of") as caught:
        refuse_own("-o", to, str(tmp_path / "config.yaml"), CONFIG)
    assert caught.value.hint


@pytest.mark.parametrize("name", ["results.json", "report.json", "new.csv", "out/cases.csv"])
def test_results_are_written_over_earlier_ones(tmp_path: Path, name: str) -> None:
    """Also to where the config says that results go."""
    to = tmp_path / name
    to.parent.mkdir(exist_ok=True)
    to.write_text("earlier results")
    refuse_own("-o", to, str(tmp_path / "config.yaml"), CONFIG)
    refuse_own("-o", tmp_path / "promptfooconfig.json", str(tmp_path), CONFIG)  # it isn't there
