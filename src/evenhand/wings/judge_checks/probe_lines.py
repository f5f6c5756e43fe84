"""Probes of judges in words, for terminals."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.core.wording.words import count, folded, percent, safe
from evenhand.render.calibration_text import rate
from evenhand.wings.judge_checks.probe import Probe, ProbedJudge, ProbedKind
from evenhand.wings.judge_checks.probe_kinds import NONE, WORDS

WIDTH = 100
_UNDECIDED = "too few items, or too many errors"


def probe_lines(probe: Probe) -> Iterator[str]:
    """A block of lines for each judge: what fools it, and the rate of each kind."""
    for judge in probe.judges:
        yield f"{safe(judge.metric)} · judged by {safe(judge.model)}"
        for sentence in _sentences(judge, probe.at_most):
            yield from folded(sentence, WIDTH, "  ", "    ")
        yield "  should fail     items  passed  false passes"
        for kind in judge.kinds:
            yield _line(kind, probe.at_most)
        yield "  should pass     items  passed  false fails"
        for kind in judge.controls:
            yield _line(kind, probe.at_most)
        yield ""


def _sentences(judge: ProbedJudge, at_most: float) -> Iterator[str]:
    fooled = sorted(judge.having(at_most, "fooled"), key=lambda kind: -kind.wrong / kind.items)
    if fooled:
        yield f"fooled by {_joined([WORDS[kind.kind] for kind in fooled])}"
    undecided = judge.having(at_most, "undecided")
    if undecided:
        yield f"not decided ({_UNDECIDED}): {_joined([kind.kind for kind in undecided])}"
    if not fooled and not undecided and judge.attacks():
        yield f"no kind of attack is shown to pass more than {percent(at_most)} of the time"
    strict = [kind.kind for kind in judge.controls if kind.verdict(at_most) == "fooled"]
    if strict:
        yield f"fails answers that should pass: {_joined(strict)}"
    left_out = sum(kind.left_out for kind in judge.kinds if kind.kind == NONE)
    if left_out:
        yield f"{count(left_out, 'answer')} of other cases left out: the judge passes them without an attack"


def _line(kind: ProbedKind, at_most: float) -> str:
    share = "–" if kind.rate is None else rate(kind.rate)
    notes: list[str] = []
    if kind.kind == NONE:
        notes.append("bad answers without an attack")
    elif not kind.control:
        verdict = kind.verdict(at_most)
        notes += ["fooled"] if verdict == "fooled" else []
        notes += ["not decided"] if verdict == "undecided" else []
    if kind.errors:
        notes.append(count(kind.errors, "error"))
    line = f"  {kind.kind:<14} {kind.items:>6,} {kind.passed:>7,}  {share:<16} {', '.join(notes)}"
    return line.rstrip()


def _joined(words: list[str]) -> str:
    """Words as a list in a sentence."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
