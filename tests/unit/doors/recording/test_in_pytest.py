"""An application's own calls in tests that use `expect`."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.store.run_lookup import paths
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script

pytestmark = pytest.mark.timeout(600)  # each test starts several sessions of pytest

pytest_plugins = ("pytester",)

TESTS = """
import anthropic, httpx2, openai, pytest
from evenhand.doors import recording

ASK = {"model": "gpt-x", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture
def plain():
    with openai.OpenAI(http_client=recording.http_client()) as client:
        yield client


def test_plain(plain, expect):
    expect(plain.chat.completions.create(**ASK).choices[0].message.content == "Hello", "greets")


async def test_async(expect, plain):
    async with openai.AsyncOpenAI(http_client=recording.async_http_client()) as client:
        stream = await client.chat.completions.create(**ASK, stream=True)
        text = "".join([c.choices[0].delta.content or "" async for c in stream])
    same = plain.chat.completions.create(**ASK, temperature=0).choices[0].message.content
    expect(text == same == "Hello", "greets")


def test_without_expect(plain):
    if GO:
        assert plain.chat.completions.create(**ASK).choices[0].message.content == "Hello"
"""


@pytest.fixture
def fake(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Found through the environment alone."""
    pytester.makeini(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
        "addopts = -p evenhand.doors.pytest_plugin -p pytest_asyncio.plugin --strict-markers\n"
    )
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    with FakeProvider(Script([Rule((), "Hello")])) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        yield server


def calls(folder: Path) -> list[tuple[str, str]]:
    """Role and origin of the calls of the newest run."""
    with RunFile.open(paths(folder / ".evenhand")[0]) as run:
        return [(c.start.role, c.end.origin) for c in run.calls() if c.end and not c.end.error]


def test_a_tests_own_calls_are_kept_and_asked_for_only_when_live(
    pytester: pytest.Pytester, fake: FakeProvider
):
    """As with judges: `--evenhand-live` asks, and without it what was answered before is answered again."""
    pytester.makepyfile(test_bot=TESTS.replace("GO", "False"))
    pytester.runpytest_inprocess().assert_outcomes(errors=2, passed=1)
    assert fake.ledger.total == 0
    pytester.makepyfile(test_bot=TESTS.replace("GO", "True"))
    pytester.runpytest_inprocess("--evenhand-live").assert_outcomes(passed=3)
    assert calls(pytester.path) == [("subject", "provider")] * 3
    assert fake.ledger.total == 4
    pytester.makepyfile(test_bot=TESTS.replace("GO", "False"))
    pytester.runpytest_inprocess().assert_outcomes(passed=3)
    assert calls(pytester.path) == [("subject", "cache")] * 3
    assert fake.ledger.total == 4


def test_a_refused_call_is_one_clear_message_and_no_verdict(
    pytester: pytest.Pytester, fake: FakeProvider
) -> None:
    """Not the SDK's traceback; an error in pytest's count, as nothing was answered."""
    pytester.makepyfile(
        """
import openai, pytest
from evenhand.doors import recording


def test_plain(expect):
    with openai.OpenAI(http_client=recording.http_client()) as client:
        said = client.chat.completions.create(
            model="gpt-x", messages=[{"role": "user", "content": "Hi"}]
        )
    expect(said.choices[0].message.content == "Hello", "greets")


def test_expects_something_before(expect):
    expect(True, "is there")
    test_plain(expect)


def test_misses_something_before(expect):
    expect(False, "is there")
    test_plain(expect)
"""
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=2, failed=1)
    text = result.stdout.str()
    assert (
        text.count(
            "a model was not asked: no answer to this question is stored, and pytest runs without --evenhand-live"
        )
        >= 3
    )
    assert "To ask the model, and store its answer" in text
    assert "Traceback" not in text
    assert "site-packages/openai" not in text
    assert len(text.splitlines()) < 60
    assert fake.requests == []


ORDINARY = """
import openai


def test_asks(expect):
    with openai.OpenAI() as client:
        reply = client.chat.completions.create(
            model="gpt-x", messages=[{"role": "user", "content": "Hi"}]
        )
    expect(reply.choices[0].message.content == "Hello", "greets")
"""


def test_an_ordinary_client_is_recorded_unless_the_configuration_says_no(
    pytester: pytest.Pytester, fake: FakeProvider
) -> None:
    """So that a later session asks nobody; switched off, the client sends as ever."""
    pytester.makepyfile(test_bot=ORDINARY)
    pytester.runpytest_inprocess().assert_outcomes(errors=1)
    assert fake.ledger.total == 0
    pytester.runpytest_inprocess("--evenhand-live").assert_outcomes(passed=1)
    assert calls(pytester.path) == [("subject", "provider")]
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    assert fake.ledger.total == 1
    pytester.runpytest_inprocess("-o", "evenhand_record_calls=false").assert_outcomes(passed=1)
    assert fake.ledger.total == 2
