"""A calibration as JSON, `evenhand.calibration/1`: what `evenhand calibrate --json` prints, and what its file holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.analysis.trust.calibration import Calibration

SCHEMA = "evenhand.calibration/1"


def calibration_document(
    calibration: Calibration,
    selective: Mapping[tuple[str, str], Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """The calibration as a document of the schema `evenhand.calibration/1`.

    Args:
        calibration: What the judges' labels came to.
        selective: What each judge may decide, by metric and judge, for a document that is printed; None for a file.
    """
    rows = [judge.row(calibration.variants) for judge in calibration.judges]
    for row in rows:
        row["audits"] = [one.row() for one in calibration.audits[row["metric"], row["model"]]]
    if selective is not None:
        for row in rows:
            row["selective"] = selective.get((row["metric"], row["model"]))
    return {
        "schema": SCHEMA,
        "run": calibration.run,
        "made_at": calibration.made_at,
        "judges": rows,
        "rankings": [one.row(calibration.variants) for one in calibration.rankings],
    }
