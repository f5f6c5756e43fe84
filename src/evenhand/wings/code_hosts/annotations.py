"""A gate as GitHub's annotations: lines of a log that GitHub shows beside a file's line."""

from __future__ import annotations

from evenhand.analysis.gates.gate_document import GateDocument
from evenhand.core.wording.words import clip, safe

MOST = 10
"""GitHub shows no more of a step."""


def annotation_lines(gate: GateDocument, root: str = "") -> list[str]:
    """The results that became worse or stayed undecided, as far as their file and line are known: MOST at most.

    Args:
        gate: It.
        root: The folder that files are named from.
    """
    lines: list[str] = []
    for one in gate.results:
        file, _, line = (one.where or "").rpartition(":")
        if one.verdict not in ("worse", "undecided") or not file or not line.isdecimal():
            continue
        level = "error" if one.verdict == "worse" else "warning"
        near = file.removeprefix(root.rstrip("/") + "/") if root else file
        names = ", ".join(clip(c.name, 60) for c in one.changed[:5] if c.verdict == "worse")
        text = f"{one.metric} is {one.verdict}: {'; '.join(filter(None, (one.text, one.because)))}"
        message = _data(clip(safe(f"{text}. Worse: {names}" if names else text), 500))
        lines.append(
            f"::{level} file={_property(safe(near))},line={line},title=evenhand gate::{message}"
        )
    return lines[:MOST]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
