"""The eval set in Python that stands for an eval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand.doors.promptfoo.porting.literal import laid, led, literal
from evenhand.languages.documents.foreign import Part
from evenhand.wings.interchange.openai_evals.criteria import Check
from evenhand.wings.interchange.openai_evals.definition import Definition, field_named
from evenhand.wings.interchange.openai_evals.source import Source

TEMPLATES = "openai_templates"
_OURS = ("evenhand",)


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
