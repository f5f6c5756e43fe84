"""A sample of cases with what was asked about each: it tells an edited case from an edited prompt.

How this works: a prompt as sent has the case's text in it, so an edited case changes its digest as an edited prompt
does. But a case that is the same in both runs was sent another prompt only if the prompt was edited. The sample is
the cases with the lowest digests: two runs with mostly the same cases have mostly the same sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

KEPT = 20
"""Cases in a sample: few enough for a file that is committed."""
_LETTERS = 8
Aspect = str
"""What a part is of, as `bound` calls it: `system`, `judge prompt` or `criteria`."""
SampledCases = Mapping[str, Mapping[Aspect, str]]
"""By the start of a case's digest and the aspect: the starts of the digests of what was asked, divided by spaces."""


class CaseSample:
    """Collects what was asked about the cases of a run, and keeps little of it however many there are."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[Aspect, set[str]]] = {}

    def add(self, case: str, aspect: Aspect, part: str) -> None:
        """Adds a part of what was asked about a case; both are digests."""
        self._parts.setdefault(case, {}).setdefault(aspect, set()).add(part[:_LETTERS])
        # Not at every case: sorting is worth it once there are many to drop.
        if len(self._parts) > 8 * KEPT:
            # A case that is dropped is none of the lowest any more, whatever follows.
            self._parts = {one: self._parts[one] for one in sorted(self._parts)[:KEPT]}

    def parts(self) -> Iterator[tuple[str, Aspect, str]]:
        """All that it knows: case, aspect, part."""
        for case, aspects in self._parts.items():
            for aspect, parts in aspects.items():
                for part in parts:
                    yield case, aspect, part

    @classmethod
    def joined(cls, samples: Iterable[CaseSample]) -> CaseSample:
        """One of all that these know; empty for none."""
        whole = cls()
        for sample in samples:
            for case, aspect, part in sample.parts():
                whole.add(case, aspect, part)
        return whole

    def sample(self) -> SampledCases:
        """The sample, as a file keeps it."""
        return {
            case[:_LETTERS]: {
                aspect: " ".join(sorted(parts)) for aspect, parts in self._parts[case].items()
            }
            for case in sorted(self._parts)[:KEPT]
        }


def asked_alike(before: SampledCases, now: SampledCases, aspect: Aspect) -> bool | None:
    """Whether the cases that are in both samples were asked about in the same way; None where none is in both.

    A trial in error may lack a part, so one run may know more of a case than the other.
    """
    alike: bool | None = None
    for case in before.keys() & now.keys():
        parts = [set(sample[case].get(aspect, "").split()) for sample in (before, now)]
        if all(parts):
            if not (parts[0] <= parts[1] or parts[1] <= parts[0]):
                return False
            alike = True
    return alike
