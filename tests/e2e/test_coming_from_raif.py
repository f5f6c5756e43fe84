"""What those who come from Raif's evals count on, and what they had to live with there, each by name."""

from __future__ import annotations

import json
import sqlite3
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evenhand import Case, EvalSet, Expect, Message, Model, Rubric, run
from evenhand.analysis.summaries.rates import rates
from evenhand.cli.verbs import evenhand
from evenhand.core.run import TrialResult
from evenhand.core.traits import traits_of
from evenhand.render.document import document
from evenhand.render.run import Run
from evenhand.render.run_warnings import warnings
from evenhand.scorers import (
    ACCURACY,
    CLARITY,
    HELPFULNESS,
    CallsTool,
    CallsTools,
    CustomJudge,
    Graded,
    Judgement,
    Passes,
    Preferred,
    Rating,
)
from evenhand.testing import Scripted

YES = json.dumps({"reasoning": "It is.", "passes": True, "confidence": 0.9})


def said(**answer: Any) -> Scripted:
    """A judge that always gives this answer."""
    return Scripted((json.dumps({"reasoning": "Because.", "confidence": 0.9, **answer}),))


def only(evals: EvalSet, home: Path, **more: Any) -> TrialResult:
    """The one trial of a set."""
    with run(evals, home=home, cache=False, **more) as found:
        (trial,) = found.trials()
        return trial


def ran(home: Path, body: Any, **more: Any) -> TrialResult:
    """The one trial of a set with this eval."""
    evals = EvalSet("one", **more)
    evals.eval(body)
    return only(evals, home)


def command(*words: str) -> Result:
    """`evenhand`, in this process."""
    return CliRunner().invoke(evenhand, list(words), standalone_mode=False)


def project(folder: Path, **files: str) -> Path:
    """A folder with these eval files."""
    for name, text in files.items():
        path = folder / "evals" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("from evenhand import EvalSet\n" + textwrap.dedent(text), "utf-8")
    return folder


# What its own tests pin


def test_an_eval_goes_on_after_a_failure_and_an_error(tmp_path: Path):
    """Passed, failed, error, passed; a bare false and a raising block alike."""

    def body(expect: Expect) -> None:
        expect(True, "first")
        expect(False, "second")
        with expect.that("third"):
            raise RuntimeError("boom")
        expect(True, "fourth")

    trial = ran(tmp_path, body)
    assert [o.outcome for o in trial.outcomes] == ["pass", "fail", "error", "pass"]
    assert (trial.outcome, trial.outcomes[2].reason) == ("fail", "RuntimeError: boom")


def test_what_a_trial_writes_is_rolled_back_and_its_calls_are_kept(tmp_path: Path):
    """Also where the tear-down deletes what the calls were made for; set-up, subject and judge are told apart."""
    database = sqlite3.connect(tmp_path / "app.db", check_same_thread=False)
    database.execute("create table document (title text)")
    asks = Scripted(("a summary",), cost_usd=0.25)
    evals = EvalSet("isolated", model=asks, judge=Scripted((YES,), id="judge", cost_usd=0.5))

    @evals.fixture
    async def document(model: Model) -> Any:
        database.execute("insert into document values ('mine')")
        await model.generate("prepare")
        yield "mine"
        database.rollback()

    @evals.eval
    async def summarises(document: str, model: Model, expect: Expect) -> None:
        found = database.execute("select count(*) from document").fetchone()
        expect(found == (1,), "is there")
        reply = await model.generate("summarise")
        expect(reply.text, Passes("is short"))

    with run(evals, home=tmp_path, cache=False) as found:
        (trial,) = found.trials()
        roles = [call.start.role for call in found.calls(trial.index)]
    assert trial.outcome == "pass", trial
    assert database.execute("select count(*) from document").fetchone() == (0,)
    assert roles == ["setup", "subject", "judge"]
    assert (trial.calls, trial.cost_usd) == (3, 1.0)


def test_repeats_are_trials_and_one_rate_for_each_eval_whatever_they_are_described_as(
    tmp_path: Path,
):
    """Two evals with one docstring stay two."""
    evals = EvalSet("repeated", repeats=3)

    @evals.eval
    def one(expect: Expect, repeat: int) -> None:
        """It works."""
        expect(repeat != 1, "holds")

    @evals.eval
    def two(expect: Expect) -> None:
        """It works."""
        expect(True, "holds")

    with run(evals, home=tmp_path) as found:
        assert [(t.variant, t.repeat) for t in found.trials()] == [
            (variant, repeat) for repeat in range(3) for variant in (0, 1)
        ]
        assert [(rate.passed, rate.trials) for rate in rates(found.file)] == [(2, 3), (3, 3)]


def test_metadata_is_kept_beside_the_judges_and_there_is_none_where_none_is_given(tmp_path: Path):
    """Where both say something under one name, the judge's word stands."""

    def body(expect: Expect) -> None:
        expect(True, "bare")
        expect("x", Passes("is short"), scenario="complaint", confidence="mine")

    bare, judged = ran(tmp_path, body, judge=Scripted((YES,))).outcomes
    assert dict(bare.metadata) == {}
    assert judged.metadata["scenario"] == "complaint"
    assert judged.metadata["confidence"] == 0.9
    assert judged.metadata["passes"] is True
    assert judged.metadata["reasoning"] == "It is."


def test_a_plain_text_is_a_rubric_called_custom(tmp_path: Path):
    """And is judged like any other."""

    def body(expect: Expect) -> None:
        expect("x", Rating("5: perfect, 1: useless"), at_least=4)

    (outcome,) = ran(tmp_path, body, judge=said(score=4)).outcomes
    assert (outcome.outcome, outcome.metadata["rubric"]) == ("pass", "custom")


@pytest.mark.parametrize(("confidence", "warned"), [(0.3, True), (0.5, False)])
def test_a_judge_that_is_not_sure_is_warned_of(tmp_path: Path, confidence: float, warned: bool):
    """Below one half, in every kind of judgement, not in one alone."""

    def body(expect: Expect) -> None:
        expect("x", Passes("is short"))
        expect("x", Rating(CLARITY), at_least=1)
        expect("x", Preferred(over="y", criteria="shorter", ties="win"))

    judge = said(passes=True, score=4, winner="tie", confidence=confidence)
    outcomes = ran(tmp_path, body, judge=judge).outcomes
    assert ["warning" in o.metadata for o in outcomes] == [warned] * 3


@pytest.mark.parametrize("better", ["new", "old"])
def test_a_preference_does_not_hang_on_the_place_of_a_text(tmp_path: Path, better: str):
    """Both orders are asked, and which text stood where is kept."""

    def judged(prompt: Any) -> str:
        first = prompt.text.index("the new reply") < prompt.text.index("the old reply")
        place = "first" if first is (better == "new") else "second"
        return json.dumps({"reasoning": "Clear.", "winner": place, "confidence": 0.9})

    def body(expect: Expect) -> None:
        expect("the new reply", Preferred(over="the old reply", criteria="clearer"))

    (outcome,) = ran(tmp_path, body, judge=Scripted(judged)).outcomes
    assert outcome.outcome == ("pass" if better == "new" else "fail")
    assert outcome.metadata["winner"] == ("output" if better == "new" else "other")
    assert [order["winner"] for order in outcome.metadata["orders"]] == [
        outcome.metadata["winner"]
    ] * 2


def test_a_judge_that_nobody_knows_is_told_and_no_exception(tmp_path: Path):
    """When the file is read, with its line; nothing is sent."""
    folder = project(
        tmp_path,
        a_evals='evals = EvalSet("a", judge="nonsense:x")\n@evals.eval\ndef a(expect): ...\n',
    )
    done = command("check", str(folder))
    assert "nonsense" in str(done.exception)
    assert "a_evals.py:2" in str(done.exception)


def test_a_range_without_its_end_is_told_with_its_last_score():
    """As `9...11` in Ruby, `range(9, 11)` is 9 and 10."""
    rubric = Rubric("quality", {range(9, 11): "good", (0, 8): "bad"})
    assert "9 to 10: good" in rubric.text
    assert rubric.scale == (0, 10)
    assert [r.scale for r in (ACCURACY, HELPFULNESS, CLARITY)] == [(1, 5)] * 3


def test_the_document_of_a_run_says_what_raifs_results_say(tmp_path: Path):
    """When, with what, every eval with its expectations, its calls and their tokens, and the sums."""
    evals = EvalSet("told", model=Scripted(("x",)), judge=Scripted((YES,)))

    @evals.eval
    async def asks(model: Model, expect: Expect) -> None:
        reply = await model.generate("?")
        expect(reply.text, Passes("is short"), size=1)

    with run(evals, home=tmp_path, cache=False) as found:
        told = document(found.file)
    assert told["run"]["created_at"]
    assert told["configuration"]
    (trial,) = told["trials"]
    (outcome,) = trial["outcomes"]
    assert (outcome["name"], outcome["outcome"]) == ('passes "is short"', "pass")
    assert outcome["metadata"]["size"] == 1
    assert told["totals"]["passed"] == 1
    assert told["usage"]


def test_a_run_without_calls_used_nothing(tmp_path: Path):
    """Nothing asked is nothing spent: a zero that is known."""
    trial = ran(tmp_path, lambda expect: expect(True, "holds"))
    assert (trial.calls, trial.cost_usd, trial.tokens_in) == (0, 0.0, None)


# What was wrong there


def test_the_score_and_the_reasons_of_a_rating_are_told(tmp_path: Path):
    """With -v, beside the expectation."""
    folder = project(
        tmp_path,
        a_evals="""
        from evenhand.scorers import CLARITY, Rating
        from evenhand.testing import Scripted
        judge = Scripted(('{"reasoning": "Half of it.", "score": 3, "confidence": 0.9}',))
        evals = EvalSet("a", judge=judge)
        @evals.eval
        def a(expect):
            expect("x", Rating(CLARITY), at_least=4)
        """,
    )
    done = command("run", str(folder), "-v", "--no-progress")
    assert "Half of it." in done.output
    assert "3" in done.output
    assert "at least 4" in done.output


def test_one_name_says_that_a_tool_is_called_and_that_it_is_not(tmp_path: Path):
    """And every call is kept, twice the same tool too, in its order."""
    calls = [{"name": "search", "arguments": {"query": q}} for q in ("sun", "moon")]

    def body(expect: Expect) -> None:
        expect(calls, CallsTool("search", {"query": "moon"}))
        expect(calls, ~CallsTool("search"))
        expect(calls, CallsTools(["search", "search"], order="exact"))

    outcomes = ran(tmp_path, body).outcomes
    assert [o.outcome for o in outcomes] == ["pass", "fail", "pass"]
    assert [c["arguments"]["query"] for c in outcomes[0].metadata["calls"]] == ["sun", "moon"]


@pytest.mark.parametrize(
    ("ties", "outcome"), [("half", "fail"), ("win", "pass"), ("lose", "fail"), ("forbid", "error")]
)
def test_a_tie_is_what_one_says_it_is(tmp_path: Path, ties: Any, outcome: str):
    """And where it is ruled out, the judge is not even offered it."""

    def body(expect: Expect) -> None:
        expect("new", Preferred(over="old", criteria="clearer", ties=ties))

    (found,) = ran(tmp_path, body, judge=said(winner="tie")).outcomes
    assert found.outcome == outcome


@pytest.mark.parametrize("reply", ["no JSON at all", json.dumps({"reasoning": "x", "score": 11})])
def test_a_judge_that_breaks_or_leaves_its_scale_is_an_error_and_no_failure(
    tmp_path: Path, reply: str
):
    """It is asked once more; what is expected after it is settled all the same."""
    judge = Scripted((reply,))

    def body(expect: Expect) -> None:
        expect("x", Rating(CLARITY), at_least=4)
        expect(True, "after")

    trial = ran(tmp_path, body, judge=judge)
    assert [o.outcome for o in trial.outcomes] == ["error", "pass"]
    assert trial.outcome == "error"
    assert len(judge.asked) == 2


class Depth(Judgement):
    accuracy: Graded[1, 5]


class DepthJudge(CustomJudge[Depth]):
    document: str

    def messages(self, output: str) -> list[Message]:
        return [Message("user", f"{output}\n{self.fenced(self.document)}")]


@pytest.mark.parametrize(
    ("question", "verdict"),
    [
        (Passes("is short"), "passes"),
        (Rating(CLARITY), "score"),
        (Preferred(over="OTHER", criteria="c"), "winner"),
        (DepthJudge(document="SOURCE"), "score"),
    ],
)
def test_judges_are_asked_for_reasons_before_verdicts_and_shown_texts_between_marks(
    tmp_path: Path, question: Any, verdict: str
):
    """The order is in the prompt, or in the schema that the answer must fit."""
    judge = Scripted(("{}",))

    def body(expect: Expect) -> None:
        expect("JUDGED", question, at_least=None if traits_of(question).gives == "verdict" else 0)

    ran(tmp_path, body, judge=judge)
    prompt = judge.asked[0]
    assert "JUDGED" in prompt.text.splitlines(), "it stands on a line of its own, between marks"
    asked = json.dumps(prompt.schema) if prompt.schema else prompt.text
    assert 0 <= asked.find('"reasoning"') < asked.rfind(f'"{verdict}"')


def test_what_set_up_and_tear_down_raise_ends_no_run(tmp_path: Path):
    """They are errors of their trial; the other trials have their results."""
    evals = EvalSet("fixtures", data=[{"id": "setup"}, {"id": "teardown"}, {"id": "sound"}])

    @evals.fixture
    def broken(case: Case) -> Iterator[int]:
        if case.id == "setup":
            raise OSError("no database")
        yield 1
        if case.id == "teardown":
            raise OSError("still in use")

    @evals.eval
    def uses(broken: int, expect: Expect) -> None:
        expect(broken == 1, "is given")

    with run(evals, home=tmp_path) as found:
        outcomes = {t.case: t.outcome for t in found.trials()}
    assert outcomes == {"setup": "error", "teardown": "error", "sound": "pass"}


def test_exit_codes_tell_failed_from_broken_and_from_nothing(tmp_path: Path):
    """0 is kept for what passed."""
    folder = project(
        tmp_path,
        a_evals="""
        evals = EvalSet("a")
        @evals.eval
        def passes(expect): expect(True, "x")
        @evals.eval
        def fails(expect): expect(False, "x")
        @evals.eval
        def breaks(expect): raise ValueError
        """,
    )
    codes = {
        name: command("run", str(folder), "-k", name).return_value
        for name in ("passes", "fails", "breaks")
    }
    assert codes == {"passes": 0, "fails": 1, "breaks": 3}
    for line in (2, 999):
        done = command("run", f"{folder}/evals/a_evals.py:{line}")
        assert "no eval is on this line" in str(done.exception)


def test_an_eval_that_expects_nothing_is_told_and_refused_under_strict(tmp_path: Path):
    """It never passes unseen."""
    folder = project(
        tmp_path, a_evals='evals = EvalSet("a")\n@evals.eval\ndef idle(expect): pass\n'
    )
    evals = EvalSet("idle")
    evals.eval(lambda: None)
    with run(evals, home=tmp_path) as found:
        assert warnings(found.file)
    assert command("run", str(folder), "--strict").return_value == 3


def test_a_file_named_twice_and_two_sets_in_one_file_all_run_once(tmp_path: Path):
    """Each set, each eval; no instance is shared between trials."""
    body = """
    one, two = EvalSet("one"), EvalSet("two")
    @one.eval
    def a(expect): expect(True, "x")
    @two.eval
    def b(expect): expect(True, "x")
    """
    file = project(tmp_path, a_evals=body) / "evals" / "a_evals.py"
    done = command("run", str(file), f"{file}:4", str(file), "--json")
    assert [t["variant"]["prompt"] for t in json.loads(done.stdout)["trials"]] == [
        "one: a",
        "two: b",
    ]


def test_trials_run_side_by_side_and_share_nothing(tmp_path: Path):
    """A fixture is made anew for each; two of them wait for each other."""
    evals = EvalSet("parallel", data=[{"id": str(i)} for i in range(20)])
    made: list[object] = []
    both = threading.Barrier(2)

    @evals.fixture
    def state() -> dict[str, int]:
        made.append(fresh := dict[str, int]())
        return fresh

    @evals.eval
    def changes(state: dict[str, int], expect: Expect) -> None:
        expect(not state, "is fresh")
        state["x"] = 1
        both.wait(60)

    with run(evals, home=tmp_path, concurrency=10) as found:
        assert found.totals().passed == 20
    assert len({id(one) for one in made}) == 20


def test_runs_of_one_second_do_not_overwrite_each_other(tmp_path: Path):
    """Each has an id, and a file, of its own."""
    evals = EvalSet("twice")
    evals.eval(lambda expect: expect(True, "x"))
    paths: list[Path] = []
    for _ in range(2):
        with run(evals, home=tmp_path) as found:
            assert isinstance(found, Run)
            paths.append(found.path)
    assert len(set(paths)) == 2
    assert all(path.is_file() for path in paths)
