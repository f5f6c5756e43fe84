"""Who judges: for a scorer, a set, a project, an environment; and what is said of a name that nobody knows."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import ConfigError
from evenhand.core.run import TrialResult
from evenhand.core.traits import traits_of
from evenhand.doors.eval_sets.discovery import find
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.languages.documents.project import project_for
from evenhand.providers.roster import DefaultJudge, default_judge
from evenhand.scorers import CLARITY, AnswerRelevance, Jury, Passes, Preferred, Rating
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Script, Scripted
from evenhand.testing.script import Rule

YES = {"reasoning": "It does.", "passes": True, "confidence": 0.9}
RULES = [
    Rule(("two verdicts",), YES),
    Rule(("by a rubric",), {"reasoning": "Clear.", "score": 4, "confidence": 0.9}),
    Rule(("compare two",), {"reasoning": "Alike.", "winner": "tie", "confidence": 0.9}),
]


async def judged(evals: EvalSet, home: Path, env: dict[str, str]) -> tuple[TrialResult, set[str]]:
    """The one trial of a set, and the models that were asked."""
    with FakeProvider(Script(RULES)) as fake:
        plan = plan_of([evals], env={**env, **fake.env()})
        finished = await door.settle(plan, Settings(home=home, cache=False))
        with RunFile.open(finished.path) as run:
            (trial,) = run.trials()
        return trial, {seen.model for seen in fake.requests}


def a_set(folder: Path, scorer: Any, **more: Any) -> EvalSet:
    """A set in this folder whose one eval asks one scorer."""
    evals = EvalSet("judged", **more)
    evals.path = folder / "x_evals.py"

    @evals.eval
    def only(expect: Any, model: Any = None) -> None:
        expect("please", scorer, at_least=None if traits_of(scorer).gives == "verdict" else 0)

    return evals


PROJECT = '[tool.evenhand]\njudge = "openai:of-the-project"\n'


@pytest.mark.parametrize(
    ("scorer", "of_the_set", "project", "asked"),
    [
        (Passes("is polite", judge="openai:of-the-scorer"), "openai:of-the-set", PROJECT, "scorer"),
        (Passes("is polite"), "openai:of-the-set", PROJECT, "set"),
        (Passes("is polite"), None, PROJECT, "project"),
        (Passes("is polite"), None, "[tool.other]\n# evenhand\n", "environment"),
    ],
)
async def test_the_nearest_name_wins(
    tmp_path: Path, scorer: Passes, of_the_set: str | None, project: str, asked: str
):
    """The expectation's, then the set's, the project's, the environment's."""
    (tmp_path / "pyproject.toml").write_text(project, "utf-8")
    folder = tmp_path / "app" / "evals"
    folder.mkdir(parents=True)
    env = {"EVENHAND_JUDGE": "openai:of-the-environment"}
    trial, models = await judged(a_set(folder, scorer, judge=of_the_set), tmp_path, env)
    assert (trial.outcome, models) == ("pass", {f"of-the-{asked}"})
    assert trial.outcomes[0].metadata["judge"] == f"of-the-{asked}"


@pytest.mark.parametrize(
    "scorer",
    [
        Passes("is polite", judge="openai:one"),
        Rating(CLARITY, judge="openai:one"),
        Preferred(over="no", criteria="politer", judge="openai:one"),
        Jury(["openai:one", "openai:one"], of=Passes("is polite")),
    ],
    ids=str,
)
async def test_every_judge_may_be_named(tmp_path: Path, scorer: Any):
    """By the id that configs use; the run makes the model, journals and prices it."""
    trial, models = await judged(a_set(tmp_path, scorer), tmp_path, {})
    assert trial.outcomes[0].outcome == "pass" or trial.outcomes[0].score == 0.5
    assert models == {"one"}
    assert trial.calls >= 1


@pytest.mark.parametrize(
    ("of_the_scorer", "of_the_set"),
    [
        ({"id": "openai:one", "config": {"temperature": 0.7, "cost": 0.000001}}, None),
        (None, {"id": "openai:one", "config": {"temperature": 0.7, "cost": 0.000001}}),
    ],
)
async def test_a_judge_is_named_with_its_settings(
    tmp_path: Path, of_the_scorer: Any, of_the_set: Any
):
    """As in a config: its temperature is sent, and its price counts."""
    scorer = Passes("is polite", judge=of_the_scorer)
    with FakeProvider(Script(RULES)) as fake:
        plan = plan_of([a_set(tmp_path, scorer, judge=of_the_set)], env=fake.env())
        finished = await door.settle(plan, Settings(home=tmp_path, cache=False))
    with RunFile.open(finished.path) as run:
        (trial,) = run.trials()
        (call,) = run.calls()
    assert json.loads(call.start.identity)["body"]["temperature"] == 0.7
    assert trial.outcome == "pass"
    assert trial.cost_usd == pytest.approx(((trial.tokens_in or 0) + (trial.tokens_out or 0)) / 1e6)


async def test_an_answer_without_a_verdict_is_asked_for_again_by_the_next_run(tmp_path: Path):
    """It doesn't come from the cache. The run that received it repeats it, when it is resumed, for nothing."""
    evals = a_set(tmp_path, Passes("is polite"), judge="openai:one")
    rules = [Rule(("two verdicts",), "I would rather not say.", times=2), *RULES]
    with FakeProvider(Script(rules)) as fake:

        async def outcome(resume: Path | None = None) -> tuple[Path, str, int]:
            plan = plan_of([evals], env=fake.env())
            finished = await door.settle(plan, Settings(home=tmp_path), resume=resume)
            with RunFile.open(finished.path) as run:
                (trial,) = run.trials()
            return finished.path, trial.outcome, len(fake.requests)

        path, *first = await outcome()
        _, *resumed = await outcome(resume=path)
        _, *second = await outcome()
        _, *third = await outcome()
    assert (first, resumed, second, third) == (["error", 2], ["error", 2], ["pass", 3], ["pass", 3])


async def test_a_list_that_lacks_verdicts_is_asked_for_again_by_the_next_run(tmp_path: Path):
    """Each of its answers can be read; together they say nothing of one sentence."""
    evals = a_set(tmp_path, AnswerRelevance("May I?"), judge="openai:one")
    on = {"statement": "Please.", "claim": True, "topic": "on"}
    lists = [{"refusal": False, "sentences": s} for s in ([], [{"id": 1, "statements": [on]}])]
    rules = [Rule(("sentence by sentence",), lists[0], times=2), Rule((), lists[1])]
    with FakeProvider(Script(rules)) as fake:
        outcomes: list[tuple[str, int]] = []
        for _ in range(3):
            finished = await door.settle(plan_of([evals], env=fake.env()), Settings(home=tmp_path))
            with RunFile.open(finished.path) as run:
                (trial,) = run.trials()
            outcomes.append((trial.outcome, len(fake.requests)))
    assert outcomes == [("error", 2), ("pass", 3), ("pass", 3)]


async def test_an_answer_that_needed_a_second_question_comes_from_the_cache(tmp_path: Path):
    """With what was answered to that: a rerun costs nothing."""
    evals = a_set(tmp_path, Passes("is polite"), judge="openai:one")
    rules = [Rule(("two verdicts",), "I would rather not say.", times=1), *RULES]
    with FakeProvider(Script(rules)) as fake:
        for _ in range(2):
            finished = await door.settle(plan_of([evals], env=fake.env()), Settings(home=tmp_path))
            with RunFile.open(finished.path) as run:
                assert [trial.outcome for trial in run.trials()] == ["pass"]
        assert len(fake.requests) == 2


async def test_one_model_under_two_settings_is_two_variants(tmp_path: Path):
    """Each has its label, and is asked with its own temperature."""
    cold = {"id": "openai:one", "label": "cold", "config": {"temperature": 0}}
    hot = {"id": "openai:one", "label": "hot", "config": {"temperature": 1}}
    evals = EvalSet("settings", over={"model": [cold, hot]})
    evals.path = tmp_path / "x_evals.py"

    @evals.eval
    async def only(expect: Any, model: Any) -> None:
        expect(bool((await model.generate("two verdicts")).text), "answers")

    with FakeProvider(Script(RULES)) as fake:
        plan = plan_of([evals], env=fake.env())
        finished = await door.settle(plan, Settings(home=tmp_path, cache=False))
    with RunFile.open(finished.path) as run:
        sent = sorted(
            json.loads(call.start.identity)["body"]["temperature"] for call in run.calls()
        )
        labels = [variant.model for variant in run.meta.variants]
    assert (labels, sent) == (["cold", "hot"], [0, 1])


async def test_judges_over_http_are_held_to_their_schema(tmp_path: Path):
    """The reasons come first in it, whoever is asked."""
    evals = a_set(tmp_path, Passes("is polite"), judge="anthropic:claude-sonnet-4-5")
    with FakeProvider(Script(RULES)) as fake:
        plan = plan_of([evals], env=fake.env())
        await door.settle(plan, Settings(home=tmp_path, cache=False))
        (seen,) = fake.requests
    assert seen.schema is not None
    assert list(seen.schema["properties"]) == ["reasoning", "passes", "confidence"]
    assert seen.schema["properties"]["confidence"] == {"type": "number"}


async def test_a_judge_that_takes_no_schema_judges_all_the_same(tmp_path: Path):
    """A compatible server's refusal costs one request, and no verdict."""
    evals = a_set(tmp_path, Rating(CLARITY, judge="openai:old"))
    with FakeProvider(Script(RULES), schemas=False) as fake:
        plan = plan_of([evals], env=fake.env())
        finished = await door.settle(plan, Settings(home=tmp_path, cache=False))
        statuses = [seen.status for seen in fake.requests]
    with RunFile.open(finished.path) as run:
        (trial,) = run.trials()
    assert (trial.outcomes[0].outcome, trial.outcomes[0].score) == ("pass", 4.0)
    assert statuses == [400, 200]
    assert trial.calls == 1


async def test_a_name_that_turns_out_wrong_in_the_eval_is_that_expectations_error(tmp_path: Path):
    """Where it hangs on a variable it is known when it is asked; its neighbours are judged."""
    evals = EvalSet("judged", judge=Scripted(('{"reasoning": "r", "passes": true}',)))

    @evals.eval
    def only(expect: Any) -> None:
        for name in ("opnai", "openai"):
            expect("please", Passes("is polite", judge=f"{name}:x" if name == "opnai" else None))

    trial, _ = await judged(evals, tmp_path, {})
    assert [o.outcome for o in trial.outcomes] == ["error", "pass"]
    wrong = trial.outcomes[0]
    assert (wrong.error, wrong.reason) == ("usage", "provider 'opnai:x' is not known")
    assert "Did you mean 'openai'?" in wrong.hint


def test_wrong_names_in_a_file_are_told_when_it_is_read_with_their_lines(tmp_path: Path):
    """At its top and inside of its evals, all at once; once each."""
    file = tmp_path / "a_evals.py"
    text = """
        from evenhand import EvalSet, Expect
        from evenhand.scorers import Jury, Passes, Rating, CLARITY

        POLITE = Passes("is polite", judge="opnai:top")
        JURY = Jury(["openai:good", "antropic:bad"], of=Passes("is polite"))
        evals = EvalSet("x")


        @evals.eval
        def only(expect: Expect) -> None:
            expect("x", POLITE)
        """
    file.write_text(textwrap.dedent(text), "utf-8")
    with pytest.raises(ConfigError) as caught:
        find([str(file)])
    assert [(p.line, p.what) for p in caught.value.problems] == [
        (5, "provider 'opnai:top' is not known"),
        (6, "provider 'antropic:bad' is not known"),
    ]
    inside = """
        from evenhand import EvalSet, Expect
        from evenhand.scorers import Passes, Rating, CLARITY

        evals = EvalSet("x", judge="openia:set")


        @evals.eval
        def only(expect: Expect) -> None:
            expect("x", Passes("is polite", judge="opnai:inside"))
            expect("x", Rating(CLARITY, judge="opnai:inside"), at_least=4)
        """
    other = tmp_path / "b_evals.py"
    other.write_text(textwrap.dedent(inside), "utf-8")
    found = find([str(other)])
    with pytest.raises(ConfigError) as caught:
        plan_of(found.sets, env={})
    assert sorted((p.line, p.what) for p in caught.value.problems) == [
        (5, "provider 'openia:set' is not known"),
        (10, "provider 'opnai:inside' is not known"),
    ]


@pytest.mark.parametrize(
    ("line", "wants"),
    [
        ('Passes("is polite")', True),
        ("Passes(case.input)", True),
        ("POLITE", True),
        ("Rating(CLARITY), at_least=4", True),
        ('Passes("is polite", judge="openai:x")', False),
        ("Passes(case.input, judge=JUDGE)", False),
        ("Passes(case.input, **MORE)", False),
        ('Jury(["openai:x"], of=POLITE)', False),
        ('Contains("x")', False),
    ],
)
def test_an_eval_that_wants_a_judge_where_nobody_is_named_is_told_once(
    tmp_path: Path, line: str, wants: bool
):
    """Before anything runs and is paid for, with all the ways to name one."""
    file = tmp_path / "a_evals.py"
    text = f"""
        from evenhand import EvalSet, Expect
        from evenhand.scorers import CLARITY, Contains, Jury, Passes, Rating

        POLITE, JUDGE, MORE = Passes("is polite"), "openai:x", {{"judge": "openai:x"}}
        evals = EvalSet("x")


        @evals.eval
        def only(case, expect: Expect) -> None:
            expect("x", {line})
            expect("y", {line})
        """
    file.write_text(textwrap.dedent(text), "utf-8")
    sets = find([str(file)]).sets
    key = {"OPENAI_API_KEY": "k"}
    assert plan_of(sets, env={"EVENHAND_JUDGE": "openai:x", **key}).size == 1
    if not wants:
        assert plan_of(sets, env=key).size == 1
        return
    with pytest.raises(ConfigError) as caught:
        plan_of(sets, env={})
    (problem,) = caught.value.problems
    assert (problem.line, "no judge is named" in problem.what) == (11, True)
    assert "EVENHAND_JUDGE" in problem.hint


def test_an_eval_may_ask_for_the_judge_of_the_project(tmp_path: Path):
    """And where nobody is named at all, it is told all the ways."""
    evals = EvalSet("x")
    evals.path = tmp_path / "x_evals.py"

    @evals.eval
    def only(judge: Any, expect: Any) -> None: ...

    env = {"EVENHAND_JUDGE": "openai:x", "OPENAI_API_KEY": "k"}
    assert plan_of([evals], env=env).providers[0].id == "openai:x"
    with pytest.raises(ConfigError, match="asks for 'judge', which nothing provides") as caught:
        plan_of([evals], env={})
    hint = caught.value.problems[0].hint
    for way in ("EvalSet(…, judge=", "[tool.evenhand]", "EVENHAND_JUDGE"):
        assert way in hint


def test_another_judge_is_another_plan(tmp_path: Path):
    """So that a run is not resumed with another judge than it began with."""
    evals = a_set(tmp_path, Passes("x"))
    one, other = (plan_of([evals], env={"EVENHAND_JUDGE": f"openai:{m}"}) for m in "ab")
    assert one.fingerprint != other.fingerprint
    assert one.config["sets"][0]["judge"] == "openai:a"


def test_the_nearest_project_with_our_table_counts(tmp_path: Path):
    """A package inside of it, with a pyproject.toml of its own, says nothing of us."""
    inner = tmp_path / "packages" / "one"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(f"[project]\nname = 'x'\n\n{PROJECT}", "utf-8")
    (inner / "pyproject.toml").write_text("[project]\nname = 'evenhand-user'\n", "utf-8")
    own = DefaultJudge(
        "openai:of-the-project", "pyproject.toml", str(tmp_path.resolve() / "pyproject.toml"), 5
    )
    assert judge(inner) == judge(inner, " openai:x ") == own
    (tmp_path / "pyproject.toml").write_text("[tool.evenhand]\n", "utf-8")
    assert judge(inner, " openai:x ") == DefaultJudge("openai:x", "EVENHAND_JUDGE")
    assert judge(inner, " ") == judge(inner) == DefaultJudge()


def judge(folder: Path, variable: str = "") -> DefaultJudge:
    """Who judges in this folder by default."""
    return default_judge("", "", project_for(folder), {"EVENHAND_JUDGE": variable})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[tool.evenhand]\njugde = 'openai:x'\njudge = 3\n", ["2: [tool.evenhand] has no 'jugde'", "3: judge is 3"]),
        ("[tool.evenhand]\njudge = ' '\n", ["2: judge is ' '"]),
        ("[tool.evenhand]\njudge = \n", ["2:9: is not TOML"]),
        ("tool.evenhand = 3\n", ["tool.evenhand is 3, not a table"]),
        ("[tool.evenhand]\njudge = 'opnai:x'\n", ["2: provider 'opnai:x' is not known"]),
    ],
)  # fmt: skip
def test_all_that_is_wrong_with_a_projects_table_is_told(
    tmp_path: Path, text: str, says: list[str]
):
    """With its file and line, before anything runs."""
    path = tmp_path / "pyproject.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        plan_of([a_set(tmp_path, Passes("x"))], env={})
    assert len(caught.value.problems) == len(says)
    for problem, what in zip(caught.value.problems, says, strict=True):
        assert str(problem).startswith(str(path))
        assert what in str(problem)


def test_a_judge_of_the_environment_that_nobody_knows_is_told(tmp_path: Path):
    """With the variable's name for a place."""
    with pytest.raises(ConfigError, match="EVENHAND_JUDGE: provider 'x:y' is not known"):
        plan_of([a_set(tmp_path, Passes("x"))], env={"EVENHAND_JUDGE": "x:y"})


def test_a_set_that_names_its_judge_does_not_ask_the_projects(tmp_path: Path):
    """A judge there that nobody knows is none of its business; a table that cannot be read is."""
    (tmp_path / "pyproject.toml").write_text("[tool.evenhand]\njudge = 'nobody:x'\n", "utf-8")
    evals = a_set(tmp_path, Passes("x"), judge="openai:x")
    assert plan_of([evals], env={}).size == 1
    (tmp_path / "pyproject.toml").write_text("[tool.evenhand]\njudge = 3\n", "utf-8")
    with pytest.raises(ConfigError, match="judge is 3"):
        plan_of([evals], env={})


@pytest.mark.parametrize("make", [lambda: "openai:x", Scripted])
def test_models_are_made_once(tmp_path: Path, make: Callable[[], Any]):
    """All evals of a set ask the same one, so that its limits hold."""
    evals = a_set(tmp_path, Passes("x"), model=make(), judge=make())
    (planned,) = plan_of([evals], env={"OPENAI_API_KEY": "k"}).trials()
    assert planned.models is not None
    assert planned.models("openai:x") is planned.models("openai:x")
