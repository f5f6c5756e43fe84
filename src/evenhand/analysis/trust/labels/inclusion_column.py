"""Whether somebody changed the column `inclusion` of a file of labels, which counts for nothing there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.analysis.trust.judgements.strata import inclusions
from evenhand.analysis.trust.labels.sheet_rows import read_rows
from evenhand.core.wording.spreadsheet_cells import cell
from evenhand.core.wording.words import count
from evenhand.store.labels.draw import Draw, PairDraw, unordered
from evenhand.store.runfile import RunFile

_ROUNDED = 0.0051
"""A spreadsheet may save two decimals of a number."""


def inclusion_line(run: RunFile, path: Path, needed: Sequence[str]) -> str:
    """What is said of labels whose `inclusion` was changed by hand; empty where none was.

    Args:
        run: The run.
        path: A file of labels that has been read without a problem.
        needed: The columns that it has.
    """
    draws, pair_draws = run.draws(), run.pair_draws()
    changed = 0
    for row in read_rows(path, needed, needed):
        text = (row.texts.get("inclusion") or "").strip()
        if not text or not (row.texts.get("verdict") or "").strip():
            continue
        item, metric = int(row.texts["item"]), row.texts["metric"]
        if "other" in row.texts:
            possible = _of_pair(pair_draws, (item, int(row.texts["other"])), metric)
        else:
            possible = _of_item(draws, item, metric)
        value = _number(text)
        # 0 stands beside an output that was picked by --unsure, drawn or not.
        other = value is None or all(abs(value - one) > _ROUNDED for one in [0.0, *possible])
        changed += bool(possible) and other  # that others are outside a draw is said elsewhere
    if not changed:
        return ""
    return (
        f"{path}: `inclusion` of {count(changed, 'label')} is not what the run says; it is ignored,"
        " and how likely each output was to be drawn is taken from the run"
    )


def _of_item(draws: Sequence[Draw], item: int, metric: str) -> list[float]:
    """What a file may say of a drawn item, which may have been written before the latest draws; empty for another."""
    own = next(
        (one for draw in draws for one in draw.metrics if metric in (one, cell(one))), metric
    )
    possible: list[float] = []
    # A file that was written before a later draw has the shares of then.
    for size in range(1, len(draws) + 1):
        before = draws[:size]
        if any(item in draw.places and own in draw.metrics for draw in before):
            possible.append(inclusions(before, own)(item))
    return possible


def _of_pair(draws: Sequence[PairDraw], pair: tuple[int, int], metric: str) -> list[float]:
    of = [draw for draw in draws if metric in (draw.metric, cell(draw.metric))]
    possible: list[float] = []
    for size in range(1, len(of) + 1):
        before = of[:size]
        if any(unordered(pair) == unordered(one) for draw in before for one in draw.pairs):
            drawn = sum(len(draw.pairs) for draw in before)
            possible.append(drawn / max(1, drawn, *(draw.population for draw in before)))
    return possible


def _number(text: str) -> float | None:
    """A number as a spreadsheet may have written it: 0.1, 0,1 or 10 %."""
    # Spreadsheets write numbers as the country does.
    plain = text.replace(",", ".")
    try:
        return float(plain.removesuffix("%").strip()) / 100 if plain.endswith("%") else float(plain)
    except ValueError:
        return None
