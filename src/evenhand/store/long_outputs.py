"""An output of a megabyte or more is kept once: where a call's answer has it, the result refers to it."""

from __future__ import annotations

import re
import sqlite3

import msgspec

LONG = 1 << 20
"""Bytes of an output's JSON: of shorter ones, to look for them costs more than a second copy."""
NOT_HERE = b"null"
"""What stands in `detail` for an output that an answer has."""

# Texts, which `re` compiles where they are used: few runs have a long output.
_TEXT = rb'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"'
_OUTPUT = rb'\{"case":' + _TEXT + rb',"output":(' + _TEXT + rb")"

Reference = tuple[int, int, int, int]
"""How many bytes of the detail precede the output, the call whose answer has it, its first byte there, from 1, and its
length."""


def cut_out(db: sqlite3.Connection, trial: int, detail: bytes) -> tuple[bytes, Reference] | None:
    """A detail without its output, and where that is; None where no answer to the trial's calls has it.

    Args:
        db: The run file, with the trial's calls.
        trial: The trial's place in the plan.
        detail: A `Detail` as JSON.
    """
    match = re.match(_OUTPUT, detail, re.DOTALL)
    if match is None or len(match[1]) < LONG:
        return None
    bodies = db.execute(
        "select call, body from body where call in (select id from call where trial = ?) and length(body) >= ?"
        " order by call desc",
        (trial, LONG),
    )
    for call, body in bodies:
        if (span := _span(body, match[1])) is not None:
            rest = b"".join((detail[: match.start(1)], NOT_HERE, detail[match.end(1) :]))
            return rest, (match.start(1), call, span[0] + 1, span[1] - span[0])
    return None


def _span(body: bytes, output: bytes) -> tuple[int, int] | None:
    """Where an answer has a JSON text, from its first byte to before the next one."""
    at = body.find(output)
    if at >= 0:
        return at, at + len(output)
    # Vendors escape other characters than `encode` does.
    read = _read(output)
    long = (
        text for text in re.finditer(_TEXT, body, re.DOTALL) if text.end() - text.start() >= LONG
    )
    return next((text.span() for text in long if _read(text[0]) == read is not None), None)


def _read(text: bytes) -> str | None:
    """A JSON text as it is read from a run file; None for what msgspec doesn't read, such as a lone surrogate."""
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.DecodeError:
        return None
