"""Each scorer of Inspect's as the Python that stands for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evenhand.core.json_shapes import is_object, is_texts
from evenhand.doors.promptfoo.porting.literal import flat, literal
from evenhand.languages.documents.foreign import Part, shown
from evenhand.wings.interchange.recorded_eval import Check, model_id

GRADERS = "inspect_graders"
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "includes": ("ignore_case",),
    "match": ("location", "ignore_case", "numeric"),
    "pattern": ("pattern", "ignore_case", "match_all"),
    "answer": ("pattern",),
    "exact": (),
    "f1": ("stop_words",),
}
_NAMED = {("pattern", "pattern"): "", ("answer", "pattern"): "", ("f1", "stop_words"): ""}
"""Options that are not named here: they stand third."""
_JUDGED = {
    "model_graded_qa": "meets this criterion for a correct answer: {case.expected}",
    "model_graded_fact": "contains this fact: {case.expected}",
}
_INSTEAD = {
    "choice": "reads what the multiple_choice solver marked, which no log holds: answer('letter') reads the output",
    "multi_scorer": "is a vote of several scorers: give the task these scorers themselves, and run it once more",
}


def checks_of(header: Part) -> list[Check]:
    """The scorers of a log as expectations. What has no equal is noted with its place."""
    about = header.part("eval") or Part({}, f"{header.where}.eval", header.notes)
    scorers = about.parts("scorers") or list(_named_in_results(header))
    if not scorers:
        header.notes.left_out(f"{about.where}.scorers", "no scorer is named in the log")
    checks: list[Check] = []
    for one in scorers:
        check = _check(one)
        if check is not None:
            checks.append(check)
    return checks


def _named_in_results(header: Part) -> Iterator[Part]:
    """The scorers that older logs name beside their results, with the options that they had."""
    results = header.part("results")
    names: set[str] = set()
    for one in results.parts("scores") if results else ():
        name = one.text("scorer") or one.text("name")
        if name and name not in names:
            names.add(name)
            yield Part({"name": name, "options": one.value.get("params")}, one.where, one.notes)


def _check(scorer: Part) -> Check | None:
    written = scorer.text("name")
    name = written.rpartition("/")[2]
    options = scorer.part("options") or Part({}, f"{scorer.where}.options", scorer.notes)
    check = None
    if name in _OPTIONS:
        check = _computed(name, options)
    elif name in _JUDGED:
        check = _judged(name, options)
    else:
        text = _INSTEAD.get(
            name, "has no equal here: write it as a function, and expect what it returns"
        )
        scorer.notes.left_out(scorer.where, f"scorer {shown(written)} {text}")
    if check is not None:
        scorer.notes.translated(scorer.where, f"scorer {shown(written)}")
    return check


def _computed(name: str, options: Part) -> Check | None:
    arguments = ["output", "case.expected"]
    for key, value in options.without().items():
        if key not in _OPTIONS[name]:
            text = f"option {shown(key)} of scorer {shown(name)} is not known here: it is scored without"
            options.notes.left_out(f"{options.where}.{key}", text)
        elif not isinstance(value, (str, bool)) and not is_texts(value):
            options.notes.left_out(f"{options.where}.{key}", f"is {shown(value)}, which is code")
            return None
        else:
            arguments.append(f"{_NAMED.get((name, key), f'{key}=')}{flat(literal(value))}")
    if name in ("pattern", "answer") and "pattern" not in options.value:
        options.notes.left_out(options.where, f"scorer {shown(name)} has no pattern")
        return None
    # What stands third is not named, and comes before what is.
    arguments[2:] = sorted(arguments[2:], key=lambda one: "=" in one.partition('"')[0])
    call = f"{name}({', '.join(arguments)})"
    imports = {GRADERS: (name,)}
    if name != "f1":
        return Check((f'expect({call}, "{name}", metric="{name}")',), imports)
    text = "f1 is a number, and Inspect has no bounds: here it passes from 0.5 on; change at_least"
    options.notes.changed(options.where, text)
    return Check((f'expect({call}, at_least=0.5, label="f1", metric="f1")',), imports)


def _judged(name: str, options: Part) -> Check:
    notes, where = options.notes, options.where
    for key, value in options.without("model").items():
        if value is not False:
            text = f"option {shown(key)} of {name}: a judge is asked in our words"
            notes.left_out(f"{where}.{key}", text)
    judge, imports = "", {"evenhand.scorers": ("Passes",)}
    model = _judge(options)
    if model:
        judge = f", judge=provider({flat(literal(model))})"
        imports["evenhand.doors.promptfoo.adapter"] = ("provider",)
    else:
        notes.changed(
            where, f"{name}: no judge that is known here: name one, with EvalSet(judge=…)"
        )
    notes.changed(where, f"{name} becomes Passes, whose judge is asked in other words")
    line = f'expect(output, Passes(f"{_JUDGED[name]}", context=f"Question: {{case.input}}"{judge}), metric="{name}")'
    return Check((line,), imports)


def _judge(options: Part) -> str:
    model = options.value.get("model")
    if is_object(model):
        model = model.get("model")
    return model_id(model) if isinstance(model, str) else ""
