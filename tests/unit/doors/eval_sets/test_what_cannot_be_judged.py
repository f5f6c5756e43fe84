"""Evals that cannot come to a verdict are errors that nobody is asked for; the others of their set are run."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import ConfigError, Problem
from evenhand.core.plan import Plan
from evenhand.doors.eval_sets.discovery import find
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.doors.eval_sets.selection import EvalFilter
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider

HEAD = """\
from evenhand import EvalSet
from evenhand.scorers import CLARITY, Contains, Jury, Passes, Rating

POLITE, OTHERS = Passes("x"), Passes("x", judge="anthropic:j")
evals = EvalSet("s", data=[{"id": "a"}, {"id": "b"}], model="openai:m")


@evals.fixture
def keyed(judge): return judge


@evals.fixture
def lost(nothing): return nothing


@evals.eval
async def good(case, model, expect):
    expect((await model.generate(case.id)).text, Contains("e"))


"""


@pytest.fixture
def fake(monkeypatch: Any) -> Iterator[FakeProvider]:
    """A vendor that answers all of OpenAI's models; Anthropic's lack their key."""
    with FakeProvider() as served:
        for name, value in served.env().items():
            if name.startswith("OPENAI"):
                monkeypatch.setenv(name, value)
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        yield served


def planned(folder: Path, text: str, env: dict[str, str], **how: Any) -> tuple[Plan, list[Problem]]:
    """The plan of a file of evals, and what is wrong with it."""
    (folder / "s_evals.py").write_text(text)
    broken: list[Problem] = []
    return plan_of(find([str(folder)]).sets, env=env, broken=broken, **how), broken


def ran(plan: Plan, home: Path) -> dict[str, list[tuple[str, int]]]:
    """What its trials come to, with their calls, by eval."""
    finished = door.run(plan, Settings(home=home, cache=False))
    assert finished.ending.status == "finished"
    found: dict[str, list[tuple[str, int]]] = {}
    names = [variant.eval.removeprefix("s: ") for variant in plan.variants]
    with RunFile.open(finished.path) as run:
        for trial in run.trials():
            found.setdefault(names[trial.variant], []).append((trial.outcome, trial.calls))
    return found


def bad(line: str, parameters: str = "case, model, expect") -> str:
    """An eval that asks its model, and then does this."""
    return textwrap.dedent(f"""\
        @evals.eval
        async def bad({parameters}):
            said = (await model.generate(case.id)).text
            {line}
        """)


@pytest.mark.parametrize(
    ("text", "says", "slug"),
    [
        (bad("expect(said, Passes('x'))"), "no API key for anthropic:j", "auth"),
        (bad("expect(said, POLITE)"), "no API key for anthropic:j", "auth"),
        (bad("expect(said, Rating(CLARITY), at_least=3)"), "no API key", "auth"),
        (bad("expect(said, Passes(case.id))"), "no API key for anthropic:j", "auth"),
        (bad("expect(said, Passes('x', judge='anthropic:k'))"), "key for anthropic:k", "auth"),
        (bad("expect(said, Jury(['anthropic:k'], of=POLITE))"), "key for anthropic:k", "auth"),
        (bad("expect(said, OTHERS)"), "no API key for anthropic:j", "auth"),
        (bad("await judge.generate(said)", "case, model, expect, judge"), "no API key", "auth"),
        (bad("keyed", "case, model, expect, keyed"), "no API key for anthropic:j", "auth"),
        (bad("expect(said, Passes('x', judge='nobody:x'))"), "'nobody:x' is not known", "config"),
        (bad("expect(said, Passes())"), "Passes needs `criteria`", "config"),
        (bad("expect(said, Rating(CLARITY))"), "has no bound", "config"),
        (bad("expect(said)"), "needs a label", "config"),
        (bad("expect(said, Contains('('), at_least='x')"), "at_least is 'x'", "config"),
        (bad("missing", "case, model, expect, missing"), "asks for 'missing'", "config"),
        (bad("lost", "case, model, expect, lost"), "asks for 'nothing'", "config"),
        (bad("yield said"), "has a yield", "config"),
    ],
)
def test_an_eval_that_cannot_come_to_a_verdict_is_not_paid_for(
    text: str, says: str, slug: str, tmp_path: Path, fake: FakeProvider, monkeypatch: Any
) -> None:
    """It is said with its line; what its set has beside it is run and kept."""
    monkeypatch.setenv("EVENHAND_JUDGE", "anthropic:j")
    plan, broken = planned(tmp_path, HEAD + text, dict(os.environ))
    about = [problem for problem in broken if says in problem.what]
    assert about, broken
    assert about[0].slug == slug
    assert about[0].file.endswith("s_evals.py")
    assert about[0].line
    assert ran(plan, tmp_path / "home") == {
        "good": [("pass", 1)] * 2,
        "bad": [("error", 0)] * 2,
    }
    assert fake.ledger.total == 2


def test_only_the_model_that_lacks_its_key_is_in_error(tmp_path: Path, fake: FakeProvider) -> None:
    """An eval that does not ask for the model is run with it all the same."""
    text = HEAD.replace('model="openai:m"', 'over={"model": ["openai:m", "anthropic:m"]}')
    text += "@evals.eval\ndef plain(case, expect): expect(case.id, Contains(case.id))\n"
    plan, broken = planned(tmp_path, text, dict(os.environ))
    keyless = [problem for problem in broken if problem.slug == "auth"]
    assert [problem.what for problem in keyless] == ["there is no API key for anthropic:m"]
    assert ran(plan, tmp_path / "home") == {
        "good": [("pass", 1), ("error", 0)] * 2,
        "plain": [("pass", 0)] * 4,
    }


def test_an_eval_that_is_not_to_be_run_may_lack_its_key(tmp_path: Path, fake: FakeProvider) -> None:
    """What was chosen has all that it needs."""
    env = {**os.environ, "EVENHAND_JUDGE": "anthropic:j"}
    text = HEAD + bad("expect(said, Passes('x'))")
    _, broken = planned(tmp_path, text, env, only=EvalFilter(name="good"))
    assert not [problem for problem in broken if problem.slug == "auth"]
    assert fake.requests == []


def test_outputs_of_which_there_can_be_no_two_are_not_compared_for_money(
    tmp_path: Path, fake: FakeProvider
) -> None:
    """One column has nobody to be compared with."""
    text = HEAD.replace(
        "from evenhand import EvalSet\n", "from evenhand import EvalSet\n" + REFEREE
    )
    text = text.replace('model="openai:m"', 'model="openai:m", compare=[Best()]')
    with pytest.raises(ConfigError, match="of which fewer than two can be asked"):
        planned(tmp_path, text, dict(os.environ))
    two = text.replace(
        'model="openai:m"', 'over={"model": ["openai:m", "anthropic:m", "openai:n"]}'
    )
    (tmp_path / "two").mkdir()
    plan, broken = planned(tmp_path / "two", two, dict(os.environ))
    assert not any("fewer than two" in problem.what for problem in broken)
    assert [planned.problem is not None for planned in plan.trials()] == [False, True, False] * 2


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        ("", r"ranking by \"x\" wants a judge, and no judge is named"),
        (", judge='nobody:m'", "nobody"),
        (", judge='anthropic:m'", "there is no API key for anthropic:m"),
    ],
)
def test_a_ranking_without_a_judge_that_can_be_asked_is_told_before_anything_is_sent(
    tmp_path: Path, fake: FakeProvider, judge: str, why: str
) -> None:
    """Nobody is named, nobody knows the name, or there is no key."""
    ranking = f"compare=[Ranking(criteria='x'{judge})]"
    text = HEAD.replace(
        'model="openai:m"', f'over={{"model": ["openai:m", "openai:n"]}}, {ranking}'
    )
    text = text.replace("EvalSet\n", "EvalSet\nfrom evenhand.scorers import Ranking\n", 1)
    with pytest.raises(ConfigError, match=why):
        planned(tmp_path, text, dict(os.environ))
    assert fake.requests == []


REFEREE = """

class Best:
    async def compare(self, contestants, trial): ...

"""


def test_where_no_eval_is_left_nothing_is_sent(tmp_path: Path, fake: FakeProvider) -> None:
    """The plan is refused, with all that is wrong."""
    text = HEAD.replace('model="openai:m"', 'model="anthropic:m"')
    with pytest.raises(ConfigError, match="no API key for anthropic:m"):
        planned(tmp_path, text, dict(os.environ))
    assert fake.requests == []
