"""What earlier runs say of expectations: those that never differed, contradicted themselves, or rank backwards.

A *system* is a variant of a run. How good it is, is the share of the other cases that it passes, so that a case isn't
held against itself. The correlation of that with a case's own verdicts has a confidence interval by Fisher's
transformation (Fisher, Metron 1 (1921)); over all expectations the tests are corrected after Benjamini and Hochberg,
J. R. Stat. Soc. B 57 (1995), doi:10.1111/j.2517-6161.1995.tb02031.x.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist, fmean

from evenhand.stats.interval import CONFIDENCE, z_of
from evenhand.stats.multiple import benjamini_hochberg
from evenhand.wings.audit.case_audit import CaseAudit, Finding
from evenhand.wings.audit.earlier import Stored

FEWEST_RUNS = 5
"""An expectation that never differed in so many runs says nothing."""
FEWEST_SYSTEMS = 6
"""Fewer systems rank nothing."""
FALSE_ALARMS = 0.05
"""The share of false alarms among what is said to rank backwards."""


def historical_findings(audits: Sequence[CaseAudit]) -> Iterator[Finding]:
    """What earlier runs say of these cases."""
    # Where nothing in a suite ever differed, its systems may well have been alike.
    differ = any(
        len({state for _, state in each}) > 1
        for audit in audits
        for each in _by_expectation(audit).values()
    )
    for place, audit in enumerate(audits):
        if differ:
            yield from _never_differed(place, audit)
        yield from _contradicted(place, audit)
    yield from _backwards(audits)


def _by_expectation(audit: CaseAudit) -> Mapping[str, list[tuple[Stored, str]]]:
    """The trials of each expectation that is asked as it is today, by its name."""
    by_name: dict[str, list[tuple[Stored, str]]] = defaultdict(list)
    latest: dict[str, str] = {}
    for one in audit.stored:
        for name, (state, question) in one.expectations.items():
            # Newest first: what it asked in the latest run is what it asks.
            if latest.setdefault(name, question) == question and state in ("pass", "fail"):
                by_name[name].append((one, state))
    return by_name


def _never_differed(place: int, audit: CaseAudit) -> Iterator[Finding]:
    for name, each in _by_expectation(audit).items():
        runs = {one.run for one, _ in each}
        states = {state for _, state in each}
        texts = {one.output for one, _ in each}
        if _guards(audit, int(name.partition(" ")[0])):
            continue
        if len(runs) >= FEWEST_RUNS and len(states) == 1 and len(texts) > 1:
            word = "passed" if "pass" in states else "failed"
            yield Finding(
                kind="says_nothing",
                case=place,
                expectation=name.partition(" ")[2],
                detail=f"It {word} all {len(each)} trials of {len(runs)} runs.",
            )


def _guards(audit: CaseAudit, number: int) -> bool:
    """Whether an expectation guards against what should never happen: that it never did says nothing against it."""
    return number < len(audit.demands) and audit.demands[number].role in ("forbids", "beside")


def _contradicted(place: int, audit: CaseAudit) -> Iterator[Finding]:
    """Expectations that passed a text in one run and failed the same one in another."""
    for name, each in _by_expectation(audit).items():
        by_text: dict[str, set[str]] = defaultdict(set)
        for one, state in each:
            if one.output is not None:
                by_text[one.output].add(state)
        text = next((text for text, states in by_text.items() if len(states) > 1), None)
        number = int(name.partition(" ")[0])
        if text is None or number in audit.flaky or _is_beside(audit, number):
            continue
        yield Finding(
            kind="flaky",
            case=place,
            expectation=name.partition(" ")[2],
            answer=text,
            detail="Earlier runs have both verdicts on the same text.",
        )


def _is_beside(audit: CaseAudit, number: int) -> bool:
    """Whether an expectation is of time, cost or steps, which the text doesn't decide."""
    return number < len(audit.demands) and audit.demands[number].role in (
        "beside",
        "steps",
        "state",
    )


def _backwards(audits: Sequence[CaseAudit]) -> Iterator[Finding]:
    passes: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for place, audit in enumerate(audits):
        for one in audit.stored:
            if one.state in ("pass", "fail"):
                passes[one.system][place].append(float(one.state == "pass"))
    strengths = {
        system: (sum(map(fmean, cases.values())), len(cases)) for system, cases in passes.items()
    }
    tests: list[tuple[float, Finding]] = []
    for place, audit in enumerate(audits):
        for name, each in _by_expectation(audit).items():
            by_system: dict[str, list[float]] = defaultdict(list)
            for one, state in each:
                by_system[one.system].append(float(state == "pass"))
            pairs: list[tuple[float, float]] = []
            for system, values in by_system.items():
                total, count = strengths.get(system, (0.0, 0))
                mine = passes[system].get(place)
                rest = total - (fmean(mine) if mine else 0.0)
                if others := count - bool(mine):
                    pairs.append((rest / others, fmean(values)))
            if (test := _negative(pairs)) is not None:
                p, r, interval = test
                tests.append(
                    (
                        p,
                        Finding(
                            kind="ranks_backwards",
                            case=place,
                            expectation=name.partition(" ")[2],
                            interval=interval,
                            detail=f"Better systems fail it: correlation {r:.2f}"
                            f" [{interval[0]:.2f}, {interval[1]:.2f}] over {len(pairs)} systems.",
                        ),
                    )
                )
    adjusted = benjamini_hochberg([p for p, _ in tests])
    for p, (_, finding) in zip(adjusted, tests, strict=True):
        if p <= FALSE_ALARMS and finding.interval is not None and finding.interval[1] < 0:
            yield finding


def _negative(
    pairs: Sequence[tuple[float, float]],
) -> tuple[float, float, tuple[float, float]] | None:
    """One-sided p of no negative correlation, the correlation, and its interval; None where there can be none."""
    n = len(pairs)
    if n < FEWEST_SYSTEMS:
        return None
    mean_a, mean_b = fmean(a for a, _ in pairs), fmean(b for _, b in pairs)
    saa = math.fsum((a - mean_a) ** 2 for a, _ in pairs)
    sbb = math.fsum((b - mean_b) ** 2 for _, b in pairs)
    if saa < 1e-12 or sbb < 1e-12:
        return None
    r = math.fsum((a - mean_a) * (b - mean_b) for a, b in pairs) / math.sqrt(saa * sbb)
    bounded = max(-0.999999, min(0.999999, r))
    z, error = math.atanh(bounded), 1 / math.sqrt(n - 3)
    width = z_of(CONFIDENCE) * error
    p = NormalDist().cdf(z / error)
    return p, r, (math.tanh(z - width), math.tanh(z + width))
