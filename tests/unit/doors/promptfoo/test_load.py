"""A folder becomes a plan: its trials and their order, selections, fingerprints, estimates, all problems at once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from evenhand.core.errors import ConfigError, NothingSelected, UsageError
from evenhand.core.plan import Plan, Selection
from evenhand.doors.promptfoo import reader
from evenhand.doors.promptfoo.body import CellBody
from evenhand.doors.promptfoo.config import read_config
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen, Overrides
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.languages.documents.findings import Findings
from evenhand.render.export import export
from evenhand.store.runfile import RunFile

ENV = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}


def plan_of(folder: Path, config: Mapping[str, object], selection: Selection | None = None) -> Plan:
    """The plan of a config."""
    (folder / "promptfooconfig.json").write_text(
        json.dumps({"prompts": ["{{q}}"], "providers": ["echo"], **config})
    )
    return load(folder, Chosen(selection or Selection(), env=ENV))


def questions(plan: Plan) -> list[object]:
    """What is asked, in the order of the plan."""
    return [planned.case.vars["q"] for planned in plan.trials()]


def many(folder: Path, count: int) -> dict[str, object]:
    """A config with a file of tests 0, 1, 2 …."""
    lines = (json.dumps({"vars": {"q": f"question {i}"}}) for i in range(count))
    (folder / "t.jsonl").write_text("\n".join(lines))
    return {"tests": "t.jsonl"}


def summaries(folder: Path) -> Path:
    """A folder as the lessons on prompt evaluation have them: prompt functions, articles in files, a grader."""
    (folder / "articles").mkdir()
    for i in range(1, 9):
        (folder / "articles" / f"article{i}.txt").write_text(f"Article {i}.\n")
    functions = "\n\n".join(
        f"def {n}_summarize(article):\n    return f'{n}: {{article}}'" for n in "abc"
    )
    (folder / "prompts.py").write_text(functions)
    (folder / "grader.py").write_text(
        "def get_assert(output, context, threshold=4.5):\n    return True\n"
    )
    tests = "".join(
        f"  - vars:\n      article: file://articles/article{i}.txt\n" for i in range(1, 9)
    )
    (folder / "promptfooconfig.yaml").write_text(
        "description: 'Summaries'\n\nprompts:\n"
        + "".join(f"  - prompts.py:{name}_summarize\n" for name in "abc")
        + '\nproviders:\n  - id: anthropic:messages:claude-3-5-sonnet-20240620\n    label: "3.5 Sonnet"\n\n'
        + f"tests:\n{tests}\ndefaultTest:\n  assert:\n    - type: python\n      value: file://grader.py\n\n"
    )
    return folder


def test_the_lessons_folder_comes_to_its_grid(tmp_path: Path) -> None:
    """Three prompts, one model, eight articles."""
    plan = load(summaries(tmp_path), Chosen(env=ENV))
    planned_trials = list(plan.trials())
    assert len(planned_trials) == plan.size == 24
    assert plan.case_count == 8
    assert plan.title == "Summaries"
    assert [(v.prompt, v.model) for v in plan.variants] == [
        (f"prompts.py:{name}_summarize", "3.5 Sonnet") for name in "abc"
    ]
    assert [str(planned.case) for planned in planned_trials[:4]] == [
        "article1",
        "article1",
        "article1",
        "article2",
    ]
    assert plan.hints == []


def test_a_config_can_be_named_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths in it start from its own folder."""
    folder = tmp_path / "a"
    folder.mkdir()
    summaries(folder)
    monkeypatch.chdir(tmp_path)
    assert load(Path("a/promptfooconfig.yaml"), Chosen(env=ENV)).size == 24


def test_trials_are_ordered_by_test_repeat_combination_model_and_prompt(tmp_path: Path) -> None:
    """As promptfoo orders its rows and variants."""
    plan = plan_of(
        tmp_path,
        {
            "prompts": ["p {{q}}", "r {{q}}"],
            "providers": [{"id": "echo", "label": "a"}, {"id": "echo", "label": "b"}],
            "tests": [{"vars": {"q": ["1", "2"]}}, {"vars": {"q": "3"}}],
            "evaluateOptions": {"repeat": 2},
        },
    )
    planned_trials = list(plan.trials())
    assert [planned.index for planned in planned_trials] == list(range(24))
    assert [(s.case.vars["q"], s.repeat) for s in planned_trials[::4]] == [
        ("1", 0),
        ("2", 0),
        ("1", 1),
        ("2", 1),
        ("3", 0),
        ("3", 1),
    ]
    assert [str(planned.variant) for planned in planned_trials[:4]] == [
        "p {{q}} · a",
        "r {{q}} · a",
        "p {{q}} · b",
        "r {{q}} · b",
    ]


def test_a_test_that_says_how_often_it_is_repeated_is_repeated_so_often(tmp_path: Path) -> None:
    """Its own `options.repeat` goes before that of the config, and changes no other test."""
    plan = plan_of(
        tmp_path,
        {
            "tests": [{"vars": {"q": "1"}, "options": {"repeat": 3}}, {"vars": {"q": "2"}}],
            "evaluateOptions": {"repeat": 2},
        },
    )
    assert questions(plan) == ["1", "1", "1", "2", "2"]
    assert plan.size == 5


def test_another_number_of_repeats_is_another_plan(tmp_path: Path) -> None:
    """A run of two repeats is not resumed as one of three: the places of its trials would differ."""
    prints = {
        plan_of(
            tmp_path, {"tests": [{"vars": {"q": "1"}}], "evaluateOptions": {"repeat": repeats}}
        ).fingerprint
        for repeats in (2, 3)
    }
    assert len(prints) == 2


def test_a_plan_says_the_same_each_time(tmp_path: Path) -> None:
    """It can be walked again, and read again."""
    config = many(tmp_path, 20)
    plan = plan_of(tmp_path, config)
    first = [(s.index, s.case.id) for s in plan.trials()]
    assert [(s.index, s.case.id) for s in plan.trials()] == first
    assert [(s.index, s.case.id) for s in plan_of(tmp_path, config).trials()] == first


def test_ids_are_made_of_the_variables_and_are_unique(tmp_path: Path) -> None:
    """Equal rows are told apart by a number; moving a row does not change its id."""
    rows = [{"vars": {"q": text}} for text in ("a", "b", "a")]
    ids = [planned.case.id for planned in plan_of(tmp_path, {"tests": rows}).trials()]
    assert ids[2] == f"{ids[0]}#2"
    assert len(set(ids)) == 3
    moved = [planned.case.id for planned in plan_of(tmp_path, {"tests": rows[::-1]}).trials()]
    assert set(moved) == set(ids)


def test_an_id_does_not_depend_on_the_selection(tmp_path: Path) -> None:
    """The second of two equal rows is the second, also when the first is left out."""
    rows = [{"vars": {"q": "a"}, "description": name} for name in ("first", "second")]
    plan = plan_of(tmp_path, {"tests": rows}, Selection(filter="second"))
    assert [planned.case.id[-2:] for planned in plan.trials()] == ["#2"]


# Columns


def test_providers_and_tests_may_take_some_variants_only(tmp_path: Path) -> None:
    """By label, on either side."""
    plan = plan_of(
        tmp_path,
        {
            "prompts": [{"raw": "x", "label": "x"}, {"raw": "y", "label": "y"}],
            "providers": [
                {"id": "echo", "label": "a", "prompts": ["x"]},
                {"id": "echo", "label": "b"},
            ],
            "tests": [
                {"vars": {"q": "1"}},
                {"vars": {"q": "2"}, "prompts": ["y"]},
                {"vars": {}, "providers": ["a"]},
            ],
        },
    )
    assert [str(variant) for variant in plan.variants] == ["x · a", "x · b", "y · b"]
    assert [(s.case.vars.get("q"), s.variant.index) for s in plan.trials()] == [
        ("1", 0),
        ("1", 1),
        ("1", 2),
        ("2", 2),
        (None, 0),
    ]
    assert plan.size == 5


def test_variants_that_cannot_be_told_apart_are_a_hint(tmp_path: Path) -> None:
    """A label for one of them helps."""
    plan = plan_of(tmp_path, {"providers": ["echo", "echo"], "tests": [{"vars": {"q": "1"}}]})
    assert any("two variants are called" in hint.what for hint in plan.hints)


# Selections


def test_the_first_tests(tmp_path: Path) -> None:
    """As many as asked for, or all there are."""
    config = many(tmp_path, 5)
    assert questions(plan_of(tmp_path, config, Selection(first=2))) == ["question 0", "question 1"]
    assert plan_of(tmp_path, config, Selection(first=9)).size == 5


def test_a_sample_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    """In the order of the plan."""
    config = many(tmp_path, 50)
    drawn = questions(plan_of(tmp_path, config, Selection(sample=10, seed=1)))
    assert len(drawn) == 10
    assert drawn == sorted(drawn, key=lambda q: int(str(q).split()[1]))
    assert drawn == questions(plan_of(tmp_path, config, Selection(sample=10, seed=1)))
    assert drawn != questions(plan_of(tmp_path, config, Selection(sample=10, seed=2)))


def test_filter_then_sample_then_first(tmp_path: Path) -> None:
    """A regular expression over descriptions and variables."""
    config = many(tmp_path, 100)
    selection = Selection(filter=r"question \d5$", sample=5, first=2)
    chosen = questions(plan_of(tmp_path, config, selection))
    assert len(chosen) == 2
    assert all(str(q).endswith("5") for q in chosen)


def test_a_selection_of_nothing_is_said(tmp_path: Path) -> None:
    """With what was asked for."""
    with pytest.raises(NothingSelected, match="none of the tests \\(3\\)") as error:
        plan_of(tmp_path, many(tmp_path, 3), Selection(filter="nope"))
    assert "--filter 'nope'" in error.value.hint


def test_a_filter_that_is_no_pattern_is_said(tmp_path: Path) -> None:
    """It is the user's to mend."""
    with pytest.raises(UsageError, match="not a regular expression"):
        plan_of(tmp_path, many(tmp_path, 3), Selection(filter="("))


def test_repeats_of_the_selection_win(tmp_path: Path) -> None:
    """Over those of the config."""
    plan = plan_of(
        tmp_path, {**many(tmp_path, 2), "evaluateOptions": {"repeat": 5}}, Selection(repeats=2)
    )
    assert (plan.size, plan.repeats) == (4, 2)


# Problems


def test_all_problems_are_said_at_once_in_the_order_of_the_files(tmp_path: Path) -> None:
    """One round of mending is enough."""
    (tmp_path / "t.csv").write_text("q,__expected\na,contians:x\nb\nc,regex:(\n")
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts:\n  - file://no.txt\nproviders:\n  - opnai:gpt-4o\ntests:\n  - t.csv\n"
        "  - vars: {q: file://no.txt}\n    assert:\n      - type: contians\n        value: x\n"
    )
    with pytest.raises(ConfigError) as error:
        load(tmp_path, Chosen(env=ENV))
    places = Counter((Path(p.file).name, p.line) for p in error.value.problems)
    assert places == {
        ("promptfooconfig.yaml", 2): 1,
        ("promptfooconfig.yaml", 4): 1,
        ("promptfooconfig.yaml", 7): 1,
        ("promptfooconfig.yaml", 9): 1,
        ("t.csv", 3): 1,
        ("t.csv", 4): 1,
    }


def test_of_very_many_problems_the_first_fifty_are_listed(tmp_path: Path) -> None:
    """And it is said how many more there are."""
    (tmp_path / "t.jsonl").write_text('{"vars": no}\n' * 12_000)
    with pytest.raises(ConfigError) as error:
        plan_of(tmp_path, {"tests": "t.jsonl"})
    assert len(error.value.problems) == 50
    assert str(error.value).endswith("… and 11,950 more problems")


def test_a_file_of_tests_that_holds_none_is_a_problem(tmp_path: Path) -> None:
    """Nothing passes because nothing was asked."""
    (tmp_path / "t.jsonl").write_text("\n")
    with pytest.raises(ConfigError, match="there are no tests"):
        plan_of(tmp_path, {"tests": "t.jsonl"})


def test_tests_that_expect_nothing_are_a_hint(tmp_path: Path) -> None:
    """They pass whatever is answered."""
    plan = plan_of(
        tmp_path,
        {"tests": [{"vars": {"q": "1"}}, {"vars": {"q": "2"}, "assert": [{"type": "is-json"}]}]},
    )
    assert [hint.what for hint in plan.hints] == [
        "1 of 2 tests expects nothing, so that any answer passes"
    ]


def test_tests_that_change_while_they_are_read_stop_the_walk(tmp_path: Path) -> None:
    """A plan of ten trials does not end after five in silence."""
    plan = plan_of(tmp_path, many(tmp_path, 10))
    many(tmp_path, 5)
    with pytest.raises(UsageError, match="changed while they were read"):
        list(plan.trials())


# What is kept of it


def test_the_fingerprint_changes_with_what_decides_a_trial(tmp_path: Path) -> None:
    """Prompts, code, data, files, selection: yes. Titles, keys, concurrency: no."""
    summaries(tmp_path)
    path = tmp_path / "promptfooconfig.yaml"
    before = load(tmp_path, Chosen(env=ENV)).fingerprint
    assert load(tmp_path, Chosen(env={**ENV, "ANTHROPIC_API_KEY": "other"})).fingerprint == before
    text = path.read_text()
    path.write_text(
        text.replace("'Summaries'", "'Other'") + "evaluateOptions: {maxConcurrency: 9}\n"
    )
    assert load(tmp_path, Chosen(env=ENV)).fingerprint == before
    assert load(tmp_path, Chosen(Selection(first=2), env=ENV)).fingerprint != before
    for name in ("prompts.py", "grader.py", "articles/article3.txt"):
        file = tmp_path / name
        kept = file.read_text()
        file.write_text(kept + "# changed\n")
        assert load(tmp_path, Chosen(env=ENV)).fingerprint != before
        file.write_text(kept)
    assert load(tmp_path, Chosen(env=ENV)).fingerprint == before


def test_secrets_are_not_kept(tmp_path: Path) -> None:
    """Neither those written in the config nor those of the environment."""
    plan = plan_of(
        tmp_path,
        {
            "env": {"MY_TOKEN": "hush"},
            "providers": [
                {
                    "id": "openai:gpt-4o",
                    "config": {"apiKey": "hush", "headers": {"X-Org": "{{env.OPENAI_API_KEY}}"}},
                }
            ],
            "tests": [{"vars": {"q": "1"}}],
        },
    )
    kept = json.dumps(plan.config)
    assert "hush" not in kept
    assert "{{env.OPENAI_API_KEY}}" in kept


def test_judges_are_among_the_providers(tmp_path: Path) -> None:
    """Whoever runs the plan lets go of their connections too."""
    plan = plan_of(
        tmp_path,
        {
            "tests": [
                {
                    "vars": {"q": "1"},
                    "assert": [{"type": "llm-rubric", "value": "x", "provider": "openai:gpt-4o"}],
                }
            ]
        },
    )
    assert [provider.id for provider in plan.providers] == ["echo", "openai:gpt-4o"]


def test_calls_are_counted_and_priced_before_any_is_made(tmp_path: Path) -> None:
    """Subjects and judges apart; what has no price has none."""
    plan = plan_of(
        tmp_path,
        {
            "prompts": ["{{q}}", "Q: {{q}}"],
            "providers": ["openai:gpt-4o", "openai:nobody-knows"],
            "defaultTest": {
                "assert": [{"type": "llm-rubric", "value": "x", "provider": "openai:gpt-4o-mini"}]
            },
            "tests": [{"vars": {"q": ["1", "2", "3"]}}],
            "evaluateOptions": {"repeat": 2},
        },
    )
    found = {(e.provider, e.role): e for e in plan.estimate()}
    assert {key: e.calls for key, e in found.items()} == {
        ("openai:gpt-4o", "subject"): 12,
        ("openai:nobody-knows", "subject"): 12,
        ("openai:gpt-4o-mini", "judge"): 24,
    }
    priced = found["openai:gpt-4o", "subject"].cost_usd
    assert priced is not None
    assert priced > 0
    assert found["openai:nobody-knows", "subject"].cost_usd is None


@pytest.mark.thorough
def test_of_more_rows_than_are_kept_none_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A walk keeps a row at a time."""
    import tracemalloc

    monkeypatch.setattr(reader, "MOST_KEPT", 1_000)
    config = many(tmp_path, 10_000)
    plan_of(tmp_path, many(tmp_path, 10))
    config = many(tmp_path, 10_000)
    tracemalloc.start()
    try:
        plan = plan_of(tmp_path, config)
        assert sum(1 for _ in plan.trials()) == 10_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000


def test_what_is_tolerated_is_hinted_at_with_its_place(tmp_path: Path) -> None:
    """A variable that nobody sets, a tag that is never closed, a key that is not there; beside errors as well."""
    config = {
        "prompts": ["hi {{name}} {{nmae}}", "open {{ x"],
        "providers": ["openai:chat:gpt-4o"],
        "tests": [{"vars": {"name": "a"}}],
    }
    env = {"OPENAI_API_KEY": "k"}
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    said = "\n".join(map(str, load(tmp_path, Chosen(env=env)).hints))
    assert "variable 'nmae' is not set by every test" in said
    assert "Did you mean 'name'?" in said
    assert "a tag is opened and not closed" in said
    config["tests"] = [{"vars": {"name": "a"}, "assert": [{"type": "contians", "value": "x"}]}]
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="contians") as caught:
        load(tmp_path, Chosen(env=env))
    assert any("nmae" in hint.what for hint in caught.value.hints)


def test_prompts_that_begin_alike_stay_apart_in_results(tmp_path: Path) -> None:
    """A label is never cut."""
    start = "You are a helpful assistant. " * 8
    plan = plan_of(
        tmp_path, {"prompts": [f"{start} A {{{{q}}}}", f"{start} B {{{{q}}}}"], **many(tmp_path, 1)}
    )
    assert len({variant.prompt for variant in plan.variants}) == 2


def test_tests_name_their_variants_by_label_by_id_or_by_pattern(tmp_path: Path) -> None:
    """A name that nothing has is a problem, with the nearest one."""
    prompts = [{"id": "p1", "label": "Long", "raw": "A {{q}}"}, {"label": "Other", "raw": "B"}]
    config = {
        "prompts": prompts,
        "tests": [
            {"vars": {"q": "1"}, "prompts": ["p1"]},
            {"vars": {"q": "2"}, "prompts": "Lo*"},
            {"vars": {"q": "3"}, "providers": ["echo"]},
        ],
    }
    plan = plan_of(tmp_path, config)
    assert [str(planned.variant) for planned in plan.trials()] == [
        "Long · echo",
        "Long · echo",
        "Long · echo",
        "Other · echo",
    ]
    wrong = {**config, "tests": [{"vars": {}, "prompts": ["Othr"], "providers": ["nope"]}]}
    with pytest.raises(ConfigError) as error:
        plan_of(tmp_path, wrong)
    assert [problem.what for problem in error.value.problems] == [
        "no prompt is called 'Othr'",
        "no provider is called 'nope'",
    ]
    assert "Did you mean 'Other'?" in str(error.value)


def test_tests_may_be_made_by_a_function(tmp_path: Path) -> None:
    """Called once, with the settings beside its path; what it raises is a problem of the config."""
    (tmp_path / "made.py").write_text(
        "def generate_tests(config=None):\n"
        "    return [{'vars': {'q': f'{i} {config}'}} for i in range((config or {}).get('n', 1))]\n"
        "def broken():\n    raise ValueError('no data')\n"
    )
    made = {"path": "file://made.py", "config": {"n": 2}}
    plan = plan_of(tmp_path, {"tests": ["file://made.py", made]})
    assert questions(plan) == ["0 None", "0 {'n': 2}", "1 {'n': 2}"]
    with pytest.raises(ConfigError, match="no data"):
        plan_of(tmp_path, {"tests": "made.py:broken"})


def test_settings_of_a_function_that_makes_tests_may_be_in_files(tmp_path: Path) -> None:
    """At any depth; what else is written there is left as it is."""
    (tmp_path / "made.py").write_text(
        "def generate_tests(config):\n"
        "    return [{'vars': {'q': word}} for word in config['words']['list'] + config['headers']]\n"
    )
    (tmp_path / "words.json").write_text('{"list": ["alpha", "beta"]}')
    settings = {"words": "file://words.json", "headers": ["q"]}
    plan = plan_of(tmp_path, {"tests": [{"path": "file://made.py", "config": settings}]})
    assert questions(plan) == ["alpha", "beta", "q"]
    settings["words"] = "file://word.json"
    with pytest.raises(ConfigError, match=r"word\.json does not exist"):
        plan_of(tmp_path, {"tests": [{"path": "file://made.py", "config": settings}]})


def test_the_assertions_of_a_test_in_a_file_may_be_in_a_file_too(tmp_path: Path) -> None:
    """Its path starts from the config; what is wrong with one is told with the line it stands on."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "t.yaml").write_text("- vars: {q: x}\n  assert: file://a.yaml\n")
    (tmp_path / "a.yaml").write_text("- {type: contains, value: x}\n- {type: equals, value: x}\n")
    (planned,) = plan_of(tmp_path, {"tests": "file://tests/t.yaml"}).trials()
    assert isinstance(planned.body, CellBody)
    assert planned.body.test.expected.types == ("contains", "equals")
    (tmp_path / "a.yaml").write_text("- {type: contains, value: x}\n- {value: x}\n")
    with pytest.raises(ConfigError, match=r"a\.yaml:2.*an assertion has no type"):
        plan_of(tmp_path, {"tests": "file://tests/t.yaml"})
    (tmp_path / "a.yaml").unlink()
    with pytest.raises(ConfigError, match=r"t\.yaml:2.*a\.yaml does not exist"):
        plan_of(tmp_path, {"tests": "file://tests/t.yaml"})


def test_a_tests_file_whose_path_names_a_variable_that_is_not_set_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tests file whose path names a variable that is not set says which."""
    monkeypatch.delenv("SET_OF_TESTS", raising=False)
    with pytest.raises(ConfigError) as raised:
        plan_of(tmp_path, {"tests": ["{{env.SET_OF_TESTS}}"]})
    (problem,) = raised.value.problems
    assert problem.hint == "Set SET_OF_TESTS, in the environment or in a .env file."


def test_lines_after_the_file_of_a_variable_are_said_to_be_part_of_its_path(tmp_path: Path) -> None:
    """Lines after the file of a variable are said to be part of its path, and stay out of the message."""
    (tmp_path / "shop.txt").write_text("The shop.")
    written = "file://shop.txt\n\nAnd today's offers:\n- apples"
    with pytest.raises(ConfigError) as raised:
        plan_of(tmp_path, {"tests": [{"vars": {"q": written}}]})
    (problem,) = raised.value.problems
    assert problem.what == "'shop.txt …' does not exist"
    assert problem.hint == (
        "A variable that begins with file:// is the path of a file, with all its lines."
    )


def test_outputs_may_be_given_instead_of_asked_for(tmp_path: Path) -> None:
    """Each is a test of the assertions beside it, and data: no tag in it is filled in, no file read."""
    (tmp_path / "outputs.json").write_text(
        json.dumps(["Hi {{x}}", {"output": "file://no", "tags": ["a", "b"]}])
    )
    (tmp_path / "asserts.yaml").write_text("- type: contains\n  value: Hi\n")
    given = Overrides(
        model_outputs=str(tmp_path / "outputs.json"), assertions=str(tmp_path / "asserts.yaml")
    )
    plan = load(tmp_path, Chosen(env=ENV, overrides=given))
    finished = door.run(plan, Settings(home=tmp_path / "kept"))
    with RunFile.open(finished.path) as run:
        found = [(t.output, t.outcome, t.vars.get("tags")) for t in run.trials()]
    assert found == [("Hi {{x}}", "pass", None), ("file://no", "fail", "a, b")]


@pytest.mark.parametrize(
    ("outputs", "asserts", "said"),
    [
        ('{"a": 1}', "[]", "outputs.json:1:1: isn't a list of outputs"),
        ("[1]", "- type: contains\n  value: a", "an output is 1"),
        ('["a"]', "- type: contians\n  value: a", "asserts.yaml:1:3: assertion type 'contians'"),
        ('["a"]', "a: 1", "isn't a list of assertions"),
    ],
)
def test_given_outputs_that_cannot_be_read_are_told_with_their_place(
    tmp_path: Path, outputs: str, asserts: str, said: str
) -> None:
    """In the file in which it stands."""
    (tmp_path / "outputs.json").write_text(outputs)
    (tmp_path / "asserts.yaml").write_text(asserts)
    given = Overrides(
        model_outputs=str(tmp_path / "outputs.json"), assertions=str(tmp_path / "asserts.yaml")
    )
    try:
        found = [
            str(problem) for problem in load(tmp_path, Chosen(env=ENV, overrides=given)).broken
        ]
    except ConfigError as error:
        found = [str(problem) for problem in error.problems]
    assert said in "\n".join(found)


def test_a_function_in_javascript_may_make_tests(tmp_path: Path) -> None:
    """A file's default export, or one that is named; a promise is waited for, and what it raises is a problem."""
    (tmp_path / "made.js").write_text(
        "module.exports = async (config) =>\n"
        "  Array.from({length: config?.n ?? 1}, (_, i) => ({vars: {q: `made ${i}`}}));\n"
        "module.exports.other = () => [{vars: {q: 'other'}}];\n"
        "module.exports.broken = () => { throw new Error('no data'); };\n"
        "module.exports.none = () => 'text';\n"
    )
    made = {"path": "file://made.js", "config": {"n": 2}}
    plan = plan_of(tmp_path, {"tests": ["file://made.js", made, "made.js:other"]})
    assert questions(plan) == ["made 0", "made 0", "made 1", "other"]
    for name, said in (("broken", "no data"), ("none", "not a list of tests"), ("nope", "nope")):
        with pytest.raises(ConfigError, match=said):
            plan_of(tmp_path, {"tests": f"made.js:{name}"})


def test_extensions_may_be_javascript(tmp_path: Path) -> None:
    """Called before all tests like those in Python; what they raise is a problem of the config."""
    (tmp_path / "hooks.js").write_text(
        "module.exports = {\n"
        "  async beforeAll(context, { hookName }) {\n"
        "    context.suite.tests.push({ vars: { q: hookName } });\n"
        "    return context;\n"
        "  },\n"
        "  always: (name) => { throw new Error(`${name} is down`); },\n"
        "};\n"
    )
    config = {"tests": [{"vars": {"q": "old"}}], "extensions": ["file://hooks.js:beforeAll"]}
    assert questions(plan_of(tmp_path, config)) == ["old", "beforeAll"]
    assert "beforeAll" not in str(plan_of(tmp_path, config).hints)
    (tmp_path / "more.js").write_text(
        "exports.beforeAll = ({ suite }) => { suite.env = {}; suite.providers = []; return { suite }; };"
    )
    plan = plan_of(tmp_path, {**config, "extensions": ["file://more.js:beforeAll"]})
    changed = [hint.what for hint in plan.hints if hint.what.startswith("beforeAll changed")]
    assert [what.split()[2] for what in changed] == ["env", "providers"]
    with pytest.raises(ConfigError, match="beforeAll is down"):
        plan_of(tmp_path, {**config, "extensions": ["file://hooks.js:always"]})


def test_before_all_may_change_prompts_and_derived_metrics(tmp_path: Path) -> None:
    """Prompts that it leaves alone stay what they are, functions too; one without text is a problem."""
    (tmp_path / "p.py").write_text("def ask(q):\n    return q\n")
    (tmp_path / "hooks.py").write_text(
        "def beforeAll(context, info):\n"
        "    suite = context['suite']\n"
        "    suite['prompts'][0]['raw'] = 'Please: {{q}}'\n"
        "    suite['prompts'].append({'raw': 'More {{q}}', 'label': 'more'})\n"
        "    suite['derivedMetrics'] = [{'name': 'twice', 'value': 'm * 2'}]\n"
        "    return context\n"
        "def none(name, context):\n"
        "    context['suite']['prompts'] = ['x']\n"
        "    return context\n"
    )
    config = {
        "prompts": [{"raw": "{{q}}", "label": "first"}, "file://p.py:ask"],
        "tests": [{"vars": {"q": "old"}}],
        "extensions": ["file://hooks.py:beforeAll"],
    }
    plan = plan_of(tmp_path, config)
    columns = [(variant.prompt, variant.prompt_raw.split("\n")[0]) for variant in plan.variants]
    assert columns == [
        ("first", "Please: {{q}}"),
        ("p.py:ask", "def ask(q):"),
        ("more", "More {{q}}"),
    ]
    assert plan.config["derivedMetrics"] == [{"name": "twice", "value": "m * 2"}]
    assert "beforeAll" not in str(plan.hints)
    with pytest.raises(ConfigError, match="beforeAll left a prompt 'x'"):
        plan_of(tmp_path, {**config, "extensions": ["file://hooks.py:none"]})


def test_results_have_variables_as_they_are_written(tmp_path: Path) -> None:
    """With their tags, and without the outputs that earlier tests stored."""
    tests = [
        {"vars": {"q": "{{a}}!", "a": "x"}, "options": {"storeOutputAs": "first"}},
        {"vars": {"q": "then {{first}}"}},
    ]
    written = [planned.test["vars"] for planned in plan_of(tmp_path, {"tests": tests}).trials()]
    assert written == [tests[0]["vars"], tests[1]["vars"]]


def test_tests_may_stand_in_a_workbook(tmp_path: Path) -> None:
    """On its first sheet, or the one that is named, or numbered."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["q", "__expected"])
    book.active.append(["first", "contains:first"])
    more = book.create_sheet("More")
    for row in (["q", "n"], ["second", 2.0], [None, None], ["third", True]):
        more.append(row)
    book.save(tmp_path / "t.xlsx")
    assert questions(plan_of(tmp_path, {"tests": "t.xlsx"})) == ["first"]
    for name in ("t.xlsx#More", "t.xlsx#2"):
        plan = plan_of(tmp_path, {"tests": name})
        assert [dict(planned.case.vars) for planned in plan.trials()] == [
            {"q": "second", "n": "2"},
            {"q": "third", "n": "true"},
        ]
    with pytest.raises(ConfigError, match="Did you mean 'More'"):
        plan_of(tmp_path, {"tests": "t.xlsx#Mora"})


def test_a_case_of_a_pattern_of_files_has_one_id_wherever_its_folder_is(tmp_path: Path) -> None:
    """Runs of two copies are compared by it."""
    ids: list[list[str]] = []
    for name in ("one", "two"):
        folder = tmp_path / name
        (folder / "v").mkdir(parents=True)
        for text in "ab":
            (folder / "v" / f"{text}.txt").write_text(text)
        plan = plan_of(folder, {"tests": [{"vars": {"q": "file://v/*.txt"}}]})
        assert questions(plan) == ["file://v/b.txt", "file://v/a.txt"]
        ids.append([planned.case.id for planned in plan.trials()])
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("value", "count"), [("false", 2), ("0", 2), ("", 2), ("true", 1), ("1", 1)]
)
def test_a_switch_of_promptfoos_that_is_off_changes_nothing(
    tmp_path: Path, value: str, count: int
) -> None:
    """Not its being set counts, but what it says."""
    (tmp_path / "promptfooconfig.json").write_text(
        json.dumps(
            {"prompts": ["{{q}}"], "providers": ["echo"], "tests": [{"vars": {"q": ["a", "b"]}}]}
        )
    )
    env = {"PROMPTFOO_DISABLE_VAR_EXPANSION": value, "PROMPTFOO_REQUIRE_JSON_PROMPTS": value}
    plan = load(tmp_path, Chosen(env=env))
    assert plan.case_count == count
    hints = [str(hint) for hint in plan.hints if "PROMPTFOO_REQUIRE_JSON_PROMPTS" in str(hint)]
    assert bool(hints) is (count == 1)


def test_promptfoos_switch_of_the_cache_is_read(tmp_path: Path) -> None:
    """PROMPTFOO_CACHE_ENABLED=false: no answer comes from the cache."""
    path = tmp_path / "promptfooconfig.json"
    path.write_text(json.dumps({"prompts": ["p"], "providers": ["echo"]}))
    for value, cache in (("false", False), ("0", False), ("true", True), ("", True)):
        chosen = Chosen(env={"PROMPTFOO_CACHE_ENABLED": value})
        config = read_config([path], chosen, Findings())
        assert config is not None
        assert config.options.cache is cache


def test_a_workbooks_cell_is_text_without_spaces_around_it_and_a_number_as_in_javascript(
    tmp_path: Path,
) -> None:
    """As promptfoo reads it: the header, too."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in ([" q ", "n"], ["  two\nlines \n", 1e-7], ["big", 1e21], ["pi", 2.50]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    plan = plan_of(tmp_path, {"tests": "t.xlsx"})
    assert [dict(planned.case.vars) for planned in plan.trials()] == [
        {"q": "two\nlines", "n": "1e-7"},
        {"q": "big", "n": "1e+21"},
        {"q": "pi", "n": "2.5"},
    ]


def test_an_extension_that_prepares_the_tests_may_change_them(tmp_path: Path) -> None:
    """Its failure is a problem of the config, and it is not called where nothing is to be run."""
    (tmp_path / "hooks.py").write_text(
        "def beforeAll(context, info):\n"
        "    context['suite']['tests'] = [{'vars': {'q': 'new'}}]\n"
        "    return context\n"
        "def always(name, context):\n    raise ValueError('down')\n"
    )
    config = {"tests": [{"vars": {"q": "old"}}], "extensions": ["file://hooks.py:beforeAll"]}
    assert questions(plan_of(tmp_path, config)) == ["new"]
    assert questions(load(tmp_path, Chosen(env=ENV, prepare=False))) == ["old"]
    with pytest.raises(ConfigError, match="down"):
        plan_of(tmp_path, {**config, "extensions": ["file://hooks.py:always"]})
    with pytest.raises(ConfigError, match="no function 'nope'"):
        plan_of(tmp_path, {**config, "extensions": ["file://hooks.py:nope"]})


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_an_extension_with_a_yield_is_refused_as_nothing_of_it_would_run(tmp_path: Path, kind: str):
    """As in fixtures, one might write what is to be done afterwards behind a yield."""
    (tmp_path / "hooks.py").write_text(f"{kind} beforeAll(context, info):\n    yield context\n")
    with pytest.raises(ConfigError, match=r"hooks\.py:beforeAll has a `yield`"):
        plan_of(tmp_path, {"tests": [{}], "extensions": ["file://hooks.py:beforeAll"]})


def test_the_projects_time_limit_holds_for_extensions_before_all_tests(tmp_path: Path):
    """One that hangs is named, and given up."""
    (tmp_path / "pyproject.toml").write_text("[tool.evenhand]\ntime-limit = 1\n")
    (tmp_path / "hooks.py").write_text(
        "import asyncio\nasync def beforeAll(context, info):\n    await asyncio.sleep(1000)\n"
    )
    with pytest.raises(ConfigError, match=r"hooks\.py:beforeAll took longer than 1 s"):
        plan_of(tmp_path, {"tests": [{}], "extensions": ["file://hooks.py:beforeAll"]})


def test_providers_that_are_code_find_the_template_of_their_prompt(tmp_path: Path) -> None:
    """In `context.prompt.raw`, as promptfoo gives it; the prompt itself is filled in."""
    (tmp_path / "model.py").write_text(
        "def call_api(prompt, options, context):\n"
        "    return {'output': prompt + ' | ' + context['prompt']['raw']}\n"
    )
    config = {
        "prompts": ["Say {{q}}"],
        "providers": ["file://model.py"],
        "tests": [{"vars": {"q": 1}}],
    }
    finished = door.run(plan_of(tmp_path, config), Settings(home=tmp_path / "kept"))
    with RunFile.open(finished.path) as run:
        assert [trial.output for trial in run.trials()] == ["Say 1 | Say {{q}}"]


def test_no_secret_of_an_environment_is_written_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of the process's nor of the config's: not to the run's file, and not to what is exported."""
    monkeypatch.setenv("SENTINEL_OF_THE_PROCESS", "sentinel-one")
    drawn = "a1B2c3D4e5F6g7H8i9J0k1L2"
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: ['{{q}}']\n"
        "providers: [{id: echo, env: {MY_TOKEN_2: sentinel-two}}]\n"
        f"env: {{MY_KEYS_A: sentinel-three, PIN_SECRET_NO: 90210777, PLAIN: {drawn}, REGION: eu-west}}\n"
        "tests: [{vars: {q: hello}}]\n"
    )
    finished = door.run(load(tmp_path), Settings(home=tmp_path / "kept"))
    with RunFile.open(finished.path) as run:
        export(run, tmp_path / "out.json", "promptfoo")
    written = (tmp_path / "out.json").read_bytes() + finished.path.read_bytes()
    assert b"eu-west" in written
    for secret in ("sentinel-one", "sentinel-two", "sentinel-three", "90210777", drawn):
        assert secret.encode() not in written


def test_a_config_says_what_its_tests_belong_to(tmp_path: Path) -> None:
    """Under `evenhand`, beside the gate; a cluster that is no text is a mistake with its place."""
    tests = [{"vars": {"q": str(i), "document": i % 2}} for i in range(4)]
    plan = plan_of(tmp_path, {"tests": tests, "evenhand": {"cluster": "document"}})
    assert [variant.cluster for variant in plan.variants] == ["document"]
    assert [variant.cluster for variant in plan_of(tmp_path, {"tests": tests}).variants] == [""]
    with pytest.raises(ConfigError, match="cluster is 3, not the name of a variable"):
        plan_of(tmp_path, {"tests": tests, "evenhand": {"cluster": 3}})


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("p.yaml", "# ours\ndescription: d\nprompts:\n  - hello\n", 2),
        ("p.yml", "system: be brief\nuser: '{{x}}'\n", 1),
        ("p.json", '\n{"text": "{{x}}"}', 2),
        ("p.jsonl", '[{"role": "user", "content": "a"}]\n\n{"text": "b"}\n', 3),
    ],
)
def test_an_object_that_is_no_conversation_is_named_with_its_line(
    tmp_path: Path, name: str, text: str, line: int
) -> None:
    """A vendor would be sent its JSON as what the user says."""
    (tmp_path / name).write_text(text)
    config = tmp_path / "promptfooconfig.yaml"
    config.write_text(
        f"prompts: [{name}]\nproviders: ['openai:chat:gpt-5-mini']\ntests: [{{vars: {{x: a}}}}]\n"
    )
    plan = load(config, Chosen(env={"OPENAI_API_KEY": "k"}))
    (hint,) = (one for one in plan.hints if "is a JSON object without messages" in one.what)
    assert (Path(hint.file).name, hint.line) == (name, line)


def test_a_prompt_that_is_written_with_its_whole_path_goes_by_that_path_as_well(
    tmp_path: Path,
) -> None:
    """Among the prompts of providers and tests, and for filters; results have the path from the config's folder."""
    folder, other = tmp_path / "config", tmp_path / "other"
    for path in (folder, other):
        path.mkdir()
        (path / "p1.txt").write_text("one {{q}}")
        (path / "fn.py").write_text("def go(q):\n    return q\n")
    (other / "p2.txt").write_text("two {{q}}")
    config = folder / "promptfooconfig.yaml"

    def columns(prompts: list[object], names: object, of_test: object, regex: str) -> list[str]:
        providers = [{"id": "echo", "config": {}, **({"prompts": names} if names else {})}]
        test = {"vars": {"q": "x"}, **({"prompts": of_test} if of_test else {})}
        config.write_text(json.dumps({"prompts": prompts, "providers": providers, "tests": [test]}))
        plan = load(config, Chosen(selection=Selection(prompts=regex)))
        assert len(list(plan.trials())) == len(plan.variants)
        return [variant.prompt for variant in plan.variants]

    for path, shown in ((folder, ""), (other, "../other/")):
        function, text = f"{path}/fn.py:go", f"file://{path}/p1.txt"
        for own, label in ((function, f"{shown}fn.py:go"), (text, f"{shown}p1.txt: one {{{{q}}}}")):
            for name in (own, own.removeprefix("file://"), f"{path}/*", label):
                assert columns([own], [name], None, "") == [label]
            assert columns([own, "p1.txt"], [own], None, "") == [label]
            name = own.removeprefix("file://")
            assert columns([own], None, [name], "") == [label]
            assert columns([own, "text"], None, None, own) == [label]
            assert columns([own, "text"], None, None, f"^{name}") == [label]
    assert columns([f"{other}/*.txt", "text"], [f"{other}/p*"], None, f"^{other}/p2") == [
        "../other/p2.txt: two {{q}}"
    ]


def test_the_fingerprint_changes_with_what_code_imports_from_beside_it(tmp_path: Path) -> None:
    """A run that went on with it would have the verdicts of two judges."""
    (tmp_path / "own.py").write_text(
        "from strictness import verdict\n\n"
        "def call_api(prompt, options, context):\n    return {'output': verdict}\n"
    )
    (tmp_path / "strictness.py").write_text("verdict = 1\n")
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: ['Say {{x}}']\nproviders: [echo]\n"
        "tests: [{vars: {x: a}, assert: [{type: llm-rubric, value: kind, provider: file://own.py}]}]\n"
    )
    before = load(tmp_path).fingerprint
    (tmp_path / "application.py").write_text("verdict = 1\n")
    assert load(tmp_path).fingerprint == before
    (tmp_path / "strictness.py").write_text("verdict = 2\n")
    assert load(tmp_path).fingerprint != before
