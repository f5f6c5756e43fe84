"""Agents of real frameworks in an eval set, without a line for it: recorded, resumed, replayed, in budgets and batches.

Each framework that is installed is tested. `tests/frameworks/newest.py` installs the newest releases of all of them.
"""

from __future__ import annotations

import importlib.util
import sys

import pytest
from tests.frameworks.checks import CHECKS, applies, expected
from tests.frameworks.frameworks import FRAMEWORKS, Framework
from tests.frameworks.newest import ENVIRONMENTS

HERE = ("resume", "replay")
"""What is looked at on each run of the tests; the script looks at everything."""


def _program(framework: Framework) -> str:
    """The interpreter that has the framework: this one, or the script's Node; empty where none has it."""
    if framework.server:
        node = ENVIRONMENTS / framework.agent / "node_modules" / ".bin" / "node"
        return str(node) if node.exists() else ""
    try:
        there = importlib.util.find_spec(framework.module) is not None
    except ModuleNotFoundError:
        there = False
    return sys.executable if there else ""


@pytest.mark.thorough
@pytest.mark.timeout(300)
@pytest.mark.parametrize("check", HERE)
@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda one: one.agent)
def test_an_agent_of_a_framework(framework: Framework, check: str) -> None:
    """As the matrix says."""
    program = _program(framework)
    if not program:
        pytest.skip(
            f"{framework.packages[0]} is not installed: tests/frameworks/newest.py installs it"
        )
    if not (applies(framework, check) and expected(framework, check)):
        pytest.skip("it does not apply")
    CHECKS[check](framework, program)
