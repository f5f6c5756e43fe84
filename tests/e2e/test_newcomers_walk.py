"""What somebody reads on their first walk through Evenhand is true, and leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.e2e.commands import Run, in_process

from evenhand.testing import FakeProvider, Rule, Script

EVALS = """
from evenhand import EvalSet

evals = EvalSet("shop", data=[{"id": day, "input": day, "expected": day.upper()} for day in ("monday", "sunday")])


@evals.eval
def opens(case, expect):
    expect(case.input == "monday", "is open")
    return case.input
"""


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs a command line in a folder with a file of evals that ask no model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "shop_evals.py").write_text(EVALS)
    return in_process(capsys)


@pytest.mark.parametrize("command", ["run", "check", "gate", "audit"])
@pytest.mark.parametrize("promptfoo", [False, True])
def test_what_a_command_advises_instead_of_an_option_it_takes(
    evenhand: Run, command: str, promptfoo: bool
):
    """Of `-k`, which names evals: to choose cases, there is --filter."""
    if promptfoo:
        Path("promptfooconfig.yaml").write_text(
            "{prompts: [hello], providers: [echo], tests: [{}]}"
        )
    path = "promptfooconfig.yaml" if promptfoo else "shop_evals.py"
    ended = evenhand(command, path, "-k", "sunday")
    for option in re.findall(r"--[a-z]+", ended.err.partition("\n")[2]):
        ended = evenhand(command, path, option, "sun|hello|monday")
        assert "no such option" not in ended.err.lower()
        assert "--filter" in option


def test_an_audit_looks_at_the_cases_that_are_chosen(evenhand: Run):
    """By --filter, as a run does."""
    assert (
        "shop_evals.py · 1 case, " in evenhand("audit", "shop_evals.py", "--filter", "sunday").out
    )
    assert "the selection matches none" in evenhand("audit", "shop_evals.py", "--filter", "x").err


PROGRAM = """
prompts: ["{{q}}"]
providers: [{id: "http://127.0.0.1:9/answer", config: {body: {q: "{{prompt}}"}, maxRetries: 0}}]
tests: [{vars: {q: hello}, assert: [{type: contains, value: hello}]}]
"""


def test_offline_a_program_that_does_not_answer_is_not_blamed_on_the_network(evenhand: Run):
    """Models are scripted; the program that is tested is asked where it runs."""
    Path("promptfooconfig.yaml").write_text(PROGRAM)
    Path("offline.jsonl").write_text('{"match": "hello", "reply": "hi"}')
    ended = evenhand("run", "-c", "promptfooconfig.yaml", "--offline", "--no-progress")
    assert "127.0.0.1:9 cannot be reached" in ended.out
    assert "network" not in ended.out
    assert "--offline scripts models, and no program at another address" in ended.out
    ended = evenhand("run", "-c", "promptfooconfig.yaml", "--no-progress")
    assert "Look at the address and the network" in ended.out


ASKS_A_JUDGE = """
prompts: ["{{q}}"]
providers: [openai:chat:gpt-5-mini]
defaultTest:
  assert: [{type: llm-rubric, value: is kind, provider: openai:chat:gpt-5}]
tests: [{vars: {q: hello}}, {vars: {q: good day}}]
"""


def test_what_the_columns_cost_is_what_was_spent_and_what_replays_saved(
    evenhand: Run, monkeypatch: pytest.MonkeyPatch
):
    """On one screen: the columns say what the answers cost, whoever paid, and the last lines what this run paid."""
    monkeypatch.setenv("COLUMNS", "150")
    Path("promptfooconfig.yaml").write_text(ASKS_A_JUDGE)
    verdict = '{"reason": "yes", "pass": true, "score": 1}'
    with FakeProvider(Script([Rule(("is kind",), verdict)], default="hi")) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        evenhand("run", "-c", "promptfooconfig.yaml", "--no-progress")
        text = ASKS_A_JUDGE.replace("tests: [", "tests: [{vars: {q: and you}}, ")
        Path("promptfooconfig.yaml").write_text(text)
        ended = evenhand("run", "-c", "promptfooconfig.yaml", "--no-progress")
    assert ended.code == 0, ended.out + ended.err
    (row,) = re.findall(r"\{\{q\}\}.*", ended.out)
    (cost,) = re.findall(r"\$([\d.]+)", row)
    ((spent, saved),) = re.findall(r"\$([\d.]+) spent, \$([\d.]+) saved", ended.out)
    assert float(saved) > 0
    assert float(spent) + float(saved) == pytest.approx(float(cost), abs=2e-4)


ONE_TAG = """
from evenhand import EvalSet
from evenhand.scorers import Contains

data = [{"id": str(i), "input": "hi", "tags": ["card"]} for i in range(6)] + [{"id": "last", "input": "hi"}]
evals = EvalSet("tags", data=data)


@evals.eval
def answers(case, expect):
    expect(case.input, Contains(case.expected if case.id == "last" else "hi"))
    return case.input
"""


@pytest.mark.parametrize("form", ["def", "async def"])
def test_one_tag_leaves_no_blank_line_and_a_case_without_what_is_expected_says_what_to_do(
    evenhand: Run, form: str
):
    """Nothing stands out of one; and `None` is written nowhere in the file. Alike in plain and async evals."""
    Path("tags_evals.py").write_text(ONE_TAG.replace("\ndef ", f"\n{form} "))
    ended = evenhand("run", "tags_evals.py", "--no-progress")
    assert "by tag" in ended.out
    assert "\n\n\n" not in re.sub(" +\n", "\n", ended.out)
    text = " ".join(ended.out.split())
    assert "code: answers: Contains: the text is None, not a text" in text
    assert "case 'last' has no `expected`; its variables are: none." in text
    assert "Leave the expectation out where nothing is expected." in text


def test_the_eval_that_new_writes_takes_an_application_that_is_not_async(evenhand: Run):
    """Its client would stop the event loop in an `async def` eval, and not be recorded."""
    evenhand("new", "eval", "desk")
    text = Path("evals/desk_evals.py").read_text()
    assert "\ndef answers_the_question" in text
    assert "async def" not in text
    assert evenhand("run", "evals/desk_evals.py", "--no-progress").code == 0


def prompt(model: str = "openai:gpt-5-mini") -> Path:
    """A prompt directory that `prompt new` made, of this model, in a repository."""
    folder = Path("prompts/refunds")
    text = (folder / "meta.yml").read_text()
    (folder / "meta.yml").write_text(re.sub(r"model: .*", f"model: {model}", text))
    return folder


def test_a_prompt_without_the_key_of_its_model_is_told_where_the_model_is_named(
    evenhand: Run, monkeypatch: pytest.MonkeyPatch
):
    """In meta.yml, or in the case."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    evenhand("prompt", "new", "refunds")
    folder = prompt("anthropic:claude-haiku-4-5")
    line = (folder / "meta.yml").read_text().split("model:")[0].count("\n") + 1
    assert f"refunds/meta.yml:{line}:1: there is no API key" in evenhand("run", str(folder)).err
    text = (folder / "eval.yml").read_text()
    cased = text.replace("- name: first", "- name: first\n    model: openai:gpt-5", 1)
    (folder / "eval.yml").write_text(cased)
    assert "refunds/eval.yml:2:5: there is no API key" in evenhand("run", str(folder)).err


def test_a_prompt_that_is_not_promoted_yet_names_the_next_command(
    evenhand: Run, monkeypatch: pytest.MonkeyPatch
):
    """For a use that is lacking, and for an eval; and a send without variables says how to give them."""
    evenhand("prompt", "new", "refunds")
    folder = prompt()
    text = (folder / "meta.yml").read_text()
    ended = evenhand("prompt", "promote", "refunds")
    assert ended.err.endswith("next: evenhand prompt send refunds --case first\n")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert "in the inputs of a case (--case NAME)" in evenhand("prompt", "send", "refunds").err
    assert evenhand("prompt", "promote", "refunds", "--force", "--reason", "first").code == 0
    promoted = (folder / "meta.yml").read_text()
    assert promoted != text
    (folder / "meta.yml").write_text(promoted + "promotion: {min_uses: 0}\n")
    ended = evenhand("prompt", "promote", "refunds")
    assert ended.err.endswith("next: evenhand run prompts/refunds\n")


FOUR_COLUMNS = """
prompts: [{label: one, raw: "%s: {{q}}"}, {label: other, raw: "Other: {{q}}"}]
providers: [echo, {id: echo, label: again}]
tests:
  - {vars: {q: a}, assert: [{type: contains-any, value: [Good, Other]}]}
  - {vars: {q: b}, assert: [{type: contains-any, value: [Good, Other]}]}
  - {vars: {q: c}, assert: [{type: contains, value: ": c"}]}
"""


def test_a_comparison_says_why_it_corrects_for_fewer_results_than_it_lists(
    evenhand: Run, monkeypatch: pytest.MonkeyPatch
):
    """And no verdict stands alone in a line that had room for it."""
    monkeypatch.setenv("COLUMNS", "80")
    for word in ("Bad", "Good"):
        Path("promptfooconfig.yaml").write_text(FOUR_COLUMNS % word)
        evenhand("run", "-c", "promptfooconfig.yaml", "--no-progress")
    ended = evenhand("compare")
    assert re.search(r" over 3 cases \(paired\): undecided$", ended.out, re.MULTILINE)
    text = " ".join(ended.out.split())
    corrected = "intervals are corrected for 2 comparisons (Holm)"
    assert f" {corrected}; where no case differs, nothing is tested" in text
    assert "p-values" not in text


def test_the_run_before_the_latest_is_offered_for_gits_other_word(evenhand: Run):
    """`latest^`, which is what comes to mind first where `latest~1` does not."""
    evenhand("run", "shop_evals.py", "--no-progress")
    assert "Did you mean 'latest~1'?" in evenhand("show", "latest^").err
    assert "Did you mean 'latest'?" in evenhand("show", "lates").err


def test_a_script_without_a_rule_for_the_judge_shows_a_whole_reply_of_it_at_80_columns(
    evenhand: Run, monkeypatch: pytest.MonkeyPatch
):
    """However long the text is that was judged."""
    monkeypatch.setenv("COLUMNS", "80")
    text = EVALS.replace('EvalSet("shop", ', 'EvalSet("shop", judge="openai:gpt-5", ')
    text = text.replace("EvalSet\n", "EvalSet\nfrom evenhand.scorers import Passes\n", 1)
    judged = 'expect("Yes, gladly. " * 40, Passes("is polite"))'
    text = text.replace('expect(case.input == "monday", "is open")', judged)
    Path("shop_evals.py").write_text(text)
    Path("offline.jsonl").write_text('{"match": "qqqqq", "reply": "x"}')
    ended = evenhand("run", "shop_evals.py", "--offline", "--no-progress")
    said = " ".join(ended.out.split())
    assert re.search(r'Its reply is like \{"reasoning": .*"passes": .*\}', said), ended.out
    assert "correct offline.jsonl" in said


IMPORTS = """
from evenhand import EvalSet
from {name}.app import answer

evals = EvalSet("own", data=[{{"id": "a", "input": "x"}}])


@evals.eval
def answers(case, expect):
    expect(answer(case.input) == "x", "is right")
"""


def test_an_application_in_src_is_found_where_it_is(evenhand: Run):
    """A layout that pytest is told of in pyproject.toml, and Python is not."""
    Path("evals").mkdir()
    Path("src/walk_shop").mkdir(parents=True)
    Path("src/walk_shop/app.py").write_text("def answer(text):\n    return text\n")
    Path("evals/own_evals.py").write_text(IMPORTS.format(name="walk_shop"))
    told = evenhand("run", "evals").err
    assert "It is in src: install the project (pip install -e .), or set PYTHONPATH=src." in told
    Path("evals/own_evals.py").write_text(IMPORTS.format(name="walk_shoe"))
    assert "as well. If it is a package, install it." in evenhand("run", "evals").err


@pytest.mark.parametrize("folder", ["evals", "my-evals", "tests/evals"])
def test_the_command_that_init_names_runs_whatever_the_folder_is_called(
    evenhand: Run, folder: str, monkeypatch: pytest.MonkeyPatch
):
    """Also one that is called as the folder in it, and from inside."""
    ended = evenhand("init", folder, "--python")
    assert f"next: evenhand run {folder} --offline" in ended.err + ended.out
    assert (
        evenhand("run", folder, "--offline", "--no-progress").code == 1
    )  # one of its answers is bad
    monkeypatch.chdir(folder)
    assert evenhand("run", "--offline", "--no-progress").code == 1
    assert list(Path(".evenhand/runs").glob("*.db"))


def test_labels_for_a_run_that_no_judge_judged_name_what_lists_the_others(evenhand: Run):
    """The latest run may be another one than was meant, such as a session of pytest."""
    evenhand("run", "shop_evals.py", "--no-progress")
    ended = evenhand("label", "--draw", "2", "--to", "draw.csv")
    assert "no judge gave a verdict in it" in ended.err
    assert "`evenhand runs list`" in ended.err
