"""Audits on the command line: the example of the page, scores for CI, judges within a budget, and what is refused."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.commands import Run, in_process

from evenhand.store.runfile import RunFile
from evenhand.testing import BatchRules, FakeProvider, Rule, Script

PAGE = Path(__file__).resolve().parents[2] / "docs" / "audit.md"
JUDGED: dict[str, Any] = {
    "prompts": ["Answer: {{question}}"],
    "providers": ["openai:chat:gpt-5-mini"],
    "defaultTest": {
        "options": {"provider": "openai:chat:gpt-5"},
        "assert": [{"type": "llm-rubric", "value": "Says how long returns are accepted"}],
    },
    "tests": [
        {"vars": {"question": "How long can I send shoes back?", "expected": "Within 30 days."}},
        {"vars": {"question": "What does a parcel cost?", "expected": "It costs 4.20 euros."}},
    ],
}
STRICT = {"model": "gpt-5", "reply": {"reason": "It says nothing.", "pass": False, "score": 0}}
FOOLED = {
    "match": ["authoritative sources|Within 30 days|It costs 4.20 euros"],
    "model": "gpt-5",
    "reply": {"reason": "It is thorough.", "pass": True, "score": 1},
}

RULES = [
    Rule(
        match=("authoritative sources|Within 30 days|It costs 4.20 euros",), reply=FOOLED["reply"]
    ),
    Rule(reply=STRICT["reply"]),
]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Command lines in an empty folder, without keys."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return in_process(capsys)


def config(folder: Path, whole: object) -> None:
    """Writes a config."""
    folder.mkdir(exist_ok=True)
    (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(whole), "utf-8")


def test_the_example_of_the_page_prints_what_the_page_says(run: Run, tmp_path: Path):
    """Its first block is a config, its second one what the command prints of it."""
    code, output = re.findall(
        r"^```\w+\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )[:2]
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "promptfooconfig.yaml").write_text(code, "utf-8")
    ended = run("audit", "shop")
    assert ended.code == 0
    assert ended.out.startswith(output)
    assert not (tmp_path / "shop" / ".evenhand").exists()


def test_a_score_is_held_missed_or_left_open(run: Run, tmp_path: Path):
    """Exit codes 0, 1 and 3; the document says it in a word."""
    test = {"vars": {"question": "Is it open?"}, "assert": [{"type": "icontains", "value": "open"}]}
    whole = {"prompts": ["{{question}}"], "providers": ["echo"], "tests": [test]}
    config(tmp_path, whole)
    assert run("audit", ".").code == 0
    assert run("audit", ".", "--at-least", "0.2").code == 0
    ended = run("audit", ".", "--at-least", "0.95", "--json")
    document = json.loads(ended.out)
    assert (ended.code, document["verdict"], document["at_least"]) == (1, "missed", 0.95)
    assert document["score"]["survived"] == 1
    test["assert"] = [{"type": "llm-rubric", "value": "is polite"}]
    config(tmp_path, whole)
    ended = run("audit", ".", "--at-least", "0.5", "--json")
    assert (ended.code, json.loads(ended.out)["verdict"]) == (3, "undecided")


def test_judges_are_asked_within_a_run_that_can_be_resumed_and_shown(run: Run, tmp_path: Path):
    """A judge that style fools is found out; the same audit is printed again from its run."""
    config(tmp_path, JUDGED)
    rules = [json.dumps(rule) for rule in (FOOLED, STRICT)]
    (tmp_path / "offline.jsonl").write_text("\n".join(rules), "utf-8")
    first = json.loads(run("audit", ".", "--json").out)
    assert first["score"]["not_asked"] > 10
    assert first["run"] is None
    ended = run("audit", ".", "--offline", "--json")
    document = json.loads(ended.out)
    assert ended.code == 0
    assert document["run"]
    assert document["score"]["not_asked"] == 0
    assert {(one["kind"], one["subject"]) for one in document["findings"]} >= {("passes", "other")}
    resumed = run("resume", document["run"], "--json")
    assert json.loads(resumed.out)["score"] == document["score"]
    assert "audit of" in run("runs", "list").out
    refused = run("calibrate", document["run"])
    assert refused.code == 2
    assert "is of an audit, whose outputs are made" in refused.err


CONDITIONS = """
from evenhand import EvalSet
from evenhand.scorers import Contains

evals = EvalSet("notices", data=[{"id": "pear", "input": "pear"}, {"id": "nut", "input": "nuts"}])


@evals.eval
def names(case, expect):
    output = f"contains {case.input}"
    expect(output, Contains("" if case.id == "pear" else "nuts"))
    expect("milk" not in output, "names no other allergen")
    return output
"""


@pytest.mark.parametrize("more", [(), ("--judges",)])
def test_a_condition_leaves_a_made_answer_open_and_no_judge_is_blamed(
    run: Run, tmp_path: Path, more: tuple[str, ...]
):
    """What code came to of the eval's own output says nothing of others; the score's range has room for them."""
    (tmp_path / "notice_evals.py").write_text(CONDITIONS, "utf-8")
    report = run("audit", *more)
    assert report.code == 0
    assert "open: a condition decides" in report.out
    assert "judges decide" not in report.out
    score = json.loads(run("audit", "--json", *more).out)["score"]
    assert score["open"] > 0
    assert (score["not_asked"], score["errors"], score["survived"]) == (0, 0, 0)
    made = score["killed"] + score["open"]
    assert (score["least"], score["most"]) == (pytest.approx(score["killed"] / made), 1.0)
    assert run("audit", "--at-least", "0.9", *more).code == 3


def test_a_judge_that_only_style_fools_is_a_finding_of_its_own(run: Run, tmp_path: Path):
    """The same wrong answer fails without the style."""
    config(tmp_path, JUDGED)
    fooled = {**FOOLED, "match": ["authoritative sources"]}
    rules = [json.dumps(rule) for rule in (fooled, STRICT)]
    (tmp_path / "offline.jsonl").write_text("\n".join(rules), "utf-8")
    document = json.loads(run("audit", ".", "--offline", "--json").out)
    assert ("style", "styled") in {(one["kind"], one["subject"]) for one in document["findings"]}


def test_a_judge_that_fails_the_reference_in_a_models_words_fails_a_good_answer(
    run: Run, tmp_path: Path
):
    """The judge passes the reference, and not what means the same."""
    config(tmp_path, JUDGED)
    rules = [
        {"match": ["Say the following in other words"], "reply": "You have thirty days."},
        {**FOOLED, "match": ["Within 30 days of delivery"]},
        STRICT,
    ]
    whole = {
        **JUDGED,
        "tests": [
            {"vars": {**JUDGED["tests"][0]["vars"], "expected": "Within 30 days of delivery."}}
        ],
    }
    config(tmp_path, whole)
    (tmp_path / "offline.jsonl").write_text("\n".join(map(json.dumps, rules)), "utf-8")
    document = json.loads(run("audit", ".", "--offline", "--json").out)
    good = [one for one in document["findings"] if one["kind"] == "fails_good"]
    assert [(one["subject"], one["answer"]) for one in good] == [
        ("paraphrase", "You have thirty days.")
    ]


def test_twins_are_looked_for_in_another_part_of_a_split(run: Run, tmp_path: Path):
    """Its cases are those of a dataset."""
    config(tmp_path, JUDGED)
    (tmp_path / "train.csv").write_text("question\nHow long could I send my shoes back\n", "utf-8")
    document = json.loads(run("audit", ".", "--against", "train.csv", "--json").out)
    twins = [one for one in document["findings"] if one["kind"] == "twin"]
    assert [one["answer"] for one in twins] == ["How long can I send shoes back?"]
    assert "train.csv" in twins[0]["detail"]


def test_what_is_wrong_with_the_files_is_said_and_nothing_is_audited(run: Run, tmp_path: Path):
    """All of it at once, with exit code 2."""
    test = {"vars": {"question": "x"}, "assert": [{"type": "contians", "value": "x"}]}
    config(tmp_path, {"prompts": ["{{question}}"], "providers": ["echo"], "tests": [test]})
    ended = run("audit", ".")
    assert ended.code == 2
    assert "Did you mean 'contains'" in ended.err
    assert "Traceback" not in ended.err


def test_outputs_of_cases_are_shown_without_commands_to_the_terminal(run: Run, tmp_path: Path):
    """Text of a dataset is data."""
    test = {
        "vars": {"question": "\x1b[31mred\x1b[0m"},
        "assert": [{"type": "python", "value": "True"}],
    }
    config(tmp_path, {"prompts": ["{{question}}"], "providers": ["echo"], "tests": [test]})
    assert "\x1b" not in run("audit", ".").out


def test_judges_are_asked_in_batches_and_a_detached_audit_is_collected_later(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The findings of a live audit, at half its price; whoever detaches gets them from `resume`."""
    config(tmp_path, JUDGED)
    batches = BatchRules(takes_s=3600.0, speed=36_000.0)
    quick = ("--batch-poll", "0.02", "--no-cache", "--json")
    with FakeProvider(Script(RULES), batches=batches) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        live = json.loads(run("audit", ".", "--judges", "--no-cache", "--json").out)
        batched = run("audit", ".", "--batch", *quick)
        detached = run("audit", ".", "--batch", "--detach", *quick)
        assert detached.code == 6
        assert "evenhand resume" in detached.err
        collected = run("resume", json.loads(detached.out)["run"], *quick[:2], "--json")
    costs: list[float] = []
    for path in sorted((tmp_path / ".evenhand" / "runs").glob("*.db")):
        with RunFile.open(path) as opened:
            costs.append(opened.totals().cost_usd or 0)
    assert costs == pytest.approx([costs[0], costs[0] / 2, costs[0] / 2])
    for ended in (batched, collected):
        document = json.loads(ended.out)
        assert ended.code == 0
        assert {**document, "run": ""} == {**live, "run": ""}


@pytest.mark.thorough
def test_a_thousand_cases_take_seconds(run: Run, tmp_path: Path):
    """Two seconds on a quiet machine; this one may be busy."""
    tests = [
        {
            "vars": {
                "question": f"What does article {n} of the {n * 7} cost?",
                "expected": f"{n}.99",
            },
            "assert": [{"type": "contains", "value": "{{expected}}"}],
        }
        for n in range(1000)
    ]
    config(tmp_path, {"prompts": ["{{question}}"], "providers": ["echo"], "tests": tests})
    begun = time.process_time()
    document = json.loads(run("audit", ".", "--json").out)
    assert document["examined"] == 1000
    assert time.process_time() - begun < 6


def test_gate_and_doctor_mention_cases_that_cannot_fail(run: Run, tmp_path: Path):
    """One line, and nothing where all of them can."""
    test = {"vars": {"question": "Is it open?"}, "assert": [{"type": "python", "value": "True"}]}
    whole = {"prompts": ["{{question}}"], "providers": ["echo"], "tests": [test]}
    config(tmp_path, whole)
    run("run", ".")
    run("baseline", "latest", "--to", "baseline.evn")
    ended = run("gate", ".", "--baseline", "baseline.evn", "--margin", "0.3")
    assert "1 case can't fail, whatever is answered: `evenhand audit` says which" in ended.err
    assert "1 case can't fail, whatever is answered" in run("doctor").out
    test["assert"] = [{"type": "icontains", "value": "open"}]
    config(tmp_path, whole)
    assert "can't fail" not in run("doctor").out


def test_a_file_that_is_broken_is_said_and_the_others_are_audited(run: Run, tmp_path: Path):
    """Exit code 2, as of a run."""
    (tmp_path / "evals").mkdir()
    good = """
from evenhand import Case, EvalSet, Expect, Model
from evenhand.scorers import Contains

evals = EvalSet("shop", data=[{"id": "a", "input": "How long?"}], model="openai:gpt-5-mini")


@evals.eval
async def answers(case: Case, model: Model, expect: Expect) -> None:
    expect((await model.generate(case.input)).text, Contains("30 days"))
"""
    (tmp_path / "evals" / "good_evals.py").write_text(good, "utf-8")
    (tmp_path / "evals" / "bad_evals.py").write_text("import nothing_of_this_name\n", "utf-8")
    ended = run("audit", "evals")
    assert "1 case, 1 examined" in ended.out
    assert "bad_evals.py" in ended.err
    assert ended.code == 2


def test_secrets_of_the_environment_are_in_no_report(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Neither where a prompt has them nor where an error repeats them."""
    secret = "sk-ant-api03-" + "Q7x2Lm9" * 5  # gitleaks:allow (made up)
    monkeypatch.setenv("SHOP_API_KEY", secret)
    raises = "import os\nraise NameError('key ' + os.environ['SHOP_API_KEY'])"
    tests = [
        {"vars": {"question": "Is it open?"}, "assert": [{"type": "python", "value": "True"}]},
        {"vars": {"question": "Is it far?"}, "assert": [{"type": "python", "value": raises}]},
    ]
    prompts = ["Use {{env.SHOP_API_KEY}}: {{question}}"]
    config(tmp_path, {"prompts": prompts, "providers": ["echo"], "tests": tests})
    for words in (("audit", "."), ("audit", ".", "--json")):
        ended = run(*words)
        assert "NameError" in ended.out
        assert secret not in ended.out + ended.err


@pytest.mark.parametrize(
    ("audit", "what"),
    [
        ({"allow": {"nothin": "Right here."}}, "Did you mean 'nothing'?"),
        ({"allow": {"nothing": ""}}, "has no reason"),
        ({"allow": {"nothing": {"why": "Right here."}}}, "has no reason"),
        ({"alow": {"nothing": "Right here."}}, "Did you mean 'allow'?"),
        ({"allow": ["nothing"]}, "audit is not a table"),
        ("nothing", "audit is not a table"),
    ],
)
def test_what_is_allowed_in_wrong_words_is_refused(
    audit: object, what: str, run: Run, tmp_path: Path
):
    """It says which case, and what to write."""
    test = {
        "description": "silence",
        "vars": {"question": "Say nothing."},
        "assert": [{"type": "equals", "value": ""}],
        "metadata": {"audit": audit},
    }
    config(tmp_path, {"prompts": ["{{question}}"], "providers": ["echo"], "tests": [test]})
    ended = run("audit", ".")
    assert ended.code == 2
    assert "silence" in ended.err
    assert what in ended.err


APPLICATION = """
import urllib.request
from openai import AsyncOpenAI, OpenAI
from evenhand import EvalSet
from evenhand.scorers import Contains

ASKED = {{"model": "gpt-5", "messages": [{{"role": "user", "content": "hi"}}]}}
DATA = [{{"id": "a", "input": "Until when?", "expected": "30 days"}}]
evals = EvalSet("shop", data=DATA)
server = {{"base_url": "{url}/v1", "api_key": "x", "max_retries": 0}}


@evals.eval
async def answers(case, expect):
    {ask}
    expect(answer, Contains(case.expected))
    return answer
"""


@pytest.mark.parametrize(
    ("ask", "examined"),
    [
        ("reply = await AsyncOpenAI(**server).chat.completions.create(**ASKED)", 1),
        ("reply = OpenAI(**server).chat.completions.create(**ASKED)", 0),
    ],
    ids=["recorded", "unseen"],
)
def test_models_at_an_address_of_this_machine_are_asked_nothing(
    run: Run, tmp_path: Path, ask: str, examined: int
):
    """A gateway may pass the question on to whom it costs. As in a run, an application's own client is answered."""
    with FakeProvider(Script([Rule(reply="Within 30 days.")])) as server:
        text = APPLICATION.format(
            url=server.url, ask=f"{ask}\n    answer = reply.choices[0].message.content"
        )
        (tmp_path / "a_evals.py").write_text(text, "utf-8")
        ended = run("audit", "a_evals.py", "--json")
        assert server.requests == []
    document = json.loads(ended.out)
    assert document["examined"] == examined, ended.out
    if not examined:
        assert "its code connects to POST 127.0.0.1" in ended.out
