from __future__ import annotations

import subprocess

import pytest
import yaml

from evenhand.core.errors import ConfigError, UsageError
from evenhand.doors.prompt_directories.index import index
from evenhand.doors.prompt_directories.skill import export, markdown

README = "# Mine\n\nbefore\n<!-- INDEX:START -->\nold\n<!-- INDEX:END -->\nafter\n"


def ready(shelf, **files):
    """Makes the prompt ready, and reads it."""
    path = shelf.library.prompts / "greet" / "meta.yml"
    text = path.read_text().replace("status: draft", "status: ready")
    shelf.add("greet", meta=text, **files)
    return shelf.read()


def test_the_index_is_written_between_its_marks_alone(shelf):
    """What stands outside of them is not touched; written twice it is the same."""
    shelf.add(
        "wave",
        meta=(shelf.library.prompts / "greet" / "meta.yml")
        .read_text()
        .replace("draft", "ready")
        .replace("id: greet", "id: wave"),
    )
    readme = shelf.library.root / "README.md"
    readme.write_text(README, "utf-8", newline="")
    index(shelf.library)
    text = readme.read_text()
    assert text.startswith("# Mine\n\nbefore\n<!-- INDEX:START -->\n")
    assert text.endswith("<!-- INDEX:END -->\nafter\n")
    assert "old" not in text
    assert (
        text.index("### ready")
        < text.index("prompts/wave/")
        < text.index("### draft")
        < text.index("prompts/greet/")
    )
    assert "unchanged" in index(shelf.library)[0]
    assert readme.read_text() == text


@pytest.mark.parametrize(
    "text",
    [
        "# Mine\n",
        "<!-- INDEX:END --><!-- INDEX:START -->",
        "<!-- INDEX:START --> <!-- INDEX:START --> <!-- INDEX:END -->",
    ],
)
def test_a_readme_without_its_marks_is_left_alone(shelf, text):
    """And that is said."""
    readme = shelf.library.root / "README.md"
    readme.write_text(text, "utf-8")
    assert "was left as it is" in index(shelf.library)[0]
    assert readme.read_text() == text


def test_titles_are_data_in_a_table(shelf):
    """A bar, a tag or a bracket in a title ends no cell, and is no markup."""
    path = shelf.library.prompts / "greet" / "meta.yml"
    path.write_text(
        path.read_text().replace("title: Greeter", "title: 'a|b <script> [x](y) `z`'"), "utf-8"
    )
    (shelf.library.root / "README.md").write_text(README, "utf-8")
    index(shelf.library)
    row = next(
        x
        for x in (shelf.library.root / "README.md").read_text().splitlines()
        if "prompts/greet/" in x
    )
    assert "<script>" not in row
    assert "a\\|b &lt;script&gt; \\[x\\](y) \\`z\\`" in row


def test_verbs_are_written_for_the_shell(shelf):
    """A function for each; those that cannot be one, or are taken, are left out and told."""
    shelf.add("greet", aliases="hello\n$(touch x)\n")
    shelf.add("wave", aliases="hello\nwave\n")
    told = "\n".join(index(shelf.library))
    path = shelf.library.root / "aliases.sh"
    text = path.read_text()
    assert 'hello() { evenhand prompt -C "${EVENHAND_PROMPTS:-.}" render greet "$@"; }' in text
    assert "touch" not in text
    assert "cannot be a verb" in told
    assert "'hello' is greet's" in told
    said = subprocess.run(
        ["bash", "-c", f". {path}; type hello wave; echo $EVENHAND_PROMPTS"],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    assert said.stdout.splitlines()[-1] == str(shelf.library.root)


def test_what_is_mine_in_the_shell_file_stays(shelf):
    """Also with marks that say more than ours."""
    shelf.add("greet", aliases="hello\n")
    path = shelf.library.root / "verbs.sh"
    path.write_text(
        "mine=1\n# >>> AUTO-GENERATED, do not edit\nold\n# <<< AUTO-GENERATED\nyours=2\n", "utf-8"
    )
    index(shelf.library, "verbs.sh")
    text = path.read_text()
    assert text.startswith("mine=1\n# >>> AUTO-GENERATED, do not edit\nhello() {")
    assert text.endswith("# <<< AUTO-GENERATED\nyours=2\n")
    path.write_text("mine=1\n", "utf-8")
    assert "was left as it is" in "\n".join(index(shelf.library, "verbs.sh"))


def test_a_skill_has_its_front_and_its_sections(shelf):
    """Name, description and metadata as YAML; role, inputs, rules and output format as Markdown."""
    prompt = ready(
        shelf,
        prompt="""\
        <prompt>
          <role>You greet.</role>
          <rules><rule>Be kind.</rule><rule>Be short.</rule></rules>
          <output_format>One line.</output_format>
          <how_to>Say {{who}}.</how_to>
        </prompt>
        """,
    )
    path, notes = export(prompt)
    _, front, body = path.read_text().split("---\n", 2)
    said = yaml.safe_load(front)
    assert said["name"] == "greet"
    assert said["description"] == prompt.meta.description
    assert said["metadata"]["version"] == "0.1.0"
    for part in (
        "You greet.",
        "## Inputs\n\n- `who`",
        "## Rules\n\n- Be kind.\n- Be short.",
        "## Output format\n\n- One line.",
        "## How to\n\nSay {{who}}.",
    ):
        assert part in body
    assert "characters of description" in notes[-1]


def test_what_is_no_xml_is_one_block(shelf):
    """In a fence that nothing in it closes."""
    text = markdown(ready(shelf, prompt="<a> ```` {{who}}"))
    assert "`````xml\n<a> ```` {{who}}\n`````" in text


def test_only_what_is_ready_is_exported(shelf):
    """Unless somebody insists."""
    with pytest.raises(UsageError, match="only a prompt that is ready"):
        export(shelf.read())
    assert export(shelf.read(), force=True)[0].is_file()


def test_what_is_no_skill_is_not_exported(shelf):
    """All that keeps it from being one is told."""
    prompt = ready(shelf)
    path = prompt.path / "meta.yml"
    path.write_text(
        path.read_text().replace("Greets somebody by name.", "<b>" + "x" * 1100), "utf-8"
    )
    with pytest.raises(ConfigError) as error:
        export(shelf.read())
    assert "characters" in str(error.value)
    assert "'<' or '>'" in str(error.value)


def test_an_export_leaves_nothing_of_the_last_one(shelf):
    """Its folder is wiped; one that is a link to elsewhere is left alone."""
    prompt = ready(shelf)
    old = shelf.library.root / "dist" / "skills" / "greet" / "OLD.md"
    old.parent.mkdir(parents=True)
    old.write_text("x", "utf-8")
    export(prompt)
    assert not old.exists()


def test_an_export_does_not_leave_the_repository(shelf, tmp_path_factory):
    """A dist/ that is a link to elsewhere is refused."""
    prompt = ready(shelf)
    away = tmp_path_factory.mktemp("away")
    (away / "skills" / "greet").mkdir(parents=True)
    (shelf.library.root / "dist").symlink_to(away)
    with pytest.raises(UsageError, match="leads out of the repository"):
        export(prompt)
    assert (away / "skills" / "greet").is_dir()
