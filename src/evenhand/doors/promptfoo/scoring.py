"""`assertScoringFunction`: the user's own code says what a test's assertions come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.core.errors import CodeError
from evenhand.core.expect import Trial
from evenhand.core.score import Outcome, Verdict
from evenhand.doors.assertions.code_files import file_problems
from evenhand.doors.assertions.transform import split_reference
from evenhand.languages.javascript import running as javascript
from evenhand.languages.javascript.references import is_reference
from evenhand.render.promptfoo.row import components, tokens_of
from evenhand.scorers.python_code import called, is_verdict, verdict_of

NAMES = ("func", "get_score")
"""What the function of a Python file is called where no name is given; the first that is there."""


async def scored(
    reference: str,
    base: Path,
    trial: Trial,
    test: Mapping[str, Any],
    outcomes: Sequence[Outcome],
    verdict: Verdict,
) -> Verdict:
    """The verdict that stands once the function has been asked.

    It is given the named scores, and all that the assertions came to. Where one of these is in error, nobody knows what
    it would have said: then it is not asked, and the test has no verdict.

    Args:
        reference: `file://score.py[:function]` or `file://score.js[:function]`.
        base: The folder that paths start from.
        test: The test as written, whose assertions it is shown.

    Raises:
        CodeError: It raised, took too long, or returned something else than `pass`, `score` and `reason`.
    """
    broken = next((outcome for outcome in outcomes if outcome.outcome == "error"), None)
    if broken is not None:
        return replace(verdict, outcome="error", score=None, reason=broken.reason)
    context: dict[str, Any] = {
        "componentResults": components(outcomes, test),
        "tokensUsed": tokens_of(None),
    }
    if verdict.threshold is not None:
        context["threshold"] = verdict.threshold
    named = dict(verdict.named_scores)
    path, name = split_reference(reference, "")
    label = f"{Path(path).name}:{name}" if name else Path(path).name
    if is_reference(reference):
        script = javascript.function(base / path, name)
        value = (await javascript.call(trial, script, named, context)).value
    else:
        function = await trial.load(base / path, name or _default(path, base))
        value = await called(trial, function, named, context, label)
    if not is_verdict(value):
        raise CodeError(
            f"the scoring function {label} returned no verdict",
            hint="Return a dict with pass (True or False), score (a number) and reason (text).",
        )
    score = verdict_of(value, None, label)
    return Verdict(
        "pass" if score.passed else "fail",
        score.value,
        score.reason,
        score.named or verdict.named_scores,
        verdict.threshold,
    )


def scoring_problems(reference: object, base: Path) -> list[tuple[str, str]]:
    """What is wrong with `assertScoringFunction`, as far as can be seen before it runs: (what, what to do)."""
    if not isinstance(reference, str) or not reference.startswith("file://"):
        return [
            (
                f"assertScoringFunction is {reference!r}, not a file",
                "Write file://score.py:function, or file://score.js.",
            )
        ]
    path, name = split_reference(reference, "")
    if name or is_reference(reference):
        return file_problems(reference, base, name)
    return file_problems(reference, base, _default(path, base))


def _default(path: str, base: Path) -> str:
    """The function of a Python file, where none is named."""
    names = (name for name in NAMES if not file_problems(f"file://{path}", base, name))
    return next(names, NAMES[0])
