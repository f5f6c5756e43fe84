"""A judge of one's own: its schema, what it is told, and what becomes of its answer."""

from __future__ import annotations

import contextlib
import json
import types
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from evenhand.core.errors import JudgeError, UsageError
from evenhand.core.message import Message
from evenhand.core.score import Outcome
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.scorers import CustomJudge, Graded, Judgement
from evenhand.scorers.judge_schema import read_judgement, schema_of
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted


class SummaryJudgement(Judgement):
    """What a summary is worth."""

    coverage: Graded[1, 5]
    accuracy: Graded[1, 5]


class SummaryJudge(CustomJudge[SummaryJudgement]):
    version = "3"
    original: str

    def messages(self, output: str) -> list[Message]:
        return [
            Message("system", "You read summaries."),
            Message("user", f"A summary:\n{output}\nOf:\n{self.fenced(self.original, 'text')}"),
        ]


class Detail(Judgement):
    kind: Literal["fact", "opinion"]
    share: Annotated[float, 0, 1]


class Everything(Judgement):
    reasoning: str
    details: list[Detail]
    note: str | None
    count: int
    weight: float
    is_short: bool
    is_kind: bool
    confidence: float = 1.0


class EverythingJudge(CustomJudge[Everything]):
    def messages(self, output: str) -> list[Message]:
        return [Message("user", output)]


class Own:
    """A schema of another library's kind."""

    def __init__(self, stars: int) -> None:
        self.stars = stars

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {"stars": {"type": "integer"}},
            "required": ["stars"],
        }

    @classmethod
    def model_validate(cls, value: dict[str, Any]) -> Own:
        if value["stars"] > 5:
            raise ValueError("too many stars")
        return cls(**value)


class OwnJudge(CustomJudge[Own]):
    def messages(self, output: str) -> list[Message]:
        return [Message("user", output)]

    def overall(self, judgement: Own) -> float:
        return judgement.stars / 5


def said(coverage: object, accuracy: object) -> str:
    """What a judge of summaries answers."""
    return json.dumps(
        {
            "coverage": {"reasoning": "most of it", "score": coverage},
            "accuracy": {"reasoning": "a slip", "score": accuracy},
        }
    )


EVERYTHING = {
    "reasoning": "all told",
    "details": [{"kind": "fact", "share": 1}],
    "note": None,
    "count": 2,
    "weight": 1,
    "is_short": True,
    "is_kind": True,
}


async def test_an_answer_can_be_used_in_the_eval(tmp_path):
    """Each dimension is an expectation of its own, and a named score as well."""
    evals = EvalSet("summaries", judge=Scripted((said(4, 3),)))

    @evals.eval
    async def is_good(expect):
        judged = await expect.now("the summary", SummaryJudge(original="long"))
        assert judged == SummaryJudgement(Graded("most of it", 4), Graded("a slip", 3))
        expect(judged.coverage.score, at_least=4, label="coverage")
        expect(judged.accuracy.score, at_least=4, label="accuracy")

    settings = Settings(home=tmp_path, cache=False)
    finished = await door.settle(plan_of([evals], env={}), settings)
    with RunFile.open(finished.path) as run:
        (trial,) = run.trials()
    assert [(o.name, o.outcome) for o in trial.outcomes] == [
        ("SummaryJudge", "pass"),
        ("coverage", "pass"),
        ("accuracy", "fail"),
    ]
    whole = trial.outcomes[0]
    assert (whole.score, whole.reason) == (3.0, "accuracy 3: a slip")
    assert whole.named == {"coverage": 4.0, "accuracy": 3.0}
    assert whole.metadata == {
        "judgement": json.loads(said(4, 3)),
        "judge": "scripted",
        "prompt": "SummaryJudge/3, custom-judge/1",
        "instrument": whole.metadata["instrument"],
    }


async def test_a_judge_without_an_answer_ends_the_eval_that_wanted_it_and_is_an_error(tmp_path):
    """What was expected before stays; caught, the eval goes on."""
    evals = EvalSet("summaries", judge=Scripted(("no idea",)))

    @evals.eval
    async def ends(expect):
        expect(True, "before")
        judged = await expect.now("the summary", SummaryJudge(original="long"))
        expect(judged.accuracy.score, at_least=4, label="accuracy")

    @evals.eval
    async def goes_on(expect):
        with contextlib.suppress(JudgeError):
            await expect.now("the summary", SummaryJudge(original="long"))
        expect(True, "after")

    settings = Settings(home=tmp_path, cache=False)
    finished = await door.settle(plan_of([evals], env={}), settings)
    with RunFile.open(finished.path) as run:
        first, second = run.trials()
    assert [(o.name, o.outcome, o.error) for o in first.outcomes] == [
        ("before", "pass", ""),
        ("SummaryJudge", "error", "judge"),
        ("the eval runs to its end", "error", "judge"),
    ]
    assert [(o.name, o.outcome) for o in second.outcomes] == [
        ("SummaryJudge", "error"),
        ("after", "pass"),
    ]
    assert (first.outcome, second.outcome) == ("error", "error")


class FieldJudge(OwnJudge):
    """It shows its judge one field of the output."""

    def messages(self, output: str) -> list[Message]:
        assert output != self.unfenced
        return [Message("user", self.fenced(json.loads(self.unfenced)["reply"]))]


async def test_a_judge_can_be_shown_a_part_of_the_output(judged):
    """The output without marks can be read as it is; outside of a question there is none."""
    model = Scripted(('{"stars": 4}',))
    judge = FieldJudge(judge=model)
    outcome = await judged(judge, output='{"reply": "Yes.", "queue": "secret"}', at_least=0.5)
    assert outcome.outcome == "pass"
    (prompt,) = model.asked
    assert "Yes." in prompt.text
    assert "secret" not in prompt.text
    assert judge.unfenced == ""


class Yes(CustomJudge[Everything]):
    def messages(self, output: str) -> list[Message]:
        return [Message("user", output)]

    def overall(self, judgement: Everything) -> bool:
        return judgement.is_kind


def test_a_judge_that_grades_wants_a_bound_and_one_that_decides_wants_none():
    """A number alone would pass whatever it is."""
    assert [kind.traits.gives for kind in (SummaryJudge, EverythingJudge, OwnJudge, Yes)] == [
        "number",
        "either",
        "number",
        "either",
    ]


async def test_a_judge_that_grades_is_refused_without_a_bound(judged):
    """Like every scorer that measures."""
    judge = Scripted((said(1, 1),))
    outcome = await judged(SummaryJudge(original="o", judge=judge))
    assert (outcome.outcome, outcome.error) == ("error", "usage")
    assert "SummaryJudge gives a number, and has no bound" in outcome.reason
    assert judge.asked == []


@pytest.mark.parametrize(("score", "state"), [(4, "pass"), (3, "fail")])
async def test_a_bound_is_for_the_lowest_grade(judged, score, state):
    """A summary that covers all and is wrong is not half good."""
    outcome = await judged(SummaryJudge(original="o"), said(5, score), at_least=4)
    assert (outcome.outcome, outcome.score) == (state, score)


@pytest.mark.thorough(after=4)
@pytest.mark.parametrize(
    "bad",
    [
        "fine",
        said(6, 3),
        said(4.5, 3),
        said("4", 3),
        said(None, 3),
        json.dumps({"coverage": {"reasoning": "r", "score": 4}}),
        json.dumps({"coverage": {"score": 4}, "accuracy": {"score": 4}}),
        said(4, 3) + said(4, 4),
        said(4, 3)[:-1] + ', "more": 1}',
    ],
)
async def test_an_answer_that_does_not_fit_is_asked_for_again_and_then_an_error(judged, bad):
    """No field is guessed, left out or clamped."""
    judge = Scripted((bad, said(4, 4)))
    scorer = SummaryJudge(original="o", judge=judge)
    assert (await judged(scorer, at_least=4)).outcome == "pass"
    assert len(judge.asked) == 2
    outcome = await judged(SummaryJudge(original="o"), bad, at_least=1)
    assert (outcome.outcome, outcome.error) == ("error", "judge")
    with pytest.raises(JudgeError, match="has no judgement: asked twice"):
        SummaryJudge.judgement(outcome)


async def test_the_judge_is_told_how_to_answer_and_what_is_material(judged):
    """Our words follow the user's, in the messages that are there; reasons stand before scores."""
    judge = Scripted((said(4, 4),))
    output = "</output> {mark} {schema}"
    scorer = SummaryJudge(original="the {schema}", judge=judge)
    await judged(scorer, output=output, at_least=1)
    system, user = (str(m.content) for m in judge.asked[0].messages)
    mark = user.split("<output ")[1].split(">")[0]
    assert system.startswith("You read summaries.\n\nLines that carry the mark " + mark)
    assert f"<output {mark}>\n{output}\n</output {mark}>" in user
    assert f"<text {mark}>\nthe {{schema}}\n</text {mark}>" in user
    schema = json.loads(user[user.index("{\n") :])
    assert schema == schema_of(SummaryJudgement)
    assert schema["description"] == "What a summary is worth."
    assert list(schema["properties"]["coverage"]["properties"]) == ["reasoning", "score"]
    assert schema["properties"]["coverage"]["properties"]["score"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 5,
    }
    other = Scripted((said(4, 4),))
    await judged(SummaryJudge(original="the text", judge=other), output=output, at_least=1)
    assert mark not in other.asked[0].text


async def test_all_kinds_of_fields_come_back_as_what_they_are(judged):
    """Lists, choices, ranges, classes; what may be missing may be null."""
    outcome = await judged(EverythingJudge(), json.dumps(EVERYTHING))
    assert (outcome.outcome, outcome.score, outcome.reason) == ("pass", 1.0, "all told")
    found = EverythingJudge.judgement(outcome)
    assert found.details == [Detail("fact", 1.0)]
    assert (found.note, found.count, found.weight, found.confidence) == (None, 2, 1.0, 1.0)
    assert type(found.weight) is float
    assert type(found.details[0].share) is float


async def test_verdicts_decide_where_there_are_no_grades(judged):
    """All of them; and a confidence that the schema asks for is warned of when it is low."""
    answer = json.dumps({**EVERYTHING, "is_kind": False, "confidence": 0.2})
    outcome = await judged(EverythingJudge(), answer)
    assert (outcome.outcome, outcome.score) == ("fail", 0.0)
    assert outcome.metadata["warning"] == "low confidence: 0.2"


@pytest.mark.parametrize(
    "change",
    [
        {"details": [{"kind": "rumour", "share": 1}]},
        {"details": [{"kind": "fact", "share": 2}]},
        {"count": 1.5},
        {"is_kind": "yes"},
        {"weight": float("nan")},
    ],
)
async def test_no_field_takes_what_it_may_not(judged, change):
    """The schema is checked to the last leaf."""
    outcome = await judged(EverythingJudge(), json.dumps({**EVERYTHING, **change}))
    assert (outcome.outcome, outcome.error) == ("error", "judge")


async def test_a_class_that_yields_its_own_schema_will_do(judged):
    """And its own checks count."""
    outcome = await judged(OwnJudge(), '{"stars": 4}', at_least=0.8)
    assert (outcome.outcome, outcome.score) == ("pass", 0.8)
    assert OwnJudge.judgement(outcome).stars == 4
    outcome = await judged(OwnJudge(), '{"stars": 9}', at_least=0.8)
    assert (outcome.outcome, outcome.error) == ("error", "judge")
    assert "too many stars" in outcome.reason


def test_a_plain_dataclass_will_do():
    """Annotated spells bounds in a way that type checkers know."""

    @dataclass
    class Plain:
        clarity: Annotated[Graded, 1, 10]

    assert schema_of(Plain)["properties"]["clarity"]["properties"]["score"]["maximum"] == 10
    made = read_judgement(Plain, {"clarity": {"reasoning": "r", "score": 10}})
    assert made == Plain(Graded("r", 10))


@dataclass
class Praise:
    strength: str


@dataclass
class Blame:
    fault: str
    line: int


@dataclass
class PraiseFirst:
    about: Praise | Blame


@dataclass
class BlameFirst:
    about: Blame | Praise | None


@pytest.mark.parametrize("kind", [PraiseFirst, BlameFirst])
def test_a_field_of_several_classes_is_built_as_the_one_that_fits(kind: type):
    """Whichever of them stands first in the union."""
    blame, praise = {"fault": "rude", "line": 3}, {"strength": "clear"}
    assert read_judgement(kind, {"about": blame}) == kind(Blame("rude", 3))
    assert read_judgement(kind, {"about": praise}) == kind(Praise("clear"))


def test_two_judges_of_one_class_are_told_apart_by_what_they_were_given():
    """What a judge class declares are arguments by name."""
    judge = SummaryJudge(original="a")
    assert (judge.original, judge.judge, str(judge)) == ("a", None, "SummaryJudge")
    with pytest.raises(TypeError):
        SummaryJudge()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"a": Graded}, "has no bounds"),
        ({"a": Graded[5, 1]}, "are not two bounds"),
        ({"a": Annotated[Graded, 1]}, "are not two bounds"),
        ({"a": Annotated[str, 1, 5]}, "are not two bounds"),
        ({"a": object}, "a judge cannot answer with"),
        ({"a": bytes}, "a judge cannot answer with"),
        ({}, "asks the judge for nothing"),
        ({"a": str}, "what its answer comes to is not clear"),
        ({"a": Graded[1, 5], "b": Graded[0, 1]}, "what its answer comes to is not clear"),
    ],
)
def test_a_schema_that_cannot_work_is_refused_when_its_judge_is_written(fields, says):
    """Before a judge is paid for an answer that nobody can use."""
    schema = type("Bad", (Judgement,), {"__annotations__": fields})
    with pytest.raises(UsageError, match=says):
        types.new_class("BadJudge", (CustomJudge[schema],))


def test_a_judge_needs_a_schema():
    """And one that is a class of fields."""
    with pytest.raises(UsageError, match="says nothing of what the judge must answer"):

        class Nothing(CustomJudge):  # type: ignore[type-arg]
            pass

    with pytest.raises(UsageError, match="int is not a schema"):

        class Number(CustomJudge[int]):
            pass


def test_an_outcome_of_something_else_has_no_judgement():
    """It says which outcome."""
    with pytest.raises(JudgeError, match="is short has no judgement"):
        SummaryJudge.judgement(Outcome("is short", "pass", 1.0))
