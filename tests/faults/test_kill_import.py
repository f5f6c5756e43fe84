"""Imports that are killed: what they had written by then never passes for the run, and the next import is whole."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest
from tests.faults.conftest import Folder, until

from evenhand.testing import FakeProvider

TRACES = 400


def spans() -> dict[str, Any]:
    """As many traces of one call each, in OTLP's JSON."""

    def span(number: int) -> dict[str, Any]:
        texts = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.input.messages": json.dumps(
                [{"role": "user", "parts": [{"type": "text", "content": f"question {number}"}]}]
            ),
        }
        return {
            "traceId": f"{number + 1:032x}",
            "spanId": f"{number + 1:016x}",
            "name": "chat",
            "startTimeUnixNano": str(1764400000000000000 + number * 10**9),
            "endTimeUnixNano": str(1764400001000000000 + number * 10**9),
            "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in texts.items()],
        }

    every = [span(number) for number in range(TRACES)]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": every}]}]}


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_a_killed_import_leaves_no_part_that_passes_for_the_run(
    stop: signal.Signals, serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Stopped while its run is written; imported again, everything is there, and nothing is left over."""
    evals = folder(serve())
    (evals.path / "traces.json").write_text(json.dumps(spans()))
    temporary = evals.path / "temporary"
    temporary.mkdir()
    env = {"TMPDIR": str(temporary)}
    process = evals.start("import", "traces", "traces.json", env=env)
    until(lambda: any(evals.home.rglob("*.db")) or process.poll() is not None, 60)
    process.send_signal(signal.SIGSTOP)
    assert process.poll() is None
    process.send_signal(stop)
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not list((evals.home / "runs").glob("*.db"))
    assert not list(temporary.iterdir())
    again = evals.run("import", "traces", "traces.json", env=env)
    assert again.returncode == 0, again.stderr
    assert evals.document()["totals"]["trials"] == TRACES
    assert not list((evals.home / "runs" / ".importing").iterdir())
