"""kill -9 while questions are written: what may have been charged for twice is said."""

from __future__ import annotations

from collections.abc import Callable

from tests.faults.conftest import Folder, until

from evenhand.core.errors import StoreError
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider


def test_calls_in_doubt_are_said_when_generate_goes_on_after_a_kill(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """One document, whose only call is in flight at the kill."""
    evals = folder(serve(latency_ms=1500))
    (evals.path / "a.md").write_text("Widgets cost three euros.")
    command = ("dataset", "generate", "a.md", "--to", "c.csv", "--model", "openai:chat:gpt-4o-mini")

    def in_flight() -> bool:
        for path in (evals.home / "runs").glob("*.db"):
            try:
                with RunFile.open(path) as run:
                    return bool(run.in_doubt())
            except StoreError:  # it is being made
                return False
        return False

    process = evals.start(*command)
    until(in_flight)
    process.kill()
    process.communicate()
    again = evals.run(*command)
    assert "in doubt: 1 call in flight" in again.stdout + again.stderr
