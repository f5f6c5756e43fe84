"""Views that people saved."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.runs import Make, result
from tests.unit.wings.viewer.conftest import Asking

from evenhand.core.errors import StoreError, UsageError
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer import saved
from evenhand.wings.viewer.saved import keep_view, saved_views


async def _run(make_run: Make, source: str = "a.yaml", title: str = "t") -> RunFile:
    return await make_run([result(0)], source=source, title=title)


def _names(run: RunFile) -> list[str]:
    return [view.name for view in saved_views(run)]


async def test_a_view_is_kept_in_the_home_for_all_runs_of_the_same_source(make_run: Make) -> None:
    """By name; the same name replaces it, and no state deletes it. Runs in another home don't have it."""
    run, elsewhere = await _run(make_run), await _run(make_run)
    other = await _run(make_run, "b.yaml")
    assert saved_views(run) == []
    keep_view(run.path, {"name": "  Worst   first ", "state": "#/?sort=score"})
    keep_view(run.path, {"name": "billing", "state": "#/?q=tag%3Abilling"})
    keep_view(run.path, {"name": "Worst first", "state": "#/?sort=-score"})
    views = saved_views(run)
    assert [(view.name, view.state) for view in views] == [
        ("billing", "#/?q=tag%3Abilling"),
        ("Worst first", "#/?sort=-score"),
    ]
    assert views[0].created_at > 1_700_000_000
    assert _names(elsewhere) == _names(other) == []
    another = run.path.with_name("01KAEXAMPLE0000000000000RM.db")
    another.write_bytes(run.path.read_bytes())
    with RunFile.open(another) as later:
        assert saved_views(later) == views
    keep_view(run.path, {"name": "billing", "state": None})
    keep_view(run.path, {"name": "never there", "state": None})
    assert _names(run) == ["Worst first"]
    file = json.loads((run.path.parent.parent / "views.json").read_text("utf-8"))
    assert file["schema"] == "evenhand.views/1"


@pytest.mark.parametrize(
    "body",
    [
        {"name": "", "state": "#/"},
        {"name": "   ", "state": "#/"},
        {"name": 3, "state": "#/"},
        {"name": "x" * 81, "state": "#/"},
        {"name": "a\u202eb", "state": "#/"},
        {"name": "a\ud800", "state": "#/"},
        {"name": "nul \x00", "state": "#/"},
        {"name": "a", "state": "#/?" + "x" * 4_000},
        {"name": "a", "state": "#/?q=\ud800"},
        {"name": "a", "state": "#/?q=é"},
        {"name": "a", "state": {"q": 1}},
    ],
)
async def test_what_is_no_view_is_refused(make_run: Make, body: dict[str, object]) -> None:
    """And nothing is written."""
    run = await _run(make_run)
    with pytest.raises(UsageError):
        keep_view(run.path, body)
    assert not (run.path.parent.parent / "views.json").exists()


async def test_there_are_so_many_views_at_most(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is there may still be replaced or deleted."""
    monkeypatch.setattr(saved, "MOST", 2)
    run = await _run(make_run)
    for name in ("a", "b", "a"):
        keep_view(run.path, {"name": name, "state": "#/"})
    with pytest.raises(UsageError, match="2 saved views"):
        keep_view(run.path, {"name": "c", "state": "#/"})
    keep_view(run.path, {"name": "a", "state": None})
    keep_view(run.path, {"name": "c", "state": "#/"})
    assert _names(run) == ["b", "c"]


async def test_a_damaged_file_is_told_of_and_never_written_over(make_run: Make) -> None:
    """Whoever saved views in it can still mend it."""
    run = await _run(make_run)
    file = run.path.parent.parent / "views.json"
    for data in (b"{", b'{"views": 3}', b'{"views": {"a": [{"name": 1}]}}'):
        file.write_bytes(data)
        with pytest.raises(StoreError, match="cannot be read"):
            saved_views(run)
        with pytest.raises(StoreError, match="cannot be read"):
            keep_view(run.path, {"name": "a", "state": "#/"})
        assert file.read_bytes() == data


async def test_a_file_that_is_too_large_or_cannot_be_written_is_told_of(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing reads gigabytes for a menu."""
    run = await _run(make_run)
    keep_view(run.path, {"name": "a", "state": "#/"})
    with monkeypatch.context() as small:
        small.setattr(saved, "LARGEST", 10)
        with pytest.raises(StoreError, match="too large"):
            saved_views(run)
    locks = run.path.parent.parent / "locks"
    for file in locks.iterdir():
        file.unlink()
    locks.rmdir()
    locks.write_text("not a folder")
    with pytest.raises(StoreError, match="cannot be written"):
        keep_view(run.path, {"name": "b", "state": "#/"})
    assert _names(run) == ["a"]


async def test_views_that_are_saved_at_the_same_time_are_all_kept(make_run: Make) -> None:
    """Whoever writes waits for its turn, and reads anew."""
    run = await _run(make_run, source="", title="half \ud800")
    names = [f"view {n:02}" for n in range(20)]
    with ThreadPoolExecutor(8) as people:
        list(people.map(lambda n: keep_view(run.path, {"name": n, "state": "#/"}), names))
    assert _names(run) == names


async def test_a_run_outside_of_a_home_has_no_views(make_run: Make, tmp_path: Path) -> None:
    """Nothing is written beside a file that somebody only looks at."""
    path = tmp_path / "downloads" / "run.db"
    path.parent.mkdir()
    path.write_bytes((await _run(make_run)).path.read_bytes())
    with pytest.raises(UsageError, match="beside a folder of runs"):
        keep_view(path, {"name": "a", "state": "#/"})
    with RunFile.open(path) as run:
        assert saved_views(run) == []


async def test_the_server_keeps_and_gives_views(ask: Asking) -> None:
    """A bad name is an error like any other."""
    assert (await ask.post("/views", '{"name": "a", "state": "#/?view=charts"}')).status == 200
    assert [view["name"] for view in await ask.json("/views")] == ["a"]
    assert (await ask.post("/views", '{"name": "", "state": ""}')).status == 400


async def test_a_view_that_somebody_else_saved_meanwhile_is_not_replaced_unseen(
    make_run: Make,
) -> None:
    """A view that was seen may be replaced and deleted."""
    run = await _run(make_run)
    keep_view(run.path, {"name": "mine", "state": "#/?q=a", "was": None})
    for state in ("#/?q=b", None):
        with pytest.raises(UsageError, match="somebody else saved another view as 'mine'"):
            keep_view(run.path, {"name": "mine", "state": state, "was": "#/?q=c"})
    keep_view(run.path, {"name": "mine", "state": "#/?q=a", "was": None})  # the very same
    keep_view(run.path, {"name": "mine", "state": "#/?q=b", "was": "#/?q=a"})
    assert [view.state for view in saved_views(run)] == ["#/?q=b"]
