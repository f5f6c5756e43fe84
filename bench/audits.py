"""How often the audits of `evenhand calibrate` find a bias that is planted, and one that is not there.

    python bench/audits.py               # some minutes
    python bench/audits.py --runs 100    # quicker, and rougher

The judge passes 90 % of what people pass and 30 % of what they fail; people pass 70 %. A bias multiplies the odds of a
pass. Beside it, two more audits of the same labels have nothing to find; Holm's correction is for all three.
"""

from __future__ import annotations

import argparse
from random import Random

from evenhand.analysis.trust.audit import Audit
from evenhand.analysis.trust.calibration import corrected
from evenhand.analysis.trust.group_audits import LabelledOutput, OutputTraits, group_audits

SEED = 20_261_104
SIZES = (60, 120, 250, 500)
ODDS = (1.0, 2.0, 3.0, 6.0)
SHARES = (0.5, 0.2)


def labelled(random: Random, n: int, share: float, odds: float) -> list[LabelledOutput]:
    """Labels of a judge that is biased by length; so large a share of the outputs is long."""
    outputs: list[LabelledOutput] = []
    for _ in range(n):
        long, people = random.random() < share, random.random() < 0.7
        times = (0.9 / 0.1 if people else 0.3 / 0.7) * (odds if long else 1)
        traits = OutputTraits(
            900 if long else 90,
            "openai" if random.random() < 0.5 else "google",
            random.random() < 0.2,
        )
        outputs.append(LabelledOutput(traits, people, random.random() < times / (1 + times)))
    return outputs


def share_found(runs: int, n: int, share: float, odds: float) -> tuple[float, float]:
    """In which share of runs the bias is found, and in which one is that is not there."""
    random = Random(f"{SEED} {n} {share} {odds}")
    planted = others = 0
    for _ in range(runs):
        outputs = labelled(random, n, share, odds)
        drafts = {("m", "gpt-5"): group_audits("gpt-5", outputs, random=True)}
        audits: dict[str, Audit] = {
            one.name: one for one in corrected(drafts)["m", "gpt-5"] if one.result == "biased"
        }
        length = "length" in audits
        planted += length and odds > 1
        others += bool(audits) if odds == 1 else len(audits) > length
    return planted / runs, others / runs


def main() -> None:
    """Prints a table for each share of long outputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    runs = parser.parse_args().runs
    print(f"seed {SEED}, {runs:,} runs each")
    for share in SHARES:
        print(f"{share:.0%} of the outputs are of the kind that the judge favours")
        print("  labels  odds ×  found  found though not there")
        for n in SIZES:
            for odds in ODDS:
                planted, others = share_found(runs, n, share, odds)
                rate = f"{planted:6.1%}" if odds > 1 else "     –"
                print(f"  {n:6,}  {odds:6g}  {rate} {others:6.1%}")


if __name__ == "__main__":
    main()
