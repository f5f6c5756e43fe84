"""Eval sets, as users write them. Type-checked, never executed.

A line that must *not* type-check says which rule refuses it; if it ever passes, the check fails, since an ignore that
ignores nothing is an error here.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true, reportUnknownLambdaType=true
from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import assert_type

from evenhand import (
    Case,
    Dataset,
    EvalSet,
    Expect,
    Message,
    Model,
    Prompt,
    Reply,
    Rubric,
    run,
    score,
    score_async,
)
from evenhand.core.score import Outcome
from evenhand.render.run import Run
from evenhand.render.scored import Scored
from evenhand.scorers import (
    CLARITY,
    CallsTool,
    CallsTools,
    Contains,
    ContainsAny,
    ContextPrecision,
    ContextRecall,
    Correctness,
    CustomJudge,
    Equals,
    Faithfulness,
    Graded,
    Judgement,
    Jury,
    Passes,
    Preferred,
    Ranking,
    Rating,
    Succeeds,
)
from evenhand.testing import Scripted

DEPTH = Rubric("depth", {(9, 10): "says how and why", (5, 8): "says how", range(5): "says neither"})
evals = EvalSet(
    "support bot",
    data=Dataset.read("faq.jsonl"),
    model=Scripted(["yes"]),
    judge="anthropic:messages:claude-sonnet-4-5",
    over={"prompt": [Prompt("plain", "How many legs has a {{animal}}?")]},
    repeats=5,
    tags=["nightly"],
)


class Depth(Judgement):
    """What a judge must answer."""

    accuracy: Graded[1, 5]


class Judged(CustomJudge[Depth]):
    """A judge of one's own."""

    document: str

    def messages(self, output: str) -> list[Message]:
        return [Message("user", f"{output}\n{self.fenced(self.document)}")]


@evals.fixture
def folder() -> Iterator[Path]:
    """Yields, returns, waits: fixtures may do either."""
    yield Path()


@evals.fixture
async def session(folder: Path) -> AsyncIterator[str]:
    """A fixture that asks for another one."""
    yield str(folder)


@evals.eval
async def answers(case: Case, model: Model, expect: Expect, prompt: Prompt, session: str) -> str:
    """Everything there is to expect, of the right kinds."""
    reply = await model.generate(prompt.render(animal=case.input))
    assert_type(reply, Reply)
    text = reply.text
    expect(len(text.split()) <= 60, "is short", words=len(text.split()))
    expect(len(text), at_least=1, at_most=400, label="characters", metric="characters")
    expect(text, Contains(case.expected), weight=2)
    expect(text, Equals({"total": 3}))
    expect(text, ContainsAny(("<p>", "<b>")), label="is HTML")
    expect(text, Passes("is polite", strict=True, examples=[{"output": "Hi!", "passes": True}]))
    expect(text, Rating(CLARITY), at_least=4)
    expect(text, Rating(DEPTH, context="for experts"), at_least=7)
    expect(text, Rating("how clear is it?"), at_least=3)
    expect(text, Preferred(over="earlier", criteria="more specific", ties="win"))
    expect(text, Jury([Scripted(["yes"]), Scripted(["no"])], of=Passes("is polite")))
    expect(reply, CallsTool("search", {"query": lambda query: "moon" in query}))
    expect(reply, CallsTool("search", {"limit": lambda n: 0 < n <= 5, "query": "moon"}, exact=True))
    expect(reply, CallsTool("search", lambda given: given["limit"] <= 5))
    expect(reply, Succeeds("search", {"limit": lambda n: n <= 5}))
    expect(reply, ~CallsTool("send_mail"))
    expect(reply, ~Contains("sorry"))
    expect(reply, ~Passes("is rude"))
    expect(reply, CallsTools(["search", CallsTool("open")], order="exact"))
    with expect.that("the file is there", why="it was written"):
        assert evals.file("documents/a.html").is_file()
    assert_type(await expect.now(text, Contains("x")), Outcome)
    judged = await expect.now(text, Judged(document="…"))
    assert_type(judged, Depth)
    assert_type(judged.accuracy.score, float)
    return text


@evals.eval(tags=["slow"])
def plain(expect: Expect) -> None:
    """An eval need not wait."""
    expect(True, "holds")


def results() -> None:
    """What a run gives."""
    found = run(evals, first=3, repeats=2)
    assert_type(found, Run)


async def measures(pages: list[str], expect: Expect) -> None:
    """RAG metrics are expected of an answer or of passages; `score` gives all of one answer's."""
    expect("an answer", Faithfulness(pages), at_least=0.8)
    expect(pages, ContextRecall("a reference", reference_claims=["it is so"]), at_least=0.9)
    expect(pages, ContextPrecision(k=5, ranked=True, definitions="ragas"), at_least=0.5)
    scored = score(question="?", answer="!", context=pages, metrics=["faithfulness"])
    assert_type(scored, Scored)
    assert_type(scored["faithfulness"].value, float | None)
    assert_type(await score_async(answer="!", metrics=[Faithfulness(pages)]), Scored)
    Faithfulness(7)  # pyright: ignore[reportArgumentType]
    ContextPrecision(k="5")  # pyright: ignore[reportArgumentType]
    Correctness("a reference", 2.0)  # pyright: ignore[reportCallIssue]
    score("?")  # pyright: ignore[reportCallIssue]
    score(answer="!", metrics=[7])  # pyright: ignore[reportArgumentType]


def bounds_that_are_none(text: str, expect: Expect) -> None:
    """A bound is a number, and belongs to the expectation."""
    expect(1.0, at_most="x", label="seconds")  # pyright: ignore[reportArgumentType]
    expect(1.0, at_least=None, at_most=(1, 2), label="seconds")  # pyright: ignore[reportArgumentType]
    expect(text, Rating(CLARITY, at_least=4))  # pyright: ignore[reportCallIssue]
    expect(text, Contains("x", at_least=1))  # pyright: ignore[reportCallIssue]
    expect(text, CallsTool("search", 5))  # pyright: ignore[reportArgumentType]
    expect(text, CallsTool("search", {5: "limit"}))  # pyright: ignore[reportArgumentType]
    expect(text, CallsTool("search", limit=5))  # pyright: ignore[reportCallIssue]
    expect(text, Contains("x"), weight="2")  # pyright: ignore[reportArgumentType]


def expectations_that_are_none(text: str, expect: Expect) -> None:
    """What is expected is a scorer or a label, by position; an outcome is waited for."""
    expect(text, 3)  # pyright: ignore[reportArgumentType]
    expect(text, Contains)  # pyright: ignore[reportArgumentType]
    expect(text, CLARITY)  # pyright: ignore[reportArgumentType]
    expect(value=text, scorer=Contains("x"))  # pyright: ignore[reportCallIssue]
    expect(text, Contains("x"), "label")  # pyright: ignore[reportCallIssue]
    expect(text, Contains("x"), label=3)  # pyright: ignore[reportArgumentType]
    with expect.that():  # pyright: ignore[reportCallIssue]
        pass
    with expect(text, Contains("x")):  # pyright: ignore[reportGeneralTypeIssues]
        pass


async def outcomes_that_are_none(text: str, expect: Expect) -> None:
    """`now` waits, and takes a scorer."""
    _ = expect.now(text, Contains("x")).outcome  # pyright: ignore[reportAttributeAccessIssue]
    await expect.now(text, "label")  # pyright: ignore[reportCallIssue, reportArgumentType]
    outcome = await expect.now(text, Contains("x"))
    _ = outcome.success  # pyright: ignore[reportAttributeAccessIssue]
    judged = await expect.now(text, Judged(document="…"))
    _ = judged.coverage  # pyright: ignore[reportAttributeAccessIssue]


def scorers_of_the_wrong_kind() -> None:
    """A scorer's inputs are its arguments."""
    Passes(criteria=3)  # pyright: ignore[reportArgumentType]
    Passes()  # pyright: ignore[reportCallIssue]
    Passes("is polite", True)  # pyright: ignore[reportCallIssue]
    Passes("is polite", examples=["Hi!"])  # pyright: ignore[reportArgumentType]
    Rating(4)  # pyright: ignore[reportArgumentType]
    Rating("clarity", scale=(1, 5))  # pyright: ignore[reportCallIssue]
    Preferred("earlier", "more specific")  # pyright: ignore[reportCallIssue]
    Preferred(over="earlier")  # pyright: ignore[reportCallIssue]
    Ranking("better")  # pyright: ignore[reportCallIssue]
    Ranking(criteria="better", pairs="2")  # pyright: ignore[reportArgumentType]
    EvalSet("ranked", over={"style": [1, 2]}, compare=[Ranking(criteria="better", pairs=2)])
    Preferred(over="earlier", criteria="better", ties="draw")  # pyright: ignore[reportArgumentType]
    Contains(3)  # pyright: ignore[reportArgumentType]
    ContainsAny("<p>", "<b>")  # pyright: ignore[reportArgumentType]
    CallsTool("search", ["query"])  # pyright: ignore[reportArgumentType]
    CallsTool("search", "moon")  # pyright: ignore[reportArgumentType]
    CallsTools(["search"], order="random")  # pyright: ignore[reportArgumentType]
    Judged()  # pyright: ignore[reportCallIssue]
    Judged(document=3)  # pyright: ignore[reportArgumentType]
    Rubric("depth", {"good": 1})  # pyright: ignore[reportArgumentType]
    Rubric("depth", {5: 1})  # pyright: ignore[reportArgumentType]
    Rubric({5: "good"})  # pyright: ignore[reportCallIssue]


def sets_of_the_wrong_kind() -> None:
    """A set has a name, and everything else by name."""
    EvalSet()  # pyright: ignore[reportCallIssue]
    EvalSet("x", Dataset.of({"id": "a"}))  # pyright: ignore[reportCallIssue]
    EvalSet("x", data="faq.jsonl")  # pyright: ignore[reportArgumentType]
    EvalSet("x", data=[3])  # pyright: ignore[reportArgumentType]
    EvalSet("x", repeats="5")  # pyright: ignore[reportArgumentType]
    EvalSet("x", over=["a"])  # pyright: ignore[reportArgumentType]
    EvalSet("x", over={"tone": 3})  # pyright: ignore[reportArgumentType]
    EvalSet("x", model=3)  # pyright: ignore[reportArgumentType]
    EvalSet("x", judge=Passes("is polite"))  # pyright: ignore[reportArgumentType]
    EvalSet("x", tag="slow")  # pyright: ignore[reportCallIssue]
    evals.eval(tags=3)  # pyright: ignore[reportArgumentType]
    evals.eval("slow")  # pyright: ignore[reportArgumentType]
    evals.fixture("database")  # pyright: ignore[reportArgumentType]
    evals.file()  # pyright: ignore[reportCallIssue]
    Dataset.of("a")  # pyright: ignore[reportArgumentType]
    Prompt("How many legs?")  # pyright: ignore[reportCallIssue]
    run("evals")  # pyright: ignore[reportArgumentType]
    run(evals, max_cost=1)  # pyright: ignore[reportCallIssue]


def evals_stay_what_they_are(case: Case, expect: Expect) -> None:
    """A decorated function can be called as it was written, and in no other way."""
    plain(expect)
    plain(case)  # pyright: ignore[reportArgumentType]
    _ = case.inputs  # pyright: ignore[reportAttributeAccessIssue]
