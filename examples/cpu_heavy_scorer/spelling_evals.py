"""A scorer that keeps a core busy: the distance of an output to each word of a list, in plain Python.

evenhand run examples/cpu_heavy_scorer --offline                # one process
evenhand run examples/cpu_heavy_scorer --offline --workers 2    # nearly twice as fast on two cores
evenhand run examples/cpu_heavy_scorer --offline --ray          # the same, on Ray
"""

from evenhand import Case, Dataset, EvalSet, Expect, Model

WORDS = [f"{a}{b}{c}" for a in "bcdfg" for b in "aeiou" for c in ("lt", "nd", "rk", "st", "ve")]

# `evenhand audit` answers with the question itself, which must fail elsewhere.
RIGHT = {"audit": {"allow": {"echo": "A word that is spelt right is its own answer."}}}

evals = EvalSet(
    "spelling",
    data=Dataset(
        [Case(f"word-{n}", input=WORDS[n % len(WORDS)], metadata=RIGHT) for n in range(100)]
    ),
    over={"model": ["openai:chat:gpt-5-mini"]},
)


def distance(one: str, other: str) -> int:
    """The number of letters to change, add or remove."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def is_near_a_word(output: str) -> bool:
    """Whether some word is at most two letters away."""
    return min(distance(output, word) for word in WORDS * 40) <= 2


@evals.eval
async def spells(case: Case, model: Model, expect: Expect) -> None:
    reply = await model.generate(f"Spell this word: {case.input}")
    expect(reply.text, is_near_a_word)
