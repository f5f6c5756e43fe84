"""What `evenhand info scorers --json` and `evenhand info providers --json` print."""

from __future__ import annotations

from typing import Annotated, Any

from evenhand.cli.plugin_listing import added
from evenhand.core.document import Key, as_object, filled
from evenhand.core.plugins import ASSERTIONS, PROVIDERS, SCORERS
from evenhand.core.record import Record
from evenhand.doors.assertions.kinds import kinds
from evenhand.providers.catalog import KEYS, SCHEMES
from evenhand.scorers.catalog import scorers

SCORERS_SCHEMA = "evenhand.scorers/1"
PROVIDERS_SCHEMA = "evenhand.providers/1"


class ProvidersProvider(Record, frozen=True, kw_only=True):
    """What `evenhand.providers/1` says of a provider."""

    id: Annotated[str, Key("how its id is written")]
    description: Annotated[str, Key("what that means")]
    key: Annotated[
        str | None,
        Key(
            "the environment variable that holds its key", null="it needs none, or none of its own"
        ),
    ]


class ProvidersDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.providers/1`."""

    schema: Annotated[str, Key("`evenhand.providers/1`")]
    providers: Annotated[list[ProvidersProvider], Key("in the order in which they are printed")]
    added: Annotated[list[Added], Key("those that installed packages add")]


class ScorersScorer(Record, frozen=True, kw_only=True):
    """What `evenhand.scorers/1` says of a scorer."""

    name: Annotated[str, Key("the class")]
    description: Annotated[str, Key("what it says of an output")]
    takes: Annotated[str, Key("what it is given; empty for nothing")]
    needs: Annotated[str, Key("a judge, a bound, or both; empty for neither")]
    opposite: Annotated[
        str | None, Key("how its opposite is written", null="it measures, or has none")
    ]


class ScorersAssertion(Record, frozen=True, kw_only=True):
    """What `evenhand.scorers/1` says of an assertion."""

    type: Annotated[str, Key("the `type` of an assertion")]
    description: Annotated[str, Key("what it says of an output")]
    takes: Annotated[str, Key("what its value is")]
    negation: Annotated[
        str, Key("what `not-` does to it: `opposite`, `ignored` (nothing) or `refused`")
    ]


class Added(Record, frozen=True, kw_only=True):
    """What is said of what a package adds."""

    name: Annotated[str, Key("the word that you write")]
    package: Annotated[str, Key("the package that adds it")]
    version: Annotated[str, Key("the package's")]
    place: Annotated[str, Key("where it is: `module:attribute`")]
    not_used: Annotated[str, Key("why it isn't used; empty if it is")]


class ScorersDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.scorers/1`."""

    schema: Annotated[str, Key("`evenhand.scorers/1`")]
    scorers: Annotated[list[ScorersScorer], Key("those of `evenhand.scorers`")]
    assertions: Annotated[list[ScorersAssertion], Key("the assertion types of configs")]
    added_scorers: Annotated[list[Added], Key("scorers that installed packages add")]
    added_assertions: Annotated[list[Added], Key("assertion types that installed packages add")]


def scorers_document() -> dict[str, Any]:
    """The scorers of eval sets, the assertion types of configs, and what packages add to both."""
    return as_object(
        ScorersDocument(
            schema=SCORERS_SCHEMA,
            scorers=[
                filled(ScorersScorer, one, takes=one.value, opposite=one.negated or None)
                for one in scorers()
            ],
            assertions=[
                ScorersAssertion(
                    type=one.name, description=one.about, takes=one.takes, negation=one.negation
                )
                for one in kinds()
            ],
            added_scorers=_added(SCORERS),
            added_assertions=_added(ASSERTIONS),
        )
    )


def providers_document() -> dict[str, Any]:
    """The forms of ids, the variables of their keys, and what packages add."""
    return as_object(
        ProvidersDocument(
            schema=PROVIDERS_SCHEMA,
            providers=[
                ProvidersProvider(
                    id=form, description=what, key=KEYS.get(form.partition(":")[0]) or None
                )
                for form, what in SCHEMES.items()
            ],
            added=_added(PROVIDERS),
        )
    )


def _added(group: str) -> list[Added]:
    return [filled(Added, one, not_used=unused) for one, unused in added(group)]
