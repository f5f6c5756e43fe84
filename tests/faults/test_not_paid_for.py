"""What is known to come to nothing before it is sent: not paid for, and said by `check` and `run` alike."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.testing import FakeProvider

QUIET = ("--no-progress", "--no-table", "--no-cache")
KEYLESS = {
    "id": "openai:chat:keyless",
    "config": {"apiBaseUrl": "http://vendor.example/v1", "apiKeyEnvar": "NO_SUCH_KEY"},
}
MODEL = "openai:chat:gpt-4o-mini"


def rows_with(assertion: dict[str, Any], fine: int = 0) -> list[dict[str, Any]]:
    """Thirty tests with this assertion, and some with none but a good one."""
    good = {"type": "contains", "value": "e"}
    return [
        *({"vars": {"n": f"number {i}"}, "assert": [good, assertion]} for i in range(30)),
        *({"vars": {"n": f"fine {i}"}, "assert": [good]} for i in range(fine)),
    ]


@pytest.mark.parametrize(
    ("assertion", "says"),
    [
        ({"type": "contain", "value": "x"}, "assertion type 'contain' is not known"),
        ({"type": "regex", "value": "(("}, "is not a regular expression"),
        ({"type": "is-json", "value": {"type": "nonsense"}}, "schema"),
        ({"type": "python", "value": "file://nowhere.py"}, "nowhere.py does not exist"),
        (
            {"type": "llm-rubric", "value": "good", "provider": KEYLESS},
            "there is no API key for openai:chat:keyless",
        ),
    ],
    ids=["type", "pattern", "schema", "file", "key"],
)
def test_what_cannot_come_to_a_verdict_is_not_paid_for(
    assertion: dict[str, Any],
    says: str,
    serve: Callable[..., FakeProvider],
    folder: Callable[..., Any],
) -> None:
    """All thirty: nothing is sent. With two others beside them: these two are asked, and kept."""
    fake = serve()
    evals = folder(fake)
    evals.write(0, tests=rows_with(assertion))
    for verb in (("check",), ("run", *QUIET)):
        ended = evals.run(*verb)
        assert ended.returncode == 2
        assert says in ended.stderr
        assert "promptfooconfig.json:1:" in ended.stderr
        # A key that is missing is one problem, however many need it.
        number = "30 places need it.\n1 problem" if "key" in says else "30 problems"
        assert f"{number}; nothing was sent" in ended.stderr
    assert not (evals.home / "runs").exists()
    assert fake.requests == []
    evals.write(0, tests=rows_with(assertion, fine=2))
    assert evals.run("check").returncode == 2
    ended = evals.run("run", *QUIET)
    assert ended.returncode == 3
    assert says in ended.stderr
    totals = evals.document()["totals"]
    assert (totals["passed"], totals["errors"], totals["calls"]) == (2, 30, 2)
    assert fake.ledger.total == 2


def test_a_column_without_its_key_costs_the_other_nothing(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """The other column is asked, kept, and not asked again."""
    fake = serve()
    evals = folder(fake)
    evals.write(20, providers=[MODEL, KEYLESS])
    checked = evals.run("check")
    assert checked.returncode == 2
    assert "there is no API key for openai:chat:keyless" in checked.stderr
    assert "Set NO_SUCH_KEY in the environment." in checked.stderr
    ended = evals.run("run", *QUIET)
    assert ended.returncode == 1  # some of those that were asked have failed
    assert fake.ledger.total == 20
    totals = evals.document()["totals"]
    assert (totals["errors"], totals["passed"] + totals["failed"]) == (20, 20)
    errors = {t["error"]["slug"] for t in evals.document()["trials"] if t["outcome"] == "error"}
    assert errors == {"auth"}
    evals.run("resume", "--no-progress")
    assert fake.ledger.total == 20


def test_evals_whose_judge_lacks_its_key_cost_the_others_nothing(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """Of a set, the eval that a judge decides is in error; the other one is run."""
    fake = serve()
    evals = folder(fake)
    (evals.path / "shop_evals.py").write_text(
        textwrap.dedent("""\
        from evenhand import EvalSet
        from evenhand.scorers import Contains, Passes

        evals = EvalSet("shop", data=[{"id": str(i)} for i in range(10)], model="openai:gpt-4o-mini")


        @evals.eval
        async def says(case, model, expect):
            expect((await model.generate(case.id)).text, Contains("e"))


        @evals.eval
        async def judged(case, model, expect):
            expect((await model.generate(case.id)).text, Passes("is polite", judge="huggingface:chat:m"))
        """)
    )
    for verb in ("check", "run"):
        ended = evals.run(verb, "shop_evals.py", *(QUIET if verb == "run" else ()))
        assert ended.returncode == (2 if verb == "check" else 3)
        assert "shop_evals.py:14: there is no API key for huggingface:chat:m" in ended.stderr
    totals = evals.document()["totals"]
    assert (totals["passed"], totals["errors"]) == (10, 10)
    assert fake.ledger.total == 10
