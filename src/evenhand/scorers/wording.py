"""How near an output's wording comes to a reference: `expect(text, TokenF1(case.expected), at_least=0.8)`.

No model is asked. `evenhand.scorers.metrics.text` defines the numbers. Where a reference has no words, the question
does not apply. BLEU and chrF are sacrebleu's, which `pip install 'evenhand[text]'` brings along.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand.core.errors import UsageError
from evenhand.core.expect import Trial
from evenhand.core.score import SHARES, Score
from evenhand.core.traits import Traits, TraitsOf
from evenhand.scorers.constructor_checks import need_text, texts
from evenhand.scorers.metrics import text as measures_of_text
from evenhand.scorers.metrics.overlap import edit_distance, meteor
from evenhand.scorers.opposite import Question
from evenhand.scorers.text import text_of

Measure = Callable[[str, Sequence[str]], float | None]


def _meteor(text: str, references: Sequence[str]) -> float | None:
    usable = [reference for reference in references if reference.strip()]
    return meteor(text, usable) if usable else None


def _edits(text: str, references: Sequence[str]) -> float | None:
    return min((float(edit_distance(text, other)) for other in references), default=None)


WORDINGS: Mapping[str, Measure] = {
    "exact_match": measures_of_text.exact_match,
    "token_f1": measures_of_text.token_f1,
    "ROUGE-1": functools.partial(measures_of_text.rouge, kind="1"),
    "ROUGE-2": functools.partial(measures_of_text.rouge, kind="2"),
    "ROUGE-L": functools.partial(measures_of_text.rouge, kind="L"),
    "BLEU": measures_of_text.bleu,
    "chrF": measures_of_text.chrf,
    "chrF++": functools.partial(measures_of_text.chrf, word_order=2),
    "METEOR": _meteor,
    "edit_distance": _edits,
}
"""The numbers, by the name that reports have for them. All are from 0 to 1 but the distance, which counts."""

_SHARE = Traits(gives="number", scale=SHARES)
_DISTANCE = Traits(gives="number", lower_is_better=True, counted=False)
_OF_SACREBLEU = ("BLEU", "chrF", "chrF++")


@dataclass(frozen=True, slots=True)
class Wording(Question):
    """Any of these numbers: `Wording("ROUGE-L", reference)`.

    Args:
        references: The text, or several of which the nearest counts.
        measure: How it is measured, where not as the name says.

    Raises:
        UsageError: There is no such number, a reference isn't text, or the library that measures it is missing.
    """

    traits: ClassVar[TraitsOf[Wording]] = TraitsOf(
        _SHARE, lambda one: _DISTANCE if one.name == "edit_distance" else _SHARE
    )

    name: str
    references: Sequence[str] | str = field(repr=False)
    measure: Measure | None = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.name not in WORDINGS:
            raise UsageError(
                f"Wording: {self.name!r} is not known", hint=f"There are: {', '.join(WORDINGS)}."
            )
        if self.name in _OF_SACREBLEU and not _there("sacrebleu"):
            raise UsageError(
                f"{self.name} is measured by sacrebleu, which is not installed",
                hint="Install it: pip install 'evenhand[text]'",
            )
        references = self.references
        if isinstance(references, str):
            references = (references,)
        elif references is None:  # pyright: ignore[reportUnnecessaryComparison] (a case may have nothing expected)
            need_text(self.name, "the reference", references)
        object.__setattr__(self, "references", texts(self.name, references))

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        value = (self.measure or WORDINGS[self.name])(text_of(output), self.references)
        if value is None:
            return Score(None, reason="no reference has words to compare with")
        return Score(value)

    def __str__(self) -> str:
        return self.name


class ExactMatch(Wording):
    """exact_match: 1 where the words are those of a reference; case, punctuation and articles do not count."""

    __slots__ = ()

    def __init__(self, references: Sequence[str] | str) -> None:
        super().__init__("exact_match", references)


class TokenF1(Wording):
    """token_f1: F1 of the words shared with the nearest reference, in any script."""

    __slots__ = ()

    def __init__(self, references: Sequence[str] | str) -> None:
        super().__init__("token_f1", references)


class ROUGE(Wording):
    """ROUGE-1, ROUGE-2 or ROUGE-L: F1 of the words, pairs, or longest common subsequence shared with a reference."""

    __slots__ = ()

    def __init__(self, references: Sequence[str] | str, kind: measures_of_text.Rouge = "L") -> None:
        super().__init__(f"ROUGE-{kind}", references)


class BLEU(Wording):
    """Sentence BLEU as sacrebleu has it, from 0 to 1; `tokenize` is sacrebleu's: 13a, intl, zh, char or none."""

    __slots__ = ()

    def __init__(self, references: Sequence[str] | str, tokenize: str = "13a") -> None:
        known = ("13a", "intl", "zh", "char", "none")
        if tokenize not in known:
            raise UsageError(
                f"BLEU: tokenize is {tokenize!r}, not known", hint=f"There are: {', '.join(known)}."
            )
        measure = functools.partial(measures_of_text.bleu, tokenize=tokenize)
        super().__init__("BLEU", references, measure=measure)


class chrF(Wording):  # noqa: N801 (the field's spelling)
    """chrF as sacrebleu has it, from 0 to 1: shared n-grams of characters, for any script; with `words`, chrF++."""

    __slots__ = ()

    def __init__(self, references: Sequence[str] | str, *, words: bool = False) -> None:
        super().__init__("chrF++" if words else "chrF", references)


class METEOR(Wording):
    """METEOR: how well the words align with a reference's, by form and English stem, and in how few runs."""

    __slots__ = ()

    def __init__(self, references: Sequence[str] | str) -> None:
        super().__init__("METEOR", references)


class EditDistance(Wording):
    """edit_distance: the fewest characters to insert, delete or replace to get a reference. 0 is best: at_most."""

    __slots__ = ()
    traits: ClassVar[TraitsOf[Wording]] = TraitsOf(_DISTANCE, lambda _: _DISTANCE)

    def __init__(self, references: Sequence[str] | str) -> None:
        super().__init__("edit_distance", references)


@functools.cache
def _there(library: str) -> bool:
    return importlib.util.find_spec(library) is not None
