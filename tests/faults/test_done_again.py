"""Trials that are settled once more: what was answered before is not paid for again, and what changed is said.

A trial in error is redone by `resume` and `retry`, and so is all that comes after it: later turns of its conversation,
and whatever may use an output that it stores.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.faults.conftest import Folder, settled, until

from evenhand.testing import FakeProvider, Rule, Script

QUIET = ("--no-progress", "--no-table", "--no-cache")
TURNS = 10
MODEL = {"id": "openai:chat:m1", "config": {"cost": 0.0001, "max_tokens": 50}}
TALK = "{% for turn in _conversation %}{{turn.output}}\n{% endfor %}Say {{n}}. {{kept}}"
RAISES = {"type": "python", "value": "1 / 0"}
THIRD = r"Say number 2\.\s*\Z"
MARKED = Rule(model="m1", last=THIRD, reply="the third, ref:3")
MUMBLED = Rule(model="judge", match=("the third",), reply="I would rather not say")
FINE = Rule(model="judge", reply={"reason": "so", "pass": True, "score": 1})
JUDGE = {**MODEL, "id": "openai:chat:judge"}
JUDGED = {"type": "llm-rubric", "value": "is a reply", "provider": JUDGE}


def talk(evals: Folder, *, error: Any = None, everywhere: Any = (), **more: Any) -> None:
    """A conversation of ten turns. The third has an assertion that comes to an error."""
    tests: list[dict[str, Any]] = [
        {
            "vars": {"n": f"number {i}", "kept": ""},
            "metadata": {"conversationId": "c"},
            "assert": [{"type": "contains", "value": "ref"}, *everywhere],
        }
        for i in range(TURNS)
    ]
    if error is not None:
        tests[2]["assert"].append(error)
    evals.write(0, prompts=[TALK], providers=[MODEL], tests=tests, **more)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("verb", ["resume", "retry"])
@pytest.mark.parametrize("way", ["a grader that raises", "a judge without a verdict"])
def test_later_turns_of_a_conversation_are_not_paid_for_again_after_an_error(
    way: str, verb: str, serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Eight trials are settled again, three times over, and nothing is sent."""
    judged = way == "a judge without a verdict"
    fake = serve(Script([MARKED, MUMBLED, FINE]))
    evals = folder(fake)
    talk(evals, error=None if judged else RAISES, everywhere=[JUDGED] if judged else [])
    assert evals.run("run", *QUIET).returncode == 3
    wanted, paid = settled(evals.document()), fake.ledger.total
    for _ in range(3):
        again = evals.run(verb, "--no-progress", "--no-table")
        assert again.returncode == 3, again.stderr
        assert "7 trials that come after one in error were settled again" in again.stderr
        assert "no call was paid for twice" in again.stderr
        assert settled(evals.document()) == wanted
    assert (fake.ledger.total, fake.ledger.repeated) == (paid, 0)


@pytest.mark.parametrize("flags", [(), ("--repeat", "2")])
def test_where_an_earlier_answer_changes_later_turns_are_asked_anew_and_it_is_said(
    flags: tuple[str, ...], serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """The vendor refuses the third turn at first. Those after it are sent again only because they differ."""
    fake = serve(Script([Rule(model="m1", last=THIRD, fault="400")]))
    evals = folder(fake)
    talk(evals)
    assert evals.run("run", *QUIET, *flags).returncode == 3
    before = Counter(fake.ledger.counts)
    fake.script = Script()
    again = evals.run("resume", "--no-progress", "--no-table")
    assert again.returncode == 0, again.stderr
    said = re.search(r"(\d+) trials that come after .* again; (\d+) calls? of theirs", again.stderr)
    assert said is not None, again.stderr
    trials, calls = map(int, said.groups())
    assert trials == calls >= 7
    sent = Counter(fake.ledger.counts) - before
    assert sent.total() == calls + (2 if flags else 1)
    assert not sent.keys() & before.keys()  # each differs from all that was answered before
    once_more = evals.run("resume", "--no-progress", "--no-table")
    assert "settled again" not in once_more.stderr
    assert Counter(fake.ledger.counts) - before == sent
    resumed = settled(evals.document())
    assert evals.run("run", *QUIET, *flags).returncode == 0
    assert settled(evals.document()) == resumed


def test_a_kill_between_a_changed_turn_and_the_next_leaves_no_later_turn_on_the_old_answer(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """The third turn gets its answer on resume; then the process dies while the fourth is being asked."""
    fake = serve(Script([Rule(model="m1", last=THIRD, fault="400")]))
    evals = folder(fake)
    talk(evals)
    assert evals.run("run", *QUIET).returncode == 3
    total = fake.ledger.total
    fake.script = Script([Rule(last=r"Say number 3\.\s*\Z", latency_ms=60_000)])
    seen = len(fake.requests)
    process = evals.start("resume", "--no-progress", "--no-table")
    until(lambda: len(fake.requests) >= seen + 2 or process.poll() is not None)
    process.kill()
    process.wait()
    fake.script = Script()
    resumed = evals.run("resume", "--no-progress", "--no-table")
    assert resumed.returncode == 0, resumed.stderr
    assert fake.ledger.total <= total + 1 + 1 + 7  # the third; the fourth, in doubt; all seven
    left = settled(evals.document())
    assert evals.run("run", *QUIET).returncode == 0
    assert settled(evals.document()) == left


def test_with_no_cache_retry_asks_anew_only_for_the_trials_in_error(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """The turns after it get the same question as before, and so the reply that they had."""
    fake = serve(Script())
    evals = folder(fake)
    talk(evals, error=RAISES)
    assert evals.run("run", *QUIET).returncode == 3
    assert evals.run("resume", "--errors", *QUIET).returncode == 3
    assert (fake.ledger.total, fake.ledger.repeated) == (TURNS + 1, 1)


@pytest.mark.parametrize("cached", [True, False])
def test_a_chain_of_stored_outputs_is_not_paid_for_again_after_an_error(
    cached: bool, serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """The first test, whose output is stored, is refused each time; eleven come after it."""
    fake = serve(Script([Rule(model="m1", match=("number 0",), fault="400")]))
    evals = folder(fake)
    tests = [
        {
            "vars": {"n": f"number {i}"},
            "assert": [{"type": "contains", "value": "ref"}],
            **({"options": {"storeOutputAs": f"kept{i}"}} if i in (0, 5) else {}),
        }
        for i in range(12)
    ]
    evals.write(0, providers=[MODEL], tests=tests)
    assert evals.run("run", *(QUIET[:2] if cached else QUIET)).returncode == 3
    assert fake.ledger.total == 11
    for _ in range(2):
        again = evals.run("resume", "--no-progress", "--no-table")
        assert "11 trials that come after one in error were settled again" in again.stderr
        assert fake.ledger.total == 11


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_comparison_is_not_paid_for_again_whichever_of_its_trials_was_in_error(
    column: int, serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """A grader raises for one column of each case; on resume the same outputs are compared once more."""
    chosen = Rule(model="judge", reply=str(column))  # a loser is no error any more
    fake = serve(Script([chosen]))
    evals = folder(fake)
    models = [{**MODEL, "id": f"openai:chat:m{i}"} for i in range(3)]
    raises = f"1 / 0 if context['provider']['id'].endswith('m{column}') else True"
    best = {"type": "select-best", "value": "the best", "provider": JUDGE}
    every = [{"type": "python", "value": raises}, best]
    evals.write(4, providers=models, defaultTest={"assert": every})
    assert evals.run("run", *QUIET).returncode == 1
    wanted, paid = settled(evals.document()), fake.ledger.total
    assert evals.document()["totals"]["errors"] > 0
    cost = evals.document()["totals"]["cost_usd"]
    assert (len(wanted), paid) == (12, 16)
    for verb in ("resume", "retry", "resume"):
        assert evals.run(verb, "--no-progress", "--no-table").returncode == 1
        assert settled(evals.document()) == wanted
        assert fake.ledger.total == paid
        assert evals.document()["totals"]["cost_usd"] == pytest.approx(cost)


EVALS = """
from openai import OpenAI

from evenhand import EvalSet
from evenhand.doors import recording
from evenhand.scorers import Contains

client = OpenAI(http_client=recording.http_client(prices={"m": (1.0, 2.0), "e": (1.0, 0.0)}))
evals = EvalSet("app", data=[{"id": f"c{i}"} for i in range(6)])


@evals.eval
def asks(case, expect):
    said = client.chat.completions.create(
        model="m", max_tokens=9, messages=[{"role": "user", "content": case.id}]
    )
    measured = client.embeddings.create(model="e", input=case.id)
    expect(said.choices[0].message.content, Contains("ref"))
    if case.id != "c0":
        raise ValueError(f"{len(measured.data)} vectors, and then this")
"""


def test_an_eval_whose_scorer_raises_is_redone_without_a_call(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Its application's own calls, embeddings among them, are answered by the journal."""
    fake = serve(Script([Rule(path="/embeddings")]))
    evals = folder(fake, "project")
    (evals.path / "evals").mkdir()
    (evals.path / "evals" / "app_evals.py").write_text(EVALS)
    assert evals.run("run", *QUIET).returncode == 3
    wanted, paid = settled(evals.document()), fake.ledger.total
    for verb in ("resume", "retry"):
        assert evals.run(verb, "--no-progress", "--no-table").returncode == 3
        assert settled(evals.document()) == wanted
    assert (fake.ledger.total, fake.ledger.repeated) == (paid, 0)
