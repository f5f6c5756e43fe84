"""Whether the outputs of two runs are the same ones, of which one judges those of the other again.

Replies of models are taken from the earlier run, but the code of the application and of the evals runs as it is today.
What it makes of the same replies may be another output, and then it isn't only the judging that differs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated

from evenhand.core.application_code import changed_code
from evenhand.core.document import Key
from evenhand.core.encoding import digest, encode
from evenhand.core.record import Record
from evenhand.core.wording.words import count, safe
from evenhand.store.decoding import PlacedOutput, read_placed_output
from evenhand.store.runfile import RunFile

LISTED = 5
"""So many cases and files are named in a line."""


class RegradedOutputs(Record, frozen=True, kw_only=True):
    """How far the outputs of two runs, one of which judges the other's again, are the same."""

    same: Annotated[int, Key("that have the same output in both", "trials")]
    others: Annotated[int, Key("that have another output in the second", "trials")]
    unknown: Annotated[
        int, Key("whose output isn't recorded in both: the eval returns none, say", "trials")
    ]
    cases: Annotated[
        list[str],
        Key("the cases with another output; the results of their variants leave them out"),
    ]
    code: Annotated[list[str], Key("parts of the application's code that are not the same in both")]

    @property
    def title(self) -> str:
        """As few words as say it."""
        if self.others:
            total = self.same + self.others + self.unknown
            return f"{self.others:,} of {count(total, 'output')} differ"
        return "the same outputs" if not self.unknown else "some outputs not recorded"

    def notes(self) -> Iterator[str]:
        """What people should know before they take a difference for one of the judging, a line each."""
        changed = f". The application's code changed: {_listed(self.code)}" if self.code else ""
        if self.others:
            yield (
                f"! {self.title}, as the application's own code ran again; their cases are left out:"
                f" {_listed(self.cases)}{changed}"
            )
        if self.unknown:
            what = count(self.unknown, "trial")
            yield (
                f"! whether the outputs of {what} are the same isn't known: none is recorded"
                f"{'' if self.others else changed}"
            )


def regraded_outputs(
    first: RunFile,
    second: RunFile,
    pairs: Iterable[tuple[int, int]],
    renamed: Mapping[str, str],
) -> tuple[RegradedOutputs, Mapping[tuple[int, int], Collection[str]]]:
    """Holds the outputs of the second run against those of the first, trial by trial.

    A trial that is in error in the second run without an output is an error, and no other output.

    Args:
        pairs: The variants that belong together, as indices.
        renamed: Other ids for some cases of the second: what the first calls them.

    Returns:
        How far they are the same, and for each pair of variants the cases with another output.
    """
    variants = {theirs: mine for mine, theirs in pairs}
    before = {
        (one.case, one.variant, one.repeat): _content(one)
        for one in map(read_placed_output, first.results())
    }
    same = others = unknown = 0
    cases: dict[tuple[int, int], dict[str, None]] = {}
    for one in map(read_placed_output, second.results()):
        if one.variant not in variants:
            continue
        case, mine = renamed.get(one.case, one.case), variants[one.variant]
        there = before.get((case, mine, one.repeat))
        now = _content(one)
        if there is None or now == _BROKEN:
            continue
        if _UNKNOWN in (there, now):
            unknown += 1
        elif there == now:
            same += 1
        else:
            others += 1
            cases.setdefault((mine, one.variant), {})[case] = None
    evals = {second.meta.variants[theirs].eval for theirs in variants}
    outputs = RegradedOutputs(
        same=same,
        others=others,
        unknown=unknown,
        cases=list(dict.fromkeys(chain.from_iterable(cases.values()))),
        code=list(changed_code(first.meta.code, second.meta.code, evals)),
    )
    return outputs, cases


_BROKEN, _UNKNOWN = "error", ""


def _content(trial: PlacedOutput) -> str:
    """A digest of a trial's output; or a word where it has none, which no digest is."""
    if trial.output is None:
        return _BROKEN if trial.outcome == "error" else _UNKNOWN
    return digest(encode(trial.output))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return f"{', '.join(map(safe, names[:LISTED]))}{more}"
