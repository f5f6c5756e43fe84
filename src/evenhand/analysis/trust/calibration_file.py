"""`calibration.json`: where it is, and how it is written and read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evenhand.analysis.trust.calibration import Calibration
from evenhand.analysis.trust.calibration_document import (
    SCHEMA,
    CalibrationDocument,
)
from evenhand.analysis.trust.trust_rules import FEWEST
from evenhand.core.document import as_object
from evenhand.core.encoding import decode
from evenhand.core.errors import UsageError
from evenhand.core.malformed import document_fault
from evenhand.core.run import RunMeta
from evenhand.core.wording.words import count, short_id
from evenhand.languages.documents.project import project_folder
from evenhand.store.home import HOME
from evenhand.store.replacing import write_committed

NAME = "calibration.json"


def place_of(meta: RunMeta) -> Path:
    """Where the calibration of a run's judges is kept; see `kept_beside`."""
    return kept_beside(meta.source)


def kept_beside(source: str) -> Path:
    """Where the calibration is kept of what was made from this file or folder: beside the config, or in the folder.

    That of eval sets below a folder `evals` is beside that folder, whether the command ran them or a program.

    Args:
        source: See `RunMeta.source`; the current folder where it is empty.
    """
    path = Path(source) if source else Path.cwd()
    if path.suffix == ".py":
        return project_folder(path.parent) / NAME
    # A folder that is gone by now has no suffix as a rule; a config has one.
    return (path if path.is_dir() or not path.suffix else path.parent) / NAME


def check_place(run: Path, place: Path, option: str) -> None:
    """Refuses to write beside evals that the run isn't near, as where a project was copied: they are another's by now.

    Args:
        run: The run's file.
        place: Where its source says that something is kept.
        option: What names another place.

    Raises:
        UsageError: The run lies in another project.
    """
    here = other_copy(run, place)
    if here is None:
        return
    raise UsageError(
        f"this run was made in {place.parent.resolve()}, and its file is in {here} now: "
        f"{place.name} would be written there",
        hint=f"Run it here, or name a file: {option} {place.name}",
    )


def other_copy(run: Path, place: Path) -> Path | None:
    """The folder of the project that a run lies in, where that is another copy of the one that it was made in.

    Args:
        run: The run's file.
        place: Where its source says that something is kept.
    """
    home, folder = run.parent.parent.resolve(), place.parent.resolve()
    # Elsewhere, people chose where runs are kept.
    if (
        home.name != HOME
        or home.parent.is_relative_to(folder)
        or folder.is_relative_to(home.parent)
    ):
        return None
    return home.parent


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Writes a calibration.

    Raises:
        UsageError: The file cannot be written.
    """
    write_committed(calibration.document(), path)


def update_calibration(calibration: Calibration, path: Path) -> tuple[bool, list[str]]:
    """Writes a calibration, but keeps what an earlier one there says of judges that this one has no verdict on.

    Labels that have a verdict correct numbers well; a handful of newer ones would take their place and widen them.

    Returns:
        Whether anything was written, and in words what was kept.

    Raises:
        UsageError: The file cannot be written.
    """
    document = calibration.document()
    try:
        read_calibration(path)
        earlier = json.loads(path.read_bytes())
    except (FileNotFoundError, UsageError):
        earlier = {}  # a damaged one is made anew
    descriptions: list[str] = []
    new = False
    for key, name in (("judges", "metric"), ("rankings", "name")):
        remaining = _worth_more(earlier.get(key, ()), document[key], name)
        fresh = [
            row
            for row in document[key]
            if not any(
                _place(row, name) == _place(before, name)
                and (_shared(row, before) or not _worth(row))
                for before in remaining
            )
        ]
        new = new or any(_worth(row) for row in fresh)
        remaining = [{"run": earlier.get("run", ""), **row} for row in remaining]
        for row in remaining:
            apart = any(_place(one, name) == _place(row, name) for one in fresh)
            descriptions.append(_words(row, name, sorted(_evals(row)) if apart else ()))
        document[key] = [*fresh, *remaining]
    # A run that goes by limits chooses none: the earlier ones still hold.
    rows = document.get("cascades", [])
    chosen = {(row["metric"], row["cascade"]) for row in rows}
    document["cascades"] = rows + [
        row for row in earlier.get("cascades", ()) if (row["metric"], row["cascade"]) not in chosen
    ]
    every = (*document["judges"], *document["rankings"], *document["cascades"])
    runs = {str(row.get("run", "")) for row in every}
    of_earlier = {run: code for run, code in earlier.get("code", {}).items() if run in runs}
    document["code"] = {**of_earlier, **document["code"]}
    if new or chosen:
        write_committed(document, path)
    return new or bool(chosen), descriptions


def has_usable_judge(path: Path) -> bool:
    """Whether a calibration file has a judge whose corrected numbers a run's bounds may go by.

    Raises:
        UsageError: It is no calibration.
    """
    file = read_calibration(path)
    return any(one.verdict.startswith("usable") for one in (*file.judges, *file.rankings))


def calibrated_before(calibration: Calibration, path: Path) -> list[str]:
    """In words what a calibration file says of judges that nobody has labelled outputs for in this run."""
    try:
        file = read_calibration(path)
    except UsageError:
        return []  # reports say that it is damaged
    unlabelled = {
        (judge.metric, judge.model) for judge in calibration.judges if not judge.verdicts.labels
    }
    rows = [({"run": file.run, **as_object(judge)}, "metric") for judge in file.judges]
    unlabelled |= {(one.name, one.model) for one in calibration.rankings if not one.labels.pairs}
    rows += [({"run": file.run, **as_object(one)}, "name") for one in file.rankings]
    return [
        _words(row, name) for row, name in rows if _worth(row) and _place(row, name) in unlabelled
    ]


def _words(row: Mapping[str, Any], name: str, evals: Sequence[str] = ()) -> str:
    in_evals = f" in {', '.join(evals)}" if evals else ""
    of_run = f" of run {short_id(row['run'])}" if row["run"] else ""
    labels = count(row.get("labels", 0), "label")
    return f"{row[name]} by {row['model']}{in_evals} ({row['verdict']}, {labels}{of_run})"


def _worth_more(
    earlier: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], name: str
) -> list[Mapping[str, Any]]:
    """The judges of an earlier calibration that a later one has nothing as good in place of.

    A judge takes the place of itself, and of others of its metric that are gone; in the evals that both are of.
    """
    places = {_place(row, name) for row in rows}

    def replaces(row: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
        same = _place(row, name) == _place(before, name)
        gone = row[name] == before[name] and _place(before, name) not in places
        return (same or gone) and _shared(row, before) and _worth(row) >= _worth(before)

    remaining: list[Mapping[str, Any]] = []
    for before in earlier:
        rest: Mapping[str, Any] | None = before if _worth(before) else None
        for row in rows:
            if rest is not None and replaces(row, rest):
                rest = _without(rest, _evals(row))
        if rest is not None:
            remaining.append(rest)
    return remaining


def _evals(row: Mapping[str, Any]) -> set[str]:
    """The evals that a calibration is of; empty where it doesn't say."""
    names = {str(variant.get("eval", "")) for variant in row.get("variants", ())}
    return set() if "" in names else names


def _shared(row: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether two calibrations of a judge are of the same eval, for all that is known."""
    first, second = _evals(row), _evals(before)
    return not first or not second or bool(first & second)


def _without(before: Mapping[str, Any], evals: set[str]) -> Mapping[str, Any] | None:
    """An earlier calibration without these evals; None where nothing is left, or it can't be divided."""
    left = _evals(before) - evals
    each = [one for one in before.get("evals", ()) if one["eval"] in left]
    if not evals or not left or len(each) < len(left):
        return None
    variants = [variant for variant in before["variants"] if variant["eval"] in left]
    if len(each) > 1:
        return {**before, "variants": variants, "evals": each}
    (one,) = each
    return {
        **before, "variants": variants, "evals": [], "bound": one["bound"], "seen": one["seen"]
    }  # fmt: skip


def _place(row: Mapping[str, Any], name: str) -> tuple[str, str]:
    return row[name], row["model"]


def _worth(row: Mapping[str, Any]) -> int:
    """2 for a verdict, and for enough labels that people found no failure, or no pass, in; 1 for fewer, 0 for none."""
    labels = row.get("labels", 0)
    enough = labels >= FEWEST and row.get("corrected") is not None
    return 2 if row["verdict"] != "no verdict" or enough else int(labels > 0)


def look_at_calibration(source: str) -> None:
    """Looks at the calibration of a run that is about to begin, if there is one: reports correct their numbers with it.

    Args:
        source: See `kept_beside`.

    Raises:
        UsageError: It is damaged.
    """
    read_calibration(kept_beside(source))


def read_calibration(path: Path) -> CalibrationDocument:
    """A calibration file; one without judges where there is no file.

    Raises:
        UsageError: It is none.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return CalibrationDocument(schema=SCHEMA, judges=[])
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    try:
        file = msgspec.convert(decode(data), CalibrationDocument)
    except (ValueError, msgspec.ValidationError) as error:
        raise UsageError(
            f"{path} is not a calibration: {document_fault(data, error)}",
            hint="Make it again with `evenhand calibrate`, or restore it.",
        ) from error
    if file.schema != SCHEMA:
        raise UsageError(
            f"{path}: its schema is {file.schema!r}; this Evenhand reads {SCHEMA}",
            hint="Make it again with `evenhand calibrate`.",
        )
    return file
