"""When the cassettes of a finished run are written."""

from __future__ import annotations

from pathlib import Path

from tests.runs import Make, result
from tests.unit.render.test_judge_trust import judge_call

from evenhand.core.plan import CassetteUse
from evenhand.core.variant import Variant
from evenhand.engine.replay.cassettes import record_cassettes


async def test_a_run_with_errors_or_of_a_part_makes_no_cassette(make_run: Make, tmp_path: Path):
    """An error would come again each time; errors of other variants are none of its own."""
    variants = (Variant(0, "a", "m"), Variant(1, "b", "m"))
    trials = [result(0), result(1, ok=None, variant=1)]
    run = await make_run(trials, variants, calls=[judge_call()])
    good, broken, part = (tmp_path / f"{name}.json" for name in ("good", "broken", "part"))
    uses = [
        CassetteUse(good, frozenset({0})),
        CassetteUse(broken, frozenset({0, 1})),
        CassetteUse(part, frozenset({0}), whole=False),
    ]
    notes: list[str] = []
    record_cassettes(run.path, uses, notes.append)
    assert [path.exists() for path in (good, broken, part)] == [True, False, False]
    assert notes == [
        "recorded: cassette good.json, 1 call",
        "cassette broken.json was not recorded: 1 trial is in error",
        "cassette part.json was not recorded: only a part of it was run",
    ]
