"""Words on the command line that are taken for something else than was meant: what is said instead."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from evenhand.cli import main


@pytest.fixture
def refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> pytest.CaptureFixture[str]:
    """What a command says, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return capsys


@pytest.mark.parametrize("word", ["mlfow", "team"])
def test_a_word_that_is_no_folder_is_no_remote(
    word: str, tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """It may be a slip: no folder is made of it."""
    with pytest.raises(SystemExit) as ended:
        main(["runs", "push", "--to", word])
    said = refused.readouterr().err
    assert ended.value.code == 2
    assert f"{word} is not a remote" in said
    assert f"./{word} for a new folder" in said
    assert ("Did you mean 'mlflow'?" in said) == (word == "mlfow")
    assert not (tmp_path / word).exists()


@pytest.mark.parametrize(("name", "tool"), [("raw.jsonl", "TOOL"), ("x.eval", "inspect")])
def test_a_file_of_another_tool_is_refused_with_the_tools(
    name: str, tool: str, tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """Where nobody said which tool wrote it; an ending that says it is believed."""
    (tmp_path / name).write_text("{}", "utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["import", name])
    said = refused.readouterr().err
    assert ended.value.code == 2
    assert f"evenhand import {tool} {name}" in said
    assert "langfuse" in said
    assert "promptfoo export" not in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["view", "--port", "99999"], "it is 99999, not a whole number from 0 to 65,535"),
        (["listen", "--port", "abc"], "it is 'abc', not a whole number from 0 to 65,535"),
        (["run", "--env-file", "nope.env"], "nope.env: does not exist"),
        (["import", "empty.json"], "empty.json is empty"),
        (["show", "promptfooconfig.yaml"], "promptfooconfig.yaml is a file, but not a run"),
        (["compare", "promptfooconfig.yaml", "x"], "promptfooconfig.yaml is a file, but not a run"),
        (
            ["gate", "--baseline", "promptfooconfig.yaml", "--margin", "0.1"],
            "promptfooconfig.yaml:1: this is not a baseline: the line is not JSON",
        ),
        (
            ["gate", "--margin", "0.1", "--to", "promptfooconfig.yaml"],
            "--to promptfooconfig.yaml is there, and is not a gate's",
        ),
        (["comment", "promptfooconfig.yaml"], "promptfooconfig.yaml holds no gate: it is not JSON"),
        (["run", "-o", "promptfooconfig.yaml"], "is a file that runs are made of"),
        (["--offline", "run", "x"], "comes after it: evenhand run --offline x"),
        (["-j", "4", "run"], "comes after it: evenhand run -j 4"),
        (["--of", ".", "cache", "clear"], "comes after it: evenhand cache --of . clear"),
        (["--frob", "run"], "No such option '--frob'"),
        (["cache", "clear", "--of"], "comes before `clear`: evenhand cache --of FOLDER clear"),
        (["cache", "explain", "--of=x", "k"], "evenhand cache --of=x explain k"),
        (["cache", "--of", "gpt-5", "clear"], "the cache is cleared as a whole, not by model"),
        (["cache", "explain", "zzz"], "no key begins with zzz"),
        (["tag", "latest", ""], "a tag is empty"),
        (["compare"], "there are no runs in or below"),
        (["runs", "rename"], "For example: evenhand runs rename"),
        (["export"], "Missing option '--to'.\n  For example: evenhand export"),
        (["init", "/"], "nothing is begun in /"),
        (["init", "/nope/deep/evals"], "there is no folder /nope/deep"),
        (["init", "--agent", "../nope/evals"], "/nope\n  Make it: mkdir -p"),
        (["run", "-o", "/nope/x.json"], "-o /nope/x.json: there is no folder /nope"),
        (["baseline", "--to", "/nope/x.evn"], "--to: there is no folder /nope"),
        (["cassette", "--to", "/nope/x.evn"], "--to: there is no folder /nope"),
        (["dataset", "show", "."], "is a folder, not a dataset"),
        (["run", "a.db"], "a.db: is the file of a run, not something to run"),
        (["check", "a.db"], "`evenhand show a.db` shows it"),
        (["run", "data.csv"], "data.csv: is data, not something to run"),
        (["check", "-t", "data.csv"], "data.csv: is an Excel workbook"),
        (["check", "-t", "data.jsonl"], "data.jsonl: is a Parquet file"),
        (["init", "--agent", "--agent-framework", "crewai"], "--agent and --agent-framework: each"),
        (
            ["init", "--python", "--from", "promptfooconfig.yaml"],
            "--python and --from: each creates",
        ),
        (["review", "lst"], "'lst' is not a command of `evenhand review`. Did you mean 'list'?"),
        (["info", "zzz"], "is not a command of `evenhand info`. There are: "),
        (["audit", "latest"], "`evenhand run` takes files and folders of evals"),
        (["gate", "latest~1"], "To look at a run: evenhand show latest~1"),
        (["run", "--draw", "flips"], "`evenhand gate` has it: --sample 200 --draw flips"),
        (
            ["gate", "--margin", "5%"],
            "it is '5%', not a number from 0 to 1,000,000,000,000: 5 % is 0.05",
        ),
        (
            ["calibrate", "--accept-risk", "10"],
            "it is 10, not a number from 0.001 to 0.999: 10 % is 0.1",
        ),
        (
            ["run", "--budget", "5%"],
            "it is '5%', not a number of US dollars from 0 to 1,000,000,000.",
        ),
    ],
)
def test_a_slip_is_refused_in_words_and_once(
    words: list[str], says: str, tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """No notation of a library's, and no file named twice."""
    (tmp_path / "empty.json").touch()
    (tmp_path / "a.db").write_bytes(b"SQLite format 3\x00")
    with zipfile.ZipFile(tmp_path / "data.csv", "w") as archive:
        archive.writestr("xl/workbook.xml", "<plain/>")
    (tmp_path / "data.jsonl").write_bytes(b"PAR1")
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: [a]\nproviders: [echo]\ntests: [{assert: [{type: contains, value: a}]}]\n"
    )
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = refused.readouterr().err
    assert ended.value.code == 2
    assert says in said
    assert said.count("nope.env") <= 1


def test_a_folder_that_was_deleted_is_no_bug_of_ours(
    tmp_path: Path, refused: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """Another terminal, or a switch of branches, may have taken it away."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SystemExit) as ended:
        main(["run"])
    said = refused.readouterr().err
    assert ended.value.code == 2
    assert "the current folder has been deleted" in said
    assert "Traceback" not in said


def test_a_folder_without_files_is_not_said_to_be_missing(
    tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """It was: with its own name as what was probably meant."""
    (tmp_path / "p.txt").mkdir()
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: ['file://p.txt']\nproviders: [echo]\ntests: [{vars: {a: b}}]\n"
    )
    with pytest.raises(SystemExit):
        main(["check"])
    said = refused.readouterr().err
    assert "p.txt is a folder without files" in said
    assert "Did you mean" not in said


def test_a_slip_in_latest_is_told(tmp_path: Path, refused: pytest.CaptureFixture[str]):
    """Beside the newest runs."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: [a]\nproviders: [echo]\ntests: [{assert: [{type: contains, value: a}]}]\n"
    )
    with pytest.raises(SystemExit):
        main(["run"])
    with pytest.raises(SystemExit) as ended:
        main(["show", "lastest"])
    assert ended.value.code == 2
    assert "Did you mean 'latest'? The newest: " in refused.readouterr().err


CONFIG = "prompts: ['file://p.txt']\nproviders: [echo]\ntests: t.csv\n"
CONFLICT = "<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> theirs\n"


def test_marks_of_a_merge_are_no_tests_of_a_promptfoo_folder(
    tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """In a table with one column each of them would be a case."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    (tmp_path / "p.txt").write_text("{{q}}")
    (tmp_path / "t.csv").write_text(f"q\n{CONFLICT}")
    with pytest.raises(SystemExit) as ended:
        main(["check"])
    assert ended.value.code == 2
    assert "t.csv:2: this line is a mark of an unresolved merge" in refused.readouterr().err


def test_marks_of_a_merge_in_a_prompt_are_a_hint(
    tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """A prompt may be about merges, so it is sent; and `check` counts the hint."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    (tmp_path / "p.txt").write_text(f"{{{{q}}}}\n{CONFLICT}")
    (tmp_path / "t.csv").write_text("q,__expected\none,contains:one\n")
    with pytest.raises(SystemExit) as ended:
        main(["check"])
    said = refused.readouterr()
    assert not ended.value.code
    assert "hint: p.txt:2:1: an unresolved merge conflict begins here" in said.err
    assert "no problems, 1 hint, and nothing was sent" in said.out


def test_inline_javascript_that_cannot_be_read_has_its_place_once(
    tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """The line of the config, and no second one with another column."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: [a]\nproviders: [echo]\ntests:\n"
        "  - assert: [{type: javascript, value: 'output.('}]\n"
    )
    with pytest.raises(SystemExit):
        main(["check"])
    said = refused.readouterr().err
    assert "the value is not JavaScript" in said
    assert said.count("promptfooconfig.yaml:4") == 1


def test_a_file_that_is_no_run_says_what_it_may_be(
    tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """A disk that was full leaves such files."""
    folder = tmp_path / ".evenhand/runs"
    folder.mkdir(parents=True)
    (folder / "01M85RVSSCF6NJC3QEJEJ350Y0.db").touch()
    with pytest.raises(SystemExit):
        main(["show"])
    said = refused.readouterr().err
    assert "is not a run file" in said
    assert "Other runs are not affected." in said


def test_a_file_of_labels_that_is_not_there_is_told_in_words(
    tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """Without an error number, and with where it was looked for."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: [a]\nproviders: [echo]\ntests: [{assert: [{type: contains, value: a}]}]\n"
    )
    with pytest.raises(SystemExit):
        main(["run"])
    with pytest.raises(SystemExit):
        main(["label", "--from", "none.csv"])
    said = refused.readouterr().err
    assert "none.csv cannot be read: No such file or directory" in said
    assert f"Looked in {tmp_path}" in said
    assert "Errno" not in said


@pytest.mark.parametrize("words", [("show",), ("run",), ("check",)])
def test_a_name_that_is_too_long_for_a_file_is_no_bug_of_ours(
    words: tuple[str, ...], refused: pytest.CaptureFixture[str]
):
    """A text that was passed in the place of a name, say."""
    with pytest.raises(SystemExit) as ended:
        main([*words, "x" * 5000 + ".db"])
    error = refused.readouterr().err
    assert ended.value.code == 2
    assert "no file has a name as long as this one" in error
    assert "Traceback" not in error
    assert len(error) < 400


STEERING = "x\x1b[31m\x9b\x07\x7f"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


@pytest.mark.parametrize(
    "words",
    [
        ["rename", "latest", STEERING],
        ["tag", "latest", STEERING],
        ["tag", "latest", STEERING, "--remove"],
        ["note", "latest", STEERING],
        ["cache", "explain", STEERING],
        ["init", STEERING],
        ["init", STEERING, "--agent"],
        ["dataset", "convert", "d.jsonl", f"{STEERING}.csv"],
        ["run", "--no-table", "-o", f"{STEERING}.json"],
        ["export", "latest", "--to", f"{STEERING}.csv"],
        *(
            [command, STEERING]
            for command in ("run", "check", "show", "delete", "resume", STEERING)
        ),
    ],
)
def test_no_command_steers_a_terminal_with_what_was_typed(
    words: list[str], tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """On stdout and stderr alike: an argument may come from somebody else's list."""
    (tmp_path / "d.jsonl").write_text('{"id": "a"}\n')
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: [a]\nproviders: [echo]\ntests: [{assert: [{type: contains, value: a}]}]\n"
    )
    with pytest.raises(SystemExit):
        main(["run", "--no-table"])
    refused.readouterr()
    with pytest.raises(SystemExit):
        main(words)
    said = "".join(refused.readouterr())
    assert "\\x9b\\x07" in said
    assert not CONTROL.search(said)


@pytest.mark.parametrize(
    ("words", "says", "code"),
    [
        (["tag", "latest"], "has no tags", 0),
        (["tag", "latest", "a", "--remove"], "had no tag a", 2),
        (["note", "latest"], "has no note", 0),
        (["note", "latest", ""], "has no note", 0),
        (["cache", "explain"], "the cache is empty", 0),
    ],
)
def test_a_command_with_nothing_to_show_says_so(
    words: list[str], says: str, code: int, tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """Silence could be anything."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: [a]\nproviders: [echo]\ntests: [{assert: [{type: contains, value: a}]}]\n"
    )
    with pytest.raises(SystemExit):
        main(["run", "--no-table"])
    refused.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert says in refused.readouterr().err
    assert ended.value.code == code


@pytest.mark.parametrize(
    ("table", "words", "says"),
    [
        (
            "audit]\nallow = 'x'",
            ["audit"],
            ":2: [tool.evenhand.audit]: `allow` is text, not a table",
        ),
        (
            "audit.allow]\nnothin = 'x'",
            ["audit"],
            "[tool.evenhand.audit]: allow: 'nothin' is neither a subject nor a finding. Did you mean 'nothing'?",
        ),
        ("viewer]\nreadrs = 1", ["view", "--serve"], ":2: [tool.evenhand.viewer] has no 'readrs'"),
        (
            "viewer.proxy]\nheadr = 'x'",
            ["view", "--serve"],
            "`proxy.headr` is not known\n  Did you mean 'header'?",
        ),
        (
            "judge]\nthen = 'openai:gpt-5'\nfrist = 'openai:decisions:x'",
            ["check"],
            "'frist' is not known (did you mean 'first'?); there is no 'first'",
        ),
    ],
)
def test_a_slip_in_the_projects_table_is_refused_once_with_its_line(
    table: str, words: list[str], says: str, tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """Also of a wing's table, and of a table in it."""
    (tmp_path / "pyproject.toml").write_text(f"[tool.evenhand.{table}\n")
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: [a]\nproviders: [echo]\ntests: [{assert: [{type: llm-rubric, value: a}]}]\n"
    )
    with pytest.raises(SystemExit) as ended:
        main(words)
    message = refused.readouterr().err
    assert ended.value.code == 2
    assert says in message
    assert "2 problems" not in message
    assert "Traceback" not in message
