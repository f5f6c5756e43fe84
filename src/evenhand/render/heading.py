"""What is said of a run before it begins: a light module, as every run waits for it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from evenhand.core.errors import Problem
from evenhand.core.plan import Plan
from evenhand.core.run import CallRecord, is_of_pytest
from evenhand.core.variant import Variant
from evenhand.core.wording.words import clip, count, money, safe

HINTS = 8


def heading(plan: Plan) -> str:
    """What a plan is, in a line."""
    return heading_of(plan.title, plan.variants, plan.case_count, plan.repeats, plan.size)


def heading_of(
    title: str, variants: Sequence[Variant], cases: int, repeats: int, planned: int, width: int = 0
) -> str:
    """Title and counts; with a width, a long title is cut to leave room for the counts."""
    evals = len({v.eval for v in variants if v.eval})
    prompts, models = len({v.prompt for v in variants}), len({v.model for v in variants})
    sizes = {"prompt": prompts, "model": models, "case": cases}
    if is_of_pytest(title, variants):
        sizes = {"test": prompts}  # each by itself may have cases and repeats
    if evals:
        runs = Counter(v.eval for v in variants).values()
        columns = max(runs) if len(set(runs)) == 1 else len(variants)  # of each eval; or of all
        sizes = {"eval": evals, **({"variant": columns} if columns > 1 else {}), "case": cases}
    if repeats > 1:
        sizes["repeat"] = repeats
    parts = [count(number, noun) for noun, number in sizes.items()]
    whole = math.prod(sizes.values()) == planned  # or else not everything is run on everything
    counts = f"{' × '.join(parts)} = " if whole else f"{', '.join(parts)}: "
    counts += count(planned, "trial")
    name = safe(title)
    return f"{clip(name, max(20, width - len(counts) - 3)) if width else name} · {counts}"


def problem_lines(problems: Sequence[Problem], most: int = HINTS) -> list[str]:
    """Hints about what was tolerated in a config; at most so many of them."""
    lines = [f"hint: {safe(str(problem), multiline=True)}" for problem in problems[:most]]
    if len(problems) > most:
        lines.append(f"hint: … and {len(problems) - most} more; `evenhand check` shows them all")
    return lines


def doubt_lines(calls: Sequence[CallRecord], last_words: Sequence[str]) -> list[str]:
    """What a killed session left open: calls that may have been charged for, and what it was running."""
    lines: list[str] = []
    if calls:
        bounds = [call.start.cost_bound_usd for call in calls]
        known = sum(bound for bound in bounds if bound is not None)
        most = (
            f"for, at most {money(known)}"
            if None not in bounds
            else "for; how much is unknown, as no price is set"
        )
        lines.append(
            f"in doubt: {count(len(calls), 'call')} in flight when an earlier session ended; "
            f"they may have been charged {most}"
        )
    lines += [
        f"the process of an earlier session died while running {safe(word)}" for word in last_words
    ]
    return lines
