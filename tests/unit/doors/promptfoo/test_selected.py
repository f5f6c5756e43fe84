"""Which part of a config is run: tests by what they say and where they stand, columns by what they are called."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.case import case_id
from evenhand.core.errors import NothingSelected, UsageError
from evenhand.core.plan import Plan, Selection
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen, Overrides, range_of

CONFIG: Mapping[str, Any] = {
    "prompts": [{"raw": "A {{q}}", "label": "pa"}, {"raw": "B {{q}}", "label": "pb"}],
    "providers": [{"id": "echo", "label": "one"}, {"id": "echo", "label": "two"}],
    "tests": [
        {"vars": {"q": f"question {i}"}, "description": word, "metadata": metadata}
        for i, (word, metadata) in enumerate(
            [
                ("first", {"area": "law", "tags": ["x", "yz"]}),
                ("second", {"area": "lawn", "level": 5}),
                ("third", {"tags": ["yz"]}),
                ("fourth", {"area": "art"}),
            ]
        )
    ],
}


def plan_of(folder: Path, overrides: Overrides | None = None, **said: Any) -> Plan:
    """The plan of the config above, with this selection."""
    (folder / "promptfooconfig.json").write_text(json.dumps(CONFIG))
    return load(folder, Chosen(Selection(**said), overrides or Overrides(), env={}))


def asked(plan: Plan) -> list[str]:
    """The numbers of the questions that are asked, each once."""
    return list(dict.fromkeys(planned.case.vars["q"].split()[1] for planned in plan.trials()))


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ({"metadata": ("area=law",)}, "01"),
        ({"metadata": ("tags=y",)}, "02"),
        ({"metadata": ("level=5",)}, "1"),
        ({"metadata": ("area=law", "tags=x")}, "0"),
        ({"pattern": "^f"}, "03"),
        ({"filter": "question [12]"}, "12"),
        ({"range": (1, 3)}, "12"),
        ({"range": (2, None)}, "23"),
        ({"range": (None, 1)}, "0"),
        ({"range": (1, 9), "first": 2}, "12"),
        ({"pattern": "i", "range": (1, None)}, "2"),
        ({"only": frozenset({case_id({"q": "question 3"})})}, "3"),
    ],
)
def test_tests_are_chosen_by_what_they_say_and_then_by_their_place(
    tmp_path: Path, said: Mapping[str, Any], numbers: str
) -> None:
    """Places count what is left of the others."""
    plan = plan_of(tmp_path, **said)
    assert "".join(asked(plan)) == numbers
    assert len(list(plan.trials())) == plan.size


def test_a_sample_is_drawn_from_the_first(tmp_path: Path) -> None:
    """So that `--first 2 --sample 1` never shows the third."""
    for seed in range(10):
        (number,) = asked(plan_of(tmp_path, first=2, sample=1, seed=seed))
        assert number in "01"


def test_columns_are_chosen_by_what_they_are_called(tmp_path: Path) -> None:
    """Prompts by label, models by id or label."""
    plan = plan_of(tmp_path, prompts="b$", models="tw")
    assert [str(variant) for variant in plan.variants] == ["pb · two"]
    assert len(plan_of(tmp_path, models="echo").variants) == 4


def own_prompts(folder: Path, **said: Any) -> Plan:
    """The plan of a config in which each provider has a prompt of its own, with this selection."""
    one, two = CONFIG["providers"]
    providers = [{**one, "prompts": ["pa"]}, {**two, "prompts": ["pb"]}]
    (folder / "promptfooconfig.json").write_text(json.dumps({**CONFIG, "providers": providers}))
    return load(folder, Chosen(Selection(**said), Overrides(), env={}))


def test_a_provider_whose_own_prompts_are_filtered_out_has_no_column(tmp_path: Path) -> None:
    """It is no mistake, as it is where it takes none of all the prompts."""
    assert [one.model for one in own_prompts(tmp_path, prompts="a$").variants] == ["one"]
    with pytest.raises(NothingSelected, match="--filter-prompts 'a\\$' with --filter-providers"):
        own_prompts(tmp_path, prompts="a$", models="two")


@pytest.mark.parametrize(
    ("said", "kind", "what"),
    [
        ({"prompts": "nope"}, NothingSelected, "leaves no prompt"),
        ({"models": "nope"}, NothingSelected, "leaves no provider"),
        ({"models": "("}, UsageError, "not a regular expression"),
        ({"pattern": "("}, UsageError, "--filter-pattern"),
        ({"metadata": ("area",)}, UsageError, "is not a condition"),
        ({"metadata": ("area=zzz",)}, NothingSelected, "none of the tests \\(4\\)"),
    ],
)
def test_a_selection_that_cannot_be_is_said(
    tmp_path: Path, said: Mapping[str, Any], kind: type[Exception], what: str
) -> None:
    """With what there is."""
    with pytest.raises(kind, match=what):
        plan_of(tmp_path, **said)


@pytest.mark.parametrize(
    ("text", "found"), [("", None), ("1:3", (1, 3)), ("1:", (1, None)), (":3", (None, 3))]
)
def test_a_range_has_two_ends_or_one(text: str, found: object) -> None:
    """Counted from 0."""
    assert range_of(text) == found


@pytest.mark.parametrize("text", ["5", "a:b", "-1:2", "3:3"])
def test_what_is_no_range_is_refused(text: str) -> None:
    """With how one is written."""
    with pytest.raises(UsageError):
        range_of(text)


def test_what_is_said_beside_a_config_goes_over_it(tmp_path: Path) -> None:
    """Prompts, models, variables, prefix, suffix, description, tags; a suffix does not displace other options."""
    (tmp_path / "t.csv").write_text("q\nfrom file\n")
    plan = plan_of(
        tmp_path,
        Overrides(
            prompts=("P {{q}}{{z}}",),
            providers=("echo",),
            tests=str(tmp_path / "t.csv"),
            variables={"z": "!"},
            prefix="<",
            suffix=">",
            description="mine",
            tags={"k": "v"},
            delay_ms=500.0,
        ),
    )
    (planned,) = plan.trials()
    assert dict(planned.case.vars) == {"z": "!", "q": "from file"}
    assert str(planned.variant) == "P {{q}}{{z}} · echo"
    assert plan.title == "mine"
    assert plan.options.delay_s == 0.5


def test_prompts_and_models_on_the_command_line_need_no_config(tmp_path: Path) -> None:
    """As in a folder that holds nothing but prompts."""
    overrides = Overrides(prompts=("hi",), providers=("echo",))
    assert load(tmp_path, Chosen(env={}, overrides=overrides)).size == 1


def test_another_selection_is_another_plan(tmp_path: Path) -> None:
    """So that no run goes on with other tests than it began with."""
    seen = {
        plan_of(tmp_path, **said).fingerprint
        for said in (
            {},
            {"pattern": "f"},
            {"range": (0, 9)},
            {"metadata": ("area=a",)},
            {"first": 9},
        )
    }
    assert len(seen) == 5
