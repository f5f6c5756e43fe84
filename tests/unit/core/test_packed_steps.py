"""Steps in a run file: any number, whatever is in them, without secrets, and small."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.runs import (
    Make,
    result,
)

from evenhand.core.errors import StoreError
from evenhand.core.packed_steps import STEPS, VALUE, written_steps
from evenhand.core.secrets import Secrets
from evenhand.core.step import Step
from evenhand.render.trial_steps import steps_of
from evenhand.store.runfile import RunFile


async def kept(make: Make, *steps: Step) -> list[Step]:
    """The steps as a file has them."""
    run = await make([result(0, steps=steps)])
    return run.kept_steps(0) or []


async def test_steps_come_back_as_they_were(make_run: Make):
    """Every field, text of any kind, and more than a row holds."""
    full = Step(
        "tool", "a\x00\ud800<b>", {"x": [1, None]}, "ü", "ok", "e", 0.0, 1.5, None, "ag", 1, 2, 0.1, "c"
    )  # fmt: skip
    many = tuple(Step("message", f"m{i}", parent=i - 1) for i in range(1, 3 * STEPS))
    assert await kept(make_run, full, *many) == [full, *many]


async def test_what_json_has_no_form_for_is_told_in_words_and_numbers_that_are_none_are_unknown(
    make_run: Make,
):
    """An object whose repr raises, too."""

    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError

    steps = await kept(
        make_run,
        Step("tool", "a", {1j}, Odd(), cost_usd=float("nan"), duration_s=float("inf")),
        Step("tool", "b", {"x": float("nan")}),
    )
    assert steps[0] == Step("tool", "a", "{1j}", "<Odd>")
    assert steps[1].arguments == "{'x': nan}"


async def test_a_value_beyond_a_megabyte_keeps_its_head_and_tail(make_run: Make):
    """And says how much is missing; one below it is whole."""
    text = "<" + "x" * (2 * VALUE) + ">"
    long, fits = await kept(make_run, Step("tool", "a", result=text), Step("tool", "b", "y" * 9999))
    assert long.result[:2] == "<x"
    assert long.result[-2:] == "x>"
    assert "1,980,002 characters left out" in long.result
    assert fits.arguments == "y" * 9999


def test_secrets_are_taken_out_before_steps_are_compressed():
    """Packed, they could not be found."""
    secrets = Secrets()
    secrets.learn(["sk-abcdefghijklmnop"])
    ((_, data),) = written_steps([Step("tool", "a", "key sk-abcdefghijklmnop")], secrets)
    assert b"abcdefghijklmnop" not in zlib.decompress(data)


async def test_the_steps_of_another_take_are_not_read(make_run: Make, tmp_path: Path):
    """Those of the latest one count; a result without steps has none."""
    run = await make_run([result(0, steps=(Step("tool", "a"), Step("tool", "b")))])
    with closing(sqlite3.connect(run.path)) as db:
        db.execute("insert into trial select idx, 1, case_id, variant, repeat, outcome, score, "
                   "latency_s, calls, cached, cost_usd, tokens_in, tokens_out from trial")  # fmt: skip
        db.commit()
    with RunFile.open(run.path) as again:
        assert again.kept_steps(0) is None


@pytest.mark.parametrize("damage", [b"no zlib", b"", 7])
async def test_damaged_steps_are_told(make_run: Make, damage: Any):
    """In one message, which names the file."""
    run = await make_run([result(0, steps=(Step("tool", "a"), Step("tool", "b")))])
    with closing(sqlite3.connect(run.path)) as db:
        db.execute("update step set steps = ?", (damage,))
        db.commit()
    with RunFile.open(run.path) as again:
        trial = again.trial(0)
        assert trial is not None
        with pytest.raises(StoreError, match="cannot be read"):
            steps_of(again, trial)
