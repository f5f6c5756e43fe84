from __future__ import annotations

import pytest

from evenhand.core.errors import UsageError
from evenhand.doors.prompt_directories import new_prompts
from evenhand.doors.prompt_directories.doctor import look
from evenhand.doors.prompt_directories.eval_yml import read_eval
from evenhand.doors.prompt_directories.evidence import USAGE
from evenhand.doors.prompt_directories.new_prompts import bumped, new
from evenhand.doors.prompt_directories.writing import set_meta, write
from evenhand.languages.documents.findings import Findings


def test_a_new_prompt_has_nothing_wrong(shelf):
    """Whatever its id is, it can be run and looked at at once."""
    for name in ("refunds", "no", "a-b.c_d", "1234"):
        new(shelf.library, name)
        (one,) = look(shelf.library, [name])
        assert one.problems == []
        assert read_eval(shelf.read(name), Findings()) is not None


def test_a_copy_is_a_draft_without_evidence_and_verbs(shelf):
    """Everything else comes with it: template, cases, examples, hooks."""
    shelf.add(
        "greet",
        meta=(shelf.library.prompts / "greet" / "meta.yml").read_text().replace("draft", "ready"),
        guard="#!/bin/sh\n",
        aliases="hello\n",
        **{"examples/a/inputs.yml": "who: a\n", USAGE: "{}\n"},
    )
    folder = new(shelf.library, "greet-v2", "greet")
    prompt = shelf.read("greet-v2")
    assert (prompt.meta.id, prompt.meta.status, prompt.meta.version) == (
        "greet-v2",
        "draft",
        "0.1.0",
    )
    there = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert there == {"meta.yml", "prompt.xml", "eval.yml", "guard.sh", "examples/a/inputs.yml"}
    assert (folder / "guard.sh").stat().st_mode & 0o100


@pytest.mark.parametrize(
    ("name", "source"), [("greet", ""), ("../x", ""), ("new", "none"), ("new", "../greet")]
)
def test_nothing_is_overwritten_and_nothing_made_elsewhere(shelf, name, source):
    """An id that is taken, or is none; a source that is not there."""
    with pytest.raises(UsageError):
        new(shelf.library, name, source)
    assert shelf.library.ids() == ["greet"]


@pytest.mark.parametrize(("step", "source"), [("write", ""), ("set_meta", "greet")])
def test_a_prompt_that_is_not_made_to_its_end_is_not_there(shelf, monkeypatch, step, source):
    """A copy would have the id and the status of the other one. The next attempt makes it whole."""

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(new_prompts, step, killed)
        with pytest.raises(KeyboardInterrupt):
            new(shelf.library, "fresh", source)
    assert [path.name for path in shelf.library.prompts.iterdir()] == ["greet"]
    left = shelf.library.prompts / ".fresh.evenhand-1.new"  # of one that was killed
    left.mkdir()
    (left / "meta.yml").write_text("id: half\n", "utf-8")
    assert shelf.library.ids() == ["greet"]
    new(shelf.library, "fresh", source)
    assert shelf.read("fresh").meta.id == "fresh"
    assert sorted(path.name for path in shelf.library.prompts.iterdir()) == ["fresh", "greet"]


def test_a_date_is_bumped_and_nothing_else(shelf):
    """Also in a file with line ends of another system."""
    path = shelf.library.prompts / "greet" / "meta.yml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    before = path.read_bytes().split(b"\r\n")
    bumped(shelf.read())
    after = path.read_bytes().split(b"\r\n")
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert [a for a, _ in changed] == [b"updated: 2026-01-02"]


def test_a_field_that_is_not_on_a_line_of_its_own_is_refused(shelf):
    """Rather than writing something else over it."""
    shelf.add(
        "greet",
        meta="{id: greet, title: t, summary: s, status: draft, version: 1, created: 2026-01-01, updated: 2026-01-01}",
    )
    with pytest.raises(UsageError, match="is not on a line of its own"):
        set_meta(shelf.read(), status="tested")


def test_a_file_keeps_its_mode_when_it_is_written(tmp_path):
    """And one that says it already is not written at all."""
    path = tmp_path / "x.sh"
    path.write_text("a", "utf-8")
    path.chmod(0o755)
    assert write(path, "b")
    assert path.stat().st_mode & 0o777 == 0o755
    assert not write(path, "b")
    assert [p.name for p in tmp_path.iterdir()] == ["x.sh"]
