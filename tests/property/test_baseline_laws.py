"""Any baseline is read back as it was written, and any change of a byte is noticed or changes nothing."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.analysis.gates.baseline import (
    SCHEMA,
    BaselineExpectation,
    BaselineHeader,
    BaselineTrial,
    BaselineVariant,
)
from evenhand.analysis.gates.baseline_file import read_baseline, written
from evenhand.core.errors import UsageError

TEXT = st.text(st.characters(), max_size=12)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
STATES = st.sampled_from(["pass", "fail", "error", "not_applicable"])
NAMED = st.dictionaries(TEXT, NUMBER, max_size=2)
HEADER = BaselineHeader(
    SCHEMA, "t", "RUN", 1.5, "0", [BaselineVariant("a", "p", "m")], 1, 0, {"data": "d"}, ""
)
EXPECTATIONS = st.builds(
    BaselineExpectation,
    name=TEXT,
    outcome=STATES,
    score=st.none() | NUMBER,
    metric=TEXT,
    named=NAMED,
)
TRIALS = st.lists(
    st.builds(
        BaselineTrial,
        case=TEXT,
        variant=st.just("a"),
        repeat=st.integers(0, 3),
        outcome=STATES,
        score=st.none() | NUMBER,
        name=TEXT,
        metrics=NAMED,
        expectations=st.lists(EXPECTATIONS, max_size=2),
        subject=st.lists(TEXT, max_size=2),
        checks=TEXT,
        output=TEXT | st.none() | NUMBER,
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda trial: trial.place,
)


@given(TRIALS)
def test_what_is_written_is_read_back(trials: list[BaselineTrial]):
    """In its order, whatever order it had."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.evn"
        path.write_bytes(written(HEADER, trials))
        baseline = read_baseline(path)
        assert list(baseline.trials) == sorted(trials, key=lambda trial: trial.place)
        assert written(HEADER, list(reversed(trials))) == path.read_bytes()


@pytest.mark.thorough
@settings(max_examples=300)
@given(TRIALS, st.data())
def test_a_byte_that_is_changed_is_noticed(trials: list[BaselineTrial], data: st.DataObject):
    """Or the file says the same as before; nothing but a usage error is raised."""
    whole = written(HEADER, trials)
    place = data.draw(st.integers(whole.index(b"\n") + 1, len(whole) - 1))
    byte = data.draw(st.binary(max_size=1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.evn"
        path.write_bytes(whole)
        before = read_baseline(path).trials
        path.write_bytes(whole[:place] + byte + whole[place + 1 :])
        with contextlib.suppress(UsageError):
            assert read_baseline(path).trials == before
