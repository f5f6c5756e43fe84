"""An assertion as a config has it, what it may look at, and what its type is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import field as msgspec_field

from evenhand.core.errors import EvenhandError, ScoreError
from evenhand.core.expect import Expectation, Scorer
from evenhand.core.json_shapes import is_mapping, with_whole_numbers
from evenhand.core.message import Reply, Task
from evenhand.core.provider import Provider
from evenhand.core.record import MutableRecord, Record
from evenhand.core.secrets import redacted
from evenhand.core.step import Step
from evenhand.languages.templates.rendering import NO_CONFIG, Templates

Make = Callable[["Cell"], Expectation]
"""Makes the expectation of one output."""


class Assertion(Record, frozen=True, kw_only=True):
    """One assertion as a config has it.

    Attributes:
        type: Without `not-`.
        negated: It had `not-`.
        value: As written; schemas and rubrics from files are read already.
        threshold: As written.
        weight: Its share in the test's score.
        metric: Also count its score under this name; may have tags.
        judge: Who judges, where somebody does.
        embedder: Who embeds, for a type that asks both.
        refused: It names a model that cannot be had, which has been said.
        rubric_prompt: The user's own judge prompt; empty for ours.
        transform: Changes the output before it is looked at.
        config: Passed to the user's code.
        base: The folder that paths start from.
        place: Where it stands, for people.
        options: The test's options, for types that look at them.
        context_transform: Takes the context of retrieval types out of the output.
        makes: Of a set: what makes the expectations in it.
        excusing: Of a set: the places of those that let it pass when they fail.
        more: All its keys, as written, for those that one type alone has.
    """

    type: str
    negated: bool = False
    value: Any = None
    threshold: float | None = None
    weight: float = 1.0
    metric: str = ""
    judge: Provider | None = None
    embedder: Provider | None = None
    refused: bool = False
    rubric_prompt: str = ""
    transform: str = ""
    config: Mapping[str, Any] = msgspec_field(default_factory=dict[str, Any])
    base: Path = Path()
    place: str = ""
    options: Mapping[str, Any] = msgspec_field(default_factory=dict[str, Any])
    context_transform: str = ""
    makes: tuple[Make, ...] = ()
    excusing: frozenset[int] = frozenset()
    more: Mapping[str, Any] = msgspec_field(default_factory=dict[str, Any])
    templates: Templates = NO_CONFIG

    @property
    def written(self) -> str:
        """The type as written."""
        return f"not-{self.type}" if self.negated else self.type

    def misvalued(self, value: object, what: str = "", hint: str = "") -> ScoreError:
        """The error that this is not its value: `what` goes on from there, as in `, not a text`."""
        return ScoreError(f"the value of '{self.written}' is {value!r}{what}", hint=hint)


class Cell(MutableRecord, kw_only=True):
    """What an assertion may look at, beside the output."""

    output: Any
    prompt: str
    variables: Mapping[str, Any]
    test: Mapping[str, Any]
    provider_id: str
    provider_label: str
    reply: Reply | None = None
    metadata: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    provider_config: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    steps: Callable[[], Sequence[Step]] = tuple
    """What the run itself saw behind the output."""

    @property
    def trace(self) -> Mapping[str, Any] | None:
        """What the provider, or else the test, tells of the spans behind the output: `{spans: […]}`."""
        for metadata in (self.reply.metadata if self.reply else {}, self.metadata):
            trace: object = metadata.get("trace")
            if is_mapping(trace) and isinstance(trace.get("spans"), list):
                return trace
        return None

    def context(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """What user code is given as `context`: plain copies, so that it can change nothing of ours."""
        from evenhand.scorers.python_code import plain_copy  # noqa: PLC0415 (only for configs with code)

        reply = self.reply
        variables = plain_copy(dict(self.variables))
        context: dict[str, Any] = {
            "prompt": self.prompt,
            "vars": variables,
            "test": {
                **plain_copy(dict(self.test)),
                "vars": plain_copy(variables),
                "metadata": plain_copy(dict(self.metadata)),
            },
            "config": plain_copy(dict(config)),
            "provider": {
                "id": self.provider_id,
                "label": self.provider_label,
                "config": plain_copy(with_whole_numbers(redacted(dict(self.provider_config)))),
            },
            "metadata": self.reply_metadata(),
            "providerResponse": {},
        }
        trace = self.trace
        if trace is not None:
            context["trace"] = plain_copy(dict(trace))
        if reply is not None:
            if reply.logprobs is not None:
                context["logProbs"] = list(reply.logprobs)
            context["providerResponse"] = response_of(reply, self.output)
        return context

    def reply_metadata(self) -> dict[str, Any]:
        """What the reply said beside its output, as a copy."""
        from evenhand.scorers.python_code import plain_copy  # noqa: PLC0415 (only for configs with code)

        return {} if self.reply is None else plain_copy(dict(self.reply.metadata))


def response_of(reply: Reply, output: object) -> dict[str, Any]:
    """A reply as promptfoo shows it to code, as a copy."""
    from evenhand.scorers.python_code import plain_copy  # noqa: PLC0415 (only for configs with code)

    beside = {k: reply.metadata[k] for k in ("guardrails", "sessionId") if k in reply.metadata}
    known = [n for n in (reply.usage.tokens_in, reply.usage.tokens_out) if n is not None]
    return {
        "output": plain_copy(output),
        "raw": reply.text,
        "cost": reply.cost_usd,
        "cached": reply.origin != "provider",
        "latencyMs": None if reply.latency_s is None else reply.latency_s * 1000,
        "finishReason": reply.finish_reason,
        "tokenUsage": {
            "prompt": reply.usage.tokens_in,
            "completion": reply.usage.tokens_out,
            "total": sum(known) if known else None,
        },
        "metadata": plain_copy(dict(reply.metadata)),
        **plain_copy(beside),
    }


NO_CELL = Cell(
    output="",
    prompt="",
    variables={},
    test={},
    provider_id="",
    provider_label="",
    metadata={"trace": {"spans": []}},
)
"""What a scorer is made for where nothing in it depends on the case, and what values are tried on."""


def split(type_: str) -> tuple[str, bool]:
    """A type as written, as the type and whether it is negated."""
    return (type_[4:], True) if type_.startswith("not-") else (type_, False)


Negation = Literal["opposite", "kept", "own", "ignored", "refused"]
"""What `not-` does: turns verdict and score round; the verdict alone; is the scorer's own business; does nothing."""

Wrong = Sequence[tuple[str, str]]
"""What is wrong, and what to do about it."""


def nothing_wrong(_assertion: Assertion) -> Wrong:
    """The check of a type that has nothing more to check."""
    return ()


def wrong_in(attempt: Callable[[], object]) -> Wrong:
    """What is wrong with a value, as making something of it says; nothing where that can be made."""
    try:
        attempt()
    except EvenhandError as error:
        return ((error.message, error.hint),)
    return ()


MakeScorer = Callable[[Assertion, Cell, Any], Scorer]
"""Makes a scorer of an assertion and its value."""


class _Declared(Record, frozen=True):
    """What every type says of itself, by position; see `Kind`."""

    name: str
    about: str
    make: MakeScorer
    takes: str = ""


class Kind(_Declared, frozen=True, kw_only=True):
    """One assertion type: `Kind("contains", "the output has this text in it", make, "text")`.

    Attributes:
        name: As configs write it, without `not-`.
        about: What it says of the output, in a line.
        make: Its scorer, given the assertion and its value with tags filled in. `cell` is `NO_CELL` where nothing in it
            depends on the case: then it is made once.
        takes: What its value is, in words; empty for nothing.
        group: The heading under which it is listed: the `GROUP` of its module.
        optional: It needs no value.
        needs_threshold: What the threshold counts ("milliseconds"), where it cannot do without; else empty.
        of_each_cell: The scorer looks at more of the cell than the output, so it is made for each.
        negation: What `not-` does to it.
        asks: What it asks a model for; None where it asks none.
        embeds: It asks a model for embeddings besides.
        check: What else can be seen to be wrong before anything runs.
        tags: Whether its value is a template. Code fills its own tags in.
        files: Whether `value: file://x.py` is a function that computes the value; code takes the file itself.
        compares: It compares the outputs of all variants, once they are there.
    """

    group: str = ""
    optional: bool = False
    needs_threshold: str = ""
    of_each_cell: bool = False
    negation: Negation = "opposite"
    asks: Task | None = None
    embeds: bool = False
    check: Callable[[Assertion], Wrong] = nothing_wrong
    tags: bool = True
    files: bool = True
    compares: bool = False
