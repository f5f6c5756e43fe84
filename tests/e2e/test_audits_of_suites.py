"""Faults that are planted in suites: nearly all are found, and hardly anything is said of cases without one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).resolve().parents[2] / "bench" / "audits_of_suites.py"
FAULTS = 10


def load() -> ModuleType:
    """The bench, which plants as many faults as one likes."""
    spec = importlib.util.spec_from_file_location("audits_of_suites", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


BENCH = load()
EVERY = [
    # Labels are answers of several cases.
    *((kind, BENCH.in_families, 1 + (kind == "passes:labels")) for kind in BENCH.KINDS),
    *((kind, BENCH.of_agents, FAULTS) for kind in BENCH.AGENTS),
    ("twin", BENCH.twins, FAULTS),
]


@pytest.mark.thorough(after=10)
@pytest.mark.parametrize(("kind", "plant", "count"), EVERY, ids=[kind for kind, _, _ in EVERY])
def test_planted_faults_are_found_and_nothing_is_said_of_the_others(
    kind: str, plant: object, count: int, tmp_path: Path
):
    """Each kind in suites of many kinds, a fault in every third case."""
    found, faults, others, alarms = plant(kind, count, tmp_path / "suite", 7)  # type: ignore[operator]
    assert faults >= (1 if plant is BENCH.in_families else FAULTS)
    assert (found, alarms) == (faults, []), others
