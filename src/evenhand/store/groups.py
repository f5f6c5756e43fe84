"""Which cases of a run belong together: those of one document, say, and copies of one case under several ids.

The first trial of each case is looked at, and the texts are not kept: a large run has a million of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, islice, pairwise
from operator import eq
from typing import Any

from evenhand.core.encoding import encode
from evenhand.core.variant import Variant
from evenhand.store.decoding import read_grouped
from evenhand.store.detail import WHOLE, whole
from evenhand.store.encoding import written_case
from evenhand.store.opened import ReadsRun, readable

Groups = Mapping[str, int]
"""A number of what a case belongs to, by the case's id as a trial's row has it; cases that stand alone are left out."""


class CaseGroups(ReadsRun):
    """Reads from an open run file which cases belong together."""

    _read: dict[bool, tuple[int, list[Groups]]] | None = None

    def groups(self, *, copies: bool = False) -> list[Groups]:
        """For each variant, in the order of `meta.variants`, what its cases belong to.

        Read once, and anew when the run has grown; not at all where no variant says what belongs together.

        Args:
            copies: Cases that belong to nothing else belong together if they say the same.
        """
        with readable(self._run.path):
            (version,) = self._run.db.execute("pragma data_version").fetchone()
            self._read = self._read or {}
            if copies not in self._read or self._read[copies][0] != version:
                self._read[copies] = version, self._groups(copies=copies)
        return self._read[copies][1]

    def _groups(self, *, copies: bool) -> list[Groups]:
        variants = self._run.meta.variants
        # Variants of one eval have the same cases; those of another may call other cases by the same ids.
        sets = {(variant.eval, variant.cluster): Groupings(variant) for variant in variants}
        if any(variant.cluster for variant in variants) or (copies and self._may_have_copies()):
            of_variant = {v.index: sets[v.eval, v.cluster] for v in variants}
            table = self._run.table()
            firsts = f"select min(idx) from {table} group by case_id, variant"  # noqa: S608 (one of two names)
            rows = self._run.db.execute(
                f"{self._run.query(WHOLE)} where t.idx in ({firsts}) order by t.idx"
            )
            for row in rows:
                grouping = of_variant.get(row[1])
                if grouping is not None:
                    one = read_grouped(whole(row))
                    cluster = cluster_in(grouping.key, one.vars, one.metadata)
                    content = one.copy_key if copies else ""
                    grouping.add(written_case(one.case), cluster, content)
        groups = {key: grouping.groups() for key, grouping in sets.items()}
        return [groups[v.eval, v.cluster] for v in variants]

    def _may_have_copies(self) -> bool:
        """Whether two parts have one digest at their ends, where `CasePart` has it, as far as a look at them says."""
        digests = self._run.db.execute(
            """
            select substr(part, -22) from part
            where substr(part, -34, 12) = cast('"copy_key":"' as blob)
            """
        )
        # Sorted and not counted, as in `shared`; SQLite would take twice as long to tell them apart.
        hashes = sorted(map(hash, chain.from_iterable(digests)))
        return any(map(eq, hashes, islice(hashes, 1, None)))


class Groupings:
    """What the cases of one eval belong to.

    Args:
        variant: One that runs it.
    """

    def __init__(self, variant: Variant) -> None:
        self.key = variant.cluster
        self._places: dict[str, None] = {}
        self._numbers = array("Q")
        """For each case a number of what it belongs to; 0 for what is known of no other."""

    def add(self, case: str, cluster: str, content: str) -> None:
        """Takes in a case, once.

        Args:
            case: Its id.
            cluster: What it belongs to; empty for nothing.
            content: A digest of what it says; empty where that does not tell cases apart.
        """
        if case not in self._places:
            self._places[case] = None
            self._numbers.append(number_of(cluster, content))

    def groups(self) -> Groups:
        """What each case belongs to that does not stand alone."""
        several = shared(self._numbers)
        if not several:
            return {}
        cases = zip(self._places, self._numbers, strict=True)
        return {case: number for case, number in cases if number in several}


def cluster_in(key: str, variables: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """What a case belongs to, as canonical JSON; empty where it does not say.

    Args:
        key: The variable, or key of the metadata, that says it; empty for none.
    """
    if not key:
        return ""
    value = variables.get(key, metadata.get(key))
    # An empty cell of a table is a text, and no document that all cases without one belong to.
    blank = value is None or (isinstance(value, str) and not value.strip())
    return "" if blank else encode(value).decode("utf-8", "replace")


def named_cluster(key: str, variables: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """A name of what a case belongs to, the same in every run; empty for nothing. Arguments as `cluster_in`."""
    cluster = cluster_in(key, variables, metadata)
    return f"{key}={cluster}" if cluster else ""


def number_of(cluster: str, content: str) -> int:
    """A number that cases have in common which belong together; 0 for a case that nothing is known of.

    Args:
        cluster: What it belongs to. Its copies belong to the same.
        content: A digest of what it says, by which copies are known that belong to nothing.
    """
    if not cluster and not content:
        return 0
    text = (cluster or content).encode("utf-8", "replace")
    # The last bit tells copies (odd) from clusters (even), and keeps 0 free for what is known of no other.
    number = int.from_bytes(blake2b(text, digest_size=8).digest()) | 1
    # 1 less 1 would be 0, which stands for a case that is alone.
    return number if not cluster else number - 1 or 2


def shared(numbers: Sequence[int]) -> frozenset[int]:
    """The numbers that several cases have. Sorted and not counted: a large run has a million different ones."""
    order = sorted(numbers)
    return frozenset(one for one, other in pairwise(order) if one == other and one)


def copies_among(numbers: Iterable[int]) -> int:
    """How many cases are copies of one before them: their numbers are odd, those of what a variable says are even.

    Args:
        numbers: Of each case that does not stand alone.
    """
    copies = [number for number in numbers if number % 2]
    return len(copies) - len(set(copies))
