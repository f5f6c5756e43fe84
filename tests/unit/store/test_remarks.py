"""What people say of a run: its name, tags and note; and how it is deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.runs import Make, result
from tests.unit.store.earlier_files import make_earlier

from evenhand.core.encoding import encode
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.remark import Remarks
from evenhand.store.adding import added_to
from evenhand.store.home import Lock, lock_of
from evenhand.store.journal import Journal
from evenhand.store.labels.exchange import add_said, read_said, write_said
from evenhand.store.remarks import delete, remark
from evenhand.store.runfile import RunFile


def _remarks(path: Path) -> tuple[Remarks, str]:
    with RunFile.open(path) as run:
        return run.remarks, run.meta.title


async def test_the_last_word_counts_and_an_empty_one_takes_it_back(make_run: Make) -> None:
    """The name is the run's title wherever it is read; without one it has its plan's again."""
    run = await make_run([result(0)])
    own = run.meta.title
    assert _remarks(run.path) == (Remarks(), own)
    remark(run.path, {"title": "  better\n prompt ", "tags": ["good", " good ", "half \ud800"]})
    remark(run.path, {"note": "as shipped\non Friday"})
    said = Remarks("better prompt", ("good", "half \ud800"), "as shipped\non Friday")
    assert _remarks(run.path) == (said, "better prompt")
    assert remark(run.path, {"title": "", "tags": [], "note": " "}) == Remarks()
    assert _remarks(run.path) == (Remarks(), own)


@pytest.mark.parametrize("tags", [(), ("shipped",)], ids=["none added", "one added"])
async def test_tags_of_the_config_are_removed_and_added_as_others_are(
    make_run: Make, tags: tuple[str, ...]
) -> None:
    """They come first, and one that was removed stays so, whether or not others were added before."""
    run = await make_run([result(0)], config={"tags": {"environment": "production", "team": 7}})
    own = ("environment=production", "team=7")
    assert _remarks(run.path)[0].tags == own
    if tags:
        assert remark(run.path, {"tags": [*own, *tags]}).tags == (*own, *tags)
    assert remark(run.path, {"tags": ["team=7", *tags]}).tags == ("team=7", *tags)
    assert remark(run.path, {"tags": []}).tags == ()
    assert _remarks(run.path)[0].tags == ()
    assert remark(run.path, {"tags": [own[0]]}).tags == own[:1]


async def test_tags_that_an_earlier_version_added_are_listed_with_those_of_the_config(
    make_run: Make,
) -> None:
    """It kept only the added ones as a remark."""
    run = await make_run([result(0)], config={"tags": {"environment": "production"}})
    with added_to(run.path, "remarks") as db:
        db.execute(
            "insert into remark (at, field, value) values (1.0, 'tags', ?)", (encode(["shipped"]),)
        )
    both = ("environment=production", "shipped")
    assert _remarks(run.path)[0].tags == both
    assert remark(run.path, {"tags": ["shipped"]}).tags == ("shipped",)


async def test_a_remark_makes_the_run_grow(make_run: Make) -> None:
    """Whoever looks at the run is told of it."""
    run = await make_run([result(0)])
    before = run.growth()
    remark(run.path, {"note": "seen"})
    with RunFile.open(run.path) as after:
        assert after.growth() > before


async def test_a_file_of_an_earlier_version_has_none_and_takes_some(make_run: Make) -> None:
    """Reading changes nothing; the first remark brings it up to date."""
    run = await make_run([result(0)])
    make_earlier(run.path, 3)
    before = run.path.read_bytes()
    assert _remarks(run.path)[0] == Remarks()
    assert run.path.read_bytes() == before
    assert remark(run.path, {"tags": ["old"]}).tags == ("old",)


@pytest.mark.parametrize(
    "said",
    [
        {"colour": "red"},
        {"title": 3},
        {"title": "x" * 301},
        {"tags": "good"},
        {"tags": ["x" * 101]},
        {"tags": [str(n) for n in range(51)]},
        {"note": None},
        {"note": "fine", "tags": [1]},
    ],
    ids=str,
)
async def test_what_is_no_remark_is_refused_and_nothing_is_kept(
    make_run: Make, said: dict[str, object]
) -> None:
    """All of it is kept or none."""
    run = await make_run([result(0)])
    with pytest.raises(UsageError):
        remark(run.path, said)
    assert _remarks(run.path)[0] == Remarks()


async def test_a_run_takes_remarks_while_it_is_written(make_run: Make) -> None:
    """And what its process writes afterwards does not take them back."""
    run = await make_run([result(0)], planned=2, finish=False)
    journal = Journal.reopen(run.path)
    remark(run.path, {"title": "under way"})
    await journal.settle(result(1))
    await journal.finish("finished")
    assert _remarks(run.path)[1] == "under way"


async def test_a_deleted_run_leaves_nothing(make_run: Make) -> None:
    """Neither its file nor what SQLite keeps beside it, nor a lock, nor what it was running when it was killed."""
    run = await make_run([result(0)])
    run.close()
    lock = lock_of(run.path)
    lock.parent.mkdir(exist_ok=True)
    for kind in (".running", ".fatal", ".stack"):
        lock.with_suffix(kind).write_text("case 1")
    other = lock.with_name("other.running")
    other.write_text("")
    delete(run.path)
    assert list(lock.parent.iterdir()) == [other]
    assert [path.name for path in run.path.parent.iterdir() if run.path.stem in path.name] == []
    assert not lock_of(run.path).exists()
    with pytest.raises(StoreError, match="there is no such run file"):
        delete(run.path)


async def test_a_run_that_is_being_written_is_not_deleted(make_run: Make) -> None:
    """Whoever writes it is named, and it stays whole."""
    run = await make_run([result(0)])
    lock = Lock(lock_of(run.path), "the run")
    try:
        with pytest.raises(StoreError, match=r"is in use by process \d+"):
            delete(run.path)
        assert _remarks(run.path)[0] == Remarks()
    finally:
        lock.release()
    delete(run.path)


async def test_a_run_that_is_gone_on_with_keeps_its_own_title(make_run: Make) -> None:
    """The name that people gave it stays a remark, which can be taken back."""
    run = await make_run([result(0)], planned=2, status="interrupted")
    own = run.meta.title
    remark(run.path, {"title": "better"})
    await Journal.reopen(run.path).finish("finished")
    assert _remarks(run.path)[1] == "better"
    remark(run.path, {"title": ""})
    assert _remarks(run.path)[1] == own


async def test_a_remark_is_signed_by_whoever_is_vouched_for(make_run: Make) -> None:
    """The name is that of the last one: one that nobody signed takes it away, and nobody signs by the fields."""
    run = await make_run([result(0)])
    remark(run.path, {"note": "good", "tags": ["a"]}, "ann@example.com")
    assert _remarks(run.path)[0] == Remarks("", ("a",), "good", "ann@example.com")
    remark(run.path, {}, "bob@example.com")
    assert _remarks(run.path)[0].by == "ann@example.com"
    remark(run.path, {"note": "better"})
    assert _remarks(run.path)[0] == Remarks("", ("a",), "better")
    with pytest.raises(UsageError, match="'by' is not said"):
        remark(run.path, {"by": "eve@example.com"})


async def test_a_signature_outlives_a_merge_of_copies(make_run: Make, tmp_path: Path) -> None:
    """As it travels with labels: what was said last is last there, too."""
    run = await make_run([result(0)])
    copy = tmp_path / run.path.name
    copy.write_bytes(run.path.read_bytes())
    remark(run.path, {"note": "good"})
    remark(copy, {"note": "better"}, "ann@example.com")
    add_said(run.path, [read_said(write_said(copy, run.path.stem), run.path.stem, "there")])
    assert _remarks(run.path)[0] == Remarks("", (), "better", "ann@example.com")


async def test_what_somebody_else_said_meanwhile_is_not_replaced_unread(make_run: Make) -> None:
    """Tags that two people add are both there; a name or note that changed is told, and replaced by who has read it."""
    run = await make_run([result(0)], title="plain")
    remark(run.path, {"tags": ["old", "kept"]})
    was = {"title": "plain", "tags": ["old", "kept"], "note": ""}
    remark(run.path, {"tags": ["kept", "ann"], "note": "live since Friday"}, "ann", was)
    assert remark(run.path, {"tags": ["old", "kept", "bo"]}, "bo", was).tags == (
        "kept",
        "ann",
        "bo",
    )
    for field, value, changed in (
        ("note", "bo was here", "live since Friday"),
        ("title", "x", "y"),
    ):
        remark(run.path, {field: changed}, "ann")
        with pytest.raises(UsageError, match=f"{field} was changed meanwhile, by ann: {changed}"):
            remark(run.path, {field: value}, "bo", was)
        said = remark(run.path, {field: value}, "bo", {**was, field: changed})
        assert getattr(said, field) == value
