"""What an expectation asks for: what kind it is of, and the texts that it wants or forbids."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from evenhand.core.errors import NotRecorded
from evenhand.core.expect import Expectation
from evenhand.core.provider import Provider
from evenhand.core.record import Record
from evenhand.core.score import Outcome
from evenhand.core.traits import label_of
from evenhand.doors.assertions.answers import Refuses
from evenhand.doors.assertions.kinds import FAMILIES
from evenhand.doors.assertions.preparing import AfterTransform
from evenhand.doors.assertions.sets import AssertSet
from evenhand.doors.prompt_directories.eval_scorers import Finds, Has, Long
from evenhand.scorers.label import Label
from evenhand.scorers.opposite import Not
from evenhand.scorers.text import (
    Contains,
    ContainsAll,
    ContainsAny,
    Equals,
    Matches,
    StartsWith,
    value_text,
)

Role = Literal["content", "form", "forbids", "code", "judge", "steps", "state", "beside", "broken"]
"""content: what an answer says · form: how it is written · forbids: what it must not say · code: a function of the
user's, which may look at anything · judge: a model's verdict · steps: what an agent did · state: what it left behind ·
beside: time, cost and the like, which no text decides · broken: no answer can be looked at."""

_ROLES: Mapping[str, Role] = {
    "text": "content",
    "structured": "form",
    "markup": "form",
    "sql": "form",
    "overlap": "content",
    "calls": "steps",
    "user_code": "code",
    "webhook": "code",
    "judged": "judge",
    "retrieval": "judge",
    "embedded": "judge",
    "traces": "steps",
    "trajectory": "steps",
    "agent_steps": "steps",
    "bounds": "beside",
}
"""The roles of assertion types, by their families."""
_ONES: Mapping[str, Role] = {
    "word-count": "form",
    "is-refusal": "content",
    "finish-reason": "beside",
    "perplexity": "beside",
    "perplexity-score": "beside",
    "guardrails": "beside",
    "steps:leaves-state": "state",
    "latency": "beside",
    "steps:never-succeeds": "forbids",
    "steps:only-calls": "forbids",
    **dict.fromkeys(
        ("steps:never-fails", "steps:never-repeats", "steps:never-loops", "steps:count"), "beside"
    ),
    **dict.fromkeys(("steps:tokens", "steps:cost", "steps:duration"), "beside"),
    **dict.fromkeys(("trajectory:step-count",), "beside"),
    **dict.fromkeys(("steps:achieves-goal", "steps:passes", "trajectory:goal-success"), "judge"),
}
_MODULES: Mapping[str, Role] = {
    "limits": "beside",
    "text": "content",
    "label": "content",
    "refusal": "content",
    "metric": "content",
    "wording": "content",
    "retrieval": "beside",
    "structured": "form",
    "html": "form",
    "xml": "form",
    "sql": "form",
    "function": "code",
    "python_code": "code",
    "javascript": "code",
    "final_state": "state",
    "known_outcomes": "broken",
    "agents": "steps",
    "declared_calls": "steps",
    "evaluators": "code",
}
"""The roles of our scorers, by their modules."""
_FORMS = frozenset({"WordCount", "MeasuredNumber"})
_BESIDE = frozenset(
    {
        *("StepCount", "TokenCount", "StepCost", "StepDuration"),
        *("NeverFails", "NeverRepeats", "NeverLoops"),
    }
)
"""Scorers of how something is done, whatever it is."""
_NEVER = frozenset({"NeverSucceeds", "OnlyCalls"})


class Demand(Record, frozen=True, kw_only=True):
    """What one expectation asks for.

    Attributes:
        role: What it looks at.
        texts: Literal texts: all of them wanted, or any of them forbidden.
        any_of: Literal texts, one of which is wanted.
        whole: What the output has to be, word for word; None where that isn't said.
        exact: Whether nothing but `whole` will do: another wording of it is wrong.
        refusal: Whether a refusal is wanted.
        no_refusal: Whether a refusal is forbidden.
        own_code: Whether code of the user's decides, which may not do so twice in the same way.
        of_steps: Whether it looks at what was done, or at what was left behind.
    """

    name: str
    role: Role
    texts: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    whole: str | None = None
    exact: bool = False
    refusal: bool = False
    no_refusal: bool = False
    own_code: bool = False
    of_steps: bool = False

    def agrees(self, text: str) -> bool:
        """Whether a text has the literal texts that are wanted, capitals aside; true where none are."""
        lower = text.casefold()
        return all(one.casefold() in lower for one in self.texts) and (
            not self.any_of or any(one.casefold() in lower for one in self.any_of)
        )


def demand_of(expectation: Expectation, outcome: Outcome | None = None) -> Demand:
    """What an expectation asks for.

    Args:
        outcome: What it came to for some answer, where judges were not asked: it says who would have been.
    """
    definition = expectation.definition
    written = definition.kind if definition is not None and definition.exact else ""
    if written[:1].isupper():  # the name of a class, as prompt directories have it
        written = ""
    name = expectation.label or label_of(expectation.scorer)
    demand = _of_scorer(expectation.scorer, written, name)
    if _of_steps(expectation.scorer, written):
        demand = replace(demand, of_steps=True)
    if outcome is not None and outcome.error == NotRecorded.slug:
        role: Role = "judge"
        return replace(demand, role=role, own_code=False)
    return demand


def of_something_else(demand: Demand) -> Demand:
    """What an expectation asks for that isn't about the answer: its texts say nothing of a right one."""
    return replace(demand, texts=(), any_of=(), whole=None, exact=False)


def _of_steps(scorer: object, written: str) -> bool:
    """Whether a scorer looks at what an agent did."""
    if isinstance(scorer, Not):
        scorer = scorer.scorer
    kind = written.removeprefix("not-")
    module = type(scorer).__module__
    return kind.startswith(("steps:", "trajectory:")) or module.startswith(
        ("evenhand.scorers.agents", "evenhand.scorers.final_state")
    )


def _of_scorer(scorer: object, written: str, name: str) -> Demand:
    kind, negated = (written[4:], True) if written.startswith("not-") else (written, False)
    inner, changed = scorer, False
    if isinstance(inner, AfterTransform):
        inner, changed = inner.scorer, True
    if isinstance(inner, Not):
        inner, negated = inner.scorer, True
    if isinstance(inner, AssertSet):
        return _of_set(inner, name)
    role = _role(inner, kind)
    if isinstance(inner, Refuses):
        return Demand(
            name=name,
            role="forbids" if inner.negated else "content",
            refusal=not inner.negated,
            no_refusal=inner.negated,
        )
    own = role == "code" or changed
    # `not-word-count` still says how long; `not-is-json` says what an answer must not be.
    opposite = role in ("content", "code", "judge", "steps", "form") and kind != "word-count"
    if _is_negated(inner) or (negated and opposite):
        texts = () if changed else _forbidden(inner)
        whole = _whole(inner) if not changed and role == "content" else None
        return Demand(
            name=name,
            role="judge" if role == "judge" else "forbids",
            texts=texts,
            whole=whole,
            own_code=own,
        )
    if changed:  # what it wants, it wants of something else than the answer
        return Demand(name=name, role=role, own_code=True)
    texts, any_of, whole, exact = _literals(inner)
    return Demand(
        name=name,
        role=role,
        texts=texts,
        any_of=any_of,
        whole=whole,
        exact=exact,
        refusal=kind == "is-refusal",
        own_code=own,
    )


def _of_set(scorer: AssertSet, name: str) -> Demand:
    """What a set asks for: as much as what is in it, where all of that has to hold."""
    inside = [demand_of(one) for one in scorer.expectations]
    roles = [one.role for one in inside]
    order: tuple[Role, ...] = ("judge", "code", "content", "steps", "state", "form", "forbids")
    known: list[Role] = [one for one in order if one in roles]
    # By threshold or `excusing` some of it may fail.
    all_of_it = scorer.threshold is None and not scorer.excusing
    role: Role = known[0] if known else "beside"
    texts = [text for one in inside if one.role == "content" for text in one.texts]
    if (
        role == "forbids"
    ):  # what breaks one of them may still leave enough of the others: then it says so
        texts = [text for one in inside for text in one.texts]
    whole = next((one.whole for one in inside if one.whole is not None), None)
    return Demand(
        name=name,
        role=role,
        texts=tuple(texts) if all_of_it or role == "forbids" else (),
        whole=whole if all_of_it else None,
        refusal=any(one.refusal for one in inside),
        own_code=any(one.own_code for one in inside),
    )


@functools.cache
def _family(kind: str) -> str:
    return next((family for family, names in FAMILIES.items() if kind in names.split()), "")


def _role(scorer: object, kind: str) -> Role:
    if kind:
        return _ONES.get(kind) or _ROLES.get(_family(kind), "code")
    module = type(scorer).__module__
    name = type(scorer).__name__
    if name in _FORMS:
        return "form"
    if name in _BESIDE:
        return "beside"
    if isinstance(scorer, Has | Finds):
        return "content"
    if isinstance(scorer, Long):
        return "form"
    if not module.startswith("evenhand.scorers"):
        return "code"
    return _MODULES.get(module.removeprefix("evenhand.scorers.").partition(".")[0], "judge")


def _is_negated(scorer: object) -> bool:
    """Whether a scorer says by itself what must not be."""
    if isinstance(scorer, Has | Finds):
        return scorer.op.startswith("not")
    return type(scorer).__name__ in _NEVER or bool(vars_of(scorer).get("negated"))


def vars_of(scorer: object) -> Mapping[str, object]:
    """The arguments of a scorer, as far as they can be seen."""
    names = [
        *getattr(type(scorer), "__struct_fields__", ()),
        *getattr(type(scorer), "__dataclass_fields__", ()),
    ]
    return {name: getattr(scorer, name, None) for name in names}


def _forbidden(scorer: object) -> tuple[str, ...]:
    """The texts of which any breaks a question that is turned round."""
    if isinstance(scorer, Contains | StartsWith):
        return (scorer.wanted,) if scorer.wanted else ()
    if isinstance(scorer, ContainsAny | Has):
        return tuple(scorer.wanted)[:1]
    if isinstance(scorer, ContainsAll):
        return (" ".join(scorer.wanted),)
    return ()


def _whole(scorer: object) -> str | None:
    """The output that a question wants, word for word; None where it wants less."""
    if isinstance(scorer, Equals):
        return value_text(scorer.wanted)
    return str.__str__(scorer.wanted) if isinstance(scorer, Label) else None


_Literals = tuple[tuple[str, ...], tuple[str, ...], str | None, bool]


def _literals(scorer: object) -> _Literals:
    """The texts that a question wants: all, one of them, the whole, and whether nothing but the whole will do."""
    if isinstance(scorer, Equals | Label):
        is_text = isinstance(scorer, Label) or isinstance(scorer.wanted, str)
        return (), (), _whole(scorer), is_text
    if isinstance(scorer, Contains | StartsWith):
        return (scorer.wanted,) if scorer.wanted else (), (), None, False
    if isinstance(scorer, ContainsAll):
        return tuple(scorer.wanted), (), None, False
    if isinstance(scorer, ContainsAny):
        return (), tuple(scorer.wanted), None, False
    if isinstance(scorer, Has):
        some = scorer.op == "contains_any"
        texts = tuple(scorer.wanted)
        return () if some else texts, texts if some else (), None, False
    return (), (), None, isinstance(scorer, Matches | Finds)


def literal_texts(demands: Sequence[Demand]) -> Iterator[str]:
    """All the literal texts that expectations want of an answer."""
    for one in demands:
        if one.role == "content":
            yield from one.texts
            yield from one.any_of
            if one.whole is not None:
                yield one.whole


def judge_in(expectations: Sequence[Expectation]) -> Provider | None:
    """The model that judges some expectation, where its scorer names one; None where none does."""
    for expectation in expectations:
        values = list(vars_of(expectation.scorer).values())
        for value in [*values, *(one for each in values for one in vars_of(each).values())]:
            if isinstance(value, Provider):
                return value
    return None
