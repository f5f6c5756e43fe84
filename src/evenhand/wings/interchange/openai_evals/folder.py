"""Writes a folder of eval sets from an export of OpenAI's Evals. Nothing that is there is overwritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.core.errors import UsageError
from evenhand.doors.eval_sets.rowcase import row_of
from evenhand.doors.importers.moved_in import MovedIn, lines, written
from evenhand.doors.importers.naming import slug, unlike
from evenhand.doors.promptfoo.porting.literal import laid, led, literal
from evenhand.languages.documents.foreign import Part
from evenhand.wings.interchange.openai_evals.criteria import Check, check_of
from evenhand.wings.interchange.openai_evals.definition import (
    Definition,
    definition_of,
    field_named,
)
from evenhand.wings.interchange.openai_evals.export import Export, read_export
from evenhand.wings.interchange.openai_evals.recorded import script_of
from evenhand.wings.interchange.openai_evals.regrading import tell_agreement
from evenhand.wings.interchange.openai_evals.source import Source, source_of

TEMPLATES = "openai_templates"
_OURS = ("evenhand",)


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


def eval_file(definition: Definition, source: Source, checks: Sequence[Check], name: str) -> str:
    """The text of the file.

    Args:
        name: What the files of this eval are called.
    """
    imports: dict[str, set[str]] = {"evenhand": {"Case", "Dataset", "EvalSet", "Expect"}}
    for check in checks:
        for module, names in check.imports.items():
            imports.setdefault(module, set()).update(names)
    body = "".join(check.lines for check in checks) or "    del expect, output\n"
    classes = "".join(f"{check.classes}\n\n" for check in checks if check.classes)
    start, question = _asking(source, definition.part), _asked(source)
    for word in ("filled", "values_of", "chat", "judging", "recorded"):
        if f"{word}(" in body + classes + start:
            imports.setdefault(TEMPLATES, set()).add(word)
    if source.model:
        imports["evenhand"].add("Model")
    if "values)" in body:
        body = f"    values = values_of(case, output)\n{body}"
        imports.setdefault(TEMPLATES, set()).add("values_of")
    model = f", model={_flat(source.model)}" if source.model else ""
    title = f"{definition.name}: an eval of OpenAI's ({definition.id}), as an eval set."
    return (
        f"{laid(literal(title))}\n\n{_imports(imports)}\n"
        f"evals = EvalSet({_flat(definition.name)}, data=Dataset.read({_flat(name + '.jsonl')}){model})\n"
        f"{question}\n\n{classes}@evals.eval\n{start}{body}    return output\n"
    )


def _asked(source: Source) -> str:
    """The prompt and the settings, as constants."""
    if not source.model:
        return ""
    settings = laid(led("SETTINGS = ", literal(dict(source.settings))))
    if source.reference:
        return f"\n{settings}\n"
    messages = [tuple(one) for one in source.messages]
    return f"\n{laid(led('PROMPT = ', literal(messages)), broken=True)}\n{settings}\n"


def _asking(source: Source, part: Part) -> str:
    if source.model:
        prompt = (
            f"recorded(case.vars[{_flat(source.reference)}], SETTINGS)"
            if source.reference
            else "chat(PROMPT, values_of(case), SETTINGS)"
        )
        return (
            "async def answers(case: Case, model: Model, expect: Expect) -> str:\n"
            f"    reply = await model.generate({prompt})\n"
            "    output = reply.text\n"
        )
    inputs = [
        text
        for one in part.parts("testing_criteria")
        if isinstance(text := one.value.get("input"), str)
    ]
    graded = field_named(inputs)
    output = (
        f"str(case.vars[{_flat(graded)}])"
        if graded
        else 'str(case.metadata.get("sample", {}).get("output_text") or "")'
    )
    return f"def grades(case: Case, expect: Expect) -> str:\n    output = {output}\n"


def _imports(imports: Mapping[str, set[str]]) -> str:
    """Import lines in the order of formatters: the library's, ours, then the folder's own."""

    def group(module: str) -> int:
        top = module.partition(".")[0]
        return 0 if top == "typing" else 1 if top in _OURS else 2

    lines: list[str] = []
    before = -1
    for module in sorted(imports, key=lambda one: (group(one), one)):
        if before not in (-1, group(module)):
            lines.append("")
        before = group(module)
        lines.append(f"from {module} import {', '.join(sorted(imports[module]))}")
    return "\n".join(lines) + "\n"


def _flat(text: str) -> str:
    return laid(literal(text))
