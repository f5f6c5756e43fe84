"""The table [tool.evenhand] of a pyproject.toml: what it may say, and what is said of what it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import ConfigError
from evenhand.languages.documents.project import Project, project_folder, project_for

WHOLE = """\
[project]
name = "evenhand-user"  # the word alone is no table

[tool.evenhand]
judge = "anthropic:claude-opus-4-7"
timeout = 30
retries = 0
time-limit = 120.5
threshold.faithfulness = 0.8

[tool.evenhand.threshold]
"nDCG@10" = 0.3

[tool.other]
timeout = "x"
"""


def write(folder: Path, text: str) -> Path:
    """A pyproject.toml."""
    path = folder / "pyproject.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_project_says_who_judges_how_long_how_often_and_what_is_enough(tmp_path: Path):
    """Each with its line, in either way in which TOML writes a table."""
    path = write(tmp_path, WHOLE.replace("threshold.faithfulness = 0.8\n", ""))
    found = project_for(tmp_path / "evals")
    assert found.path == str(path)
    assert found.judge is not None
    assert (found.judge.id, found.judge.line) == ("anthropic:claude-opus-4-7", 5)
    assert (found.timeout_s, found.retries, found.time_limit_s) == (30, 0, 120.5)
    assert found.thresholds == {"nDCG@10": 0.3}
    assert found.lines == {
        "judge": 5,
        "timeout": 6,
        "retries": 7,
        "time-limit": 8,
        "threshold": 10,
        "threshold.nDCG@10": 11,
    }
    write(tmp_path, "[tool.evenhand]\nthreshold.faithfulness = 1\n")
    assert project_for(tmp_path).thresholds == {"faithfulness": 1}
    assert project_for(tmp_path).lines["threshold.faithfulness"] == 2


def test_a_folder_without_a_table_has_no_settings(tmp_path: Path):
    """Nothing is None or empty, and no file is named."""
    assert project_for(tmp_path / "x") == Project()
    write(tmp_path, "[tool.other]\nevenhand = 1\n")
    assert project_for(tmp_path) == Project()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("timeout = 0", ":2: timeout is 0, not a number of seconds from 0.001"),
        ("timeout = '30'", ":2: timeout is '30', not a number"),
        ("timeout = nan", ":2: timeout is nan"),
        ("timeout = true", ":2: timeout is True"),
        ("retries = -1", ":2: retries is -1, not a whole number from 0 to 100"),
        ("retries = 2.5", ":2: retries is 2.5, not a whole number"),
        ("time-limit = inf", ":2: time-limit is inf"),
        ("time_limit = 3", "[tool.evenhand] has no 'time_limit'\n  Did you mean 'time-limit'?"),
        ("threshold = 0.8", ":2: threshold is 0.8, not a table"),
        ("threshold.faithfulness = 'high'", ":2: threshold.faithfulness is 'high', not a number"),
        ("threshold.x = nan", ":2: threshold.x is nan, not a number"),
        ("threshhold = {}", "Did you mean 'threshold'?"),
    ],
)
def test_a_setting_that_says_nothing_sensible_is_told_with_its_line(
    tmp_path: Path, line: str, said: str
):
    """With the range, and the nearest key."""
    write(tmp_path, f"[tool.evenhand]\n{line}\n")
    with pytest.raises(ConfigError) as raised:
        project_for(tmp_path)
    assert said in str(raised.value)


def test_all_that_is_wrong_with_the_settings_is_told_at_once(tmp_path: Path):
    """In the order of their lines."""
    write(tmp_path, "[tool.evenhand]\nretries = -1\ntimeout = 'x'\nnobody = 1\n")
    with pytest.raises(ConfigError) as raised:
        project_for(tmp_path)
    assert [problem.line for problem in raised.value.problems] == [2, 3, 4]


@pytest.mark.parametrize(
    ("folder", "wanted"),
    [("shop/evals/returns", "shop"), ("shop/evals", "shop"), ("shop/tests", "shop/tests")],
)
def test_a_folder_belongs_to_the_one_above_evals_or_to_itself(folder: str, wanted: str) -> None:
    """There its calibrations are looked for."""
    assert project_folder(Path(folder)) == Path(wanted)
