"""`retry`, and the exit codes of failed runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evenhand.cli.exits import code_for, failed_code
from evenhand.cli.verbs import evenhand
from evenhand.store.run_lookup import find
from evenhand.store.runfile import RunFile

MODEL = """
import pathlib
HERE = pathlib.Path(__file__).parent
def call_api(prompt, options, context):
    with (HERE / 'asked').open('a') as file:
        file.write(prompt + ' ')
    if prompt == 'b' and not (HERE / 'well').exists():
        return {'error': 'not well'}
    return {'output': prompt}
"""
CONFIG = """
prompts: ["{{x}}"]
providers: [file://model.py]
tests:
  - {vars: {x: a}}
  - {vars: {x: b}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose model is unwell for one test, run once."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    (tmp_path / "model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    assert said("run").return_value == 3
    (tmp_path / "well").touch()
    (tmp_path / "asked").unlink()
    return tmp_path


def said(*words: str) -> Result:
    """What a command comes to."""
    quiet = ["--no-table", "--no-progress"]
    return CliRunner().invoke(evenhand, [*words, *quiet], standalone_mode=False)


@pytest.mark.parametrize("words", [["retry"], ["run", "--retry-errors"], ["run", "--resume"]])
def test_errors_alone_are_redone(folder: Path, words: list[str]) -> None:
    """In the same run: what has a verdict is not asked again."""
    assert said(*words).return_value == 0
    assert (folder / "asked").read_text() == "b "
    with RunFile.open(find(folder, None)) as run:
        assert [trial.outcome for trial in run.trials()] == ["pass", "pass"]
    assert len(list((folder / ".evenhand" / "runs").glob("*.db"))) == 1


def test_where_nothing_is_in_error_nothing_is_run(folder: Path) -> None:
    """The second retry says so, and exits as the run did."""
    said("resume", "--errors")
    (folder / "asked").unlink()
    again = said("resume", "--errors")
    assert again.return_value == 0
    assert "nothing to redo" in again.stderr
    assert not (folder / "asked").exists()


def test_retry_asks_anew_for_what_was_received_only_when_told_to(folder: Path) -> None:
    """A judge's answer without a verdict is replayed, until --no-cache asks for another; verdicts stay."""
    (folder / "judge.py").write_text(
        "import pathlib\nHERE = pathlib.Path(__file__).parent\n"
        "def call_api(prompt, options, context):\n"
        "    with (HERE / 'judged').open('a') as file:\n        file.write('x')\n"
        "    fine = 'Good: a' in prompt or (HERE / 'clear').exists()\n"
        "    return {'output': {'pass': True, 'score': 1, 'reason': 'r'} if fine else 'mumble'}\n"
    )
    rubric = "{type: llm-rubric, value: 'Good: {{x}}', provider: 'file://judge.py'}"
    (folder / "promptfooconfig.yaml").write_text(CONFIG + f"defaultTest: {{assert: [{rubric}]}}\n")
    assert said("run").return_value == 3
    asked = [(folder / name).read_text() for name in ("asked", "judged")]
    (folder / "clear").touch()
    for words in (["retry"], ["resume", "--no-cache"]):
        assert said(*words).return_value == 3
        assert [(folder / name).read_text() for name in ("asked", "judged")] == asked
    assert said("resume", "--errors", "--no-cache").return_value == 0
    assert (folder / "asked").read_text() == asked[0] + "b "
    assert (folder / "judged").read_text() == asked[1] + "x"


@pytest.mark.parametrize(
    ("verdict", "given", "wanted"),
    [
        ("passed", {}, 0),
        ("failed", {}, 1),
        ("undecided", {}, 3),
        ("failed", {"promptfoo": True}, 100),
        ("undecided", {"promptfoo": True}, 100),
        ("passed", {"promptfoo": True}, 0),
        ("failed", {"failed": 7}, 7),
        ("failed", {"failed": 0, "promptfoo": True}, 0),
        ("failed", {"failures_are_fine": True}, 0),
        ("undecided", {"failures_are_fine": True}, 3),
        ("undecided", {"failures_are_fine": True, "promptfoo": True}, 100),
    ],
)
def test_how_a_finished_run_exits(verdict: str, given: dict[str, object], wanted: int) -> None:
    """Errors without a verdict are 3, or, for those who go by promptfoo's codes, 100."""
    assert code_for(verdict, "finished", **given) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"), [("0", 0), ("42", 42), ("", None), ("x", None), ("-1", None)]
)
def test_the_environment_may_say_the_exit_code(text: str, wanted: int | None) -> None:
    """PROMPTFOO_FAILED_TEST_EXIT_CODE, where it is a number."""
    assert failed_code({"PROMPTFOO_FAILED_TEST_EXIT_CODE": text}) == wanted
