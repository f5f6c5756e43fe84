"""Assertions that a web service of the user's decides."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.core.errors import CodeError, ScoreError
from evenhand.core.expect import Scorer, Trial
from evenhand.core.json_shapes import as_mapping, is_number
from evenhand.core.message import Prompt
from evenhand.core.ranges import MILLISECONDS
from evenhand.core.score import Score
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind, wrong_in
from evenhand.doors.assertions.grading import wanted_text
from evenhand.languages.javascript.wire import as_json
from evenhand.providers.webhook import TIMEOUT_S, PostedGrader

GROUP = "your own code"


@dataclass(frozen=True, slots=True)
class WebhookVerdict:
    """A web service is posted the output and its prompt and variables, and answers `{pass, score, reason}`.

    Attributes:
        context: What it is told beside the output.
    """

    grader: PostedGrader
    context: Mapping[str, Any] = field(repr=False)
    negated: bool = False

    async def score(self, output: Any, trial: Trial) -> Score:
        body = as_json({"output": output, "context": self.context})
        reply = await trial.model(self.grader, "judge").generate(Prompt((), body))
        try:
            document = json.loads(reply.text)
        except ValueError:
            document = None
        answer = as_mapping(document)
        verdict, value, reason = (answer.get(key) for key in ("pass", "score", "reason"))
        if not isinstance(verdict, bool):
            raise CodeError(
                "the webhook answered without a verdict",
                hint='It has to answer {"pass": true} or {"pass": false}, with a score and a reason where it likes.',
            )
        if value is not None and not is_number(value):
            raise CodeError(f"the webhook's score is {value!r}, not a number")
        passed = verdict is not self.negated
        number = float(passed) if value is None else 1 - value if self.negated else float(value)
        return Score(number, passed, str(reason or f"it says {'pass' if verdict else 'fail'}"))

    def __str__(self) -> str:
        return f"{'not-' if self.negated else ''}webhook"


def _webhook(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    grader = PostedGrader(url=wanted_text(assertion, value), timeout_s=_timeout_s())
    context = {"prompt": cell.prompt, "vars": dict(cell.variables)}
    return WebhookVerdict(grader, context, assertion.negated)


def _timeout_s() -> float:
    """What WEBHOOK_TIMEOUT says, in milliseconds there."""
    setting = os.environ.get("WEBHOOK_TIMEOUT", "")
    if not setting.isdecimal():
        return TIMEOUT_S
    problem = MILLISECONDS.problem("WEBHOOK_TIMEOUT", float(setting))
    if problem:
        raise ScoreError(problem)
    return float(setting) / 1000


KINDS = (
    Kind(
        "webhook",
        "your web service decides: it is sent the output, and answers {pass, score, reason}",
        _webhook,
        "address",
        of_each_cell=True,
        negation="own",
        check=lambda _assertion: wrong_in(_timeout_s),
    ),
)
