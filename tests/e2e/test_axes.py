"""An axis that nobody takes is a problem before anything runs: its variants would be one, compared with itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.commands import Run, in_process

HEAD = """\
from evenhand import Conversation, EvalSet, Prompt

evals = EvalSet(
    "shop",
    {given},
)


"""
AXES: dict[str, str] = {
    "model": 'over={"model": ["echo", "openai:gpt-5"]}',
    "prompt": 'over={"prompt": [Prompt("a", "Say a: {{question}}"), Prompt("b", "Say b: {{question}}")]}',
    "tone": 'over={"tone": ["kind", "brief"]}',
    "of one value": 'over={"tone": ["kind"]}',
    "two": 'over={"tone": ["kind"], "size": [1, 2]}',
    "model=": 'model="echo"',
}
NONE = "@evals.eval\ndef answers(expect):\n    expect(True, 'ran')\n"


def names_of(axis: str) -> list[str]:
    """The names that have to be taken."""
    return {"of one value": ["tone"], "two": ["tone", "size"], "model=": ["model"]}.get(
        axis, [axis]
    )


def by_eval(names: list[str]) -> str:
    """An eval that takes them."""
    return f"@evals.eval\ndef answers(expect, {', '.join(names)}):\n    expect(True, 'ran')\n"


def by_fixture(names: list[str]) -> str:
    """A fixture that takes them."""
    return (
        f"@evals.fixture\ndef app({', '.join(names)}): return 1\n\n"
        "@evals.eval\ndef answers(expect, app):\n    expect(True, 'ran')\n"
    )


def by_fixture_of_a_fixture(names: list[str]) -> str:
    """A fixture that another one needs takes them."""
    return (
        f"@evals.fixture\ndef client({', '.join(names)}): return 1\n\n"
        "@evals.fixture\ndef app(client): return 1\n\n"
        "@evals.eval\ndef answers(expect, app):\n    expect(True, 'ran')\n"
    )


def by_another_eval(names: list[str]) -> str:
    """One eval of two takes them."""
    return by_eval(names) + "\n\n@evals.eval\ndef holds(expect):\n    expect(True, 'ran')\n"


TAKEN: dict[str, Callable[[list[str]], str]] = {
    "eval": by_eval,
    "fixture": by_fixture,
    "fixture of a fixture": by_fixture_of_a_fixture,
    "another eval": by_another_eval,
}


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Command lines in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return in_process(capsys)


def written(folder: Path, given: str, body: str) -> None:
    """An eval file; its set stands in line 3."""
    text = HEAD.replace("{given}", given) + body
    (folder / "shop_evals.py").write_text(text, "utf-8")


@pytest.mark.parametrize("axis", AXES)
def test_an_axis_that_nobody_takes_is_refused_with_its_line(
    tmp_path: Path, evenhand: Run, axis: str
) -> None:
    """`check` and `run` exit with 2, and nothing is sent."""
    unneeded = "@evals.fixture\ndef unneeded(" + ", ".join(names_of(axis)) + "): return 1\n\n"
    for body in (NONE, unneeded + NONE):
        written(tmp_path, AXES[axis], body)
        for command in ("check", "run"):
            ended = evenhand(command, ".")
            assert ended.code == 2, ended.err
            for name in names_of(axis):
                assert "shop_evals.py:3: " in ended.err
                assert f"takes '{name}'" in ended.err
    assert not list(tmp_path.glob(".evenhand/runs/*"))


@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("axis", ["prompt", "two", "model="])
def test_an_axis_that_somebody_takes_is_run(
    tmp_path: Path, evenhand: Run, axis: str, taken: str
) -> None:
    """By an eval, a fixture, or what a fixture needs."""
    written(tmp_path, AXES[axis], TAKEN[taken](names_of(axis)))
    ended = evenhand("run", ".", "--no-progress")
    assert ended.code == 0, ended.err


def test_an_axis_that_the_subject_takes_is_run(tmp_path: Path, evenhand: Run) -> None:
    """Each trial has its conversation first."""
    given = AXES["tone"] + ",\n    subject=lambda tone: Conversation(lambda said: tone, ['hello'])"
    written(tmp_path, given, "@evals.eval\ndef answers(talk, expect):\n    expect(True, 'ran')\n")
    ended = evenhand("run", ".", "--no-progress")
    assert ended.code == 0, ended.err


def test_an_eval_that_does_not_take_an_axis_of_its_set_is_named(
    tmp_path: Path, evenhand: Run
) -> None:
    """It is run once for each value, which says nothing about the values: that is said."""
    written(tmp_path, AXES["tone"], by_another_eval(["tone"]))
    for command in ("check", "run"):
        ended = evenhand(command, ".")
        assert ended.code == 0
        assert "holds doesn't take 'tone'" in ended.out + ended.err
        assert "answers doesn't take" not in ended.out + ended.err
