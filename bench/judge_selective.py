"""How often a judge that decides where it is sure is wrong too often: on recorded panels, and on made-up judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random

from judge_lines import Line, seeded
from judge_tables import panel

from evenhand.stats.selective import acceptable

RISK = 0.2
LABELS = 200
LOOKS = 20
"""Populations that are looked through for what the signal allows; the recorded ones are all alike."""
PANELS = ("Vanilla", "CoT", "Swap", "Metrics", "Reference", "Metrics_Reference")

Verdict = tuple[float, bool]
"""How sure a judge is, and whether people agree with it."""


def of_panels(folder: Path, draws: int) -> Iterator[Line]:
    """LLMBar's judges as panels: five judges with one prompt, and one judge with all its prompts."""
    for prompt in PANELS:
        verdicts = panel(folder, prompt=prompt)
        yield selective(f"LLMBar, 5 judges, {prompt}", draws, lambda _, v=verdicts: list(v))
    for judge in ("GPT-4", "ChatGPT"):
        verdicts = panel(folder, judge=judge)
        yield selective(f"LLMBar, prompts of {judge}", draws, lambda _, v=verdicts: list(v))


def of_simulations(draws: int) -> Iterator[Line]:
    """Judges whose confidence is known."""
    yield selective("confidence = chance to be right", draws, partial(known, tell=1.0))
    yield selective("confidence that says little", draws, partial(known, tell=0.2))
    yield selective("five judges that agree or not", draws, agreeing)


def allowed(verdicts: Sequence[Verdict]) -> int:
    """The most verdicts above a threshold of which at most RISK are wrong, if people had labelled all of them."""
    most = 0
    for threshold in {sure for sure, _ in verdicts}:
        above = [agrees for sure, agrees in verdicts if sure >= threshold]
        if sum(not agrees for agrees in above) <= RISK * len(above):
            most = max(most, len(above))
    return most


def selective(name: str, draws: int, population: Callable[[Random], list[Verdict]]) -> Line:
    """How often more than RISK of the accepted verdicts are wrong, with LABELS labels."""
    random = seeded("selective", name)
    wrong, rest_wrong, accepted, possible = 0, 0, 0, 0
    for turn in range(draws):
        verdicts = population(random)
        if turn < LOOKS:
            possible += allowed(verdicts)
        random.shuffle(verdicts)
        accepted_verdicts = acceptable(verdicts[:LABELS], [sure for sure, _ in verdicts], RISK)
        if accepted_verdicts is None:
            continue
        accepted += accepted_verdicts.accepted
        for part in (0, LABELS):
            above = [
                agrees for sure, agrees in verdicts[part:] if sure >= accepted_verdicts.threshold
            ]
            too_many = sum(not agrees for agrees in above) > RISK * len(above)
            if part:
                rest_wrong += too_many
            else:
                wrong += too_many
    items = len(population(random))
    return Line(
        f"selective, {name}",
        f"{wrong / draws:.3f} (of the unlabelled ones {rest_wrong / draws:.3f}); accepts {accepted / draws:.0f} of "
        f"{items}, the signal allows {possible / min(draws, LOOKS):.0f}",
        "at most .12",
        wrong / draws <= 0.12,
    )


def known(random: Random, tell: float) -> list[Verdict]:
    """A judge that is right in .5 to 1 of the cases, as often as it is sure; or, with a lower `tell`, less so."""
    sure = [random.uniform(0.5, 1) for _ in range(1000)]
    return [(one, random.random() < 0.75 + tell * (one - 0.75)) for one in sure]


def agreeing(random: Random) -> list[Verdict]:
    """Five judges, on cases of which some are hard: how far they agree."""
    verdicts: list[Verdict] = []
    for _ in range(1000):
        easy = random.choice((0.55, 0.75, 0.95))
        right = sum(random.random() < easy for _ in range(5))
        verdicts.append((abs(2 * right - 5) / 5, right > 2))
    return verdicts
