"""JSON Schemas for editors: they take whatever runs, and mark what is misspelt."""

import copy
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from evenhand.core.json_schema import TEXT
from evenhand.core.table import TableKey, own, schema_of
from evenhand.doors.assertions.kinds import KNOWN, type_problem
from evenhand.doors.schemas import eval_file, meta_file, project, promptfoo
from evenhand.languages.documents.findings import Findings
from evenhand.languages.documents.tree import read_document, read_yaml

ROOT = Path(__file__).resolve().parents[4]
SCHEMAS = {"promptfoo": promptfoo, "eval": eval_file, "meta": meta_file, "project": project}
FILES = {"promptfooconfig.yaml": "promptfoo", "eval.yml": "eval", "meta.yml": "meta"}

CONFIG = """
prompts: ['Hello {{name}}']
providers: [{id: echo, label: parrot}]
defaultTest: {options: {transform: output.trim()}}
tests:
  - vars: {name: Ada}
    threshold: '{{ 0.5 }}'
    assert:
      - {type: contains, value: Ada}
      - {type: not-contains, value: Bob}
      - {type: assert-set, threshold: 0.5, assert: [{type: equals, value: x}]}
"""
EVAL = """
defaults: {model: echo, judge: {model: echo, samples: 3}, prices: {echo: {cost: 0}}}
cases:
  - name: first
    inputs: {text: x}
    assert: [contains: x, {type: icontains, value: x}]
triggering: {among: all, should_match: [a], should_not_match: [b]}
"""
META = """
id: a
title: A
summary: Does it
status: draft
version: 0.1.0
created: 2026-11-23
updated: 2026-11-23
inputs: [{name: text, required: true}]
promotion: {min_uses: 5, at_least: 0.8, addresses: [gateway.example.com]}
"""
PROJECT = """
[tool.evenhand]
judge = "openai:gpt-5-mini"
timeout = 30
threshold = {faithfulness = 0.8}
calibrated = "required"
[tool.evenhand.gate]
margin = 0.03
metrics = ["passed"]
"""


def errors(name: str, value: object) -> list[str]:
    """What a schema says against a value."""
    validator = jsonschema_rs.validator_for(json.loads(json.dumps(SCHEMAS[name].schema())))
    return [error.message for error in validator.iter_errors(value)]


def yaml(text: str) -> Any:
    """A text's value, as the readers have it."""
    document = read_yaml(Path("x.yaml"), text, Findings())
    assert document is not None
    return document.value


def configs() -> Iterator[object]:
    """Files of ours that run."""
    for folder in ("tests/oracle/folders", "examples", "src/evenhand/cli"):
        for name, schema in FILES.items():
            for path in sorted((ROOT / folder).rglob(name)):
                yield pytest.param(schema, path, id=str(path.relative_to(ROOT)))


@pytest.mark.parametrize(("name", "path"), [*configs()])
def test_a_file_that_runs_has_nothing_marked(name: str, path: Path):
    """Recorded folders, examples and starters."""
    document = read_document(path, Findings())
    assert document is not None
    assert errors(name, document.value) == []


EXAMPLES = {
    "promptfoo": yaml(CONFIG),
    "eval": yaml(EVAL),
    "meta": yaml(META),
    "project": tomllib.loads(PROJECT),
}


def places(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where objects stand whose keys are ours."""
    if isinstance(value, dict):
        yield at
        for key, part in value.items():
            if key not in ("vars", "inputs", "options", "prices", "threshold", "tool"):
                yield from places(part, (*at, key))
        if isinstance(value.get("tool"), dict):
            yield from places(value["tool"]["evenhand"], (*at, "tool", "evenhand"))
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from places(part, (*at, i))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_misspelt_key_is_marked_wherever_it_is(name: str):
    """In every object of an example whose own keys are all taken."""
    whole = EXAMPLES[name]
    assert errors(name, whole) == []
    tried = 0
    for at in places(whole):
        if name == "project" and not at:
            continue  # the rest of a pyproject.toml is not ours
        changed = copy.deepcopy(whole)
        part: Any = changed
        for key in at:
            part = part[key]
        part["misspelt"] = "value"
        assert errors(name, changed), at
        tried += 1
    assert tried >= 2


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("eval", {"defaults": {"judge": {"pass_threshold": 9}}}),
        ("eval", {"defaults": {"pass_rate": 90}}),
        ("meta", {"status": "finished"}),
        ("project", {"tool": {"evenhand": {"calibrated": "yes"}}}),
        ("project", {"tool": {"evenhand": {"gate": {"margin": 3}}}}),
    ],
)
def test_a_value_that_no_reader_takes_is_marked(name: str, change: dict[str, Any]):
    """Numbers out of range, and words that are none of those that there are."""
    assert errors(name, {**EXAMPLES[name], **change})


def test_every_assertion_type_is_suggested_with_what_it_says():
    """As an editor shows it."""
    part = promptfoo.schema()["definitions"]["assertion"]["properties"]["type"]["anyOf"][0]
    about = dict(zip(part["enum"], part["enumDescriptions"], strict=True))
    assert about["contains"]
    assert "not-contains" in about
    assert "llm-rubric" in about


@pytest.mark.parametrize("name", ["promptfoo", "eval"])
def test_every_type_that_is_read_is_taken_and_a_misspelt_one_is_marked(name: str):
    """With `not-`, too, also where it changes nothing."""

    def marked(type_: str) -> bool:
        asserted = [{"type": type_, "value": "x"}]
        tests = {"tests": [{"assert": asserted}]}
        cases = {"cases": [{"name": "first", "assert": asserted}]}
        return bool(errors(name, {**EXAMPLES[name], **(tests if name == "promptfoo" else cases)}))

    known = [written for one in KNOWN for written in (one, f"not-{one}")]
    assert [type_ for type_ in known if marked(type_)] == []
    assert type_problem("not-latency") is None
    for type_ in ("contians", "not-contians", "not-not-contains", ""):
        assert type_problem(type_) is not None
        assert marked(type_)


def test_a_schema_of_a_key_that_no_reader_knows_is_an_error_of_ours():
    """The table and its schema can't come apart."""
    with pytest.raises(KeyError, match="c"):
        schema_of({"a": TableKey("A text.", own(TEXT))}, {"c": TEXT})


@pytest.mark.parametrize(
    ("line", "groups"),
    [
        (
            "support/promptfooconfig.yaml:6:21: assertion type 'contians' is not known",
            ("support/promptfooconfig.yaml", "6", "21", "assertion type 'contians' is not known"),
        ),
        (
            "a b/x_evals.py:5: cannot be imported",
            ("a b/x_evals.py", "5", None, "cannot be imported"),
        ),
        ("  ✗ data.jsonl:3 is not JSON: …", ("data.jsonl", "3", None, "is not JSON: …")),
        ("3 problems; nothing was sent", None),
        ("ran at 12:30: 3 trials", None),
    ],
)
def test_the_problem_matcher_of_the_docs_reads_our_messages(
    line: str, groups: tuple[str | None, ...] | None
):
    """A line of `evenhand check` becomes a file, a line, a message, and a column where it is known."""
    page = (ROOT / "docs" / "editors.md").read_text("utf-8")
    block = re.search(r"```json\n(.+?)```", page, re.DOTALL)
    assert block is not None
    pattern = json.loads(block[1])["tasks"][0]["problemMatcher"]["pattern"]["regexp"]
    found = re.match(pattern, line)
    assert (found and found.groups()) == groups
