"""Variants of a judge, as users write them: other models, other words, several votes.

A file has a name for each variant, and below it what is otherwise than today:

    mini:
      model: openai:gpt-5-mini
    stricter:
      criteria: Promises nothing beyond a return within 30 days
    three votes:
      repeats: 3
    panel:
      panel: [openai:gpt-5, anthropic:claude-sonnet-4-5, google:gemini-2.5-pro]
    cascade:
      model: {first: openai:decisions:gpt-6-luna, then: openai:gpt-5-mini, risk: 10%}

On the command line one setting is a variant: `model=openai:gpt-5-mini`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import field

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_array, as_mapping, is_object
from evenhand.core.names import did_you_mean
from evenhand.core.provider import SEVERAL, Provider, judge_id
from evenhand.core.ranges import Range
from evenhand.core.record import Record
from evenhand.languages.documents.findings import Findings, Place
from evenhand.languages.documents.tree import Document, read_document, read_text
from evenhand.languages.templates.rendering import NO_CONFIG
from evenhand.providers.cascade import CascadeJudge
from evenhand.providers.prompt_text import unfillable
from evenhand.providers.roster import Roster, model_id
from evenhand.wings.judge_checks.tried import TODAY, WEIGHTED

KEYS = ("model", "panel", "repeats", "prompt", "criteria")
REPEATS = Range(1, 99, whole=True)
_FILE = "file://"
_THERE_ARE = f"There are: {', '.join(KEYS)}."


class JudgeModel(Record, frozen=True):
    """A model that judges.

    Attributes:
        id: As it is written.
        config: Its settings, temperature say.
        base: The folder that paths in its id start from.
    """

    id: str
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    base: str = ""

    def provider(self) -> Provider:
        """The model.

        Raises:
            UsageError: Nobody knows it.
        """
        return Roster(Path(self.base or "."), os.environ).make(self.id, config=self.config)


class JudgeVariant(Record, frozen=True):
    """A variant of a judge. What it does not say is as it is today.

    Attributes:
        models: Who judges; several are a panel, and more than half of them must pass an output.
        repeats: How many votes each has.
        prompt: The whole prompt, with {{output}}, {{criteria}} and the case's variables.
        criteria: What the judge goes by, in words.
    """

    name: str
    models: tuple[JudgeModel, ...] = ()
    repeats: int = 1
    prompt: str = ""
    criteria: str = ""

    def summary(self) -> dict[str, Any]:
        """What the variant changes, for the record: no settings of models, which may hold keys."""
        return {
            "name": self.name,
            "models": [model_id(model.id) for model in self.models],
            "repeats": self.repeats,
            "prompt": self.prompt,
            "criteria": self.criteria,
        }


def read_variants(tried: Sequence[str], folder: Path) -> tuple[JudgeVariant, ...]:
    """The variants that are named on the command line: files of them, or `KEY=VALUE` for one.

    Args:
        folder: Where paths start from.

    Raises:
        ConfigError: All that is wrong with the files.
        UsageError: A setting is wrong, a name appears twice, or there is no variant.
    """
    variants: dict[str, JudgeVariant] = {}
    for text in tried:
        for variant in _shorthand(text, folder) or _of_file(text, folder):
            if variant.name in variants:
                raise UsageError(
                    f"--try: there are two variants called {variant.name!r}",
                    hint="Give one of them another name.",
                )
            variants[variant.name] = variant
    return tuple(variants.values())


def _shorthand(text: str, folder: Path) -> list[JudgeVariant]:
    """The variant that is written `KEY=VALUE`; none for a file."""
    key, equals, value = text.partition("=")
    if not equals or (folder / text).exists():
        return []
    if key not in KEYS:
        raise UsageError(
            f"--try: {text!r} is neither a file nor a setting of a judge",
            hint=did_you_mean(key, KEYS, f"{_THERE_ARE} model=openai:gpt-5-mini is one, say."),
        )
    setting: object = value
    if key == "panel":
        setting = [name.strip() for name in value.split(",")]
    elif key == "repeats" and value.isdigit():
        setting = int(value)
    findings = Findings()
    document = Document(folder, {key: setting}, {})
    variant = _Reader(document, folder, findings).variant(text, {key: setting})
    if variant is None:
        problem = findings.problems[0]
        raise UsageError(f"--try {text}: {problem.what}", hint=problem.hint)
    return [variant]


def _of_file(name: str, folder: Path) -> list[JudgeVariant]:
    path = folder / name
    findings = Findings()
    document = read_document(path, findings)
    variants: list[JudgeVariant] = []
    if document is not None:
        variants = _Reader(document, path.parent, findings).variants()
    if findings.problems:
        raise findings.error()
    return variants


class _Reader:
    """Reads the variants of one file, and notes all that is wrong with them."""

    def __init__(self, document: Document, base: Path, findings: Findings) -> None:
        self._document, self._base, self._findings = document, base, findings

    def variants(self) -> list[JudgeVariant]:
        """All variants in the file."""
        value = self._document.value
        if not is_object(value) or not value:
            self._findings.problem(
                self._document.at(),
                "there are no variants of a judge",
                "Write a name, and below it what is different: mini: {model: openai:gpt-5-mini}.",
            )
            return []
        read = [self.variant(name, settings, name) for name, settings in value.items()]
        return [variant for variant in read if variant is not None]

    def variant(self, name: str, value: object, *path: str) -> JudgeVariant | None:
        """One variant; None, and its problems, where it is wrong."""
        before = len(self._findings.problems)
        at = self._document.at
        if name == TODAY or name.endswith(WEIGHTED):
            self._problem(at(*path), f"no variant can be called {name!r}", "Give it another name.")
        if not is_object(value) or not value:
            self._problem(at(*path), f"{name!r} changes nothing", _THERE_ARE)
            return None
        for key in value:
            if key not in KEYS:
                self._problem(
                    at(*path, key), f"{key!r} is not a setting", did_you_mean(key, KEYS, _THERE_ARE)
                )
        if "model" in value and "panel" in value:
            self._problem(
                at(*path, "panel"), "there is a model and a panel", "A panel names its models."
            )
        variant = JudgeVariant(
            name,
            self._models(value, *path),
            self._repeats(value.get("repeats", 1), at(*path, "repeats")),
            self._prompt(value.get("prompt", ""), at(*path, "prompt")),
            self._text(value.get("criteria", ""), "criteria", at(*path, "criteria")),
        )
        cascade = is_object(value.get("model")) and "first" in as_mapping(value.get("model"))
        if cascade and (variant.repeats > 1 or variant.prompt):
            hint = "Its first judge answers typed questions, once each. Leave these out."
            self._problem(at(*path), "a cascade has no repeats and no prompt of yours", hint)
        return variant if len(self._findings.problems) == before else None

    def _models(self, settings: Mapping[str, object], *path: str) -> tuple[JudgeModel, ...]:
        if "panel" in settings:
            panel, place = settings["panel"], self._document.at(*path, "panel")
            members = as_array(panel)
            if any(is_object(one) and "first" in one for one in members):
                self._problem(place, "a cascade is in a panel", "Try it as a model of its own.")
            if len(members) < 2:
                hint = "Write two models or more: [openai:gpt-5, anthropic:claude-sonnet-4-5]."
                self._problem(place, "a panel is a list of models", hint)
                return ()
            models = [
                self._model(member, self._document.at(*path, "panel", i))
                for i, member in enumerate(members)
            ]
        elif "model" in settings:
            models = [self._model(settings["model"], self._document.at(*path, "model"))]
        else:
            models = []
        return tuple(model for model in models if model is not None)

    def _model(self, value: object, place: Place) -> JudgeModel | None:
        fields = value if is_object(value) and "first" not in value else {"id": judge_id(value)}
        name, config = fields.get("id"), fields.get("config", {})
        if (
            not isinstance(name, str)
            or not name.strip()
            or not is_object(config)
            or fields.keys() - {"id", "config"}
        ):
            hint = "Write openai:gpt-5-mini, or {id: openai:gpt-5-mini, config: {temperature: 1}}."
            self._problem(place, f"{value!r} is not a model", hint)
            return None
        model = JudgeModel(name.strip(), config, str(self._base))
        try:
            provider = model.provider()
        except UsageError as error:
            self._problem(place, error.message, error.hint)
            return model
        if provider.id.startswith(SEVERAL) and not isinstance(provider, CascadeJudge):
            self._problem(place, f"{value!r} is several models", "Try each of its judges.")
        return model

    def _repeats(self, value: object, place: Place) -> int:
        if wrong := REPEATS.problem("repeats", value):
            self._problem(place, wrong, "It is how many votes each judge has.")
            return 1
        return cast(int, value)

    def _prompt(self, value: object, place: Place) -> str:
        text = self._text(value, "prompt", place)
        if text and "output" not in text:
            hint = "Write {{output}} where the output goes. A file is prompt: file://judge.txt."
            self._problem(place, "the prompt doesn't show the output", hint)
        wrong = unfillable(text, NO_CONFIG) if text else None
        if wrong:
            self._problem(place, f"the prompt cannot be filled in: {wrong}", "")
        return text

    def _text(self, value: object, key: str, place: Place) -> str:
        if not isinstance(value, str) or (not value.strip() and value):
            self._problem(place, f"{key} is {value!r}, not a text", "")
            return ""
        if not value.startswith(_FILE):
            return value
        path = self._base / value.removeprefix(_FILE)
        return read_text(path, self._findings, place) or ""

    def _problem(self, place: Place, what: str, hint: str) -> None:
        self._findings.problem(place, what, hint)
