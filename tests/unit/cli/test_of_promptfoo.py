"""Command lines of promptfoo's: taken, or answered with a sentence of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.promptfoo_tables import FLAGS
from tests.e2e.commands import Run, in_process

from evenhand.cli.other_words import CALLED, MISSING, OPTIONS

COMMANDS = """
eval init view mcp redteam share auth cache code-scans config debug delete export generate feedback import list logs
scan-model optimize retry validate show help
""".split()
"""Of `promptfoo --help`, 0.123."""

CONFIG = """
prompts: ["hi {{x}}"]
providers: [echo]
tests: [{vars: {x: a}, assert: [{type: contains, value: hi}]}]
"""


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Command lines in a folder with a config and a hook."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    (tmp_path / "hooks.py").write_text(
        "from pathlib import Path\n\n\ndef afterAll(context, hook):\n    Path('called').touch()\n"
    )
    monkeypatch.chdir(tmp_path)
    return in_process(capsys)


def test_every_command_of_promptfoos_is_one_or_is_answered(evenhand: Run) -> None:
    """With what it is called here, or why it isn't there; a list of all commands answers nothing."""
    for command in COMMANDS:
        ended = evenhand(command, "--help")
        if ended.code != 0:
            assert ended.code == 2, command
            assert command in CALLED or command in MISSING, command
            assert "There are:" not in ended.err, command
    for words in ("show eval latest", "export eval latest -o x.json", "delete eval latest"):
        verb = words.split()[0]
        ours = "runs delete" if verb == "delete" else verb
        assert (
            f"promptfoo's '{verb} eval latest' is evenhand {ours} latest."
            in evenhand(*words.split()).err
        )


def test_every_option_of_promptfoo_eval_is_taken_or_answered(evenhand: Run) -> None:
    """Each option of its help."""
    plain = (
        "-c --config -p --prompts -r --providers -t --tests --vars -v -a --assertions --model-outputs"
    ).split()
    help_ = evenhand("run", "--help-all").out
    for flag in FLAGS:
        if (
            flag in ("--no-share", *plain)
            or f"{flag} " in help_
            or f"{flag}," in help_
            or f"{flag}\n" in help_
        ):
            continue
        ended = evenhand("run", flag)
        assert ended.code == 2, flag
        assert OPTIONS["run"][flag] in " ".join(ended.err.split()), flag


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("view -y", "opened without a question"),
        ("view -n", "--no-browser"),
        ("view --no-open", "--no-browser"),
        ("init --no-interactive", "Nothing is asked."),
        ("import x.json --new-id", "imported once"),
        ("export latest -o x.json", "--to"),
        ("retry latest -c promptfooconfig.yaml", "config"),
    ],
)
def test_options_of_other_commands_are_answered(words: str, answer: str, evenhand: Run) -> None:
    """What to do instead stands beside the option."""
    ended = evenhand(*words.split())
    assert ended.code == 2
    assert answer in " ".join(ended.err.split())


def test_a_command_line_from_a_ci_file_runs_as_it_is(evenhand: Run) -> None:
    """With options that change nothing here, and a hook."""
    line = "run -c promptfooconfig.yaml --no-share --table --no-progress-bar -x file://hooks.py:afterAll"
    ended = evenhand(*line.split())
    assert ended.code == 0, ended.err
    assert Path("called").is_file()
