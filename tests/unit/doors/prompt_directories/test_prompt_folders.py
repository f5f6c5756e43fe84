from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import UsageError
from evenhand.doors.prompt_directories.library import Library, is_id, library_of, prompts_at
from evenhand.doors.prompt_directories.prompt import read_prompt
from evenhand.languages.documents.findings import Findings


def test_a_folder_is_read_as_it_is(shelf):
    """Metadata, inputs and template come out as they are written."""
    prompt = shelf.read()
    assert (prompt.meta.title, prompt.meta.status, prompt.meta.model) == (
        "Greeter",
        "draft",
        "echo",
    )
    assert prompt.meta.inputs[0].name == "who"
    assert prompt.template == "<p>Hello {{who}}</p>\n"
    assert shelf.problems() == ""


def test_all_that_is_wrong_with_a_meta_is_told_at_once(shelf):
    """Blank and missing fields, a wrong status, another id and wrong kinds, each with file and line."""
    shelf.add(
        "greet",
        meta="""\
        id: other
        title: "  "
        summary: [a, list]
        status: raedy
        version: 1
        created: 2026-01-02
        tags: one
        inputs: {who: x}
        triggers: [1, ""]
        promotion: {min_uses: many, at_least: 3}
        """,
    )
    said = shelf.problems()
    for line in (
        "meta.yml:1:1: id is 'other', and the folder is called 'greet'",
        "meta.yml:2:1: 'title' is missing",
        "meta.yml:3:1: summary is ['a', 'list'], not a text",
        "meta.yml:4:1: status is 'raedy'",
        "Did you mean 'ready'?",
        "'updated' is missing",
        "meta.yml:7:1: tags is 'one', not a list",
        "meta.yml:8:1: inputs are {'who': 'x'}, not a list",
        "an item of triggers is 1, not a text",
        "min_uses is 'many'",
        "a rate is at most 1",
    ):
        assert line in said


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"meta": "id: [", "prompt": "x"}, "is not YAML"),
        ({"meta": "just text"}, "is not a list of names with values"),
        ({"prompt": "   \n"}, "is empty"),
    ],
)
def test_files_that_say_nothing_are_told(shelf, files, said):
    """YAML that does not parse, a text for a mapping, an empty template."""
    shelf.add("greet", **files)
    assert said in shelf.problems()


def test_missing_files_are_told(shelf):
    """No meta.yml: the prompt is not found; no prompt.xml: it is missing."""
    (shelf.library.prompts / "greet" / "prompt.xml").unlink()
    assert "missing prompt.xml" in shelf.problems()
    (shelf.library.prompts / "greet" / "meta.yml").unlink()
    assert "prompt not found" in shelf.problems()
    with pytest.raises(UsageError, match="prompt not found"):
        shelf.library.folder("greet")


@pytest.mark.parametrize("id_", ["../x", "a/b", "..", "", ".hidden", "a..b", "x\n", "-x", "a b"])
def test_what_is_no_name_of_a_folder_is_no_id(shelf, id_):
    """An id cannot lead anywhere else."""
    assert not is_id(id_)
    with pytest.raises(UsageError, match="is not the id of a prompt"):
        shelf.library.folder(id_)


@pytest.mark.parametrize("name", ["prompt.xml", "meta.yml", "eval.yml"])
def test_links_out_of_the_folder_are_not_followed(shelf, name, tmp_path_factory):
    """A file that is a link to somewhere else is a problem, and is not read."""
    secret = tmp_path_factory.mktemp("elsewhere") / "secret"
    secret.write_text("id: secret\n", "utf-8")
    path = shelf.library.prompts / "greet" / name
    path.unlink()
    path.symlink_to(secret)
    findings = Findings()
    prompt = read_prompt(shelf.library, "greet", findings)
    if name == "eval.yml":
        from evenhand.doors.prompt_directories.eval_yml import read_eval

        assert read_eval(prompt, findings) is None
    assert "leads out" in str(findings.problems[0])
    assert "secret" not in prompt.template


def test_a_folder_that_is_a_link_out_is_not_read(shelf, tmp_path_factory):
    """A prompt's folder has to be here."""
    other = tmp_path_factory.mktemp("other")
    (other / "meta.yml").write_text("id: away\n", "utf-8")
    (shelf.library.prompts / "away").symlink_to(other)
    assert "prompts/away: is a link that leads out" in shelf.problems("away")


def test_paths_stand_for_one_prompt_or_all(shelf):
    """`prompts/ID`, a file in it, `prompts`, and the repository."""
    shelf.add("leave")
    root = shelf.library.root
    assert prompts_at(root / "prompts" / "greet") == (Library(root), ["greet"])
    assert prompts_at(root / "prompts" / "greet" / "eval.yml") == (Library(root), ["greet"])
    assert prompts_at(root / "prompts") == prompts_at(root) == (Library(root), ["greet", "leave"])
    assert prompts_at(root / "prompts" / "greet" / "examples") is None
    (root / "tests.csv").write_text("x", "utf-8")
    assert prompts_at(root / "tests.csv") is None


def test_folders_that_hold_no_prompt_are_none(shelf):
    """Inputs that prompts share may lie beside them; a template without metadata is a prompt that lacks it."""
    (shelf.library.prompts / "shared").mkdir()
    (shelf.library.prompts / "bare").mkdir()
    (shelf.library.prompts / "bare" / "prompt.xml").write_text("x", "utf-8")
    assert shelf.library.ids() == ["bare", "greet"]
    assert "prompt not found" in shelf.problems("bare")


def test_the_repository_is_the_nearest_folder_with_prompts(shelf, tmp_path_factory):
    """One may stand in any folder of it; elsewhere there is none."""
    inside = shelf.library.prompts / "greet"
    assert library_of(inside).root == shelf.library.root
    with pytest.raises(UsageError, match="no folder prompts/"):
        library_of(Path("/"))


def test_examples_are_found_by_name(shelf):
    """The inputs of an example; the nearest name where there is none of that name."""
    shelf.add("greet", **{"examples/ada/inputs.yml": "who: Ada\n"})
    prompt = shelf.read()
    assert prompt.example("ada", Findings()) == {"who": "Ada"}
    for name in ("adaa", "../ada"):
        findings = Findings()
        assert prompt.example(name, findings) == {}
        assert "there is no example" in str(findings.problems[0])


def test_the_older_layout_is_no_prompt(shelf):
    """prompts/draft/*.md are left to `migrate`."""
    (shelf.library.prompts / "draft").mkdir()
    (shelf.library.prompts / "draft" / "old.md").write_text("x", "utf-8")
    assert shelf.library.ids() == ["greet"]


@pytest.mark.parametrize(
    "name", ["guard.sh", "verify.sh", "aliases", "examples", "examples/a", "examples/a/inputs.yml"]
)
def test_hooks_verbs_and_examples_are_the_folders_own(shelf, name, tmp_path_factory):
    """A link to somebody else's is a problem: nothing of it is run, or read."""
    there = tmp_path_factory.mktemp("elsewhere")
    folder = shelf.add("greet", **{"examples/a/inputs.yml": "who: Ada\n", "guard": "#!/bin/sh\n"})
    shelf.add("greet", verify="#!/bin/sh\n", aliases="hello\n")
    (folder / name).rename(there / "theirs")
    (folder / name).symlink_to(there / "theirs")
    findings = Findings()
    prompt = read_prompt(shelf.library, "greet", findings)
    found = prompt.example("a", findings)
    assert "leads out of its folder" in str(findings.problems)
    assert found == ({} if name.startswith("examples") else {"who": "Ada"})
    assert prompt.aliases(findings) == ([] if name == "aliases" else [("hello", 1)])


def test_a_repository_that_is_called_prompts_has_a_folder_prompts_of_its_own(tmp_path: Path):
    """Inside the folder of the prompts, or of one of them, it is that folder, with Git or without."""
    root = tmp_path / "prompts"
    (root / ".git").mkdir(parents=True)
    (root / "src").mkdir()
    for start in (root, root / "src"):
        with pytest.raises(UsageError, match="no folder prompts/"):
            library_of(start)
    (root / "prompts/refunds").mkdir(parents=True)
    (root / "prompts/refunds/meta.yml").write_text("id: refunds", "utf-8")
    for start in (root, root / "src", root / "prompts", root / "prompts/refunds"):
        assert library_of(start) == Library(root), start
    assert prompts_at(root) == (Library(root), ["refunds"])
    assert prompts_at(root / "prompts") == (Library(root), ["refunds"])


@pytest.mark.parametrize("git", [False, True])
def test_the_folder_of_the_prompts_may_be_a_repository_and_hold_a_prompt_of_its_own_name(
    tmp_path: Path, git: bool
):
    """`prompts/prompts` is a prompt, as it has a meta.yml."""
    shelf = tmp_path / "prompts"
    (shelf / "prompts").mkdir(parents=True)
    (shelf / "prompts/meta.yml").write_text("id: prompts", "utf-8")
    if git:
        (shelf / ".git").mkdir()
    assert library_of(shelf) == library_of(shelf / "prompts") == Library(tmp_path)
    assert prompts_at(shelf) == (Library(tmp_path), ["prompts"])


def test_a_folder_prompts_above_a_git_repository_is_not_its_own(tmp_path: Path):
    """A project below ~/prompts begins its own."""
    project = tmp_path / "prompts/project"
    (project / ".git").mkdir(parents=True)
    with pytest.raises(UsageError, match="no folder prompts/"):
        library_of(project)
