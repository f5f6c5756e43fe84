"""Where a newcomer takes a wrong turn, the message names the right one in the words that they typed."""

from __future__ import annotations

import json
import re
import shlex
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


@evals.eval
def closes(case, expect):
    expect(True, "is closed")
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


def test_a_misspelt_file_of_a_folder_is_named_with_its_folder(evenhand: Run):
    """As typed, and with what is near it there."""
    Path("evals").mkdir()
    Path("shop_evals.py").rename("evals/shop_evals.py")
    for typed in ("evals/shop_eval.py", "evals/shop_evls.py"):
        ended = evenhand("run", typed)
        assert f"{typed}: does not exist\n  Did you mean 'evals/shop_evals.py'?" in ended.err


def test_the_tag_of_a_case_is_not_taken_for_one_of_an_eval(evenhand: Run):
    """It says which of the two --tag chooses, and what chooses the other."""
    Path("card_evals.py").write_text(
        EVALS.replace('"input": day', '"tags": ["card"], "input": day').replace(
            "@evals.eval\ndef opens", '@evals.eval(tags=["slow"])\ndef opens'
        )
    )
    ended = evenhand("run", "card_evals.py", "--tag", "card")
    assert ended.code == 5
    assert "Evals have: slow. Cases have it: --filter-metadata tags=card" in ended.err
    assert evenhand("run", "card_evals.py", "--filter-metadata", "tags=card").code == 1


def test_a_case_or_a_variant_that_is_named_as_a_run_is_found_in_the_latest(evenhand: Run):
    """A bare word after `show` is a run, else a case of the latest. A variant is compared with a colon before it."""
    assert evenhand("run", "shop_evals.py", "--no-progress").code == 1
    assert evenhand("show", "sunday").out == evenhand("show", "latest", "sunday").out
    for name, right in (("sundya", "sunday"), ("opens", "opens:1")):
        ended = evenhand("show", name)
        assert ended.code == 2
        assert f"there is no run '{name}'" in ended.err
        assert f"evenhand show latest {right}?" in ended.err
        assert evenhand("show", "latest", right).code == 0
    assert "no case 'sundya'" in evenhand("show", "latest", "sundya").err
    assert (
        "Did you mean 'sunday'? Its cases: 1 monday, 2 sunday."
        in evenhand("show", "latest", "sundya").err
    )
    assert (
        "It is a variant of the latest run: write ':opens'."
        in evenhand("compare", "opens", "closes").err
    )
    assert evenhand("compare", ":opens", ":closes").code == 3


def test_a_baseline_or_a_cassette_in_the_place_of_a_run_is_named(evenhand: Run):
    """With the command that takes it."""
    evenhand("run", "shop_evals.py", "--no-progress")
    evenhand("baseline", "--to", "my base.evn")
    Path("answers.evc").write_text('{"schema":"evenhand.cassette/1"}\n')
    for name in ("my base.evn", "./my base.evn"):
        ended = evenhand("compare", name, "latest")
        assert ended.code == 2
        assert "It is a baseline: evenhand gate --baseline 'my base.evn'" in ended.err
    assert "evenhand run --replay answers.evc" in evenhand("show", "./answers.evc").err


def test_the_next_command_can_be_typed_as_it_is_printed(evenhand: Run):
    """It runs what the run was of, and not all that the folder has."""
    Path("other_evals.py").write_text(EVALS.replace("shop", "other"))
    evenhand("run", "shop_evals.py", "-k", "closes", "--no-progress")
    following = evenhand("baseline", "--to", "a b.evn").err.splitlines()[-1]
    ended = evenhand(*shlex.split(following.removeprefix("next: evenhand ")), "--no-progress")
    assert ended.code in (0, 3)
    assert "2 of 2 trials" in ended.out


def test_an_eval_file_that_is_edited_while_it_is_run_is_no_bug_of_ours(evenhand: Run):
    """The lines of its functions can't be read any more; what was read before is run."""
    Path("edited_evals.py").write_text(
        f"import pathlib\n{EVALS}\npathlib.Path(__file__).write_text('(\\n' * 40)\n"
    )
    assert evenhand("run", "edited_evals.py", "--no-progress").code == 1


def test_what_an_application_spends_unrecorded_is_unknown_and_never_nothing(
    evenhand: Run, monkeypatch: pytest.MonkeyPatch
):
    """The column `cost` has a dash; that a client was imported, and no call recorded, is said. A model has its cost."""
    from evenhand.cli import run_and_report

    monkeypatch.setattr(run_and_report, "_CLIENTS", ("client_of_some_vendor",))
    plain = evenhand("run", "shop_evals.py", "--no-progress")
    assert not any(word in plain.out + plain.err for word in ("$0", "no call was recorded"))
    Path("client_of_some_vendor.py").touch()
    Path("app_evals.py").write_text(f"import client_of_some_vendor\n{EVALS}")
    ended = evenhand("run", "app_evals.py", "--no-progress")
    assert "no call was recorded, though client_of_some_vendor is imported" in ended.err
    assert "$0" not in ended.out
    Path("erring_evals.py").write_text(
        f"import client_of_some_vendor\n{EVALS.replace('True', 'client_of_some_vendor.ask()')}"
    )
    ended = evenhand("run", "erring_evals.py", "--no-progress")
    assert "has no attribute 'ask'" in " ".join(ended.out.split())
    assert "no call was recorded" not in ended.err  # the eval may have stopped before it asked


ASKING = """
from openai import OpenAI
from evenhand import EvalSet
from evenhand.scorers import Passes

client = OpenAI(api_key="none yet")
evals = EvalSet("shop", data=[{"id": d, "input": f"Open on {d}?"} for d in ("Sunday", "Monday")], judge="openai:gpt-5")


@evals.eval
def answers(case, expect):
    messages = [{"role": "user", "content": case.input}]
    reply = client.chat.completions.create(model="gpt-5-mini", messages=messages)
    expect(reply.choices[0].message.content, Passes("is polite"))
"""


def scripted(*rules: dict[str, object]) -> None:
    """Writes the folder's scripted replies."""
    Path("offline.jsonl").write_text("".join(f"{json.dumps(rule)}\n" for rule in rules))


SUNDAY = {"match": {"last": "Sunday"}, "reply": "Closed on Sundays."}
MONDAY = {"match": {"last": "Monday"}, "reply": "Open, of course."}
JUDGE = {"match": "polite", "reply": {"reasoning": "Short.", "passes": True, "confidence": 0.9}}


def test_a_rule_that_no_request_matched_is_named_where_a_request_had_no_rule(evenhand: Run):
    """It is probably misspelt. Where all requests had one, it may be another command's, and only -v names it."""
    Path("asking_evals.py").write_text(ASKING)
    typo = {**MONDAY, "match": {"last": "Mondey"}}
    scripted({**SUNDAY, "model": "gpt-5-mini"}, typo, JUDGE)
    ended = evenhand("run", "asking_evals.py", "--offline", "--no-progress")
    assert ended.err.splitlines()[-1] == "offline.jsonl: no request matched the rule on line 2"
    assert "next: correct offline.jsonl, then evenhand run asking_evals.py --offline" in ended.out
    part = evenhand("run", "asking_evals.py", "--offline", "--no-progress", "--filter", "Monday")
    assert "no request matched" not in part.err
    scripted(
        {**SUNDAY, "model": "gpt-5-mini"}, {**MONDAY, "model": "gpt-5-mini"}, typo, typo, JUDGE
    )
    whole = ("run", "asking_evals.py", "--offline", "--no-progress")
    assert "no request matched" not in evenhand(*whole).err
    assert "offline.jsonl: no request matched 2 rules, on lines 3, 4" in evenhand(*whole, "-v").err


def test_a_reply_of_the_application_in_place_of_a_judges_is_corrected_in_the_script(
    evenhand: Run, monkeypatch: pytest.MonkeyPatch
):
    """Asking again, as of a model, would give it again. However long the reply is, what to do about it is not cut."""
    monkeypatch.setenv("COLUMNS", "80")
    Path("asking_evals.py").write_text(ASKING)
    scripted({**SUNDAY, "reply": "Closed on Sundays, as ever. " * 20}, MONDAY, JUDGE)
    ended = evenhand("run", "asking_evals.py", "--offline", "--no-progress", "--filter", "Sunday")
    text = " ".join(ended.out.split())
    assert "… A rule of offline.jsonl replied that: correct it, or give it the `model`" in text
    assert "next: correct offline.jsonl, then evenhand run asking_evals.py" in text
    assert "resume" not in text
    scripted({**SUNDAY, "model": "gpt-5-mini"}, MONDAY, JUDGE)
    ended = evenhand("run", "asking_evals.py", "--offline", "--no-progress", "--filter", "Sunday")
    assert ended.code == 0


def test_the_calls_of_a_run_that_was_resumed_add_up(evenhand: Run, monkeypatch: pytest.MonkeyPatch):
    """Those of the results, and those of trials that were run again: as many as those by role."""
    monkeypatch.setenv("COLUMNS", "200")
    Path("asking_evals.py").write_text(ASKING)
    scripted(SUNDAY, MONDAY, JUDGE)  # the first answers for the judge, too
    evenhand("run", "asking_evals.py", "--offline", "--no-progress")
    ended = evenhand("resume", "--errors", "latest", "--no-progress")
    results = re.findall(r" · (\d+) calls?", ended.out)[0]
    (earlier,) = re.findall(r"(\d+) earlier calls? of trials that were run again", ended.out)
    roles = re.findall(r"(?:subject|judge): (\d+) calls?", ended.out)
    assert int(results) + int(earlier) == sum(map(int, roles))


def test_an_estimate_of_some_evals_goes_by_those_of_an_earlier_run(evenhand: Run):
    """Not by the mean of all: one may ask five times as often. Another set in the run changes nothing."""
    more = """

@evals.eval
def asks_more(case, expect):
    for number in range(5):
        answer(case, f"{number}")
    expect(True, "has asked")
"""
    asking = ASKING.replace("case, expect", "case, more=''", 1).replace("@evals.eval\n", "")
    asking = asking.replace("def answers", "def answer").replace(
        "case.input}", "case.input + more}"
    )
    asking = asking[: asking.index("    expect(")]
    once = "\n\n@evals.eval\ndef asks_once(case, expect):\n    answer(case)\n    expect(True, 'has asked')\n"
    Path("asking_evals.py").write_text(asking + once + more)
    scripted({"match": ".", "reply": "Yes."})
    assert evenhand("run", "--offline", "--no-progress").code == 1
    for name, calls in (("asks_once", 2), ("asks_more", 10), ("asks", 12)):
        document = json.loads(evenhand("check", "-k", name, "--offline", "--json").out)
        assert [one["calls"] for one in document["calls"]] == [calls]
    assert json.loads(evenhand("check", "-k", "opens", "--offline", "--json").out)["calls"] == []


CONFIG = '{"prompts": ["{{q}}"], "providers": ["echo"], "tests": [{"vars": {"q": "hello"}}]}'


@pytest.mark.parametrize("name", ["promptfooconfig.yaml", "other.yaml", "promptfooconfig.json"])
def test_a_config_in_the_place_of_results_is_said_to_be_one(evenhand: Run, name: str):
    """With the two commands that take it."""
    yaml = "prompts: ['{{q}}']\nproviders: [echo]\ntests: [{vars: {q: hello}}]\n"
    Path(name).write_text(CONFIG if name.endswith(".json") else yaml)
    ended = evenhand("import", name)
    assert ended.code == 2
    assert f"{name} is a config, and holds no results" in ended.err
    assert f"Run it: evenhand run {name}. " in ended.err
    assert evenhand("init", "--from", name).code == 0


def test_a_folder_for_an_eval_set_that_is_printed_is_refused_with_what_to_type(evenhand: Run):
    """And promptfoo is not a tool whose files are read, but what configs are of."""
    Path("promptfooconfig.json").write_text(CONFIG)
    right = "evenhand init --from promptfooconfig.json > my_evals.py"
    for words in (("promptfoo", "promptfooconfig.json", "out"), ("promptfooconfig.json", "out")):
        ended = evenhand("init", "--from", *words)
        assert (ended.code, ended.out) == (2, "")
        assert right in ended.err
    assert "--from promptfooconfig.yaml >" in evenhand("init", "--from", "promptfoo").err
    assert "no such tool" in evenhand("init", "--from", "promtfo", "a", "b").err


def test_runs_are_listed_with_their_dates_and_as_many_as_are_wanted(evenhand: Run):
    """A document a line, the latest first."""
    for _ in range(3):
        evenhand("run", "shop_evals.py", "--no-progress")
    rows = [json.loads(line) for line in evenhand("runs", "list", "--json").out.splitlines()]
    assert len(rows) == 3
    assert sorted((row["created_at"] for row in rows), reverse=True) == [
        row["created_at"] for row in rows
    ]
    latest = evenhand("runs", "list", "--json", "--last", "2").out.splitlines()
    assert [json.loads(line)["id"] for line in latest] == [row["id"] for row in rows[:2]]
    assert len(evenhand("runs", "list", "--last", "1").out.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ("run shop_evals.py --filter zzz", "the selection matches none of the cases (2)"),
        ("run shop_evals.py -k zzz", "the selection leaves no eval to run"),
        ("run shop_evals.py -k sunday", "-k chooses evals; for cases: --filter."),
        ("run shop_evals.py --tag card", "no eval has the tag 'card', and --tag chooses evals"),
        ("run shop_evals.py:1", "no eval is on this line\n  There are: opens"),
        ("run shop_evals.py --at-least 90", "it is 90, not a number from 0 to 1: 90 % is 0.9."),
        ("run shop_evals.py --at-least 80%", "not a number from 0 to 1: 80 % is 0.8."),
        ("run shop_evals.py --at-least 800%", "it is '800%', not a number from 0 to 1."),
        ("check shop_evals.py --max-cost 1", "prints the most that a run costs; --max-cost is for"),
        ("judge", "Did you mean `evenhand label`? `evenhand calibrate` then says"),
    ],
)
def test_a_mistake_is_told_in_the_words_that_were_typed(evenhand: Run, words: str, right: str):
    """With what there is instead."""
    ended = evenhand(*words.split())
    assert ended.code in (2, 5)
    assert right in ended.err


@pytest.mark.parametrize("name", ["r.json", "r.jsonl", "r.csv"])
def test_an_export_of_ours_is_no_file_to_import_or_to_show(evenhand: Run, name: str):
    """The run itself is opened. A run file is no file to import, either."""
    evenhand("run", "shop_evals.py", "--no-progress")
    evenhand("export", "--to", name)
    for verb in ("import", "show"):
        ended = evenhand(verb, name)
        assert ended.code == 2
        assert "It is Evenhand's own export" in ended.err
    (run,) = Path(".evenhand/runs").glob("*.db")
    assert f"evenhand show {run} opens it" in evenhand("import", str(run)).err


def test_a_case_of_pytests_without_its_file_is_offered_with_it(evenhand: Run):
    """As pytest itself prints it below a failure."""
    cases = [f"tests/test_bot.py::test_replies[{day}]" for day in ("monday", "sunday")]
    text = EVALS.replace('"id": day', '"id": f"tests/test_bot.py::test_replies[{day}]"')
    Path("shop_evals.py").write_text(text)
    evenhand("run", "shop_evals.py", "--no-progress")
    ended = evenhand("show", "test_replies[sunday]")
    assert ended.code == 2
    assert f"evenhand show latest {shlex.quote(cases[1])}?" in ended.err
    assert evenhand("show", "latest", cases[1]).code == 0


def test_scripted_replies_that_lie_there_are_offered_where_a_key_is_missing(evenhand: Run):
    """And not where there are none."""
    evenhand("init", "my-evals")
    offer = "Or let offline.jsonl answer: run with --offline."
    assert offer in evenhand("run", "my-evals").err
    assert offer in evenhand("check", "my-evals").err
    # The other evals are run all the same.
    judged = EVALS.replace('"shop", ', '"judged", judge="openai:chat:gpt-5", ')
    judged = judged.replace("import EvalSet", "import EvalSet\nfrom evenhand.scorers import Passes")
    Path("judged_evals.py").write_text(judged.replace('True, "is closed"', '"", Passes("is kind")'))
    Path("offline.jsonl").touch()
    assert offer in evenhand("run", "shop_evals.py", "judged_evals.py").err
    Path("my-evals/offline.jsonl").unlink()
    ended = evenhand("run", "my-evals")
    assert "in the environment." in ended.err
    assert offer not in ended.err


@pytest.mark.parametrize(
    "provider",
    [
        "{{id: openai:chat:gpt-5-mini, config: {{apiBaseUrl: '{0}/v1'}}}}",
        "openai:chat:gpt-5-mini@{0}/v1",
    ],
    ids=["config", "id"],
)
def test_offline_asks_nobody_also_where_a_model_has_an_address_of_its_own(
    evenhand: Run, provider: str
):
    """The script answers, as it does for the address in the environment."""
    evenhand("init", "my-evals")
    config = Path("my-evals/promptfooconfig.yaml")
    model = "  - openai:chat:gpt-5-mini\n"
    assert model in config.read_text()
    expected = evenhand("run", "my-evals", "--offline").out
    with FakeProvider() as elsewhere:
        here = f"  - {provider.format(elsewhere.url)}\n"
        config.write_text(config.read_text().replace(model, here))
        ended = evenhand("run", "my-evals", "--offline")
        assert elsewhere.requests == []
    rate = re.compile(r"\d+ of \d+ passed")
    assert rate.findall(ended.out) == rate.findall(expected) != []


def test_a_finished_run_says_that_nothing_is_left_and_a_folder_for_results_is_made(evenhand: Run):
    """As `run -o` makes one; above the current folder it may be a slip."""
    evenhand("run", "shop_evals.py", "--no-progress")
    assert "is finished and has no errors: nothing is left to run" in evenhand("resume").err
    assert evenhand("export", "--to", "out/deep/r.html").code == 0
    assert Path("out/deep/r.html").is_file()
    assert "there is no folder" in evenhand("export", "--to", "../nowhere/r.html").err


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("EvalSet('s', over={'model': 'openai:gpt-5'})", "write ['openai:gpt-5', …]"),
        ("EvalSet('s', pass_rate=90)", "pass_rate is 90, not a number from 0 to 1: 90 % is 0.9"),
        ("EvalSet('s', data=Dataset.read('rows.jsonl'))", "Each line is a JSON object"),
        ("client()", "It was raised in shop_app.py:2. Set the key, or run with --offline"),
    ],
)
def test_a_mistake_in_a_set_is_answered_with_what_to_write(evenhand: Run, line: str, remedy: str):
    """In one message, without a traceback."""
    Path("rows.jsonl").write_text('{"id": 1}\n{id: 2}\n')
    Path("shop_app.py").write_text("def client():\n    raise RuntimeError('set ACME_API_KEY')\n")
    name = f"mistake{abs(hash(line))}_evals.py"
    imports = "from evenhand import Dataset, EvalSet\nfrom shop_app import client\n"
    Path(name).write_text(f"{imports}{line}\n")
    ended = evenhand("run", name)
    assert ended.code == 2
    assert remedy in ended.err
    assert "Traceback" not in ended.err


TWO_PROMPTS = """
prompts: [{label: terse, raw: "{{q}}"}, {label: kind, raw: "Kindly: {{q}}"}]
providers: [openai:chat:gpt-5-mini]
tests: [{vars: {q: hello}, assert: [{type: cost, threshold: 1}]}]
"""


def test_a_part_of_a_name_is_a_variant_where_only_one_has_it(evenhand: Run):
    """As for `show`; the others are listed with their numbers."""
    Path("promptfooconfig.yaml").write_text(TWO_PROMPTS)
    Path("offline.jsonl").write_text('{"match": "hello", "reply": "hi"}\n')
    ended = evenhand("run", "--offline", "--no-progress", "-c", "promptfooconfig.yaml")
    assert ended.code == 3
    assert " ".join(ended.out.split()).endswith(" 1")  # the first case: none has a verdict
    assert "scripted replies (--offline) have no price" in evenhand("show", "latest", "1").out
    assert evenhand("compare", ":ters", ":kin").code == 3
    ended = evenhand("compare", ":x", ":kind")
    assert ended.code == 2
    assert "There are: 1 terse" in ended.err


RUBRIC_OF_THE_CASE = """
prompts: ["{{q}}"]
providers: [openai:chat:gpt-5-mini]
defaultTest:
  options: {provider: openai:chat:gpt-5}
  assert: [{type: llm-rubric, value: "answers about {{q}}"}]
tests: [{vars: {q: shoes}}, {vars: {q: boots}}, {vars: {q: belts}}, {vars: {q: socks}}]
"""
ONE_METRIC = "`metric: NAME`, or metric='NAME' in Python, makes them one"


def judge_each(evenhand: Run, config: str) -> str:
    """Runs a config whose judge passes all; its report, without line breaks."""
    Path("promptfooconfig.yaml").write_text(config)
    Path("offline.jsonl").write_text(
        '{"match": "answers about", "reply": {"reason": "yes", "pass": true, "score": 1}}\n'
        '{"match": ".", "reply": "Yes."}\n'
    )
    ended = evenhand("run", "-c", "promptfooconfig.yaml", "--offline", "--no-progress")
    return " ".join(ended.out.split())


def test_a_rubric_that_is_filled_in_from_the_case_is_one_line_and_says_how_to_be_one_metric(
    evenhand: Run,
):
    """A line for each case would say nothing. With a name, they have one rate, and one rule for labels."""
    line = f"llm-rubric: 4 criteria, 4 outputs, by gpt-5 · not checked against people; {ONE_METRIC}"
    assert line in judge_each(evenhand, RUBRIC_OF_THE_CASE)
    judge_each(evenhand, RUBRIC_OF_THE_CASE)
    compared = evenhand("compare", "latest~1", "latest").out
    assert compared.count("llm-rubric") == 1
    assert ONE_METRIC in " ".join(compared.split())
    five = RUBRIC_OF_THE_CASE.replace("{q: socks}}", "{q: socks}}, {vars: {q: hats}}")
    judge_each(evenhand, five)
    refusal = evenhand("label", "--rule", "kind").err
    assert f" and 1 more. If they differ only from case to case, {ONE_METRIC}" in refusal
    named = judge_each(evenhand, five.replace("type: ", "metric: on topic, type: "))
    assert "on topic: 100 % [57–100] by gpt-5" in named
    assert "the rule for on topic is kept" in evenhand("label", "--rule", "kind").err


def test_what_can_never_be_calibrated_is_said_before_it_is_labelled(evenhand: Run):
    """Labels of four cases would be work for nothing."""
    judge_each(evenhand, RUBRIC_OF_THE_CASE.replace("type: ", "metric: on topic, type: "))
    ended = evenhand("label", "--draw", "3", "--to", "draw.csv")
    needs = "calibrate needs 30 labels, of 10 cases or more; on topic has 4 outputs of 4 cases"
    assert f"! {needs}: add cases first" in ended.err
    assert ended.code == 0
    calibrated = evenhand("calibrate")
    assert f"! {needs}: add cases first" in calibrated.err
    assert (
        calibrated.err.splitlines()[-1]
        == "next: add cases, then evenhand run promptfooconfig.yaml --offline"
    )
    assert "--draw 2 --to draw.csv" in evenhand("label", "--draw", "2").err
    judge_each(evenhand, RUBRIC_OF_THE_CASE)  # more cases would be more criteria
    ended = evenhand("label", "--draw", "2", "--to", "more.csv")
    assert f"If they differ only from case to case, {ONE_METRIC}; then run again" in ended.err
    assert "add cases first" not in ended.err
    assert "next: " not in evenhand("calibrate").err


def test_a_folder_is_checked_for_an_offline_run_without_a_key(evenhand: Run):
    """Keys aren't needed then, and the script is read; so is an application that wants a key on import."""
    evenhand("init", "my-evals")
    assert evenhand("check", "my-evals").code == 2
    ended = evenhand("check", "my-evals", "--offline")
    assert ended.code == 0
    assert "next: evenhand run my-evals --offline" in ended.out
    Path("my-evals/keyed_evals.py").write_text(f"import os\nos.environ['OPENAI_API_KEY']\n{EVALS}")
    assert evenhand("check", "my-evals/keyed_evals.py", "--offline").code == 0
    Path("my-evals/other_evals.py").write_text(f"import os\nos.environ['MISTRAL_API_KEY']\n{EVALS}")
    ended = evenhand(
        "check", "my-evals/other_evals.py"
    )  # what it would run is told, and what is missing
    assert ended.code == 2
    assert "= 4 trials" in ended.out
    assert "Set the key, or run with --offline" in ended.err
    Path("my-evals/offline.jsonl").write_text('{"mtch": "x"}\n')
    ended = evenhand("check", "my-evals", "--offline")
    assert ended.code == 2
    assert "offline.jsonl:1: key 'mtch' is not known\n  Did you mean 'match'?" in ended.err


def test_an_agent_that_is_not_found_is_said_not_to_be(evenhand: Run):
    """A function makes it, say: it has to be imported by hand."""
    Path("bot.py").write_text("import agents\ndef build():\n    return agents.Agent()\n")
    ended = evenhand("init", "--agent-framework", "openai-agents")
    assert "makes an agent of openai-agents at its top level" in ended.out
    assert "next: import yours in agent_evals.py" in ended.out


def test_check_says_a_line_of_each_difference_and_where_the_rest_is(evenhand: Run):
    """All that a page says of judges would hide what else is wrong in the folder."""
    Path("promptfooconfig.yaml").write_text(RUBRIC_OF_THE_CASE)
    Path("offline.jsonl").write_text('{"match": ".", "reply": "Yes."}\n')
    told = evenhand("check", "--offline").err
    assert "(docs/promptfoo-differences.md has the details)" in told
    assert "  - Judges get prompts of Evenhand's own.\n" in told
    assert "rubricPrompt" not in told
    assert "is then an error. " in f"{' '.join(told.split())} "


def test_latest_1_of_other_evals_is_named_beside_the_run_that_is_meant(evenhand: Run):
    """The run before may be of anything in or below the folder."""
    Path("card_evals.py").write_text(EVALS.replace('"shop"', '"card"'))
    evenhand("run", "shop_evals.py")
    assert "there is no run latest~1: only 1 run" in evenhand("compare", "latest~1", "latest").err
    first = evenhand("runs", "list").out.split()[0]
    evenhand("run", "card_evals.py")
    evenhand("run", "shop_evals.py")
    told = evenhand("compare", "latest~1", "latest").err
    assert "a run of card, and latest is one of shop" in told
    assert f"next: evenhand compare {first} latest" in told
    assert "a run of" not in evenhand("compare", first, "latest").err


def test_a_judged_metric_that_compare_leaves_out_says_how_it_is_compared(evenhand: Run):
    """A criterion without a name isn't compared unless it is asked for."""
    for _ in range(2):
        judge_each(evenhand, RUBRIC_OF_THE_CASE.replace("about {{q}}", "about shoes"))
    told = " ".join(evenhand("compare", "latest~1", "latest").out.split())
    # What it leads to is the difference of the scores; the judge's points are those of verdicts.
    metric = re.search(r"points by the judge .* the interval of its scores: --metric '(.*?)'", told)
    assert metric
    again = evenhand("compare", "latest~1", "latest", "--metric", metric[1])
    assert "the interval of" not in again.out
    assert f"{metric[1]}: 0 points [" in " ".join(again.out.split())


def test_a_folder_of_folders_names_what_is_below_it(evenhand: Run):
    """With --offline as well: a file of replies would be of no use there."""
    for name in ("desk", "kids"):
        Path("more", name).mkdir(parents=True)
        Path("more", name, "promptfooconfig.yaml").write_text("prompts: [a]", "utf-8")
    Path("more/node_modules/x").mkdir(parents=True)
    Path("more/node_modules/x/promptfooconfig.yaml").touch()
    for words in (("more",), ("more", "--offline")):
        ended = evenhand("run", *words)
        assert ended.code == 2
        assert "more: holds nothing to run" in ended.err
        assert "Name what is below it: more/desk or another of 2." in ended.err
    Path("empty").mkdir()
    assert "makes a folder to start from" in evenhand("run", "empty", "--offline").err


def test_a_gate_says_which_run_it_made(evenhand: Run):
    """It is the latest one from then on."""
    evenhand("run", "shop_evals.py", "--no-progress")
    evenhand("baseline", "--to", "b.evn")
    ended = evenhand("gate", "shop_evals.py", "--baseline", "b.evn", "--margin", "0.5")
    latest = json.loads(evenhand("show", "latest", "--json").out)["run"]["id"]
    assert ended.out.endswith(f"\nsaved as {latest[:10]}\n")


def test_a_gates_note_of_one_of_several_variants_names_it(evenhand: Run):
    """Else the same note stands there twice."""
    text = EVALS.partition("@evals.eval\ndef closes")[0].replace('"sunday")', '"sunday", "friday")')
    text = text.replace(
        '"shop", ', '"shop", over={"tone": ["calm", "kind"]}, judge="openai:gpt-5", '
    )
    text = text.replace("(case, expect)", "(case, tone, expect)")
    text = text.replace(
        "EvalSet\n",
        "EvalSet\nfrom pathlib import Path\n\nfrom evenhand.scorers import Faithfulness\n",
        1,
    )
    statements = [{"statement": "It is open.", "claim": True, "topic": "on"}]
    quote = [{"passage": 1, "quote": "open"}]
    verdict = {"id": 1, "reasoning": "Yes.", "verdict": "supported", "evidence": quote}
    rules = [
        {"match": "check claims against", "reply": {"verdicts": [verdict]}},
        {"reply": {"refusal": False, "sentences": [{"id": 1, "statements": statements}]}},
    ]
    Path("offline.jsonl").write_text("".join(f"{json.dumps(rule)}\n" for rule in rules))
    own = 'expect("Open.", Faithfulness([case.id + Path("page.txt").read_text()]), at_least=0.5)'
    Path("shop_evals.py").write_text(text.replace('expect(case.input == "monday", "is open")', own))
    Path("page.txt").write_text(" is open")
    assert evenhand("run", "shop_evals.py", "--offline", "--no-progress").code == 0
    evenhand("baseline", "--to", "b.evn")
    Path("page.txt").write_text(" is open today")
    words = ("--baseline", "b.evn", "--margin", "0.5", "--offline", "--offline-in-ci")
    told = evenhand("gate", "shop_evals.py", *words).out
    for tone in ("calm", "kind"):
        assert f"{tone}: ! faithfulness: contexts changed in 3 cases" in told


def test_a_judge_that_no_scripted_reply_fits_says_what_one_is_like(evenhand: Run):
    """With its keys, which are different ones for each metric; and it is asked once."""
    text = EVALS.replace('EvalSet("shop", ', 'EvalSet("shop", judge="openai:gpt-5", ')
    text = text.replace("EvalSet\n", "EvalSet\nfrom evenhand.scorers import Faithfulness\n", 1)
    text = text.replace(
        'expect(True, "is closed")', 'expect("Open.", Faithfulness(["Open."]), at_least=1)'
    )
    Path("shop_evals.py").write_text(text)
    Path("offline.jsonl").write_text('{"match": "qqqqq", "reply": "x"}')
    evenhand("run", "shop_evals.py", "-k", "closes", "--offline", "--no-progress")
    shown = " ".join(evenhand("show", "latest", "closes:1").out.split())
    assert 'Its reply is like {"refusal": true, "sentences": [{"id": 1, "statements": [{' in shown


def test_a_rubric_that_no_scripted_reply_fits_says_what_one_holds(evenhand: Run):
    """A rubric of a config sends no schema, whose example would show it."""
    Path("promptfooconfig.yaml").write_text(RUBRIC_OF_THE_CASE)
    Path("offline.jsonl").write_text('{"match": "^\\\\w+$", "reply": "x"}')
    evenhand("run", "-c", "promptfooconfig.yaml", "--offline", "--no-progress")
    shown = " ".join(evenhand("show", "latest", "1").out.split())
    assert 'with the keys "reason", "pass" (true or false) and "score" (a number)' in shown


def test_a_program_that_fails_without_a_word_leaves_no_colon_behind(evenhand: Run):
    """As an application, as a prompt, and as a file of evals that raises an empty exception."""
    Path("bad.sh").write_text("exit 1")
    for prompt, provider in (("Hi", "exec:sh bad.sh"), ("exec:sh bad.sh", "echo")):
        config = {"prompts": [prompt], "providers": [provider], "tests": [{"vars": {}}]}
        Path("promptfooconfig.json").write_text(json.dumps(config))
        assert "sh bad.sh ended with code 1\n" in evenhand("run", "promptfooconfig.json").out
    Path("raises_evals.py").write_text("assert False")
    told = evenhand("run", "raises_evals.py").err
    assert "raises_evals.py:1: cannot be imported: AssertionError\n" in told


@pytest.mark.parametrize("repeats", [1, 2])
def test_a_gate_of_few_repeated_cases_does_not_say_that_none_was_repeated(
    evenhand: Run, repeats: int
):
    """They are too few to say what repeats save; it advises them only where there are none."""
    words = ("shop_evals.py", "--repeat", str(repeats))
    evenhand("run", *words, "--no-progress")
    evenhand("baseline", "--to", "b.evn")
    told = evenhand("gate", *words, "--baseline", "b.evn", "--margin", "0.1").out
    assert ("no case was repeated" in told) is (repeats == 1)


def test_replies_that_lie_deeper_than_where_they_are_read_are_named(evenhand: Run):
    """Those of an eval file in a folder of `evals` are beside `evals`."""
    Path("evals/desk").mkdir(parents=True)
    Path("shop_evals.py").rename("evals/desk/desk_evals.py")
    Path("evals/desk/offline.jsonl").write_text('{"reply": "x"}')
    told = evenhand("run", "evals/desk/desk_evals.py", "--offline").err
    assert "There is one in evals/desk, which is not read from here: move or copy it." in told
    Path("evals/desk/offline.jsonl").rename("offline.jsonl")
    assert evenhand("run", "evals/desk/desk_evals.py", "--offline").code == 1


def test_calls_that_were_recorded_and_ended_in_errors_are_not_called_unrecorded(
    evenhand: Run, monkeypatch: pytest.MonkeyPatch
):
    """The application made something of the error, and its run has no other call."""
    from evenhand.cli import run_and_report

    monkeypatch.setattr(run_and_report, "_CLIENTS", ("client_of_some_vendor",))
    Path("client_of_some_vendor.py").touch()
    with FakeProvider(Script([Rule((), fault="400")])) as fake:
        asks = f"httpx.post('{fake.url}/v1/chat/completions', json=BODY).status_code == 400"
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        Path("app_evals.py").write_text(
            f"import client_of_some_vendor, httpx\nBODY = {body}\n{EVALS.replace('True', asks)}"
        )
        ended = evenhand("run", "app_evals.py", "-k", "closes", "--no-progress")
    assert len(fake.requests) == 2
    assert ended.code == 0, ended.out + ended.err
    assert "no call was recorded" not in ended.err


def test_a_filter_that_matches_nothing_is_named_where_a_page_would_compare(evenhand: Run):
    """Not the ids of cases, of which neither run lacks any."""
    for _ in range(2):
        evenhand("run", "shop_evals.py", "--no-progress")
    ended = evenhand("export", "--to", "x.html", "--where", "zzz", "--baseline", "latest~1")
    assert ended.code == 2
    assert "--where 'zzz' matches no trial of run " in ended.err
    assert not Path("x.html").exists()
