"""An agent's steps as a judge is shown them: a line for each, bounded, the head and the tail where it is too much.

What an agent, a tool or a customer wrote stands in a line as JSON, so it can end neither its line nor the fence.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from evenhand.core.encoding import encode
from evenhand.core.step import Step, depth

STEPS, TEXT = 60, 30_000
"""So many steps are shown, and characters of them in all."""
LONGEST, SHORTEST = 2_000, 120
"""Characters of one value: where there are few steps, and where there are many."""


def shown_steps(steps: Sequence[Step]) -> str:
    """The steps, counted from 1. What is left out is said, with how much it is. No steps: a line that says so."""
    if not steps:
        return "(no steps)"
    half = STEPS // 2
    places = [*range(len(steps))]
    if len(steps) > STEPS:
        places = [*places[:half], *places[-half:]]
    most = LONGEST
    while True:
        lines = [_line(steps, place, most) for place in places]
        if most <= SHORTEST or sum(map(len, lines)) <= TEXT:
            break
        # All values become shorter together, so that no step is left out because another one is long.
        most = max(SHORTEST, most // 2)
    if len(places) < len(steps):
        first, last = half + 1, len(steps) - half
        lines.insert(half, f"… {len(steps) - STEPS:,} steps left out: {first:,} to {last:,} …")
    return "\n".join(lines)


def _line(steps: Sequence[Step], place: int, most: int) -> str:
    step = steps[place]
    words = [f"{'  ' * min(depth(steps, place), 8)}[{place + 1}]", step.kind, _json(step.name, 80)]
    if step.agent:
        words.append(f"by {_json(step.agent, 80)}")
    if step.kind == "tool" and step.arguments is not None:
        words.append(_json(step.arguments, most))
    if step.status != "unknown":
        words.append(f"-> {step.status}")
    if step.error:
        words.append(f"error {_json(step.error, most)}")
    if step.result is not None:
        words.append(f"result {_json(step.result, most)}")
    if step.duration_s is not None:
        words.append(f"({step.duration_s:.1f} s)")
    return " ".join(words)


def _json(value: object, most: int) -> str:
    """A value on one line: as JSON, the middle left out where it is long."""
    text = value if isinstance(value, str) else _written(value)
    if len(text) > most:
        half = most // 2
        left = len(text) - 2 * half
        value = text = f"{text[:half]} … {left:,} characters left out … {text[-half:]}"
    line = json.dumps(text, ensure_ascii=False) if isinstance(value, str) else text
    # JSON leaves these three as they are, and a reader may take them for the end of the line.
    return line.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


def _written(value: object) -> str:
    try:
        return encode(value, ordered=False).decode("utf-8", "replace")
    except (TypeError, ValueError):
        return repr(value)
