"""Writes and reads the file of a baseline, and refuses one that is not whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import ValidationError, convert, to_builtins

from evenhand.analysis.gates.baseline import SCHEMA, Baseline, BaselineHeader, BaselineTrial
from evenhand.core.encoding import decode_once, digest_of, encode
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_object
from evenhand.core.malformed import shape_fault
from evenhand.core.wording.words import clip, safe
from evenhand.store.replacing import replace_file

MAKE_ANEW = "Make it again: evenhand baseline RUN --to FILE."
_MERGE_MARKS = (b"<<<<<<< ", b"=======", b">>>>>>> ", b"||||||| ")


def written(header: BaselineHeader, trials: Sequence[BaselineTrial]) -> bytes:
    """A baseline as its file has it; the header's counts and digest are filled in.

    Args:
        header: Without `trials` and `digest`.
        trials: In any order.

    Raises:
        UsageError: Two trials have the same case, variant and repeat.
    """
    ordered = sorted(trials, key=lambda trial: trial.place)
    twin = next((one for one, two in pairwise(ordered) if one.place == two.place), None)
    if twin is not None:
        raise UsageError(
            f"two trials of case {safe(twin.case)!r} have the same variant and repeat: {safe(twin.variant)!r}",
            hint="Give each case an id of its own, and each variant a name of its own.",
        )
    rows = [to_builtins(trial) for trial in ordered]
    head = {**to_builtins(header), "trials": len(rows), "digest": _digest_of(rows)}
    return b"".join(encode(row, ordered=False) + b"\n" for row in (head, *rows))


def write_baseline(data: bytes, path: Path) -> None:
    """Writes a baseline in the place of an earlier one: whole or not at all.

    Raises:
        UsageError: It cannot be written, or the file that is there is something else.
    """
    replace_file(data, path, _is_baseline, "baseline")


def read_baseline(path: Path) -> Baseline:
    """Reads a baseline, and looks whether it is whole.

    Raises:
        UsageError: There is no such file, it is no baseline, or it was cut off, merged or edited.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(
            f"there is no baseline {path}",
            hint="Make one of a run that you accept: evenhand baseline RUN --to FILE.",
        ) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    lines = data.splitlines()
    if not any(map(bytes.strip, lines)):
        raise UsageError(f"{path} is empty", hint=MAKE_ANEW)
    for number, line in enumerate(lines, 1):
        if line.startswith(_MERGE_MARKS):
            raise UsageError(
                f"{path}:{number}: there is an open merge conflict in the baseline",
                hint="Take one side whole, or make it again: evenhand baseline RUN --to FILE.",
            )
    rows = [_row(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    header = _header(path, rows[0])
    trials = [_trial(path, number, row) for number, row in enumerate(rows[1:], 2)]
    _check(path, header, rows[1:], trials)
    return Baseline(header, trials)


def _row(path: Path, number: int, line: bytes) -> Mapping[str, Any]:
    try:
        row = decode_once(line)
    except ValueError:
        raise _no_baseline(path, number, "the line is not JSON") from None
    if not is_object(row):
        raise _no_baseline(path, number, "the line is not a JSON object")
    return row


def _header(path: Path, row: Mapping[str, Any]) -> BaselineHeader:
    schema = row.get("schema")
    if schema != SCHEMA:
        if isinstance(schema, str) and schema.startswith("evenhand.baseline/"):
            raise UsageError(
                f"{path}: its schema is {safe(schema)!r}; this Evenhand reads {SCHEMA}",
                hint="Use the Evenhand that wrote it, or make it again.",
            )
        what = f"its schema is {clip(safe(str(schema)), 40)!r}" if schema else "it has no schema"
        raise _no_baseline(path, 1, f"{what}, not {SCHEMA!r}")
    try:
        return convert(row, BaselineHeader)
    except ValidationError as error:
        raise _no_baseline(path, 1, shape_fault(error)) from None


def _trial(path: Path, number: int, row: Mapping[str, Any]) -> BaselineTrial:
    try:
        return convert(row, BaselineTrial)
    except ValidationError as error:
        raise _no_baseline(path, number, shape_fault(error)) from None


def _check(
    path: Path,
    header: BaselineHeader,
    rows: Sequence[Mapping[str, Any]],
    trials: Sequence[BaselineTrial],
) -> None:
    """That it is whole.

    Raises:
        UsageError: It is not.
    """
    if not trials:
        raise UsageError(f"{path} holds no trial: nothing can be compared with it", hint=MAKE_ANEW)
    if len(trials) != header.trials:
        raise UsageError(
            f"{path} has {len(trials):,} trials, and its first line says {header.trials:,}: it was cut off or merged",
            hint="Restore it, or make it again: evenhand baseline RUN --to FILE.",
        )
    if _digest_of(rows) != header.digest:
        raise UsageError(
            f"{path} is not as Evenhand wrote it: it was edited or merged",
            hint="Restore it, or make it again: evenhand baseline RUN --to FILE.",
        )
    names = {one.name for one in header.variants}
    named = {trial.variant for trial in trials} | {scale.variant for scale in header.scales}
    if len(names) < len(header.variants) or named - names:
        raise UsageError(f"{path}: its trials and its variants do not go together", hint=MAKE_ANEW)


def _no_baseline(path: Path, number: int, why: str) -> UsageError:
    return UsageError(f"{path}:{number}: this is not a baseline: {safe(why)}", hint=MAKE_ANEW)


def _is_baseline(path: Path) -> bool:
    """Whether a file looks like one, damaged or not: it may be replaced then."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(4096)
    return not start.strip() or b"evenhand.baseline/" in start


def _digest_of(rows: Sequence[Mapping[str, Any]]) -> str:
    return digest_of(map(encode, rows))
