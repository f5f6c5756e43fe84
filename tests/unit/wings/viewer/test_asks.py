"""Cells that are asked again from the page: over real HTTP, with a project, its runs, and a fake vendor."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web
from tests.unit.wings.viewer.conftest import Asking

from evenhand.core.errors import UsageError
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script
from evenhand.wings.viewer.access import LinkAccess, PageRunner
from evenhand.wings.viewer.asks import Asks
from evenhand.wings.viewer.listing import Runs
from evenhand.wings.viewer.server import PageServer

CONFIG = """
description: Shop
prompts:
  - "Answer briefly: {{question}}"
  - file://shout.txt
  - file://made.py:prompt
providers:
  - {id: openai:chat:gpt-4o-mini, config: {max_tokens: 50}}
  - {id: openai:chat:gpt-4.1-mini, config: {max_tokens: 50}}
outputPath: results.json
tests:
  - vars: {question: "Where is it?"}
    assert: [{type: contains, value: shelf}]
  - vars: {question: file://question.txt}
    assert: [{type: contains, value: "{{question}}"}]
"""
EVALS = """
from evenhand import Case, EvalSet, Prompt
from evenhand.scorers import Contains

evals = EvalSet(
    "support",
    data=[Case("first", {"tone": "kind"}, input="Where is it?")],
    model="openai:chat:gpt-4o-mini",
    over={"prompt": [Prompt("main", "{{tone}}: {{input}}")]},
)

@evals.eval
async def finds(case, prompt, model, expect):
    reply = await model.generate(prompt.render(input=case.input, **case.vars))
    expect(reply.text, Contains("shelf"))

closed = EvalSet("closed")

@closed.eval
def alone(expect):
    expect("x", Contains("x"))
"""
SECRET = "a-word-of-the-environment"


@dataclass
class Project:
    """A folder with two front doors, a run of each, and who answers."""

    folder: Path
    fake: FakeProvider
    env: dict[str, str]
    config: str
    evals: str

    @property
    def runs(self) -> Path:
        return self.folder / ".evenhand" / "runs"

    def run(self, *words: str) -> str:
        """Runs what is named; the run's id."""
        done = subprocess.run(
            [sys.executable, "-m", "evenhand", *words, "--json", "--no-progress"],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1, 3, 4), done.stderr
        return json.loads(done.stdout)["run"]["id"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A config and an eval set that have been run."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "promptfooconfig.yaml").write_text(CONFIG)
    (folder / "shout.txt").write_text("Answer {{ question | upper }}")
    (folder / "question.txt").write_text("shelf")
    (folder / "made.py").write_text("def prompt(question):\n    return question\n")
    (folder / "evals").mkdir()
    (folder / "evals" / "support_evals.py").write_text(EVALS)
    rules = [Rule(("slowly",), "on the shelf", latency_ms=3_000), Rule((), "on the shelf")]
    with FakeProvider(Script(rules)) as fake:
        env = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
        env |= fake.env() | {"EVENHAND_HOME": str(folder / ".evenhand"), "SHOP_WORD": SECRET}
        project = Project(folder, fake, env, "", "")
        project.config = project.run("run", str(folder))
        project.evals = project.run("run", "evals")
        yield project


@pytest.fixture
async def served(project: Project, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Asking]:
    """Asks a viewer that may run things; of the config's run, unless said otherwise."""
    async with serving(project, monkeypatch, Asks(lambda _: None)) as asking:
        yield asking


@asynccontextmanager
async def serving(
    project: Project, monkeypatch: pytest.MonkeyPatch, asks: Asks | None
) -> AsyncIterator[Asking]:
    """Asks a viewer of the project's runs; it runs nothing where `asks` is None."""
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(project.folder)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        access = LinkAccess("127.0.0.1", listening.getsockname()[1])
        app = PageServer(Runs(project.folder), access, asks=asks).app()
        runner = PageRunner(app, shutdown_s=0.1)
        await runner.setup()
        await web.SockSite(runner, listening).start()
        async with ClientSession() as session:
            yield Asking(session, access, app, project.config)
        await runner.cleanup()


async def ask(served: Asking, cell: int, **body: Any) -> Any:
    """A good answer."""
    answer = await served.post(f"/cells/{cell}/ask", json.dumps(body))
    assert answer.status == 200, await answer.text()
    return await answer.json()


async def refusal(served: Asking, cell: int, **body: Any) -> str:
    """Why it can't be asked so."""
    answer = await served.post(f"/cells/{cell}/ask", json.dumps(body))
    assert answer.status in (400, 409), await answer.text()
    return (await answer.json())["error"]["message"]


async def over(project: Project, run: str) -> RunFile:
    """A run, once nobody writes it any more."""
    for _ in range(400):
        with RunFile.open(project.runs / f"{run}.db") as file:
            if file.meta.status != "running":
                return RunFile.open(file.path)
        await asyncio.sleep(0.05)
    raise AssertionError("it did not end")


async def test_a_viewer_that_was_not_allowed_to_runs_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a look at what could be edited, nor a run, nor a stop; and the page is told so."""
    async with serving(project, monkeypatch, None) as served:
        assert (await served.json(""))["may_ask"] is False
        for do in ("offer", "estimate", "run"):
            answer = await served.post("/cells/0/ask", json.dumps({"do": do}))
            assert answer.status == 403
        assert (await served.post("/stop", "{}")).status == 403


async def test_no_other_page_can_have_anything_run(project: Project, served: Asking) -> None:
    """Without our own Origin, our header, JSON and the token, nothing is started."""
    before = sorted(project.runs.iterdir())
    path = f"/api/runs/{served.run}/cells/0/ask"
    good = {"Origin": served.access.address, "X_Evenhand": "1", "Content_Type": "application/json"}
    for change in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"X_Evenhand": "0"},
        {"Content_Type": "text/plain"},
        {"Sec_Fetch_Site": "cross-site"},
    ):
        answer = await served(path, "POST", **{**good, **change}, body='{"do": "run"}')
        assert answer.status == 403, change
    without = {name: value for name, value in good.items() if name != "Origin"}
    assert (await served(path, "POST", **without, body='{"do": "run"}')).status == 403
    assert (await served(path, "POST", token=False, **good, body='{"do": "run"}')).status == 401
    assert (await served(path)).status == 405
    assert sorted(project.runs.iterdir()) == before


async def test_a_configs_cell_is_asked_again_with_another_prompt(
    project: Project, served: Asking
) -> None:
    """The page is told what can be edited and what it costs at most; the run is listed, and says where it is from."""
    assert (await served.json(""))["may_ask"] is True
    offer = await ask(served, 0, do="offer")
    assert offer["prompt"] == "Answer briefly: {{question}}"
    assert offer["values"] == {"question": "Where is it?"}
    assert [one["id"] for one in offer["models"]] == [
        "openai:chat:gpt-4o-mini",
        "openai:chat:gpt-4.1-mini",
    ]
    edit = {
        "prompt": "In one word: {{ question | lower }}",
        "variant": offer["models"][1]["variant"],
    }
    estimate = await ask(served, 0, do="estimate", **edit)
    (calls,) = estimate["calls"]
    assert (calls["provider"], calls["calls"], calls["tokens_out"]) == (
        "openai:chat:gpt-4.1-mini",
        1,
        50,
    )
    written = (project.folder / "results.json").stat().st_mtime_ns
    before = len(project.fake.requests)
    run = (await ask(served, 0, do="run", max_cost_usd=0.1, **edit))["run"]
    with await over(project, run) as file:
        assert (file.meta.status, file.meta.planned) == ("finished", 1)
        assert file.meta.title == f"Shop · asked again from {project.config[:10]} cell 0"
        trial = file.trial(0)
        assert trial is not None
        assert (trial.outcome, trial.prompt) == ("pass", "In one word: where is it?")
        assert [outcome.name for outcome in trial.outcomes] == ['contains "shelf"']
        assert trial.cost_usd is not None
        assert 0 < trial.cost_usd <= calls["cost_usd"]
        assert trial.tokens_in is not None
        assert trial.tokens_in <= calls["tokens_in"]
        assert file.meta.settings["max_cost_usd"] == 0.1
    assert len(project.fake.requests) == before + 1
    assert (project.folder / "results.json").stat().st_mtime_ns == written
    listed = {one["id"]: one for one in await (await served("/api/runs")).json()}
    assert listed[run]["edited"]
    assert not listed[project.config]["edited"]
    comparison = await served(f"/api/runs/{run}/comparison?baseline={project.config}")
    assert comparison.status == 200, await comparison.text()


async def test_only_models_of_vendors_can_be_typed(project: Project, served: Asking) -> None:
    """What runs code, reads files, or says where keys are sent to is refused before anything is made."""
    before = sorted(project.runs.iterdir()), len(project.fake.requests)
    for model in ("exec:cat /etc/passwd", "openai:gpt-5@http://127.0.0.1:1/v1"):
        said = await refusal(served, 0, do="run", model=model, max_cost_usd=1)
        assert "only models of vendors" in said
    assert (sorted(project.runs.iterdir()), len(project.fake.requests)) == before


async def test_a_budget_holds(project: Project, served: Asking) -> None:
    """No call is sent that could go past it, and `resume` continues the same edited cell."""
    spent = len(project.fake.requests)
    run = (await ask(served, 0, do="run", prompt="Budget {{question}}", max_cost_usd=0.000001))[
        "run"
    ]
    with await over(project, run) as file:
        assert file.meta.status == "out_of_budget"
    assert len(project.fake.requests) == spent
    assert project.run("resume", run, "--max-cost", "1") == run
    assert len(project.fake.requests) == spent + 1
    with RunFile.open(project.runs / f"{run}.db") as file:
        trial = file.trial(0)
        assert trial is not None
        assert trial.prompt == "Budget Where is it?"


async def test_one_run_at_a_time_and_stop_interrupts_it(project: Project, served: Asking) -> None:
    """A second one is refused with a reason; what was stopped can be resumed."""
    run = (await ask(served, 0, do="run", prompt="slowly {{question}}", max_cost_usd=1))["run"]
    assert "one at a time" in await refusal(served, 0, do="run", prompt="x", max_cost_usd=1)
    assert (await served.post("/stop", "{}")).status == 400  # of the run that it was asked from
    served.run = run
    assert (await served.post("/stop", "{}")).status == 200
    with await over(project, run) as file:
        assert file.meta.status in ("interrupted", "finished")
    project.run("resume", run)
    with RunFile.open(project.runs / f"{run}.db") as file:
        assert (file.meta.status, file.totals().passed) == ("finished", 1)


async def test_a_viewer_that_is_stopped_finishes_what_was_begun(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for the run, and says so."""
    told: list[str] = []
    async with serving(project, monkeypatch, Asks(told.append)) as served:
        body = {"do": "run", "prompt": "very slowly {{question}}", "max_cost_usd": 1}
        run = (await ask(served, 0, **body))["run"]
    assert run in told[0]
    with RunFile.open(project.runs / f"{run}.db") as file:
        assert (file.meta.status, file.totals().passed) == ("finished", 1)


async def test_an_eval_sets_case_is_asked_again_with_its_prompt_and_data(
    project: Project, served: Asking
) -> None:
    """The set's own code runs; what it will ask is not known before, so the estimate is what the cell took."""
    served.run = project.evals
    head = await served.json("")
    assert head["totals"]["trials"] == 2
    offer = await ask(served, 0, do="offer")
    assert offer["prompt"] == "{{tone}}: {{input}}"
    assert offer["values"] == {"input": "Where is it?", "tone": "kind"}
    edit = {"prompt": "{{input}}, {{tone}}!", "values": {"input": "{{tone}} {{env.SHOP_WORD}}"}}
    estimate = await ask(served, 0, do="estimate", **edit)
    assert estimate["bounded"] is False
    assert estimate["calls"][0]["calls"] == 1
    other = await ask(served, 0, do="estimate", model="anthropic:claude-haiku-4-5")
    assert other["calls"][0]["provider"] == "openai:chat:gpt-4o-mini"  # it is what it took then
    run = await ask(served, 0, do="run", max_cost_usd=1, **edit)
    with await over(project, run["run"]) as file:
        trial = file.trial(0)
        assert trial is not None
        assert (trial.prompt, trial.outcome) == ("{{tone}} {{env.SHOP_WORD}}, kind!", "pass")
        assert trial.case == "first"
    assert "nothing to edit" in await refusal(served, 1, do="offer")


async def test_the_page_says_why_a_cell_cannot_be_asked_again(
    project: Project, served: Asking
) -> None:
    """A file that has changed; a run of another home; a cell whose code holds all."""
    config = project.folder / "promptfooconfig.yaml"
    config.write_text(CONFIG.replace("briefly", "at length"))
    try:
        assert "have changed since" in await refusal(served, 0, do="offer")
    finally:
        config.write_text(CONFIG)
    key = project.folder / ".evenhand" / "key"
    kept = key.read_bytes()
    key.write_bytes(b"x" * 32)
    try:
        assert "not made here" in await refusal(served, 0, do="offer")
    finally:
        key.write_bytes(kept)
    elsewhere = project.folder / "copied.db"
    elsewhere.write_bytes((project.runs / f"{project.config}.db").read_bytes())
    with pytest.raises(UsageError, match="not made here"):
        await Asks(lambda _: None).read("offer", elsewhere, 0, {})
    served.run = project.evals
    assert "nothing to edit" in await refusal(served, 1, do="offer")
    evals = project.folder / "evals" / "support_evals.py"
    evals.write_text(EVALS + "# changed")
    try:
        said = await refusal(served, 0, do="offer")
        assert said == "changed since this run: evals/support_evals.py"
    finally:
        evals.write_text(EVALS)


@pytest.mark.parametrize(
    "body",
    [
        {"prompt": 1},
        {"values": "x"},
        {"variant": True},
        {"variant": "0"},
        {"model": ["openai:x"]},
        {"max_cost_usd": -1},
        {"max_cost_usd": "1"},
        {"max_cost_usd": True},
        {"max_cost_usd": [1]},
    ],
)
async def test_a_request_of_another_shape_is_refused(served: Asking, body: dict[str, Any]) -> None:
    """With what is wrong, and before anything is started."""
    await refusal(served, 0, do="run", **body)
