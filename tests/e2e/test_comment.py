"""`evenhand comment`, as jobs of GitHub Actions and GitLab CI call it, against a host over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from tests.unit.wings.code_hosts.fake_hosts import BROKEN, READ_ONLY, FakeHost, serving

from evenhand.cli import main
from evenhand.wings.code_hosts import comments

NOTHING = ("GITHUB_", "GITLAB_", "CI_", "CI")
DOCUMENT: dict[str, Any] = {
    "schema": "evenhand.gate/1",
    "verdict": "worse",
    "margin": 0.05,
    "title": "support desk",
    "baseline": "evals/b.evn",
    "run": "01M848B4YMSDT710651PEXDC26",
    "asked": 40,
    "taken": 160,
    "of": 200,
    "cost_usd": 0.04,
    "results": [
        {
            "metric": "passed",
            "variant": "plain",
            "verdict": "worse",
            "cases": 200,
            "text": "-12 points [-20, -5]",
            "kind": "rate",
            "better": 1,
            "worse": 2,
            "same": 197,
            "where": "/repo/evals/refunds.py:12",
            "changed": [
                {"case": "a", "name": "refund\n%0A::error::@ann", "verdict": "worse", "trial": 3},
                {"case": "b", "name": "b", "verdict": "worse", "baseline": 1, "now": 0.5},
                {"case": "c", "name": "c", "verdict": "better", "baseline": 0, "now": 1},
            ],
        }
    ],
}
PULL = {
    "number": 12,
    "head": {"sha": "a" * 40, "repo": {"full_name": "o/r"}},
}

Comment = Callable[..., tuple[int, str, str]]


@pytest.fixture
def job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Comment:
    """`evenhand comment` with these variables; its exit code, and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comments, "SETTLE_S", 0.01)
    (tmp_path / "gate.json").write_text(json.dumps(DOCUMENT))

    def run(*words: str, event: Any = None, **env: str) -> tuple[int, str, str]:
        import os

        for name in list(os.environ):
            if name.startswith(NOTHING):
                monkeypatch.delenv(name)
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        if event is not None:
            (tmp_path / "event.json").write_text(json.dumps(event))
            monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json"))
        code: Any = 0
        try:
            main(["comment", "gate.json", *words])
        except SystemExit as ended:
            code = ended.code
        printed = capsys.readouterr()
        return code or 0, printed.out, printed.err

    return run


@pytest.fixture
def github() -> Iterator[FakeHost]:
    """A GitHub."""
    with serving(FakeHost()) as host:
        yield host


def variables(host: FakeHost, **more: str) -> dict[str, str]:
    """What GitHub Actions sets."""
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": host.root,
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_TOKEN": "token",
        "GITHUB_RUN_ID": "77",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_WORKSPACE": "/repo",
        "GITHUB_STEP_SUMMARY": "summary.md",
        **more,
    }


def test_a_pull_request_gets_one_comment_a_summary_and_an_annotation(
    job: Comment, github: FakeHost, tmp_path: Path
):
    """Updated by the next push."""
    env = variables(github)
    code, out, err = job(event={"pull_request": PULL}, **env)
    assert (code, err) == (0, "comment created: https://host.invalid/12#1001\n")
    assert out == (
        "::error file=evals/refunds.py,line=12,title=evenhand gate::"
        "passed is worse: -12 points [-20, -5]. Worse: refund %250A::error::@ann, b\n"
    )
    (text,) = github.ours()
    assert "### ✗ worse than the baseline: `support desk`" in text
    assert "40 of 200 trials run · 160 taken from the baseline · $0.0400 spent" in text
    assert "[log](https://github.com/o/r/actions/runs/77) · `aaaaaaaaaa`" in text
    assert "| ✗ | `refund %0A::error::@ann` | ? | ? |" in text
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("### ✗ worse")
    assert text.endswith(summary.rstrip() + "\n") or summary.rstrip() in text
    again, _, err = job(
        "--report-url",
        "https://ci/r.html",
        event={"pull_request": PULL},
        **{**env, "GITHUB_RUN_ID": "78"},
    )
    assert (again, err) == (0, "comment updated: https://host.invalid/12#1001\n")
    (text,) = github.ours()
    assert "(https://ci/r.html#/run/01M848B4YMSDT710651PEXDC26?cell=3)" in text
    late = job(event={"pull_request": PULL}, **env)
    assert late[2].startswith("comment unchanged: ")


def test_a_fork_gets_a_summary_and_no_comment_and_does_not_fail(
    job: Comment, github: FakeHost, tmp_path: Path
):
    """Its token may only read; one that should be able to write is a mistake of the workflow."""
    github.before = lambda method, _: READ_ONLY if method == "POST" else None
    fork = {**PULL, "head": {"sha": "b" * 40, "repo": {"full_name": "ann/r"}}}
    code, _, err = job(event={"pull_request": fork}, **variables(github))
    assert code == 0
    assert (
        err == "no comment: the pull request comes from a fork or a bot, whose token is read-only\n"
    )
    assert "worse than the baseline" in (tmp_path / "summary.md").read_text()
    code, _, err = job(event={"pull_request": PULL}, **variables(github))
    assert code == 2
    assert "permissions: pull-requests: write" in err
    bot = variables(github, GITHUB_ACTOR="dependabot[bot]")
    assert job(event={"pull_request": PULL}, **bot)[0] == 0


def test_a_second_workflow_comments_for_a_fork(job: Comment, github: FakeHost):
    """It finds the pull request by the fork's branch, and only while that is where it was."""
    github.pulls = [{"number": 12, "head": {"sha": "c" * 40}}]
    before = {
        "id": 41,
        "run_attempt": 2,
        "event": "pull_request",
        "head_sha": "c" * 40,
        "head_branch": "my-fix",
        "head_repository": {"owner": {"login": "ann"}},
        "pull_requests": [],
    }
    env = variables(github)
    assert job(event={"workflow_run": before}, **env)[0] == 0
    assert github.ours()[0].startswith("<!-- evenhand:gate ")
    assert " 41.2 -->" in github.ours()[0].splitlines()[0]
    assert any("head=ann:my-fix" in unquote(path) for _, path in github.asked)
    _, _, err = job(event={"workflow_run": {**before, "head_sha": "d" * 40}}, **env)
    assert err == "no comment: dddddddddd is no longer the head of an open pull request\n"
    _, _, err = job(event={"workflow_run": {**before, "event": "push"}}, **env)
    assert err == "no comment: this job does not run for a pull request\n"


def test_where_there_is_no_pull_request_nothing_is_sent(job: Comment, github: FakeHost):
    """A push; --pr says which it is of."""
    env = variables(github, GITHUB_REF="refs/heads/main")
    code, _, err = job(event={"ref": "refs/heads/main"}, **env)
    assert (code, err, github.asked) == (
        0,
        "no comment: this job does not run for a pull request\n",
        [],
    )
    assert job("--pr", "12", **env)[0] == 0
    assert len(github.ours()) == 1


def test_a_merge_request_gets_one_note(job: Comment):
    """By a bot of the project's, in the project that it is to be merged into."""
    with serving(FakeHost(gitlab=True, user="bot")) as host:
        env = {
            "GITLAB_CI": "true",
            "CI_API_V4_URL": host.root,
            "CI_PROJECT_ID": "7",
            "CI_MERGE_REQUEST_IID": "12",
            "CI_PIPELINE_ID": "5",
            "CI_JOB_ID": "9",
            "CI_MERGE_REQUEST_PROJECT_URL": "https://gl.invalid/o/r",
        }
        code, out, err = job(GITLAB_TOKEN="token", **env)
        assert (code, out) == (0, "")
        assert err == "comment created: https://gl.invalid/o/r/-/merge_requests/12#note_1001\n"
        assert job(GITLAB_TOKEN="token", **{**env, "CI_PIPELINE_ID": "6"})[0] == 0
        assert len(host.ours()) == 1
        code, _, err = job(**env)
        assert (code, err.splitlines()[0]) == (2, "evenhand: GITLAB_TOKEN is not set")
        code, _, err = job(CI_MERGE_REQUEST_SOURCE_PROJECT_ID="8", **env)
        assert (code, err) == (
            0,
            "no comment: the merge request comes from a fork, whose jobs get no GITLAB_TOKEN\n",
        )


def test_a_host_that_is_down_is_no_traceback(
    job: Comment, github: FakeHost, monkeypatch: pytest.MonkeyPatch
):
    """Exit code 3: what an earlier push said may still stand there."""
    monkeypatch.setattr("evenhand.providers.rest.TRIES", 1)
    github.before = lambda *_: BROKEN
    code, _, err = job(event={"pull_request": PULL}, **variables(github))
    assert code == 3
    assert "answered 502" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "holds no gate"),
        ("[]", "holds no gate"),
        (
            '{"schema": "evenhand.run/1", "verdict": "worse", "results": [], "margin": 0}',
            "is 'even",
        ),
        (json.dumps({**DOCUMENT, "verdict": "great"}), "holds no gate"),
    ],
)
def test_what_is_no_gate_is_refused(job: Comment, tmp_path: Path, text: str, what: str):
    """Before anything is sent."""
    (tmp_path / "gate.json").write_text(text)
    code, _, err = job("--print")
    assert code == 2
    assert what in err


def test_the_markdown_can_be_printed_without_any_variable(job: Comment):
    """For Buildkite, and others."""
    code, out, err = job("--print")
    assert (code, err) == (0, "")
    assert out.startswith("### ✗ worse than the baseline")
    assert job("--print", "--report-url", "javascript:alert(1)")[0] == 2
    assert job()[0] == 2
