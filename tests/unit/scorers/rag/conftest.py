"""A judge that goes by simple rules, so that what a metric should come to can be counted by hand.

A claim is supported by a passage that has its words in it, and contradicted by one that has them after `NOT `. A
statement is off the question where it speaks of the weather, and no claim where it greets or is sorry. A sentence of a
passage bears on the question, and a part of one is answered, where the last word of the question stands in it.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.core.case import Case
from evenhand.core.message import Prompt
from evenhand.core.score import Outcome
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.scorers.rag.sentences import sentences
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted

FENCE = re.compile(r"^<(\w+)(?: (\d+))? [0-9a-f]{12}>\n(.*?)\n</\1", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


def fences(prompt: Prompt, tag: str) -> dict[int, str]:
    """What stands between marks of this kind, by number."""
    return {
        int(number or 0): text for name, number, text in FENCE.findall(prompt.text) if name == tag
    }


def lines(text: str) -> dict[int, str]:
    """Numbered lines."""
    return {int(number): line for number, line in LINE.findall(text)}


def last_word(question: str) -> str:
    """What a question is about."""
    return re.findall(r"\w+", question)[-1]


def statements(prompt: Prompt) -> Any:
    """One statement for each part of a sentence between semicolons."""
    topics = 0 in fences(prompt, "question")
    found = []
    for number, line in lines(fences(prompt, "answer")[0]).items():
        said = []
        for part in line.split(";"):
            text = part.strip()
            one: dict[str, Any] = {"statement": text, "claim": not re.match("Hello|Sorry", text)}
            if topics:
                one["topic"] = "off" if "weather" in text else "unsure" if "maybe" in text else "on"
            said.append(one)
        found.append({"id": number, "statements": said})
    return {"refusal": "Sorry" in prompt.text, "sentences": found}


def facts(prompt: Prompt) -> Any:
    """The reference's sentences, its capitalised words, and the question at each `and`."""
    found: dict[str, Any] = {}
    reference = fences(prompt, "reference").get(0)
    if reference is not None:
        found["claims"] = list(sentences(reference))
        names = dict.fromkeys(re.findall(r"\b[A-Z]\w+", reference))
        found["entities"] = [{"name": name, "aliases": []} for name in names]
    question = fences(prompt, "question").get(0)
    if question is not None:
        found["sub_questions"] = [part.strip() for part in question.split(" and ")]
    return found


def support(prompt: Prompt) -> Any:
    """Claims and passages, by their words."""
    passages = fences(prompt, "passage")
    found: dict[str, Any] = {}
    if "verdicts" in prompt.schema["properties"]:
        found["verdicts"] = []
        blocks = FENCE.findall(prompt.text)
        for at, (name, _, claims) in enumerate(blocks):
            if name != "claims":
                continue
            after = itertools.takewhile(lambda block: block[0] == "passage", blocks[at + 1 :])
            own = {int(i): text for _, i, text in after}
            for number, claim in lines(claims).items():
                found["verdicts"].append(verdict(number, claim.strip(" ."), own))
    if "passages" in prompt.schema["properties"]:
        about = last_word(fences(prompt, "question")[0])
        found["passages"] = [
            {"id": i, "reasoning": "…", "sentences": [n for n, s in lines(p).items() if about in s]}
            for i, p in passages.items()
        ]
    return found


def verdict(number: int, claim: str, passages: dict[int, str]) -> Any:
    """The verdict on one claim."""
    against = [i for i, text in passages.items() if f"NOT {claim}" in text]
    behind = [i for i, text in passages.items() if claim in text and i not in against]
    stand = "supported" if behind else "contradicted" if against else "not_found"
    evidence = [{"passage": i, "quote": claim} for i in behind or against]
    return {"id": number, "reasoning": "by its words", "verdict": stand, "evidence": evidence}


def parts(prompt: Prompt) -> Any:
    """The parts of a question, by their last words."""
    answer = fences(prompt, "answer")[0]
    found = lines(fences(prompt, "parts")[0])
    return {
        "parts": [
            {"id": i, "reasoning": "…", "answered": last_word(part) in answer}
            for i, part in found.items()
        ]
    }


RULES: dict[str, Callable[[Prompt], Any]] = {
    "sentences": statements,
    "claims": facts,
    "sub_questions": facts,
    "verdicts": support,
    "passages": support,
    "parts": parts,
}


def ruled(prompt: Prompt) -> str:
    """The answer of a judge that goes by the rules."""
    assert prompt.schema is not None
    kind = next(key for key in prompt.schema["properties"] if key in RULES)
    return json.dumps(RULES[kind](prompt))


@pytest.fixture
def judge() -> Scripted:
    """A judge that goes by the rules, and keeps what it was asked."""
    return Scripted(ruled)


@pytest.fixture
def rule() -> Callable[[Prompt], str]:
    """The rules as a function, for judges that keep to them most of the time."""
    return ruled


Settled = Callable[..., Any]


@pytest.fixture
def settled(tmp_path: Any, judge: Scripted) -> Settled:
    """Settles expectations in one trial: (output, scorer), …, for a case, by a judge; gives their outcomes."""

    async def settled(
        *expected: tuple[Any, Any], case: Case | None = None, by: Any = None
    ) -> list[Outcome]:
        evals = EvalSet("rag", data=[case or Case("1")], judge=by or judge)

        @evals.eval
        def only(expect: Any) -> None:
            for output, scorer in expected:
                expect(output, scorer, at_least=-1)

        settings = Settings(home=tmp_path, cache=False)
        finished = await door.settle(plan_of([evals], env={}), settings)
        with RunFile.open(finished.path) as run:
            (trial,) = run.trials()
        return list(trial.outcomes)

    return settled
