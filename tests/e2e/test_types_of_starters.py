"""What `evenhand new` writes, as type checkers see it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
GRADES = '''
"""Every way to say a grade."""

from evenhand.scorers import Graded, Judgement


class Grades(Judgement):
    clarity: Graded[1, 5]
    share: Graded[0.5, 1]


def lowest(grades: Grades) -> float:
    score: float = min(grades.clarity.score, grades.share.score)
    return score
'''


@pytest.fixture(scope="module")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command, with a cache that the tests share: it reads all of Evenhand once."""
    cache = str(tmp_path_factory.mktemp("mypy"))
    return [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with an eval set, a judge and a prompt as they are written to start from."""
    for kind, name in (("eval", "refunds"), ("judge", "tone"), ("prompt-function", "reply")):
        done = subprocess.run(
            [*COMMAND, "new", kind, name],
            cwd=tmp_path,
            check=False,
            capture_output=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
    (tmp_path / "grades.py").write_text(GRADES)
    return tmp_path


def test_starters_and_grades_pass_pyright_strict(project: Path) -> None:
    """An editor shows no error in a file that nobody has changed yet."""
    (project / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "."]
    done = subprocess.run(
        command, cwd=project, check=False, capture_output=True, text=True, timeout=300
    )
    assert "0 errors" in done.stdout, done.stdout


@pytest.mark.thorough
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_starters_and_grades_pass_mypy_strict(project: Path, mypy: list[str]) -> None:
    """`Graded[1, 5]` has numbers in brackets, which mypy takes for wrong types."""
    files = ["evals/refunds_evals.py", "judges/tone.py", "prompts/reply.py", "grades.py"]
    done = subprocess.run(
        [*mypy, *files], cwd=project, check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.thorough
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
@pytest.mark.parametrize("checked", ["evals", "."])
def test_what_init_python_writes_passes_mypy_with_nothing_set(
    tmp_path: Path, mypy: list[str], checked: str
) -> None:
    """Its files import one another: from the folder that they were written into, mypy needs no MYPYPATH for that."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MYPY")}
    for command in (
        [*COMMAND, "init", "--python"],
        [*mypy, checked],
    ):
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=env,
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
