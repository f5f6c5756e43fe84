"""`calibration.json`: what it keeps of judges and rankings, where it is, and how it is written and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import msgspec

from evenhand.analysis.trust.calibration import Calibration
from evenhand.analysis.trust.calibration_document import SCHEMA, calibration_document
from evenhand.analysis.trust.jury_rates import Count, KeptJury, KeptVotes
from evenhand.analysis.trust.trust_rules import Evidence
from evenhand.core.encoding import decode
from evenhand.core.errors import UsageError
from evenhand.core.malformed import document_fault
from evenhand.core.run import RunMeta
from evenhand.languages.documents.project import project_folder
from evenhand.stats.paired_scores import PairedScores, Spread
from evenhand.stats.weighted import UniformLabels

NAME = "calibration.json"
_Amount = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class KeptUniform(msgspec.Struct):
    """The labels of a uniform draw that say as much as those of a variant that were weighted."""

    both_pass: _Amount
    missed: _Amount
    excused: _Amount
    both_fail: _Amount
    rate: Annotated[float, msgspec.Meta(ge=0, le=1)]
    size: _Amount

    def labels(self) -> UniformLabels:
        """The labels as they were computed when the calibration was made."""
        return UniformLabels(*msgspec.structs.astuple(self))


class KeptScores(msgspec.Struct):
    """People's scores of a variant beside the judge's."""

    labels: Count
    free: Annotated[int, msgspec.Meta(ge=1, le=10**9)]
    people: float
    judge: float
    spread_people: Annotated[float, msgspec.Meta(ge=0)]
    spread_together: float
    spread_judge: Annotated[float, msgspec.Meta(ge=0)]
    labelled: list[str] | None = None

    def paired(self) -> PairedScores:
        """The paired scores as they were computed, as far as other outputs need them."""
        drawn = Spread(self.spread_people, self.spread_together, self.spread_judge)
        none = Spread(0.0, 0.0, 0.0)
        return PairedScores(
            labels=self.labels,
            free=self.free,
            people=self.people,
            judge=self.judge,
            drawn=drawn,
            known=none,
            people_spread=0.0,
            rho2=None,
        )


class KeptScale(msgspec.Struct):
    """What the judge's scores and people's are on."""

    scale: tuple[float, float]


class KeptVariant(msgspec.Struct):
    """A variant whose outputs are labelled: what later runs of it are corrected with."""

    prompt: str
    model: str
    system: str
    both_pass: Count
    missed: Count
    excused: Count
    both_fail: Count
    weighted: KeptUniform | None = None
    scores: KeptScores | None = None
    votes: KeptVotes | None = None
    items: Count = 0
    labelled: list[str] | None = None

    @property
    def cells(self) -> tuple[int, int, int, int]:
        """How many labelled outputs both pass, only people pass, only the judge passes, both fail."""
        return self.both_pass, self.missed, self.excused, self.both_fail


class KeptJudge(msgspec.Struct):
    """A judge under a metric."""

    metric: str
    model: str
    verdict: str
    variants: list[KeptVariant]
    bound: dict[str, str]
    seen: Evidence | None = None
    labelled_at: float | None = None
    corrected: dict[str, float] | None = None
    scores: KeptScale | None = None
    jury: KeptJury | None = None


class RankedSystem(msgspec.Struct):
    """A variant of a ranking that a calibration file holds."""

    prompt: str
    model: str
    system: str


class KeptRanking(msgspec.Struct):
    """A ranking that a calibration file holds."""

    name: str
    model: str
    verdict: str
    variants: list[RankedSystem]
    answers: list[str]
    bound: dict[str, str]
    seen: Evidence | None = None
    labelled_at: float | None = None


class _File(msgspec.Struct):
    """The whole file."""

    schema: str
    judges: list[KeptJudge]
    rankings: list[KeptRanking] = []


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
    """Writes a calibration: sorted and indented, so that a change shows in a diff.

    Raises:
        UsageError: The file cannot be written.
    """
    text = json.dumps(
        calibration_document(calibration), ensure_ascii=False, indent=1, sort_keys=True
    )
    try:
        path.write_text(text + "\n", "utf-8")
    except (OSError, UnicodeEncodeError) as error:
        raise UsageError(f"{path} cannot be written: {error}") from error


def read_calibration(path: Path) -> dict[tuple[str, str], KeptJudge]:
    """The judges of a calibration file, by metric and model; empty where there is no file.

    Raises:
        UsageError: It is none.
    """
    return {(judge.metric, judge.model): judge for judge in _read(path).judges}


def read_rankings(path: Path) -> dict[tuple[str, str], KeptRanking]:
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


def _read(path: Path) -> _File:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return _File(SCHEMA, [])
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    try:
        file = msgspec.convert(decode(data), _File)
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
