"""Each evaluator of pydantic-evals as the Python that stands for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import field

from evenhand.core.json_shapes import is_number
from evenhand.core.record import Record
from evenhand.doors.promptfoo.porting.literal import flat, laid, literal
from evenhand.languages.documents.foreign import Notes, shown
from evenhand.wings.interchange.pydantic_evals.specs import EvaluatorSpec


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
    """An argument by its name, or the only one.

    Raises:
        Untranslated: It is not there.
    """
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
