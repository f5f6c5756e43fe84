"""A run's cells in columns, and the text to search in, a block at a time; results are decoded only as far as needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, cast
from zlib import crc32

import msgspec

from evenhand.analysis.summaries.marks import PREFERENCE, TRIGGERING, UNSURE
from evenhand.core.encoding import decode, encode
from evenhand.core.json_shapes import is_array
from evenhand.core.numbered import NumberedTexts
from evenhand.core.run import full_cost
from evenhand.core.score import TRIGGER_MEASURES, unknown
from evenhand.store.decoding import NO_JSON, SearchedTrial, read_named_scores, read_searched
from evenhand.store.encoding import written_case
from evenhand.store.groups import Groups
from evenhand.store.open_numbers import OpenNumbers
from evenhand.store.opened import readable
from evenhand.store.runfile import RunFile
from evenhand.store.settled import metric_sign, warning_sign
from evenhand.wings.viewer.shapes import Block, CaseRow

FIRST, BLOCK = 400, 5_000
"""Cells in the first block, which somebody waits for, and in the others."""
METADATA = 200
"""Characters of a case's metadata that a filter can ask for."""
FIELD, EXPLANATION, TRIAL = "\x1f", "\x1d", "\x1e"
"""What stands between the fields of a trial's text, before those that tell what came of it, and behind the last."""


_JUDGED = re.compile(b"|".join(map(re.escape, (warning_sign(UNSURE), metric_sign(PREFERENCE)))))
_RANKED = b'{"ranked":['
_TRIGGERS = metric_sign(TRIGGER_MEASURES)
_TRIGGERING = metric_sign(TRIGGERING)


_NUMBERS = (
    *("index", "row", "variant", "repeat", "outcome", "score", "latency", "cost"),
    *("tokens_in", "tokens_out", "calls", "cached", "met", "asked", "error", "cluster", "output"),
)
_blocks = msgspec.json.Encoder()


class CellBlock(NamedTuple):
    """Some cells, in the plan's order.

    Attributes:
        line: The block, a line of JSON.
        text: What is searched of its trials, one after the other.
        starts: Where each begins in it.
        judged: The places of those with a judgement of low confidence or a preference.
        triggers: The places of those of trigger tests.
    """

    line: bytes
    text: bytes
    starts: Sequence[int]
    places: Sequence[int]
    judged: Sequence[int]
    triggers: Sequence[int]


def parts(run: RunFile) -> Iterator[CellBlock]:
    """The run's cells, a block at a time.

    Raises:
        StoreError: The file cannot be read.
    """
    trials = _trials_of(run)
    rows = NumberedTexts()
    numbers = {case: n for n, case in enumerate(run.cases(), 1)} if run.narrowed else {}
    clusters = _Clusters(run.groups())
    part = _made(islice(trials, FIRST), rows, numbers, clusters)
    while part.places:
        yield part
        part = _made(islice(trials, BLOCK), rows, numbers, clusters)


class _Clusters:
    """What each case belongs to in each column, in small numbers from 1; 0 for one that stands alone."""

    def __init__(self, groups: Sequence[Groups]) -> None:
        self._groups = groups if any(groups) else None
        self._small: dict[int, int] = {}

    def number(self, trial: SearchedTrial) -> int | None:
        """That of a trial's case; None in a run whose cases all stand alone."""
        if self._groups is None:
            return None
        whole = self._groups[trial.variant].get(written_case(trial.case))
        return 0 if whole is None else self._small.setdefault(whole, len(self._small) + 1)


def _trials_of(run: RunFile) -> Iterator[SearchedTrial]:
    with readable(run.path):
        numbers = OpenNumbers(run.results)
        for result in run.results():
            trial = read_searched(result)
            if trial.named_scores and any(one.outcome == "error" for one in trial.outcomes):
                trial.named_scores = dict(numbers.known(read_named_scores(result)))
            yield trial


def _made(
    trials: Iterable[SearchedTrial],
    rows: NumberedTexts,
    numbered: Mapping[str, int],
    clusters: _Clusters,
) -> CellBlock:
    """A block and its text, in one loop: it runs for hundreds of thousands of trials, and keeps numbers only.

    Args:
        rows: Which row a case is; those of the block are added.
        numbered: How cases are numbered where some were left out; else a row has its own number.
        clusters: What cases belong to.
    """
    numbers: list[tuple[Any, ...]] = []
    texts: list[bytes] = []
    starts: list[int] = []
    judged: list[int] = []
    triggers: list[int] = []
    named: list[CaseRow] = []
    failing: list[Sequence[str]] = []
    scores: list[tuple[dict[str, float], Sequence[str]]] = []
    at = 0
    case, vars_, about, place = None, NO_JSON, "", 0
    for trial in trials:
        # Trials of a case stand together: what they share is made once.
        if trial.case != case or trial.vars != vars_:
            case, vars_ = trial.case, trial.vars
            about = FIELD.join(fields_about(trial)).lower()
            known = len(rows)
            place = rows.number(case)
            if place == known:
                named.append(_row(trial, numbered[written_case(case)] if numbered else place + 1))
        output = trial.output if isinstance(trial.output, str) else text_of(trial.output)
        reasons = [trial.reason]
        met = missed = 0
        names: Sequence[str] = ()
        for outcome in trial.outcomes:
            if outcome.reason:
                reasons.append(outcome.reason)
            if outcome.metadata != NO_JSON and _JUDGED.search(bytes(outcome.metadata)):
                judged.append(trial.index)
            if outcome.named != NO_JSON and _TRIGGERS in bytes(outcome.named):
                triggers.append(trial.index)
            state = outcome.outcome
            if state == "pass":
                met += not bytes(outcome.metadata).startswith(_RANKED)  # it can't fail
            elif state != "not_applicable":
                missed += state == "fail"
                names = (*names, outcome.name)
        if trial.error:
            reasons.append(trial.error.message)
        if trial.outcome == "error" and _TRIGGERING in bytes(trial.metadata):
            triggers.append(trial.index)
        text = f"{about}{FIELD}{output.lower()}{EXPLANATION}{FIELD.join(reasons).lower()}{TRIAL}".encode(
            "utf-8", "surrogatepass"
        )
        starts.append(at)
        at += len(text)
        texts.append(text)
        failing.append(names)
        scores.append((trial.named_scores, _lacking(trial)))
        numbers.append(
            (  # flat: it is made in one step
                trial.index,
                place,
                trial.variant,
                trial.repeat,
                trial.outcome[0],
                trial.score,
                trial.latency_s,
                full_cost(trial),
                trial.tokens_in,
                trial.tokens_out,
                trial.calls,
                trial.cached,
                met,
                met + missed,
                trial.error.slug if trial.error else "",
                clusters.number(trial),
                # A hash, to see which outputs are equal; 31 bits, which every reader of JSON has exactly.
                crc32(output.encode("utf-8", "surrogatepass")) & 0x7FFFFFFF,
            )
        )
    if not numbers:
        return CellBlock(b"", b"", (), (), (), ())
    columns = _columns(numbers)
    index: Sequence[int] = columns["index"]
    block = Block(
        rows=named,
        failing=failing,
        metrics=_metrics([s for s, _ in scores]),
        open=_open([n for _, n in scores]),
        **columns,
    )
    return CellBlock(_line(block), b"".join(texts), starts, index, judged, triggers)


def _columns(numbers: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    columns: dict[str, Any] = dict(zip(_NUMBERS, zip(*numbers, strict=True), strict=True))
    columns["outcome"] = "".join(columns["outcome"])
    if columns["cluster"][0] is None:
        # Nothing is said of clusters in a run that has none.
        columns["cluster"] = ()
    return columns


def _lacking(trial: SearchedTrial) -> Sequence[str]:
    """The metrics that an error leaves open in a trial which has a verdict all the same."""
    if trial.outcome == "error":
        return ()
    return [one.metric for one in trial.outcomes if one.metric and unknown(one.outcome, one.score)]


def _open(lacking: Sequence[Sequence[str]]) -> dict[str, list[int]]:
    cells: dict[str, list[int]] = {}
    for i, names in enumerate(lacking):
        for name in dict.fromkeys(names):
            cells.setdefault(name, []).append(i)
    return cells


def _metrics(scores: Sequence[dict[str, float]]) -> dict[str, list[float | None]]:
    columns: dict[str, list[float | None]] = {}
    for i, each in enumerate(scores):
        for name, score in each.items():
            if name not in columns:
                columns[name] = [None] * len(scores)
            columns[name][i] = score
    return columns


def _line(block: Block) -> bytes:
    try:
        return _blocks.encode(block) + b"\n"
    except UnicodeEncodeError:  # half a character
        return encode(block, ordered=False) + b"\n"


def fields_about(trial: SearchedTrial) -> list[str]:
    """What is searched of a case, whoever answers it."""
    values = list(_decoded(trial.vars).values())
    if trial.input is not None:
        values.insert(0, trial.input)
    return [trial.case, trial.description, *map(text_of, values)]


def _decoded(raw: msgspec.Raw) -> dict[str, Any]:
    return cast("dict[str, Any]", decode(bytes(raw)))


def _row(trial: SearchedTrial, number: int) -> CaseRow:
    decoded = _decoded(trial.metadata)
    tags = decoded.get("tags")
    metadata = {
        key: (value if isinstance(value, str) else text_of(value))[:METADATA]
        for key, value in decoded.items()
        if key != "tags" and isinstance(value, (str, int, float))
    }
    listed_tags = [str(tag) for tag in tags] if is_array(tags) else ()
    return CaseRow(trial.case, trial.description, listed_tags, metadata, number)


def text_of(value: object) -> str:
    """A value as the page shows it: text as it is, nothing as nothing, everything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else encode(value, ordered=False).decode()
