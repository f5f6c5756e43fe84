"""Which columns are compared."""

from __future__ import annotations

from tests.unit.report.conftest import Make, result

from evenhand.core.variant import Variant
from evenhand.report.comparison import sentences
from evenhand.report.grid import Grid


async def test_columns_of_different_evals_are_not_compared(make_run: Make):
    """Each eval's own columns are, and no others: they ask the same question."""
    variants = [
        Variant(i, f"{name} · {prompt}", "m", eval=name)
        for i, (name, prompt) in enumerate(
            [("short", "plain"), ("short", "strict"), ("polite", "plain")]
        )
    ]
    trials = [
        result(3 * case + v, variant=v, case=f"c{case}", ok=v != 0)
        for case in range(8)
        for v in range(3)
    ]
    (said,) = sentences(Grid(await make_run(trials, variants)))
    assert said.startswith("short · strict beats short · plain: +100 points")
