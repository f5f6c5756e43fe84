"""Which cases of a run belong together, in words: what counts once, and what may belong together and isn't said to."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.analysis.summaries.cluster_hint import cluster_hint
from evenhand.analysis.summaries.clusters import clusters_among, copies_note
from evenhand.core.cluster import copies_among
from evenhand.core.wording.words import clip, count, safe
from evenhand.store.runfile import RunFile


def cluster_lines(run: RunFile) -> Iterator[str]:
    """The clusters that the run's sets name, copies, and a hint where neither is said."""
    sums, groups = run.sums(), run.groups()
    said: dict[str, None] = {}
    for variant, of_column in zip(run.meta.variants, groups, strict=True):
        cases = list(sums.of_column(variant.index))
        if variant.cluster and cases:
            key = clip(safe(variant.cluster), 40)
            number = clusters_among(cases, of_column)
            said[
                f"{count(len(cases), 'case')} in {count(number, 'cluster')} by {key}: each cluster counts once in "
                "rates, intervals and comparisons"
            ] = None
    yield from said
    copies = max((copies_among(each.values()) for each in run.groups(copies=True)), default=0)
    if copies:
        yield copies_note(copies)
    hint = cluster_hint(run)
    if hint:
        yield hint
