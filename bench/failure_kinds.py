"""How often the intervals of kinds of failure hold the truth: their shares, and how much the named ones cover.

    python bench/failure_kinds.py                # both tables, some minutes
    python bench/failure_kinds.py --draws 200    # quicker, and rougher

Of 500 outputs, 10 kinds have shares from .5 to 40 % and overlap; a judge codes all of them and is wrong at rates that
depend on the kind; people code 60 to 200, of which failures were three times as likely to be drawn. Then the same with
a judge that gives no verdict on three in ten outputs that have the kind and on one in twenty others, and without any.
Also how often two runs without a difference are said to differ in a kind, by a judge that errs more in one of them.
Fixed seeds.
"""

from __future__ import annotations

import argparse
import math
from random import Random

from evenhand.stats.correction import Estimate, Verdicts
from evenhand.stats.kind_shares import difference_p, kind_share, named_share
from evenhand.stats.weighted import allocated

SEED = 20_261_129
OUTPUTS = 500
SHARES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.13, 0.2, 0.3, 0.4)
NOTES = (60, 100, 200)
LIKELIER = 3.0


def shares(notes: int, draws: int, judging: str) -> list[float]:
    """For each kind, how often the interval of its share holds it; the judge speaks, is silent at times, or is none."""
    held = [0] * len(SHARES)
    for draw in range(draws):
        rng = Random(f"{SEED} {notes} {draw}")
        # What each output has; a common cause makes kinds overlap more often than chance does.
        causes = [rng.random() < 0.5 for _ in range(OUTPUTS)]
        people = [
            [rng.random() < min(1.0, share * (1.5 if cause else 0.5)) for cause in causes]
            for share in SHARES
        ]
        errors = [(rng.uniform(0.05, 0.45), rng.uniform(0.0, 0.12)) for _ in SHARES]
        judge = [
            [rng.random() < (1 - miss if has else alarm) for has in kind]
            for kind, (miss, alarm) in zip(people, errors, strict=True)
        ]
        failed = [
            rng.random() < (0.8 if any(kind[i] for kind in people) else 0.1) for i in range(OUTPUTS)
        ]
        strata = [[i for i in range(OUTPUTS) if failed[i] is state] for state in (True, False)]
        sizes = [len(strata[0]) * LIKELIER, float(len(strata[1]))]
        numbers = allocated(sizes, [len(one) for one in strata], notes)
        labelled = [set(rng.sample(one, n)) for one, n in zip(strata, numbers, strict=True)]
        for place in range(len(SHARES)):
            silent = [
                judging == "none" or (judging == "silent" and rng.random() < (0.3 if has else 0.05))
                for has in people[place]
            ]
            codes = [has and not none for has, none in zip(judge[place], silent, strict=True)]
            counts = [
                verdicts(people[place], codes, part, of)
                for one, of in zip(strata, labelled, strict=True)
                for state in (False, True)
                if (part := [i for i in one if silent[i] is state])
            ]
            estimate = kind_share(counts)
            truth = sum(people[place]) / OUTPUTS
            held[place] += estimate is not None and estimate.low <= truth <= estimate.high
    return [count / draws for count in held]


def verdicts(people: list[bool], judge: list[bool], every: list[int], of: set[int]) -> Verdicts:
    """A stratum's codes, as verdicts: an output passes that doesn't have the kind."""
    pairs = [(not people[i], not judge[i]) for i in every if i in of]
    return Verdicts(
        pairs.count((True, True)),
        pairs.count((True, False)),
        pairs.count((False, True)),
        pairs.count((False, False)),
        sum(not judge[i] for i in every),
        len(every),
    )


def alarms(notes: int, share: float, draws: int) -> float:
    """How often a kind of the same share in two runs is said to have changed; the judge sees more in the second."""
    count = 0
    for draw in range(draws):
        rng = Random(f"{SEED} {notes} {share} {draw}")
        ends: list[Estimate] = []
        for alarm in (0.02, 0.15):
            people = [rng.random() < share for _ in range(OUTPUTS)]
            judge = [rng.random() < (0.8 if has else alarm) for has in people]
            failed = [rng.random() < (0.8 if has else 0.1) for has in people]
            strata = [[i for i in range(OUTPUTS) if failed[i] is state] for state in (True, False)]
            sizes = [len(strata[0]) * LIKELIER, float(len(strata[1]))]
            numbers = allocated(sizes, [len(one) for one in strata], notes)
            labelled = [set(rng.sample(one, n)) for one, n in zip(strata, numbers, strict=True)]
            estimate = kind_share(
                [verdicts(people, judge, o, of) for o, of in zip(strata, labelled, strict=True)]
            )
            assert estimate is not None
            ends.append(estimate)
        count += difference_p(*ends) < 0.05
    return count / draws


def saturation(notes: int, kinds: int, steepness: float, draws: int, *, weighted: bool) -> float:
    """How often the interval of what named kinds cover holds it, where a kind's share falls with its rank."""
    held = 0
    sizes = [1 / (rank + 1) ** steepness for rank in range(kinds)]
    total = math.fsum(sizes)
    for draw in range(draws):
        rng = Random(f"{SEED} {notes} {kinds} {steepness} {draw}")
        failures: list[tuple[float, list[str]]] = []
        for _ in range(notes):
            own = rng.choices(range(kinds), sizes, k=2 if rng.random() < 0.15 else 1)
            weight = rng.choice((1.0, 1.0, 3.0)) if weighted else 1.0
            failures.append((weight, [str(kind) for kind in set(own)]))
        named = {kind for _, own in failures for kind in own}
        single = math.fsum(sizes[int(kind)] for kind in named) / total
        # A failure with two kinds has no name where neither has one.
        truth = 0.85 * single + 0.15 * (1 - (1 - single) ** 2)
        estimate = named_share(failures)
        held += estimate is not None and estimate.low <= truth <= estimate.high
    return held / draws


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--only", choices=["shares", "saturation"])
    options = parser.parse_args()
    if options.only != "saturation":
        print("shares of kinds: how often the interval holds them")
        print("notes  judge " + "".join(f"{share:7.1%}" for share in SHARES) + "   mean  least")
        for judging in ("speaks", "silent", "none"):
            for notes in NOTES:
                rates = shares(notes, options.draws, judging)
                mean = math.fsum(rates) / len(rates)
                print(
                    f"{notes:5} {judging:>6}"
                    + "".join(f"{r:7.1%}" for r in rates)
                    + f" {mean:6.1%} {min(rates):6.1%}",
                    flush=True,
                )
        print(
            "kinds that didn't change: how often they are said to, before the correction for their number"
        )
        for notes in NOTES:
            rates = [alarms(notes, share, options.draws) for share in SHARES]
            print(f"{notes:5}       " + "".join(f"{r:7.1%}" for r in rates), flush=True)
    if options.only != "shares":
        print("named kinds: how often the interval holds what they cover")
        for kinds, steepness in ((10, 1.0), (12, 0.5), (30, 1.0), (30, 1.5), (100, 1.2)):
            for weighted in (False, True):
                rates = [
                    saturation(n, kinds, steepness, options.draws, weighted=weighted)
                    for n in (15, 30, 60, 120, 200)
                ]
                print(
                    f"{kinds:4} kinds, steepness {steepness}{', weighted' if weighted else '          '}"
                    + "".join(f"{rate:7.1%}" for rate in rates)
                )


if __name__ == "__main__":
    main()
