"""A package that adds to each group of entry points: what works, what is broken, and names that Evenhand has itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from evenhand.core.expect import Trial
from evenhand.core.message import CHATS, Prompt, Reply, Task, Usage
from evenhand.core.provider import Answer, Host, Request
from evenhand.core.score import SHARES, Score
from evenhand.core.traits import Traits
from evenhand.doors.importers import ImportedRun, ImportedTrial, Recordings, recordings


def word_count(output: str) -> int:
    """How many words it has."""
    return len(output.split())


@dataclass(frozen=True)
class Overlap:
    """Which share of the expected words is in it."""

    traits: ClassVar[Traits] = Traits(gives="number", scale=SHARES)

    expected: str

    def score(self, output: Any, trial: Trial) -> Score:
        wanted = set(self.expected.split())
        return Score(len(wanted & set(str(output).split())) / len(wanted))


@dataclass(frozen=True)
class Grounded:
    """How many passages there are; less is better."""

    traits: ClassVar[Traits] = Traits(
        gives="number", lower_is_better=True, counted=False, of_contexts=True
    )

    def score(self, output: Any, trial: Trial) -> Score:
        return Score(float(len(output)))


@dataclass(frozen=True)
class Picky:
    """Fails while it is made."""

    expected: str

    def __post_init__(self) -> None:
        raise ValueError(self.expected)

    def score(self, output: Any, trial: Trial) -> Score:
        return Score(1.0)


class Unmakeable:
    """Made of what nobody has."""

    def __init__(self, secret_sauce: str) -> None:
        self.sauce = secret_sauce

    def score(self, output: Any, trial: Trial) -> Score:
        return Score(1.0)


def formal(output: str, value: str) -> bool:
    """It is as formal as the value says."""
    return ("Dear" in output) is (value == "very")


@dataclass(frozen=True)
class LongerThan:
    """It has more words than the value says."""

    value: int

    def score(self, output: Any, trial: Trial) -> Score:
        words = len(str(output).split())
        return Score(words / (words + int(self.value)), words > int(self.value), f"{words} words")


@dataclass
class Shouter:
    """Answers with the prompt, in capitals and a mark of its config."""

    id: str
    label: str
    mark: str
    account: str = field(init=False, default="")
    paid: bool = field(init=False, default=False)
    tasks: frozenset[Task] = field(init=False, default=CHATS)

    @classmethod
    def made(cls, wanted: Any) -> Shouter:
        """For an id like `shouter:!!`."""
        config: Mapping[str, Any] = wanted.config
        return cls(wanted.id, wanted.label or wanted.id, str(config.get("mark", wanted.rest)))

    def request(self, prompt: Prompt) -> Request:
        data = f"{prompt.text}{self.mark}".encode()
        return Request(identity=data, key="", payload=data, cost_bound_usd=0.0)

    async def send(self, request: Request, host: Host) -> Answer:
        return Answer(request.payload.upper(), 0.0)

    def reply(self, body: bytes) -> Reply:
        return Reply(text=body.decode(), output=body.decode(), usage=Usage(0, 0), cost_usd=0.0)

    async def close(self) -> None:
        """Holds nothing."""


@dataclass
class Locked(Shouter):
    """Answers with a key only."""

    key_name: ClassVar[str] = "EXTRAS_KEY"
    needs_key: bool = field(init=False, default=True)

    @classmethod
    def made(cls, wanted: Any) -> Locked:
        """Looks for its key in the environment."""
        locked = cls(wanted.id, wanted.label or wanted.id, wanted.rest)
        locked.needs_key = not wanted.env.get(cls.key_name)
        return locked


def silent(wanted: Any) -> object:
    """No provider at all."""
    return object()


def nightly(paths: Sequence[Path]) -> Recordings:
    """The results of a tool that writes one JSON object for each run."""
    return recordings("nightly", [(path, night(path)) for path in paths])


def night(path: Path) -> ImportedRun:
    """The run of one file."""
    results = json.loads(path.read_text("utf-8"))
    return ImportedRun(
        id=results["id"],
        title="nightly",
        created_at=results["time"],
        variants=results["models"],
        trials=[
            ImportedTrial(
                case=row["question"],
                variant=results["models"].index(row["model"]),
                outcome="pass" if row["ok"] else "fail",
                output=row["answer"],
                labels={"verdict": "fail"} if row.get("disputed") else {},
            )
            for row in results["rows"]
        ],
    )


def empty(paths: Sequence[Path]) -> dict[str, str]:
    """An importer that returns something else."""
    return {"path": str(paths[0])}
