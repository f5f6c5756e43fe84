"""A search for texts in all runs."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs import Make, result
from tests.unit.wings.viewer.conftest import Asking

from evenhand.core.errors import UsageError
from evenhand.core.run import TrialError
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer import search_all_runs
from evenhand.wings.viewer.listing import Runs
from evenhand.wings.viewer.search_all_runs import Hit, Query, SearchPiece, search_piece


def _among(*runs: RunFile) -> Runs:
    return Runs(Path("/nowhere"), only=[run.path for run in runs])


def _found(runs: Runs, text: str, *, blind: bool = False) -> list[Hit]:
    return list(search_piece(runs, Query(text, blind=blind), "").hits)


async def test_hits_of_the_newest_run_come_first_with_their_cell(make_run: Make) -> None:
    """Whatever the case; with the column, what came of it, and where in the excerpt the text stands."""
    long = "x" * 500 + " The Refund is due. " + "y" * 500
    new = await make_run([result(0), replace(result(1, ok=False, case="b"), output=long)])
    old = await make_run([replace(result(0, case="a"), output="refund")])
    second, first = _found(_among(old, new), '"REFUND IS"'), _found(_among(old, new), "refund")
    assert [(hit.run, hit.index) for hit in first] == [(new.path.stem, 1), (old.path.stem, 0)]
    (hit,) = second
    assert (hit.case, hit.variant, hit.outcome) == ("b", "Say {{x}}", "fail")
    assert hit.text == "Refund is"
    assert (hit.before[-9:], hit.after[:9]) == ("xxxx The ", " due. yyy")
    assert (hit.before[0], hit.after[-1]) == ("…", "…")
    assert len(hit.before + hit.after) <= search_all_runs.BEFORE + search_all_runs.EXCERPT + 2


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("case:tides", [0]),
        ('case:"the tides"', [0]),  # by its description
        ("tides -moon", [1]),
        ("moon OR 'is not in it'", [0]),
        ("/moo+n|ebb/", [0]),
        ("/sea$/", []),
        ('"say \\"hi\\""', [0]),
        ('"{\\"a\\":\\"Ünique\\""', [1]),
        ("ünique", [1]),
        ("kelvin", [1]),  # the sign of the unit is a small k, too
        ("-zzz", [0, 1]),
    ],
)
async def test_a_search_knows_words_expressions_and_cases(
    make_run: Make, text: str, places: list[int]
) -> None:
    """As the filter of one run does; in values that are no texts as well."""
    first = replace(result(0, case="tides"), description="The tides", output='The moon.\nSay "hi".')
    second = replace(result(1), vars={"about": "tides"}, output={"a": "Ünique", "b": "\u212aelvin"})
    runs = _among(await make_run([first, second]))
    assert [hit.index for hit in _found(runs, text)] == places


async def test_a_blind_search_tells_neither_column_nor_outcome_nor_reason(make_run: Make) -> None:
    """It does not look into reasons and errors, as that of one run does not."""
    failed = replace(result(0, ok=None), error=TrialError("x", "too secret", ""), output="open")
    runs = _among(await make_run([failed]))
    assert len(_found(runs, "secret")) == 1
    assert not _found(runs, "secret", blind=True)
    (hit,) = _found(runs, "open", blind=True)
    assert (hit.variant, hit.outcome) == ("", None)


async def test_of_a_run_with_many_hits_the_first_are_given_and_the_others_named(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it does not stand in front of the others; also where its search was cut in pieces."""
    monkeypatch.setattr(search_all_runs, "PER_RUN", 3)
    new = await make_run([result(n) for n in range(40)])
    old = await make_run([result(0)])
    piece = search_piece(_among(old, new), Query("sea"), "")
    assert [hit.run for hit in piece.hits] == [new.path.stem] * 3 + [old.path.stem]
    assert (piece.more, piece.runs, piece.next) == ([new.path.stem], 2, "")
    over = search_piece(_among(old, new), Query("sea"), f"{new.path.stem}:10:2")
    assert [hit.index for hit in over.hits] == [10, 0]


async def test_a_search_stops_in_time_and_goes_on_where_it_stopped(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a run, too; each trial is looked at once, and all of them in the end."""
    runs = _among(
        await make_run([result(n) for n in range(50)]), await make_run([result(0), result(1)])
    )
    monkeypatch.setattr(search_all_runs, "PIECE_S", 0.5)
    query, place, pieces = Query("nowhere"), "", list[SearchPiece]()
    while place or not pieces:
        ticks = itertools.count()  # no time is left at every second look at the clock
        monkeypatch.setattr(search_all_runs.time, "monotonic", lambda ticks=ticks: next(ticks) // 2)
        pieces.append(search_piece(runs, query, place))
        place = pieces[-1].next
    places = [piece.next.rpartition("RN")[2] for piece in pieces]
    assert places == [":15:0", ":30:0", ":45:0", ":0:0", ""]
    assert [piece.trials for piece in pieces] == [15, 15, 15, 5, 2]
    assert sum(piece.runs for piece in pieces) == 2


async def test_a_search_stops_after_each_trial_that_takes_long(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An expression may take long on every one of them."""
    runs = _among(await make_run([result(n) for n in range(5)]))
    ticks = itertools.count()
    monkeypatch.setattr(search_all_runs.time, "monotonic", lambda: next(ticks) / 2)
    piece = search_piece(runs, Query("/(.*e){2}/"), "")
    assert (piece.trials, len(piece.hits)) == (1, 1)
    assert piece.next.endswith(":1:1")


@pytest.mark.parametrize(
    "text", ["status:fail", "score<0.5", "is:flaky", '"open', "a OR", "/(/", "variant:best"]
)
def test_what_cannot_be_searched_everywhere_is_refused(text: str) -> None:
    """And it is said what can."""
    with pytest.raises(UsageError):
        Query(text)


async def test_a_run_that_cannot_be_read_is_named(make_run: Make, tmp_path: Path) -> None:
    """And the others are searched all the same; nothing is sought in no words."""
    run = await make_run([result(0)])
    broken = tmp_path / "01BROKEN.db"
    broken.write_bytes(b"nonsense" * 100)
    runs = Runs(tmp_path, only=[run.path, broken])
    piece = search_piece(runs, Query("sea"), "")
    assert (len(piece.hits), piece.unread) == (1, ["01BROKEN"])
    assert search_piece(runs, Query(""), "").runs == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"text": "rainbows"}, 200),
        ({"text": "status:fail"}, 400),
        ({"text": "x", "from": "../x"}, 400),
        ({"text": "x", "from": 3}, 400),
        ({}, 400),
    ],
)
async def test_a_search_is_answered_or_refused(
    ask: Asking, body: dict[str, object], status: int
) -> None:
    """By the server, as the page asks it."""
    answer = await ask(
        "/api/search",
        "POST",
        Origin=ask.access.address,
        X_Evenhand="1",
        Content_Type="application/json",
        body=json.dumps(body),
    )
    assert answer.status == status
    if status == 200:
        assert {hit["case"] for hit in (await answer.json())["hits"]} == {"case4"}
