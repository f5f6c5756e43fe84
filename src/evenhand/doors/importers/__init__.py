"""What an importer of another tool's results is made of, for packages that add one: docs/write-an-importer.md.

    def read(paths: Sequence[Path]) -> Recordings:
        return recordings("nightly", [(path, run_of(path)) for path in paths])

An importer takes all files that a user names, and returns `Recordings`: runs, datasets, and notes on what became of the
parts of the files. Evenhand's own importers are made of the same.
"""

from __future__ import annotations

from evenhand.core.case import Case, case_id
from evenhand.core.errors import UsageError
from evenhand.core.run import Judged
from evenhand.core.score import Outcome
from evenhand.core.step import Step
from evenhand.core.variant import Variant
from evenhand.doors.importers.foreign_cases import alone, fields_of, line_of, tell_unread
from evenhand.doors.importers.foreign_files import Found, began_at, find, moment_of
from evenhand.doors.importers.foreign_scores import ForeignScore, outcome_of, state_of
from evenhand.doors.importers.imported import ImportedRun, ImportedTrial
from evenhand.doors.importers.recorded import (
    RecordedDataset,
    Recordings,
    each_once,
    numbered,
    only_variant,
    recorded_dataset,
    recordings,
)
from evenhand.languages.documents.foreign import Note, Notes, Part, read_values, shown

__all__ = [
    "Case",
    "ForeignScore",
    "Found",
    "ImportedRun",
    "ImportedTrial",
    "Judged",
    "Note",
    "Notes",
    "Outcome",
    "Part",
    "RecordedDataset",
    "Recordings",
    "Step",
    "UsageError",
    "Variant",
    "alone",
    "began_at",
    "case_id",
    "each_once",
    "fields_of",
    "find",
    "line_of",
    "moment_of",
    "numbered",
    "only_variant",
    "outcome_of",
    "read_values",
    "recorded_dataset",
    "recordings",
    "shown",
    "state_of",
    "tell_unread",
]
