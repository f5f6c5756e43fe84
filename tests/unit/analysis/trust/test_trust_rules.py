"""What a calibration is bound to: which changes void it, and which only look as if they did."""

from __future__ import annotations

import pytest
from tests.runs import Make, result

from evenhand.analysis.trust.judgements.judged import JudgedMetric, Judgements
from evenhand.analysis.trust.judgements.judged_basis import Parts
from evenhand.analysis.trust.trust_rules import (
    Bound,
    Evidence,
    bound_to,
    changed_since,
    too_little,
)
from evenhand.core.encoding import encode
from evenhand.core.run import CallEnd, CallStart
from evenhand.core.variant import Variant
from evenhand.store.runfile import RunFile

BEFORE: Bound = {"system": "s1", "data": "d1", "rule": "r1"}
ASKED = {"c1": {"system": "p1"}, "c2": {"system": "p2"}}
"""What was asked about two cases."""


def changes(
    seen: Evidence, sees: Evidence, *, rule: str = "r1", with_rule: bool = True
) -> tuple[str, ...]:
    """What has changed since, where system and data look edited."""
    now = {"system": "s2", "data": "d2", "rule": rule}
    return changed_since(BEFORE, now, seen, sees, with_rule=with_rule)


def test_another_model_voids_a_calibration_though_cases_were_edited_and_prompts_were_not():
    """Cases that are as they were are asked alike, or none of them is left: the model still is another one."""
    for asked in (ASKED, {}):
        seen = Evidence("one", "w", ASKED)
        assert changes(seen, Evidence("one", "w", asked)) == ("data",)
        assert changes(seen, Evidence("another", "w", asked)) == ("system", "data")


def test_a_case_that_is_asked_otherwise_voids_a_calibration_though_prompts_are_written_alike():
    """A prompt that is made by code is written in the same way whatever it sends."""
    seen = Evidence("one", "w", ASKED)
    assert changes(seen, Evidence("one", "w", {**ASKED, "c2": {"system": "q"}})) == (
        "system",
        "data",
    )


def test_a_run_without_a_rule_of_its_own_goes_by_the_old_one():
    """Another rule is a change only where the run has one."""
    seen = Evidence("one", "w", ASKED)
    assert changes(seen, seen, rule="r2", with_rule=False) == ("data",)
    assert changes(seen, seen, rule="r2", with_rule=True) == ("data", "rule")


def bound(run: RunFile, judge: str) -> str:
    """The settings that a calibration of a judge or a jury is bound to."""
    parts = Parts("", [Variant(0, "p", "m")])
    parts.add_calls(run)
    return bound_to(JudgedMetric(metric="m", model=judge), Judgements({}, parts), "")[
        "judge settings"
    ]


async def test_a_jury_is_bound_to_the_settings_of_each_member(make_run: Make):
    """One whose second judge is asked at another temperature is another jury; the first judge alone is the same."""

    async def run(temperature: float) -> RunFile:
        calls = [
            (
                CallStart(0, "k", n, "judge", "p", encode({"body": {"temperature": t}}), 0.0),
                CallEnd(b"{}", "provider", 0.1, 1, 1, 0.0, model),
            )
            for n, (model, t) in enumerate((("a", 0.0), ("b", temperature)))
        ]
        return await make_run([result(0)], calls=calls)

    cold, warm = await run(0.0), await run(1.0)
    assert bound(cold, "a+b") == bound(await run(0.0), "a+b")
    assert bound(cold, "a+b") != bound(warm, "a+b")
    assert bound(cold, "a") == bound(warm, "a")


@pytest.mark.parametrize(
    ("labels", "words"), [(1, "1 label is too few"), (29, "29 labels are too")]
)
def test_one_label_is_spoken_of_as_one(labels: int, words: str):
    """A newcomer's first calibration has few."""
    assert too_little(labels, 0.5, "judged").startswith(words)
