"""Which evals of a file a change is about."""

from __future__ import annotations

import pytest

from evenhand.doors.eval_sets.changed_evals import changed_evals

FILE = """evals = EvalSet("a")

@evals.eval
def first(case, expect):
    expect(case.input, "one")

@evals.eval(tags=["slow"])
async def second(case, expect):
    expect(case.input, "two")

def helper():
    return 1
"""


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ('"two"', '"three"', [8]),
        ('["slow"]', '["fast"]', [8]),
        ('EvalSet("a")', 'EvalSet("a")  # of refunds', []),
        ("return 1", "return 2", None),
        ('EvalSet("a")', 'EvalSet("b")', None),
        ("return 1", "return 1 +", None),
        ("def helper", "@evals.eval\ndef third(case):\n    pass\n\ndef helper", [12]),
        ("def first", "def renamed", [4]),
    ],
)
def test_only_evals_that_differ_are_named(before: str, after: str, lines: list[int] | None):
    """By their lines; where anything else differs, all may be affected."""
    changed = FILE.replace(before, after)
    assert changed != FILE
    assert changed_evals(FILE, changed) == lines


def test_an_eval_that_was_removed_leaves_nothing_to_run():
    """The others are what they were."""
    start, end = FILE.index("@evals.eval\n"), FILE.index("@evals.eval(")
    assert changed_evals(FILE, FILE[:start] + FILE[end:]) == []
