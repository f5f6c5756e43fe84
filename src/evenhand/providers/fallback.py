"""A judge with others who are asked in its place, in turn, when it is over its quota or out of reach.

`judge: [a, b]` is the id `fallback:["a","b"]`, so that a list can stand wherever an id does. Who asks whom is the
engine's: here is only who they are. As a provider, it is its first model.
"""

from __future__ import annotations

from evenhand.core.encoding import decoded
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_texts
from evenhand.core.provider import Provider, fallback_id
from evenhand.core.record import Record
from evenhand.providers.catalog import create
from evenhand.providers.roster import model_id
from evenhand.providers.wanted import Wanted
from evenhand.providers.wrapped import SeveralJudges


class FallbackJudge(SeveralJudges, Record, frozen=True):
    """Several judges, the first of whom is asked as long as it can be. Implements `Provider`.

    Attributes:
        providers: In the order in which they are asked, two at least.
    """

    providers: tuple[Provider, ...]

    @property
    def id(self) -> str:
        return fallback_id([one.id for one in self.providers])

    @property
    def label(self) -> str:
        return ", else ".join(one.label for one in self.providers)

    @property
    def judges(self) -> tuple[Provider, ...]:
        return self.providers


def make(wanted: Wanted) -> FallbackJudge:
    """The judges of an id `fallback:["a","b"]`.

    Raises:
        UsageError: It has not two ids at least, or one of them is unknown.
    """
    ids = decoded(wanted.rest)
    if not is_texts(ids) or len(ids) < 2:
        raise UsageError(
            f"provider '{wanted.id}' has not two judges at least",
            hint='Write judge: [a, b]; as one id, fallback:["a","b"].',
        )
    return FallbackJudge(
        tuple(
            create(
                model_id(one),
                config=wanted.config,
                env=wanted.env,
                base=wanted.base,
                fill=wanted.fill,
            )
            for one in ids
        )
    )
