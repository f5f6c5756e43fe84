"""Reads a filter: one grammar for the command line and the viewer's page, tested on the same vectors.

The page's twin is `page/src/model/query.ts`; which cells it chooses, `page/src/model/filter.ts` says.

query   = all (" OR " all)*                      one of them holds
all     = term (" " ["AND "] term)*              all of them hold
term    = ["-"] (text | "/" pattern "/" | field operator value)
field   = word ["@" column]                      the case's mean in that column
value   = word ("," word)*                       after ":", either of them
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, cast

from evenhand.analysis.filters.pattern import Pattern, PatternError
from evenhand.analysis.summaries.column_names import column_names
from evenhand.core.names import nearest
from evenhand.core.record import Record
from evenhand.core.variant import Variant

Operator = Literal[":", "<", "<=", ">", ">=", "=", "!="]

WORDS: Mapping[str, tuple[str, ...] | None] = {
    "status": ("pass", "fail", "error", "na"),
    "has": ("note", "label", "star", "score", "error"),
    "is": ("flaky", "different", "cached"),
    "label": ("pass", "fail"),
    "judge": ("agrees", "lenient", "strict"),
    "changed": ("regressed", "improved", "unchanged", "undecided", "new"),
    "variant": None,
    "prompt": None,
    "model": None,
    "case": None,
    "failing": None,
    "tag": None,
    "error": None,
}
"""Fields of words: what they can say; None for anything."""
OF_METRICS = ("label", "judge")
"""Fields that can be asked of one judged metric: `label@policy:fail`."""
NUMBERS = ("score", "passed", "latency", "cost", "tokens", "repeat", "rating", "change")

_BEFORE = frozenset({"variant", "prompt", "model", "case", "tag", "metadata", "repeat"})
"""What is known of a trial before it is run: who chooses by nothing else does not choose the result."""

_OPERATOR = re.compile(r"<=|>=|!=|:|<|>|=")
_NUMBER = re.compile(
    r"(\$?)([+\u2212-]?(?:\d+\.?\d*|\.\d+)(?:e[+\u2212-]?\d+)?)(ms|s|m)?", re.IGNORECASE | re.ASCII
)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}
OR, AND = "OR", "AND"
_IN_QUOTES = "In quotes it is a text to search for."
_BESIDE = "Terms beside each other all have to hold."
_EXAMPLES = {"latency": "10s (ms, s, m)", "cost": "$0.01"}
LISTED = 12


class Names(Record, frozen=True):
    """What a query can name.

    Attributes:
        metrics: The metrics that trials have.
        columns: Each column's name in the table, its prompt and its model.
        baseline: Whether there is a run to compare with.
    """

    metrics: Sequence[str] = ()
    columns: Sequence[tuple[str, str, str]] = ()
    baseline: bool = False

    @classmethod
    def of(
        cls, variants: Sequence[Variant], metrics: Sequence[str] = (), *, baseline: bool = False
    ) -> Names:
        """The names of a run with these columns."""
        names = column_names(variants)
        columns = [(n, v.prompt, v.model) for n, v in zip(names, variants, strict=True)]
        return cls(metrics, columns, baseline)


class QueryProblem(Record, frozen=True):
    """Something that is wrong with a query, from `at` to before `end`, counted from 0."""

    at: int
    end: int
    what: str
    hint: str

    def __str__(self) -> str:
        text = f"--where:{self.at + 1}: {self.what}"
        return f"{text}\n  {self.hint}" if self.hint else text


class Measure(Record, frozen=True):
    """A number of a trial; with a column, the mean of the trial's case there; `key` is that of `metadata.KEY`."""

    name: str
    metric: bool
    column: int | None = None
    key: str = ""


class TermPlace(Record, frozen=True):
    """Where a term stands, from `at` to before `end`; `group` counts the alternatives of "OR" from 0."""

    at: int
    end: int
    group: int


class TextTerm(Record, frozen=True):
    """A text that is searched for, or with a `pattern` a regular expression."""

    negated: bool
    text: str
    place: TermPlace
    pattern: Pattern | None = None


class WordTerm(Record, frozen=True, kw_only=True):
    """A field that says one of these words, in small letters; `key` is what stands behind `metadata.` or `label@`."""

    negated: bool
    field: str
    key: str
    values: tuple[str, ...]
    place: TermPlace
    spans: tuple[tuple[int, int], ...]
    """Where each value stands."""


class NumberTerm(Record, frozen=True):
    """A number held against another."""

    negated: bool
    left: Measure
    operator: Operator
    right: tuple[float | Measure, ...]
    place: TermPlace


Term = TextTerm | WordTerm | NumberTerm


class _Word(Record, frozen=True):
    """`mark` is where in the text the last "@" out of quotes is; -1 for none."""

    text: str
    quoted: bool
    mark: int
    start: int
    end: int


class _WrongError(Exception):
    def __init__(self, what: str, hint: str = "", place: _Word | None = None) -> None:
        super().__init__(what)
        self.what, self.hint, self.place = what, hint, place


def parse(query: str, names: Names) -> tuple[list[Term], list[QueryProblem]]:
    """The terms of a query, and all that is wrong with it; terms in which something is wrong are left out."""
    terms: list[Term] = []
    problems: list[QueryProblem] = []
    group, before = 0, ""
    end = 0
    for at, end in _spans(query):
        word = query[at:end]
        try:
            if word in (OR, AND):
                _joined(word, before)
                group += word == OR
            else:
                terms.append(_term(query, TermPlace(at, end, group), names))
        except _WrongError as wrong:
            if wrong.place is not None:
                at, end = wrong.place.start, wrong.place.end  # noqa: PLW2901 (the part of the term that is meant)
            problems.append(QueryProblem(at, end, wrong.what, wrong.hint))
        before = word
    if before in (OR, AND):
        problems.append(QueryProblem(end, end, f"nothing stands after '{before}'", _IN_QUOTES))
    return terms, problems


def _joined(word: str, before: str) -> None:
    if before in ("", OR, AND):
        raise _WrongError(f"nothing stands before '{word}'", _IN_QUOTES)


def by_outcome(terms: Sequence[Term]) -> bool:
    """Whether some term chooses trials by what came of them: outcome, score, output, cost, what people say."""
    return not all(
        (isinstance(term, WordTerm) and term.field in _BEFORE)
        or (
            isinstance(term, NumberTerm)
            and {term.left.name} <= _BEFORE
            and not term.left.metric
            and all(isinstance(each, float) for each in term.right)
        )
        for term in terms
    )


def _spans(query: str) -> Iterator[tuple[int, int]]:
    """From where to where each term goes."""
    i = 0
    while i < len(query):
        if query[i].isspace():
            i += 1
            continue
        at = i
        # A regular expression may hold spaces; what only begins with a slash is a word.
        closing = _closing(query, at + (query[at] == "-"))
        i = _word_end(query, at) if closing < 0 else closing + 1
        yield at, i


def _word_end(query: str, at: int) -> int:
    """Where the word that begins here ends: at a space out of quotes."""
    quoted = escaped = False
    for i in range(at, len(query)):
        c = query[i]
        if c.isspace() and not quoted:
            return i
        if escaped:
            escaped = False
        elif quoted and c == "\\":
            escaped = True
        elif c == '"':
            quoted = not quoted
    return len(query)


def _closing(query: str, at: int) -> int:
    """The slash that ends the regular expression which begins here; -1 where none does."""
    if query[at : at + 1] != "/":
        return -1
    escaped = False
    for i in range(at + 1, len(query)):
        if escaped:
            escaped = False
        elif query[i] == "\\":
            escaped = True
        elif query[i] == "/" and i > at + 1 and (i + 1 == len(query) or query[i + 1].isspace()):
            return i
    return -1


def _term(query: str, place: TermPlace, names: Names) -> Term:
    at, end = place.at, place.end
    negated = query[at] == "-" and at + 1 < end
    start = at + negated
    if _closing(query, start) == end - 1:
        source = query[start + 1 : end - 1]
        try:
            return TextTerm(negated, source, place, Pattern(source))
        except PatternError as error:
            raise _WrongError(error.what, error.hint) from error
    word = query[at:end]
    if word in ("|", "||"):
        raise _WrongError(f"'{word}' means nothing here", "Write OR for either of two.")
    if word in ("NOT", "&", "&&"):
        hint = "Write a minus sign before a term: -status:fail" if word == "NOT" else _BESIDE
        raise _WrongError(f"'{word}' means nothing here", f"{hint} {_IN_QUOTES}")
    name = _read(query, start, end, lambda i: _OPERATOR.match(query, i) is not None)
    match = _OPERATOR.match(query, name.end, end)
    if match is None:
        return TextTerm(negated, name.text, place)
    operator = cast(Operator, match.group())
    if name.end == start:
        raise _WrongError(
            f"nothing stands before '{operator}'", "Write it without spaces: score<0.5"
        )
    values: list[_Word] = []
    i = match.end()
    while i <= end:
        values.append(_read(query, i, end, lambda j: operator == ":" and query[j] == ","))
        i = values[-1].end + 1
    for value in values:
        if not value.text and not value.quoted:
            raise _WrongError(f"nothing stands after '{query[start : value.end]}'")
    whole = query[start:end]
    named = None if name.quoted else _field(name.text, operator)
    if named is not None:
        return _words(negated, *named, operator=operator, operands=values, names=names, place=place)
    return _numbers(
        negated, name, operator=operator, values=values, names=names, whole=whole, place=place
    )


def _field(name: str, operator: Operator) -> tuple[str, str] | None:
    """The field of words that a name means, and the key after it; None for a number."""
    field, _, key = name.partition(".")
    if field.lower() == "metadata" and (operator == ":" or not key):
        return "metadata", key
    field, at, key = name.partition("@")
    if field.lower() in OF_METRICS and at and key:
        return field.lower(), key.lower()
    return (name.lower(), "") if name.lower() in WORDS else None


def _read(query: str, start: int, end: int, stop: Callable[[int], bool]) -> _Word:
    text, mark, quoted, i = "", -1, False, start
    while i < end:
        c = query[i]
        if not quoted and stop(i):
            break
        if c == '"':
            quoted = not quoted
        elif quoted and c == "\\" and i + 1 < end:
            i += 1
            text += query[i]
        else:
            if c == "@" and not quoted:
                mark = len(text)
            text += c
        i += 1
    word = _Word(text, query[start : start + 1] == '"', mark, start, i)
    if quoted:
        raise _WrongError("a quote is not closed", 'Write \\" for a quote in a text.', word)
    return word


def _words(
    negated: bool,
    field: str,
    key: str,
    operator: Operator,
    operands: Sequence[_Word],
    names: Names,
    place: TermPlace,
) -> WordTerm:
    known = WORDS.get(field)
    if operator != ":":
        whole = f"metadata.{key or 'KEY'}" if field == "metadata" else field
        example = known[0] if known else "…"
        raise _WrongError(f"{field} takes ':', not '{operator}'", f"E.g. {whole}:{example}")
    if field == "metadata" and not key:
        raise _WrongError("metadata needs a key", "E.g. metadata.topic:billing")
    if field == "changed" and not names.baseline:
        raise _no_baseline(field)
    for value in operands:
        if known is not None and value.text.lower() not in known:
            near = nearest(value.text, known)
            every = f"There are: {', '.join(known)}."
            hint = f"Did you mean '{near}'? {every}" if near else every
            raise _WrongError(f"'{field}' has no value '{value.text}'", hint, value)
    values = tuple(value.text.lower() for value in operands)
    spans = tuple((value.start, value.end) for value in operands)
    return WordTerm(negated=negated, field=field, key=key, values=values, place=place, spans=spans)


def _numbers(
    negated: bool,
    name: _Word,
    operator: Operator,
    values: Sequence[_Word],
    names: Names,
    whole: str,
    place: TermPlace,
) -> NumberTerm:
    left = _measure(name, names)
    if left is None:
        near = nearest(name.text, [*WORDS, *NUMBERS, *names.metrics])
        plain = whole.replace('"', "")
        text = f'In quotes it is a text to search for: "{plain}"'
        hint = f"Did you mean '{near}'? {text}" if near else text
        raise _WrongError(f"there is no field or metric '{name.text}'", hint, name)
    if left.name == "change" and not left.metric and not names.baseline:
        raise _no_baseline("change")
    right: list[float | Measure] = []
    for value in values:
        literal = _number(left, value)
        other = _measure(value, names) if literal is None else literal
        if other is None:
            example = _EXAMPLES.get("" if left.metric else left.name, "0.5")
            raise _WrongError(
                f"'{value.text}' is neither a number nor a metric",
                f"A number is written like {example}.",
                value,
            )
        right.append(other)
    return NumberTerm(negated, left, operator, tuple(right), place)


def _no_baseline(field: str) -> _WrongError:
    return _WrongError(
        f"{field}: there is no run to compare with",
        "Choose a baseline first (on the command line: --baseline RUN).",
    )


def _number(left: Measure, value: _Word) -> float | None:
    match = None if value.quoted else _NUMBER.fullmatch(value.text)
    if match is None:
        return None
    dollar, digits, unit = match.groups()
    of = "" if left.metric else left.name
    if (dollar and of != "cost") or (unit and of != "latency"):
        return None
    return float(digits.replace("\u2212", "-")) * (_SECONDS[unit.lower()] if unit else 1)


def _measure(word: _Word, names: Names) -> Measure | None:
    whole = _own(word.text, word.quoted, names)
    if whole is not None or word.mark < 0:
        return whole
    measure = _own(word.text[: word.mark], word.quoted, names)
    if measure is None:
        return None
    if measure.name == "repeat" and not measure.metric:
        raise _WrongError("repeat is the same in every column", "", word)
    return replace(measure, column=_column(word.text[word.mark + 1 :], word, names))


def _own(text: str, quoted: bool, names: Names) -> Measure | None:
    if not quoted and text.lower() in NUMBERS:
        return Measure(text.lower(), metric=False)
    if text in names.metrics:
        return Measure(text, metric=True)
    field, _, key = text.partition(".")
    if not quoted and field.lower() == "metadata" and key:
        return Measure("metadata", metric=False, key=key)
    like = [name for name in names.metrics if name.lower() == text.lower()]
    return Measure(like[0], metric=True) if like else None


def _column(text: str, word: _Word, names: Names) -> int:
    """A column by its name, prompt or model where only one has it, or by its number from 1."""
    # By name first: a column's name may be another one's model.
    for i in range(3):
        places = [n for n, each in enumerate(names.columns) if each[i].lower() == text.lower()]
        if len(places) == 1:
            return places[0]
    if re.fullmatch(r"[0-9]{1,9}", text) and 1 <= int(text) <= len(names.columns):
        return int(text) - 1
    every = [name for name, _, _ in names.columns]
    near = nearest(text, every)
    hint = f"Did you mean '{near}'?" if near else f"There are: {', '.join(every[:LISTED])}."
    raise _WrongError(f"there is no column '{text}'", hint, word)
