"""What `evenhand scorers --json` and `evenhand providers --json` print."""

from __future__ import annotations

from typing import Any

from evenhand.cli.plugin_listing import added
from evenhand.core.plugins import ASSERTIONS, PROVIDERS, SCORERS
from evenhand.doors.assertions.kinds import kinds
from evenhand.providers.catalog import KEYS, SCHEMES
from evenhand.scorers.catalog import scorers

SCORERS_SCHEMA = "evenhand.scorers/1"
PROVIDERS_SCHEMA = "evenhand.providers/1"


def scorers_document() -> dict[str, Any]:
    """The scorers of eval sets, the assertion types of configs, and what packages add to both."""
    return {
        "schema": SCORERS_SCHEMA,
        "scorers": [
            {
                "name": one.name,
                "description": one.description,
                "takes": one.value,
                "needs": one.needs,
                "opposite": one.negated or None,
            }
            for one in scorers()
        ],
        "assertions": [
            {
                "type": one.name,
                "description": one.about,
                "takes": one.takes,
                "negation": one.negation,
            }
            for one in kinds()
        ],
        "added_scorers": _added(SCORERS),
        "added_assertions": _added(ASSERTIONS),
    }


def providers_document() -> dict[str, Any]:
    """The forms of ids, the variables of their keys, and what packages add."""
    return {
        "schema": PROVIDERS_SCHEMA,
        "providers": [
            {"id": form, "description": what, "key": KEYS.get(form.partition(":")[0]) or None}
            for form, what in SCHEMES.items()
        ],
        "added": _added(PROVIDERS),
    }


def _added(group: str) -> list[dict[str, str]]:
    return [
        {
            "name": one.name,
            "package": one.package,
            "version": one.version,
            "place": one.place,
            "not_used": unused,
        }
        for one, unused in added(group)
    ]
