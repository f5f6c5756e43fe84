"""How close two texts are in meaning, by their embeddings."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Protocol, runtime_checkable

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.provider import Provider
from evenhand.core.score import Score
from evenhand.core.traits import Traits
from evenhand.scorers.opposite import Question
from evenhand.scorers.rag.definitions import definitions_for, need_definitions
from evenhand.scorers.rag.material import answer_in, need_optional_text, reference_of
from evenhand.scorers.rag.proportions import asked_by, nothing

Vectors = Sequence[Sequence[float]]


class Embeds(Protocol):
    """What makes embeddings: one vector for each text, in their order. It may be async."""

    def embed(self, texts: Sequence[str], /) -> Vectors | Awaitable[Vectors]: ...


Embedder = str | Provider | Embeds
"""Who makes embeddings: a model's id, a provider, or anything with `embed(texts)`."""


@runtime_checkable
class UsesEmbedder(Protocol):
    """A scorer that has embeddings made: a dataclass with a field `embedder`; None for whoever the run names."""

    @property
    def embedder(self) -> Embedder | None: ...


_NAME_ONE = "Give anything that has embed(texts) and returns one vector for each text: embedder=…"


@dataclass(frozen=True, slots=True)
class SemanticSimilarity(Question):
    """The cosine of the output's embedding and the reference's, from −1 to 1, as it is.

    Cosines of different models cannot be compared, and 0.8 means nothing by itself: the model and the dimension are
    kept beside it. An empty text on either side: not applicable.

    Args:
        reference: What the output should mean; what the case expects by default.
        embedder: What makes embeddings: anything with `embed(texts)`, a model's id or a provider.

    Raises:
        UsageError: The reference isn't text.
    """

    traits: ClassVar[Traits] = Traits(gives="number", counted=False)
    metric: ClassVar[str] = "semantic_similarity"

    reference: str | None = None
    embedder: Embedder | None = field(default=None, kw_only=True, repr=False)
    definitions: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        need_optional_text("SemanticSimilarity", "reference", self.reference)
        need_definitions("SemanticSimilarity", self.metric, self.definitions)

    async def score(self, output: Any, trial: Trial) -> Score:
        answer, reference = answer_in(output), reference_of(self.reference, trial)
        if not answer:
            return nothing("the answer is empty")
        if not reference:
            return nothing("there is no reference")
        name, (one, other) = await embeddings(self.embedder, trial, [answer, reference])
        whose = definitions_for(self.metric, self.definitions)
        similarity = cosine(one, other)
        metadata = {"embedder": name, "dimension": len(one), **asked_by(definitions=whose)}
        return Score(similarity, None, f"cosine {similarity:.3f}", metadata)

    def __str__(self) -> str:
        return self.metric


async def embeddings(
    embedder: Embedder | None, trial: Trial, texts: Sequence[str]
) -> tuple[str, list[list[float]]]:
    """Who made them, and a vector for each text.

    Raises:
        UsageError: Nobody is named to make them, or who is named cannot.
        ScoreError: What came back is not one vector of numbers for each text, all of one length.
    """
    if embedder is None:
        raise UsageError("no model is named to make embeddings", hint=_NAME_ONE)
    source: Any = trial.provider(embedder) if isinstance(embedder, str) else embedder
    # A provider is asked through the trial, so that its calls are journaled and paid for like all others.
    if not hasattr(source, "embed") and hasattr(source, "request"):
        source = trial.model(source, "judge")
    name = next(
        (str(n) for n in (getattr(source, k, None) for k in ("id", "name", "model")) if n),
        type(source).__name__,
    )
    embed = getattr(source, "embed", None)
    if not callable(embed):
        raise UsageError(f"{name} makes no embeddings: it has no embed(texts)", hint=_NAME_ONE)
    vectors: object
    if inspect.iscoroutinefunction(embed):
        vectors = await embed(list(texts))
    else:
        vectors = await trial.call(embed, list(texts), name=f"{name}.embed")
    return name, _vectors(vectors, len(texts), name)


def _vectors(returned: Any, count: int, name: str) -> list[list[float]]:
    try:
        vectors = [list(vector) for vector in returned]
    except TypeError:
        raise ScoreError(f"{name} gave no list of vectors") from None
    if len(vectors) != count:
        raise ScoreError(f"{name} gave {len(vectors)} vectors for {count} texts")
    if len({len(vector) for vector in vectors}) > 1:
        raise ScoreError(f"{name} gave vectors of different lengths")
    for vector in vectors:
        if not all(isinstance(x, Real) and math.isfinite(x) for x in vector) or not any(vector):
            raise ScoreError(f"{name} gave a vector without a direction: zeros, NaN or no numbers")
    return [[float(x) for x in vector] for vector in vectors]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two vectors of one length, neither of them zero.

    >>> round(cosine([1, 0], [1, 1]), 4)
    0.7071
    """
    # Rounding can take a cosine past 1, which no bound allows for.
    lengths = math.hypot(*one) * math.hypot(*other)
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(one, other, strict=True)) / lengths))
