"""Cases for a dataset from the traces of a run: each input once, drawn at random, and how likely that was."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from evenhand.core.case import Case
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_array, is_object
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.scrubbing import scrubbed
from evenhand.core.secrets import HIDDEN
from evenhand.stats.weighted import allocated
from evenhand.store.labels.label import Label, standing
from evenhand.store.runfile import RunFile

STRATA = ("status", "model", "service", "tools", "variant")
"""What a draw can be divided by."""


class DrawnStratum(Record, frozen=True):
    """A part of the traces.

    Attributes:
        size: How many different inputs they have.
        drawn: How many of those were drawn.
    """

    name: str
    size: int
    drawn: int


class DrawnCases(Record, frozen=True, kw_only=True):
    """What was drawn.

    Attributes:
        places: Their trials' places in the plan.
        traces: How many traces there were to draw from.
        without: How many of them have no input, and were left out.
        doubles: How many have the input of an earlier one, and were left out.
        strata: The parts that were drawn from.
        hidden: How many secrets and personal data were hidden, by kind.
    """

    cases: tuple[Case, ...]
    places: tuple[int, ...]
    traces: int
    without: int
    doubles: int
    strata: tuple[DrawnStratum, ...]
    hidden: Mapping[str, int]


def drawn_cases(
    run: RunFile, many: int | None = None, by: str = "", seed: int = 0, *, redacted: bool = True
) -> DrawnCases:
    """Draws cases from a run's trials, each different input once.

    Within a stratum each is as likely to be drawn as any other: a case's `metadata.probability` says how likely. Which
    ones are drawn follows from their ids and the seed alone.

    Args:
        run: The run, or those of its trials that were chosen.
        many: How many to draw; None for all. They are divided among strata in proportion to their sizes, with two at
            least from each.
        by: What divides them into strata, one of `STRATA`; empty for no division.
        seed: Seed of the draw.
        redacted: Secrets and personal data are hidden.

    Raises:
        UsageError: There is no such division, or no trial with an input.
    """
    if by and by not in STRATA:
        hint = did_you_mean(by, STRATA, f"There are: {', '.join(STRATA)}.")
        raise UsageError(f"--by {by!r} divides nothing", hint=hint)
    stratum_of = _division(run, by)
    ids: set[str] = set()
    strata: dict[str, list[tuple[str, int]]] = {}
    traces = without = doubles = 0
    for trial in run.trials():
        traces += 1
        if trial.input in (None, "", []):
            without += 1
            continue
        same = _sameness(trial.input)
        if same in ids:
            doubles += 1
            continue
        ids.add(same)
        strata.setdefault(stratum_of(trial), []).append((trial.case, trial.index))
    if not strata:
        raise UsageError(
            f"none of the {traces:,} trials has an input to make a case of",
            hint="Programs leave out what was said unless they are told to record it: see docs/traces.md.",
        )
    names = sorted(strata)
    sizes = [len(strata[name]) for name in names]
    numbers = sizes if many is None else allocated(sizes, sizes, many)
    chosen: dict[int, float] = {}
    for name, number, size in zip(names, numbers, sizes, strict=True):
        order = sorted(strata[name], key=lambda row: digest(str(seed), row[0], str(row[1])))
        chosen.update((index, number / size) for _, index in order[:number])
    redaction = Redaction()
    rows = tuple(_cases(run, chosen, by, stratum_of, redaction if redacted else None))
    parts = tuple(DrawnStratum(*row) for row in zip(names, sizes, numbers, strict=True))
    cases = tuple(case for _, case in rows)
    places = tuple(place for place, _ in rows)
    return DrawnCases(
        cases=cases,
        places=places,
        traces=traces,
        without=without,
        doubles=doubles,
        strata=parts,
        hidden=dict(redaction.hidden),
    )


def decisions(labels: Iterable[Label]) -> Mapping[int, Label]:
    """By place what people decided last, of traces that are to be kept in a dataset or left out."""
    last: dict[int, Label] = {}
    for place, standing_label in standing(labels).items():
        mine = [label for label in standing_label if label.field == "dataset"]
        if mine:
            last[place] = max(mine, key=lambda label: label.seq)
    return last


def without_left_out(drawn: DrawnCases, labels: Iterable[Label]) -> DrawnCases:
    """What was drawn, without what people left out of it."""
    decided = decisions(labels)
    rows = [
        (case, place)
        for case, place in zip(drawn.cases, drawn.places, strict=True)
        if place not in decided or decided[place].value == "keep"
    ]
    return replace(drawn, cases=tuple(r[0] for r in rows), places=tuple(r[1] for r in rows))


def _cases(
    run: RunFile,
    chosen: Mapping[int, float],
    by: str,
    stratum_of: Callable[[TrialResult], str],
    redaction: Redaction | None,
) -> Iterator[tuple[int, Case]]:
    hide: Callable[[Any], Any] = redaction.of if redaction else lambda value: value
    ids: dict[str, int] = {}
    for trial in run.trials():
        if trial.index not in chosen:
            continue
        about: dict[str, Any] = {"run": run.meta.id, "probability": chosen[trial.index]}
        if by:
            about["stratum"] = stratum_of(trial)
        about["answered"] = hide(trial.output)
        if trial.error is not None:
            about["error"] = hide(trial.error.message)
        ids[trial.case] = ids.get(trial.case, 0) + 1
        id_ = trial.case if ids[trial.case] == 1 else f"{trial.case}-{ids[trial.case]}"
        yield trial.index, Case(id_, input=hide(trial.input), metadata=about)


def _division(run: RunFile, by: str) -> Callable[[TrialResult], str]:
    variants = run.meta.variants

    def tools(trial: TrialResult) -> str:
        steps = run.kept_steps(trial.index) or ()
        return ", ".join(sorted({step.name for step in steps if step.kind == "tool"})) or "none"

    def service(trial: TrialResult) -> str:
        about = trial.metadata.get("trace")
        return str(about.get("service") or "") if isinstance(about, dict) else ""

    return {
        "": lambda _: "",
        "status": lambda trial: trial.outcome,
        "model": lambda trial: trial.answer.model or variants[trial.variant].model,
        "service": service,
        "tools": tools,
        "variant": lambda trial: str(variants[trial.variant]),
    }[by]


def _sameness(value: object) -> str:
    """What two inputs have in common that differ in case and spaces at most."""
    text = value if isinstance(value, str) else encode(value).decode("utf-8", "replace")
    return digest(" ".join(unicodedata.normalize("NFKC", text).casefold().split()))


_EMAIL = re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}\b")
_CARD = re.compile(r"(?<![\w.])\d(?:[ -]?\d){12,18}(?![\w])")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")
_PHONE = re.compile(
    r"(?<![\w.-])(?:"
    r"\+\d{1,3}[ .-]?(?:\(?\d{1,5}\)?[ .-]?){1,5}\d{2,5}"  # +44 20 7946 0958
    r"|\(\d{2,5}\)[ .-]?\d{2,5}(?:[ .-]\d{2,5}){1,3}"  # (030) 1234-5678
    r"|0\d{1,4}(?:[ .-]\d{2,5}){1,4}"  # 020 7946 0958
    r"|\d{3}[ .-]\d{3}[ .-]\d{4}"  # 212-555-0134
    r")(?![\w-])"
)


class Redaction:
    """Hides secrets and personal data in texts that are going to be committed.

    Patterns find what has a form: addresses, numbers of phones and cards. They don't find names: read what came out.

    Attributes:
        hidden: How many of each kind were hidden.
    """

    def __init__(self) -> None:
        self.hidden: Counter[str] = Counter()

    def of(self, value: Any) -> Any:
        """A JSON value without them.

        >>> redaction = Redaction()
        >>> redaction.of({"said": "I am ann@example.com, call +44 20 7946 0958", "order": 1042})
        {'said': 'I am [email], call [phone]', 'order': 1042}
        >>> dict(redaction.hidden)
        {'email': 1, 'phone': 1}
        """
        clean = scrubbed(value)
        if clean != value:
            self.hidden["secret"] += 1
        return self._personal(clean)

    def _personal(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if is_object(value):
            return {key: self._personal(one) for key, one in value.items()}
        if is_array(value):
            return [self._personal(one) for one in value]
        return value

    def _text(self, text: str) -> str:
        if HIDDEN in text and len(text) == len(HIDDEN):
            return text
        text = self._replaced(_EMAIL, "email", text)
        text = _CARD.sub(self._card, text)
        text = self._replaced(_IBAN, "account", text)
        return self._replaced(_PHONE, "phone", text)

    def _replaced(self, pattern: re.Pattern[str], kind: str, text: str) -> str:
        text, many = pattern.subn(f"[{kind}]", text)
        if many:
            self.hidden[kind] += many
        return text

    def _card(self, match: re.Match[str]) -> str:
        digits = [int(char) for char in match.group() if char.isdigit()]
        doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
        if (sum(digits[::-2]) + sum(doubled)) % 10:  # Luhn's check digit, ISO/IEC 7812-1
            return match.group()
        self.hidden["card"] += 1
        return "[card]"
