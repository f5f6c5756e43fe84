"""A file of Python with eval sets in it, put together from the tests of a config that are carried over."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count

from evenhand.core.json_shapes import is_mapping
from evenhand.core.secrets import HIDDEN
from evenhand.doors.promptfoo import adapter
from evenhand.doors.promptfoo.plan import Folder
from evenhand.doors.promptfoo.porting.checks import SCORERS
from evenhand.doors.promptfoo.porting.literal import Bracketed, Node, call, flat, laid, led, literal
from evenhand.doors.promptfoo.porting.one_eval import KeptTest, PrintedEval
from evenhand.doors.promptfoo.porting.variants import model_code, prompt_code
from evenhand.doors.promptfoo.prompts import TextPrompt
from evenhand.doors.promptfoo.variants import Combination

_ADAPTED = frozenset(adapter.__all__)
_HOME = frozenset({"Case", "EvalSet", "Expect", "Model", "Prompt"})
_UNEVEN = "it compares variants, and not every model gets every prompt; see EvalSet(compare=…)"
_CALLED = re.compile(r"(\w+)\($")


class PrintedFile:
    """A file of Python.

    Attributes:
        left: What of the config is not in it, and why.
        missing: What it cannot run without and does not have; empty for nothing.
    """

    def __init__(self, folder: Folder, tests: Sequence[KeptTest], left: Mapping[str, None]) -> None:
        self._folder = folder
        self._left = dict(left)
        self._used = {"Case", "EvalSet", "Expect", "Model"}
        self._names: dict[int, str] = {}
        self._prompts: dict[str, Node] = {}
        self._models: dict[str, Node] = {}
        lent = self._lent()
        self._find_columns(tests, lent=bool(lent))
        self._kept = [one for one in tests if self._has_columns(one)]
        self.missing = "" if self._kept else "none of the tests could be carried over"
        printed = PrintedEval(self._kept)
        cases, sets = self._cases(), self._sets(printed.compare)
        tables = "".join(f"{self._laid(node, broken=table)}\n\n" for node, table in printed.tables)
        if printed.stores:
            self._used.add("stored")
        kinds = [name for name in ("Prompt", "PromptFile", "Template") if name in self._used]
        text = printed.text(kinds or ["object"])
        self.text = f"{self._top()}{lent}{cases}{tables}{sets}{text}"
        self.left: Sequence[str] = tuple(self._left)

    def _laid(self, node: Node, *, broken: bool = False) -> str:
        """The code at the left margin, what it calls noted."""
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if not isinstance(one, str):
                called = _CALLED.search(one.start)
                self._used.update({called[1]} if called else ())
                waiting += one.items
        return laid(node, broken=broken)

    def _top(self) -> str:
        lines = [f'"""{_docstring(self._folder.title)}"""\n\n']
        if self._left:
            lines.append("# Not carried over from the config:\n")
            lines += [f"# - {' '.join(text.split())}\n" for text in self._left]
            lines.append("\n")
        if self.missing:
            lines.append(f"# This cannot be run: {self.missing}.\n\n")
        homes = (("evenhand", _HOME), ("evenhand.doors.promptfoo.adapter", _ADAPTED))
        for home, there in (*homes, ("evenhand.scorers", SCORERS)):
            names = sorted(self._used & there, key=lambda name: (name.islower(), name))
            if names:
                # A line has 100 characters at most, and `one` ends with its line break.
                one = f"from {home} import {', '.join(names)}\n"
                many = "".join(f"    {name},\n" for name in names)
                lines.append(one if len(one) <= 101 else f"from {home} import (\n{many})\n")
        return "".join([*lines, "\n"])

    def _lent(self) -> str:
        """What the config lends to its templates and models."""
        config = self._folder.record
        named: dict[str, object] = {}
        env, filters = config.get("env"), config.get("nunjucksFilters")
        if is_mapping(env) and env:
            named["env"] = {k: v for k, v in env.items() if HIDDEN not in repr(v)}
            if HIDDEN in repr(env):
                self._left["secrets of env: set them in the environment"] = None
        if is_mapping(filters) and filters:
            named["filters"] = dict(filters)
        return f"{self._laid(call('lend', **named))}\n\n" if named else ""

    def _find_columns(self, tests: Sequence[KeptTest], *, lent: bool) -> None:
        """The prompts and models of these tests, as far as they can be written."""
        pairs = {index: pair for one in tests for index, pair in one.variants.items()}
        plain = [{k for k, v in one.variables.items() if type(v) in (str, int)} for one in tests]
        names = set[str].intersection(*plain) if plain else set[str]()
        self._text = all(isinstance(pair.prompt, TextPrompt) for pair in pairs.values())
        plainly = self._text and not any(one.around or one.changes for one in tests)
        strict = self._folder.config.strict_prompts
        for _, pair in sorted(pairs.items()):
            name, label = self._name(pair), pair.variant.model
            if name not in self._prompts:
                code = prompt_code(pair, name, names, plainly=plainly, strict=strict)
                if code is None:
                    self._left[f"prompt {name}: it is a function of the config itself"] = None
                else:
                    self._prompts[name] = code
            if label not in self._models:
                self._models[label], untold = model_code(label, self._folder, always=lent)
                if untold:
                    self._left[untold] = None

    def _has_columns(self, one: KeptTest) -> bool:
        """Leaves out the variants that cannot be written; whether any is left."""
        variants = one.variants.items()
        one.variants = {i: pair for i, pair in variants if self._name(pair) in self._prompts}
        names = {self._name(pair) for pair in one.variants.values()}
        models = {pair.variant.model for pair in one.variants.values()}
        if one.test.expected.contests and len(one.variants) < len(names) * len(models):
            named = one.case.description or one.case.id
            self._left[f"test {named}: {_UNEVEN}"] = None
            return False
        return bool(one.variants)

    def _name(self, pair: Combination) -> str:
        """What a prompt is called; of several with one name, each has a number from the second one on."""
        chosen = self._names.get(id(pair.prompt))
        if chosen is None:
            name = pair.variant.prompt
            taken = set(self._names.values())
            numbered = (f"{name} #{i}" for i in count(2))
            chosen = name if name not in taken else next(n for n in numbered if n not in taken)
            self._names[id(pair.prompt)] = chosen
        return chosen

    def _groups(self) -> list[tuple[str, Sequence[KeptTest]]]:
        """The tests that are run alike, in the same variants and equally often, each with the name of their list."""
        groups: dict[tuple[object, ...], list[KeptTest]] = {}
        for one in self._kept:
            groups.setdefault((*sorted(one.variants), "×", one.repeats), []).append(one)
        several = len(groups) > 1
        return [(f"CASES_{i}" if several else "CASES", k) for i, k in enumerate(groups.values(), 1)]

    def _cases(self) -> str:
        lists = ""
        for name, tests in self._groups() or [("CASES", ())]:
            items = [_case(one) for one in tests]
            lists += self._laid(Bracketed(f"{name} = [", items, "]"), broken=True) + "\n\n"
        return lists

    def _sets(self, compare: str) -> str:
        """The eval sets: for each list of cases one, or several where its models get different prompts."""
        sets: list[tuple[str, int, Sequence[str], Sequence[str]]] = []
        for name, tests in self._groups():
            prompts: dict[str, list[str]] = {}
            for _, pair in sorted(tests[0].variants.items()):
                prompts.setdefault(pair.variant.model, []).append(self._name(pair))
            alike: dict[tuple[str, ...], list[str]] = {}
            for model, names in prompts.items():
                alike.setdefault(tuple(names), []).append(model)
            sets += [(name, tests[0].repeats, models, names) for names, models in alike.items()]
        title = " ".join(self._folder.title.split())
        sets = sets or [("CASES", 1, [*self._models], [*self._prompts])]
        several = len(sets) > 1
        text = self._shared_columns() if several else ""
        for i, (name, repeats, models, labels) in enumerate(sets, 1):
            axes = (("model", self._models, models), ("prompt", self._prompts, labels))
            over = Bracketed("over={", [_axis(*axis, several=several) for axis in axes], "}")
            arguments = [literal(f"{title} ({i})" if several else title), f"data={name}", over]
            arguments += [f"repeats={repeats}"] if repeats > 1 else []
            arguments += [compare] if compare else []
            evals = Bracketed(
                f"evals_{i} = EvalSet(" if several else "evals = EvalSet(", arguments, ")"
            )
            text += f"{self._laid(evals, broken=True)}\n\n"
        names = [f"evals_{i}" for i in range(1, len(sets) + 1)] if several else ["evals"]
        return "\n".join([text, *(f"@{name}.eval" for name in names), ""])

    def _shared_columns(self) -> str:
        text = ""
        for table, codes in (("MODELS", self._models), ("PROMPTS", self._prompts)):
            items = [led(f"{flat(literal(name))}: ", code) for name, code in codes.items()]
            text += f"{self._laid(Bracketed(f'{table} = {{', items, '}'), broken=True)}\n\n"
        return text


def _case(one: KeptTest) -> Node:
    named: dict[str, object] = {"vars": dict(one.variables)} if one.variables else {}
    if one.test.description:
        named["description"] = one.test.description
    if one.test.metadata:
        named["metadata"] = dict(one.test.metadata)
    return call("Case", literal(one.case.id), **named)


def _axis(axis: str, codes: Mapping[str, Node], names: Sequence[str], *, several: bool) -> Node:
    """The values of an axis: written out, or looked up where several sets have some of them."""
    if not several:
        return Bracketed(f'"{axis}": [', [codes[name] for name in names], "]")
    table = f"{axis.upper()}S"
    if list(names) == list(codes):
        return f'"{axis}": [*{table}.values()]'
    return Bracketed(f'"{axis}": [', [f"{table}[{flat(literal(name))}]" for name in names], "]")


def _docstring(text: str) -> str:
    # Backslashes and quotes would change the docstring, or end it.
    line = " ".join(text.split()).replace("\\", "/").replace('"', "'")
    return line if line.endswith((".", "?", "!")) else f"{line}."
