"""Each grader of an eval as Python: the expectation, and what it needs beside it."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable, Mapping

from msgspec import field

from evenhand.core.record import Record
from evenhand.doors.importers.naming import class_name, slug, unlike
from evenhand.doors.promptfoo.porting.literal import Node, flat, laid, led, literal
from evenhand.languages.documents.foreign import shown
from evenhand.scorers.metrics.similarity import SIMILARITIES
from evenhand.wings.interchange.openai_evals.definition import Criterion, is_output, problem_of
from evenhand.wings.interchange.openai_evals.source import messages_in

EMBEDDER = "openai:embedding:text-embedding-3-large"
"""The model that OpenAI's documentation names for cosine."""


class Check(Record, frozen=True):
    """A grader, written out.

    Attributes:
        lines: What stands in the eval.
        classes: What stands above it.
        imports: The names that it takes, by module.
        files: Files of its own, by path.
    """

    lines: str
    classes: str = ""
    imports: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    asks: bool = False


class Untranslated(Exception):
    """A grader cannot be written out; the reason."""


def check_of(one: Criterion, taken: set[str], prefix: str) -> Check | None:
    """The grader as Python; None, with a note, for one that has no equal.

    Args:
        taken: Names that the file has already; those of this grader are added.
        prefix: What the names of files begin with.
    """
    write = _WRITERS.get(one.type)
    notes = one.part.notes
    if write is None:
        notes.left_out(
            one.part.where,
            f"grader {shown(one.name)}: its type {shown(one.type)} is not known here",
        )
        return None
    try:
        name = unlike(taken, slug(one.name, "grader")).replace(" ", "_")
        check = write(one, name, prefix)
    except Untranslated as why:
        notes.left_out(one.part.where, f"grader {shown(one.name)} ({one.type}): {why}")
        return None
    notes.translated(one.part.where, f"grader {shown(one.name)} ({one.type})")
    return check


def _string_check(one: Criterion, name: str, prefix: str) -> Check:
    del name, prefix
    text, reference = _text(one, "input"), _text(one, "reference")
    match one.part.text("operation"):
        case "eq":
            scorer, imports = f"Equals({reference})", {"evenhand.scorers": ("Equals",)}
        case "ne" | "like" | "ilike" as operation:
            scorer = f"StringCheck({flat(literal(operation))}, {reference})"
            imports = {"openai_templates": ("StringCheck",)}
            if operation != "ne" and not one.part.text("reference"):
                one.part.notes.changed(
                    one.part.where,
                    f"grader {shown(one.name)} looks for the empty text, which every answer has: it passes"
                    " them all, as OpenAI's does; Contains would refuse to",
                )
        case operation:
            raise Untranslated(f"its operation {shown(operation)} is not known here")
    line = _call("expect", text, scorer, label=one.name, metric=one.name)
    return Check(line, imports=imports)


def _text_similarity(one: Criterion, name: str, prefix: str) -> Check:
    del name, prefix
    metric = one.part.text("evaluation_metric")
    text, reference = _text(one, "input"), _text(one, "reference")
    bound = _bound(one)
    if metric == "cosine":
        scorer = f"SemanticSimilarity({reference}, embedder={flat(literal(EMBEDDER))})"
        line = _call("expect", text, scorer, label=one.name, metric=one.name, **bound)
        return Check(line, imports={"evenhand.scorers": ("SemanticSimilarity",)}, asks=True)
    if metric not in SIMILARITIES:
        raise Untranslated(f"its metric {shown(metric)} is not known here")
    value = f"text_similarity({flat(literal(metric))}, {text}, {reference})"
    line = _call("expect", value, label=one.name, metric=one.name, **bound)
    return Check(line, imports={"evenhand.scorers.metrics.similarity": ("text_similarity",)})


def _label_model(one: Criterion, name: str, prefix: str) -> Check:
    del prefix
    labels, passing = one.part.texts("labels"), one.part.texts("passing_labels")
    if not labels or not set(passing) <= set(labels):
        raise Untranslated("its passing labels are not among its labels")
    listed = ", ".join(flat(literal(label)) for label in labels)
    kind = class_name(name)
    answer = f"    label: Literal[{listed}]\n"
    overall = (
        f"    def overall(self, judgement: {kind}Label) -> bool:\n"
        f"        return judgement.label in {laid(literal(passing), 8)}\n"
    )
    line = _call("expect", "output", f"{kind}(case=case)", label=one.name, metric=one.name)
    return _judge(
        one, kind, ending="Label", answer=answer, overall=overall, line=line, typing="Literal"
    )


def _score_model(one: Criterion, name: str, prefix: str) -> Check:
    del prefix
    bounds = one.part.value.get("range")
    low, high = 0.0, 1.0
    if isinstance(bounds, list):
        try:
            low, high = (float(bound) for bound in bounds)
        except (TypeError, ValueError, OverflowError):
            raise Untranslated(f"its range is {shown(bounds)}, not two numbers") from None
    kind = class_name(name)
    answer = f"    score: Annotated[float, {low!r}, {high!r}]\n"
    overall = (
        f"    def overall(self, judgement: {kind}Score) -> float:\n        return judgement.score\n"
    )
    more = _bound(one, low)
    line = _call("expect", "output", f"{kind}(case=case)", label=one.name, metric=one.name, **more)
    return _judge(
        one, kind, ending="Score", answer=answer, overall=overall, line=line, typing="Annotated"
    )


def _judge(
    one: Criterion, kind: str, ending: str, answer: str, overall: str, line: str, typing: str
) -> Check:
    messages, problem = messages_in(one.part, "input")
    if problem:
        raise Untranslated(problem)
    model = one.part.text("model")
    if not model:
        raise Untranslated("it names no model")
    params = one.part.part("sampling_params")
    config: dict[str, object] = {"omitDefaults": True, **(params.without() if params else {})}
    if "max_completions_tokens" in config:  # so it is spelled in graders
        config["max_completion_tokens"] = config.pop("max_completions_tokens")
    judge = f"provider({flat(literal(f'openai:chat:{model}'))}, config={flat(literal(config))})"
    constant = f"{kind.upper()}_JUDGE"
    prompt = laid(led("messages = ", literal([tuple(message) for message in messages])), 8)
    classes = (
        f"{constant} = {judge}\n\n\n"
        f"class {kind}{ending}(Judgement):\n    reasoning: str\n{answer}\n\n"
        f"class {kind}(CustomJudge[{kind}{ending}]):\n"
        "    case: Case\n\n"
        "    def messages(self, output: str) -> list[Message]:\n"
        f"        {prompt}\n"
        "        return judging(messages, self.case, self)\n\n"
        f"{overall}"
    )
    call = line.replace(f"{kind}(case=case)", f"{kind}(case=case, judge={constant})")
    imports = {
        "evenhand": ("Message",),
        "evenhand.doors.promptfoo.adapter": ("provider",),
        "evenhand.scorers": ("CustomJudge", "Judgement"),
        "typing": (typing,),
    }
    return Check(call, classes, imports, asks=True)


def _python(one: Criterion, name: str, prefix: str) -> Check:
    source = one.part.text("source")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Untranslated(f"its source is not Python: {error}") from None
    functions = {
        n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    if "grade" not in functions:
        raise Untranslated("its source has no function grade(sample, item)")
    if missing := sorted(_modules(tree)):
        text = f"grader {shown(one.name)} imports {', '.join(missing)}, which is not installed here"
        one.part.notes.changed(f"{one.part.where}.source", text)
    one.part.notes.changed(
        f"{one.part.where}.source",
        "ran in OpenAI's sandbox, and runs on this machine now, as you: read it first",
    )
    more = _bound(one)
    value = f"lambda output: float({name}(sample_of(output), dict(case.vars)))"
    line = _call("expect", "output", value, label=one.name, metric=one.name, **more)
    imports = {
        f"graders.{prefix}_{name}": (f"grade as {name}",),
        "openai_templates": ("sample_of",),
    }
    return Check(
        line, imports=imports, files={f"graders/{prefix}_{name}.py": source.rstrip("\n") + "\n"}
    )


def _modules(tree: ast.Module) -> set[str]:
    """The packages that code imports, and that are not there."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return {name for name in names if importlib.util.find_spec(name) is None}


def _bound(one: Criterion, lowest: float = 0.0) -> dict[str, object]:
    """What decides: the threshold, or nothing."""
    if (threshold := one.threshold) is not None:
        return {"at_least": threshold}
    one.part.notes.changed(
        one.part.where,
        f"grader {shown(one.name)} has no pass_threshold: it is measured, and decides nothing",
    )
    return {"at_least": lowest, "weight": 0}


def _text(one: Criterion, key: str) -> str:
    """The code of a text that is a template: the output itself, or the template filled in."""
    template = one.part.value.get(key)
    if not isinstance(template, str):
        raise Untranslated(f"its {key} is {shown(template)}, not text")
    if problem := problem_of(template):
        raise Untranslated(problem)
    return "output" if is_output(template) else f"filled({flat(literal(template))}, values)"


def _call(name: str, /, *arguments: str, **more: object) -> str:
    named: list[Node] = [f"{key}={flat(literal(value))}" for key, value in more.items()]
    parts = [*arguments, *(str(one) for one in named)]
    line = f"    {name}({', '.join(parts)})\n"
    if len(line) <= 100:
        return line
    inner = "".join(f"        {part},\n" for part in parts)
    return f"    {name}(\n{inner}    )\n"


_WRITERS: Mapping[str, Callable[[Criterion, str, str], Check]] = {
    "string_check": _string_check,
    "text_similarity": _text_similarity,
    "label_model": _label_model,
    "score_model": _score_model,
    "python": _python,
}
