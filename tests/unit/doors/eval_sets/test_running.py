"""`run` and `run_async`: eval sets from scripts, notebooks and code that is async."""

from __future__ import annotations

import asyncio
import io
import linecache
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import evenhand
from evenhand import CommandAgent, DatabaseWorld, EvalSet, Run, run, run_async
from evenhand.analysis.trust.calibration_file import place_of, write_calibration
from evenhand.analysis.trust.labels.drawing import draw, drawn_items
from evenhand.core.errors import UsageError
from evenhand.languages.documents.project import calibrated_for
from evenhand.scorers import Passes
from evenhand.store.labels.stored_draws import add_metric_labels
from evenhand.testing import FakeProvider, Script, Scripted
from evenhand.testing.script import Rule

CELL = '''
from evenhand import EvalSet, Expect, run

evals = EvalSet("typed in", data=[{"id": "a"}, {"id": "b"}])

@evals.eval
async def holds(case, expect: Expect):
    """It does."""
    expect(case.id in "ab", "is known")

found = run(evals)
'''


def arithmetic() -> EvalSet:
    """A set of one eval that holds, and one that does not."""
    evals = EvalSet("arithmetic", data=[{"id": "a"}, {"id": "b"}], tags=["quick"])

    @evals.eval(tags=["sum"])
    def adds(expect):
        expect(1 + 1 == 2, "adds")

    @evals.eval
    def wavers(case, expect):
        expect(case.id == "a", "is a")

    return evals


def ended(**how: Any) -> str:
    """The verdict of a run of them."""
    with run(arithmetic(), **how) as found:
        return found.verdict


def test_a_script_gets_a_run(tmp_path: Path):
    """Verdict, counts, rows: what was run is in hand when `run` returns."""
    with run(arithmetic(), home=tmp_path) as found:
        assert isinstance(found, Run)
        assert (found.verdict, found.totals().passed) == ("failed", 3)
        assert [row["passed"] for row in found.rows()] == [True, True, True, False]
    assert evenhand.Run is Run


def test_a_run_is_read_by_any_thread(tmp_path: Path):
    """A server hands it from one worker to another."""
    read: list[str] = []
    with run(arithmetic(), home=tmp_path) as found:
        reader = threading.Thread(target=lambda: read.append(found.verdict))
        reader.start()
        reader.join()
    assert read == ["failed"]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"first": -1, "repeats": 0}, "run: first is -1, not a whole number .*; repeats is 0, not"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"max_cost_usd": -1}, "max_cost_usd is -1, not a number of US dollars from 0"),
        ({"max_cost_usd": float("nan")}, "max_cost_usd is nan"),
        ({"repeats": 10**12}, "repeats is 1000000000000"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(how: dict[str, Any], says: str):
    """Minus one is not "all but the last"."""
    with pytest.raises(UsageError, match=says):
        run(arithmetic(), **how)


async def test_what_is_no_set_is_refused():
    """A list of sets, or a path, is a slip of whoever writes."""
    with pytest.raises(UsageError, match="run: list is not an EvalSet; str is not an EvalSet"):
        run([arithmetic()], "evals")
    with pytest.raises(UsageError, match="list is not an EvalSet"):
        await run_async([arithmetic()])


async def test_it_runs_inside_a_running_loop(tmp_path: Path):
    """As in a notebook: called from a coroutine, without await."""
    with run(arithmetic(), home=tmp_path) as found:
        assert found.totals().trials == 4


def test_it_runs_where_asyncio_run_has_been(tmp_path: Path):
    """A script whose main is async may call it, once or twice."""

    async def main() -> list[str]:
        return [ended(home=tmp_path) for _ in range(2)]

    assert asyncio.run(main()) == ["failed", "failed"]


async def test_async_code_can_stay_on_its_loop(tmp_path: Path):
    """What belongs to the loop, a lock or a pool, can be used by evals; others on the loop go on meanwhile."""
    here, thread = asyncio.get_running_loop(), threading.get_ident()
    evals = EvalSet("here")

    @evals.eval
    async def is_here(expect):
        await asyncio.sleep(0)
        expect(asyncio.get_running_loop() is here, "the same loop")
        expect(threading.get_ident() == thread, "the same thread")

    with await run_async(evals, home=tmp_path) as found:
        assert found.verdict == "passed"


def test_a_notebook_cell_keeps_its_runs_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Code without a file, on a loop that runs already: as IPython does it."""
    monkeypatch.chdir(tmp_path)
    name = "/tmp/ipykernel_4711/1234567.py"
    linecache.cache[name] = (len(CELL), None, CELL.splitlines(keepends=True), name)
    space: dict[str, Any] = {}

    async def cell() -> None:
        exec(compile(CELL, name, "exec"), space)

    asyncio.run(cell())
    found: Run = space["found"]
    with found:
        assert found.verdict == "passed"
        assert found.path.parent == tmp_path / ".evenhand" / "runs"
        assert "<table>" in found._repr_html_()


def test_what_was_asked_is_kept_with_the_run(tmp_path: Path):
    """Settings, sets with their file, line and tags, models by their ids."""
    evals = EvalSet(
        "kept",
        model=Scripted(("x",)),
        judge="openai:chat:gpt-5",
        over={"tone": ["kind"]},
        tags=["t"],
    )

    @evals.eval(tags=["u"])
    def holds(expect, model, tone):
        """It does."""
        expect(True, "holds")

    with run(evals, home=tmp_path, repeats=2, cache=False) as found:
        assert found.totals().trials == 2
    assert "eval kept: holds" in found.meta.code
    assert found.meta.settings == {
        "first": None, "repeats": 2, "strict": False, "concurrency": None, "cache": False, "max_cost_usd": None,
    }  # fmt: skip
    (kept,) = found.meta.config["sets"]
    assert (kept["name"], kept["file"], kept["tags"]) == ("kept", __file__, ["t"])
    assert (kept["model"], kept["judge"]) == (Scripted(("x",)).id, "openai:chat:gpt-5")
    assert (kept["over"], kept["cases"], kept["repeats"]) == ({"tone": ["kind"]}, 1, 2)
    (eval_,) = kept["evals"]
    assert (eval_["name"], eval_["tags"], eval_["description"]) == ("holds", ["t", "u"], "It does.")
    assert found.meta.variants[0].where == f"{__file__}:{eval_['line']}"


def test_an_eval_that_expects_nothing_has_no_verdict_and_is_an_error_when_strict(
    tmp_path: Path,
):
    """Named once with its line, for all of its cases: it could not have failed."""
    evals = EvalSet("empty", data=[{"id": "a"}, {"id": "b"}])

    @evals.eval
    def silent():
        return "x"

    @evals.eval
    def weightless(expect):
        expect(True, "is seen", weight=0)

    @evals.eval
    def raises():
        raise ValueError("boom")

    with run(evals, home=tmp_path) as found:
        report = " ".join(str(found).split())
        assert [row["outcome"] for row in found.rows()] == ["not_applicable", "pass", "error"] * 2
    assert report.count("expects nothing") == 1
    assert f"test_running.py:{evals.evals[0].first}: empty: silent expects nothing, " in report
    with run(evals, home=tmp_path, strict=True) as found:
        assert [row["outcome"] for row in found.rows()] == ["error", "pass", "error"] * 2
        assert found.rows()[0]["reason"] == "the eval expects nothing"
        assert "--strict makes" not in str(found)


def test_progress_goes_to_stderr_where_somebody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """On a terminal, or when asked for; a script whose stderr is a file stays silent."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    ended(home=tmp_path)
    assert capsys.readouterr() == ("", "")
    ended(home=tmp_path, progress=True)
    assert capsys.readouterr().err.startswith("arithmetic · 2 evals × 2 cases = 4 trials\n")
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    ended(home=tmp_path)
    assert "4/4 · 3 passed · 1 failed" in terminal.getvalue()
    before = terminal.getvalue()
    ended(home=tmp_path, progress=False)
    assert terminal.getvalue() == before


JUDGED = {"reasoning": "r", "passes": True, "confidence": 0.9}
CRITICAL = Script([Rule((r"reply \d[789]",), {**JUDGED, "passes": False}), Rule((), JUDGED)])


def polite(path: Path) -> EvalSet:
    """A set that stands in this file; a judge looks at 40 replies, and half of them have to pass."""
    evals = EvalSet(
        "polite", data=[{"id": f"{i:02d}"} for i in range(40)], pass_rate=0.5, judge="openai:gpt-5"
    )

    @evals.eval
    def answers(case, expect):
        expect(f"reply {case.id}", Passes("is polite"), metric="manners")

    path.touch()
    object.__setattr__(evals, "path", path)
    return evals


def test_a_calibration_that_is_required_is_required_of_a_script_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """By the project or the call, which goes first; with one that holds, the rate is corrected, also in a notebook."""
    (tmp_path / "pyproject.toml").write_text("[tool.evenhand]\ncalibrated = 'required'\n")
    file = tmp_path / "evals" / "polite_evals.py"
    file.parent.mkdir()
    with FakeProvider(CRITICAL) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        with run(polite(file)) as found:
            assert found.verdict == "undecided"
            assert "calibration is required" in str(found)
            assert "calibration is required" in found._repr_html_()
            items = list(drawn_items(found.file, [draw(found.file, 40, seed=1)]))
            labels = [
                (i.trial.index, i.metric, "fail" if i.trial.case[-1] in "6789" else "pass")
                for i in items
            ]
            add_metric_labels(found.path, "ann", labels)
        with run(polite(file), calibrated="accepted") as found:
            assert found.verdict == "passed"
            assert "accepted without calibration" in str(found)
        with Run.open(labelled := first_run(file)) as found:
            write_calibration(found.calibrate(), place_of(found.meta))
        assert labelled.is_file()
        with run(polite(file)) as found:
            assert found.verdict == "passed"
            assert "corrected, 40 labels, today" in str(found)
            assert "corrected, 40 labels, today" in found._repr_html_()
            assert found.meta.settings["calibrated"] == "required"


def first_run(file: Path) -> Path:
    """The first run of the set in this file."""
    return min((file.parent / ".evenhand" / "runs").glob("*.db"), key=lambda path: path.name)


def test_what_calibrated_is_not_is_told(tmp_path: Path):
    """With the words that there are."""
    with pytest.raises(
        UsageError, match="calibrated is 'requird'; it is one of required, accepted"
    ):
        run(arithmetic(), home=tmp_path, calibrated="requird")


def test_one_project_that_requires_calibration_is_enough(tmp_path: Path):
    """Of several folders the strictest counts; without a project there is nothing."""
    for name in ("required", "accepted", "silent"):
        (tmp_path / name).mkdir()
        text = f"calibrated = '{name}'" if name != "silent" else "retries = 1"
        (tmp_path / name / "pyproject.toml").write_text(f"[tool.evenhand]\n{text}\n")
    folders = [tmp_path / name for name in ("silent", "accepted", "required")]
    assert calibrated_for(folders) == "required"
    assert calibrated_for(folders[:2]) == "accepted"
    assert calibrated_for(folders[:1]) == calibrated_for([]) == ""


def test_paths_may_be_texts(tmp_path: Path) -> None:
    """As everywhere in Python: a folder of runs, a database, the folder of an agent's command."""
    with run(arithmetic(), home=str(tmp_path)) as result:
        assert result.file.path.is_relative_to(tmp_path)
    database = tmp_path / "shop.db"
    with closing(sqlite3.connect(database)) as shop:
        shop.execute("create table orders (id)")
    assert DatabaseWorld(str(database)).query("select id from orders") == []
    agent = CommandAgent("echo", base=str(tmp_path))
    assert agent.base == tmp_path
