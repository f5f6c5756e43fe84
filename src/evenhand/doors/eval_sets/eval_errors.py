"""What an eval that did not run to its end comes to: a missed assert is a failure, everything else an error."""

from __future__ import annotations

import re
from pathlib import Path

from evenhand.core.case import Case
from evenhand.core.errors import CodeError
from evenhand.core.expect import Expectation
from evenhand.doors.eval_sets.expect import Stated
from evenhand.doors.eval_sets.foreign_names import instead_of
from evenhand.doors.eval_sets.near_columns import near_fields
from evenhand.doors.eval_sets.rowcase import FIELDS
from evenhand.scorers.known_outcomes import Raised

SHOWN = 30


def broken_off(path: Path, case: Case, error: Exception) -> Expectation:
    """The expectation that stands for what an eval raised.

    An `assert` of the eval, or of what stands beside it in a folder `evals`, is what the author expects: a failure.
    One of the application's is a fault of its own, and an error, as is everything else that is raised.

    Args:
        path: The eval's file.
        case: What it was run on.
        error: What it raised.
    """
    if isinstance(error, CodeError) and error.missed and _of_the_evals(error.missed.file, path):
        missed = error.missed
        place = f"{Path(missed.file).name}:{missed.line}"
        reason = missed.message or "the assert did not hold"
        stated = Stated(missed.text, f"{reason}; nothing after it was run")
        return Expectation(False, stated, metadata={"assert": place})
    if isinstance(error, CodeError):
        there = (
            (_there(case, error) if error.key else "")
            or _lacking(case, error)
            or instead_of(error.message, error.hint)
        )
        if there:
            error = CodeError(error.message, hint=f"{there} {error.hint}")
    return Expectation(None, Raised("the eval runs to its end", error))


def _of_the_evals(file: str, path: Path) -> bool:
    """Whether a file is an eval's own, or one below the folder `evals` that it stands in."""
    if Path(file) == path:
        return True
    folder = next((folder for folder in path.parents if folder.name == "evals"), None)
    return folder is not None and Path(file).is_relative_to(folder)


def _lacking(case: Case, error: CodeError) -> str:
    """What to write where the line that raised looks for a field that the case lacks; empty where it does not."""
    line = error.hint
    if error.key in case.vars and f".{error.key}" in line:
        return f"Write case.vars[{error.key!r}]: it is a variable."
    known = ", ".join(map(str, list(case.vars)[:SHOWN])) or "none"
    if "'Case' object is not subscriptable" in error.message:
        key = re.search(r"\[\s*(['\"])(\w+)\1\s*\]", line)
        field = key is not None and key[2] in FIELDS
        return (
            f"Write case.{key[2]}."
            if key is not None and field
            else f"Write case.vars[…]; its variables are: {known}."
        )
    if "'Case' object has no attribute" in error.message:
        return f"case {case.id!r} has the variables: {known}."
    for field in ("expected", "input", "context") if "None" in error.message else ():
        if re.search(rf"\.{field}\b", line) and getattr(case, field) in (None, ()):
            near = next((n for n, f in near_fields([case]).items() if f == field), "")
            meant = f" Did you mean case.vars[{near!r}]?" if near else ""
            return f"case {case.id!r} has no `{field}`; its variables are: {known}.{meant}"
    return ""


def _there(case: Case, error: CodeError) -> str:
    """What a case has, where the line that raised a KeyError looks into it; empty where it does not."""
    for what in ("vars", "metadata"):
        names = getattr(case, what)
        if f"{what}[" in error.hint and error.key not in names:
            known = ", ".join(map(str, list(names)[:SHOWN])) or "nothing"
            own = [name for name in ("input", "expected", "context") if getattr(case, name)]
            if error.key in own:
                return f"Write case.{error.key}: it is a field of its own."
            fields = f"; besides, case.{', case.'.join(own)}" if own else ""
            return f"case.{what} of {case.id!r} has: {known}{fields}."
    return ""
