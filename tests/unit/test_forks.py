"""Tests that run in forks come to what they come to in one process."""

from __future__ import annotations

import pytest
from tests import forks

pytest_plugins = ("pytester",)

EVERY_END = """
import os, subprocess, sys, time
import pytest

KEPT = sys.stderr

@pytest.fixture(scope="session")
def place(tmp_path_factory):
    yield tmp_path_factory.mktemp("place")
    print("the session's own tear-down")
    assert not os.environ.get("FAIL_AT_THE_END")

@pytest.fixture
def breaks():
    yield
    raise ValueError("torn down")

def test_passes(place, capsys):
    print("told")
    assert capsys.readouterr().out == "told\\n"

def test_fails():
    os.system("echo from a process")
    subprocess.run(["echo", "by a kept stream"], stdout=KEPT)
    assert 1 == 2

@pytest.mark.timeout(0.2)
def test_hangs():
    time.sleep(60)

@pytest.mark.skip(reason="not today")
def test_is_skipped():
    pass

def test_breaks_afterwards(breaks):
    pass

def test_ends_the_process():
    os._exit(0)

def test_comes_after_that(place):
    assert place.is_dir()
"""
OPTIONS = ("-p", "tests.forks", "-p", "no:cacheprovider", "-p", "no:evenhand")


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with three files of tests, and another with one that fails at the end of a session."""
    monkeypatch.setenv("PYTHONPATH", str(forks.__file__).rpartition("/tests/")[0])
    for name in ("test_a", "test_b", "test_c"):
        (pytester.path / f"{name}.py").write_text(EVERY_END)
    return pytester


def test_every_end_of_a_test_is_reported_once_and_the_rest_of_a_file_is_run(run: pytest.Pytester):
    """Failed, too slow, skipped, broken afterwards, or its process gone: of each, one for each of three files."""
    ended = run.runpytest_subprocess(*OPTIONS, "--forks", "1", "-rA", timeout=120)
    assert ended.ret == 1
    ended.assert_outcomes(passed=9, failed=9, skipped=3, errors=3)
    assert ended.outlines.count("from a process") == 3
    assert ended.outlines.count("by a kept stream") == 3
    ended.stdout.fnmatch_lines(["*Timeout*"])
    ended.stdout.fnmatch_lines(["*the process of this test has ended with 0*"])


def test_what_fails_while_a_session_is_torn_down_is_an_error(
    run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    """In each process that has used the fixture."""
    monkeypatch.setenv("FAIL_AT_THE_END", "1")
    words = ("-k", "test_passes", "test_a.py")
    ended = run.runpytest_subprocess(*OPTIONS, "--forks", "1", *words, timeout=120)
    ended.assert_outcomes(passed=1, errors=1)


def test_a_session_whose_processes_all_end_at_once_fails(run: pytest.Pytester):
    """It doesn't pass for want of tests."""
    run.makeconftest(
        "import os\n"
        "def pytest_plugin_registered(plugin):\n"
        "    if type(plugin).__name__ == 'Reports':\n"
        "        os._exit(0)\n"
    )
    ended = run.runpytest_subprocess(*OPTIONS, "--forks", "1", timeout=120)
    assert ended.ret not in (0, 5), ended.stdout.str()
    ended.stdout.fnmatch_lines(["*no process is left to run*"])
