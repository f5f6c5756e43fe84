"""A promptfoo config as an eval set in Python: the way out of YAML.

What has a scorer of its own is written with it; other assertions stay as they are, inside `Asserts`. What an eval set
has no place for is left out, and said in a comment at the top.
"""

from __future__ import annotations

import pprint
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from evenhand.core.plan import Step
from evenhand.core.secrets import HIDDEN, redacted
from evenhand.promptfoo.assertions.assertion import split
from evenhand.promptfoo.assertions.kinds import kind_of
from evenhand.promptfoo.cases import Test
from evenhand.promptfoo.plan import PromptfooPlan
from evenhand.promptfoo.printing import printed
from evenhand.promptfoo.prompts import TextPrompt, is_chat
from evenhand.promptfoo.resolved import resolved
from evenhand.promptfoo.step import CellBody, Pair
from evenhand.promptfoo.template import has_tags, render
from evenhand.promptfoo.values import texts
from evenhand.promptfoo.variable_code import is_code

WIDTH = 100
_TAG = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_OF_EXPECT = frozenset({"type", "value", "weight", "metric"})
_SIMPLE = {
    "equals": "Equals({})",
    "contains": "Contains({})",
    "icontains": "Contains({}, ignore_case=True)",
    "contains-any": "ContainsAny({})",
    "icontains-any": "ContainsAny({}, ignore_case=True)",
    "contains-all": "ContainsAll({})",
    "icontains-all": "ContainsAll({}, ignore_case=True)",
    "starts-with": "StartsWith({})",
    "regex": "Matches({})",
    "is-json": "IsJson()",
    "contains-json": "ContainsJson()",
}


@dataclass(slots=True)
class _Written:
    """What has been written so far.

    Attributes:
        scorers: Names to import from evenhand.scorers.
        adapted: Names to import from evenhand.promptfoo.adapter.
        left: What is left out, and why.
    """

    scorers: set[str] = field(default_factory=set[str])
    adapted: set[str] = field(default_factory=set[str])
    left: dict[str, None] = field(default_factory=dict[str, None])
    cases: list[str] = field(default_factory=list[str])
    checks: list[str] = field(default_factory=list[str])
    names: set[str] = field(default_factory=set[str])
    """The variables that every case has, all of them text or whole numbers."""


def as_python(plan: PromptfooPlan) -> tuple[str, Sequence[str]]:
    """The config of this plan as a Python file, and what is left out of it, with the reason."""
    out = _Written()
    pairs = plan.pairs
    models = _models(plan, out)
    kept = {label for label, _ in models}
    shown = {pair.column.provider.label for pair in pairs}
    for label in sorted(shown - kept):
        out.left.setdefault(f"provider {label}", None)
    _cases(plan, out)
    prompts = _prompts(pairs, out)
    return _file(plan, prompts, [code for _, code in models], out), list(out.left)


def _cases(plan: PromptfooPlan, out: _Written) -> None:
    done: set[str] = set()
    first = True
    for step in plan.steps():
        body = step.body
        if not isinstance(body, CellBody) or step.case.id in done:
            continue
        done.add(step.case.id)
        why = _unlike(body.test, step)
        if why:
            out.left[f"test {step.case.description or step.case.id}: {why}"] = None
            continue
        test = body.test
        _, variables = resolved(step.case.vars, test.files, test.tagged, body.pair.base)
        plain = {name for name, v in variables.items() if type(v) in (str, int)}
        out.names = plain if first else out.names & plain
        first = False
        fields = [repr(step.case.id), f"vars={_said(dict(variables))}"]
        fields += [f"description={test.description!r}"] if test.description else []
        fields += [f"metadata={_said(dict(test.metadata))}"] if test.metadata else []
        out.cases.append(f"    Case({_indented(', '.join(fields), 9)}),\n")
        checks = "".join(
            f"        {_indented(line, 9)},\n" for line in _checks(test, variables, out)
        )
        out.checks.append(
            f"    {step.case.id!r}: [\n{checks}    ],\n"
            if checks
            else f"    {step.case.id!r}: [],\n"
        )


def _unlike(test: Test, step: Step) -> str:
    """What an eval set has no place for in a test; empty where it has a place for all."""
    reasons = {
        "it has a prefix or a suffix of its own": test.prefix or test.suffix,
        "it has a transform": test.transform or test.transform_vars,
        "it is answered by its providerOutput": test.provider_output is not None,
        "it is run in some columns only": test.prompts is not None or test.providers is not None,
        "its output is kept for later tests": test.stores,
        "it has a scoring function": test.scoring,
        "its columns are compared; see Preferred": test.expected.contests,
        "it depends on earlier tests": step.after,
        "its variables are computed": any(is_code(step.case.vars[name]) for name in test.files),
        "it is repeated as no other": test.repeats is not None,
    }
    return next((reason for reason, so in reasons.items() if so), "")


def _checks(test: Test, variables: Mapping[str, Any], out: _Written) -> Iterator[str]:
    """What is expected, as pairs of a scorer and what is said of it."""
    asserts = cast("Sequence[Mapping[str, Any]]", test.shown.get("assert") or ())
    options = cast("Mapping[str, Any]", test.shown.get("options") or {})
    judging = {k: options[k] for k in ("provider", "rubricPrompt") if k in options}
    whole = [
        {**(judging if kind_of(split(str(a.get("type")))[0]).asks else {}), **a} for a in asserts
    ]
    if test.threshold is not None and whole:
        out.adapted.add("Asserts")
        inside = ", ".join(_said(one) for one in whole)
        yield f"(Asserts({inside}, threshold={test.threshold!r}), {{}})"
        return
    for one in whole:
        weight = one.get("weight", 1)
        said: dict[str, object] = {"weight": float(weight)} if weight != 1 else {}
        if one.get("metric"):
            said["metric"] = render(str(one["metric"]), variables)
        yield f"({_scorer(one, variables, out)}, {said!r})"


def _scorer(one: Mapping[str, Any], variables: Mapping[str, Any], out: _Written) -> str:
    type_, value = str(one["type"]), one.get("value")
    form = _SIMPLE.get(type_) if one.keys() <= _OF_EXPECT else None
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    if any(isinstance(item, str) and item.startswith("file://") for item in items):
        form = None
    if "-json" in type_ and value is not None:
        form = None
    if form is None:
        out.adapted.add("Asserts")
        return f"Asserts({_said({k: v for k, v in one.items() if k not in ('weight', 'metric')})})"
    out.scorers.add(form.partition("(")[0])

    def filled(item: object) -> object:
        return render(item, variables) if isinstance(item, str) and has_tags(item) else item

    if "{}" not in form:
        return form
    value = [filled(item) for item in items] if isinstance(value, list) else filled(value)
    if type_.endswith(("-any", "-all")):
        return form.format(repr(tuple(texts(value))))
    return form.format(_said(value) if type_ == "equals" else repr(printed(value)))


def _prompts(pairs: Sequence[Pair], out: _Written) -> list[str]:
    found: dict[str, str] = {}
    for pair in pairs:
        prompt = pair.prompt
        if not isinstance(prompt, TextPrompt):
            out.left[f"prompt {prompt.label}: it is code; call it in the eval"] = None
            continue
        if prompt.config:
            out.left[f"settings of prompt {prompt.label}: name them with the provider"] = None
        if prompt.label in found:
            continue
        rest = _TAG.sub("", prompt.raw)
        plain = not has_tags(rest) and not is_chat(prompt.raw) and rest.lstrip()[:1] not in "[{-"
        plain = plain and set(_TAG.findall(prompt.raw)) <= out.names and bool(rest.strip())
        if not plain:
            out.adapted.add("Template")
        name = pair.variant.prompt
        kind = "Prompt" if plain else "Template"
        found[prompt.label] = f"{kind}({name!r}, {_text(prompt.raw)})"
    return list(found.values())


def _models(plan: PromptfooPlan, out: _Written) -> list[tuple[str, str]]:
    """The models, each with its label."""
    written = plan.config
    given = written.get("targets") or written.get("providers")
    items = cast("list[object]", given) if isinstance(given, list) else [given]
    known = {pair.column.provider.label for pair in plan.pairs}
    found: list[tuple[str, str]] = []
    for item in items:
        if isinstance(item, str):
            if item in known:
                found.append((item, repr(item)))
            elif item.startswith("file://"):
                out.left[f"providers of {item}: write them into the list"] = None
            continue
        fields = cast("Mapping[str, Any]", item) if isinstance(item, Mapping) else {}
        if "id" not in fields and len(fields) == 1:
            ((id_, inner),) = fields.items()
            fields = {"id": id_, **cast("Mapping[str, Any]", inner or {})}
        id_, label = str(fields.get("id")), str(fields.get("label") or fields.get("id"))
        if label not in known:
            continue
        more = sorted(fields.keys() - {"id", "label", "config"})
        if more:
            out.left[f"provider {label}: an eval set has no place for its {', '.join(more)}"] = None
            continue
        config = cast("dict[str, Any]", redacted(fields.get("config") or {}))
        if HIDDEN in repr(config):
            out.left[f"secrets of provider {label}: set them in the environment"] = None
            config = {key: value for key, value in config.items() if HIDDEN not in repr(value)}
        arguments = [repr(id_)]
        arguments += [f"label={label!r}"] if label != id_ else []
        arguments += [f"config={_said(config)}"] if config else []
        out.adapted.add("provider")
        found.append((label, f"provider({', '.join(arguments)})"))
    return found


def _file(plan: PromptfooPlan, prompts: Sequence[str], models: Sequence[str], out: _Written) -> str:
    title = plan.title
    lines = [f'"""{_docstring(title)}"""\n\n']
    if out.left:
        lines.append("# Not carried over from the config:\n")
        lines += [f"# - {' '.join(text.split())}\n" for text in out.left]
        lines.append("\n")
    names = "Case, EvalSet, Expect, Model" + (", Prompt" if _uses(prompts, "Prompt") else "")
    lines.append(f"from evenhand import {names}\n")
    for home, wanted in (("promptfoo.adapter", out.adapted), ("scorers", out.scorers)):
        if wanted:
            lines.append(f"from evenhand.{home} import {', '.join(sorted(wanted))}\n")
    lines.append("\nCASES = [\n" + "".join(out.cases) + "]\n")
    lines.append("\nEXPECTED = {\n" + "".join(out.checks) + "}\n")
    over = "".join(f"            {_indented(prompt, 16)},\n" for prompt in prompts)
    asked = "".join(f"            {_indented(model, 16)},\n" for model in models)
    repeats = f"    repeats={plan.repeats},\n" if plan.repeats > 1 else ""
    lines.append(
        f"\nevals = EvalSet(\n    {title!r},\n    data=CASES,\n    over={{\n"
        f'        "model": [\n{asked}        ],\n        "prompt": [\n{over}        ],\n    }},\n{repeats})\n'
    )
    kinds = sorted({prompt.partition("(")[0] for prompt in prompts}) or ["object"]
    lines.append(
        f"\n\n@evals.eval\nasync def answers(case: Case, prompt: {' | '.join(kinds)}, model: Model, expect: Expect)"
        " -> object:\n"
        '    """Each answer meets what is expected of it."""\n'
        "    reply = await model.generate(prompt.render(**case.vars))\n"
        "    output = reply.text if reply.output is None else reply.output\n"
        "    for scorer, said in EXPECTED[case.id]:\n"
        "        expect(output, scorer, **said)\n"
        "    return output\n"
    )
    return "".join(lines)


def _uses(codes: Sequence[str], name: str) -> bool:
    return any(code.startswith(f"{name}(") for code in codes)


def _docstring(text: str) -> str:
    line = " ".join(text.split()).replace("\\", "/").replace('"', "'")
    return line if line.endswith((".", "?", "!")) else f"{line}."


def _indented(code: str, width: int) -> str:
    """Code whose lines after the first stand further to the right. No line ends inside a text: it is escaped there."""
    return code.replace("\n", "\n" + " " * width)


def _text(text: str) -> str:
    return repr(text) if "\n" not in text else pprint.pformat(text, width=WIDTH - 20)


def _said(value: object) -> str:
    """A value as Python writes it, on several lines where it is long."""
    return pprint.pformat(value, width=WIDTH - 20, sort_dicts=False)
