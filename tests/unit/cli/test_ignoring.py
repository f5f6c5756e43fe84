from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.cli import main
from evenhand.cli.ignoring import ignore_runs


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b".evenhand/\n"),
        (b"", b".evenhand/\n"),
        (b"*.pyc\n", b"*.pyc\n.evenhand/\n"),
        (b"*.pyc", b"*.pyc\n.evenhand/\n"),
        (b"*.pyc\r\n", b"*.pyc\r\n.evenhand/\r\n"),
        (b"\xff\n# .evenhand/\n", b"\xff\n# .evenhand/\n.evenhand/\n"),
        (b"my.evenhand/\n", b"my.evenhand/\n.evenhand/\n"),
    ],
)
def test_runs_are_added_to_what_is_ignored(tmp_path: Path, before: bytes | None, after: bytes):
    """Everything else stays byte by byte; a file that is not there is made."""
    path = tmp_path / ".gitignore"
    if before is not None:
        path.write_bytes(before)
    assert ignore_runs(tmp_path) == path
    assert path.read_bytes() == after
    assert ignore_runs(tmp_path) is None
    assert path.read_bytes() == after


@pytest.mark.parametrize(
    "line", [".evenhand", ".evenhand/", "/.evenhand/", "**/.evenhand/", "!.evenhand/"]
)
def test_what_is_decided_already_is_left(tmp_path: Path, line: str):
    """Ignored in another way of writing it, or wanted on purpose."""
    path = tmp_path / ".gitignore"
    path.write_text(f"{line}\n")
    assert ignore_runs(tmp_path) is None
    assert path.read_text() == f"{line}\n"


def test_a_line_above_counts_within_the_same_repository(tmp_path: Path):
    """Not one of a folder around the repository, and not one that is anchored elsewhere."""
    inner = tmp_path / "repo" / "evals"
    inner.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / ".gitignore").write_text(".evenhand/\n")
    (tmp_path / "repo" / ".gitignore").write_text("/.evenhand/\n")
    assert ignore_runs(inner) == inner / ".gitignore"
    (inner / ".gitignore").unlink()
    (tmp_path / "repo" / ".gitignore").write_text(".evenhand/\n")
    assert ignore_runs(inner) is None


def test_a_link_or_a_folder_in_its_place_is_left_alone(tmp_path: Path):
    """Nothing depends on it, and no command fails for it."""
    (tmp_path / "other").write_text("x\n")
    (tmp_path / ".gitignore").symlink_to(tmp_path / "other")
    assert ignore_runs(tmp_path) is None
    assert (tmp_path / "other").read_text() == "x\n"
    (tmp_path / ".gitignore").unlink()
    (tmp_path / ".gitignore").mkdir()
    assert ignore_runs(tmp_path) is None


@pytest.mark.parametrize(
    "words",
    [
        ("init",),
        ("init", "--python"),
        ("new", "eval", "refunds"),
        ("new", "judge", "tone"),
        ("new", "prompt-function", "reply"),
        ("prompt", "new", "refunds"),
    ],
)
def test_whatever_begins_a_project_keeps_its_runs_out_of_version_control(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """And says that it wrote the file."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert not ended.value.code
    assert (tmp_path / ".gitignore").read_text() == ".evenhand/\n"
    assert "  .gitignore\n" in capsys.readouterr().out
