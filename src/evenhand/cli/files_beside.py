"""Files beside a config that only reports read: looked at before anything is sent."""

from __future__ import annotations

from pathlib import Path


def look_at_files_beside(source: str) -> None:
    """Looks at what reports correct their numbers with, if it is there.

    Args:
        source: The file or the folder that a plan was read from; the current folder where it is empty.

    Raises:
        UsageError: It is damaged.
    """
    path = Path(source or ".").absolute()
    if not any((folder / "calibration.json").exists() for folder in (path, *path.parents)):
        return  # what reads it takes long to import
    from evenhand.analysis.trust.calibration_file import look_at_calibration

    look_at_calibration(source)
