"""Eval sets: functions over a dataset, expectations that never end an eval, fixtures that are always torn down."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.case import Case
from evenhand.core.errors import AuthError, ConfigError, NothingSelected, TemplateError, UsageError
from evenhand.core.plan import Plan, Selection
from evenhand.core.run import TrialResult
from evenhand.core.score import Score, check
from evenhand.core.traits import Traits
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.doors.eval_sets.discovery import find
from evenhand.doors.eval_sets.eval_paths import eval_files, is_evals, split_line
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.doors.eval_sets.prompt import Prompt
from evenhand.doors.eval_sets.running import run
from evenhand.doors.eval_sets.scoring import score_async
from evenhand.doors.eval_sets.selection import EvalFilter
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.scorers.text import Contains, Equals
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted


def planned(*sets: EvalSet, **more: Any) -> Plan:
    """The plan of these sets, in an empty environment."""
    return plan_of(sets, env={}, **more)


async def ran(evals: EvalSet, home: Path, **more: Any) -> list[TrialResult]:
    """The trials of a set."""
    finished = await door.settle(planned(evals, **more), Settings(home=home, cache=False))
    with RunFile.open(finished.path) as found:
        return list(found.trials())


class Number:
    """A scorer that measures, and wants a bound."""

    traits = Traits(gives="number")

    def score(self, output: Any, trial: Any) -> Any:
        from evenhand.core.score import Score

        return Score(float(output))

    def __str__(self) -> str:
        return "number"


async def test_parameters_are_given_by_name(tmp_path: Path):
    """Case, expect, model, judge, repeat, axes and fixtures; plain and async functions alike."""
    evals = EvalSet(
        "all of them",
        data=[{"id": "a", "input": "x"}],
        model=Scripted(("said",)),
        judge=Scripted(("judged",)),
        over={"tone": ["kind"]},
    )

    @evals.fixture
    def session() -> str:
        return "session"

    @evals.eval
    async def later(case, expect, model, judge, repeat, tone, session):
        said, judged = await model.generate("?"), await judge.generate("?")
        expect((case.input, repeat, tone, session) == ("x", 0, "kind", "session"), "given")
        expect((said.text, judged.text) == ("said", "judged"), "lent")
        return "output"

    @evals.eval
    def plain(expect, case):
        expect(case.id == "a", "given")

    one, two = await ran(evals, tmp_path)
    assert (one.outcome, one.output, one.calls) == ("pass", "output", 2)
    assert two.outcome == "pass"


async def test_an_expectation_that_is_missed_or_raises_ends_nothing(tmp_path: Path):
    """All that was expected before and after it is in the results, in its order."""
    evals = EvalSet("soft")

    @evals.eval
    async def all_kinds(expect):
        expect(False, "false")
        expect(3, at_most=2, label="too many")
        expect("abc", Contains("b"), why="metadata")
        with expect.that("holds"):
            assert 1 + 1 == 3, "sums"
        with expect.that("breaks"):
            raise KeyError("x")
        now = await expect.now("abc", Contains("z"))
        expect(now.outcome == "fail", "settled at once")
        raise ValueError("my bug")

    (trial,) = await ran(evals, tmp_path)
    assert [(o.name, o.outcome) for o in trial.outcomes] == [
        ("false", "fail"),
        ("too many", "fail"),
        ('contains "b"', "pass"),
        ("holds", "fail"),
        ("breaks", "error"),
        ('contains "z"', "fail"),
        ("settled at once", "pass"),
        ("the eval runs to its end", "error"),
    ]
    assert trial.outcomes[2].metadata == {"why": "metadata"}
    assert trial.outcomes[3].reason.startswith("sums")
    assert "my bug" in trial.outcomes[-1].reason


async def test_a_condition_says_why_it_failed(tmp_path: Path):
    """`why=` is the reason of a failure wherever reasons are told, after the bound; of a pass it is kept beside it."""
    evals = EvalSet("reasons")

    @evals.eval
    async def reasons(expect):
        expect(False, "names no other allergen", why="names sesame")
        expect(1, at_least=2, label="grade", why="one date is off")
        expect(True, "is short", why="12 words")
        expect(False, "odd", why={"not": "a text"})

    (trial,) = await ran(evals, tmp_path)
    told = [one.reason for one in trial.outcomes]
    assert told == ["names sesame", "1, wanted at least 2: one date is off", "", ""]
    assert trial.outcomes[2].metadata == {"why": "12 words"}
    assert "names sesame" in trial.reason


async def test_what_is_recorded_may_be_changed_afterwards(tmp_path: Path):
    """Lists and dicts are copied when they are recorded."""
    evals = EvalSet("copies")

    @evals.eval
    def changes(expect):
        found = [1]
        expect(found, Equals([1]))
        found.clear()

    (trial,) = await ran(evals, tmp_path)
    assert trial.outcome == "pass"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (lambda expect: expect(True), "needs a label"),
        (lambda expect: expect(5, "count"), "has no bound"),
        (lambda expect: expect("x", at_least=1, label="l"), "bounds are for numbers"),
        (lambda expect: expect(5, Number()), "number gives a number, and has no bound"),
        (lambda expect: expect("b", Contains("b"), at_most=1), "is true or false, and has a bound"),
        (lambda expect: expect("x", 3), "int '3' is not a scorer"),
        (lambda expect: expect(True, "x", weight="heavy"), "weight is 'heavy', not a number"),
        (lambda expect: expect(True, "x", weight=-1), "weight is -1, less than 0"),
        (lambda expect: expect(1, at_least=2, at_most=1, label="n"), "no number is both"),
        (lambda expect: expect(1, at_least="1", label="x"), "at_least is '1', not a number"),
        (lambda expect: expect(1, at_most=float("nan"), label="x"), "at_most is nan"),
        (lambda expect: expect(True, label=3), "label is 3, not a text"),
    ],
)
async def test_an_expectation_with_nothing_to_decide_by_is_an_error_and_ends_nothing(
    tmp_path: Path, words: Any, says: str
):
    """With what is missing, and the line that says it; the rest is expected all the same."""
    evals = EvalSet("undecided")

    @evals.eval
    def goes_on(expect):
        words(expect)
        expect(True, "after")

    (trial,) = await ran(evals, tmp_path)
    wrong, after = trial.outcomes
    assert (wrong.outcome, wrong.error, after.outcome) == ("error", "usage", "pass")
    assert says in wrong.reason
    assert "test_evalsets.py:" in wrong.reason


async def test_a_number_of_a_scorer_of_ones_own_without_a_bound_never_passes(tmp_path: Path):
    """Whoever wrote it, recorded or settled at once; with a bound it is decided, and `score` only measures."""

    class Length:
        def score(self, output: Any, trial: Any) -> Score:
            return Score(float(len(output)))

    class Waits:
        async def score(self, output: Any, trial: Any) -> Score:
            return Score(1.0)

    evals = EvalSet("numbers")

    @evals.eval
    async def asks(expect):
        expect("hello", Length())
        expect("hello", Waits())
        await expect.now("hello", Length())
        expect("hello", Length(), at_most=5)

    (trial,) = await ran(evals, tmp_path)
    assert [(o.name, o.outcome) for o in trial.outcomes] == [
        ("Length", "error"),
        ("Waits", "error"),
        ("Length", "error"),
        ("Length", "pass"),
    ]
    assert trial.outcome == "error"
    assert trial.outcomes[0].reason == "Length gave 5 without a verdict, and there is no bound"
    assert trial.outcomes[0].hint.startswith("Write at_least= or at_most=")
    found = await score_async(answer="hello", metrics=[Length()], home=tmp_path)
    assert found["Length"].value == 5.0


async def test_fixtures_are_made_for_each_trial_and_torn_down_whatever_happened(tmp_path: Path):
    """In reverse order; what a tear-down raises is an error among the expectations, and ends nothing."""
    log: list[str] = []
    evals = EvalSet("isolated", data=[{"id": "a"}, {"id": "b"}])

    @evals.fixture
    async def database():
        log.append("open")
        yield "db"
        log.append("close")

    @evals.fixture
    def session(database):
        log.append(f"begin {database}")
        yield "s"
        log.append("roll back")
        raise RuntimeError("cannot roll back")

    @evals.eval
    def uses(case, session, expect):
        log.append(f"run {case.id} {session}")
        expect(True, "ran")
        if case.id == "a":
            raise ValueError("bug")

    one, two = await ran(evals, tmp_path, selection=Selection())
    assert sorted(log) == sorted(
        [
            "open",
            "begin db",
            "run a s",
            "roll back",
            "close",
            "open",
            "begin db",
            "run b s",
            "roll back",
            "close",
        ]
    )
    assert [o.name for o in one.outcomes] == [
        "ran",
        "the eval runs to its end",
        "tear-down of session",
    ]
    assert [o.outcome for o in two.outcomes] == ["pass", "error"]


async def test_a_fixture_that_cannot_be_made_is_an_error_of_the_trial(tmp_path: Path):
    """The eval is not run, those made before are torn down."""
    log: list[str] = []
    evals = EvalSet("broken")

    @evals.fixture
    def first():
        yield 1
        log.append("torn down")

    @evals.fixture
    def second(first):
        raise OSError("no database")

    @evals.eval
    def never(second, expect):
        log.append("run")

    (trial,) = await ran(evals, tmp_path)
    assert log == ["torn down"]
    assert trial.outcome == "error"
    assert "no database" in trial.outcomes[0].reason


async def test_every_combination_of_the_axes_is_a_column(tmp_path: Path):
    """Prompts by their names, models by theirs; repeats inside."""
    small, large = Scripted(label="small"), Scripted(label="large")
    evals = EvalSet(
        "matrix",
        data=[{"id": "cow", "input": "cow"}],
        over={
            "prompt": [
                Prompt("plain", "Legs of a {{animal}}?"),
                Prompt("cot", "Think: {{animal}}."),
            ],
            "model": [small, large],
        },
        repeats=2,
    )

    @evals.eval
    async def counts(case, prompt, model, expect):
        reply = await model.generate(prompt.render(animal=case.input))
        expect(reply.text == "yes", "says yes")

    plan = planned(evals)
    assert [(v.prompt, v.model) for v in plan.variants] == [
        ("counts · plain", "small"),
        ("counts · plain", "large"),
        ("counts · cot", "small"),
        ("counts · cot", "large"),
    ]
    assert plan.size == 8
    await ran(evals, tmp_path)
    assert {p.text for p in small.asked} == {"Legs of a cow?", "Think: cow."}


async def test_a_wrong_key_stops_the_run(tmp_path: Path):
    """It is not an error of every single trial."""
    evals = EvalSet(
        "locked", data=[{"id": str(i)} for i in range(50)], model=Scripted([AuthError("no key")])
    )

    @evals.eval
    async def asks(model, case):
        await model.generate(case.id)

    finished = await door.settle(planned(evals), Settings(home=tmp_path))
    assert finished.ending.status == "stopped"


def test_all_that_is_wrong_with_a_set_is_said_when_it_is_read():
    """Each parameter that nothing provides, with the nearest that is."""
    evals = EvalSet("wrong", model="opnai:gpt", over={"tone": ["a"]})

    @evals.eval
    def one(case, ton):
        """Misspelt."""

    @evals.eval
    def two(judge):
        """Nobody judges."""

    with pytest.raises(ConfigError) as caught:
        planned(evals)
    text = str(caught.value)
    assert "one asks for 'ton', which nothing provides" in text
    assert "Did you mean 'tone'?" in text
    assert "two asks for 'judge'" in text
    assert "Did you mean 'openai'?" in text
    assert "test_evalsets.py:" in text


def test_a_parameter_that_is_a_column_of_the_cases_is_answered_with_how_to_read_it():
    """A variable, a key of the metadata, a field; of a fixture as of an eval."""
    evals = EvalSet(
        "shop", data=[{"id": "a", "input": "i", "question": "q", "metadata": {"day": 1}}]
    )

    @evals.fixture
    def desk(day):
        return day

    @evals.eval
    def one(question, expected, desk):
        """None of these is given."""

    with pytest.raises(ConfigError) as caught:
        planned(evals)
    for read in ("case.vars['question']", "case.metadata['day']", "case.expected"):
        assert f"The cases have it: take case, and write {read}." in str(caught.value)


def test_sets_that_cannot_be_are_refused_where_they_are_written():
    """No repeats, an axis that is no list, two cases of one name."""
    with pytest.raises(UsageError, match="repeats is 0"):
        EvalSet("x", repeats=0)
    with pytest.raises(UsageError, match="not a list"):
        EvalSet("x", over={"model": "openai:gpt"})
    with pytest.raises(UsageError, match="two cases have the id 'a'"):
        EvalSet("x", data=[{"id": "a"}, {"id": "a"}])
    with pytest.raises(ConfigError, match="has no evals"):
        planned(EvalSet("empty"))


def test_evals_are_chosen_by_name_tag_and_line():
    """And choosing none is said, with what there is."""
    evals = EvalSet("chosen", tags=["nightly"])

    @evals.eval
    def first(expect):
        """One."""

    @evals.eval(tags=["slow"])
    def second(expect):
        """Two."""

    assert planned(evals).size == 2
    assert [v.prompt for v in planned(evals, only=EvalFilter(name="SEC")).variants] == ["second"]
    assert planned(evals, only=EvalFilter(tag="nightly")).size == 2
    assert [v.prompt for v in planned(evals, only=EvalFilter(tag="slow")).variants] == ["second"]
    line = evals.evals[0].last
    assert [
        v.prompt for v in planned(evals, only=EvalFilter(lines=[(evals.path, line)])).variants
    ] == ["first"]
    with pytest.raises(NothingSelected, match="first, second"):
        planned(evals, only=EvalFilter(name="third"))


def test_cases_are_selected_as_everywhere():
    """Filter, sample, first, repeats."""
    evals = EvalSet("many", data=[{"id": f"c{i}", "input": f"word {i}"} for i in range(20)])

    @evals.eval
    def each(case):
        """Each."""

    assert planned(evals, selection=Selection(filter="word 1")).size == 11
    assert planned(evals, selection=Selection(first=3, repeats=2)).size == 6
    drawn = [s.case.id for s in planned(evals, selection=Selection(sample=4, seed=1)).trials()]
    assert drawn == [
        s.case.id for s in planned(evals, selection=Selection(sample=4, seed=1)).trials()
    ]
    assert len(drawn) == 4
    with pytest.raises(UsageError, match="regular expression"):
        planned(evals, selection=Selection(filter="("))


def test_a_changed_dataset_is_another_plan():
    """So that a run is resumed only under the same one."""

    def made(text: str) -> Plan:
        evals = EvalSet("same", data=[{"id": "a", "input": text}])

        @evals.eval
        def each(case):
            """Each."""

        return planned(evals)

    assert made("x").fingerprint == made("x").fingerprint
    assert made("x").fingerprint != made("y").fingerprint


def test_files_are_read_below_the_sets_folder_and_nowhere_else(tmp_path: Path):
    """A guard against paths out of data."""
    (tmp_path / "a.txt").write_text("hello")
    evals = EvalSet("files", files=tmp_path)
    assert evals.file("a.txt").read_text() == "hello"
    with pytest.raises(UsageError, match="outside"):
        evals.file("../x")
    with pytest.raises(UsageError, match="does not exist"):
        evals.file("none.txt")


def test_a_dataset_is_read_from_csv_json_and_jsonl(tmp_path: Path):
    """Fields by their names, everything else a variable."""
    (tmp_path / "d.csv").write_text('id,input,expected,tags,animal\na,q,e,"x, y",cow\n')
    (tmp_path / "d.jsonl").write_text('{"input": "q", "context": ["p"], "metadata": {"k": 1}}\n\n')
    (tmp_path / "d.json").write_text('[{"id": "j", "input": 3}]')
    (one,) = Dataset.read(tmp_path / "d.csv")
    assert one == Case("a", {"animal": "cow"}, "q", "e", description="a", tags=("x", "y"))
    (two,) = Dataset.read(tmp_path / "d.jsonl")
    assert (two.input, two.context, two.metadata) == ("q", ("p",), {"k": 1})
    assert len(two.id) == 12
    assert Dataset.read(tmp_path / "d.json")[0].input == 3
    assert repr(Dataset.read(tmp_path / "d.csv")) == "<Dataset d: 1 case>"


@pytest.mark.parametrize("odd", ["\u2028", "\u0085", "\x0c"])
def test_a_row_ends_where_its_format_says(tmp_path: Path, odd: str):
    """Separators that texts of models and of web pages have in them end no row of CSV or JSONL."""
    (tmp_path / "d.csv").write_text(f"input\none{odd}two\n", "utf-8")
    (tmp_path / "d.jsonl").write_text(f'{{"input": "one {odd.strip()}two"}}\n', "utf-8")
    assert [case.input for case in Dataset.read(tmp_path / "d.csv")] == [f"one{odd}two"]
    assert len(Dataset.read(tmp_path / "d.jsonl")) == 1


def test_all_that_is_wrong_with_a_dataset_is_said_with_its_line(tmp_path: Path):
    """Ragged rows, doubles, what is no JSON."""
    (tmp_path / "d.csv").write_text("id,input\na,1\nb\na,2\n")
    with pytest.raises(ConfigError) as caught:
        Dataset.read(tmp_path / "d.csv")
    assert [p.line for p in caught.value.problems] == [3, 4]
    (tmp_path / "d.jsonl").write_text('{"id": 1}\n{\n[]\n{"metadata": 3}\n')
    with pytest.raises(ConfigError) as caught:
        Dataset.read(tmp_path / "d.jsonl")
    assert [p.line for p in caught.value.problems] == [2, 3, 4]
    for name, text in (("e.json", "{"), ("e2.json", "[3]"), ("e.csv", "id\n")):
        (tmp_path / name).write_text(text)
        with pytest.raises(ConfigError):
            Dataset.read(tmp_path / name)
    (tmp_path / "latin.csv").write_bytes(b"id\n\xe9\n")
    with pytest.raises(ConfigError, match="UTF-8"):
        Dataset.read(tmp_path / "latin.csv")
    with pytest.raises(ConfigError, match="does not exist"):
        Dataset.read(tmp_path / "none.csv")
    with pytest.raises(UsageError, match="ends in"):
        Dataset.read(tmp_path / "x.xlsx")


def test_a_prompt_is_filled_in_once_and_misses_nothing():
    """What is filled in is data."""
    prompt = Prompt("p", "Say {{a}} and {{b}}.")
    assert prompt.render(a="{{b}}", b=2).text == "Say {{b}} and 2."
    with pytest.raises(TemplateError, match="prompt 'p':1: 'b' has no value"):
        prompt.render(a=1)


SET = """
from evenhand import EvalSet
evals = EvalSet("{name}")

@evals.eval
def {name}(expect):
    expect(True, "holds")
"""


def test_sets_are_found_below_evals_and_a_broken_file_keeps_no_other_from_running(tmp_path: Path):
    """evals/setup.py is loaded first; the broken file is named with its line."""
    folder = tmp_path / "evals"
    folder.mkdir()
    (folder / "setup.py").write_text("import builtins\nbuiltins.evenhand_setup_ran = True\n")
    (folder / "one_evals.py").write_text(SET.format(name="one"))
    (folder / "two_evals.py").write_text("import nothing_like_it\n")
    (folder / "other.py").write_text("raise SystemError\n")
    found = find([str(tmp_path)])
    assert [s.name for s in found.sets] == ["one"]
    assert [(Path(p.file).name, p.line) for p in found.problems] == [("two_evals.py", 1)]
    import builtins

    assert builtins.evenhand_setup_ran  # type: ignore[attr-defined]
    assert is_evals(str(tmp_path))
    (folder / "one_evals.py").unlink()
    with pytest.raises(ConfigError, match="nothing_like_it"):
        find([str(folder)])


def test_a_line_chooses_the_eval_that_it_stands_in(tmp_path: Path):
    """Any line of the function; a line outside of all is told what there is."""
    file = tmp_path / "some_evals.py"
    file.write_text(
        SET.format(name="some")
        + textwrap.dedent("""

        @evals.eval
        def other(expect):
            '''Another.'''
            expect(True, "holds")
        """)
    )
    assert split_line(f"{file}:7") == (str(file), 7)
    found = find([f"{file}:7"])
    assert [
        v.prompt for v in planned(*found.sets, only=EvalFilter(lines=found.lines)).variants
    ] == ["some"]
    (problem,) = find([f"{file}:1"]).problems
    assert (problem.line, "no eval is on this line" in problem.what) == (1, True)
    with pytest.raises(UsageError, match="does not exist"):
        find([str(tmp_path / "none_evals.py")])
    empty = tmp_path / "evals"
    empty.mkdir()
    with pytest.raises(UsageError, match="holds no"):
        find([str(empty)])


def test_a_set_is_run_from_ordinary_code_and_inside_a_running_loop(tmp_path: Path):
    """The run is there to be looked at."""
    evals = EvalSet("library")

    @evals.eval
    def holds(expect):
        expect(True, "holds")

    with run(evals, home=tmp_path) as found:
        assert found.totals().passed == 1

    async def inside() -> int:
        with run(evals, home=tmp_path) as again:
            return again.totals().passed

    assert asyncio.run(inside()) == 1


async def test_the_score_is_the_share_that_passed_and_measures_stay_beside(tmp_path: Path):
    """Words and points are on scales of their own: no mean is taken over them."""
    evals = EvalSet("scales")

    @evals.eval
    def measures(expect):
        expect(140, at_most=120, label="words", metric="words")
        expect(True, "holds", weight=3)

    (trial,) = await ran(evals, tmp_path)
    assert (trial.outcome, trial.score, trial.named_scores) == ("fail", 0.75, {"words": 140})
    assert [o.score for o in trial.outcomes] == [140, 1]


async def test_a_fixture_that_yields_twice_is_an_error(tmp_path: Path):
    """What stands after its second `yield` is not run."""
    evals = EvalSet("twice")

    @evals.fixture
    def twice():
        yield 1
        yield 2

    @evals.eval
    def asks(twice, expect):
        expect(twice == 1, "is given")

    (trial,) = await ran(evals, tmp_path)
    assert [o.outcome for o in trial.outcomes] == ["pass", "error"]
    assert "more than once" in trial.outcomes[1].reason


def test_a_set_needs_no_file():
    """Typed at a prompt, an eval has its lines all the same."""
    names: dict[str, Any] = {}
    exec(compile(SET.format(name="typed"), "<prompt>", "exec"), names)
    (only,) = names["evals"].evals
    assert (only.first, only.last) == (5, 7)


def test_what_was_not_chosen_is_not_in_the_plan(tmp_path: Path):
    """Neither its name nor its repeats; lines of one file leave the other files whole."""
    for name in ("one", "two"):
        (tmp_path / f"{name}_evals.py").write_text(SET.format(name=name))
    one, two = (str(tmp_path / f"{name}_evals.py") for name in ("one", "two"))
    found = find([f"{one}:6", two])
    assert len(planned(*found.sets, only=EvalFilter(lines=found.lines)).variants) == 2
    assert find([one, f"{one}:6"]).lines == []
    plan = planned(*found.sets, only=EvalFilter(name="two"))
    assert (plan.title, [v.prompt for v in plan.variants]) == ("two", ["two"])


class Longest:
    """The longest output wins."""

    async def compare(self, contestants: Sequence[TrialResult], trial: object) -> list[Score]:
        lengths = [len(one.output) for one in contestants]
        return [check(length == max(lengths), f"{length} of {lengths}") for length in lengths]

    def __str__(self) -> str:
        return "longest"


async def test_the_columns_of_a_case_are_compared_with_each_other(tmp_path: Path):
    """Who loses fails, repeat by repeat; a function says who compares which case."""
    evals = EvalSet(
        "compared",
        data=[{"id": "a"}, {"id": "b"}],
        over={"word": ["no", "yes"]},
        repeats=2,
        compare=lambda case: [Longest()] if case.id == "a" else [],
    )

    @evals.eval
    def says(word: str) -> str:
        return word

    trials = await ran(evals, tmp_path)
    assert [(t.case, t.output, t.outcome) for t in trials] == [
        *[("a", "no", "fail"), ("a", "yes", "pass")] * 2,
        *[("b", "no", "not_applicable"), ("b", "yes", "not_applicable")] * 2,
    ]
    assert [o.name for o in trials[0].outcomes] == ["longest"]
    assert trials[0].reason == "2 of [2, 3]"


def test_what_compares_nothing_is_refused():
    """Before anything is run."""
    with pytest.raises(UsageError, match="compare has 'x', which compares nothing"):
        EvalSet("wrong", compare=["x"])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("selection", "whole"),
    [
        (Selection(), True),
        (Selection(seed=7), True),
        (Selection(repeats=3), True),
        (Selection(repeats=1), False),
        (Selection(prompts="kind"), False),
        (Selection(models="one"), False),
        (Selection(first=1), False),
        (Selection(pattern="a"), False),
    ],
)
def test_a_part_of_a_set_is_recorded_as_no_whole_cassette(
    selection: Selection, whole: bool, tmp_path: Path
):
    """Also where variants or repeats are left out: a replay would ask for them."""
    evals = EvalSet(
        "shop",
        data=[{"id": "a", "description": "a"}],
        over={"prompt": ["kind", "curt"], "model": [Scripted(["x"], id="one")]},
        repeats=2,
        cassette=tmp_path / "shop.cassette",
    )

    @evals.eval
    def sells(case: Case, prompt: Prompt, model: Any, expect: Any) -> None:
        expect(prompt != model, "they differ")

    (use,) = planned(evals, selection=selection).options.cassettes
    assert use.whole is whole


def test_a_folder_stands_for_its_own_files_and_those_below_evals_or_itself(tmp_path: Path):
    """Never for those of an environment or a package, which are somebody else's."""

    def put(*names: str) -> None:
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()

    def files(folder: Path = tmp_path) -> list[str]:
        return [str(file.relative_to(tmp_path)) for file in eval_files(folder)]

    put("sub/deep/b_evals.py", ".venv/lib/site-packages/z_eval.py", "node_modules/n/n_evals.py")
    assert not is_evals(str(tmp_path))
    put("a_evals.py")
    assert is_evals(str(tmp_path))
    assert files() == ["a_evals.py", "sub/deep/b_evals.py"]
    put("evals/refunds/c_evals.py")
    assert files() == ["a_evals.py", "evals/refunds/c_evals.py"]
    assert is_evals(str(tmp_path / "evals"))
    assert files(tmp_path / "evals") == ["evals/refunds/c_evals.py"]
