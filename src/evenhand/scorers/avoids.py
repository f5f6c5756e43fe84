"""A judge's yes or no: whether an output is free of a kind of failure that people have named and ratified."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from evenhand.core.errors import UsageError
from evenhand.core.expect import Trial
from evenhand.core.score import Score
from evenhand.core.traits import Traits
from evenhand.languages.documents.failures_yml import FILE, Codebook, Kind, read_codebook
from evenhand.scorers.constructor_checks import need_text
from evenhand.scorers.judging import AsksJudge, check_judge
from evenhand.scorers.passes import Passes
from evenhand.scorers.text import quoted

KIND = "kind"
"""The key of an outcome's metadata that has the kind's name."""
RULE_ID = "rule_id"
"""The key that has a digest of the kind's name, rule and examples."""


@dataclass(frozen=True, slots=True)
class Avoids(AsksJudge):
    """A judge says that the output doesn't have a kind of failure, or that it does: 1 or 0.

    The kind, its rule and its examples are those of a `failures.yml`, where a person has to have ratified it. The
    outcome's metadata is that of `Passes`, with the kind and a digest of its rule and examples.

    Args:
        kind: The kind's name.
        rule: When an output has the kind. Then no file is read.
        kinds: The file; `failures.yml` in the current folder by default.
        context: What the output answers, and what else the judge should know.
        judge: Who judges; the set's judge by default.

    Raises:
        UsageError: There is no such kind, nobody ratified it, it has changed since, or the judge isn't a model.
        ConfigError: All that is wrong with the file.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")
    kind: str
    rule: str = field(default="", kw_only=True)
    kinds: str | Path = field(default=FILE, kw_only=True)
    context: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        check_judge(self.judge)
        for name, text in (("kind", self.kind), ("rule", self.rule), ("context", self.context)):
            need_text("Avoids", name, text)
        if not self.kind.strip():
            raise UsageError("Avoids: kind is empty", hint="Name a kind of failure.")
        self._named()

    async def score(self, output: Any, trial: Trial) -> Score:
        kind = self._named()
        question = question_of(kind, self.context)
        own = question if self.judge is None else question.judged_by(self.judge)
        score = await own.score(output, trial)
        return replace(score, metadata={**score.metadata, KIND: kind.name, RULE_ID: kind.rule_id})

    def __str__(self) -> str:
        return f"avoids {quoted(self.kind.strip())}"

    def _named(self) -> Kind:
        if self.rule.strip():
            return Kind(name=self.kind.strip(), rule=self.rule.strip())
        path = Path(self.kinds)
        changed = path.stat().st_mtime_ns if path.is_file() else 0
        kind = _read(path.absolute(), changed).named(self.kind.strip())
        need_ratified(kind)
        return kind


def question_of(kind: Kind, context: str = "") -> Passes:
    """What a judge is asked about an output under a kind: whether the output is free of it.

    Args:
        context: What the output answers; empty where the judge isn't told.
    """
    has = [{"output": text, "passes": False} for text in kind.examples_for]
    free = [{"output": text, "passes": True} for text in kind.against]
    return Passes(
        f"The output doesn't have this failure: {kind.name}. An output has it when: {kind.rule}",
        examples=(*has, *free),
        context=f"The output answers this:\n{context}" if context else "",
    )


def need_ratified(kind: Kind) -> None:
    """Refuses a kind that a judge may not go by.

    Raises:
        UsageError: Nobody ratified it, or it has changed since.
    """
    if kind.is_ratified:
        return
    name = kind.name
    if kind.ratified is None:
        what = f"nobody has ratified {name!r}"
    else:
        what = f"{name!r} has changed since {kind.ratified.by} ratified it"
    raise UsageError(what, hint=f"Read its rule, then: evenhand review ratify {name!r} --by NAME")


@lru_cache(maxsize=64)
def _read(path: Path, changed: int) -> Codebook:
    """The kinds in a file, read again once it has changed."""
    del changed
    return read_codebook(path)
