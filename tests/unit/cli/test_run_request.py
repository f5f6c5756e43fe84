"""What an earlier session was asked, read back from its run."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from evenhand import __version__
from evenhand.cli.run_request import VERSION, Asked, Failing
from evenhand.core.errors import UsageError
from evenhand.core.plan import Selection
from evenhand.doors.promptfoo.overrides import Overrides

ASKED = Asked(
    paths=("/evals",),
    selection=Selection(
        pattern="money", only=frozenset({"a", "b"}), range=(1, None), metadata=("k=v",)
    ),
    over=Overrides(prompts=("x",), variables={"a": "1"}, delay_ms=5),
    failing=Failing("/run.db", ("fail", "error")),
    offline=True,
    at_least=0.5,
    model="echo",
)

UNVERSIONED: dict[str, Any] = {
    "paths": ["/evals/promptfooconfig.yaml"],
    "selection": {
        "metadata": [], "only": None, "filter": "", "pattern": "money", "range": [0, 5], "first": 3,
        "sample": None, "seed": 0, "repeats": 2, "prompts": "", "models": "",
    },
    "over": {
        "prompts": [], "providers": ["echo"], "tests": "", "variables": {"tone": "kind"}, "prefix": "", "suffix": "",
        "description": "", "tags": {}, "grader": "", "model_outputs": "", "assertions": "", "extensions": [],
        "delay_ms": None, "env_files": [".env"],
    },
    "failing": {"path": "/runs/a.db", "outcomes": ["fail"]},
    "names": "", "tag": "", "case": "", "strict_prompts": False, "offline": True, "strict": False, "definitions": "",
}  # fmt: skip
"""As it was kept before there was a version, and before `at_least` and `model`."""


def test_what_was_asked_is_read_back_as_it_was() -> None:
    """A resumed run selects what the first session selected, also when it was a JSON text in between."""
    assert Asked.again(ASKED.record(), __version__) == ASKED
    assert Asked.again(msgspec.json.decode(msgspec.json.encode(ASKED.record())), "0.1.0") == ASKED


def test_what_is_kept_says_the_version_of_its_shape() -> None:
    """A later version can tell what it reads."""
    assert ASKED.record()["version"] == VERSION == 1


def test_a_run_that_was_started_before_options_had_a_version_can_be_resumed() -> None:
    """What was added since has its default."""
    assert Asked.again(json.loads(json.dumps(UNVERSIONED)), "0.1.0") == Asked(
        paths=("/evals/promptfooconfig.yaml",),
        selection=Selection(pattern="money", range=(0, 5), first=3, repeats=2),
        over=Overrides(providers=("echo",), variables={"tone": "kind"}, env_files=(".env",)),
        failing=Failing("/runs/a.db", ("fail",)),
        offline=True,
    )


@pytest.mark.parametrize("missing", sorted({*UNVERSIONED} - {"paths", "selection", "over"}))
def test_an_option_that_an_older_version_did_not_have_takes_its_default(missing: str) -> None:
    """Whichever it is: a new option never keeps an older run from being resumed."""
    older = {key: value for key, value in UNVERSIONED.items() if key != missing}
    default = Asked.__dataclass_fields__[missing].default
    whole = Asked.again(UNVERSIONED, "0.1.0")
    assert Asked.again(older, "0.1.0") == replace(whole, **{missing: default})


@pytest.mark.parametrize("part", ["selection", "over"])
def test_a_part_of_an_older_version_takes_its_defaults(part: str) -> None:
    """So do options within what is selected, and within what goes over a config."""
    older = Asked.again({**UNVERSIONED, part: {}}, "0.1.0")
    assert getattr(older, part) == {"selection": Selection(), "over": Overrides()}[part]


@pytest.mark.parametrize(
    ("newer", "named"),
    [
        ({"version": 2, "hurry": True}, "hurry"),
        ({"selection": {"shuffle": 1}}, "selection.shuffle"),
        ({"over": {"tone": ""}, "failing": {"path": "", "outcomes": [], "why": 1}}, "failing.why"),
    ],
)
def test_options_of_a_newer_version_are_refused_by_name(newer: dict[str, Any], named: str) -> None:
    """One sentence says which version wrote them, and which they are; nothing is run without them."""
    with pytest.raises(UsageError) as caught:
        Asked.again({**UNVERSIONED, **newer}, "7.8.9")
    message = str(caught.value)
    assert "Evenhand 7.8.9 started it" in message
    assert named in message
    assert "7.8.9" in caught.value.hint


@pytest.mark.parametrize("version", [VERSION + 1, -1, "1", None])
def test_a_version_that_is_not_known_is_refused(version: object) -> None:
    """Even where all its options have known names: they may mean something else."""
    with pytest.raises(UsageError, match=r"Evenhand 7\.8\.9 started it"):
        Asked.again({**ASKED.record(), "version": version}, "7.8.9")


@pytest.mark.parametrize("damage", [{"paths": 3}, {"selection": []}, {"over": {"delay_ms": "x"}}])
def test_damaged_options_are_refused_in_words(damage: dict[str, Any]) -> None:
    """A value of the wrong type is no traceback, and is never run."""
    with pytest.raises(UsageError, match="cannot be resumed"):
        Asked.again({**ASKED.record(), **damage}, "0.1.0")
