"""Our assertions against results that promptfoo itself recorded. Where we differ, we differ on purpose and say so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.case import Case
from evenhand.core.errors import EvenhandError
from evenhand.core.expect import Trial
from evenhand.core.message import Prompt
from evenhand.core.plan import Step
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.engine.calls import CallDesk
from evenhand.engine.code import CodeHost
from evenhand.engine.trial import LiveTrial
from evenhand.promptfoo.aggregate import verdict_rule
from evenhand.promptfoo.assertions import SUPPORTED, Assertion, Cell, prepared, problems, split
from evenhand.promptfoo.transform import looks_like_javascript
from evenhand.providers.catalog import create

VECTORS = Path(__file__).parents[3] / "shared" / "vectors" / "promptfoo"

ON_PURPOSE = ("{}", '"score": 5}')
"""Judge replies that promptfoo passes and we refuse: no verdict at all, and a score off the scale of our own prompt."""


def _vectors() -> list[dict[str, Any]]:
    file = VECTORS / "assertions.jsonl"
    if not file.is_file():
        return []
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [row for row in rows if _ours(row)]


def _ours(row: Mapping[str, Any]) -> bool:
    code = [a.get("transform") for a in row["asserts"]] + [
        (row.get("options") or {}).get("transform")
    ]
    return (
        all(split(a["type"])[0] in SUPPORTED for a in row["asserts"])
        and not row.get("assertScoringFunction")
        and not any(looks_like_javascript(c) for c in code if c)
        and not any(str(a.get("value", "")).endswith(".js") for a in row["asserts"])
    )


class _NoDesk:
    async def ask(self, trial: LiveTrial, provider: Any, prompt: Prompt, role: str) -> Any:
        answer = await provider.send(provider.request(prompt), trial)
        return replace(provider.reply(answer.body), latency_s=answer.latency_s)


async def _result(row: Mapping[str, Any]) -> TrialResult:
    variables = row.get("vars") or {}
    makes = []
    for raw in row["asserts"]:
        type_, negated = split(raw["type"])
        judge = raw.get("provider")
        assertion = Assertion(
            type_,
            negated,
            raw.get("value"),
            raw.get("threshold"),
            raw.get("weight", 1.0),
            raw.get("metric", ""),
            create(judge["id"], config=judge["config"], env={}, base=VECTORS) if judge else None,
            transform=raw.get("transform", ""),
            config=raw.get("config") or {},
            base=VECTORS,
            place="vector",
        )
        wrong = problems(assertion)
        if wrong:
            raise EvenhandError(wrong[0][0])
        makes.append(prepared(assertion))

    async def body(trial: Trial) -> object:
        await trial.model(echo, "subject").generate("x")
        cell = Cell(row["output"], "prompt", variables, {"vars": variables}, "echo", "echo")
        for make in makes:
            trial.expect(make(cell))
        return row["output"]

    echo = create("echo", env={}, base=VECTORS)
    host = CodeHost()
    with host.open():
        step = Step(
            0,
            Case("1", variables),
            Variant(0, "p", "m"),
            0,
            body,
            verdict_rule(row.get("threshold")),
        )
        desk: CallDesk = _NoDesk()  # type: ignore[assignment]
        return await LiveTrial(step, desk, host).settle()


@pytest.mark.parametrize(
    "row", _vectors() or [None], ids=lambda row: f"vector-{row['id']}" if row else "absent"
)
async def test_an_assertion_comes_to_what_promptfoo_recorded(row: dict[str, Any] | None) -> None:
    """Verdict, score and each assertion's verdict agree, apart from what is an error here on purpose."""
    if row is None:
        pytest.skip("the recorded vectors are not here")
    wanted = row["expect"]
    try:
        result = await _result(row)
    except EvenhandError:
        # Found when the file is read; promptfoo finds it when the row is run.
        assert not wanted["success"]
        return
    if result.outcome == "error":
        replies = [
            str(((a.get("provider") or {}).get("config") or {}).get("reply"))
            for a in row["asserts"]
        ]
        on_purpose = any(mark in reply for mark in ON_PURPOSE for reply in replies)
        assert on_purpose or not wanted["success"], (row, result.reason)
        return
    assert (result.outcome == "pass") == wanted["success"], (row, result)
    assert result.score == pytest.approx(wanted["score"], abs=1e-9), (row, result)
    tops = [c for c in wanted["components"] if c["type"] is not None][: len(result.outcomes)]
    if len(tops) == len(result.outcomes):
        assert [o.outcome == "pass" or o.weight == 0 for o in result.outcomes] == [
            c["pass"] for c in tops
        ], row
