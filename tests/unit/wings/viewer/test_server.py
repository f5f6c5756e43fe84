"""What the server answers the page."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from tests.runs import Make, result, summaries
from tests.unit.wings.viewer.conftest import Asking

from evenhand.core.encoding import encode
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.run import CallEnd, CallStart
from evenhand.core.score import Outcome
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.access import LinkAccess
from evenhand.wings.viewer.cell import BODY, MOST, call, cell
from evenhand.wings.viewer.comparison import compared_elsewhere, comparison
from evenhand.wings.viewer.listing import Runs
from evenhand.wings.viewer.server import LONGEST_SEARCH
from evenhand.wings.viewer.serving import serve
from evenhand.wings.viewer.shapes import RunSummary


async def test_runs_are_listed_with_what_they_came_to(ask: Asking) -> None:
    """Verdict, totals, and the rate over cases with its interval."""
    (run,) = await (await ask("/api/runs")).json()
    assert (run["id"], run["title"], run["verdict"]) == (ask.run, "Science", "failed")
    assert run["totals"]["passed"] == 15
    assert run["rate"]["n"] == 8
    assert run["rate"]["low"] < run["rate"]["value"] < run["rate"]["high"]
    assert run["rate"]["value"] == pytest.approx(15 / 24)


async def test_a_small_runs_head_is_whole(ask: Asking) -> None:
    """Columns with rates, scores and latencies; findings; usage."""
    head = await ask.json("")
    assert head["partial"] is False
    assert [column["name"] for column in head["columns"]] == ["basic", "better", "best"]
    assert [column["rate"]["value"] for column in head["columns"]] == [0, 7 / 8, 1]
    assert head["columns"][1]["latency"]["value"] == 0.5
    assert any("best" in line for line in head["findings"])
    assert (await ask.json("/notes"))["findings"] == head["findings"]


async def test_blocks_hold_every_cell_in_the_plans_order(ask: Asking) -> None:
    """Parallel arrays, a row for each case."""
    answer = await ask(f"/api/runs/{ask.run}/blocks")
    (block,) = [json.loads(line) for line in (await answer.text()).splitlines()]
    assert block["index"] == list(range(24))
    assert block["row"] == [i // 3 for i in range(24)]
    assert block["variant"] == [0, 1, 2] * 8
    assert block["outcome"] == "fpp" * 2 + "ffp" + "fpp" * 5
    assert block["rows"][0] == {
        "id": "case0", "description": "tides", "tags": [], "metadata": {}, "number": 1
    }  # fmt: skip
    assert block["failing"][0] == ["python grader.py"]
    assert (block["met"][0], block["asked"][0], block["met"][1]) == (0, 1, 1)


async def test_cells_are_previewed_and_shown_whole(ask: Asking) -> None:
    """The start of an output for the matrix; all of it for the drawer."""
    first, second = await ask.json("/previews?cells=0,1,999")
    assert first["output"].startswith("word word")
    assert (first["clipped"], second["clipped"]) == (True, False)
    assert first["vars"] == {"article": "tides"}
    cell = await ask.json("/cells/0")
    assert cell["output"] == "word " * 300
    assert cell["outcomes"][0]["reason"].startswith("average 3.67")


async def test_a_long_call_is_sent_in_part_and_fetched_whole(make_run: Make) -> None:
    """With its cell come the starts of what was sent and of what came back; a short reply is whole all the same."""
    long = (b'"' + b"\xc3\xa9" * BODY + b'"', b"{}")
    calls = [
        (CallStart(0, "k", n, "subject", "m", identity, None), CallEnd(b"reply", "provider"))
        for n, identity in enumerate(long)
    ]
    run = await make_run([result(0)], calls=calls)
    (trial,) = run.trials()
    first, second = cell(run, trial, BODY).calls
    assert first.sizes == (2 * BODY + 2, 5)
    assert first.request.startswith('"éé')
    assert len(first.request.encode()) <= BODY // 2 + 3
    assert first.response == "reply"
    assert (second.sizes, second.request) == (None, {})
    whole = call(run, 0, 0)
    assert whole is not None
    assert (whole.request, whole.sizes) == ("é" * BODY, None)
    assert cell(run, trial).calls[0] == whole


async def test_an_expectation_says_at_which_places_its_calls_are(make_run: Make) -> None:
    """Among the cell's: all that was begun for a call, and nothing for one that the run file does not have."""
    begun = [("subject", 0), ("first", 0), ("second", 0), ("first", 1), ("first", 0)]
    calls = [
        (CallStart(0, key, nth, "judge", "m", b"{}", None), CallEnd(b"reply", "provider"))
        for key, nth in begun
    ]
    outcomes = (
        Outcome("first", "pass", 1.0, rests_on=(("first", 0), ("gone", 0))),
        Outcome("both", "pass", 1.0, rests_on=(("second", 0), ("first", 1))),
        Outcome("none", "pass", 1.0),
    )
    run = await make_run([replace(result(0), outcomes=outcomes)], calls=calls)
    (trial,) = run.trials()
    found = cell(run, trial).outcomes
    assert [outcome.calls for outcome in found] == [[1, 4], [2, 3], []]
    assert b"rests_on" not in encode(found)


async def test_a_call_is_asked_for_by_its_place(ask: Asking) -> None:
    """Among its trial's."""
    found = await ask.json("/cells/0/calls/1")
    assert (found["role"], found["request"], found["sizes"]) == ("judge", {}, None)


async def test_a_blind_search_does_not_look_into_reasons(ask: Asking) -> None:
    """They tell verdicts; what was asked and answered is searched as ever."""
    assert await ask.search("tides", blind=True) == [0, 1, 2]
    assert len(await ask.search("word word", blind=True)) >= 1
    assert len(await ask.search("backpropagation")) == 9
    assert 0 in await ask.search("average 3.67")
    assert await ask.search("average 3.67", blind=True) == []


async def test_a_search_finds_trials_whatever_the_case(ask: Asking) -> None:
    """In descriptions and reasons, too."""
    assert await ask.search("TIDES") == [0, 1, 2]
    assert len(await ask.search("Backpropagation")) == 9
    assert await ask.search("nowhere") == []
    assert await ask.search("half of a character: \ud800") == []


async def test_a_long_search_finds_what_it_is_for(ask: Asking) -> None:
    """Also where an address could not hold it: as long as it may be, in any script."""
    assert 0 in await ask.search("word " * 299 + "word")
    assert await ask.search("word " * 1_500) == []
    assert await ask.search("w" * LONGEST_SEARCH) == []
    assert await ask.search("靴" * LONGEST_SEARCH) == []


@pytest.mark.parametrize(
    "body",
    [
        "",
        "tides",
        '["tides"]',
        "{}",
        '{"text": 3}',
        json.dumps({"text": "w" * (LONGEST_SEARCH + 1)}),
    ],
)
async def test_a_search_that_cannot_be_made_is_an_error(ask: Asking, body: str) -> None:
    """And never an empty result."""
    answer = await ask.post("/search", body)
    assert answer.status == 400
    assert (await answer.json())["error"]["message"]


@pytest.mark.thorough(after=4)
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/runs/01NOSUCHRUN", 404),
        ("/api/runs/{run}/cells/24", 404),
        ("/api/runs/{run}/cells/x", 400),
        ("/api/runs/{run}/cells/0/calls/2", 404),
        ("/api/runs/{run}/cells/0/calls/x", 400),
        ("/api/runs/{run}/cells/-1", 400),
        ("/api/runs/{run}/previews?cells=1,x", 400),
        ("/api/runs/{run}/previews?cells=" + ",".join(["1"] * (MOST + 1)), 400),
        ("/api/runs/{run}/comparison?baseline={run}", 409),
        ("/api/runs/{run}/comparison?baseline=nothing", 404),
        ("/api/nothing", 404),
    ],
)
async def test_mistakes_are_told_in_one_form(ask: Asking, path: str, status: int) -> None:
    """Slug, message and hint, with a status that says whose fault it is."""
    answer = await ask(path.format(run=ask.run))
    assert answer.status == status
    error = (await answer.json())["error"]
    assert error.keys() == {"slug", "message", "hint"}
    assert error["message"]


async def test_labels_are_added_and_read(ask: Asking) -> None:
    """As the page gives them; each has its number and its time."""
    answer = await ask.label(
        '{"index": 3, "field": "note", "value": "odd \\ud800", "author": "ann", "blind": true}'
    )
    given = await answer.json()
    assert answer.status == 200
    assert (given["seq"], given["index"], given["blind"]) == (1, 3, True)
    assert await ask.json("/labels") == {"labels": [given], "judged": []}


@pytest.mark.thorough(after=5)
@pytest.mark.parametrize(
    "body",
    [
        "not json",
        "[]",
        '{"index": "0", "field": "star", "value": true}',
        '{"index": true, "field": "star", "value": true}',
        '{"index": 0, "field": "colour", "value": true}',
        '{"index": 0, "field": "verdict", "value": "maybe"}',
        '{"index": 0, "field": "score", "value": 6}',
        '{"index": 0, "field": "score", "value": true}',
        '{"index": 0, "field": "note", "value": ""}',
        '{"index": 0, "field": "star", "value": true, "author": 3}',
        '{"index": 99, "field": "star", "value": true}',
    ],
)
async def test_what_is_no_label_is_refused(ask: Asking, body: str) -> None:
    """And nothing is kept."""
    assert (await ask.label(body)).status == 400
    assert await ask.json("/labels") == {"labels": [], "judged": []}


async def test_events_say_that_the_file_has_grown_and_nothing_else(
    ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number at once, and a larger one after a label."""
    monkeypatch.setattr("evenhand.wings.viewer.listing.EVERY_S", 0.02)
    answer = await ask(f"/api/runs/{ask.run}/events")
    assert answer.headers["Content-Type"] == "text/event-stream"
    first = await answer.content.readline()
    assert first.startswith(b'data: {"seq": ')
    await answer.content.readline()
    await ask.label('{"index": 0, "field": "star", "value": true, "author": "", "blind": false}')
    second = await asyncio.wait_for(answer.content.readline(), 20)
    assert json.loads(second[6:])["seq"] > json.loads(first[6:])["seq"]
    answer.close()


async def test_two_runs_are_compared_in_words(
    ask: Asking, make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns are paired; a metric alone and all together are what `evenhand compare` says of each, and why."""
    trials = [result(i, ok=i % 2 == 0, case=f"case{i}") for i in range(8)]
    one = await make_run(trials)
    two = await make_run([result(i, case=f"case{i}") for i in range(8)])
    two.path.rename(one.path.with_name(two.path.name))
    monkeypatch.setenv("EVENHAND_HOME", str(one.path.parent.parent))
    monkeypatch.setattr("evenhand.wings.viewer.listing._WALK_EVERY_S", 0.0)
    answer = await ask(f"/api/runs/{two.path.stem}/comparison?baseline={one.path.stem}")
    found = await answer.json()
    assert answer.status == 200, found
    assert found["pairs"] == [[0, 0]]
    assert found["baseline"]["id"] == one.path.stem
    alone, together = found["questions"]
    assert (alone["metric"], together["metric"]) == ("passed", "")
    assert alone["command"].endswith(" --metric passed")
    (row,) = alone["results"]
    assert row["difference"] == 0.5
    assert row["words"]["difference"] == "+50"
    assert row["because"] == "8 cases can only show differences of 80 points or more"


def test_the_summaries_are_what_these_tests_take_them_for() -> None:
    """Twenty-four trials, fifteen passed."""
    assert sum(trial.outcome == "pass" for trial in summaries()) == 15


@pytest.mark.thorough
async def test_large_runs_are_compared_in_a_process_of_their_own(
    make_run: Make, tmp_path: Path
) -> None:
    """It says what this one would, and why it says nothing; a run that cannot be read is told, too."""
    first, second = [
        await make_run([result(i, ok=i < good, case=f"c{i}") for i in range(9)]) for good in (3, 8)
    ]
    said = json.loads(await compared_elsewhere(second.path, first.path))
    assert said == json.loads(encode(comparison(second, first)))
    with pytest.raises(UsageError, match="compared with itself"):
        await compared_elsewhere(first.path, first.path)
    with pytest.raises(StoreError, match="no such run file"):
        await compared_elsewhere(first.path, tmp_path / "none.db")


async def test_a_large_comparison_is_made_once(
    ask: Asking, make_run: Make, summaries_run: RunFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked again, the same answer; another process is not started."""
    other = await make_run(summaries(), summaries_run.meta.variants)
    shutil.copy(other.path, summaries_run.path.parent)
    monkeypatch.setattr("evenhand.wings.viewer.server.FEW", 1)
    path = f"/comparison?baseline={other.path.stem}"
    found = await ask.json(path)
    assert len(found["pairs"]) == 3
    monkeypatch.setattr("sys.executable", "/nowhere")
    assert await ask.json(path) == found


@pytest.mark.parametrize(
    "path",
    ["", "/notes", "/previews?cells=0", "/cells/0", "/blocks", "/labels", "/summary", "/measures"],
)
async def test_a_run_that_was_deleted_is_none(
    ask: Asking, summaries_run: RunFile, path: str
) -> None:
    """While it is looked at, too: whatever is asked of it is not there, and no folder is named."""
    assert (await ask(f"/api/runs/{ask.run}{path}")).status == 200
    summaries_run.close()
    summaries_run.path.unlink()
    answer = await ask(f"/api/runs/{ask.run}{path}")
    assert answer.status == 404
    assert (await answer.json())["error"] == {
        "slug": "usage",
        "message": f"there is no run '{ask.run}'",
        "hint": "It may have been deleted.",
    }


async def test_changes_since_an_earlier_run_are_those_of_the_history(
    ask: Asking, make_run: Make, summaries_run: RunFile
) -> None:
    """By the same rule: the earlier run asked no judge. A run that is not there is none."""
    variants = [replace(one, prompt_raw="another") for one in summaries_run.meta.variants]
    other = await make_run(summaries(), variants, calls=[])
    shutil.copy(other.path, summaries_run.path.parent)
    found = await ask.json(f"/changes?since={other.path.stem}")
    assert [(one["kind"], one["text"]) for one in found] == [
        ("judge", "anthropic:messages:claude added"),
        ("prompt", "prompts.py:basic, prompts.py:best, prompts.py:better edited"),
    ]
    assert await ask.json(f"/changes?since={ask.run}") == []
    assert (await ask(f"/api/runs/{ask.run}/changes?since=nowhere")).status == 404


async def test_a_probe_is_listed_as_one_that_asks_about_judges(
    ask: Asking, make_run: Make, summaries_run: RunFile
) -> None:
    """The page leaves it out of the history."""
    probe = await make_run(summaries(), summaries_run.meta.variants, settings={"probe": {}})
    shutil.copy(probe.path, summaries_run.path.parent)
    listed = await (await ask("/api/runs")).json()
    assert {run["id"]: run["of_judges"] for run in listed} == {
        ask.run: False,
        probe.path.stem: True,
    }


async def test_the_start_of_an_id_leads_to_the_whole(ask: Asking) -> None:
    """The head says which run it is of."""
    answer = await ask(f"/api/runs/{ask.run[:10]}")
    assert (answer.status, (await answer.json())["id"]) == (200, ask.run)


async def test_a_list_that_fails_when_it_is_made_ready_leaves_the_server_up(tmp_path: Path) -> None:
    """Whoever asks for it next has it, or is told why not."""
    calls: list[int] = []

    class Breaks(Runs):
        def list(self) -> list[RunSummary]:
            calls.append(1)
            if len(calls) == 1:
                raise RuntimeError("a folder went away in this moment")
            return []

    listening: asyncio.Future[LinkAccess] = asyncio.get_running_loop().create_future()
    runs = Breaks(tmp_path)
    serving = asyncio.create_task(
        serve(runs, "127.0.0.1", 0, started=listening.set_result, fixed=False)
    )
    access = await listening
    while not calls:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    try:
        async with aiohttp.ClientSession() as session:
            headers = {"Authorization": f"Bearer {access.link.partition('token=')[2]}"}
            async with session.get(f"{access.address}/api/runs", headers=headers) as answer:
                assert (answer.status, await answer.json()) == (200, [])
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
