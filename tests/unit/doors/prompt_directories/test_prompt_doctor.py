from __future__ import annotations

import pytest

from evenhand.doors.prompt_directories.doctor import look
from evenhand.doors.prompt_directories.evidence import USAGE


def problems(shelf, name="greet") -> str:
    """What is wrong with a prompt."""
    return "\n".join(str(p) for one in look(shelf.library, [name]) for p in one.problems)


def warnings(shelf, name="greet") -> str:
    """What is worth a look."""
    return "\n".join(str(p) for one in look(shelf.library, [name]) for p in one.warnings)


def with_meta(shelf, **fields):
    """Sets fields of meta.yml."""
    path = shelf.library.prompts / "greet" / "meta.yml"
    lines = [x for x in path.read_text().splitlines() if x.split(":")[0] not in fields]
    path.write_text("\n".join([*lines, *(f"{k}: {v}" for k, v in fields.items())]) + "\n", "utf-8")


def test_a_good_prompt_has_nothing_wrong(shelf):
    """Neither problems nor warnings."""
    assert (problems(shelf), warnings(shelf)) == ("", "")


def test_undeclared_and_unused_variables_are_told(shelf):
    """The place of the one in the template, the line of the other in meta.yml; file_contents is anybody's."""
    shelf.add("greet", prompt="<p>\n{{you}} {{file_contents}}</p>")
    said = problems(shelf)
    assert "prompt.xml:2: 'you' is not declared" in said
    assert "meta.yml:10:5: the required input 'who' is not in prompt.xml" in said
    assert "file_contents" not in said


def test_an_optional_input_need_not_be_used(shelf):
    """Only what has to be given has to be there."""
    with_meta(shelf, inputs="[{name: who, required: true}, {name: how, required: false}]")
    shelf.read()
    assert "how" not in problems(shelf)


def test_a_verb_belongs_to_one_prompt(shelf):
    """The second one that wants it is told; what no shell takes is told, too."""
    shelf.add("greet", aliases="# verbs\nhello\n2x\nrm -rf\n")
    shelf.add("wave", aliases="hello\n")
    assert "aliases:1: 'hello' is taken already, by greet" in problems(shelf, "wave")
    said = problems(shelf)
    assert "aliases:3: '2x' cannot be a shell verb" in said
    assert "aliases:4: 'rm -rf' cannot be a shell verb" in said
    assert "hello" not in said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"description": "x" * 1025 + " use when"}, "the description has 1,034 characters"),
        ({"description": "Use when <this> comes in"}, "has '<' or '>' in it"),
        ({"description": "[a, list]"}, "description is ['a', 'list'], not a text"),
        ({"triggers": "one"}, "triggers is 'one', not a list"),
        ({"not_for": "['']"}, "an item of not_for is '', not a text"),
    ],
)
def test_what_keeps_it_from_being_a_skill_is_a_problem(shelf, fields, said):
    """The limits that skills have."""
    with_meta(shelf, **fields)
    assert said in problems(shelf)


@pytest.mark.parametrize("name", ["my-claude-helper", "Anthropic-x"])
def test_reserved_names_are_problems(shelf, name):
    """A skill cannot be called after its maker."""
    shelf.add(name)
    assert "which is reserved" in problems(shelf, name)


@pytest.mark.parametrize(
    ("prompt", "said", "bad"),
    [
        ("{{who}} " + "word " * 3499, "has 3,500 words", False),
        ("{{who}} " + "word " * 4999, "has 5,000 words", True),
        ("{{who}}\n" + "line\n\n" * 199, "has 200 lines or more", False),
    ],
)
def test_long_prompts_are_warned_of_and_very_long_ones_wrong(shelf, prompt, said, bad):
    """3,500 words, 5,000 words, 200 lines that are not blank."""
    shelf.add("greet", prompt=prompt)
    assert (said in problems(shelf)) is bad
    assert (said in warnings(shelf)) is not bad


def test_a_description_says_when_to_use_it(shelf):
    """A warning where it does not."""
    with_meta(shelf, description="Greets.")
    assert "does not say when to use it" in warnings(shelf)
    assert problems(shelf) == ""


@pytest.mark.parametrize(
    ("prompt", "place"),
    [
        ("<a>{{who}}</b>", "prompt.xml:1:"),
        ("<a>\n  {{who}} & more</a>", "prompt.xml:2:"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><a>{{who}}&x;</a>', "prompt.xml:1:"),
        ("<a>{{who}}", "prompt.xml:1:"),
    ],
)
def test_xml_that_does_not_parse_is_a_warning_with_its_place(shelf, prompt, place):
    """It is sent as it is, so nothing is wrong; entities cannot be declared."""
    shelf.add("greet", prompt=prompt)
    said = warnings(shelf)
    assert "is not XML" in said
    assert place in said
    assert problems(shelf) == ""


@pytest.mark.parametrize(
    "prompt", ["<?xml version='1.0'?>\n<a>{{who}}</a>", "<a>{{who}}</a><b/>", "{{who}}"]
)
def test_several_elements_a_declaration_or_none_are_xml_enough(shelf, prompt):
    """A prompt need not be a document."""
    shelf.add("greet", prompt=prompt)
    assert warnings(shelf) == ""


def test_hooks_that_cannot_be_run_are_warned_of(shelf):
    """A guard that nobody may execute guards nothing."""
    folder = shelf.add("greet", guard="#!/bin/sh\n")
    (folder / "guard.sh").chmod(0o644)
    assert "guard.sh: is not run: it is not executable" in warnings(shelf)
    (folder / "guard.sh").unlink()
    (folder / "guard.sh").mkdir()
    assert "guard.sh: is not run" in warnings(shelf)


def test_half_written_rows_are_warned_of(shelf):
    """With their line."""
    (shelf.library.prompts / "greet" / USAGE).write_text('{"sent": true}\n{"sen', "utf-8")
    assert ".usage.jsonl:2: line 2 is not a row" in warnings(shelf)


def test_links_out_of_the_folder_are_problems(shelf, tmp_path_factory):
    """Of files that have no meaning here, too."""
    away = tmp_path_factory.mktemp("away")
    (shelf.library.prompts / "greet" / "notes").symlink_to(away)
    assert "notes: is a link that leads out" in problems(shelf)


def test_a_ready_prompt_without_evidence_is_stale(shelf):
    """A warning, and known as stale to those who check."""
    with_meta(shelf, status="ready")
    (one,) = look(shelf.library)
    assert one.stale
    assert "is marked ready, but its evidence is from an earlier version" in warnings(shelf)
    assert not one.problems


def test_all_problems_of_all_prompts_are_told(shelf):
    """One that cannot be read keeps nobody else from being looked at."""
    shelf.add("broken", meta="id: [")
    shelf.add("other", prompt="{{you}}")
    found = {one.id: one for one in look(shelf.library)}
    assert [bool(found[name].problems) for name in ("broken", "greet", "other")] == [
        True,
        False,
        True,
    ]


def test_an_eval_is_looked_at_too(shelf):
    """Its problems are the prompt's; assertions of other dialects are for those who run it."""
    shelf.add(
        "greet",
        eval="cases: [{name: a, inputs: {}, assert: [{contians: x}, {type: equals, value: x}]}]",
    )
    assert "assertion 'contians' is not known" in problems(shelf)
    assert "dialect" not in problems(shelf)
