"""A repository of prompts from the command line: run, sent, promoted, gone stale, looked at by CI."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import Run, in_process

from evenhand.testing import FakeProvider, Rule, Script

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "prompts"


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs a command line in a copy of the example."""
    shutil.copytree(EXAMPLE, tmp_path / "repo")
    monkeypatch.chdir(tmp_path / "repo")
    return in_process(capsys)


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch):
    """A provider that the environment leads to, answering as the example's script does."""
    with FakeProvider(Script.read(EXAMPLE / "offline.jsonl")) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        yield server


def rows(name: str, prompt: str = "surgical-diff") -> list[dict[str, Any]]:
    """The rows of a prompt's evidence."""
    return [json.loads(x) for x in Path("prompts", prompt, name).read_text().splitlines()]


def test_the_example_runs_offline_as_it_is(evenhand):
    """A folder of files as they have always been: cases, rubric, queries, hooks, a schema, another dialect's word."""
    ended = evenhand("run", "prompts/surgical-diff", "--offline")
    assert (ended.code, "6 of 6 passed" in ended.out) == (0, True)
    assert "trigger precision 1.00 of 2 · trigger recall 1.00 of 2" in ended.err
    assert evenhand("run", "prompts", "--offline").code == 0
    assert evenhand("prompt", "doctor").code == 0
    (row,) = rows(".eval.jsonl", "commit-message")
    assert (row["all_passed"], row["offline"]) == (True, True)


def test_errors_stand_beside_what_passed_in_the_line_on_evidence(evenhand):
    """Where nothing answers, no case passed, and none failed."""
    Path("offline.jsonl").write_text("")
    ended = evenhand("run", "prompts/commit-message", "--offline", "--no-progress")
    (line,) = [line for line in ended.err.splitlines() if "evidence: " in line]
    assert line.startswith("commit-message: 0 of 1 case passed · 1 error · evidence: ")


def test_the_send_that_is_named_next_counts(evenhand, online):
    """Never one of a text that counts already; without verify.sh that is named, too; a stale prompt lacks sends."""
    folder = Path("prompts/surgical-diff")
    meta = folder / "meta.yml"
    meta.write_text(
        meta.read_text().replace("{min_uses: 3,", "{min_uses: 2, addresses: [127.0.0.1],")
    )
    for number in range(2):
        said = evenhand("prompt", "promote", "surgical-diff").err.splitlines()[-1]
        assert said.startswith("next: evenhand prompt send surgical-diff --case "), said
        ended = evenhand(*said.split()[2:])
        assert ended.code == 0, (number, ended)
    assert evenhand("prompt", "promote", "surgical-diff").code == 0
    (folder / "verify.sh").unlink()
    meta.write_text(meta.read_text().replace("min_uses: 2", "min_uses: 9"))
    said = evenhand("prompt", "promote", "surgical-diff").err.splitlines()[-1]
    assert "next: write prompts/surgical-diff/verify.sh" in said


def test_a_prompt_earns_its_status_and_loses_it(evenhand, online):
    """Draft, three sends, tested; sends and a green eval, ready; an edit, and CI says that it is stale."""
    send = ("prompt", "send", "surgical-diff", "--case", "happy-path", "--var")
    assert evenhand("prompt", "promote", "surgical-diff").code == 1
    assert all(evenhand(*send, f"constraints=At most {n} lines.").code == 0 for n in range(3))
    ended = evenhand("prompt", "promote", "surgical-diff")
    assert (ended.code, "which is not the vendor's address" in ended.err) == (1, True)
    meta = Path("prompts/surgical-diff/meta.yml")
    meta.write_text(
        meta.read_text().replace("{min_uses: 3,", "{min_uses: 3, addresses: [127.0.0.1],")
    )
    assert evenhand("prompt", "promote", "surgical-diff").out == "surgical-diff: draft → tested\n"
    ended = evenhand("run", "prompts/surgical-diff", "--case", "nothing-to-mend")
    assert "partial, so that no gate counts it" in ended.err
    ended = evenhand("prompt", "promote", "surgical-diff")
    assert (ended.code, "the last one was partial" in ended.err) == (1, True)
    assert evenhand("run", "prompts/surgical-diff").code == 0
    assert evenhand("prompt", "promote", "surgical-diff").code == 0
    assert evenhand("prompt", "list", "--check").code == 0
    assert evenhand("prompt", "doctor", "--check").code == 0
    path = Path("prompts/surgical-diff/prompt.xml")
    path.write_text(path.read_text().replace("as few", "only as few"))
    ended = evenhand("prompt", "list", "--check")
    assert "surgical-diff falls short: 0 of 3 distinct" in ended.out
    assert "evenhand prompt send surgical-diff" in " ".join(ended.out.split())
    assert (ended.code, "marked ready without current evidence: surgical-diff" in ended.out) == (
        1,
        True,
    )
    assert evenhand("prompt", "doctor").code == 0
    ended = evenhand("prompt", "doctor", "--check")
    assert (ended.code, "FAIL surgical-diff" in ended.out) == (1, True)
    assert evenhand("prompt", "show", "surgical-diff").out.count("stale") == 1


def test_a_send_keeps_what_it_was(evenhand, online):
    """The keys it always had, the content, the model and the cost; the answer alone on stdout."""
    ended = evenhand("prompt", "send", "surgical-diff", "--case", "happy-path")
    assert ended.out.startswith("DIFF\n")
    (row,) = rows(".usage.jsonl")
    old = {
        "ts",
        "case",
        "vars_hash",
        "sent",
        "exit_code",
        "verified",
        "duration_ms",
        "prompt_words",
        "output_words",
    }
    assert old <= row.keys()
    wanted = {
        "case": "happy-path",
        "sent": True,
        "exit_code": 0,
        "verified": True,
        "output_words": 24,
    }
    assert {key: row[key] for key in wanted} == wanted
    assert row["model"] == "anthropic:claude-opus-4-7"
    assert row["tokens_out"] > 0


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        ((), "after its answer, which is paid for: evenhand show"),
        (("trial",), "after its answer, which is paid for, and before it was recorded"),
        (("trial", "reply", "body"), "in flight"),
    ],
)
def test_a_send_that_was_killed_is_told_by_the_next_one(
    evenhand, online, lost: tuple[str, ...], told: str
):
    """It may have been paid for, and has no row. Once a later send has one, nothing is told."""
    send = ("prompt", "send", "surgical-diff", "--case", "happy-path")
    assert "the last send" not in evenhand(*send).err
    (run,) = Path(".evenhand/sends/runs").glob("*.db")
    Path("prompts/surgical-diff/.usage.jsonl").unlink()
    with sqlite3.connect(run) as db:  # as a kill leaves it
        for table in lost:
            db.execute(f"delete from {table}")
    assert told in evenhand(*send).err
    assert "the last send" not in evenhand(*send).err


def test_a_guard_that_says_no_sends_and_keeps_nothing(evenhand, online):
    """The model is not asked, and there is no row."""
    ended = evenhand(
        "prompt", "send", "surgical-diff", "--var", "file=" + "x\n" * 500, "--var", "bug=x"
    )
    assert ended.code == 2
    assert (
        "guard.sh failed for surgical-diff (exit 1)\n  the file has more than 400 lines"
        in ended.err
    )
    assert not Path("prompts/surgical-diff/.usage.jsonl").exists()
    assert online.ledger.total == 0


def test_without_a_key_nothing_is_sent_nor_kept(evenhand, monkeypatch):
    """What to set is said; a send that never was is no use of the prompt."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    ended = evenhand("prompt", "send", "commit-message", "--var", "diff=x")
    assert ended.code == 2
    assert "there is no API key for anthropic:" in ended.err
    assert "Set ANTHROPIC_API_KEY in the environment. Or use --offline." in ended.err
    assert not Path("prompts/commit-message/.usage.jsonl").exists()


def test_the_file_of_evidence_is_named_as_it_is_found_from_here(evenhand):
    """With its whole path below the current folder."""
    ended = evenhand("run", "prompts/surgical-diff", "--offline", "--no-progress")
    (line,) = [line for line in ended.err.splitlines() if "evidence: " in line]
    assert Path(line.partition("evidence: ")[2].partition(",")[0]).is_file()


def test_cases_of_eval_yml_are_sent_by_name(evenhand, online):
    """Also those whose inputs stand in eval.yml; of another name, all are listed."""
    folder = Path("prompts/commit-message")
    diffs = "cases:\n  - {name: small, inputs: {diff: ONE LINE}, assert: [{max_words: 60}]}\n"
    (folder / "eval.yml").write_text(diffs, "utf-8")
    assert "ONE LINE" in evenhand("prompt", "render", "commit-message", "--case", "small").out
    ended = evenhand("prompt", "render", "commit-message", "--case", "smal")
    assert (ended.code, ended.out) == (2, "")
    assert "commit-message has no case 'smal'" in ended.err
    assert "Did you mean 'small'?" in ended.err


def test_a_send_that_crashed_is_no_use(evenhand, monkeypatch):
    """No answer: exit code 3, and a row that says so and opens no gate."""
    with FakeProvider(Script([Rule((), fault="400")], "")) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        ended = evenhand("prompt", "send", "commit-message", "--var", "diff=x")
    assert ended.code == 3
    (row,) = rows(".usage.jsonl", "commit-message")
    assert (row["sent"], row["exit_code"], row["verified"]) == (True, 1, None)
    assert "0 of 3 distinct successful sends" in evenhand("prompt", "promote", "commit-message").err


def test_verify_has_the_last_word(evenhand, online):
    """Its no is exit code 1 and a row that says false; one that hangs, too."""
    path = Path("prompts/surgical-diff/verify.sh")
    path.write_text("#!/bin/sh\necho not this >&2\nexit 1\n")
    ended = evenhand("prompt", "send", "surgical-diff", "--case", "happy-path")
    assert (ended.code, "verify.sh says no: not this" in ended.err) == (1, True)
    path.write_text("#!/bin/sh\nsleep 60\n")
    meta = Path("prompts/surgical-diff/meta.yml")
    meta.write_text(meta.read_text() + "hooks: {timeout_s: 0.3}\n")
    ended = evenhand("prompt", "send", "surgical-diff", "--case", "happy-path")
    assert (ended.code, "took longer than 0.3 s" in ended.err) == (1, True)
    assert [row["verified"] for row in rows(".usage.jsonl")] == [False, False]


def test_rendering_prints_and_sends_nothing(evenhand):
    """In one pass, the command line over the case, the guard over both; kept as a dry row."""
    words = ("prompt", "render", "surgical-diff", "--case", "happy-path", "--var", "bug={{file}}")
    ended = evenhand(*words, "--var", "constraints=")
    assert ended.code == 0
    assert "<bug>{{file}}</bug>" in ended.out
    assert "<rule>Add no comments.</rule>" in ended.out
    (row,) = rows(".usage.jsonl")
    assert (row["sent"], row["verified"], row["output_words"]) == (False, None, 0)
    ended = evenhand("prompt", "render", "surgical-diff")
    assert (ended.code, "'file' has no value" in ended.err) == (2, True)


def test_a_file_can_be_a_variable(evenhand, tmp_path):
    """Its text is file_contents."""
    (tmp_path / "a.txt").write_text("from a file")
    path = Path("prompts/commit-message/prompt.xml")
    path.write_text("{{diff}} {{file_contents}}")
    words = (
        "prompt",
        "render",
        "commit-message",
        "--var",
        "diff=d",
        "--var-file",
        str(tmp_path / "a.txt"),
    )
    assert evenhand(*words).out == "d from a file\n"


@pytest.mark.parametrize(
    "words",
    [
        ("prompt", "show", "nobody"),
        ("prompt", "show", "../surgical-diff"),
        ("prompt", "send", "surgical-diff", "--case", "../../x"),
        ("prompt", "send", "surgical-diff", "--var", "x"),
        ("prompt", "send", "surgical-diff", "--case", "happy-path", "--model", "nobody:x"),
        ("prompt", "promote", "surgical-diff", "--force"),
        ("prompt", "export-skill", "surgical-diff"),
        ("prompt", "new", "surgical-diff"),
        ("prompt", "doctor", "nobody"),
        ("prompt", "doctor", "/prompts/nobody"),
        ("run", "prompts/surgical-diff", "--case", "nobody"),
        ("run", "prompts/surgical-diff", "--filter-metadata", "prompt"),
        ("run", "prompts/surgical-diff", "--providers", "echo"),
        ("run", "prompts/surgical-diff", "-k", "x"),
        ("check", "prompts/surgical-diff", "--grader", "echo"),
        ("run", "--case", "x", "prompts/surgical-diff/examples"),
    ],
)
def test_mistakes_are_told_without_a_traceback(evenhand, words):
    """Exit code 2, a message, nothing written."""
    before = sorted(str(p) for p in Path().rglob("*"))
    ended = evenhand(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.strip()
    assert "Traceback" not in ended.err
    assert sorted(str(p) for p in Path().rglob("*")) == before


def test_options_of_another_door_are_refused_by_name(evenhand):
    """All of them at once, and with what to do instead."""
    words = (
        "run",
        "prompts",
        "--offline",
        "--tag",
        "team=a",
        "--delay",
        "5",
        "--prompt-prefix",
        "x",
    )
    said = evenhand(*words).err
    assert "--prompt-prefix, --tag NAME=VALUE, --delay are for promptfoo configs" in said
    assert "Use --filter-metadata tags=TAG" in evenhand("run", "prompts", "--tag", "x").err


def test_filters_take_cases_and_queries(evenhand):
    """By their name, their prompt, and what they should come to."""
    run = ("run", "prompts", "--offline", "--json")

    def cases(*words: str) -> list[str]:
        return [trial["description"] for trial in json.loads(evenhand(*run, *words).out)["trials"]]

    assert cases("--filter-pattern", "^nothing") == ["nothing-to-mend"]
    assert all(
        "should not match" in case for case in cases("--filter-metadata", "should_match=false")
    )
    assert len(cases("--filter-metadata", "prompt=commit-message")) == 1
    assert len(cases("--filter-prompts", "surgical-diff: triggering")) == 4
    assert rows(".eval.jsonl")[-1]["partial"] is True


def test_an_edit_moves_the_date(evenhand, monkeypatch):
    """Where something was changed, and only there."""
    meta = Path("prompts/surgical-diff/meta.yml")
    before = meta.read_text()
    monkeypatch.setenv("EDITOR", "true")
    evenhand("prompt", "edit", "surgical-diff")
    assert meta.read_text() == before
    monkeypatch.setenv(
        "EDITOR", f"{sys.executable} -c \"import sys; open(sys.argv[1], 'a').write('more')\""
    )
    assert evenhand("prompt", "edit", "surgical-diff").code == 0
    assert "updated: 2026-10-02" not in meta.read_text()
    monkeypatch.setenv("EDITOR", "no-such-editor")
    assert evenhand("prompt", "edit", "surgical-diff").code == 2


def test_documents_for_programs(evenhand, online):
    """list, show, send and doctor print one JSON document each."""
    assert {row["id"] for row in json.loads(evenhand("prompt", "list", "--json").out)} == {
        "surgical-diff",
        "commit-message",
    }
    sent = json.loads(
        evenhand("prompt", "send", "surgical-diff", "--case", "happy-path", "--json").out
    )
    assert (sent["output"][:4], sent["row"]["verified"]) == ("DIFF", True)
    shown = json.loads(evenhand("prompt", "show", "surgical-diff", "--json").out)
    assert (shown["usage"]["sent"], shown["next"]["status"]) == (1, "tested")
    looked = json.loads(evenhand("prompt", "doctor", "--json").out)
    assert [one["problems"] for one in looked] == [[], []]
    assert json.loads(evenhand("prompt", "log", "surgical-diff").out)["sent"] is True


def test_doctor_takes_the_paths_that_pre_commit_gives(evenhand):
    """A file below prompts/ID stands for it; something wrong is exit code 1, with file and line."""
    path = Path("prompts/surgical-diff/prompt.xml")
    path.write_text(path.read_text() + "{{nobody}}")
    ended = evenhand("prompt", "doctor", str(path), "prompts/commit-message/meta.yml")
    assert ended.code == 1
    assert "PASS commit-message" in ended.out
    assert "prompts/surgical-diff/prompt.xml:16: 'nobody' is not declared" in ended.out
    assert evenhand("prompt", "doctor", "commit-message").code == 0
    ended = evenhand("prompt", "doctor", "shared/empty-change/inputs.yml")
    assert (ended.code, ended.out.splitlines()[-1]) == (1, "2 prompts, 1 with problems, 2 warnings")


def test_doctor_reads_assertions_of_the_other_dialect(evenhand):
    """With their line, before anything is run."""
    path = Path("prompts/surgical-diff/eval.yml")
    path.write_text(path.read_text() + "  - {name: x, inputs: {}, assert: [{type: contians}]}\n")
    ended = evenhand("prompt", "doctor", "surgical-diff")
    assert (ended.code, "Did you mean 'contains'?" in ended.out) == (1, True)


def test_doctor_finds_the_repository_of_a_path(evenhand, monkeypatch):
    """Where it is a folder of a larger one."""
    root = Path.cwd()
    monkeypatch.chdir(root.parent)
    ended = evenhand("prompt", "doctor", "repo/prompts/commit-message/meta.yml")
    assert (ended.code, ended.out.splitlines()[0]) == (0, "PASS commit-message")
    assert evenhand("prompt", "doctor").code == 2
    assert evenhand("prompt", "-C", "repo", "doctor", "commit-message").code == 0


def test_the_hook_for_pre_commit_names_what_there_is():
    """Its definition calls a command that exists, for the files that it is about."""
    import re

    import yaml

    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"] == "evenhand prompt doctor"
    assert re.search(hook["files"], "prompts/x/meta.yml")
    assert not re.search(hook["files"], "src/x.py")


def test_a_run_that_was_stopped_is_no_evidence_until_it_is_over(evenhand, monkeypatch):
    """Without a network nothing is settled, and no row is kept; resumed, it is."""
    with FakeProvider(Script([Rule((), fault="401")], "")) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        assert evenhand("run", "prompts/commit-message").code == 3
    assert not Path("prompts/commit-message/.eval.jsonl").exists()
    with FakeProvider(Script.read(EXAMPLE / "offline.jsonl")) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        assert evenhand("resume").code == 0
    (row,) = rows(".eval.jsonl", "commit-message")
    assert row["all_passed"] is True


def test_verbs_of_the_shell_work_from_anywhere(evenhand, online, tmp_path):
    """Sourced, a verb finds its repository: it fills the prompt in, and sends it where it is told to."""
    evenhand("prompt", "index")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "evenhand"
    program.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "from evenhand.cli import main; main()" "$@"\n'
    )
    program.chmod(0o755)
    verbs = "gcm --var diff=x; gcm --var diff=x --send"
    script = (
        f"export PATH={tmp_path / 'bin'}:$PATH; . {Path('aliases.sh').absolute()}; cd /; {verbs}"
    )
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, timeout=50
    )
    rendered, _, answer = done.stdout.rpartition("\n{")
    assert "You write commit messages" in rendered
    assert json.loads("{" + answer)["subject"] == "Raise the timeout to 30 s"
    assert [row["sent"] for row in rows(".usage.jsonl", "commit-message")] == [False, True]


def test_the_site_shows_the_last_run_case_by_case(evenhand, online):
    """By the names of the cases, with what was answered; without the run, what its row says."""
    evenhand("run", "prompts/surgical-diff", "--no-cache")
    ended = evenhand("prompt", "site", "--out", "pages")
    assert (ended.code, ended.out) == (0, "pages/index.html\n")
    page = Path("pages/prompts/surgical-diff.html").read_text()
    assert "small-file-happy-path" in page
    assert "return sum(values) / len(values) + 1" in page
    assert "sent to 127.0.0.1:" in page
    shutil.rmtree(".evenhand")
    evenhand("prompt", "site", "--out", "pages")
    page = Path("pages/prompts/surgical-diff.html").read_text()
    assert "6 of 6 cases passed" in page
    assert "answers are not shown" in page


def test_prompts_with_their_own_replies_are_run_one_at_a_time(evenhand: Run):
    """Of one prompt, its own replies are found whichever way it is named; of several, no reply is another's."""
    for id_ in ("commit-message", "surgical-diff"):
        shutil.copy("offline.jsonl", Path("prompts", id_))
    Path("offline.jsonl").unlink()
    ended = evenhand("run", "prompts", "--offline")
    assert ended.code == 2
    assert "there is no offline.jsonl in . that answers 2 prompts" in ended.err
    assert "its own replies: evenhand run prompts/commit-message --offline" in ended.err
    shutil.rmtree("prompts/commit-message")
    assert evenhand("run", "prompts", "--offline").code == 0
    assert evenhand("check", "prompts", "--offline").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("run", "prompts/commit-message"),
        ("check", "prompts/commit-message"),
        ("audit", "prompts/commit-message"),
        ("prompt", "send", "commit-message", "--case", "one-line"),
    ],
    ids=" ".join,
)
def test_where_no_script_answers_a_prompt_its_own_places_are_named_and_no_others(
    evenhand: Run, words: tuple[str, ...]
):
    """Its folder and the one above `prompts`, whatever lies in those of other prompts or of evals."""
    Path("evals").mkdir()
    shutil.copy("offline.jsonl", "evals")
    Path("offline.jsonl").rename("prompts/surgical-diff/offline.jsonl")
    ended = evenhand(*words, "--offline")
    assert ended.code == 2
    assert "no offline.jsonl in prompts/commit-message, or in .\n  Write it" in ended.err
    Path("prompts/surgical-diff/offline.jsonl").rename("prompts/commit-message/offline.jsonl")
    assert "no offline.jsonl" not in evenhand(*words, "--offline").err


@pytest.mark.parametrize("typed", ["prompts/commit-message", "prompts/commit-message/"])
def test_the_path_of_a_prompt_in_place_of_its_id_is_answered_with_the_id(evenhand: Run, typed: str):
    """`evenhand run` takes the path, and the commands of `prompt` the id."""
    ended = evenhand("prompt", "show", typed)
    assert (ended.code, "Did you mean 'commit-message'?" in ended.err) == (2, True)
