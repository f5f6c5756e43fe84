"""The models of a config: what is asked, and who judges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import field

from evenhand.core.errors import Problem, UsageError
from evenhand.core.json_schema import ANY, NUMBER, TABLE, TEXT, one_or_more
from evenhand.core.json_shapes import (
    as_mapping,
    is_array,
    is_mapping,
    is_number,
    is_texts,
    with_whole_numbers,
)
from evenhand.core.message import Task
from evenhand.core.names import did_you_mean
from evenhand.core.plan import Selection
from evenhand.core.provider import Provider, ReadsFiles, judge_id, judging_task
from evenhand.core.ranges import MILLISECONDS
from evenhand.core.record import Record
from evenhand.core.secrets import redacted
from evenhand.core.selecting import Selector
from evenhand.core.table import TableKey, own
from evenhand.doors.assertions.code_files import transform_problems
from evenhand.doors.assertions.transform import split_reference
from evenhand.doors.promptfoo.config import Config
from evenhand.doors.promptfoo.environment import env_filled, how_to_set, unset
from evenhand.languages.documents.findings import Findings, Place, problem_at
from evenhand.languages.documents.tree import read_document
from evenhand.providers.catalog import key_missing
from evenhand.providers.echo import AbsentProvider
from evenhand.providers.missing_keys import NO_KEY, set_key
from evenhand.providers.roster import Roster, default_judge
from evenhand.providers.wrapped import Paused

if TYPE_CHECKING:
    from evenhand.doors.promptfoo.mcp_tools import McpTools

KEYS: Mapping[str, TableKey] = {
    "id": TableKey(
        "openai:gpt-5-mini, anthropic:messages:…, file://provider.py, exec:…", own(TEXT)
    ),
    "label": TableKey("What it is called in results.", own(TEXT)),
    "config": TableKey("Its settings: temperature, max_tokens, apiBaseUrl …", own(ANY)),
    "prompts": TableKey("Only these prompts, by label.", own(one_or_more(TEXT))),
    "transform": TableKey("Changes its output.", own(TEXT)),
    "delay": TableKey("Milliseconds between its calls.", own(NUMBER)),
    "env": TableKey("Environment variables for it.", own(TABLE)),
    "inputs": TableKey("No effect: for red teaming.", own(TABLE)),
}

_SHELL = r"\$\{?[A-Z_][A-Z0-9_]+\}?"

DEFAULT_JUDGES: Mapping[Task, tuple[tuple[str, str], ...]] = {
    "generate": (
        ("OPENAI_API_KEY", "openai:chat:gpt-5-mini"),
        ("ANTHROPIC_API_KEY", "anthropic:messages:claude-sonnet-4-5"),
    ),
    "embed": (("OPENAI_API_KEY", "openai:embedding:text-embedding-3-large"),),
    "moderate": (("OPENAI_API_KEY", "openai:moderation:omni-moderation-latest"),),
}
"""Who is asked where nobody is named, by the first key that is set."""

_KEY_OF_TASK: Mapping[Task, str] = {
    "generate": "text",
    "embed": "embedding",
    "classify": "classification",
    "moderate": "moderation",
}
_GIVES: Mapping[Task, str] = {
    "generate": "texts",
    "embed": "embeddings",
    "classify": "classifications",
    "moderate": "moderations",
}
_TASK_KEYS = frozenset(_KEY_OF_TASK.values())
_TASKS: Mapping[Task, str] = {"embed": "embeddings", "moderate": "moderations"}


class Subject(Record, frozen=True, kw_only=True):
    """A model to ask, and what belongs to it alone.

    Attributes:
        prompts: The labels, ids or patterns of the prompts that it gets; None for all.
        transform: Changes its outputs before anything looks at them.
        config: Its own, with files read in: the functions that it declares are there.
        problems: Why none of its trials can come to a verdict; none where they may.
        hints: What is tolerated in its settings, and worth a look.
        mcp: The tools of MCP servers that it is told of; None for none.
    """

    provider: Provider
    prompts: tuple[str, ...] | None
    transform: str
    place: Place
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    problems: tuple[Problem, ...] = ()
    hints: tuple[Problem, ...] = ()
    mcp: McpTools | None = None

    @property
    def problem(self) -> Problem | None:
        """Why none of its trials can come to a verdict; None where they may."""
        return next(iter(self.problems), None)

    @property
    def lacking(self) -> Problem | None:
        """That its model cannot be asked, for want of a key; None where it can."""
        key = key_missing(self.provider)
        if not key:
            return None
        return problem_at(self.place, NO_KEY.format(self.provider.id), set_key(key), slug="auth")

    def takes(self, label: str) -> bool:
        """Whether the model gets the prompt with this label."""
        return self.prompts is None or any(
            label == name or fnmatchcase(label, name) or label.startswith((f"{name}:", f"{name} #"))
            for name in self.prompts
        )


class FolderModels:
    """Makes the models of one config, each once."""

    def __init__(self, config: Config, findings: Findings) -> None:
        self._config = config
        self._findings = findings
        fill = config.templates.render
        self._roster = Roster(config.base, config.env, fill=fill)
        self._made: dict[str, Provider | None] = {}
        self._defaults: dict[Task, Provider] = {}
        self._reading: list[Path] = []
        self._listed: list[Subject] = []
        self._of_tests: dict[str, Subject | None] = {}
        self.files: set[Path] = set()
        """Files that say what the models are: their code, their settings, their transforms."""

    def subjects(self, selection: Selection | None = None) -> list[Subject]:
        """The models to ask, in their order.

        Args:
            selection: Of the models that it leaves out, no word is said.
        """
        key = "targets" if "targets" in self._config.value else "providers"
        listed = self._config.value.get(key)
        place = self._config.at(key)
        if listed is None or listed == []:
            self._findings.problem(
                place,
                "there are no providers",
                "Name the models to ask, e.g. providers: [openai:chat:gpt-5-mini]",
            )
            return []
        items = listed if is_array(listed) else [listed]
        subjects: list[Subject] = []
        for i, item in enumerate(items):
            where = self._config.at(key, i) if is_array(listed) else place
            subjects += self._subjects(item, where, self._config.base)
        selector = Selector(selection or Selection())
        for subject in subjects:
            _answers_as_promptfoo(subject.provider)
            if selector.takes_model(subject.provider.id, subject.provider.label):
                self._findings.also(hints=subject.hints)
                self._findings.break_off(*subject.problems)
        self._listed = subjects
        return subjects

    def of_test(self, spec: object, place: Place, base: Path) -> Subject | None:
        """The model that the `provider` of a test names, each made once; None, and a problem, where it names none.

        Args:
            spec: An id, or an object with one; or the label of one of the config's providers, which is that one.
            base: The folder that paths in it start from.
        """
        labelled = next((one for one in self._listed if one.provider.label == spec), None)
        # A provider without a label has its id as one: a test that writes this id asks for the model alone,
        # without the settings that the config gives that provider.
        if labelled is not None and labelled.provider.label != labelled.provider.id:
            return labelled
        key = json.dumps([spec, str(base)], sort_keys=True, default=str)
        if key not in self._of_tests:
            subjects = self._subjects(spec, place, base)
            if len(subjects) > 1:
                what = f"provider {spec} stands for {len(subjects)} models"
                self._findings.problem(place, what, "A test asks one: name it here.")
            subject = self._of_tests[key] = subjects[0] if len(subjects) == 1 else None
            if subject is not None:
                _answers_as_promptfoo(subject.provider)
                self._findings.also(hints=subject.hints)
        return self._of_tests[key]

    @property
    def named_by_tests(self) -> list[Provider]:
        """The models that tests ask in place of the config's, as far as they can be had."""
        return [one.provider for one in self._of_tests.values() if one and not one.problems]

    def look_at_grader(self, name: str) -> None:
        """Looks at the model that `--grader` names, also where nothing is graded by one.

        Raises:
            UsageError: Nobody knows it.
        """
        if name.startswith("file://") and name.endswith((".yaml", ".yml", ".json")):
            return  # read where it judges
        try:
            self._roster.make(name)
        except UsageError as error:
            raise UsageError(f"--grader: {error.message}", hint=error.hint) from None

    def judge(self, spec: object, place: Place, task: Task = "generate") -> Provider | None:
        """The model that a `provider` for grading names for a task; None, and a problem, where it names none.

        One that is no good for the task leaves it to the default, as in promptfoo. A map of models by what they are
        for doesn't, as there: whoever writes one says who may be asked, and nobody else is.
        """
        if is_mapping(spec) and "id" not in spec and not spec.keys().isdisjoint(_TASK_KEYS):
            there = " and ".join(sorted(_TASK_KEYS & spec.keys()))
            spec = spec.get(_KEY_OF_TASK[task])
            if spec is None:
                what = f"provider names a model for {there}, and none for {_KEY_OF_TASK[task]}"
                hint = f"Add the one that makes {_GIVES[task]}: {_KEY_OF_TASK[task]}: …"
                self._findings.problem(place, what, hint)
                return None
        if (is_texts(spec) and len(spec) > 1) or (is_mapping(spec) and "first" in spec):
            spec = judge_id(spec)
        name = json.dumps(spec, sort_keys=True, default=str)
        if self._made.get(name) is None:  # one that cannot be had is a problem wherever it is named
            judge = next(iter(self._subjects(spec, place, self._config.base)), None)
            if judge is not None:
                self._findings.also(judge.problems, judge.hints)
            self._made[name] = None if judge is None or judge.problems else judge.provider
        judge = self._made[name]
        if judge is not None and judging_task(judge, task) is None:
            self._findings.hint(
                place,
                f"{judge.id} makes no {_GIVES[task]}, so another model is asked",
                f"Name one that does: provider: {{{_KEY_OF_TASK[task]}: …}}.",
            )
            return self.default_judge(place, task)
        return judge

    @property
    def judges(self) -> list[Provider]:
        """The models that judge, as far as they have been named."""
        return [one for one in (*self._made.values(), *self._defaults.values()) if one is not None]

    def default_judge(self, place: Place, task: Task = "generate") -> Provider | None:
        """The model for those who name none: who judges by default; as in promptfoo, by the first key that is set."""
        if task not in self._defaults:
            named = None
            if task == "generate":
                named = default_judge("", "", self._roster.project, self._config.env)
            try:
                judge = self._roster.judge_of(named) if named else None
            except UsageError as error:
                self._findings.problem(place, f"the judge: {error.message}", error.hint)
                return None
            judge = judge or self._by_key(place, task)
            if judge is None:
                return None
            self._defaults[task] = judge
        return self._defaults[task]

    def _by_key(self, place: Place, task: Task) -> Provider | None:
        for variable, id_ in DEFAULT_JUDGES.get(task, ()):
            if self._config.env.get(variable):
                what = "outputs are judged" if task == "generate" else f"{_TASKS[task]} are made"
                name = "" if task == "generate" else f": {{{_KEY_OF_TASK[task]}: …}}"
                hint = f"Name the model you trust in defaultTest.options.provider{name}."
                self._findings.hint(place, f"{what} by {id_}", hint)
                config = {"temperature": 0} if task == "generate" else {}
                return self._roster.make(id_, config=config)
        return None

    def _subjects(self, item: object, place: Place, base: Path) -> list[Subject]:
        if isinstance(item, str):
            if item.startswith("file://") and item.endswith((".yaml", ".yml", ".json")):
                return self._from_file(item, place, base)
            return [self._one(item, {}, place, base)]
        if is_mapping(item):
            fields = with_id(item)
            if isinstance(fields.get("id"), str):
                return [self._one(str(fields["id"]), fields, place, base)]
            self._findings.problem(
                place, "a provider has no id", "Write id: openai:chat:gpt-5-mini, say."
            )
            return []
        written = "empty" if item is None else repr(item)
        what = f"a provider is {written}, not text or an object"
        self._findings.problem(place, what, "Write an id: openai:chat:gpt-5-mini, say.")
        return []

    def _from_file(self, reference: str, place: Place, base: Path) -> list[Subject]:
        path = base / reference.removeprefix("file://")
        if path in self._reading:
            self._findings.problem(
                place, f"{reference} leads back to itself", "Name a model in it."
            )
            return []
        # A file that cannot be read is an error of this model only: whoever leaves it out is not told.
        findings = Findings()
        document = read_document(path, findings, place)
        if document is None:
            return [
                Subject(
                    provider=AbsentProvider(reference, reference),
                    prompts=None,
                    transform="",
                    place=place,
                    problems=tuple(findings.problems),
                )
            ]
        self.files.add(path)
        self._reading.append(path)
        document.value = env_filled(document.value, self._config.env)
        try:
            items = document.value if is_array(document.value) else [document.value]
            return [
                subject
                for i, item in enumerate(items)
                for subject in self._subjects(item, document.at(i), base)
            ]
        finally:
            self._reading.pop()

    def _one(self, id_: str, fields: Mapping[str, Any], place: Place, base: Path) -> Subject:
        """A model, with all that is wrong with it: whoever leaves it out needn't hear of that."""
        findings = Findings()
        whose = f"provider {id_}"
        below = "Settings of the model stand under config."
        findings.unknown(fields, KEYS, place, f" of {whose} is not used", otherwise=below)
        settings = read_settings(
            fields.get("config"),
            whose,
            self._config,
            base,
            place=place,
            findings=findings,
            files=self.files,
        )
        provider = self._provider(id_, fields, settings, place, base, findings)
        mcp = None
        if settings.get("mcp") is not None and not isinstance(provider, AbsentProvider):
            from evenhand.doors.promptfoo.mcp_tools import read_mcp  # noqa: PLC0415 (seldom wanted)

            mcp = read_mcp(settings, provider, base, place, findings)
            self.files.update(() if mcp is None else mcp.files)
        if CALLBACKS in settings:
            what = f"{CALLBACKS} of {whose} are not called: what the model calls is its answer"
            findings.hint(place, what, "Let a provider in Python or JavaScript call them.")
        transform = self._transform(fields.get("transform") or "", place, base, findings)
        return Subject(
            provider=provider,
            prompts=_prompts_of(fields.get("prompts"), id_, place, findings),
            transform=transform,
            place=place,
            config=settings,
            problems=tuple(findings.problems),
            hints=tuple(findings.hints),
            mcp=mcp,
        )

    def _provider(
        self,
        id_: str,
        fields: Mapping[str, Any],
        settings: Mapping[str, Any],
        place: Place,
        base: Path,
        findings: Findings,
    ) -> Provider:
        """The provider itself; one that cannot be asked, and a problem, where there is none."""
        variables = fields.get("env")
        own = {name: str(value) for name, value in as_mapping(variables).items()}
        env = {**self._config.env, **own}
        label = str(fields.get("label") or "")
        delay = findings.number(
            fields.get("delay"), place, f"delay of provider {id_}", MILLISECONDS
        )
        if id_.startswith(_CODE):
            settings = as_mapping(with_whole_numbers(settings))
        absent = unset(id_)
        if absent:
            what = f"provider '{id_}' names {absent[0]}, which is not set"
            findings.problem(place, what, how_to_set(absent[0]))
            return AbsentProvider(id_, label or id_)
        try:
            provider = self._roster.make(id_, label=label, config=settings, env=env, base=base)
        except UsageError as error:
            findings.problem(place, error.message, error.hint)
            return AbsentProvider(str(redacted(id_)), label or str(redacted(id_)))
        if settings and _is_vendors(provider):
            for what, hint in setting_hints(settings, f"provider {id_}"):
                findings.hint(place, what, hint)
        if isinstance(provider, ReadsFiles):
            self.files.update(provider.files)
        return Paused(provider, delay / 1000) if delay else provider

    def _transform(self, written: object, place: Place, base: Path, findings: Findings) -> str:
        """Code that changes a model's outputs; empty for none."""
        if not isinstance(written, str) or not written:
            return ""
        for problem in transform_problems(written, base):
            findings.problem(place, *problem)
        if written.startswith("file://"):
            self.files.add(base / split_reference(written, "")[0])
        return written


def with_id(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """A provider with its `id`, out of promptfoo's short form: the id is the only key, and all else stands below it."""
    if "id" in fields or len(fields) != 1:
        return fields
    ((id_, inner),) = fields.items()
    return {"id": id_, **as_mapping(inner)}


def _prompts_of(
    written: object, id_: str, place: Place, findings: Findings
) -> tuple[str, ...] | None:
    """What a provider's prompts are called; None for all."""
    if isinstance(written, (str, list)):
        items = written if is_array(written) else [written]
        return tuple(str(item).removeprefix("file://") for item in items)
    if written is not None:
        findings.problem(place, f"prompts of provider {id_} is {written!r}, not a list of labels")
    return None


def _is_vendors(provider: Provider) -> bool:
    """Whether its settings are a vendor's, and not those of somebody's own code or service."""
    from evenhand.providers.chat import ChatProvider  # noqa: PLC0415 (imported with the first vendor)

    return isinstance(provider, ChatProvider)


def _answers_as_promptfoo(provider: Provider) -> None:
    """Has the outputs of a model that is evaluated be those of promptfoo.

    So they begin with what it thought, unless its config says otherwise.
    """
    from evenhand.providers.chat import ChatProvider  # noqa: PLC0415 (imported with the first vendor)

    inner = provider.provider if isinstance(provider, Paused) else provider
    if isinstance(inner, ChatProvider):
        from evenhand.doors.promptfoo.output_shapes import shape_of  # noqa: PLC0415 (for vendors only)

        inner.shape = shape_of(inner)
        inner.shows_thoughts |= inner.config.get("showThinking") is None


def with_files_read(
    written: object, config: Config, base: Path, place: Place, findings: Findings, files: set[Path]
) -> object:
    """A value with the JSON and YAML files that it names, at any depth, read in: see `read_settings`."""

    def read(value: object) -> object:
        if isinstance(value, str):
            if value.startswith("file://") and value.endswith((".json", ".yaml", ".yml")):
                path = base / value.removeprefix("file://")
                document = read_document(path, findings, place)
                files.add(path)
                # They are read as if they stood in the config.
                return None if document is None else env_filled(document.value, config.env)
            if re.fullmatch(_SHELL, value):
                findings.hint(
                    place,
                    f"{value!r} is sent as it is",
                    "Write {{env.NAME}} for a variable of the environment.",
                )
            for name in unset(value):
                findings.hint(
                    place,
                    f"{{{{env.{name}}}}} in a setting is not set",
                    how_to_set(name),
                )
            return value
        if is_mapping(value):
            return {k: read(v) for k, v in value.items()}
        if is_array(value):
            return [read(v) for v in value]
        return value

    return read(written)


def read_settings(
    written: object,
    whose: str,
    config: Config,
    base: Path,
    *,
    place: Place,
    findings: Findings,
    files: set[Path],
) -> dict[str, Any]:
    """Settings as a config writes them, with the JSON and YAML files that they name read in; empty for none.

    Args:
        whose: What they belong to, for messages: `provider echo`.
        config: Whose environment the files see.
        base: The folder that files are looked for in.
        files: Is told which files were read.
    """
    if written is None:
        return {}
    if not isinstance(written, Mapping):
        findings.problem(place, f"config of {whose} is {written!r}, not an object")
        return {}

    read = with_files_read(cast("object", written), config, base, place, findings, files)
    settings = cast("dict[str, Any]", read)
    headers = settings.get("headers")
    if headers is not None and not isinstance(headers, Mapping):
        what = f"headers of {whose} are {type(headers).__name__}, not names with values"
        findings.problem(place, what, "Write headers: {X-Name: value}.")
        return {**settings, "headers": {}}
    return settings


_CODE = ("file://", "python:", "exec:")
CALLBACKS = "functionToolCallbacks"
_NUMBERS = frozenset(
    """temperature top_p topP top_k topK min_p presence_penalty presencePenalty frequency_penalty frequencyPenalty
    max_tokens max_completion_tokens max_output_tokens maxOutputTokens max_new_tokens seed top_logprobs timeoutMs
    inputCost outputCost cost maxCost""".split()
)
_OTHERS = frozenset(
    """stop stop_sequences stopSequences response_format response_mime_type responseMimeType responseSchema tools
    tool_choice toolConfig functions function_call logprobs parallel_tool_calls reasoning reasoning_effort verbosity
    prediction store metadata user service_tier thinking thinkingConfig system systemInstruction instructions
    output_config generationConfig safetySettings cachedContent truncation include text prompt background
    previous_response_id max_tool_calls passthrough extra_body omitDefaults isReasoningModel showThinking organization
    apiKey apiKeyEnvar apiKeyRequired apiBaseUrl apiHost apiVersion apiEndpoint headers mcp batch vertexai projectId
    region accessToken auth deployment beta anthropic_version tokenEstimation timeout""".split()
)


def setting_hints(settings: Mapping[str, Any], whose: str) -> Iterator[tuple[str, str]]:
    """What looks like a slip in the settings of a vendor's model, and what to do about it.

    They are hints: vendors keep adding settings.

    Args:
        settings: As written.
    """
    known = _NUMBERS | _OTHERS
    for name, value in settings.items():
        if name not in known:
            meant = did_you_mean(name, known)
            if meant:
                yield f"setting '{name}' of {whose} is not known", meant
        elif name in _NUMBERS and value is not None and not _is_number(value):
            yield f"{name} of {whose} is {value!r}, not a number", f"Write {name}: 1, say."


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return "{{" in value or value.startswith("file://")
        return True
    return is_number(value)
