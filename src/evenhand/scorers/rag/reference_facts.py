"""What a reference claims and names: as given, as the dataset stores it, or as a judge finds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.expect import Trial
from evenhand.scorers.rag.analysis import Analysis
from evenhand.scorers.rag.claims import (
    ENTITIES,
    REFERENCE_CLAIMS,
    Claim,
    Entity,
    Provenance,
    claims_in,
    entities_in,
)
from evenhand.scorers.rag.material import stored

Claims = Sequence[str | Mapping[str, Any]] | None
"""Claims of a reference: texts, or `{"claim": …, "weight": …}`."""


async def known_claims(
    own: object, question: str, reference: str, analysis: Analysis
) -> tuple[tuple[Claim, ...], Provenance | None]:
    """The claims of the reference, and who found them; none of them where there is no reference."""
    fixed = _fixed(own, REFERENCE_CLAIMS, analysis.trial)
    if fixed is not None:
        return claims_in(fixed), None
    if not reference:
        return (), None
    facts = await analysis.facts(question, reference)
    return facts.claims or (), facts.provenance


async def known_entities(
    own: object, question: str, reference: str, analysis: Analysis
) -> tuple[tuple[Entity, ...], Provenance | None]:
    """The entities of the reference, and who found them; none of them where there is no reference."""
    fixed = _fixed(own, ENTITIES, analysis.trial)
    if fixed is not None:
        return entities_in(fixed), None
    if not reference:
        return (), None
    facts = await analysis.facts(question, reference)
    return facts.entities or (), facts.provenance


def _fixed(own: object, key: str, trial: Trial) -> object:
    return stored(trial, key) if own is None else own
