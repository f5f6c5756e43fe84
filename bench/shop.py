"""Runs of a shop's assistant to look at: what the tests of the page and its pictures are made of.

python bench/shop.py FOLDER

The engine, the scorers and the judges are the real ones; who answers is a script. There are two runs of the same plan,
three prompts × 40 questions × 2 repeats. In the second the prompts *short* and *strict* have been changed: one got
better, the other worse. There is everything that the page has to show: answers that pass in one repeat and
fail in the other, that never came, questions that do not apply, judges with their reasons, JSON, Markdown, tags,
metadata, scripts of the world.
"""

from __future__ import annotations

import argparse
import itertools
import threading
from collections import Counter
from pathlib import Path

from evenhand import Case, Dataset, EvalSet, Expect, Model, Prompt, run
from evenhand.core.encoding import encode
from evenhand.core.errors import ProviderError
from evenhand.core.message import Prompt as Sent
from evenhand.core.score import Score
from evenhand.core.traits import Traits
from evenhand.scorers import CLARITY, Contains, IsJson, Passes, Rating
from evenhand.testing import Scripted

TOPICS = {
    "returns": ("How do I send back {}?", "30 days"),
    "shipping": ("When does my order of {} arrive?", "tracking number"),
    "billing": ("Why was I charged twice for {}?", "refund"),
    "account": ("How do I change the address for {}?", "settings"),
}
THINGS = ("shoes", "a lamp", "two chairs", "a kettle", "socks", "a bicycle", "a desk", "a coat")
WORLD = {
    "japanese": ("靴はどうやって返品しますか？", "返品は30 days以内にお願いします。"),
    "arabic": ("كيف أعيد الحذاء؟", "يمكنك إعادة الحذاء خلال 30 days من الشراء."),
    "hindi": ("मैं जूते कैसे लौटाऊँ?", "आप 30 days के भीतर जूते लौटा सकते हैं।"),
    "accents": ("Où est ma commande d’été ?", "Votre commande arrive — 30 days au plus tard. 👟"),
}
PROMPTS = {
    "short": "Answer in one sentence.\n\nQuestion: {{question}}",
    "friendly": "You are a friendly assistant of a shop. Answer in three sentences.\n\nQuestion: {{question}}",
    "strict": "You are the assistant of a shop. Answer from the rules of the house, and name the rule.\n\n"
    "Question: {{question}}",
}
ADDED = " Say so where you do not know.\n\n"
TABLE = """## Your options

| way | within | cost |
| --- | --- | --- |
| in the shop | 30 days | free |
| by post | 14 days | $4.90 |

1. Put the **shoes** into their box.
2. Take `order-1234` with you.

> Worn shoes are *not* taken back.

See [the rules](https://shop.example/rules) and ![a map](https://shop.example/map.png)."""


class Sources:
    """The share of answers that name a source; where there is none to name, the question does not apply."""

    traits = Traits(gives="number")

    def score(self, output: object, trial: object) -> Score:
        del trial
        text = str(output)
        if "rule" not in text and "options" not in text:
            return Score(None, reason="the answer names no source, and needs none")
        return Score(0.5 + len(text) % 6 / 10, reason=f"{text.count('rule')} sources are named")

    def __str__(self) -> str:
        return "sources"


def cases() -> list[Case]:
    """The questions: four topics × eight things, four scripts, and four that go wrong in their own way."""
    cases = [
        Case(
            f"{topic}-{number}",
            {"question": question.format(thing), "thing": thing},
            expected=team,
            description=f"{topic}: {thing}",
            tags=(topic, "written" if number % 2 else "spoken"),
            metadata={"document": f"rules-{number}.md", "difficulty": number % 3},
        )
        for topic, (question, team) in TOPICS.items()
        for number, thing in enumerate(THINGS, 1)
    ]
    cases += [
        Case(
            f"world-{name}",
            {"question": question},
            expected="30 days",
            description=name,
            tags=("world",),
        )
        for name, (question, _) in WORLD.items()
    ]
    odd = {
        "table": "Which options do I have to return shoes?",
        "order-as-json": "Give me order 1234 as JSON",
        "no-answer": "What if the line is busy?",
        "long-answer": "Read me all of the rules",
    }
    return cases + [
        Case(name, {"question": question}, expected="30 days", description=name, tags=("odd",))
        for name, question in odd.items()
    ]


class Assistant:
    """Answers as a script says: the same question of the same prompt, asked a second time, may get another answer."""

    def __init__(self, changed: bool = False) -> None:
        self.changed = changed
        self.asked: Counter[str] = Counter()
        self.lock = threading.Lock()

    def __call__(self, prompt: Sent) -> str:
        text = prompt.text
        with self.lock:
            time = self.asked[text]
            self.asked[text] += 1
        question = text.rpartition("Question: ")[2].partition("\n")[0]
        style = next(
            i
            for i, start in enumerate(("Answer in", "You are a f", "You are the"))
            if text.startswith(start)
        )
        return self.answer(question, style, time)

    def answer(self, question: str, style: int, time: int) -> str:
        if "busy" in question and style == 0:
            raise ProviderError("the line is busy: 503 from the model's server, three times")
        if "JSON" in question:
            items = [
                {"thing": "shoes", "size": 42, "price": 59.9},
                {"thing": "socks", "size": None, "gift": True},
            ]
            return encode(
                {"order": 1234, "returned within": "30 days", "items": items, "paid": style > 0}
            ).decode()
        if "options" in question:
            return TABLE
        if "all of the rules" in question:
            rules = (
                f"rule {n}: what is number {n} may be returned within 30 days."
                for n in range(1, 400)
            )
            return "\n".join(rules)
        if world := next(
            (world_reply for text, world_reply in WORLD.values() if text == question), None
        ):
            return world
        number = sum(map(ord, question))
        team = next(
            (team for text, team in TOPICS.values() if question.startswith(text[:10])),
            "30 days",
        )
        missed = number % 10 < (6, 3, 1)[style] or (number % 7 == style and time == 1)
        if self.changed and style != 1:
            missed = style == 2 and number % 11 < 6
        world_reply = "we will look into it" if missed else f"it is settled by the {team}"
        return (
            f"Yes, {world_reply}.",
            f"Thank you for asking! Of course {world_reply}. Is there anything else that I can do for you?",
            f"By rule {number % 12 + 1} of the house, {world_reply}. The rule counts for what was not used.",
        )[style]


def judge(prompt: Sent) -> str:
    """Says yes to what is polite, and rates by length."""
    output = prompt.text.rpartition("<output")[2]
    if '"passes"' in prompt.text:
        polite = "Thank" in output or "rule" in output or "options" in output
        why = "It thanks, or explains itself." if polite else "It is curt, and helps nobody."
        return encode(
            {"reasoning": why, "passes": polite, "confidence": 0.9 if polite else 0.4}
        ).decode()
    points = 5 if len(output) < 200 else 4 if len(output) < 400 else 2
    why = "Every sentence can be understood at once." if points > 3 else "One has to read it twice."
    return encode({"reasoning": why, "score": points, "confidence": 0.8}).decode()


def shop(changed: bool = False, first: int | None = None, latency_s: float = 0.02) -> EvalSet:
    """The set: what is asked of each answer."""
    prompts = [
        Prompt(name, text.replace("\n\n", ADDED if changed and name != "friendly" else "\n\n"))
        for name, text in PROMPTS.items()
    ]
    model = Scripted(
        Assistant(changed),
        id="shop-model",
        label="shop-model",
        cost_usd=0.0004,
        latency_s=latency_s,
    )
    judges = Scripted(judge, id="judge-model", label="judge-model", cost_usd=0.002)
    evals = EvalSet(
        "shop assistant",
        data=Dataset(itertools.islice(cases(), first)),
        model=model,
        judge=judges,
        over={"prompt": prompts},
        repeats=2,
    )

    @evals.eval
    async def answers(case: Case, prompt: Prompt, model: Model, expect: Expect) -> None:
        """Says what the customer has to know, politely."""
        reply = (await model.generate(prompt.render(question=case.vars["question"]))).text
        print(f"asked for {case.id}")  # kept as the trial's log
        expect(reply, Contains(case.expected), metric="contains")
        expect(len(reply.split()), at_most=60, label="words", metric="words")
        expect(reply, Sources(), at_least=0.4, metric="sources")
        if case.id == "order-as-json":
            expect(reply, IsJson(), metric="json")
        expect(reply, Passes("is polite"), weight=0 if prompt.name == "short" else 1)
        expect(reply, Rating(CLARITY), at_least=2, metric="clarity")

    return evals


def write(home: Path) -> tuple[str, str]:
    """Makes the two runs in this home; their ids."""
    with run(shop(), home=home, cache=False, progress=False) as before:
        first = before.meta.id
    with run(shop(changed=True), home=home, cache=False, progress=False) as after:
        return first, after.meta.id


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    for name in write(parser.parse_args().home):
        print(name)


if __name__ == "__main__":
    main()
