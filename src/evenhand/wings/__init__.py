"""Products beside the kernel, a folder each, and what a wing is made of: docs/write-a-wing.md.

The kernel imports no wing. A package of yours declares its own in one record, and gets what ours get: commands,
importers, exporters, studies, documents and settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazily

if TYPE_CHECKING:
    from evenhand.cli.completing import complete_runs as complete_runs
    from evenhand.cli.remote_run_names import RunName as RunName
    from evenhand.cli.streams import say_json as say_json
    from evenhand.cli.streams import tell as tell
    from evenhand.cli.study import Study as Study
    from evenhand.cli.study import StudyPlan as StudyPlan
    from evenhand.cli.study import begin_study as begin_study
    from evenhand.cli.study import study_options as study_options
    from evenhand.core.wing import Command as Command
    from evenhand.core.wing import Exporter as Exporter
    from evenhand.core.wing import Importer as Importer
    from evenhand.core.wing import Wing as Wing
    from evenhand.doors.eval_sets.plan import plan_of as plan_of
    from evenhand.languages.documents.project import settings_of as settings_of
    from evenhand.store.run_lookup import find as find

_HOMES = {
    "Command": "core.wing",
    "Exporter": "core.wing",
    "Importer": "core.wing",
    "RunName": "cli.remote_run_names",
    "Study": "cli.study",
    "StudyPlan": "cli.study",
    "Wing": "core.wing",
    "begin_study": "cli.study",
    "complete_runs": "cli.completing",
    "find": "store.run_lookup",
    "say_json": "cli.streams",
    "plan_of": "doors.eval_sets.plan",
    "settings_of": "languages.documents.project",
    "study_options": "cli.study",
    "tell": "cli.streams",
}
__all__ = [*_HOMES]  # noqa: PLE0604  # pyright: ignore[reportUnsupportedDunderAll] (made when asked for)
__getattr__, __dir__ = lazily(__name__, _HOMES, "evenhand")
