"""Writes recorded evals of another tool as a folder that runs: eval sets, their cases, and a script of the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.doors.eval_sets.rowcase import row_of
from evenhand.doors.importers.moved_in import MovedIn, lines, written
from evenhand.doors.importers.naming import slug, unlike
from evenhand.languages.documents.foreign import Note
from evenhand.wings.interchange.recorded_eval import RecordedEval, eval_file, script, support, todo


def write_evals(
    evals: Mapping[str, RecordedEval],
    folder: Path,
    tool: str,
    *,
    scorers: Path,
    notes: Sequence[Note],
) -> MovedIn:
    """Writes an eval set for each eval.

    Args:
        evals: By the names of their tasks.
        folder: Where to write; it is made where it is not there.
        tool: As `--from` names it.
        scorers: A module, NAME.py.txt, with what the tool scores by. It is written beside them if one imports NAME.
        notes: What was translated, and what was not.

    Raises:
        UsageError: One of the files is there already, or cannot be written.
    """
    texts: dict[str, str] = {}
    names: set[str] = set()
    for task, one in evals.items():
        name = unlike(names, slug(task, "task")).replace(" ", "_")
        texts[f"evals/{name}_evals.py"] = eval_file(one, name)
        texts[f"evals/{name}.jsonl"] = lines([row_of(case) for case in one.cases])
    sets = [folder / name for name in texts if name.endswith(".py")]
    every = list(evals.values())
    texts |= support(every)
    module = scorers.name.removesuffix(".py.txt")
    if any(module in check.imports for one in every for check in one.checks):
        texts[f"{module}.py"] = scorers.read_text("utf-8")
    rules = script(every)
    if rules:
        texts["offline.jsonl"] = lines(rules)
    files = written({folder / name: text for name, text in texts.items()}, folder, tool)
    return MovedIn(files, sets, bool(rules), notes, todo(every, folder))
