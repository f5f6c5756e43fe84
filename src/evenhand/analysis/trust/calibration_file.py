"""`calibration.json`: where it is, and how it is written and read."""

from __future__ import annotations

from pathlib import Path

import msgspec

from evenhand.analysis.trust.calibration import Calibration
from evenhand.analysis.trust.calibration_document import (
    SCHEMA,
    CalibrationDocument,
    CalibrationJudge,
    CalibrationRanking,
)
from evenhand.core.document import write_committed
from evenhand.core.encoding import decode
from evenhand.core.errors import UsageError
from evenhand.core.malformed import document_fault
from evenhand.core.run import RunMeta
from evenhand.languages.documents.project import project_folder

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


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Writes a calibration.

    Raises:
        UsageError: The file cannot be written.
    """
    write_committed(calibration.document(), path)


def read_calibration(path: Path) -> dict[tuple[str, str], CalibrationJudge]:
    """The judges of a calibration file, by metric and model; empty where there is no file.

    Raises:
        UsageError: It is none.
    """
    return {(judge.metric, judge.model): judge for judge in _read(path).judges}


def read_rankings(path: Path) -> dict[tuple[str, str], CalibrationRanking]:
    """The rankings of a calibration file, by name and judge; empty where there is no file.

    Raises:
        UsageError: It is none.
    """
    return {(one.name, one.model): one for one in _read(path).rankings}


def look_at_calibration(source: str) -> None:
    """Looks at the calibration of a run that is about to begin, if there is one: reports correct their numbers with it.

    Args:
        source: See `kept_beside`.

    Raises:
        UsageError: It is damaged.
    """
    _read(kept_beside(source))


def _read(path: Path) -> CalibrationDocument:
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
            hint="Make it anew with `evenhand calibrate`, or restore it.",
        ) from error
    if file.schema != SCHEMA:
        raise UsageError(
            f"{path}: its schema is {file.schema!r}; this Evenhand reads {SCHEMA}",
            hint="Make it anew with `evenhand calibrate`.",
        )
    return file
