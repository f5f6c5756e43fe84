"""Writes an eval set for each dataset of pydantic-evals, with its cases and evaluators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.core.errors import UsageError
from evenhand.doors.eval_sets.rowcase import row_of
from evenhand.doors.importers.foreign_files import find
from evenhand.doors.importers.moved_in import MovedIn, lines, written
from evenhand.doors.importers.naming import one_line, slug, unlike
from evenhand.doors.importers.recorded import each_once
from evenhand.doors.promptfoo.porting.literal import flat, laid, literal
from evenhand.languages.documents.foreign import Notes, Part, shown
from evenhand.wings.interchange.pydantic_evals.checks import Check, check_of
from evenhand.wings.interchange.pydantic_evals.dataset import cases_of
from evenhand.wings.interchange.pydantic_evals.reading import HINT, kind_of
from evenhand.wings.interchange.pydantic_evals.specs import specs_in

TASK = "pydantic_task"
_TASK = '''"""The task that the datasets of pydantic-evals were evaluated with."""

from typing import Any


def answer(inputs: Any) -> Any:
    """What your application answers: the function that `dataset.evaluate(…)` was given."""
    raise NotImplementedError("call your application here")
'''


def move_in(paths: Sequence[Path], folder: Path) -> MovedIn:
    """Writes an eval set for each dataset of these files, and a place for the task.

    Args:
        paths: What `dataset.to_file(…)` wrote.
        folder: Where to write; it is made where it is not there.

    Raises:
        UsageError: A file cannot be read, holds no dataset, or one of the files to write is there already.
    """
    notes = Notes()
    parts = find(paths, kind_of, notes, what="dataset of pydantic-evals'", hint=HINT)
    datasets = [one for one in parts if one.kind == "dataset"]
    for one in parts:
        if one.kind == "report":
            notes.left_out(
                one.part.where,
                "a report is not a dataset: `evenhand import pydantic-evals` reads it",
            )
    if not datasets:
        raise UsageError(f"{paths[0]} holds no dataset: a report has results alone", hint=HINT)
    texts: dict[str, str] = {}
    sets: list[str] = []
    names: set[str] = set()
    for one in datasets:
        title = one.part.text("name") or one.path.stem
        name = unlike(names, slug(title, "dataset")).replace(" ", "_")
        cases = each_once(cases_of(one.part), one.part.where, notes)
        sets.append(f"evals/{name}_evals.py")
        texts[sets[-1]] = _eval_file(one.part, title, name, [case.id for case in cases], notes)
        texts[f"evals/{name}.jsonl"] = lines([row_of(case) for case in cases])
        notes.translated(one.part.where, f"dataset {shown(title)}, cases: {len(cases):,}")
    texts[f"{TASK}.py"] = _TASK
    files = written({folder / name: text for name, text in texts.items()}, folder, "pydantic-evals")
    todo = f"call your application in {folder / f'{TASK}.py'}"
    return MovedIn(
        files, [folder / one for one in sets], offline=False, notes=tuple(notes), todo=todo
    )


def _eval_file(dataset: Part, title: str, name: str, ids: Sequence[str], notes: Notes) -> str:
    checks = [c for spec in specs_in(dataset, "evaluators") if (c := check_of(spec, notes))]
    for spec in specs_in(dataset, "report_evaluators"):
        text = f"evaluator {shown(spec.name)} looks at all cases: `evenhand show` reports those"
        notes.left_out(spec.where, text)
    body = [line for check in checks for line in check.lines]
    for case, id_ in zip(dataset.parts("cases"), ids, strict=False):
        own = [c for spec in specs_in(case, "evaluators") if (c := check_of(spec, notes))]
        if own:
            body.append(f"if case.id == {flat(literal(id_))}:")
            body += [f"    {line}" for check in own for line in check.lines]
            checks += own
    timed = any(check.timed for check in checks)
    start = ["started = time.perf_counter()"] if timed else []
    end = ["seconds = time.perf_counter() - started"] if timed else []
    lines = [
        *start,
        "output = answer(case.input)",
        *end,
        *(body or ["del expect"]),
        "return output",
    ]
    code = "".join(f"    {line}\n" for line in lines)
    head = laid(literal(f"{title}: a dataset of pydantic-evals, as an eval set."))
    return (
        f"{head}\n\n{_imports(checks, timed=timed)}\n\n"
        f"evals = EvalSet({flat(literal(one_line(title)))}, data=Dataset.read({flat(literal(f'{name}.jsonl'))}))\n\n\n"
        f"@evals.eval\ndef answers(case: Case, expect: Expect) -> Any:\n{code}"
    )


def _imports(checks: Sequence[Check], *, timed: bool) -> str:
    names: dict[str, set[str]] = {"evenhand": {"Case", "Dataset", "EvalSet", "Expect"}}
    for check in checks:
        for module, taken in check.imports.items():
            names.setdefault(module, set()).update(taken)
    ours = [f"from {module} import {', '.join(sorted(names[module]))}" for module in sorted(names)]
    first = [*(["import time"] if timed else []), "from typing import Any"]
    return "\n".join([*first, "", *ours, "", f"from {TASK} import answer"])
