"""What is said of a run that was made elsewhere, before anything that it names is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from evenhand.cli.trusting import look_at_origin
from evenhand.core.errors import UsageError
from evenhand.core.run import PYTEST, RunMeta
from evenhand.core.variant import Variant


def meta(**settings: object) -> RunMeta:
    """A run that nobody here signed."""
    return RunMeta(
        id="01KAEXAMPLE0000000000000RN",
        fingerprint="f",
        title="t",
        variants=(Variant(0, "p", "m"),),
        case_count=1,
        repeats=1,
        planned=1,
        created_at=0.0,
        source="evals",
        settings=settings,
    )


def test_what_a_foreign_run_would_have_run_is_listed_as_it_would_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Names of a list with commas, anything else as JSON; what is not run, or empty, is left out."""
    monkeypatch.chdir(tmp_path)
    asked = {
        "paths": ["a.py", "b.py"],
        "models": "openai:x",
        "more": {"var": {"q": [1, 2]}, "numbers": [1, 2]},
        "case": ["not run"],
        "prompts": [],
        "evil": "\x1b[31mred",
    }
    with pytest.raises(UsageError) as caught:
        look_at_origin(meta(asked=asked, batch={"waves": 2}), trust=False)
    lines = caught.value.message.splitlines()
    assert lines[0].startswith("run 01KAEXAMPLE0000000000000RN was not made here")
    assert [line.strip() for line in lines[1:5]] == [
        "the files: a.py, b.py",
        "models: openai:x",
        "q: [1,2]",
        "numbers: [1,2]",
    ]
    assert "\x1b" not in caught.value.message
    assert [line.strip() for line in lines[6:]] == ["source: evals", 'batch: {"waves":2}']


def test_a_foreign_run_that_names_nothing_says_so_and_one_that_is_trusted_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its user says so."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="nothing that it names"):
        look_at_origin(replace(meta(asked="no table"), source=""), trust=False)
    look_at_origin(meta(asked={"paths": ["a.py"]}), trust=True)


def test_a_session_of_pytest_is_told_as_such_whoever_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """No trust could help, as nothing in its file could be asked again."""
    monkeypatch.chdir(tmp_path)
    session = replace(meta(), title=PYTEST, variants=(Variant(0, "test_it.py::test_it", ""),))
    for trust in (False, True):
        with pytest.raises(UsageError, match="is a session of pytest"):
            look_at_origin(session, trust=trust)
