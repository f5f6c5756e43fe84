"""Takes the results of trials from an earlier run, where nothing that they depend on has changed.

How this works: a body that is about to ask its model for the first time stops there if the earlier run has a trial of
the same case with the very same request, and the same is expected of the answer. So a prompt is filled in as always,
what is compared is what would be sent, and no code runs twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from evenhand.core.encoding import digest, encode
from evenhand.core.plan import PlannedTrial
from evenhand.core.run import TrialResult


class Taking(Protocol):
    """Knows the trials of an earlier run."""

    def __call__(
        self, planned: PlannedTrial, request: str, checks: str, *, by_request_alone: bool
    ) -> TrialResult | None:
        """The result of a trial, as far as the earlier run knows it; None where the trial has to be run.

        Args:
            request: The name of its first request; see `evenhand.core.scripted.request_name`.
            checks: A digest of what is expected of the answer, with the variables; empty where that can't be known.
            by_request_alone: Whether the model's answers depend on nothing but the request.
        """
        ...


def checks_of(planned: PlannedTrial, variables: Mapping[str, Any]) -> str:
    """A digest of what is expected of a trial's answer, and of the data that it is held against.

    Empty where that can't be known, or has no form in JSON.
    """
    checks = planned.checks() if planned.checks is not None else ""
    if not checks:
        return ""
    case = planned.case
    try:
        data = encode([variables, case.input, case.expected, case.context])
    except (TypeError, ValueError):
        return ""
    return digest(checks, data)


class Taken(BaseException):
    """Ends a body whose result is known."""

    def __init__(self, result: TrialResult) -> None:
        super().__init__()
        self.result = result
