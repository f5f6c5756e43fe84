"""What the caller chose beside a config, and what goes over it: the command line, or `commandLineOptions`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, cast

from msgspec import field

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_mapping, is_array, is_mapping
from evenhand.core.plan import Selection
from evenhand.core.ranges import ROWS, SEED, SHOWN, Range
from evenhand.core.record import Record
from evenhand.languages.documents.findings import At, Findings

KEYS = frozenset(
    """
    assertions cache config delay description envFile envPath extension filterErrorsOnly filterFailing
    filterFailingOnly filterFirstN filterMetadata filterPattern filterPrompts filterProviders filterRange filterSample
    filterSampleSeed filterTargets generateSuggestions grader maxConcurrency modelOutputs noCache noShare noWrite output
    progressBar promptPrefix promptSuffix prompts providers repeat resume retryErrors share suggestPrompts table
    tableCellMaxLength tag tests var vars verbose watch write
    """.split()
)


class Overrides(Record, frozen=True, kw_only=True):
    """What is said beside a config, and goes over it.

    Attributes:
        prompts: Instead of its prompts.
        providers: Instead of its providers.
        tests: A file of tests, instead of its tests.
        variables: Over the variables of `defaultTest`.
        prefix: Before every prompt.
        suffix: After every prompt.
        description: Instead of its description.
        tags: Over its tags.
        grader: Who judges where the config names nobody.
        model_outputs: A file of outputs to evaluate: instead of its prompts, providers and tests.
        assertions: A file of what is expected of each of these.
        extensions: Beside its extensions.
        delay_ms: Before every call.
        env_files: Files that set variables of the environment.
    """

    prompts: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    tests: str = ""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    prefix: str = ""
    suffix: str = ""
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    grader: str = ""
    model_outputs: str = ""
    assertions: str = ""
    extensions: tuple[str, ...] = ()
    delay_ms: float | None = None
    env_files: tuple[str, ...] = ()

    def over(self, other: Overrides) -> Overrides:
        """Both, where these go over the others."""
        both = {f.name: getattr(self, f.name) or getattr(other, f.name) for f in fields(self)}
        both["variables"] = {**other.variables, **self.variables}
        both["tags"] = {**other.tags, **self.tags}
        # 0 is a delay that somebody asked for, and not one that nobody gave.
        both["delay_ms"] = other.delay_ms if self.delay_ms is None else self.delay_ms
        return Overrides(**both)

    def applied(self, value: dict[str, Any]) -> dict[str, Any]:
        """A config with what goes over its keys; `defaultTest` is the reader's to change."""
        changes: dict[str, Any] = {}
        if self.model_outputs:
            beside = ("prompts", "providers", "targets", "tests", "scenarios")
            value = {key: item for key, item in value.items() if key not in beside}
            changes |= {"prompts": ["{{output}}"], "providers": ["echo"]}
        if self.prompts:
            changes["prompts"] = list(self.prompts)
        if self.providers:
            changes["targets" if "targets" in value else "providers"] = list(self.providers)
        if self.tests:
            changes["tests"] = self.tests
        if self.description:
            changes["description"] = self.description
        if self.tags:
            changes["tags"] = {**as_mapping(value.get("tags")), **self.tags}
        if self.extensions:
            changes["extensions"] = [*_texts(value.get("extensions")), *self.extensions]
        return {**value, **changes} if changes else value


class Chosen(Record, frozen=True):
    """What the caller chose beside the files.

    Attributes:
        selection: Which of the tests to run.
        overrides: What goes over what the config says.
        strict_prompts: Call prompt functions as promptfoo does, whatever their parameters are called.
        env: The environment; None for the process's, to which the `.env` file of the folder one stands in is added, and
            those that are named.
        prepare: Call the extensions that are called before all tests, and may change them.
    """

    selection: Selection = field(default_factory=Selection)
    overrides: Overrides = field(default_factory=Overrides)
    strict_prompts: bool = False
    env: Mapping[str, str] | None = None
    prepare: bool = True


def from_options(
    options: Mapping[str, Any], at: At, findings: Findings
) -> tuple[Overrides, Selection]:
    """What `commandLineOptions` says: what goes over the config, and which part of it is run."""
    findings.unknown(options, KEYS, at, noun="option")

    def text(key: str) -> str:
        value = options.get(key)
        if value is None or isinstance(value, (str, int, float)):
            return "" if value is None else str(value)
        findings.problem(at(key), f"{key} is {value!r}, not text")
        return ""

    def whole(key: str, within: Range) -> int | None:
        result = findings.number(options.get(key), at(key), key, within)
        return None if result is None else int(result)

    def named(key: str) -> dict[str, str]:
        value = options.get(key) or {}
        if not is_mapping(value):
            findings.problem(at(key), f"{key} is {value!r}, not an object")
            return {}
        for name, item in value.items():
            if not isinstance(item, str):
                findings.problem(at(key, name), f"{key}.{name} is {item!r}, not text")
        return {name: str(item) for name, item in value.items()}

    overrides = Overrides(
        prompts=_texts(options.get("prompts")),
        providers=_texts(options.get("providers")),
        tests=text("tests") or text("vars"),
        variables=named("var"),
        prefix=text("promptPrefix"),
        suffix=text("promptSuffix"),
        description=text("description"),
        tags=named("tag"),
        grader=text("grader"),
        extensions=_texts(options.get("extension")),
        env_files=split_paths(_texts(options.get("envPath") or options.get("envFile"))),
    )
    selection = Selection(
        metadata=_texts(options.get("filterMetadata")),
        pattern=text("filterPattern"),
        first=whole("filterFirstN", ROWS),
        sample=whole("filterSample", ROWS),
        seed=whole("filterSampleSeed", SEED) or 0,
        prompts=text("filterPrompts"),
        models=text("filterProviders") or text("filterTargets"),
    )
    try:
        selection = replace(selection, range=range_of(text("filterRange")))
    except UsageError as error:
        findings.problem(at("filterRange"), error.message, error.hint)
    return overrides, selection


def range_of(text: str) -> tuple[int | None, int | None] | None:
    """`2:5` as (2, 5): from place 2, counted from 0, to before 5. Either may be left out; empty text is no range.

    Raises:
        UsageError: It is something else.
    """
    if not text:
        return None
    start, colon, end = text.partition(":")
    try:
        bounds = (int(start) if start else None, int(end) if end else None)
    except ValueError:
        # No place is negative, so this is refused below, together with everything else that is no range.
        bounds = (-1, None)
    if not colon or any(bound is not None and bound not in SHOWN for bound in bounds):
        raise UsageError(
            f"{text!r} is not a range",
            hint="Write 0:10 for the first ten; either side may be left out.",
        )
    if None not in bounds and cast("int", bounds[0]) >= cast("int", bounds[1]):
        raise UsageError(
            f"the range {text!r} holds nothing", hint="Write the smaller number first."
        )
    return bounds


def split_paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Paths that may stand with commas between them, one by one."""
    return tuple(part.strip() for item in paths for part in item.split(",") if part.strip())


def merged(selection: Selection, other: Selection) -> Selection:
    """A selection with what another says where it says nothing."""
    # Nothing marks what was said: a value that equals the default counts as not said.
    plain = Selection()
    changes = {
        f.name: getattr(other, f.name)
        for f in fields(Selection)
        if getattr(selection, f.name) == getattr(plain, f.name)
    }
    return replace(selection, **changes)


def _texts(value: object) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    return tuple(map(str, value)) if is_array(value) else (str(value),)
