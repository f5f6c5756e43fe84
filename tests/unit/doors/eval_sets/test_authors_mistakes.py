"""The mistakes that authors of evals make, and what they are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand import EvalSet, run
from evenhand.core.errors import ConfigError
from evenhand.core.run import TrialResult
from evenhand.doors.eval_sets.discovery import find
from evenhand.doors.eval_sets.eval_paths import is_evals
from evenhand.scorers import CLARITY, Contains, Rating, nDCG
from evenhand.testing import Scripted

pytestmark = pytest.mark.usefixtures("home_of_its_own")


def only(evals: EvalSet) -> TrialResult:
    """The only trial of a set."""
    with run(evals) as found:
        (trial,) = found.trials()
        return trial


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("wieght", "weight"),
        ("lable", "label"),
        ("at_leas", "at_least"),
        ("atleast", "at_least"),
        ("at_mosst", "at_most"),
        ("metrics", "metric"),
        ("threshold", "at_least"),
        ("minimum", "at_least"),
    ],
)
def test_a_misspelt_parameter_of_expect_is_refused_and_the_near_one_offered(
    name: str, meant: str
) -> None:
    """It vanished among the metadata, and the expectation went on without it."""
    evals = EvalSet("slips")
    given = {name: 2}

    @evals.eval
    def slips(expect) -> None:
        expect("x", Contains("x"), **given)

    (outcome,) = only(evals).outcomes
    assert outcome.outcome == "error"
    assert f": expect takes no `{name}`: did you mean `{meant}`?" in outcome.reason
    assert outcome.hint == "Metadata of your own needs another name."


def test_metadata_of_other_names_is_kept() -> None:
    """Words that are near no parameter, or are words of their own."""
    evals = EvalSet("metadata")

    @evals.eval
    def attaches(expect) -> None:
        expect("x", Contains("x"), height=3, words=1, note="n", model="m", weight_kg=2, minutes=4)

    (outcome,) = only(evals).outcomes
    assert outcome.outcome == "pass"
    assert {"height", "words", "note", "model", "weight_kg", "minutes"} <= {*outcome.metadata}


def test_a_misspelt_parameter_is_told_before_anything_is_sent() -> None:
    """Keywords are plain to see."""
    evals = EvalSet("slips")

    @evals.eval
    def slips(expect) -> None:
        expect(5, at_leas=30, label="n")

    with pytest.raises(
        ConfigError, match=r": expect takes no `at_leas`: did you mean `at_least`\?"
    ):
        run(evals)


def test_a_call_of_the_model_without_await_is_told_before_anything_is_sent() -> None:
    """In async evals and in plain ones, whatever is done with what it returns."""
    evals = EvalSet("asks", model=Scripted(("yes",)))

    @evals.eval
    async def looks_into_it(model, expect) -> None:
        reply = model.generate("hi")
        expect(reply.text, Contains("yes"))

    @evals.eval
    def is_plain(model, expect) -> None:
        expect(model.generate("hi"), Contains("yes"))

    @evals.eval
    async def waits_for_several(model, expect) -> None:
        import asyncio

        first = model.generate("hi")
        replies = await asyncio.gather(first, model.generate("ho"))
        expect(replies[0].text, Contains("yes"))

    with pytest.raises(ConfigError) as raised:
        run(evals)
    assert [p.what for p in raised.value.problems] == [
        "model.generate(…) is not awaited, and so the model is not asked"
    ] * 2
    assert raised.value.problems[0].hint == "Write await model.generate(…), in an async def."


def test_a_helper_that_forgets_await_is_told_in_these_words() -> None:
    """It was an AttributeError on a coroutine."""
    evals = EvalSet("asks", model=Scripted(("yes",)))

    def answer(model) -> str:
        return model.generate("hi").text

    @evals.eval
    async def asks(model, expect) -> None:
        expect(answer(model), Contains("yes"))

    first = only(evals).outcomes[0]
    assert (first.outcome, "a coroutine that was not awaited" in first.reason) == ("error", True)
    assert "Write await" in first.hint


ASSERTS = """
from evenhand import EvalSet

evals = EvalSet("asserts")


@evals.eval
def asserts(expect):
    total = 3
    expect(total, at_least=1, label="total")
    assert (
        total == 4
    ), "the total is off"
"""


def test_a_plain_assert_in_an_eval_is_a_failure_with_its_expression(tmp_path: Path) -> None:
    """What was expected before it stays; an assert of the application is an error."""
    file = tmp_path / "asserts_evals.py"
    file.write_text(ASSERTS)
    trial = only(find([str(file)]).sets[0])
    first, second = trial.outcomes
    assert (trial.outcome, first.outcome, second.outcome) == ("fail", "pass", "fail")
    assert second.name == "assert total == 4"
    assert second.reason == "the total is off; nothing after it was run"
    assert second.metadata["assert"].startswith("asserts_evals.py:")


@pytest.mark.parametrize(
    "line",
    ["total = 4; assert total == 5", "assert 1; assert (total := 4) == 5", "if 1: assert 4 == 5"],
)
def test_an_assert_is_named_whatever_else_is_on_its_line(tmp_path: Path, line: str) -> None:
    """Its name in reports is the condition that did not hold, and no other statement."""
    file = tmp_path / "line_evals.py"
    head = "from evenhand import EvalSet\nevals = EvalSet('line')\n@evals.eval\n"
    file.write_text(f"{head}def sums(expect):\n    {line}\n")
    (outcome,) = only(find([str(file)]).sets[0]).outcomes
    assert outcome.name == f"assert {line.rpartition('assert ')[2]}"


def test_an_assert_of_the_application_is_an_error(tmp_path: Path) -> None:
    """It has failed itself, and said nothing of its answer."""
    app: dict[str, object] = {}
    file = tmp_path / "app.py"
    file.write_text("def answer():\n    assert 1 == 2, 'not ready'\n")
    exec(compile(file.read_text(), str(file), "exec"), app)
    answer = app["answer"]
    evals = EvalSet("asserts")

    @evals.eval
    def asks(expect) -> None:
        expect(answer(), Contains("yes"))  # pyright: ignore[reportCallIssue]

    assert only(evals).outcome == "error"


@pytest.mark.parametrize(
    ("scorer", "bounds", "what"),
    [
        (Rating(CLARITY), {"at_least": 7}, "gives 1 to 5, and at_least is 7: no score can keep it"),
        (Rating(CLARITY), {"at_least": 0.8}, "and at_least is 0.8: every score keeps it"),
        (Rating(CLARITY), {"at_most": 0.5}, "and at_most is 0.5: no score can keep it"),
        (nDCG({"a": 1}), {"at_least": 80}, "gives 0 to 1, and at_least is 80"),
    ],
)
def test_a_bound_off_the_scale_is_refused_before_anybody_judges(
    scorer: object, bounds: dict[str, float], what: str
) -> None:
    """A judge was asked, paid, and could never have met it."""
    judge = Scripted(())
    evals = EvalSet("scales", judge=judge)

    @evals.eval
    def rates(expect) -> None:
        expect("text", scorer, **bounds)

    (outcome,) = only(evals).outcomes
    assert outcome.outcome == "error"
    assert what in outcome.reason


def test_a_bound_off_the_scale_is_told_before_the_run() -> None:
    """Where it is written out, nothing is sent."""
    evals = EvalSet("scales", judge=Scripted(()))

    @evals.eval
    def rates(expect) -> None:
        expect("text", Rating(CLARITY), at_least=7)

    with pytest.raises(ConfigError, match=r"rating clarity gives 1 to 5, and at_least is 7"):
        run(evals)


def test_a_missing_column_is_told_with_those_there_are() -> None:
    """By the names of the case, and its fields."""
    row = {"id": "a", "input": "x", "question": "q", "metadata": {"level": 1}}
    evals = EvalSet("columns", data=[row])

    @evals.eval
    def misspells(case, expect) -> None:
        expect(case.vars["qestion"], Contains("q"))

    @evals.eval
    def is_a_field(case, expect) -> None:
        expect(case.vars["input"], Contains("q"))

    @evals.eval
    def of_the_metadata(case, expect) -> None:
        expect(case.metadata["levl"], at_least=1, label="level")

    @evals.eval
    def of_its_own(case, expect) -> None:
        expect({}["vars"], at_least=1, label=case.id)

    with run(evals) as found:
        hints = [trial.outcomes[0].hint for trial in found.trials()]
    assert hints[0].startswith("case.vars of 'a' has: question; besides, case.input.")
    assert hints[1].startswith("Write case.input: it is a field of its own.")
    assert hints[2].startswith("case.metadata of 'a' has: level; besides, case.input.")
    assert "has:" not in hints[3]


def test_files_that_end_in_eval_are_found_as_well(tmp_path: Path) -> None:
    """One eval, one letter less."""
    (tmp_path / "evals").mkdir()
    text = "from evenhand import EvalSet\nevals = EvalSet({!r})\n\n@evals.eval\ndef one(expect): expect(True, 'is')\n"
    (tmp_path / "evals" / "a_eval.py").write_text(text.format("a"))
    (tmp_path / "evals" / "b_evals.py").write_text(text.format("b"))
    assert is_evals(str(tmp_path))
    assert [one.name for one in find([str(tmp_path)]).sets] == ["a", "b"]
