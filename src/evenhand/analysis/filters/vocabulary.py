"""The names that a run has, held against those that a filter asks for: what does not exist is said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from evenhand.analysis.filters.query import (
    LISTED,
    Measure,
    NumberTerm,
    QueryProblem,
    Term,
    TextTerm,
    WordTerm,
)
from evenhand.core.names import nearest
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant

_WORDING = {
    "tag": "no case has the tag '{}'",
    "variant": "no column is called '{}'",
    "prompt": "no prompt is called '{}'",
    "model": "no model is called '{}'",
    "case": "no case is called '{}'",
    "failing": "no expectation called '{}' has failed",
    "error": "no trial has the error '{}'",
}
_IN_PART = frozenset({"variant", "prompt", "model", "case", "failing"})
_MOST = 5_000
"""Names of a kind that are kept to be offered."""
_JOINING = {"or": "Write OR for either of two terms.", "and": "Write AND, or nothing: both hold."}


def tags_of(trial: TrialResult) -> list[str]:
    """The tags of a trial's case."""
    tags = trial.metadata.get("tags") or ()
    return [str(tag) for tag in (tags if isinstance(tags, list | tuple) else [tags])]


class Vocabulary:
    """What the trials that it has looked at are called, as far as these terms ask for it."""

    def __init__(
        self, names: Sequence[str], variants: Sequence[Variant], terms: Sequence[Term]
    ) -> None:
        self._terms = terms
        self._fields = {term.field for term in terms if isinstance(term, WordTerm)}
        if any(_keys(term) for term in terms):
            self._fields.add("metadata")
        self._known: dict[str, dict[str, None]] = {
            "variant": dict.fromkeys(names),
            "prompt": dict.fromkeys(v.prompt for v in variants),
            "model": dict.fromkeys(m for v in variants for m in (v.model, v.provider_id)),
        }
        self._values: dict[str, dict[str, None]] = {}

    def look(self, trial: TrialResult) -> None:
        """Takes note of a trial's names."""
        for field, of in _OF_TRIALS.items():
            if field in self._fields:
                self._keep(self._known.setdefault(field, {}), of(trial))
        # Not for every filter: a trial may have many keys.
        if "metadata" in self._fields:
            for key, value in trial.metadata.items():
                if key != "tags" and isinstance(value, str | int | float):
                    text = value if isinstance(value, str) else _json(value)
                    self._keep(self._values.setdefault(key, {}), [text])

    @staticmethod
    def _keep(known: dict[str, None], names: Iterable[str]) -> None:
        for name in names:
            if name and len(known) < _MOST:
                known[name] = None

    def notes(self) -> list[QueryProblem]:
        """What the filter asks for and nothing has, in its order."""
        return [note for term in self._terms for note in self._of(term)]

    def _of(self, term: Term) -> Iterator[QueryProblem]:
        if isinstance(term, TextTerm):
            hint = _JOINING.get(term.text) if term.pattern is None else None
            if hint:
                what = f"'{term.text}' is searched for as a word"
                yield QueryProblem(term.place.at, term.place.end, what, hint)
            return
        for key in _keys(term):
            if key not in self._values:
                what = f"no case has the metadata '{key}'"
                yield QueryProblem(term.place.at, term.place.end, what, _hint(key, self._values))
                return
        if not isinstance(term, WordTerm):
            return
        known = self._values[term.key] if term.field == "metadata" else self._known.get(term.field)
        if known is None and term.field not in _WORDING:
            return
        for value, (at, end) in zip(term.values, term.spans, strict=True):
            # With more names than are kept, one that is missing here may exist.
            if len(known or ()) < _MOST and not _is_there(value, known or (), term.field):
                wording = _WORDING.get(term.field, f"no case's {term.key} is '{{}}'")
                yield QueryProblem(at, end, wording.format(value), _hint(value, known or ()))


def _keys(term: Term) -> list[str]:
    """The keys of metadata that a term asks for."""
    if isinstance(term, WordTerm):
        return [term.key] if term.field == "metadata" else []
    if not isinstance(term, NumberTerm):
        return []
    measures = (each for each in (term.left, *term.right) if isinstance(each, Measure))
    return [each.key for each in measures if each.key]


def _is_there(value: str, known: Iterable[str], field: str) -> bool:
    if field in _IN_PART:
        return any(value in name.lower() for name in known)
    return any(value == name.lower() for name in known)


def _hint(word: str, known: Iterable[str]) -> str:
    if "|" in word:
        return "Between values stands a comma: a,b"
    every = sorted(known)
    if not every:
        return ""
    near = nearest(word, every)
    return f"Did you mean '{near}'?" if near else f"There are: {', '.join(every[:LISTED])}."


def _json(value: float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _failing(trial: TrialResult) -> list[str]:
    return [each.name for each in trial.outcomes if each.outcome in ("fail", "error")]


_OF_TRIALS: dict[str, Callable[[TrialResult], Sequence[str]]] = {
    "tag": tags_of,
    "case": lambda trial: (trial.case, trial.description),
    "failing": _failing,
    "error": lambda trial: (trial.error.slug,) if trial.error else (),
}
