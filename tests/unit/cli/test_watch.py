"""What a saved file is about: which eval files, prompt directories and configs are run again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.runs import Make, result

from evenhand.cli.watch import Watched, _Budget, _named, _spent, _Watcher
from evenhand.core.run import CallEnd, CallStart
from evenhand.languages.documents.watching import changed, look


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two eval files, each with code of its own, and what neither has to do with."""
    for name, text in {
        "evals/a_evals.py": "evals = EvalSet('a')\n@evals.eval\ndef x(case): pass\n",
        "evals/b_evals.py": "evals = EvalSet('b')\n",
        "evals/a.csv": "input\n1\n",
        "app.py": "",
        "tests/test_app.py": "",
        "page.txt": "",
        "README.md": "",
        ".evenhand/runs/1.json": "",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def watched(folder: Path) -> Watched:
    """Both files, as they are after their first runs."""
    made = Watched((str(folder),))
    made.find()
    for target, names in zip(made.targets, (("evals/a.csv", "app.py"), ()), strict=True):
        target.read()
        target.files = frozenset(str(folder / name) for name in names)
    return made


@pytest.mark.parametrize(
    ("saved", "runs"),
    [
        ("app.py", ["a_evals.py"]),
        ("evals/a.csv", ["a_evals.py"]),
        ("evals/b_evals.py", ["b_evals.py"]),
        ("tests/test_app.py", []),
        ("page.txt", ["a_evals.py", "b_evals.py"]),
        ("README.md", []),
    ],
)
def test_only_what_is_made_of_a_saved_file_is_run(project: Path, saved: str, runs: list[str]):
    """A text file that nobody is known to read may be read by anybody; code that nobody imports is not."""
    those = watched(project).affected([str(project / saved)])
    assert [Path(target.path).name for target, _ in those] == runs


def test_one_changed_eval_is_run_alone(project: Path):
    """And nothing where only a comment changed; a syntax error is for the run to say."""
    made = watched(project)
    target, file = made.targets[0], project / "evals/a_evals.py"
    file.write_text(file.read_text().replace("pass", "return None"))
    assert target.to_run([str(file)]) == [f"{file}:3"]
    file.write_text(file.read_text() + "# done\n")
    assert target.to_run([str(file)]) == []
    file.write_text("def")
    assert target.to_run([str(file)]) == [str(file)]
    file.unlink()
    assert target.to_run([str(file)]) == []


def test_new_files_are_found_and_those_that_are_gone_forgotten(project: Path):
    """Of eval files."""
    made = watched(project)
    (project / "evals/c_evals.py").write_text("")
    (project / "evals/b_evals.py").unlink()
    assert [Path(target.path).name for target in made.find()] == ["c_evals.py"]
    assert [Path(target.path).name for target in made.targets] == ["a_evals.py", "c_evals.py"]


def test_a_look_passes_hidden_files_over_and_sees_each_change(project: Path):
    """New, gone, and of another time though as long as before."""
    before = look([project])
    assert not any(".evenhand" in path for path in before)
    (project / "page.txt").write_text("x")
    (project / "new.txt").write_text("")
    (project / "README.md").unlink()
    os.utime(project / "app.py", (1, 1))
    names = [Path(path).name for path in changed(before, look([project]))]
    assert names == ["README.md", "app.py", "new.txt", "page.txt"]


async def test_the_budget_counts_calls_of_trials_that_it_left_unsettled(
    make_run: Make,
    monkeypatch: pytest.MonkeyPatch,
):
    """The document's total is of settled trials. Of a run that keeps no file, it is all that is known."""
    calls = [
        (
            CallStart(i, "k", 0, "subject", "m", b"{}", 0.1),
            CallEnd(b"{}", "provider", 0.4, 150, 50, 0.02, "m"),
        )
        for i in range(3)
    ]
    run = await make_run([result(0, cost_usd=0.02)], planned=3, calls=calls)
    monkeypatch.chdir(run.path.parents[2])
    document = {"totals": {"cost_usd": 0.02}, "run": {"id": run.meta.id}}
    assert _spent(document) == pytest.approx(0.06)
    run.path.unlink()
    assert _spent(document) == 0.02


def watcher(project: Path) -> _Watcher:
    """Somebody who watches both files."""
    return _Watcher(watched=watched(project), options=[], budget=_Budget(None))


def during_a_run(watching: _Watcher, file: Path, text: str) -> bool:
    """Whether a file that is written during a run starts another one after it."""
    before = watching.watched.look()
    file.write_text(text)
    now = watching.watched.look()
    return str(file) in changed(watching._without_outputs(before, now), now)


def test_a_file_that_is_saved_during_one_run_after_another_is_run(
    project: Path, capsys: pytest.CaptureFixture[str]
):
    """What a run is made of is the user's; what nobody is known to read, and each run changes, is the runs' own."""
    watching, module, output = watcher(project), project / "app.py", project / "page.txt"
    assert [during_a_run(watching, module, f"x = {n}0\n" * n) for n in range(4)] == [True] * 4
    assert capsys.readouterr().out == ""
    assert not during_a_run(watching, module, "x = 5\n")
    assert "app.py changed during 5 runs in a row" in capsys.readouterr().out
    assert [during_a_run(watching, output, "x" * n) for n in range(2)] == [True, False]
    assert capsys.readouterr().out == ""


def test_what_lies_outside_of_the_project_is_watched(
    project: Path, tmp_path_factory: pytest.TempPathFactory
):
    """A dataset that several projects share, and a library of the user's own."""
    made, shared = watched(project), tmp_path_factory.mktemp("shared") / "cases.jsonl"
    shared.write_text("{}")
    target = made.targets[0]
    target.files = frozenset({*(target.files or ()), str(shared)})
    before = made.look()
    shared.write_text('{"id": 1}')
    assert changed(before, made.look()) == [str(shared)]
    assert [one for one, _ in made.affected([str(shared)])] == [target]


def test_the_files_that_a_config_names_are_known(project: Path):
    """Prompts, tests and code, wherever they lie; no text that is no file's name."""
    (project / "folder").mkdir()
    config = {
        "prompts": ["file://../app.py:prompt", "../page.txt", "Say {{x}}"],
        "tests": "file://../evals/*.csv",
        "providers": [{"id": "python:../app.py", "config": {"x": None}}],
    }
    named = {os.path.normpath(file) for file in _named(config, project / "folder")}
    assert named == {str(project / name) for name in ("app.py", "page.txt", "evals/a.csv")}


def test_after_a_run_that_could_not_start_everything_is_run(project: Path):
    """An eval that was edited before, in the same file, has not run yet."""
    made = watched(project)
    target, file = made.targets[0], project / "evals/a_evals.py"
    file.write_text(file.read_text().replace("pass", "return None"))
    target.text = ""
    assert target.to_run([str(file)]) == [str(file)]
