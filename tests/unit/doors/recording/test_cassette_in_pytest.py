"""`pytest --evenhand-cassette`: recorded the first time, replayed afterwards, without a key and without a network."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evenhand.store.cassette import read_cassette
from evenhand.testing import FakeProvider, Rule, Script

pytestmark = pytest.mark.timeout(600)  # each test starts several sessions of pytest

pytest_plugins = ("pytester",)

TESTS = """
import openai, pytest
from evenhand import Case, Dataset
from evenhand.doors import recording
from evenhand.scorers import Contains, Passes

CASES = Dataset([{"id": "a", "input": "Hi"}, {"id": "b", "input": "Ho"}])


@pytest.fixture
def client():
    with openai.OpenAI(http_client=recording.http_client()) as client:
        yield client


@pytest.mark.cases(CASES)
def test_bot(client, case, expect):
    ask = {"model": "gpt-x", "messages": [{"role": "user", "content": case.input + "TAIL"}]}
    expect(client.chat.completions.create(**ask).choices[0].message.content, Contains("Hello"))
"""


@pytest.fixture
def run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., pytest.RunResult]:
    """Runs the tests, with this at the end of what they ask."""
    pytester.makeini("[pytest]\naddopts = -p evenhand.doors.pytest_plugin\n")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("CI", raising=False)

    def go(*options: str, tail: str = "") -> pytest.RunResult:
        pytester.makepyfile(test_bot=TESTS.replace("TAIL", tail))
        return pytester.runpytest_inprocess("--evenhand-cassette", "bot.cassette", *options)

    return go


def test_a_session_records_its_cassette_once_and_replays_it_without_a_key(
    run: Callable[..., pytest.RunResult], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    """The second session asks nobody; a changed question is an error that shows the difference; CI never records."""
    with FakeProvider(Script([Rule((), "Hello")])) as server:
        env = server.env()
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        first = run()
        first.assert_outcomes(passed=2)
        first.stdout.fnmatch_lines(["evenhand: recorded: cassette bot.cassette, 2 calls"])
        monkeypatch.delenv("OPENAI_API_KEY")
        monkeypatch.setenv("CI", "true")
        run().assert_outcomes(passed=2)
        changed = run(tail="!")
        changed.assert_outcomes(errors=2)
        changed.stdout.fnmatch_lines(
            [
                '*test_bot.py:*: cassette bot.cassette has no such*content, character 3: "Hi" recorded*'
            ]
        )
        assert len(server.requests) == 2
        assert read_cassette(pytester.path / "bot.cassette")[0].calls == 2
        monkeypatch.setenv("OPENAI_API_KEY", env["OPENAI_API_KEY"])
        run("--evenhand-record", tail="!").assert_outcomes(passed=2)
        assert len(server.requests) == 4
        run(tail="!").assert_outcomes(passed=2)
        (pytester.path / "bot.cassette").unlink()
        run().stdout.fnmatch_lines(
            ["*there is no cassette*bot.cassette, and CI is set: no model was asked"]
        )
        assert len(server.requests) == 4
