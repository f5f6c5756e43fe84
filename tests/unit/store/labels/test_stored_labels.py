"""Labels in a run file: only ever added, to whatever run."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.runs import Make, result
from tests.unit.store.earlier_files import make_earlier

from evenhand.core.encoding import encode
from evenhand.core.errors import StoreError, UsageError
from evenhand.store.journal import Journal
from evenhand.store.labels.label import Label, NewLabel, newest, standing
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile

STAR = NewLabel(0, "star", True)


def labels(path: Path) -> list[Label]:
    """All of a file."""
    with RunFile.open(path) as run:
        return list(run.labels())


async def test_labels_are_read_in_the_order_in_which_they_were_given(make_run: Make) -> None:
    """Whatever characters are in them."""
    run = await make_run([result(0), result(1)])
    given = [
        NewLabel(1, "verdict", "pass", "ann", blind=True),
        NewLabel(0, "score", 4, "bo\ud800b"),
        NewLabel(0, "note", "half \udfff\0\x1b"),
    ]
    kept = append_labels(run.path, given[:1]) + append_labels(run.path, given[1:])
    assert labels(run.path) == kept
    assert [(x.index, x.field, x.value, x.author, x.blind) for x in kept] == [
        (x.index, x.field, x.value, x.author, x.blind) for x in given
    ]
    assert [label.seq for label in kept] == [1, 2, 3]


async def test_a_file_of_the_first_version_has_none_and_takes_some(make_run: Make) -> None:
    """Reading changes nothing; the first label brings it up to date."""
    run = await make_run([result(0)])
    make_earlier(run.path, 1)
    before = run.path.read_bytes()
    assert labels(run.path) == []
    with RunFile.open(run.path) as read:
        assert read.growth() == 3
    assert run.path.read_bytes() == before
    append_labels(run.path, [STAR])
    assert len(labels(run.path)) == 1
    with RunFile.open(run.path) as read:
        assert read.trial(0) == result(0)


async def test_a_run_takes_labels_while_it_is_written(make_run: Make) -> None:
    """Of trials that are settled; its own writing goes on."""
    run = await make_run([result(0)], planned=300, finish=False)
    journal = Journal.reopen(run.path)
    done: list[Label] = []

    def give() -> None:
        for _ in range(20):
            done.extend(append_labels(run.path, [STAR]))

    thread = threading.Thread(target=give)
    thread.start()
    for i in range(1, 300):
        await journal.settle(result(i))
    thread.join()
    await journal.finish("finished")
    assert labels(run.path) == done
    with RunFile.open(run.path) as read:
        assert read.totals().trials == 300


async def test_labels_are_never_rewritten(make_run: Make) -> None:
    """Not by any program that opens the file and forgets."""
    run = await make_run([result(0)])
    append_labels(run.path, [STAR])
    with closing(sqlite3.connect(run.path)) as db:
        for sql in ("update label set idx = 1", "delete from label"):
            with pytest.raises(sqlite3.IntegrityError, match="never"):
                db.execute(sql)


async def test_all_labels_are_kept_or_none(make_run: Make) -> None:
    """One of a trial that is not settled takes the others with it."""
    run = await make_run([result(0)], planned=2)
    with pytest.raises(UsageError, match="no trial 1"):
        append_labels(run.path, [STAR, NewLabel(1, "star", True)])
    assert labels(run.path) == []


def test_a_file_that_is_none_of_ours_takes_no_labels(tmp_path: Path) -> None:
    """And is not made, or changed."""
    with pytest.raises(StoreError, match="no such run file"):
        append_labels(tmp_path / "x.db", [STAR])
    (tmp_path / "y.db").write_bytes(b"something else" * 100)
    with pytest.raises(StoreError, match=r"y\.db"):
        append_labels(tmp_path / "y.db", [STAR])
    assert (tmp_path / "y.db").read_bytes() == b"something else" * 100


async def test_what_can_only_be_read_says_so(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is named, and what may be the matter."""
    run = await make_run([result(0)])
    real = sqlite3.connect

    def connect(where: str, **more):
        return real(where.replace("mode=rw", "mode=ro"), **more)

    monkeypatch.setattr("evenhand.store.labels.stored_labels.sqlite3.connect", connect)
    with pytest.raises(StoreError, match=r"takes no labels: .*readonly") as refused:
        append_labels(run.path, [STAR])
    assert "only be read" in refused.value.hint


VALUES = {
    "verdict": st.sampled_from(["pass", "fail", None]),
    "score": st.sampled_from([1, 2.5, 5, None]),
    "note": st.text(st.characters(exclude_categories=()), min_size=1, max_size=9) | st.none(),
    "star": st.sampled_from([True, None]),
}
GIVEN = st.sampled_from(sorted(VALUES)).flatmap(
    lambda field: st.builds(
        NewLabel,
        st.integers(0, 1),
        st.just(field),
        VALUES[field],
        st.sampled_from(["", "ann", "bob"]),
        st.booleans(),
    )
)


@pytest.mark.thorough
@given(st.lists(GIVEN, max_size=12))
@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
async def test_the_last_word_of_each_author_stands(make_run: Make, given: list[NewLabel]) -> None:
    """As a dictionary would keep it; what was taken back is gone."""
    model: dict[tuple[int, str, str], object] = {}
    for new in given:
        model[new.index, new.author, new.field] = new.value
    run = await make_run([result(0), result(1)])
    append_labels(run.path, given)
    stands = standing(labels(run.path))
    found = {
        (label.index, label.author, label.field): label.value
        for each in stands.values()
        for label in each
    }
    assert found == {key: value for key, value in model.items() if value is not None}


def test_the_newest_of_each_field_is_what_a_table_shows() -> None:
    """Whoever gave it."""
    first = Label(1, 0.0, "ann", 0, "verdict", "pass")
    second = Label(2, 0.0, "bob", 0, "verdict", "fail")
    assert newest([second, first]) == {"verdict": "fail"}
    assert newest([]) == {}


async def test_what_a_killed_process_had_half_added_is_not_read(make_run: Make, tmp_path: Path):
    """SQLite takes it back when the file is opened to be written; read as it stood, it was there, and then gone."""
    run = await make_run([result(0)])
    append_labels(run.path, [NewLabel(0, "note", "whole")])
    killed = tmp_path / "killed" / run.path.name
    killed.parent.mkdir()
    with closing(sqlite3.connect(run.path, isolation_level=None)) as db:
        db.execute("pragma cache_size = 1")  # so that pages are in the file before the end
        db.execute("begin immediate")
        for _ in range(200):
            db.execute(
                "insert into label (at, author, idx, field, value, blind) values (1.0, '', 0, 'note', ?, 0)",
                (encode("half " * 200),),
            )
        for end in ("", "-journal"):  # as a kill leaves them
            shutil.copy(f"{run.path}{end}", f"{killed}{end}")
        db.execute("rollback")
    with RunFile.open(killed) as left:
        assert [label.value for label in left.labels()] == ["whole"]
    assert not killed.with_name(f"{killed.name}-journal").exists()
    append_labels(killed, [NewLabel(0, "note", "next")])
    with RunFile.open(killed) as left:
        assert [label.value for label in left.labels()] == ["whole", "next"]
