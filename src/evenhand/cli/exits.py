"""The exit codes, and the words for an error on its way out: one place for what scripts and people go by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from evenhand.core.errors import (
    BudgetStop,
    ConfigError,
    EvenhandError,
    NothingSelected,
    ProviderError,
    StoreError,
)
from evenhand.core.ranges import EXIT_CODE
from evenhand.core.run import RunStatus, VerdictWord

if TYPE_CHECKING:
    from evenhand.analysis.gates.gate_results import Gate
    from evenhand.stats.paired_difference import Word

PASSED = 0
FAILED = 1
USAGE = 2
NO_VERDICT = 3
OUT_OF_BUDGET = 4
NOTHING_SELECTED = 5
WAITING = 6
OUR_FAULT = 70
PROMPTFOO_FAILED = 100
INTERRUPTED = 130
SHOWN = 50


def code_for(
    verdict: VerdictWord,
    status: RunStatus,
    signal: int = 0,
    *,
    promptfoo: bool = False,
    failures_are_fine: bool = False,
    failed: int | None = None,
) -> int:
    """The exit code of a run.

    Args:
        signal: The signal that stopped it; 0 for none.
        promptfoo: Failed trials exit with 100, as promptfoo's do; so do errors that leave a finished run undecided.
        failures_are_fine: Failed trials exit with 0. A run that has no verdict still does not.
        failed: Failed trials exit with this; None for 1, or 100.
    """
    if signal:
        return 128 + signal
    if status == "out_of_budget":
        return OUT_OF_BUDGET
    if status == "waiting":
        return WAITING
    # promptfoo counts errors as failures, and scripts that use its codes expect 100.
    if status not in ("finished", "decided") or (verdict == "undecided" and not promptfoo):
        return NO_VERDICT
    if verdict == "passed" or (verdict == "failed" and failures_are_fine):
        return PASSED
    if failed is not None:
        return failed
    return PROMPTFOO_FAILED if promptfoo else FAILED


def failed_code(env: Mapping[str, str]) -> int | None:
    """What PROMPTFOO_FAILED_TEST_EXIT_CODE says; None where it says no number.

    Raises:
        UsageError: It is a number that no program can exit with.
    """
    name = "PROMPTFOO_FAILED_TEST_EXIT_CODE"
    text = (env.get(name) or "").strip()
    if not text.isdecimal():
        return None
    EXIT_CODE.check(name, float(text))
    return int(text)


def code_for_comparison(word: Word) -> int:
    """The exit code of a comparison: FAILED where something is worse, NO_VERDICT where that is left open."""
    return {"worse": FAILED, "undecided": NO_VERDICT}.get(word, PASSED)


def code_for_gate(gate: Gate, signal: int = 0, undecided: str = "") -> int:
    """The exit code of a gate.

    Args:
        signal: The signal that stopped its run; 0 for none.
        undecided: `pass` or `fail`: what a gate counts as that too few cases leave undecided; empty for neither.
    """
    if signal:
        return 128 + signal
    if gate.status == "out_of_budget":
        return OUT_OF_BUDGET
    if gate.verdict == "nothing":
        return NOTHING_SELECTED
    # `--undecided pass` is for too few cases; a run that was cut off never passes by it.
    if gate.verdict == "undecided" and gate.status in ("finished", "decided"):
        if undecided == "fail":
            return FAILED
        return PASSED if undecided == "pass" and not gate.never_passes else NO_VERDICT
    return {"worse": FAILED, "undecided": NO_VERDICT}.get(gate.verdict, PASSED)


def code_of(error: EvenhandError) -> int:
    """The exit code of an error that kept a run from starting."""
    if isinstance(error, NothingSelected):
        return NOTHING_SELECTED
    if isinstance(error, BudgetStop):
        return OUT_OF_BUDGET
    if isinstance(error, (ProviderError, StoreError)):
        return NO_VERDICT
    return USAGE


def complaint(error: EvenhandError) -> str:
    """What to print of an error: all problems of a config, or one message with what to do about it."""
    from evenhand.core.wording.words import count, safe
    from evenhand.providers.missing_keys import each_key_once

    if not isinstance(error, ConfigError):
        return f"evenhand: {safe(str(error), multiline=True)}\n"
    problems = each_key_once(error.problems)
    lines = [safe(str(problem), multiline=True) for problem in problems[:SHOWN]]
    number = len(problems) + error.more
    if number > len(lines):
        lines.append(f"… and {count(number - len(lines), 'more problem')}")
    lines += [f"hint: {safe(str(hint), multiline=True)}" for hint in error.hints[:SHOWN]]
    count = "1 problem" if number == 1 else f"{number:,} problems"
    return "\n".join(lines) + f"\n{count}; {error.spared}\n"
