"""`--batch`, as a user calls it: half the price, the same verdicts, and answers that take their time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main
from evenhand.core.run import full_cost
from evenhand.store.runfile import RunFile
from evenhand.testing import BatchRules, FakeProvider, Rule, Script

CONFIG = """\
prompts: ["Answer: {{q}}"]
providers:
  - {id: openai:chat:gpt-4o-mini, config: {max_tokens: 50}}
  - {id: openai:responses:gpt-4o, config: {max_tokens: 50}}
  - {id: anthropic:messages:claude-sonnet-4-5, config: {max_tokens: 50}}
defaultTest:
  options: {provider: openai:chat:gpt-4.1-mini}
  assert:
    - {type: contains, value: question}
    - {type: llm-rubric, value: is kind}
    - {type: similar, value: question, threshold: 0.1, provider: openai:embedding:text-embedding-3-small}
tests:
  - {vars: {q: question one}}
  - {vars: {q: no such thing}}
  - {vars: {q: question three}}
"""
WITHOUT_EMBEDDINGS = "\n".join(line for line in CONFIG.splitlines() if "similar" not in line)
AGENT = """
import openai
from evenhand import Case, EvalSet, Expect
from evenhand.doors import recording
from evenhand.scorers import Contains

client = openai.AsyncOpenAI(http_client=recording.async_http_client(), max_retries=0)
evals = EvalSet("agent", data=[{"id": f"case-{i}", "input": f"order {i}"} for i in range(CASES)])


@recording.tool
def look_up(turn: int) -> str:
    with open("tool.log", "a") as log:
        log.write(f"{turn}\\n")
    return f"result {turn}"


@evals.eval
async def acts(case: Case, expect: Expect) -> str:
    messages = [{"role": "user", "content": f"Begin {case.input}"}]
    for turn in range(TURNS):
        try:
            answer = await client.chat.completions.create(
                model="gpt-4o-mini", max_tokens=50, messages=messages
            )
        except Exception:
            return "fell back"
        messages.append({"role": "assistant", "content": answer.choices[0].message.content})
        messages.append({"role": "user", "content": look_up(turn)})
    expect(messages[-2]["content"], Contains("answer"))
    return messages[-2]["content"]
"""
PLAIN = '''
import concurrent.futures
import contextvars
import anthropic
from evenhand import Case, EvalSet, Expect
from evenhand.doors import recording

client = anthropic.Anthropic(http_client=recording.http_client())
evals = EvalSet("plain", data=[{"id": f"case-{i}", "input": f"order {i}"} for i in range(3)])


def with_context(function):
    """Threads of one's own don't know the trial that started them, unless they are told."""
    contexts = [contextvars.copy_context() for _ in range(2)]
    return lambda text: contexts.pop().run(function, text)


def ask(text):
    messages = [{"role": "user", "content": text}]
    answer = client.messages.create(model="claude-haiku-4-5", max_tokens=50, messages=messages)
    return answer.content[0].text


@evals.fixture
def noted():
    with open("fixture.log", "a") as log:
        log.write("up\\n")
    yield "note"
    with open("fixture.log", "a") as log:
        log.write("down\\n")


@evals.eval
def acts(case: Case, expect: Expect, noted: str) -> str:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        texts = list(pool.map(with_context(ask), [f"{case.input} part {i}" for i in range(2)]))
    expect(all("answer" in text for text in texts), "all are answered")
    return "; ".join(texts)
'''
ONCE = """
from pathlib import Path

from evenhand import Case, EvalSet, Expect, Model

evals = EvalSet("once", data=[{"id": "a", "input": "q"}], model="openai:chat:gpt-4o-mini")


@evals.fixture(repeatable=False)
def ticket() -> str:
    Path("ticket.log").touch()
    return "ticket"


@evals.fixture()
def order(ticket: str) -> str:
    return f"order of {ticket}"


@evals.eval
async def asks(case: Case, model: Model, order: str, expect: Expect) -> None:
    expect("answer" in (await model.generate(case.input)).text, "is answered")


@evals.eval
async def asks_for_none(case: Case, model: Model, expect: Expect) -> None:
    expect("answer" in (await model.generate(case.input)).text, "is answered")
"""
QUICK = ("--batch-poll", "0.02")
Run = Callable[..., Any]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FakeProvider]]:
    """Starts a fake provider that is found through the environment."""
    running: list[FakeProvider] = []

    def start(**rules: Any) -> FakeProvider:
        verdict = {"pass": True, "score": 1, "reason": "kind"}
        script = Script(
            [
                Rule(model="gpt-4.1-mini", reply=verdict),
                Rule(("refuse this",), fault="400"),
                Rule(reply=lambda said: f"An answer to {said[-40:]}"),
            ]
        )
        slow = {"takes_s": 3600.0, "speed": 36_000.0, **rules}
        running.append(FakeProvider(script, batches=BatchRules(**slow)).start())
        for name, value in running[-1].env().items():
            monkeypatch.setenv(name, value)
        return running[-1]

    yield start
    for fake in running:
        fake.stop()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Calls the command line in the test's folder, and reads what it printed."""
    monkeypatch.chdir(tmp_path)

    def go(*words: str, code: int = 0, text: bool = False) -> Any:
        more = () if words[0] in ("runs", "check") else ("--no-progress",)
        with pytest.raises(SystemExit) as ended:
            main([*words, *(() if text else ("--json",)), *more])
        printed = capsys.readouterr()
        if ended.value.code != code:
            pytest.fail(f"exit {ended.value.code}: {printed.err[-3000:]} {printed.out[-3000:]}")
        if text:
            return printed.out + printed.err
        return json.loads(printed.out) if printed.out else {"error": printed.err}

    return go


def said(document: dict[str, Any]) -> list[Any]:
    """What a run's trials came to, without what says when."""
    keys = ("case", "outcome", "output", "tokens_in", "tokens_out")
    return [
        [
            *(trial[key] for key in keys),
            [(o["name"], o["outcome"]) for o in trial["outcomes"]],
        ]
        for trial in document["trials"]
    ]


def test_a_batched_run_has_the_verdicts_of_a_live_one_at_half_its_cost(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Chat, responses, messages, embeddings and judges. Nothing is asked twice."""
    fake = serve()
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    live = run("run", ".", "--no-cache", code=1)
    sent, price = fake.ledger.total, fake.ledger.price
    fake.ledger.clear()
    batched = run("run", ".", "--no-cache", "--batch", *QUICK, code=1)
    assert said(batched) == said(live)
    assert fake.ledger.total == fake.ledger.batched.total() == sent
    assert fake.ledger.price == price / 2
    assert batched["totals"]["cost_usd"] == pytest.approx(live["totals"]["cost_usd"] / 2)
    assert (batched["totals"]["calls"], batched["totals"]["cached"]) == (live["totals"]["calls"], 0)
    status = run("runs", "status")
    assert status["wave"] == 2
    assert {batch["state"] for batch in status["batches"]} == {"collected"}


@pytest.mark.parametrize("kind", ["latency", "first-token", "not-latency"])
def test_a_bound_on_a_time_that_nobody_measured_is_an_error_and_no_pass(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path, kind: str
):
    """Each answer comes in a batch: all else that is expected holds, and the run is undecided."""
    serve()
    bound = f"    - {{type: {kind}, threshold: 10000}}\ntests:\n"
    config = "\n".join(line for line in CONFIG.splitlines() if "no such thing" not in line)
    (tmp_path / "promptfooconfig.yaml").write_text(config.replace("tests:\n", bound))
    batched = run("run", ".", "--no-cache", "--batch", *QUICK, code=3)
    assert batched["verdict"] == "undecided"
    assert {trial["outcome"] for trial in batched["trials"]} == {"error"}
    errors = [o for t in batched["trials"] for o in t["outcomes"] if o["outcome"] == "error"]
    assert {"not measured, as in a batch" in one["reason"] for one in errors} == {True}
    assert {"without --batch" in trial["error"]["where"] for trial in batched["trials"]} == {True}


def test_the_command_ends_after_submitting_and_another_one_goes_on(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Exit 6 while batches are out; `status` says which; each resume goes one wave further."""
    fake = serve(speed=0.0)
    (tmp_path / "promptfooconfig.yaml").write_text(WITHOUT_EMBEDDINGS)
    first = run("run", ".", "--batch", "--detach", *QUICK, code=6)
    assert (first["run"]["status"], first["totals"]["trials"]) == ("waiting", 0)
    status = run("runs", "status")
    out = [(b["vendor"], b["model"], b["requests"], b["state"]) for b in status["batches"]]
    assert out == [
        ("openai", "gpt-4o-mini", 3, "out"),
        ("openai", "gpt-4o", 3, "out"),
        ("anthropic", "claude-sonnet-4-5", 3, "out"),
    ]
    assert all(b["cost_bound_usd"] > 0 and b["submitted_at"] > 0 for b in status["batches"])
    assert "3 batches out" in run("runs", "status", text=True)
    assert run("resume", "--detach", code=6)["totals"]["trials"] == 0
    assert fake.ledger.total == 0
    for queue in (fake.openai_batches, fake.anthropic_batches):
        queue.advance(3600)
    again = run("resume", "--detach", code=6)
    assert again["run"]["status"] == "waiting"
    assert fake.ledger.total == 9
    fake.openai_batches.advance(3600)
    done = run("resume", code=1)
    assert (done["run"]["status"], done["totals"]["trials"]) == ("finished", 9)
    assert (fake.ledger.repeated, fake.ledger.batched.total()) == (0, fake.ledger.total)
    with RunFile.open(Path(done["run"]["file"])) as file:
        assert not file.in_doubt()


def test_scripted_batches_are_submitted_again_by_the_next_command(run: Run, tmp_path: Path):
    """The server of `--offline` ends with its command: what it had taken is lost, and nobody waits for it."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: ['{{q}}']\nproviders: [openai:chat:gpt-4o-mini]\ntests: [{vars: {q: a}}]\n"
        "defaultTest: {assert: [{type: contains, value: yes}]}\n"
    )
    (tmp_path / "offline.jsonl").write_text('{"match": "", "reply": "yes"}\n')
    run("run", ".", "--offline", "--batch", "--detach", *QUICK, code=6)
    done = run("resume", code=0)
    assert (done["run"]["status"], done["totals"]["passed"]) == ("finished", 1)
    states = [batch["state"] for batch in run("runs", "status")["batches"]]
    assert states == ["refused", "collected"]


def test_an_agent_with_its_own_client_takes_a_wave_for_each_turn(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Four turns, four waves; its `except Exception` doesn't see the wait, and its tools run once."""
    fake = serve()
    (tmp_path / "agent_evals.py").write_text(AGENT.replace("CASES", "12").replace("TURNS", "4"))
    done = run("run", "agent_evals.py", "--no-cache", "--batch", *QUICK)
    assert run("runs", "status")["wave"] == 4
    assert (fake.ledger.total, fake.ledger.repeated) == (48, 0)
    assert (done["totals"]["calls"], done["totals"]["cached"]) == (48, 0)
    assert len((tmp_path / "tool.log").read_text().splitlines()) == 48
    live = run("run", "agent_evals.py", "--no-cache")
    assert said(done) == said(live)


def test_an_agent_that_takes_more_waves_than_it_may_is_stopped_and_can_be_let(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Three turns where two waves are allowed: what was answered is kept, and a resume with more goes on from there."""
    fake = serve()
    (tmp_path / "agent_evals.py").write_text(AGENT.replace("CASES", "2").replace("TURNS", "3"))
    words = ("run", "agent_evals.py", "--no-cache", "--batch", "--batch-waves", "2", *QUICK)
    stopped = run(*words, code=3)
    assert "would take another one" in stopped["run"]["message"]
    assert fake.ledger.total == 4
    assert run("resume", "--batch-waves", "3")["totals"]["passed"] == 2
    assert (fake.ledger.total, fake.ledger.repeated) == (6, 0)


def test_what_a_vendor_did_not_answer_and_is_submitted_again_takes_no_further_wave(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Three times in a command, and again in the next ones: each trial has one turn of the two that it may take."""
    fake = serve(errored=1.0)
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: ['{{q}}']\nproviders: [openai:chat:gpt-4o-mini]\ntests: [{vars: {q: a}}, {vars: {q: b}}]\n"
        "defaultTest: {assert: [{type: llm-rubric, value: kind, provider: 'openai:chat:gpt-4.1-mini'}]}\n"
    )
    words = ("run", ".", "--no-cache", "--batch", "--batch-waves", "2", *QUICK)
    assert run(*words, code=3)["totals"]["errors"] == 2
    assert run("resume", "--errors", code=3)["totals"]["errors"] == 2
    fake.openai_batches.rules = replace(fake.openai_batches.rules, errored=0.0)
    assert run("resume", "--errors", code=0)["totals"]["passed"] == 2
    assert (fake.ledger.total, fake.ledger.repeated) == (4, 0)


def test_plain_code_with_threads_is_put_off_and_its_fixtures_run_once_per_pass(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """What threads ask side by side is one wave, unless the first is told to stop before the second has begun."""
    fake = serve()
    (tmp_path / "plain_evals.py").write_text(PLAIN)
    done = run("run", "plain_evals.py", "--no-cache", "--batch", *QUICK)
    log = (tmp_path / "fixture.log").read_text().split()
    wave = run("runs", "status")["wave"]
    assert done["totals"]["passed"] == 3
    assert wave in (1, 2)
    assert 6 <= log.count("up") == log.count("down") <= 3 * (wave + 1)
    assert fake.ledger.total == 6


def test_lines_that_come_back_without_an_answer_are_sent_again_and_only_those(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Expired, errored, lost, of status 0, twice, in another order, and totals that lie: all trials are settled."""
    fake = serve(
        expired=0.05, errored=0.05, silent=0.05, missing=0.05, duplicated=0.2, lying=True, seed=3
    )
    tests = "\n".join(f"  - {{vars: {{q: question {i}}}}}" for i in range(150))
    config = CONFIG.partition("defaultTest:")[0] + f"tests:\n{tests}\n"
    (tmp_path / "promptfooconfig.yaml").write_text(config)
    done = run("run", ".", "--no-cache", "--batch", *QUICK, code=3)
    lost = [trial["error"]["slug"] for trial in done["trials"] if trial["error"]]
    assert (done["totals"]["trials"], done["totals"]["calls"]) == (450, 450 - len(lost))
    assert len(lost) < 10  # three times in a row
    assert (fake.ledger.total, fake.ledger.repeated) == (450 - len(lost), 0)


def test_a_request_that_is_refused_is_its_trials_error_and_costs_the_others_nothing(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Not sent again."""
    fake = serve()
    config = (
        CONFIG.partition("defaultTest:")[0]
        + "tests: [{vars: {q: refuse this}}, {vars: {q: a question}}]\n"
    )
    (tmp_path / "promptfooconfig.yaml").write_text(config)
    done = run("run", ".", "--no-cache", "--batch", *QUICK, code=3)
    errors = [trial["error"]["slug"] for trial in done["trials"] if trial["error"]]
    assert errors == ["bad-request"] * 3
    assert run("runs", "status")["wave"] == 1
    assert fake.ledger.total == 3


def test_what_is_late_is_cancelled_and_only_the_rest_asked_live(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Two days of work, and some seconds of patience: what was done counts, and is not asked again."""
    fake = serve(takes_s=40 * 3600.0, speed=36_000.0)
    (tmp_path / "agent_evals.py").write_text(AGENT.replace("CASES", "60").replace("TURNS", "1"))
    words = ("run", "agent_evals.py", "--no-cache", "--batch", "--batch-until", "1s", *QUICK)
    done = run(*words)
    batched = fake.ledger.batched.total()
    assert done["totals"]["passed"] == 60
    assert 0 < batched < 60
    assert (fake.ledger.total, fake.ledger.repeated) == (60, 0)


def test_answers_of_a_batch_that_was_given_up_come_home_if_it_ends_after_all(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """It counts at its worst price until then. What is not asked live meanwhile costs nothing more."""
    fake = serve(stuck=1.0)
    (tmp_path / "agent_evals.py").write_text(AGENT.replace("CASES", "6").replace("TURNS", "1"))
    run("run", "agent_evals.py", "--no-cache", "--batch", "--detach", *QUICK, code=6)
    bound = run("runs", "status")["batches"][0]["cost_bound_usd"]
    words = ("resume", "--max-cost", str(1.1 * bound), *QUICK)
    given_up = run(*words, "--batch-until", "1s", code=4)  # there is no money to ask live
    assert (given_up["totals"]["trials"], run("runs", "status")["batches"][0]["state"]) == (
        0,
        "given_up",
    )
    with RunFile.open(Path(given_up["run"]["file"])) as file:
        assert len(file.in_doubt()) == 6
        assert file.most_spent() == pytest.approx(bound)
    for batch in fake.openai_batches.batches.values():
        batch.cancelled_at, batch.ends_at = None, batch.made_at + 1
    done = run(*words)
    assert (done["totals"]["passed"], fake.ledger.total, fake.ledger.batched.total()) == (6, 6, 6)
    assert run("runs", "status")["batches"][0]["state"] == "collected"
    with RunFile.open(Path(done["run"]["file"])) as file:
        assert not file.in_doubt()
        assert file.most_spent() == pytest.approx(done["totals"]["cost_usd"])


def test_the_budget_holds_what_goes_out_and_lets_the_rest_wait(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Worst prices are set aside when a batch is submitted: the others go when its bill is there."""
    fake = serve()
    (tmp_path / "agent_evals.py").write_text(AGENT.replace("CASES", "40").replace("TURNS", "1"))
    words = ("run", "agent_evals.py", "--no-cache", "--batch", "--max-cost", "0.0005", *QUICK)
    done = run(*words)
    assert done["totals"]["cost_usd"] <= 0.0005
    assert (done["totals"]["passed"], fake.ledger.total) == (40, 40)
    status = run("runs", "status")
    assert status["wave"] > 1
    assert all(batch["cost_bound_usd"] <= 0.0005 for batch in status["batches"])
    words = (*words[:4], "--max-cost", "0.000001", *QUICK)
    assert run(*words, code=4)["totals"]["trials"] == 0


def test_a_batch_that_holds_too_many_tokens_goes_out_in_smaller_ones(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Refused, halved, and in the end answered."""
    fake = serve(most_queued_tokens=700)
    (tmp_path / "agent_evals.py").write_text(AGENT.replace("CASES", "32").replace("TURNS", "1"))
    done = run("run", "agent_evals.py", "--no-cache", "--batch", "--batch-waves", "20", *QUICK)
    assert (done["totals"]["passed"], fake.ledger.total) == (32, 32)
    states = [batch["state"] for batch in run("runs", "status")["batches"]]
    assert "refused" in states
    assert states[-1] == "collected"


def test_results_that_are_no_longer_kept_are_errors_and_asked_again_only_on_demand(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Paid for, and gone: nobody pays again without saying so."""
    fake = serve(speed=0.0)
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    run("run", ".", "--no-cache", "--batch", "--detach", *QUICK, code=6)
    for queue in (fake.openai_batches, fake.anthropic_batches):
        queue.advance(3600)
        for batch in queue.newest_first():
            assert batch.ended_at is not None
        queue.advance(40 * 24 * 3600)
    gone = run("resume", code=3)
    assert {trial["error"]["slug"] for trial in gone["trials"]} == {"batch-gone"}
    assert fake.ledger.total == 9
    assert {batch["state"] for batch in run("runs", "status")["batches"]} == {"gone"}


def test_answers_of_batches_are_in_the_cache_for_the_next_run(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Also in a live run; and trials that share a request share its answer."""
    fake = serve()
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    run("run", ".", "--batch", *QUICK, code=1)
    sent = fake.ledger.total
    live = run("run", ".", code=1)
    assert fake.ledger.total == sent
    assert live["totals"]["cached"] == live["totals"]["calls"]


def test_a_batched_run_costs_the_same_whoever_answered(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Else a bound on cost would be met by the first run of a config and missed by the second one."""
    serve()
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    documents = [run("run", ".", *words, code=1) for words in (("--batch", *QUICK),) * 2 + ((),)]
    cached = documents[1]["totals"]
    assert cached["cached"] == cached["calls"]
    costs = list[list[float]]()
    for document in documents:
        (file,) = tmp_path.glob(f".evenhand/runs/{document['run']['id']}*.db")
        with RunFile.open(file) as opened:
            costs.append([full_cost(trial) or 0.0 for trial in opened.trials()])
    asked, again, live = costs
    assert all(asked)
    assert again == pytest.approx(asked)
    assert [2 * cost for cost in asked] == pytest.approx(live)


def test_what_can_be_set_up_only_once_is_refused_before_anything_is_sent(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """A fixture that says so, wherever it is asked for; evals that do without it go in batches."""
    fake = serve()
    (tmp_path / "once_evals.py").write_text(ONCE)
    error = run("run", "once_evals.py", "--batch", *QUICK, code=2)["error"]
    assert "once_evals.py:9: the fixture ticket, which asks asks for, is not repeatable" in error
    assert "a trial is set up again in each wave" in error
    assert fake.ledger.total == 0
    assert not (tmp_path / "ticket.log").exists()
    some = run("run", "once_evals.py", "-k", "asks_for_none", "--batch", *QUICK)
    assert (some["totals"]["passed"], fake.ledger.batched.total()) == (1, 1)
    assert run("run", "once_evals.py")["totals"]["passed"] == 2


def test_hooks_that_clean_up_after_a_result_are_refused(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """They would be called once, after several set-ups. Hooks of one kind alone go."""
    fake = serve()
    both = "def beforeEach(context, _):\n    return context\n\n\ndef afterEach(context, _):\n    return context\n"
    (tmp_path / "hooks.py").write_text(both)
    hooks = 'extensions: ["file://hooks.py:beforeEach", "file://hooks.py:afterEach"]\n'
    config = CONFIG.partition("defaultTest:")[0] + "tests: [{vars: {q: a question}}]\n"
    (tmp_path / "promptfooconfig.yaml").write_text(config + hooks)
    error = run("run", ".", "--batch", *QUICK, code=2)["error"]
    assert "promptfooconfig.yaml:7:1: what beforeEach sets up" in error
    assert fake.ledger.total == 0
    (tmp_path / "promptfooconfig.yaml").write_text(
        config + hooks.replace(', "file://hooks.py:afterEach"', "")
    )
    assert run("run", ".", "--batch", *QUICK)["totals"]["passed"] == 3


def test_the_waves_are_foreseen_and_too_many_refused_before_anything_is_sent(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Of a config from its calls; of an application from its last run, be it live or in batches."""
    fake = serve()
    (tmp_path / "promptfooconfig.yaml").write_text(WITHOUT_EMBEDDINGS)
    assert run("check", ".")["batch_waves"] == 2
    (tmp_path / "agent_evals.py").write_text(AGENT.replace("CASES", "2").replace("TURNS", "3"))
    assert run("check", "agent_evals.py")["batch_waves"] is None
    run("run", "agent_evals.py")
    live = run("check", "agent_evals.py")
    assert (live["batch_waves"], fake.ledger.total) == (3, 6)
    (call,) = live["calls"]
    assert call["batch_cost_usd"] == pytest.approx(call["cost_expected_usd"] / 2)
    words = ("run", "agent_evals.py", "--no-cache", "--batch", *QUICK)
    error = run(*words, "--batch-waves", "2", code=2)["error"]
    assert "it would take about 3 waves" in error
    assert "--batch-waves 3" in error
    assert fake.ledger.total == 6
    assert run(*words, "--batch-waves", "3")["totals"]["passed"] == 2
    assert run("check", "agent_evals.py")["calls"] == live["calls"]  # not at half the price


def test_a_project_can_ask_in_batches_always_and_a_provider_never(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """`--no-batch` goes before the project; what asks nobody is not affected."""
    fake = serve()
    config = CONFIG.partition("defaultTest:")[0].replace(
        "openai:responses:gpt-4o, config: {", "openai:responses:gpt-4o, config: {batch: false, "
    )
    (tmp_path / "promptfooconfig.yaml").write_text(config + "tests: [{vars: {q: a question}}]\n")
    (tmp_path / "pyproject.toml").write_text("[tool.evenhand]\nbatch = true\n")
    done = run("run", ".", "--no-cache", *QUICK)
    assert (fake.ledger.total, fake.ledger.batched.total()) == (3, 2)
    run("run", ".", "--replay", done["run"]["id"])
    assert "don't go together" in run("run", ".", "--no-write", code=2)["error"]
    fake.ledger.clear()
    run("run", ".", "--no-cache", "--no-batch")
    assert (fake.ledger.total, fake.ledger.batched.total()) == (3, 0)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--detach",), "--detach has no effect here"),
        (("--batch", "--no-write"), "--batch and --no-write don't go together"),
        (("--batch", "--stop-when-decided"), "--batch and --stop-when-decided don't go together"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path, words: tuple[str, ...], why: str
):
    """Before anything is sent."""
    fake = serve()
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    assert why in run("run", ".", *words, code=2)["error"]
    assert not fake.requests
