"""The help of each command: examples that can be typed, and lines that a narrow terminal can show."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from evenhand.cli import examples, main
from evenhand.cli.grouped import GROUPS, PROMPTFOO_NAMES
from evenhand.cli.verbs import COMMANDS, MOVED, SECTIONS, evenhand
from evenhand.core.wing import our_wings

NARROW = 60
EXAMPLES = {
    **examples.EXAMPLES,
    **{name: one.examples for wing in our_wings() for name, one in wing.commands.items()},
}


def commands(
    command: click.Command, words: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Every command that help shows by its words, the first one by none."""
    yield " ".join(words), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            if inner.hidden:  # a former name
                continue
            yield from commands(inner, (*words, name))


ALL = dict(commands(evenhand))


def help_of(name: str, width: int = NARROW, *, every_option: bool = False) -> str:
    """What a command says of itself on a terminal of this width."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        words = [*name.split(), "--help-all" if every_option else "--help"]
        evenhand.main(words, "evenhand", standalone_mode=False, terminal_width=width)
    return text.getvalue()


@pytest.mark.parametrize("name", ALL)
def test_the_help_of_each_command_ends_with_examples(name: str):
    """Two to four lines that can be typed."""
    text = help_of(name)
    examples = text.rpartition("Examples:\n")[2].strip().splitlines()
    assert 2 <= len(examples) <= 4
    assert all("evenhand" in line for line in examples)


def test_there_are_no_examples_of_what_there_is_not():
    """The table names commands that exist, each once."""
    assert set(EXAMPLES) == set(ALL) - {""}


@pytest.mark.parametrize(
    "line", sorted({line for lines in EXAMPLES.values() for line in lines}), ids=str
)
def test_each_example_is_understood(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its command, its options and what they are given; nothing is run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-evals").mkdir()
    assert len(line) <= 57  # with its indentation, on one line of a terminal of 60
    inner = re.search(r"\$\((.*)\)", line)
    words = shlex.split(inner[1] if inner else line.partition("|")[0])
    assert words.pop(0) == "evenhand"
    command: click.Command = evenhand
    context: click.Context | None = None
    while True:
        context = command.make_context(command.name, words, parent=context)
        if not isinstance(command, click.Group):
            return
        words = (
            [*context._protected_args, *context.args]
            if hasattr(context, "_protected_args")
            else context.args
        )
        if not words:
            return
        name, found, words = command.resolve_command(context, words)
        assert found is not None, name
        command = found


NO_DOCUMENT = {
    "it serves or starts others": "watch view 'info mcp'",
    "it writes what it is told to write, or changes it": """
        export baseline "runs cassette" comment init "runs rename" "runs delete"
        "info schema" "cache clear" "new eval" "new judge" "new prompt-function"
        "data convert" "data enrich" "data from-traces" "data generate" "data split"
        "prompt edit" "prompt export-skill" "prompt index" "prompt migrate" "prompt new" "prompt promote"
        "prompt site" "review cases" "review draw" "review label" "review notes"
        "review ratify" """,
    "it prints a file, a prompt or lines of JSON as they are": """
        "info workers" "info completion" "prompt render" "prompt log" """,
}
"""Commands without `--json`, by the reason."""


def test_every_command_that_prints_data_has_a_document():
    """`--json`, under one help; those without are listed with the reason, and none is listed that has it."""
    named = {name for names in NO_DOCUMENT.values() for name in shlex.split(names)}
    leaves = {name: one for name, one in ALL.items() if not isinstance(one, click.Group)}
    with_json = {
        name
        for name, one in leaves.items()
        if any("--json" in parameter.opts for parameter in one.params)
    }
    assert leaves.keys() - with_json == named


@pytest.mark.parametrize("name", ALL)
def test_help_fits_into_sixty_columns(name: str):
    """No line is longer, of options, examples or exit codes."""
    assert [line for line in help_of(name).splitlines() if len(line.rstrip()) > NARROW] == []


def completed(shell: str, *words: str, folder: Path) -> list[str]:
    """What a shell is offered for the last of these words."""
    env = {
        **os.environ,
        "_EVENHAND_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": shlex.join(["evenhand", *words])
        if words[-1]
        else " ".join(["evenhand", *words]),
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-c", "from evenhand.cli import main; main()"],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one run and one prompt."""
    from evenhand.core.expect import Trial
    from evenhand.engine import door
    from evenhand.engine.door import Settings
    from evenhand.testing import example

    async def body(trial: Trial) -> str:
        return trial.case.id

    door.run(example(1, body), Settings(home=tmp_path / ".evenhand"))
    (tmp_path / "prompts" / "refunds").mkdir(parents=True)
    (tmp_path / "prompts" / "refunds" / "meta.yml").write_text("id: refunds\n")
    return tmp_path


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_offered_commands_options_runs_and_prompts(shell: str, folder: Path):
    """In each shell's own form; a run by as much of its id as finds it."""
    run = next((folder / ".evenhand" / "runs").glob("*.db")).stem

    def offered(*words: str) -> str:
        return "\n".join(completed(shell, *words, folder=folder))

    assert "compare" in offered("comp")
    assert "--baseline" in offered("show", "--base")
    assert run[:10] in offered("show", "")
    assert run[:12] in offered("show", run[:12].lower())
    assert run[:10] in offered("compare", "latest", "")
    assert "latest~1" in offered("compare", "lat")
    assert "refunds" in offered("prompt", "show", "re")
    assert offered("prompt", "show", "x") == ""
    assert "file" in offered("run", "ev")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_lines_for_a_shell_are_printed(shell: str, folder: Path):
    """They call this program by its name."""
    done = subprocess.run(
        [sys.executable, "-c", "from evenhand.cli import main; main()", "completion", shell],
        cwd=folder, capture_output=True, text=True, check=False, timeout=50,
    )  # fmt: skip
    assert done.returncode == 0
    assert f"_EVENHAND_COMPLETE={shell}_complete" in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_wrong_command_of_a_group_completes_to_nothing_and_no_error(shell: str, folder: Path):
    """An error would be printed into what is being typed."""
    assert completed(shell, "review", "foo", "", folder=folder) is not None


def test_bash_completes_what_is_typed(folder: Path):
    """Sourced as the help says, it fills in the id of a run."""
    run = next((folder / ".evenhand" / "runs").glob("*.db")).stem
    program = folder / "bin" / "evenhand"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "from evenhand.cli import main; main()" "$@"\n'
    )
    program.chmod(0o755)
    script = (
        'eval "$(evenhand info completion bash)"; COMP_WORDS=(evenhand show ""); COMP_CWORD=2; '
        '_evenhand_completion evenhand; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False, timeout=50,
        env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.stdout.split() == [run[:10]]


def test_what_info_has_can_be_found_by_who_looks_for_completion_or_for_mcp():
    """They stand in the list of commands."""
    _, summary = COMMANDS["info"]
    assert "shell completion" in summary
    assert "MCP server" in summary


@pytest.mark.parametrize(
    "words",
    [("scorers",), ("providers",), ("doctor",), ("prompt", "list"), ("prompt", "show", "refunds")],
)
def test_lists_fit_into_a_terminal_of_sixty_columns(words: tuple[str, ...], tmp_path: Path):
    """On a terminal they are wrapped; in a pipe each thing stays on one line."""
    import fcntl
    import pty
    import struct
    import termios

    program = [sys.executable, "-c", "from evenhand.cli import main; main()"]
    subprocess.run(
        [*program, "prompt", "new", "refunds"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=50,
    )
    main_end, their_end = pty.openpty()
    fcntl.ioctl(their_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, NARROW, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    child = subprocess.Popen(
        [*program, *words], cwd=tmp_path, env=env, stdout=their_end, stderr=their_end
    )
    os.close(their_end)
    written = b""
    while True:
        try:
            piece = os.read(main_end, 65536)
        except OSError:  # how a terminal on Linux says that nobody writes any more
            break
        if not piece:
            break
        written += piece
    child.wait(50)
    os.close(main_end)
    lines = written.decode().splitlines()
    assert len(lines) > 2
    unbroken = 48  # an id or a path is not cut
    assert [
        line for line in lines if len(line) > NARROW and max(map(len, line.split())) < unbroken
    ] == []


def test_each_option_of_run_stands_under_one_heading_and_headings_name_only_options_that_exist():
    """So that an option that is added is put where one would look for it."""
    named = [name for names in GROUPS.values() for name in names.split()]
    assert len(named) == len(set(named))
    run, gate = (
        {one.name for one in ALL[name].params if isinstance(one, click.Option)}
        for name in ("run", "gate")
    )
    assert run | gate == set(named)
    text = help_of("run", every_option=True)
    assert [line for line in text.splitlines() if line.removesuffix(":") in GROUPS] == [
        f"{heading}:" for heading in GROUPS
    ]


def test_the_help_of_run_shows_what_people_use_daily_and_all_options_on_request():
    """Twenty of its options, none under a name of promptfoo's; and with `--help-all` each, theirs last."""
    short = help_of("run")
    options = re.findall(r"^  ((?:-\w, )?--[\w-]+|-\w )", short, re.MULTILINE)
    assert 15 <= len(options) <= 24
    assert not PROMPTFOO_NAMES & set(options)
    whole = help_of("run", every_option=True)
    for one in ALL["run"].params:
        if isinstance(one, click.Option) and not one.hidden:
            assert all(f"{name}" in whole for name in one.opts), one.opts
    head, _, last = whole.partition("Names that promptfoo has")
    assert not [name for name in PROMPTFOO_NAMES if re.search(rf"{name}[ ,\n]", head)]
    assert all(name in last for name in PROMPTFOO_NAMES)


def test_a_newcomer_sees_at_most_eighteen_commands_and_a_few_groups():
    """Under six headings; each command once, and each that a wing brings where the wing says."""
    top = [name for name in ALL if name and " " not in name]
    groups = [name for name in top if isinstance(ALL[name], click.Group)]
    assert sorted(name for names in SECTIONS.values() for name in names.split()) == sorted(top)
    assert len(SECTIONS) == 6
    assert len(set(top) - set(groups) - {"import"}) <= 18
    assert len(groups) <= 7


def test_the_help_of_all_commands_has_those_of_groups_and_earlier_names():
    """Which the short help leaves out."""
    short, long = help_of("", 100), help_of("", 100, every_option=True)
    for words in ("runs list", "prompt send", "info power"):
        assert f"\n  {words} " not in short
        assert f"\n  {words} " in long
    for name, now in MOVED.items():
        assert not re.search(rf"\n  {name} +evenhand {now}\n", short)
        assert re.search(rf"\n  {name} +evenhand {now}\n", long)
    assert "--help-all" in short


@pytest.mark.parametrize("name", sorted(MOVED))
def test_an_earlier_name_of_a_command_works_and_says_todays(
    name: str, capsys: pytest.CaptureFixture[str]
):
    """On stderr; its help is that of the command."""
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    written = capsys.readouterr()
    assert written.err == f"evenhand {name} is now called: evenhand {MOVED[name]}\n"
    assert written.out.startswith(f"Usage: evenhand {MOVED[name].removesuffix(' --errors')} ")


DOCS = Path(__file__).resolve().parents[3] / "docs"
BLOCK = re.compile(r"^```(?:sh|console|text|yml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"\bevenhand (?:run|gate|check|resume|regrade) [^|\n\"#]*")


def test_the_short_help_has_every_option_that_an_example_or_a_guide_begins_with():
    """The examples of each command, the first line of each page, and the workflows of the page on CI."""
    blocks = [BLOCK.findall(page.read_text("utf-8")) for page in sorted(DOCS.glob("*.md"))]
    ci = (DOCS / "ci.md").read_text("utf-8")
    workflows = re.findall(r"^```yml\n(.*?)^```", ci, re.MULTILINE | re.DOTALL)
    lines = [line for found in blocks if found for line in LINE.findall(found[0])[:1]]
    lines += [line for text in workflows for line in LINE.findall(text)]
    lines += [line for each in EXAMPLES.values() for line in each if LINE.match(line)]
    missing: set[tuple[str, str]] = set()
    for line in lines:
        _, name, *words = shlex.split(line)
        text = help_of(name)
        options = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        missing |= {
            (name, one) for one in options if not re.search(rf"^  .*{one}\b", text, re.MULTILINE)
        }
    assert len(lines) > 20
    assert missing == set()


@pytest.mark.parametrize("name", ALL)
def test_no_help_has_a_sign_that_a_terminal_cannot_show(name: str):
    """Marks that click takes out of a paragraph's beginning stay where no empty line is before them."""
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]|\\b", help_of(name))
