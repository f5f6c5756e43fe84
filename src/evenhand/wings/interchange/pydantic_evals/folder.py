"""Writes an eval set for each dataset of pydantic-evals, with its cases and evaluators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import field

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_number
from evenhand.core.record import Record
from evenhand.doors.eval_sets.rowcase import row_of
from evenhand.doors.importers.foreign_files import find
from evenhand.doors.importers.moved_in import MovedIn, lines, written
from evenhand.doors.importers.naming import one_line, slug, unlike
from evenhand.doors.importers.recorded import each_once
from evenhand.doors.promptfoo.porting.literal import flat, laid, literal
from evenhand.languages.documents.foreign import Notes, Part, shown
from evenhand.wings.interchange.pydantic_evals.reading import (
    HINT,
    EvaluatorSpec,
    cases_of,
    kind_of,
    specs_in,
)

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
        UsageError: A file cannot be read, holds no dataset, or one of the files to write already exists.
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


class Check(Record, frozen=True):
    """An evaluator, written out.

    Attributes:
        lines: What stands in the eval, without indentation.
        imports: The names that it takes, by module.
        timed: It looks at how long the answer took.
    """

    lines: tuple[str, ...]
    imports: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    timed: bool = False


class Untranslated(Exception):
    """An evaluator cannot be written out; the reason."""


def check_of(spec: EvaluatorSpec, notes: Notes) -> Check | None:
    """The evaluator as Python; None, with a note, for one that has no equal."""
    try:
        check = _WRITERS.get(spec.name, _other)(spec, notes)
    except Untranslated as why:
        notes.left_out(spec.where, f"evaluator {shown(spec.name)} {why}")
        return None
    notes.translated(spec.where, f"evaluator {shown(spec.name)}")
    return check


def _other(spec: EvaluatorSpec, notes: Notes) -> Check:
    del notes
    raise Untranslated(
        "has no equal here: import it, and write expect(output,"
        f" PydanticEvals({spec.name}(…))), from evenhand.scorers"
    )


def _argument(spec: EvaluatorSpec, name: str) -> object:
    """An argument by its name, or the only one."""
    for key in (name, ""):
        if key in spec.arguments:
            return spec.arguments[key]
    raise Untranslated(f"has no {name}")


def _label(spec: EvaluatorSpec, otherwise: str) -> str:
    name = spec.arguments.get("evaluation_name")
    return flat(literal(name if isinstance(name, str) and name else otherwise))


def _equals_expected(spec: EvaluatorSpec, notes: Notes) -> Check:
    del notes
    label = _label(spec, "EqualsExpected")
    lines = (
        "if case.expected is not None:",
        f"    expect(output == case.expected, {label}, metric={label})",
    )
    return Check(lines)


def _equals(spec: EvaluatorSpec, notes: Notes) -> Check:
    del notes
    label = _label(spec, "Equals")
    value = laid(literal(_argument(spec, "value")))
    return Check((f"expect(output == {value}, {label}, metric={label})",))


def _contains(spec: EvaluatorSpec, notes: Notes) -> Check:
    value = _argument(spec, "value")
    if not isinstance(value, str) or not value:
        raise Untranslated(f"looks for {shown(value)}, and Contains here for text")
    if not spec.arguments.get("as_strings"):
        notes.changed(
            spec.where,
            "Contains looks at an output that is not a text as JSON; pydantic-evals looks into lists and objects",
        )
    label = _label(spec, "Contains")
    case = ", ignore_case=True" if spec.arguments.get("case_sensitive") is False else ""
    scorer = f"Contains({flat(literal(value))}{case})"
    line = f"expect(output, {scorer}, metric={label})"
    return Check((line,), {"evenhand.scorers": ("Contains",)})


def _is_instance(spec: EvaluatorSpec, notes: Notes) -> Check:
    del notes
    name = _argument(spec, "type_name")
    if not isinstance(name, str):
        raise Untranslated(f"has a type_name that is {shown(name)}")
    label = _label(spec, "IsInstance")
    kinds = "[kind.__name__ for kind in type(output).__mro__]"
    return Check((f"expect({flat(literal(name))} in {kinds}, {label}, metric={label})",))


def _max_duration(spec: EvaluatorSpec, notes: Notes) -> Check:
    del notes
    seconds = _argument(spec, "seconds")
    if not is_number(seconds):
        raise Untranslated(f"has seconds that are {shown(seconds)}, not a number")
    label = _label(spec, "MaxDuration")
    line = f"expect(seconds, at_most={float(seconds)!r}, label={label}, metric={label})"
    return Check((line,), timed=True)


def _llm_judge(spec: EvaluatorSpec, notes: Notes) -> Check:
    rubric = _argument(spec, "rubric")
    if not isinstance(rubric, str) or not rubric.strip():
        raise Untranslated("has no rubric")
    if spec.arguments.get("assertion") is False:
        raise Untranslated("gives a score alone: Rating with a rubric of levels does that here")
    if spec.arguments.get("score"):
        notes.changed(spec.where, "LLMJudge gives a score, too: Passes gives the verdict alone")
    if spec.arguments.get("model_settings"):
        notes.left_out(f"{spec.where}.LLMJudge.model_settings", "settings of the judge")
    shown_too = [
        text
        for key, text in (
            ("include_input", "Input: {case.input}"),
            ("include_expected_output", "Expected output: {case.expected}"),
        )
        if spec.arguments.get(key)
    ]
    context = ""
    if shown_too:
        joined = "\\n".join(shown_too)
        context = f', context=f"{joined}"'
    imports: dict[str, tuple[str, ...]] = {"evenhand.scorers": ("Passes",)}
    model = spec.arguments.get("model")
    judge = ""
    if isinstance(model, str) and model:
        judge = f", judge=provider({flat(literal(model))})"
        imports["evenhand.doors.promptfoo.adapter"] = ("provider",)
    else:
        notes.changed(spec.where, "LLMJudge names no model: say who judges, with EvalSet(judge=…)")
    label = _label(spec, "LLMJudge")
    line = f"expect(output, Passes({flat(literal(rubric))}{context}{judge}), metric={label})"
    notes.changed(spec.where, "LLMJudge becomes Passes, whose judge is asked in other words")
    return Check((line,), imports)


_WRITERS: Mapping[str, Callable[[EvaluatorSpec, Notes], Check]] = {
    "EqualsExpected": _equals_expected,
    "Equals": _equals,
    "Contains": _contains,
    "IsInstance": _is_instance,
    "MaxDuration": _max_duration,
    "LLMJudge": _llm_judge,
}
