"""Finds the evals, runs and output items in files that were saved from OpenAI's Evals API.

What people save differs: single objects, pages of lists, all objects line by line, a dict of their own around them. An
object says what it is under `object`; a config that was never sent to the API is known by its `testing_criteria`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import field

from evenhand.core.encoding import digest, encode
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_array, is_object
from evenhand.core.record import MutableRecord
from evenhand.languages.documents.foreign import Notes, Part, read_values, shown

EVAL, RUN, ITEM = "eval", "eval.run", "eval.run.output_item"
HINT = (
    "Save evals, runs and output items from the API, as docs/leaving-openai-evals.md shows, and name"
    " the files."
)


class Export(MutableRecord, kw_only=True):
    """What was found.

    Attributes:
        evals: By id.
        runs: By id, in the order of the files.
        items: By run, then by id.
        rows: Rows of data files (`{"item": …}`), by the name of their file without its ending.
        notes: What is not carried over, and why.
        recognized: How many objects were recognised, doubles included.
    """

    evals: dict[str, Part] = field(default_factory=dict[str, Part])
    runs: dict[str, Part] = field(default_factory=dict[str, Part])
    items: dict[str, dict[str, Part]] = field(default_factory=dict[str, dict[str, Part]])
    rows: dict[str, list[Part]] = field(default_factory=dict[str, list[Part]])
    notes: Notes = field(default_factory=Notes)
    recognized: int = 0


def read_export(paths: Sequence[Path]) -> Export:
    """All that these files hold.

    Args:
        paths: Files, and folders: of a folder, all files that end in .json or .jsonl, at any depth. One that holds
            nothing of OpenAI's Evals is noted; a file that was named is refused.

    Raises:
        UsageError: A file cannot be read, is not JSON, or holds nothing of OpenAI's Evals.
    """
    export = Export()
    for path in paths:
        if path.is_dir():
            _read_folder(export, path)
        elif not _read(export, path):
            raise UsageError(f"{path} holds no evals, runs or output items of OpenAI's", hint=HINT)
    return export


def _read_folder(export: Export, folder: Path) -> None:
    before = export.recognized
    for path in sorted(one for one in folder.rglob("*.json*") if one.suffix in (".json", ".jsonl")):
        values = read_values(path)
        if any(_is_ours(value) for _, value in values):
            _read(export, path)
        else:
            export.notes.left_out(str(path), "holds no evals, runs or output items of OpenAI's")
    if export.recognized == before:
        raise UsageError(
            f"{folder} has no file with evals, runs or output items of OpenAI's", hint=HINT
        )


def _is_ours(value: object) -> bool:
    """Whether there is an object of OpenAI's Evals in a value."""
    if is_array(value):
        return any(map(_is_ours, value))
    if not is_object(value):
        return False
    return _kind(value) in (EVAL, RUN, ITEM, "row") or any(map(_is_ours, value.values()))


def _read(export: Export, path: Path) -> bool:
    """Whether a file holds anything of OpenAI's Evals; it is added."""
    before = export.recognized
    for where, value in read_values(path):
        _walk(export, value, f"{where} $", path)
    return export.recognized > before


def _walk(export: Export, value: object, where: str, path: Path) -> None:
    if is_array(value):
        for i, item in enumerate(value):
            _walk(export, item, f"{where}[{i}]", path)
        return
    if not is_object(value):
        export.notes.left_out(where, f"is {shown(value)}, not an object of the API")
        return
    one = Part(value, where, export.notes)
    kind = _kind(one.value)
    if kind in (EVAL, RUN, ITEM):
        _take(export, one, kind, path)
    elif kind == "list":
        if one.value.get("has_more") is True:
            export.notes.left_out(
                where, "is a page of a longer list (has_more): fetch the other pages, too"
            )
        _walk(export, one.value.get("data") or [], f"{where}.data", path)
    elif kind == "row":
        export.rows.setdefault(path.stem, []).append(one)
        export.recognized += 1
    elif kind == "promptfoo":
        raise UsageError(
            f"{path} is a promptfoo config, which OpenAI's dashboard exports",
            hint=f"It runs as it is: evenhand run -c {path}",
        )
    elif kind == "promptfoo results":
        raise UsageError(
            f"{path} holds results in promptfoo's format, which OpenAI's dashboard exports",
            hint=f"Import them so: evenhand import {path}",
        )
    elif kind:
        export.notes.left_out(where, f"'object' is {shown(kind)}, which is not a part of an eval")
    else:
        _walk_wrapper(export, one, path)


def _walk_wrapper(export: Export, one: Part, path: Path) -> None:
    """A dict of somebody's own, with objects of the API in it."""
    for key, value in one.value.items():
        if isinstance(value, (dict, list)):
            _walk(export, value, f"{one.where}.{key}", path)
        else:
            export.notes.left_out(f"{one.where}.{key}", "is not an object of the API")


def _kind(value: Mapping[str, object]) -> str:
    named = value.get("object")
    if isinstance(named, str) and named:
        return named
    if "testing_criteria" in value and isinstance(value["testing_criteria"], list):
        return EVAL
    if "datasource_item" in value and "results" in value:
        return ITEM
    if "data_source" in value and ("eval_id" in value or "result_counts" in value):
        return RUN
    if isinstance(value.get("item"), dict) and value.keys() <= {"item", "sample"}:
        return "row"
    if "prompts" in value and ("providers" in value or "targets" in value):
        return "promptfoo"
    results = value.get("results")
    if "evalId" in value or (isinstance(results, dict) and "version" in results):
        return "promptfoo results"
    return ""


def _take(export: Export, one: Part, kind: str, path: Path) -> None:
    export.recognized += 1
    id_ = one.text("id")
    if kind == EVAL:
        id_ = id_ or f"eval-{digest(encode(one.value))[:12]}"
        _keep(export, export.evals, id_, one)
        for key in ("runs", "output_items"):
            _walk_inside(export, one, key, path)
        return
    if not id_:
        export.notes.left_out(one.where, f"this {kind} has no id")
        return
    if kind == RUN:
        _keep(export, export.runs, id_, one)
        _walk_inside(export, one, "output_items", path)
        return
    run = one.text("run_id")
    if not run:
        export.notes.left_out(one.where, "this output item does not say its run (run_id)")
        return
    _keep(export, export.items.setdefault(run, {}), id_, one)


def _walk_inside(export: Export, one: Part, key: str, path: Path) -> None:
    inside = one.value.get(key)
    if isinstance(inside, (dict, list)):
        _walk(export, inside, f"{one.where}.{key}", path)


def _keep(export: Export, into: dict[str, Part], id_: str, one: Part) -> None:
    known = into.get(id_)
    if known is None:
        into[id_] = one
        return
    if encode(known.value) == encode(one.value):
        export.notes.changed(one.where, "is in the files twice, and is read once")
        return
    export.notes.changed(
        one.where, f"differs from what {known.where} says under the same id; this one counts"
    )
    into[id_] = one
