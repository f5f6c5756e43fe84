"""The eval.yml of a prompt: its cases, what they expect, and the queries that should lead to it or not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from msgspec import field

from evenhand.core.encoding import digest
from evenhand.core.errors import Problem, UsageError
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.doors.assertions.assertion import Make
from evenhand.doors.prompt_directories.assertions import CaseJudges, OperatorReader
from evenhand.doors.prompt_directories.library import EVAL, INPUTS, leads_out
from evenhand.doors.prompt_directories.prompt import (
    LEADS_OUT,
    PromptFolder,
    read_inputs,
    read_prompt,
)
from evenhand.languages.documents.findings import Findings, Place
from evenhand.languages.documents.tree import Document, read_document
from evenhand.providers.roster import Prices, Roster, default_judge, model_id

PASS_THRESHOLD = 4.0
LOWEST, HIGHEST = 1.0, 5.0

KEYS = frozenset({"defaults", "triggering", "cases"})
DEFAULTS_KEYS = frozenset(
    {"model", "timeout_s", "judge", "repeats", "hooks", "tokens", "pass_rate", "prices", "cluster"}
)
PRICE_KEYS = frozenset({"cost", "inputCost", "outputCost"})
CASE_KEYS = frozenset(
    {
        "name",
        "inputs",
        "inputs_from",
        "assert",
        "rubric",
        "judge",
        "model",
        "timeout_s",
        "hooks",
        "tags",
    }
)
JUDGE_KEYS = frozenset({"model", "pass_threshold", "samples"})
TRIGGERING_KEYS = frozenset({"judge", "should_match", "should_not_match", "among"})


class Judging(Record, frozen=True):
    """Who judges, and what is enough.

    Attributes:
        model: As written; empty for whoever judges by default.
        at_least: The lowest score that passes, from 1 to 5.
        samples: How often it is asked; the mean of its scores counts.
    """

    model: str = ""
    at_least: float = PASS_THRESHOLD
    samples: int = 1


class EvalCase(Record, frozen=True):
    """One case.

    Attributes:
        inputs: The variables, those of `inputs_from` with `inputs` over them.
        makes: What its assertions expect.
        rubric: What a judge rates the output by; empty for nobody.
        hooks: Whether guard.sh and verify.sh take part.
        problem: Why it cannot come to a verdict, as far as its files say; None where it may.
        checks: A digest of what its assertions expect; empty where that can't be known.
    """

    name: str
    inputs: Mapping[str, Any]
    makes: Sequence[Make]
    rubric: str
    judging: Judging
    model: str
    timeout_s: float | None
    hooks: bool
    tags: tuple[str, ...]
    place: Place
    problem: Problem | None = None
    checks: str = ""


class Triggering(Record, frozen=True):
    """What people may say, and whether this prompt is meant.

    Attributes:
        queries: Each with whether it should match.
        judge: Who decides; empty for whoever judges by default.
        others: Names and descriptions of other prompts that could be meant instead.
    """

    queries: Sequence[tuple[str, bool]]
    judge: str
    others: Sequence[str]
    place: Place


class EvalFile(Record, frozen=True):
    """What an eval.yml says.

    Attributes:
        model: Of `defaults`; empty where it says none.
        judge: The same.
        cluster: The input that says which cases belong together; empty for none.
        prices: What models cost, by id, in dollars per token.
        files: The other files that it was read from.
    """

    path: Path
    cases: Sequence[EvalCase]
    triggering: Triggering | None
    model: str = ""
    judge: str = ""
    repeats: int = 1
    pass_rate: float = 1.0
    cluster: str = ""
    prices: Prices = field(default_factory=dict[str, Mapping[str, float]])
    files: frozenset[Path] = field(default_factory=frozenset[Path])


def read_eval(
    prompt: PromptFolder,
    findings: Findings,
    roster: Roster | None = None,
    *,
    with_inputs: bool = True,
) -> EvalFile | None:
    """The eval.yml of a prompt; None where there is none, or nothing in it can be read.

    Args:
        roster: Finds models, and learns prices; without one, assertions with a `type` are not read.
        with_inputs: Whether the files of inputs that it names are read; else they are only found.
    """
    path = prompt.path / EVAL
    if path.is_symlink() and leads_out(path, prompt.path):
        findings.problem(Place(path), LEADS_OUT, "Copy it here.")
        return None
    document = read_document(path, findings) if path.is_file() else None
    if document is None:
        return None
    if not isinstance(document.value, Mapping):
        findings.problem(document.at(), "is not a list of names with values", "Write cases: […].")
        return None
    return _EvalFileReader(prompt, document, findings, roster, with_inputs=with_inputs).read()


class _EvalFileReader:
    """Reads one eval.yml."""

    def __init__(
        self,
        prompt: PromptFolder,
        document: Document,
        findings: Findings,
        roster: Roster | None,
        *,
        with_inputs: bool,
    ) -> None:
        self._prompt = prompt
        self._with_inputs = with_inputs
        self._document = document
        self._inputs_read: dict[str, dict[str, object]] = {}
        self._findings = findings
        self._top = cast("Mapping[str, Any]", document.value)
        self._defaults = self._mapping(self._top, "defaults")
        tokens = self._defaults.get("tokens", "words")
        if tokens not in ("words", "tokens"):
            self._problem(("defaults", "tokens"), f"tokens is {tokens!r}", "Write words or tokens.")
        self._model = self._text(self._defaults, "model", "defaults") or prompt.meta.model
        self._judge = self._judging(self._defaults, "defaults").model
        self._prices = self._prices_said()
        self._assertions = OperatorReader(prompt.library, prompt.path, findings, tokens == "tokens")
        self._roster = roster
        if roster is not None:
            self._share_prices(roster)

    def _share_prices(self, roster: Roster) -> None:
        """Prompts that are run together pay the same for a model."""
        for model, price in self._prices.items():
            if roster.prices.setdefault(model, price) != price:
                what = f"the price of {model} is another one in a prompt before"
                at = ("defaults", "prices", model)
                self._problem(at, what, "Several prompts run together share it.")

    def read(self) -> EvalFile:
        """The whole eval file: what eval.yml says, with a problem noted for each thing that is wrong."""
        self._known(self._top, KEYS)
        self._known(self._defaults, DEFAULTS_KEYS, "defaults")
        triggering = self._triggering()
        if triggering is None and "cases" not in self._top and "triggering" not in self._top:
            self._problem((), "has neither cases nor triggering", "Write cases: with a name each.")
        defaults = self._defaults
        share = self._number(defaults, "pass_rate", (0, 1), ("defaults",))
        cases, cluster = self._cases(), self._text(defaults, "cluster", "defaults")
        inputs = dict.fromkeys(name for case in cases for name in case.inputs)
        if cluster and cluster not in inputs:
            listed = f"There are: {', '.join(inputs)}." if inputs else "There are none."
            hint = did_you_mean(cluster, list(inputs), listed)
            self._problem(("defaults", "cluster"), f"no case has an input {cluster!r}", hint)
        return EvalFile(
            path=self._document.file,
            cases=cases,
            triggering=triggering,
            model=self._text(defaults, "model", "defaults"),
            judge=self._judge,
            repeats=int(
                self._number(defaults, "repeats", (1, 10_000), ("defaults",), whole=True) or 1
            ),
            pass_rate=1.0 if share is None else share,
            cluster=cluster,
            prices=self._prices,
            files=frozenset(self._assertions.files),
        )

    def _cases(self) -> list[EvalCase]:
        listed = self._top.get("cases")
        if listed is None:
            return []
        if not is_array(listed):
            self._problem(
                ("cases",), f"cases are {listed!r}, not a list", "Write - name: … for each."
            )
            return []
        cases: list[EvalCase] = []
        lines: dict[str, int] = {}
        for i, item in enumerate(listed):
            if not is_mapping(item):
                what = f"a case is {item!r}, not names with values"
                self._problem(("cases", i), what, "Write - name: …")
                continue
            with self._findings.apart() as problems:
                case = self._case(item, i)
            if problems:
                case = replace(case, problem=problems[0])
            if not case.name:
                self._problem(("cases", i), "a case has no name", "Write - name: …")
            line = case.place.resolved().line
            if case.name in lines:
                what = f"the name '{case.name}' is taken already, in line {lines[case.name]}"
                self._problem(("cases", i, "name"), what, "Give each case a name of its own.")
            lines.setdefault(case.name, line)
            cases.append(case)
        return cases

    def _case(self, case: Mapping[str, Any], i: int) -> EvalCase:
        at = ("cases", i)
        self._known(case, CASE_KEYS, *at)
        name = str(case.get("name") if case.get("name") is not None else "").strip()
        rubric = self._text(case, "rubric", *at)
        judging, model = self._judging(case, *at), self._text(case, "model", *at) or self._model
        judges, roster = None, self._roster
        if roster is not None:
            own = judging.model or self._judge
            judge = default_judge(own, EVAL, roster.project, roster.env)
            judges = CaseJudges(roster, judge, self._findings)
        before = len(self._assertions.checked)
        makes = self._makes(case.get("assert"), at, judges)
        checked = self._assertions.checked[before:]
        if case.get("assert") is None and not rubric.strip():
            self._problem(at, f"case '{name}' expects nothing", "Write assert: or rubric:.")
        timeout_s = self._number(case, "timeout_s", (0.001, 1e6), at)
        return EvalCase(
            name=name,
            inputs=self._inputs(case, name, at),
            makes=makes,
            rubric=rubric,
            judging=judging,
            model=model,
            timeout_s=timeout_s
            or self._number(self._defaults, "timeout_s", (0.001, 1e6), ("defaults",)),
            hooks=self._flag(
                case, "hooks", at, self._flag(self._defaults, "hooks", ("defaults",), True)
            ),
            tags=tuple(map(str, self._list(case, "tags", at))),
            place=self._document.at(*at),
            checks=digest(*checked) if all(checked) else "",
        )

    def _prices_said(self) -> dict[str, dict[str, float]]:
        prices: dict[str, dict[str, float]] = {}
        prices_by_model = self._mapping(self._defaults, "prices", "defaults")
        for model in prices_by_model:
            at = ("defaults", "prices", model)
            price = self._mapping(prices_by_model, model, *at[:-1])
            self._known(price, PRICE_KEYS, *at)
            read = {key: self._number(price, key, (0, 1), at) for key in sorted(PRICE_KEYS)}
            known = {key: usd for key, usd in read.items() if usd is not None}
            if "cost" not in known and len(known) < 2 and price.keys() & PRICE_KEYS == known.keys():
                hint = "Write cost:, or inputCost: and outputCost:, in dollars per token."
                self._problem(at, f"the price of {model} is not said", hint)
            prices[model_id(str(model))] = known
        return prices

    def _makes(
        self, assertions: object, at: tuple[str | int, ...], judges: CaseJudges | None
    ) -> list[Make]:
        if assertions is None:
            return []
        if not is_array(assertions) or not assertions:
            hint = 'Begin each with - : - contains: "…".'
            self._problem((*at, "assert"), f"assert is {assertions!r}, not a list", hint)
            return []
        makes: list[Make] = []
        for i, item in enumerate(assertions):
            where = partial(self._document.at, *at, "assert", i)
            makes += self._assertions.read(item, where, judges)
        return makes

    def _inputs(
        self, case: Mapping[str, Any], name: str, at: tuple[str | int, ...]
    ) -> dict[str, object]:
        source, own = case.get("inputs_from"), case.get("inputs")
        if source is None and own is None:
            what = f"case '{name}' has neither inputs nor inputs_from"
            self._problem(at, what, "Write inputs: {}, where there are none.")
        inputs: dict[str, object] = {}
        if source is not None:
            place = self._document.at(*at, "inputs_from")
            if not isinstance(source, str) or not source.strip():
                self._findings.problem(place, f"inputs_from is {source!r}, not a folder")
            else:
                inputs.update(self._inputs_from(source, place))
        if own is not None and not is_mapping(own):
            self._problem((*at, "inputs"), f"inputs are {own!r}", "Write inputs: {name: value}.")
        elif own is not None:
            inputs.update(own)
        return inputs

    def _inputs_from(self, folder: str, place: Place) -> Mapping[str, object]:
        """The inputs in a folder's inputs.yml, read once however many cases share it."""
        if folder in self._inputs_read:
            return self._inputs_read[folder]
        before = len(self._findings.problems)
        path = self._assertions.file(f"{folder}/{INPUTS}", place)
        wanted = path if self._with_inputs else None
        inputs = read_inputs(wanted, self._findings) if wanted else {}
        if len(self._findings.problems) == before:  # what is wrong concerns each case that has them
            self._inputs_read[folder] = inputs
        return inputs

    def _triggering(self) -> Triggering | None:
        if self._top.get("triggering") is None:
            return None
        fields = self._mapping(self._top, "triggering")
        self._known(fields, TRIGGERING_KEYS, "triggering")
        queries: dict[str, bool] = {}
        for key, wanted in (("should_match", True), ("should_not_match", False)):
            for i, query in enumerate(self._list(fields, key, ("triggering",))):
                at = ("triggering", key, i)
                if not isinstance(query, str) or not query.strip():
                    self._problem(at, f"a query of {key} is {query!r}, not a text")
                elif query in queries:
                    self._problem(at, f"the query {query!r} is there already", "Leave one out.")
                else:
                    queries[query] = wanted
        if fields and not ("should_match" in fields or "should_not_match" in fields):
            what = "triggering has neither should_match nor should_not_match"
            self._problem(("triggering",), what, "Write what people say, and whether it is meant.")
        meta = self._prompt.meta
        if queries and not (meta.description or meta.summary).strip():
            self._problem(("triggering",), "meta.yml has no description to go by")
        judge = self._judging(fields, "triggering").model
        place = self._document.at("triggering")
        return (
            Triggering(list(queries.items()), judge, self._others(fields), place)
            if queries
            else None
        )

    def _others(self, fields: Mapping[str, Any]) -> list[str]:
        library, among = self._prompt.library, fields.get("among")
        if among is None:
            return []
        known = library.ids()
        ids = known if among == "all" else self._list(fields, "among", ("triggering",))
        descriptions: list[str] = []
        for i, id_ in enumerate(ids):
            if id_ not in known:
                near = did_you_mean(str(id_), known)
                self._problem(("triggering", "among", i), f"there is no prompt {id_!r}", near)
            elif id_ != self._prompt.id:
                meta = read_prompt(library, str(id_), Findings()).meta
                descriptions.append(f"{id_}: {meta.description or meta.summary}")
        return descriptions

    def _judging(self, table: Mapping[str, Any], *at: str | int) -> Judging:
        judge = table.get("judge")
        if isinstance(judge, str):
            return Judging(judge)
        fields = self._mapping(table, "judge", *at)
        where = (*at, "judge")
        self._known(fields, JUDGE_KEYS, *where)
        enough = self._number(fields, "pass_threshold", (LOWEST, HIGHEST), where)
        samples = self._number(fields, "samples", (1, 100), where, whole=True)
        return Judging(
            self._text(fields, "model", *where),
            PASS_THRESHOLD if enough is None else enough,
            int(samples or 1),
        )

    def _mapping(self, fields: Mapping[str, Any], key: str, *at: str | int) -> Mapping[str, Any]:
        value = fields.get(key)
        if value is None:
            return {}
        if not is_mapping(value):
            self._problem((*at, key), f"{key} is {value!r}, not names with values")
            return {}
        return value

    def _list(
        self, fields: Mapping[str, Any], key: str, at: tuple[str | int, ...]
    ) -> Sequence[object]:
        value = fields.get(key)
        if value is None:
            return ()
        if not is_array(value):
            self._problem((*at, key), f"{key} is {value!r}, not a list")
            return ()
        return value

    def _text(self, fields: Mapping[str, Any], key: str, *at: str | int) -> str:
        value = fields.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        self._problem((*at, key), f"{key} is {value!r}, not a text")
        return ""

    def _flag(
        self, fields: Mapping[str, Any], key: str, at: tuple[str | int, ...], otherwise: bool
    ) -> bool:
        value = fields.get(key)
        if value is None or isinstance(value, bool):
            return otherwise if value is None else value
        self._problem((*at, key), f"{key} is {value!r}", "Write true or false.")
        return otherwise

    def _number(
        self,
        fields: Mapping[str, Any],
        key: str,
        ends: tuple[float, float],
        at: tuple[str | int, ...],
        *,
        whole: bool = False,
    ) -> float | None:
        value = fields.get(key)
        if value is None:
            return None
        number = isinstance(value, int) or (isinstance(value, float) and not whole)
        number = number and not isinstance(value, bool) and math.isfinite(value)
        if number and ends[0] <= value <= ends[1]:
            return value
        kind = "a whole number" if whole else "a number"
        hint = f"It is {kind} from {ends[0]:g} to {ends[1]:g}."
        self._problem((*at, key), f"{key} is {value!r}", hint)
        return None

    def _known(self, fields: Mapping[str, Any], known: frozenset[str], *at: str | int) -> None:
        for key in fields:
            if key not in known:
                what, hint = f"unknown key '{key}' is not used", did_you_mean(key, known)
                self._findings.hint(self._document.at(*at, key), what, hint)

    def _problem(self, at: tuple[str | int, ...], what: str, hint: str = "") -> None:
        self._findings.problem(self._document.at(*at), what, hint)


def chosen(cases: Sequence[EvalCase], name: str) -> Sequence[EvalCase]:
    """The case with this name; all of them for no name.

    Raises:
        UsageError: There is none.
    """
    if not name:
        return cases
    matches = [case for case in cases if case.name == name]
    if not matches:
        near = did_you_mean(name, [case.name for case in cases])
        there = ", ".join(case.name for case in cases)
        raise UsageError(
            f"there is no case '{name}'", hint=near or f"There are: {there or 'none'}."
        )
    return matches
