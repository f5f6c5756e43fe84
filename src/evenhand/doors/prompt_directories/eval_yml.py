"""The eval.yml of a prompt: its cases, what they expect, and the queries that should lead to it or not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from msgspec import field

from evenhand.core.encoding import digest
from evenhand.core.errors import Problem, UsageError
from evenhand.core.json_schema import ANY, TABLE, TEXT, TEXTS, Part, either
from evenhand.core.json_shapes import is_array, is_mapping, is_texts
from evenhand.core.names import did_you_mean
from evenhand.core.provider import judge_id
from evenhand.core.ranges import Range
from evenhand.core.record import Record
from evenhand.core.table import (
    Form,
    Path_,
    TableKey,
    TableReader,
    choice,
    flag,
    listed,
    names_of,
    nested,
    own,
    schema_of,
    text,
)
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

_SECONDS: Part = {"type": "number", "exclusiveMinimum": 0}
_COUNT: Part = {"type": "integer", "minimum": 1}
_DOLLARS: Part = {"type": "number", "minimum": 0}


def _within(least: float, most: float, schema: Part, *, whole: bool = False) -> Form:
    """A number in bounds. Where it has to be whole, 3.0 is not: YAML tells the two apart."""
    allowed = Range(least, most)

    def problem(name: str, value: object) -> str:
        fits = value in allowed and not (whole and isinstance(value, float))
        return "" if fits else f"{name} is {value!r}"

    kind = "a whole number" if whole else "a number"
    hint = f"It is {kind} from {least:g} to {most:g}."
    return Form(schema=schema, problem=problem, hint=hint)


_TIMEOUT = _within(0.001, 1e6, _SECONDS)
_PRICE = _within(0, 1, _DOLLARS)
_TOKENS = replace(choice(("words", "tokens"), "Write words or tokens."), never_empty=True)
_TAGS = replace(listed(either(TEXT, TEXTS)), value=lambda tags: tuple(map(str, tags)))


_JUDGES = replace(
    text(),
    schema=either(TEXT, TEXTS, TABLE),
    problem=lambda name, value: "" if _names_judges(value) else f"{name} is {value!r}, not a model",
    value=judge_id,
)


def _names_judges(value: object) -> bool:
    """Whether this is a judge's id, a list of them, or a cascade."""
    cascade = is_mapping(value) and "first" in value
    return isinstance(value, str) or cascade or (is_texts(value) and bool(value))


class Judging(Record, frozen=True):
    """Who judges, and what is enough: `judge` of an eval.yml, of a case or of its queries.

    Attributes:
        model: As written; empty for whoever judges by default.
    """

    model: Annotated[
        str,
        TableKey(
            "Who judges; of a list, each in place of the one before when that is out of reach.",
            _JUDGES,
        ),
    ] = ""
    at_least: Annotated[
        float,
        TableKey(
            "The lowest score of a rubric that passes, from 1 to 5; 4 by default.",
            _within(LOWEST, HIGHEST, {"type": "number", "minimum": 1, "maximum": 5}),
            "pass_threshold",
        ),
    ] = PASS_THRESHOLD
    samples: Annotated[
        int,
        TableKey("How often it is asked; the mean counts.", _within(1, 100, _COUNT, whole=True)),
    ] = 1


_JUDGE = nested(Judging, alone="model")


class Price(Record, frozen=True):
    """What a model costs, in dollars for each token."""

    cost: Annotated[float | None, TableKey("Dollars for each token.", _PRICE)] = None
    read: Annotated[
        float | None, TableKey("Dollars for each token that is read.", _PRICE, "inputCost")
    ] = None
    written: Annotated[
        float | None, TableKey("Dollars for each token that is written.", _PRICE, "outputCost")
    ] = None


class Defaults(Record, frozen=True, kw_only=True):
    """What every case has, unless it says otherwise, and how the evals are run.

    Attributes:
        model: Who answers; empty for the model of meta.yml.
    """

    model: Annotated[str, TableKey("Who answers.", text())] = ""
    timeout_s: Annotated[float | None, TableKey("Seconds for one attempt.", _TIMEOUT)] = None
    judge: Annotated[Judging, TableKey("Who judges rubrics and queries.", _JUDGE)] = Judging()
    repeats: Annotated[
        int, TableKey("How often each case is repeated.", _within(1, 10_000, _COUNT, whole=True))
    ] = 1
    hooks: Annotated[bool, TableKey("Whether guard.sh and verify.sh take part.", flag())] = True
    tokens: Annotated[str, TableKey("What max_tokens and min_tokens count.", _TOKENS)] = "words"
    pass_rate: Annotated[
        float,
        TableKey(
            "The share of trials that must pass; all by default.",
            _within(0, 1, {"type": "number", "minimum": 0, "maximum": 1}),
        ),
    ] = 1.0
    cluster: Annotated[
        str,
        TableKey(
            "The input that says which cases belong together: each cluster counts once.", text()
        ),
    ] = ""
    prices: Annotated[
        Prices,
        TableKey(
            "Prices of models, by id, in dollars for each token.",
            own({"type": "object", "additionalProperties": schema_of(Price)}),
        ),
    ] = field(default_factory=dict[str, Mapping[str, float]])


def _no_reasons(name: str, value: object) -> str:
    reasons = value.values() if is_mapping(value) else [value]
    fits = all(isinstance(reason, str) and reason.strip() for reason in reasons)
    return "" if fits else f"{name} is {value!r:.80}, not subjects with a reason each"


_ALLOWED = Form(
    schema={"type": "object", "additionalProperties": TEXT},
    problem=_no_reasons,
    hint="Write allow: {nothing: An empty answer is right here.}",
)


class AuditTable(Record, frozen=True):
    """What `evenhand audit` lets pass of a case: `audit` of a case."""

    allow: Annotated[
        Mapping[str, str],
        TableKey("The subjects and findings that are right here, each with the reason.", _ALLOWED),
    ] = field(default_factory=dict[str, str])


class EvalCase(Record, frozen=True, kw_only=True):
    """One case.

    Attributes:
        inputs: The variables, those of `inputs_from` with `inputs` over them.
        makes: What its assertions expect.
        rubric: What a judge rates the output by; empty for nobody.
        problem: Why it cannot come to a verdict, as far as its files say; None where it may.
        checks: A digest of what its assertions expect; empty where that can't be known.
    """

    name: Annotated[str, TableKey("The case's name, unique in the file.", own(TEXT))]
    inputs: Annotated[
        Mapping[str, Any],
        TableKey("The variables of the prompt.", own(TABLE)),
        TableKey("A folder with an inputs.yml.", own(TEXT), "inputs_from"),
    ] = field(default_factory=dict[str, Any])
    makes: Annotated[
        Sequence[Make], TableKey("What must hold of the answer.", own(ANY), "assert")
    ] = ()
    rubric: Annotated[
        str, TableKey("A scale from 1 to 5 in your words: a judge rates the answer by it.", text())
    ] = ""
    judging: Annotated[Judging, TableKey("Who judges this case.", _JUDGE, "judge")] = Judging()
    model: Annotated[str, TableKey("Who answers this case.", text())] = ""
    timeout_s: Annotated[float | None, TableKey("Seconds for one attempt.", _TIMEOUT)] = None
    hooks: Annotated[bool, TableKey("Whether guard.sh and verify.sh take part.", flag())] = True
    tags: Annotated[tuple[str, ...], TableKey("To filter by.", _TAGS)] = ()
    audit: Annotated[
        AuditTable, TableKey("What `evenhand audit` lets pass.", nested(AuditTable))
    ] = AuditTable()
    place: Place
    problem: Problem | None = None
    checks: str = ""


class Queries(Record, frozen=True):
    """The table `triggering`, as it is written."""

    judge: Annotated[Judging, TableKey("Who decides.", _JUDGE)] = Judging()
    should_match: Annotated[
        Sequence[object], TableKey("Queries that this prompt is for.", listed(TEXTS))
    ] = ()
    should_not_match: Annotated[
        Sequence[object], TableKey("Queries that it is not for.", listed(TEXTS))
    ] = ()
    among: Annotated[
        Sequence[object],
        TableKey(
            "The prompts to choose from: all, or a list of ids.",
            listed(either({"const": "all"}, TEXTS), "all"),
        ),
    ] = ()


class EvalTable(Record, frozen=True):
    """An eval.yml, as it is written; cases are read one by one."""

    defaults: Annotated[
        Defaults, TableKey("What every case has, unless it says otherwise.", nested(Defaults))
    ] = Defaults()
    cases: Annotated[object, TableKey("The cases.", own(ANY))] = None
    triggering: Annotated[
        Queries, TableKey("Queries that should lead to the prompt, or not.", nested(Queries))
    ] = Queries()


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
        files: The other files that it was read from.
        judge_place: Where it names who judges by default, or where it would.
    """

    path: Path
    cases: Sequence[EvalCase]
    triggering: Triggering | None
    judge_place: Place
    defaults: Defaults = Defaults()
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
    if not is_mapping(document.value):
        findings.problem(document.at(), "is not a list of names with values", "Write cases: […].")
        return None
    reader = _EvalFileReader(prompt, document, findings, roster, with_inputs=with_inputs)
    return reader.read(document.value)


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
        self._roster = roster
        self._tables = TableReader(self._problem_of_table, self._unknown)
        self._of_cases: list[tuple[str, str, str]] = []

    def read(self, top: Mapping[str, Any]) -> EvalFile:
        """The whole eval file: what eval.yml says, with a problem noted for each thing that is wrong."""
        table = self._tables.read(EvalTable, top)
        defaults = self._defaults = replace(table.defaults, prices=self._prices(top))
        tokens = defaults.tokens == "tokens"
        library, folder = self._prompt.library, self._prompt.path
        self._assertions = OperatorReader(
            library=library, folder=folder, findings=self._findings, counts_tokens=tokens
        )
        if self._roster is not None:
            self._share_prices(self._roster)
        triggering = self._triggering(table.triggering, top.get("triggering"))
        if triggering is None and "cases" not in top and "triggering" not in top:
            self._problem((), "has neither cases nor triggering", "Write cases: with a name each.")
        cases, cluster = self._cases(top.get("cases")), defaults.cluster
        inputs = dict.fromkeys(name for case in cases for name in case.inputs)
        if cluster and cluster not in inputs:
            names = f"There are: {', '.join(inputs)}." if inputs else "There are none."
            hint = did_you_mean(cluster, list(inputs), names)
            self._problem(("defaults", "cluster"), f"no case has an input {cluster!r}", hint)
        return EvalFile(
            path=self._document.file,
            cases=cases,
            triggering=triggering,
            judge_place=self._document.at("defaults", "judge"),
            defaults=defaults,
            files=frozenset(self._assertions.files),
        )

    def _share_prices(self, roster: Roster) -> None:
        """Prompts that are run together pay the same for a model."""
        for model, price in self._defaults.prices.items():
            if roster.prices.setdefault(model, price) != price:
                what = f"the price of {model} is another one in a prompt before"
                at = ("defaults", "prices", model)
                self._problem(at, what, "Several prompts run together share it.")

    def _cases(self, items: object) -> list[EvalCase]:
        if items is None:
            return []
        if not is_array(items):
            hint = "Write - name: … for each."
            self._problem(("cases",), f"cases are {items!r}, not a list", hint)
            return []
        cases: list[EvalCase] = []
        lines: dict[str, int] = {}
        for i, item in enumerate(items):
            if not is_mapping(item):
                what = f"a case is {item!r}, not names with values"
                self._problem(("cases", i), what, "Write - name: …")
                continue
            # What is wrong with a case makes that case an error, and the others are run.
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

    def _case(self, fields: Mapping[str, Any], i: int) -> EvalCase:
        at, defaults = ("cases", i), self._defaults
        name = str(fields.get("name") if fields.get("name") is not None else "").strip()
        case = self._tables.read(
            EvalCase, fields, at, name=name, hooks=defaults.hooks, place=self._document.at(*at)
        )
        judges, roster = None, self._roster
        if roster is not None:
            judge = case.judging.model or defaults.judge.model
            judge = default_judge(judge, EVAL, roster.project, roster.env)
            judges = CaseJudges(roster, judge, self._findings)
        before = len(self._assertions.checked)
        makes = self._makes(fields.get("assert"), at, judges)
        checked = self._assertions.checked[before:]
        if fields.get("assert") is None and not case.rubric.strip():
            self._problem(at, f"case '{name}' expects nothing", "Write assert: or rubric:.")
        for key, what, hint in self._of_cases:
            if key == "hooks" or case.timeout_s is None:
                self._problem(("defaults", key), what, hint)
        return replace(
            case,
            inputs=self._inputs(fields, name, at),
            makes=makes,
            model=case.model or defaults.model or self._prompt.meta.model,
            timeout_s=case.timeout_s or defaults.timeout_s,
            checks=digest(*checked) if all(checked) else "",
        )

    def _prices(self, top: Mapping[str, Any]) -> Prices:
        defaults = top.get("defaults")
        table = defaults.get("prices") if is_mapping(defaults) else None
        if table is None:
            return {}
        if not is_mapping(table):
            what = f"prices is {table!r}, not names with values"
            self._problem(("defaults", "prices"), what)
            return {}
        prices: dict[str, dict[str, float]] = {}
        for model, fields in table.items():
            prices[model_id(str(model))] = self._price(model, fields)
        return prices

    def _price(self, model: str, fields: object) -> dict[str, float]:
        at = ("defaults", "prices", model)
        if fields is not None and not is_mapping(fields):
            self._problem(at, f"{model} is {fields!r}, not names with values")
            fields = None
        price = self._tables.read(Price, fields or {}, at)
        usd = {"cost": price.cost, "inputCost": price.read, "outputCost": price.written}
        known = {name: value for name, value in usd.items() if value is not None}
        # Where a price is written and wrong, that is a problem already, and this would be a second one.
        if "cost" not in known and len(known) < 2 and usd.keys() & (fields or {}) == known.keys():
            hint = "Write cost:, or inputCost: and outputCost:, in dollars per token."
            self._problem(at, f"the price of {model} is not said", hint)
        return known

    def _makes(self, assertions: object, at: Path_, judges: CaseJudges | None) -> list[Make]:
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

    def _inputs(self, case: Mapping[str, Any], name: str, at: Path_) -> dict[str, object]:
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
        inputs = read_inputs(path, self._findings) if path and self._with_inputs else {}
        if len(self._findings.problems) == before:  # what is wrong concerns each case that has them
            self._inputs_read[folder] = inputs
        return inputs

    def _triggering(self, table: Queries, fields: object) -> Triggering | None:
        if fields is None:
            return None
        queries: dict[str, bool] = {}
        for key, items, matches in (
            ("should_match", table.should_match, True),
            ("should_not_match", table.should_not_match, False),
        ):
            for i, query in enumerate(items):
                at = ("triggering", key, i)
                if not isinstance(query, str) or not query.strip():
                    self._problem(at, f"a query of {key} is {query!r}, not a text")
                elif query in queries:
                    self._problem(at, f"the query {query!r} already exists", "Leave one out.")
                else:
                    queries[query] = matches
        if (
            is_mapping(fields)
            and fields
            and not fields.keys() & {"should_match", "should_not_match"}
        ):
            what = "triggering has neither should_match nor should_not_match"
            self._problem(("triggering",), what, "Write what people say, and whether it is meant.")
        meta = self._prompt.meta
        if queries and not (meta.description or meta.summary).strip():
            self._problem(("triggering",), "meta.yml has no description to go by")
        others, place = self._others(table.among), self._document.at("triggering")
        if not queries:
            return None
        return Triggering(list(queries.items()), table.judge.model, others, place)

    def _others(self, among: Sequence[object]) -> list[str]:
        library = self._prompt.library
        known = library.ids() if among else []
        descriptions: list[str] = []
        for i, id_ in enumerate(known if among == "all" else among):
            if id_ not in known:
                near = did_you_mean(str(id_), known)
                self._problem(("triggering", "among", i), f"there is no prompt {id_!r}", near)
            elif id_ != self._prompt.id:
                # What is wrong with another prompt is reported where that one is run.
                meta = read_prompt(library, str(id_), Findings()).meta
                descriptions.append(f"{id_}: {meta.description or meta.summary}")
        return descriptions

    def _problem_of_table(self, at: Path_, what: str, hint: str) -> None:
        if at in (("defaults", "hooks"), ("defaults", "timeout_s")):
            # Only cases use them: they are wrong in each case that does, and other cases still run.
            self._of_cases.append((str(at[1]), what, hint))
        else:
            self._problem(at, what, hint)

    def _unknown(self, at: Path_, known: Collection[str]) -> None:
        key = str(at[-1])
        of_defaults = len(at) == 1 and key in names_of(Defaults)
        self._findings.unknown(
            [key],
            known,
            self._document.at(*at),
            otherwise="It is a key of `defaults`." if of_defaults else "",
        )

    def _problem(self, at: Path_, what: str, hint: str = "") -> None:
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
