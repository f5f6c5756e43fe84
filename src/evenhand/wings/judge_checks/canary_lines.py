"""Checks of canaries in words, for terminals: what the judge says of them, and a chart of it over runs."""

from __future__ import annotations

import time
from collections.abc import Iterator

from evenhand.analysis.trust.canaries import CanaryReport, JudgeKey
from evenhand.core.wording.words import count, percent, safe, short_id
from evenhand.render.calibration_text import rate
from evenhand.render.drift import drift_words

BAR = 20
"""Columns of a bar that stands for all canaries."""
MOST_LINES = 12
"""So many checks are shown, the newest ones."""


def canary_lines(report: CanaryReport) -> Iterator[str]:
    """A block of lines for each judge."""
    for key, answers in report.check.answers.items():
        yield f"{safe(answers.metric)} · judged by {safe(answers.model)}"
        yield f"  {drift_words(report.drift(key), answers)}"
        if answers.rate is not None:
            right = f"{sum(answers.right.values())} of {count(len(answers.right), 'canary', 'canaries')}"
            yield f"  right on {right}, {rate(answers.rate)}"
            missed, excused = (total - ok for ok, total in (answers.passes, answers.fails))
            yield f"  fails {missed} that people pass, passes {excused} that people fail"
        if answers.errors:
            yield f"  {count(answers.errors, 'error')}"
        if answers.left_out:
            yield f"  {answers.left_out} left out: the run has no such case"
        yield from _chart(report, key)
        yield ""


def _chart(report: CanaryReport, key: JudgeKey) -> Iterator[str]:
    rows = report.history(key)[-MOST_LINES:]
    if len(rows) < 2:
        return
    yield f"  {'date':<11} {'run':<10}  {'right':<{BAR + 8}} pass rate of the run"
    for check, answers in rows:
        total, right = len(answers.right), sum(answers.right.values())
        filled = round(BAR * right / total) if total else 0
        bar = "━" * filled + "╌" * (BAR - filled)
        date = time.strftime("%Y-%m-%d", time.gmtime(check.at))
        raw = "–" if answers.raw is None else percent(answers.raw)
        yield f"  {date:<11} {short_id(check.run):<10}  {bar} {f'{right}/{total}':<7} {raw}"
