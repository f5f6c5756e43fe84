"""Whether what a right answer names stands in the retrieved passages."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand.core.expect import Trial
from evenhand.core.score import SHARES, Score
from evenhand.core.traits import Traits
from evenhand.scorers.rag.analysis import Analysis, known_entities
from evenhand.scorers.rag.claims import Entity
from evenhand.scorers.rag.contexts import retrieved
from evenhand.scorers.rag.definitions import definitions_for
from evenhand.scorers.rag.material import RagMetric, question_of, reference_of
from evenhand.scorers.rag.proportions import asked_by, nothing, proportion


@dataclass(frozen=True, slots=True)
class EntityRecall(RagMetric):
    """The share of the entities of a reference that stand in the retrieved passages, from 0 to 1.

    Entities are what the case stores as `entities`, with their aliases; where it stores none, the judge names them.
    They are looked for by code: case, width and the way accents are written make no difference, and a name is found as
    whole words only, where its script has words. No passages, no reference, or one that names nothing: not applicable.

    Args:
        reference: What a right answer is; what the case expects by default.
        entities: What it names: names, `{"name": …, "aliases": […]}`, or names with their aliases.
        question: What was asked; the case's `input` by default.
        judge: Who judges; the set's judge by default. Nobody is asked where entities are given or stored.
        definitions: Whose definition: evenhand or ragas.

    Raises:
        UsageError: The reference isn't text, or the judge isn't a model.
    """

    traits: ClassVar[Traits] = Traits(
        gives="number", scale=SHARES, of_contexts=True, may_ask_nobody=True
    )
    metric: ClassVar[str] = "entity_recall"

    reference: str | None = None
    entities: Sequence[str | Mapping[str, Any]] | Mapping[str, Sequence[str]] | None = field(
        default=None, kw_only=True, hash=False
    )
    question: str | None = field(default=None, kw_only=True)
    definitions: str = field(default="", kw_only=True)

    async def score(self, output: Any, trial: Trial) -> Score:
        passages = retrieved(self, output)
        if not passages:
            return nothing("there are no contexts")
        question, reference = question_of(self.question, trial), reference_of(self.reference, trial)
        entities, provenance = await known_entities(
            self.entities, question, reference, Analysis(trial, self.judge)
        )
        whose = definitions_for(self.metric, self.definitions)
        details = asked_by(provenance, definitions=whose)
        if not entities:
            if whose == "ragas" and reference:
                return Score(0.0, None, "the reference names nothing", details)
            return nothing(
                "the reference names nothing" if reference else "there is no reference", **details
            )
        if whose == "ragas":
            text = "\n".join(passages)
            missing = [entity.name for entity in entities if entity.name not in text]
        else:
            folded = [folded_text(passage) for passage in passages]
            missing = [e.name for e in entities if not any(stands_in(e, text) for text in folded)]
        n = len(entities)
        reason = f"{n - len(missing)} of {n} entities of the reference are in the contexts"
        reason += f"; not: {', '.join(missing[:5])}" if missing else ""
        return proportion(n - len(missing), n, reason, missing=missing, **details)


def folded_text(text: str) -> str:
    """A text as names are looked for in it: in one form, in lower case, with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def stands_in(entity: Entity, text: str) -> bool:
    """Whether a name of the entity stands in a folded text, as whole words where its script has words.

    >>> stands_in(Entity("Ruby"), folded_text("RUBY is fun")), stands_in(Entity("Rub"), "ruby is fun")
    (True, False)
    """
    return any(_named(folded_text(name), text) for name in (entity.name, *entity.aliases))


def _named(name: str, text: str) -> bool:
    at = text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        # At the start of the text the slice is text[-1:0], which is empty and joins nothing.
        if not (_joined(text[at - 1 : at], name[0]) or _joined(name[-1], text[end : end + 1])):
            return True
        at = text.find(name, at + 1)
    return False


def _joined(one: str, other: str) -> bool:
    """Whether these two letters are of one word: never where the script writes its words together."""
    return one.isalnum() and other.isalnum() and not (_unspaced(one) or _unspaced(other))


def _unspaced(char: str) -> bool:
    """Whether a character's script has no spaces: Chinese, Japanese, Thai, Lao, Khmer, Myanmar, Tibetan.

    Korean puts its particles onto names, so it counts as one.
    """
    code = ord(char)
    return (
        0x0E00 <= code <= 0x0FFF
        or 0x1000 <= code <= 0x109F
        or 0x1780 <= code <= 0x17FF
        or 0x3040 <= code <= 0x30FF
        or 0x3400 <= code <= 0x9FFF
        or 0xAC00 <= code <= 0xD7AF
        or 0x20000 <= code <= 0x3FFFF
    )
