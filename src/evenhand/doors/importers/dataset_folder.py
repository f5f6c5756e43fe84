"""Writes an eval set to fill in for each dataset of another tool: its cases, and a place for the application."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from evenhand.core.case import Case
from evenhand.core.errors import UsageError
from evenhand.doors.eval_sets.rowcase import row_of
from evenhand.doors.importers.moved_in import MovedIn, written
from evenhand.doors.importers.naming import one_line, slug, unlike
from evenhand.doors.importers.registry import read_runs
from evenhand.doors.promptfoo.porting.literal import flat, laid, literal

APPLICATION = "application"
_APPLICATION = '''"""The application that the datasets are about."""

from typing import Any


def answer(question: Any) -> Any:
    """What your application answers to the input of a case."""
    raise NotImplementedError("call your application here")
'''


def move_in(paths: Sequence[Path], folder: Path, tool: str) -> MovedIn:
    """Writes an eval set for each dataset of these files.

    Args:
        paths: What the tool exported.
        folder: Where to write; it is made where it is not there.
        tool: The name of its importer.

    Raises:
        UsageError: A file cannot be read, holds no dataset, or one of the files to write already exists.
    """
    results = read_runs(paths, tool)
    if not results.datasets:
        raise UsageError(
            f"{paths[0]} holds no dataset of {tool}'s",
            hint=f"`evenhand import {tool}` makes runs of results.",
        )
    texts: dict[str, str] = {}
    sets: list[str] = []
    names: set[str] = set()
    for dataset in results.datasets:
        name = unlike(names, slug(dataset.name, "dataset")).replace(" ", "_")
        sets.append(f"evals/{name}_evals.py")
        texts[sets[-1]] = _eval_file(dataset.name, tool, name, dataset.cases)
        rows = [json.dumps(row_of(case), ensure_ascii=False) for case in dataset.cases]
        texts[f"evals/{name}.jsonl"] = "".join(f"{row}\n" for row in rows)
    texts[f"{APPLICATION}.py"] = _APPLICATION
    files = written({folder / name: text for name, text in texts.items()}, folder, tool)
    listed = " and ".join(str(folder / one) for one in sets[:3])
    todo = f"call your application in {folder / f'{APPLICATION}.py'}, say in {listed} what you expect of it"
    return MovedIn(
        files, [folder / one for one in sets], offline=False, notes=tuple(results.notes), todo=todo
    )


def _eval_file(title: str, tool: str, name: str, cases: Sequence[Case]) -> str:
    """An eval set with the expectations that the cases have material for, from the plainest to judged ones."""
    judged = ["Passes"]
    lines = ["output = answer(case.input)"]
    expected = sum(case.expected is not None for case in cases)
    if expected:
        check = "expect(output, Equals(case.expected))"
        lines += (
            [check] if expected == len(cases) else ["if case.expected is not None:", f"    {check}"]
        )
    else:
        lines.append('expect(bool(output), "answers")')
    lines.append('# expect(output, Passes("is polite"))                    a judge decides')
    if any(case.context for case in cases):
        judged.append("Faithfulness")
        lines.append("# expect(output, Faithfulness(case.context), at_least=0.8)")
    lines.append("return output")
    code = "".join(f"    {line}\n" for line in lines)
    head = laid(literal(f"{title}: a dataset of {tool}'s, as an eval set."))
    scorers = "from evenhand.scorers import Equals\n" * bool(expected)
    return (
        f"{head}\n\nfrom typing import Any\n\nfrom {APPLICATION} import answer\n\n"
        f"from evenhand import Case, Dataset, EvalSet, Expect\n{scorers}\n"
        f"# Judged expectations: from evenhand.scorers import {', '.join(judged)}\n\n"
        f"evals = EvalSet({flat(literal(one_line(title)))}, data=Dataset.read({flat(literal(f'{name}.jsonl'))}))\n\n\n"
        f"@evals.eval\ndef answers(case: Case, expect: Expect) -> Any:\n{code}"
    )
