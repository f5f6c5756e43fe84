"""Ways past the gates, each tried from the command line: none opens one, and each is said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import Run, in_process

from evenhand.testing import FakeProvider, Rule, Script

META = Path("prompts/greet/meta.yml")
EVAL = Path("prompts/greet/eval.yml")
USAGE = Path("prompts/greet/.usage.jsonl")
EVALS = Path("prompts/greet/.eval.jsonl")
VERIFY = Path("prompts/greet/verify.sh")
SUITE = """\
cases:
  - name: ada
    inputs: {who: Ada}
    assert: [{contains: Hello}]
"""


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """Runs a command line in a repository with one prompt, whose server stands for its vendor's."""
    monkeypatch.chdir(tmp_path)
    run = in_process(capsys)
    with FakeProvider(Script([], "Hello there")) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        assert run("prompt", "new", "greet").code == 0
        Path("prompts/greet/prompt.xml").write_text("<p>Greet {{who}}</p>\n")
        shutil.rmtree("prompts/greet/examples")
        META.write_text(META.read_text().replace("name: text", "name: who"))
        VERIFY.write_text('#!/bin/sh\ngrep -q Hello "$EVA_OUTPUT_FILE"\n')
        VERIFY.chmod(0o755)
        EVAL.write_text(SUITE)
        asks("addresses: [127.0.0.1]")
        yield run


def asks(promotion: str) -> None:
    """Sets what meta.yml asks for before a promotion."""
    lines = [x for x in META.read_text().splitlines() if not x.startswith("promotion:")]
    META.write_text("\n".join([*lines, f"promotion: {{{promotion}}}", ""]))


def send(evenhand: Run, *names: str) -> None:
    """Sends the prompt once for each name."""
    for name in names:
        assert evenhand("prompt", "send", "greet", "--var", f"who={name}").code == 0


def tested(evenhand: Run) -> None:
    """Ten verified uses, and the first promotion."""
    send(evenhand, *(f"somebody {n}" for n in range(10)))
    assert evenhand("prompt", "promote", "greet").code == 0


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of evidence."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewrite(path: Path, *changed: dict[str, Any]) -> None:
    """Puts other rows into a file of evidence."""
    path.write_text("".join(json.dumps(row) + "\n" for row in changed))


def test_the_whole_way_from_a_draft_to_ready_is_open_to_honest_evidence(evenhand):
    """New, sent, tested, evaluated, ready; every gate's line says who, where, and how often it was asked again."""
    tested(evenhand)
    assert evenhand("run", "prompts/greet").code == 0
    ended = evenhand("prompt", "promote", "greet")
    assert (ended.code, ended.out) == (0, "greet: tested → ready\n")
    assert "✓ uses: 10 of 10 distinct verified sends of this prompt as it is now, to" in ended.err
    assert "anthropic:claude-haiku-4-5 at 127.0.0.1:" in ended.err
    assert (
        "✓ eval: passed; 1 of 1 trial passed; answered by anthropic:claude-haiku-4-5 at"
        in ended.err
    )
    assert "the first full run of this content" in ended.err
    assert evenhand("prompt", "list", "--check").code == 0
    looked = evenhand("prompt", "doctor", "--evidence", "--check")
    assert (looked.code, "11 rows of evidence: 11 agree with their runs" in looked.out) == (0, True)
    (_, last) = rows(Path("prompts/greet/.promotions.jsonl"))
    assert (len(last["runs"]), len(last["gates"]), last["lowered"]) == (
        11,
        2,
        ["addresses: [127.0.0.1]"],
    )


def test_an_eval_by_another_model_than_the_prompts_own_opens_no_gate(evenhand):
    """A stronger model in eval.yml: warned of before it is paid for, by doctor too, and not counted."""
    tested(evenhand)
    EVAL.write_text("defaults: {model: claude-opus-4-7}\n" + SUITE)
    ended = evenhand("run", "prompts/greet")
    assert (
        "anthropic:claude-opus-4-7 answers cases, and meta.yml names anthropic:claude-haiku-4-5"
        in ended.err
    )
    ended = evenhand("prompt", "promote", "greet")
    assert (
        ended.code,
        "answered by anthropic:claude-opus-4-7, and the prompt is sent to" in ended.err,
    ) == (1, True)
    assert "No gate counts this eval" in evenhand("prompt", "doctor").out
    one = SUITE.replace("- name: ada", "- name: ada\n    model: claude-opus-4-7")
    EVAL.write_text(
        one + one.replace("ada", "bob").removeprefix("cases:\n").replace("opus-4-7", "haiku-4-5")
    )
    assert evenhand("run", "prompts/greet").code == 0
    assert evenhand("prompt", "promote", "greet").code == 1


def test_a_judge_that_only_the_environment_names_opens_no_gate(evenhand, monkeypatch):
    """The same judge named in eval.yml does; so does one that the project names, while it does."""
    Path("lenient.py").write_text(
        "import json\ndef call_api(prompt, options, context):\n"
        "    return {'output': json.dumps({'reasoning': 'x', 'score': 5, 'confidence': 1})}\n"
    )
    tested(evenhand)
    EVAL.write_text(SUITE + "    rubric: is it kind?\n")
    monkeypatch.setenv("EVENHAND_JUDGE", "python:lenient.py")
    ended = evenhand("run", "prompts/greet")
    assert (ended.code, "as EVENHAND_JUDGE says" in ended.err) == (0, True)
    ended = evenhand("prompt", "promote", "greet")
    assert (ended.code, "which only EVENHAND_JUDGE names" in ended.err) == (1, True)
    Path("pyproject.toml").write_text("[tool.evenhand]\njudge = 'python:lenient.py'\n")
    assert evenhand("run", "prompts/greet").code == 0
    assert "judged by python:lenient.py (pyproject.toml)" in evenhand("prompt", "show", "greet").out
    Path("pyproject.toml").unlink()
    ended = evenhand("prompt", "promote", "greet")
    assert (ended.code, "which pyproject.toml does not name any more" in ended.err) == (1, True)
    EVAL.write_text("defaults: {judge: 'python:lenient.py'}\n" + EVAL.read_text())
    assert evenhand("run", "prompts/greet").code == 0
    ended = evenhand("prompt", "promote", "greet")
    assert (ended.code, "judged by python:lenient.py (eval.yml)" in ended.err) == (0, True)
    Path("lenient.py").write_text("# always content\n" + Path("lenient.py").read_text())
    assert "stale" in evenhand("prompt", "list").out


def test_what_a_hook_sources_and_a_grader_imports_is_part_of_the_content(evenhand):
    """A changed lib.sh, helper.py, or file of the folder that nothing is seen to load makes evidence stale."""
    Path("shared").mkdir()
    Path("shared/lib.sh").write_text("wanted=Hello\n")
    VERIFY.write_text('#!/bin/sh\n. "$PWD/shared/lib.sh"\ngrep -q "$wanted" "$EVA_OUTPUT_FILE"\n')
    Path("prompts/greet/words.txt").write_text("Hello\n")
    Path("graders").mkdir()
    Path("graders/grade.py").write_text(
        "import sys, os\nsys.path.insert(0, os.path.dirname(__file__))\nfrom helper import fine\n"
        "def get_assert(output, context):\n    return fine(output)\n"
    )
    Path("graders/helper.py").write_text("def fine(output):\n    return 'Hello' in output\n")
    EVAL.write_text(
        SUITE.replace("[{contains: Hello}]", "[{type: python, value: 'file://graders/grade.py'}]")
    )
    tested(evenhand)
    assert evenhand("run", "prompts/greet").code == 0
    assert evenhand("prompt", "promote", "greet").code == 0
    shown = evenhand("prompt", "show", "greet").out
    assert (
        "counts with it: graders/grade.py, graders/helper.py, prompts/greet/words.txt, shared/lib.sh"
        in " ".join(shown.split())
    )

    def is_stale() -> bool:
        return evenhand("prompt", "list", "--check").code == 1

    for path in (Path("shared/lib.sh"), Path("graders/helper.py"), Path("prompts/greet/words.txt")):
        before = path.read_text()
        path.write_text(f"# \n{before}")
        assert is_stale()
        path.write_text(before)
        assert not is_stale()


def test_the_same_send_ten_times_is_one_use(evenhand):
    """White space, case and variables that nothing uses make no other use of it."""
    send(evenhand, *["Ada"] * 4, "ADA ", " ada")
    assert evenhand("prompt", "send", "greet", "--var", "who=Ada", "--var", "x=1").code == 0
    ended = evenhand("prompt", "promote", "greet")
    assert ended.code == 1
    assert "1 of 3 distinct successful sends" in ended.err
    assert "not counted: 6 of a text that counts already" in ended.err
    send(evenhand, "Bob", "Cleo")
    assert evenhand("prompt", "promote", "greet").code == 0


def test_sends_of_a_prompt_without_variables_each_count(evenhand):
    """There is no other text to send."""
    Path("prompts/greet/prompt.xml").write_text("<p>Greet somebody</p>\n")
    META.write_text(META.read_text().replace("required: true", "required: false"))
    send(evenhand, "x", "x", "x")
    ended = evenhand("prompt", "promote", "greet")
    assert (ended.code, "3 of 3 successful sends" in ended.err) == (0, True)


def test_copied_rows_count_once_and_are_told(evenhand):
    """One row ten times is one run."""
    send(evenhand, "Ada")
    rewrite(USAGE, *rows(USAGE) * 10)
    ended = evenhand("prompt", "promote", "greet")
    assert (ended.code, "1 of 3 distinct" in ended.err) == (1, True)
    assert "9 are copies, or superseded" in evenhand("prompt", "doctor", "--evidence").out


def test_rows_that_say_other_than_their_run_open_no_gate(evenhand):
    """Another text, a verdict that was not given, an eval made green: problems with file and line."""
    send(evenhand, "Ada")
    (row,) = rows(USAGE)
    forged = [{**row, "text_hash": f"{n:012x}"} for n in range(10)]
    rewrite(USAGE, *forged)
    assert "0 of 3 distinct" in evenhand("prompt", "promote", "greet").err
    rewrite(USAGE, {**row, "verified": None})
    ended = evenhand("prompt", "doctor", "--evidence")
    assert (ended.code, ".usage.jsonl:1: a row that its run contradicts" in ended.out) == (1, True)
    assert "verified is True there, and None here" in " ".join(ended.out.split())
    rewrite(USAGE, row)
    send(evenhand, *(f"somebody {n}" for n in range(9)))
    assert evenhand("prompt", "promote", "greet").code == 0
    EVAL.write_text(SUITE.replace("Hello", "Goodbye"))
    assert evenhand("run", "prompts/greet").code == 1
    (red,) = rows(EVALS)
    rewrite(EVALS, {**red, "all_passed": True, "passed": 1, "failed_cases": []})
    ended = evenhand("prompt", "promote", "greet")
    assert (ended.code, "contradicted: run" in ended.err) == (1, True)


def test_rows_of_runs_that_are_not_here_promote_nothing_unless_meta_says_so(evenhand):
    """Invented ids and deleted runs look the same; what was promoted before stays so, and doctor tells them apart."""
    tested(evenhand)
    shutil.rmtree(".evenhand")
    ended = evenhand("prompt", "doctor", "--evidence")
    assert (ended.code, "10 name runs that are not here" in ended.out) == (0, True)
    assert "current" in evenhand("prompt", "list").out
    assert evenhand("run", "prompts/greet").code == 0
    ended = evenhand("prompt", "promote", "greet")
    assert (ended.code, "10 not backed by a run on this machine" in ended.err) == (1, True)
    shown = " ".join(evenhand("prompt", "show", "greet").out.split())
    assert (
        "✓ uses: 10 distinct successful sends of this prompt as it is now (3 needed), to" in shown
    )
    assert "; 10 of them not backed by a run on this machine" in shown
    assert "✗ uses: 0 of 10 distinct verified sends" in shown
    assert "not counted: 10 not backed by a run on this machine, as promotions require" in shown
    asks("addresses: [127.0.0.1], require_runs: false")
    assert evenhand("prompt", "promote", "greet").code == 0
    assert "greet has weaker gates: require_runs: false" in evenhand("prompt", "list").out


def test_rows_written_by_hand_or_before_are_read_and_open_no_gate(evenhand):
    """What they do not say is not known, and said so."""
    old = {
        "ts": "2026-01-01T00:00:00Z",
        "sent": True,
        "exit_code": 0,
        "verified": True,
        "offline": False,
    }
    send(evenhand, "Ada")
    content = rows(USAGE)[0]["content"]
    rewrite(USAGE, *[{**old, "content": content, "model": "anthropic:claude-haiku-4-5"}] * 10)
    ended = evenhand("prompt", "promote", "greet")
    assert (
        ended.code,
        "10 from before rows said where they were sent, and what (not known)" in ended.err,
    ) == (1, True)
    ended = evenhand("prompt", "doctor", "--evidence")
    assert (ended.code, "10 name no run (not known)" in ended.out) == (0, True)
    assert "usage: 10 rows, 10 sent" in evenhand("prompt", "show", "greet").out


def test_a_server_that_is_not_the_vendors_opens_no_gate_unless_meta_names_it(evenhand):
    """The line says which; one that meta.yml allows counts, and stays in sight."""
    asks("")
    send(evenhand, "Ada", "Bob", "Cleo")
    ended = evenhand("prompt", "promote", "greet")
    assert (
        ended.code,
        "which is not the vendor's address and not in promotion.addresses" in ended.err,
    ) == (1, True)
    asks("addresses: [127.0.0.1]")
    assert evenhand("prompt", "promote", "greet").code == 0
    assert "addresses: [127.0.0.1]" in evenhand("prompt", "list").out


def test_gates_that_ask_for_nothing_are_said_wherever_the_status_is(evenhand):
    """`min_uses: 0` left in place: the state is waived, and list, show and doctor name it."""
    asks("min_uses: 0, require_eval: false, require_verified: false")
    assert evenhand("prompt", "promote", "greet").code == 0
    ended = evenhand("prompt", "promote", "greet")
    assert (ended.code, "none are asked for (promotion.min_uses: 0)" in ended.err) == (0, True)
    listed = evenhand("prompt", "list").out
    assert "waived" in listed
    assert "greet has weaker gates: min_uses: 0 (ordinarily 10), require_eval: false" in listed
    assert "promotion weakens the gates: min_uses: 0" in " ".join(
        evenhand("prompt", "doctor").out.split()
    )
    assert json.loads(evenhand("prompt", "list", "--json").out)[0]["evidence"] == "waived"


def test_asking_until_it_is_green_is_counted_and_can_be_limited(evenhand):
    """Red runs of the same content before the green one are said; `max_reruns` refuses them; a lost row is noticed."""
    tested(evenhand)
    Path("prompts/greet/grade.py").write_text(
        "import pathlib\ndef get_assert(output, context):\n"
        "    tries = pathlib.Path(__file__).parent / '.tries'\n"
        "    n = len(tries.read_text()) if tries.exists() else 0\n"
        "    tries.write_text('x' * (n + 1))\n    return n >= 2\n"
    )
    EVAL.write_text(
        SUITE.replace(
            "[{contains: Hello}]", "[{type: python, value: 'file://prompts/greet/grade.py'}]"
        )
    )
    codes = [evenhand("run", "prompts/greet", "--no-cache").code for _ in range(3)]
    assert codes == [1, 1, 0]
    shown = evenhand("prompt", "show", "greet").out
    assert "full run 3 of this content; 2 of those before it failed" in shown
    asks("addresses: [127.0.0.1], max_reruns: 1")
    ended = evenhand("prompt", "promote", "greet")
    assert (ended.code, "✗ reruns: 2 full runs of this content" in ended.err) == (1, True)
    rewrite(EVALS, rows(EVALS)[-1])
    ended = evenhand("prompt", "doctor", "--evidence")
    assert "2 finished runs of it here, and no row" in ended.out


def test_a_run_that_is_gone_on_with_is_one_run(evenhand, monkeypatch):
    """Errors redone: the later row of the run counts, and agrees with it; the earlier one is superseded."""
    tested(evenhand)
    with (
        FakeProvider(Script([Rule((), fault="400")], "")) as broken,
        monkeypatch.context() as patch,
    ):
        for name, value in broken.env().items():
            patch.setenv(name, value)
        assert evenhand("run", "prompts/greet").code == 3
    assert evenhand("resume", "--errors").code == 0
    assert [row["all_passed"] for row in rows(EVALS)] == [False, True]
    ended = evenhand("prompt", "doctor", "--evidence")
    assert (ended.code, "1 are copies, or superseded" in ended.out) == (0, True)
    assert evenhand("prompt", "promote", "greet").code == 0


def test_a_damaged_run_is_no_contradiction_and_no_ground(evenhand):
    """Its row is one whose run cannot be read: doctor warns, and no promotion rests on it."""
    send(evenhand, "Ada", "Bob", "Cleo")
    path = next(Path(".evenhand/sends/runs").glob("*.db"))
    path.write_bytes(b"not a database" * 100)
    ended = evenhand("prompt", "doctor", "--evidence")
    assert (ended.code, "2 agree with their runs, 1 name runs that are not here" in ended.out) == (
        0,
        True,
    )
    ended = evenhand("prompt", "promote", "greet")
    assert (ended.code, "2 of 3 distinct successful sends" in ended.err) == (1, True)


def test_a_run_that_was_not_kept_promotes_nothing(evenhand):
    """`--no-write`: the row is there, and its run is not."""
    tested(evenhand)
    assert evenhand("run", "prompts/greet", "--no-write").code == 0
    ended = evenhand("prompt", "promote", "greet")
    assert (ended.code, "not backed by a run on this machine" in ended.err) == (1, True)


def test_evidence_of_another_prompts_run_is_told(evenhand):
    """A row of one prompt put into another's folder, with the content written over, is contradicted by its run."""
    send(evenhand, "Ada")
    assert evenhand("prompt", "new", "other").code == 0
    (row,) = rows(USAGE)
    own = json.loads(evenhand("prompt", "show", "other", "--json").out)
    Path("prompts/other/.usage.jsonl").write_text(
        json.dumps({**row, "content": own["content"]}) + "\n"
    )
    ended = evenhand("prompt", "doctor", "other", "--evidence")
    assert (ended.code, "is of something else" in " ".join(ended.out.split())) == (1, True)
