from __future__ import annotations

import pytest

from evenhand.doors.prompt_directories.content import content_of
from evenhand.doors.prompt_directories.loaded_files import reached

VERIFY = "#!/bin/sh\nexit 0\n"


def put(root, **files):
    """Writes files; `__` in a name is a folder, `_dot_` what comes before an ending."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def names(found, root):
    """Their paths from the root."""
    return sorted(str(path.relative_to(root)) for path in found)


@pytest.mark.parametrize(
    "line",
    [
        ". ./lib.sh",
        "source lib.sh",
        '. "$(dirname "$0")/lib.sh"',
        '. "${BASH_SOURCE%/*}/lib.sh"',
        "bash prompts/greet/lib.sh --strict",
        "[ -f lib.sh ] && . lib.sh",
    ],
)
def test_a_shell_script_names_what_it_sources(shelf, line):
    """However the folder before the name is found out."""
    folder = shelf.add("greet", verify=f"#!/bin/sh\n{line}\n")
    put(folder, lib_dot_sh="true\n")
    found = reached([folder / "verify.sh"], folder, shelf.library.root)
    assert names(found, shelf.library.root) == ["prompts/greet/lib.sh"]


def test_python_names_its_modules_packages_and_data(shelf):
    """Plain imports, relative ones, from inside of functions, and files that a text names; in turn."""
    root = shelf.library.root
    put(
        root,
        graders__grade_dot_py="import one\nfrom pack import two\ndef f():\n    from pack.three import x\n",
        graders__one_dot_py="OPEN = open('data/words.txt')\n",
        graders__data__words_dot_txt="unseen.py\n",
        graders__unseen_dot_py="",
        graders__pack__two_dot_py="from . import four\n",
        graders__pack__three_dot_py="x = 1\n",
        graders__pack__four_dot_py="import json, os\n",
    )
    (root / "graders/pack/__init__.py").touch()
    found = reached([root / "graders/grade.py"], shelf.library.prompts / "greet", root)
    assert names(found, root) == [
        "graders/data/words.txt",
        "graders/one.py",
        "graders/pack/__init__.py",
        "graders/pack/four.py",
        "graders/pack/three.py",
        "graders/pack/two.py",
    ]


def test_what_is_outside_of_the_repository_or_is_evidence_is_not_part_of_it(
    shelf, tmp_path_factory
):
    """Links that lead out, absolute paths elsewhere, metadata, rows, and what has a dot in front."""
    outside = tmp_path_factory.mktemp("outside") / "lib.sh"
    outside.write_text("true\n")
    root = shelf.library.root
    (root / "link.sh").symlink_to(outside)
    folder = shelf.add(
        "greet",
        verify=f"#!/bin/sh\n. ../../link.sh\n. {outside}\ncat meta.yml .usage.jsonl .env eval.yml\n",
    )
    put(folder, _dot_usage_dot_jsonl="{}\n", _dot_env="X=1\n")
    assert reached([folder / "verify.sh"], folder, root) == set()


def test_programs_that_name_each_other_end(shelf):
    """A circle is walked once; one that is damaged, or is no Python, is read as words."""
    root = shelf.library.root
    put(root, a_dot_py="import b\n", b_dot_py="import a, c\n", c_dot_py="def (:\n'data.csv'\n")
    (root / "data.csv").write_bytes(b"\xff\x00")
    assert names(reached([root / "a.py"], root, root), root) == ["b.py", "c.py", "data.csv"]


def test_a_grader_of_the_cases_leaves_the_sends_standing(shelf):
    """A file that only eval.yml leads to is part of the cases, and not of what is sent."""
    suite = "cases: [{name: a, inputs: {who: A}, assert: [{type: python, value: 'file://g.py'}]}]"
    folder = shelf.add("greet", verify=VERIFY, eval=suite.replace("g.py", "prompts/greet/g.py"))
    put(folder, g_dot_py="x = 1\n")
    before = content_of(shelf.read())
    assert before.loaded == ("prompts/greet/g.py",)
    put(folder, g_dot_py="x = 2\n")
    after = content_of(shelf.read())
    assert (after.sent, after.cases != before.cases) == (before.sent, True)


def test_a_model_of_ones_own_is_its_code(shelf):
    """`model: python:answers.py`: another file is another model."""
    meta = (shelf.library.prompts / "greet/meta.yml").read_text()
    shelf.add("greet", meta=meta.replace("model: echo", "model: python:answers.py:call"))
    put(shelf.library.root, answers_dot_py="import way\n", way_dot_py="x = 1\n")
    before = content_of(shelf.read())
    assert before.loaded == ("answers.py", "way.py")
    put(shelf.library.root, way_dot_py="x = 2\n")
    assert content_of(shelf.read()).prompt != before.prompt


def test_a_prompt_without_programs_has_the_hashes_that_it_always_had(shelf):
    """Other files of its folder are nobody's: no row becomes stale by a README or a picture."""
    before = content_of(shelf.read())
    put(shelf.library.prompts / "greet", notes_dot_txt="x", README_dot_md="x")
    assert content_of(shelf.read()) == before
