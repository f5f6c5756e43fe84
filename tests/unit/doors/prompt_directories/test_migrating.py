from __future__ import annotations

from evenhand.doors.prompt_directories.doctor import look
from evenhand.doors.prompt_directories.migrating import migrate


def test_the_older_layout_becomes_folders(shelf):
    """The status of a file's folder, its head as metadata, its body as it is; said first, done when asked."""
    old = shelf.library.prompts / "tested"
    old.mkdir()
    (old / "sum-up.md").write_text(
        "---\ntitle: Sum up\nsummary: Sums up\n---\n<p>{{text}}</p>\n", "utf-8"
    )
    (old / "greet.md").write_text("x", "utf-8")
    (old / "a b.md").write_text("x", "utf-8")
    told = migrate(shelf.library, write_them=False)
    assert not (shelf.library.prompts / "sum-up").exists()
    assert [line.rpartition(": ")[2] for line in told] == [
        "left out",
        "left out",
        "prompts/tested/sum-up.md → prompts/sum-up, tested",
    ]
    migrate(shelf.library, write_them=True)
    prompt = shelf.read("sum-up")
    assert (prompt.meta.status, prompt.meta.title, prompt.template) == (
        "tested",
        "Sum up",
        "<p>{{text}}</p>\n",
    )
    assert look(shelf.library, ["sum-up"])[0].problems == []
    assert (old / "sum-up.md").is_file()


def test_what_a_head_says_is_kept(shelf):
    """All that a meta.yml may say; the status is the folder's."""
    old = shelf.library.prompts / "ready"
    old.mkdir()
    head = "title: A\nsummary: B\nstatus: draft\nversion: 2.1.0\ncreated: 2025-01-02\ntags: [x]\nmodel: echo\n"
    head += "notes: |\n  one: 1\n  two\ndescription: Does it. Use when asked.\ntriggers: [do it]\nnobody: x\n"
    (old / "a.md").write_bytes(f"---\n{head}---\nSay {{{{who}}}}\n".replace("\n", "\r\n").encode())
    migrate(shelf.library, write_them=True)
    meta = shelf.read("a").meta
    assert (meta.status, meta.version, meta.created, meta.tags) == (
        "ready",
        "2.1.0",
        "2025-01-02",
        ("x",),
    )
    assert (meta.model, meta.triggers, meta.notes.split()) == (
        "echo",
        ("do it",),
        ["one:", "1", "two"],
    )
    assert [i.name for i in meta.inputs] == ["who"]
    assert look(shelf.library, ["a"])[0].problems == []


def test_old_files_that_cannot_be_read_are_told_and_the_others_made(shelf, tmp_path_factory):
    """With file and line; nothing half-written is left."""
    old = shelf.library.prompts / "draft"
    old.mkdir()
    (old / "latin.md").write_bytes(b"caf\xe9")
    (old / "broken.md").write_text("---\ntitle: [x\n---\ntext\n")
    (old / "list.md").write_text("---\n- x\n---\ntext\n")
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.md"
    secret.write_text("secret")
    (old / "away.md").symlink_to(secret)
    (old / "good.md").write_text("Say {{who}}\n")
    told = "\n".join(migrate(shelf.library, write_them=True))
    assert "prompts/draft/latin.md:1:4: is not UTF-8" in told
    assert "prompts/draft/broken.md:3:1: is not YAML" in told
    assert "prompts/draft/list.md:1: what stands above" in told
    assert "prompts/draft/away.md: is a link" in told
    assert shelf.library.ids() == ["good", "greet"]
