"""A trial's steps for people: one line each, indented by what they are part of, with what they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.encoding import encode
from evenhand.core.json_shapes import as_array, is_whole
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.step import Step, depth
from evenhand.core.wording.ink import Ink
from evenhand.core.wording.words import clip, money, safe, seconds, tokens

STEPS = 200
"""So many are shown: the first and the last half of them where there are more."""
DEEPEST = 8
_TEXT = 400


def step_lines(steps: Sequence[Step], trial: TrialResult, width: int, ink: Ink) -> list[str]:
    """The lines of a trial's steps, with the expectations that did not pass at the steps that they name."""
    if not steps:
        return []
    blamed = blaming(trial.outcomes)
    half = STEPS // 2
    places = [*range(len(steps))]
    if len(steps) > STEPS:
        places = [*places[:half], *places[-half:]]
    lines = ["", f"  {ink('steps', 'dim')}"]
    for at, place in enumerate(places):
        if at == half and len(places) < len(steps):
            lines.append(f"    … {len(steps) - STEPS:,} steps left out …")
        lines += _lines(steps, place, width, ink)
        lines += [
            ink(clip(f"          ◂ {safe(name)}", width), "red") for name in blamed.get(place, ())
        ]
    return lines


def blaming(outcomes: Sequence[Outcome]) -> Mapping[int, list[str]]:
    """The expectations that failed, by the places of the steps that they name."""
    blame: dict[int, list[str]] = {}
    for outcome in outcomes:
        named: Any = outcome.metadata.get("steps") if outcome.outcome == "fail" else None
        for place in as_array(named):
            if is_whole(place):
                blame.setdefault(place, []).append(outcome.name)
    return blame


def _lines(steps: Sequence[Step], place: int, width: int, ink: Ink) -> list[str]:
    step = steps[place]
    began = "" if step.started_s is None else seconds(step.started_s)
    head = f"    {place + 1:>3} {began:>8}  {'  ' * min(depth(steps, place), DEEPEST)}"
    failed = step.status == "error"
    what = f"{step.kind} {safe(step.name)}{_given(step)}"
    facts = " · ".join(_facts(step))
    line = clip(f"{head}{what}", width - len(facts) - 3)
    ending = safe(step.error) if failed and step.error else _short(step.result)
    lines = [f"{ink(line, 'red') if failed else line}   {ink(facts, 'dim')}".rstrip()]
    if ending:
        mark = "✗" if failed else "→"
        lines.append(
            ink(clip(f"{' ' * len(head)}{mark} {ending}", width), "red" if failed else "dim")
        )
    return lines


def _given(step: Step) -> str:
    """A tool's arguments; what a model was asked stands in the prompt and the calls."""
    if step.kind != "tool" or step.arguments is None:
        return ""
    return f" {_short(step.arguments)}"


def _facts(step: Step) -> list[str]:
    facts = [] if step.duration_s is None else [seconds(step.duration_s)]
    if step.tokens_in is not None and step.tokens_out is not None:
        facts.append(tokens(step.tokens_in, step.tokens_out))
    if step.cost_usd is not None:
        facts.append(money(step.cost_usd))
    if step.kind == "tool" and step.status == "unknown":
        facts.append("end not known")
    return facts


def _short(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else encode(value, ordered=False).decode()
    # Cut first, because a tool can return megabytes.
    return " ".join(safe(text[:_TEXT]).split())
