"""Writes a folder of eval sets from an export of OpenAI's Evals. Nothing that is there is overwritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.core.errors import UsageError
from evenhand.doors.eval_sets.rowcase import row_of
from evenhand.doors.importers.moved_in import MovedIn, lines, written
from evenhand.doors.importers.naming import slug, unlike
from evenhand.wings.interchange.openai_evals.criteria import Check, check_of
from evenhand.wings.interchange.openai_evals.definition import Definition, definition_of
from evenhand.wings.interchange.openai_evals.eval_file import TEMPLATES, eval_file
from evenhand.wings.interchange.openai_evals.export import Export, read_export
from evenhand.wings.interchange.openai_evals.recorded import script_of
from evenhand.wings.interchange.openai_evals.regrading import tell_agreement
from evenhand.wings.interchange.openai_evals.source import source_of


def move_in(paths: Sequence[Path], folder: Path) -> MovedIn:
    """Writes an eval set for each eval of these files, with its dataset and graders.

    Args:
        paths: What was saved from OpenAI's API.
        folder: Where to write; it is made where it is not there.

    Raises:
        UsageError: A file cannot be read, holds no eval, or one of the files to write is there already.
    """
    export = read_export(paths)
    if not export.evals:
        raise UsageError(
            f"{paths[0]} holds no eval: runs and output items alone do not say how they were graded",
            hint="Save the eval, too: client.evals.retrieve(EVAL_ID).",
        )
    texts: dict[str, str] = {}
    sets: list[str] = []
    rules: list[Mapping[str, object]] = []
    names: set[str] = set()
    for id_, part in export.evals.items():
        definition = definition_of(id_, part)
        recorded = _one(definition, export, names, rules)
        if recorded:
            texts |= recorded
            sets.append(next(iter(recorded)))
    if not sets:
        why = [f"{one.where}: {one.text}" for one in export.notes if one.kind == "left_out"]
        raise UsageError("\n".join(["no eval could be written as an eval set", *why[:10]]))
    texts[f"{TEMPLATES}.py"] = (Path(__file__).parent / f"{TEMPLATES}.py.txt").read_text("utf-8")
    if rules:
        texts["offline.jsonl"] = lines(rules)
    files = written({folder / name: text for name, text in texts.items()}, folder, "openai-evals")
    return MovedIn(files, [folder / one for one in sets], bool(rules), tuple(export.notes))


def _one(
    definition: Definition, export: Export, names: set[str], rules: list[Mapping[str, object]]
) -> dict[str, str]:
    """The files of an eval, the eval set first; none where it cannot be run."""
    source = source_of(definition, export)
    if source is None:
        return {}
    name = unlike(names, slug(definition.name, "eval")).replace(" ", "_")
    taken: set[str] = set()
    checks: list[Check] = []
    for criterion in definition.criteria:
        check = check_of(criterion, taken, name)
        if check:
            checks.append(check)
    tell_agreement(definition, export)
    rules += script_of(definition, source, export)
    texts = {
        f"evals/{name}_evals.py": eval_file(definition, source, checks, name),
        f"evals/{name}.jsonl": lines([row_of(case) for case in source.cases]),
    }
    for check in checks:
        texts |= check.files
    return texts
