"""The top of a config: where it is found, what its keys say, and what is said of those that are wrong."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from evenhand.core.plan import Selection
from evenhand.core.secrets import redacted
from evenhand.doors.promptfoo.config import Config, read_config
from evenhand.doors.promptfoo.config_files import find_config, find_configs
from evenhand.doors.promptfoo.environment import env_file, env_filled
from evenhand.doors.promptfoo.overrides import Chosen, Overrides
from evenhand.languages.documents.findings import Findings


def read(folder: Path, text: str, **env: str) -> tuple[Config | None, Findings]:
    """A config with this text."""
    path = folder / "promptfooconfig.yaml"
    path.write_text(text)
    findings = Findings()
    return read_config([path], Chosen(env=env), findings), findings


def config_of(folder: Path, text: str, **env: str) -> Config:
    """A config with this text, which has no problems."""
    config, findings = read(folder, text, **env)
    assert not findings.problems
    assert config is not None
    return config


def test_a_folder_stands_for_the_config_in_it(tmp_path: Path) -> None:
    """`evenhand run folder` finds the file."""
    path = tmp_path / "promptfooconfig.yml"
    path.write_text("a: 1")
    assert find_config(tmp_path, Findings()) == path


def test_a_folder_without_a_config_says_what_to_do(tmp_path: Path) -> None:
    """The next step is named."""
    findings = Findings()
    assert find_config(tmp_path, findings) is None
    assert "evenhand init" in findings.problems[0].hint


def test_a_misspelt_path_gets_the_nearest_name(tmp_path: Path) -> None:
    """The file that was meant is offered."""
    (tmp_path / "summaries.yaml").write_text("a: 1")
    findings = Findings()
    assert find_config(tmp_path / "sumaries.yaml", findings) is None
    assert "summaries.yaml" in findings.problems[0].hint


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n", "text\n"])
def test_a_config_that_is_no_object_is_a_problem(tmp_path: Path, text: str) -> None:
    """Also an empty file."""
    config, findings = read(tmp_path, text)
    assert config is None
    assert len(findings.problems) == 1


def test_an_unknown_key_is_tolerated_with_the_nearest_word(tmp_path: Path) -> None:
    """Promptfoo only warns; so do we, with the place and the word that was probably meant."""
    config, findings = read(tmp_path, "prompts: [a]\nprovders: [echo]\n")
    assert config is not None
    assert not findings.problems
    (hint,) = findings.hints
    assert (hint.line, hint.column) == (2, 1)
    assert "'provders'" in hint.what
    assert "'providers'" in hint.hint


def test_providers_and_targets_exclude_each_other(tmp_path: Path) -> None:
    """They are two words for one thing."""
    _, findings = read(tmp_path, "providers: [echo]\ntargets: [echo]\n")
    assert "targets" in findings.problems[0].what


def test_what_has_no_effect_is_a_hint(tmp_path: Path) -> None:
    """Nothing is uploaded, and red teaming is not done here."""
    _, findings = read(tmp_path, "redteam: {plugins: [x]}\nsharing: true\n")
    assert not findings.problems
    assert [hint.what for hint in findings.hints] == [
        "'redteam' has no effect: only the evaluation is run",
        "'sharing' has no effect: nothing is uploaded anywhere",
    ]


@pytest.mark.parametrize("name", ["TEMPLATING", "TEMPLATE_ENV_VARS", "AJV_STRICT_MODE"])
def test_a_switch_of_promptfoos_that_is_not_obeyed_is_named(tmp_path: Path, name: str) -> None:
    """With it, promptfoo sends other prompts, or reads schemas otherwise."""
    switch = f"PROMPTFOO_DISABLE_{name}"
    for value, hints in (("1", [f"{switch} has no effect"]), ("false", [])):
        _, findings = read(tmp_path, "prompts: [a]\nproviders: [echo]\n", **{switch: value})
        assert [hint.what for hint in findings.hints] == hints


def test_the_environment_is_filled_in_where_it_is_set(tmp_path: Path) -> None:
    """What is not set stays for the run; the config's own env counts, and may itself use the environment."""
    config = config_of(
        tmp_path,
        "env: {MODEL: 'gpt-{{env.SIZE}}'}\nproviders: ['openai:{{ env.MODEL }}', '{{env.NOT_SET}}']\n",
        SIZE="5",
    )
    assert config.value["providers"] == ["openai:gpt-5", "{{env.NOT_SET}}"]
    assert config.env["MODEL"] == "gpt-5"


def test_references_within_the_file_are_followed(tmp_path: Path) -> None:
    """The idiom of promptfoo's documentation for shared assertions."""
    config = config_of(
        tmp_path,
        "assertionTemplates:\n  short: {type: contains, value: x}\n"
        "defaultTest:\n  assert:\n    - $ref: '#/assertionTemplates/short'\n",
    )
    assert config.value["defaultTest"]["assert"] == [{"type": "contains", "value": "x"}]


def test_limits_of_time_are_in_milliseconds(tmp_path: Path) -> None:
    """As promptfoo has them; the environment says them for all configs, and 0 is none."""
    text = "evaluateOptions: {timeoutMs: 1500, maxEvalTimeMs: 0}\n"
    options = config_of(tmp_path, text, PROMPTFOO_EVAL_TIMEOUT_MS="9").options
    assert (options.trial_limit_s, options.run_limit_s) == (1.5, None)
    options = config_of(tmp_path, "{}", PROMPTFOO_MAX_EVAL_TIME_MS="2000").options
    assert (options.trial_limit_s, options.run_limit_s) == (None, 2.0)
    _, findings = read(tmp_path, "evaluateOptions:\n  timeoutMs: soon\n")
    assert "timeoutMs is 'soon', not a number" in findings.problems[0].what


def test_options_are_read_and_the_command_line_ones_win(tmp_path: Path) -> None:
    """Milliseconds become seconds."""
    config = config_of(
        tmp_path,
        "evaluateOptions: {maxConcurrency: 8, repeat: 3, delay: 250, cache: false}\n"
        "commandLineOptions: {maxConcurrency: 2}\n",
        PROMPTFOO_PASS_RATE_THRESHOLD="90",
    )
    assert config.repeats == 3
    assert config.options.concurrency == 2
    assert config.options.delay_s == 0.25
    assert config.options.cache is False
    assert config.options.pass_rate == 0.9


def test_an_option_that_is_no_number_is_a_problem_at_its_place(tmp_path: Path) -> None:
    """With the value that was given."""
    _, findings = read(tmp_path, "evaluateOptions:\n  repeat: often\n")
    assert str(findings.problems[0]).endswith(
        "promptfooconfig.yaml:2:3: repeat is 'often', not a whole number from 1 to 1,000,000"
    )


def test_secrets_in_addresses_and_under_other_names_do_not_leave_the_config() -> None:
    """Users, passwords and keys in an address; what is called a pass or an auth."""
    value = {
        "apiBaseUrl": "https://me:hush@host/v1?api-version=2&api-key=hush#x",
        "env": {"DB_PASS": "hush", "DATABASE_PWD": "hush"},
        "headers": {"X-Custom-Auth": "hush"},
        "text": "AIza" + "hush" * 9,
    }
    assert redacted(value) == {
        "apiBaseUrl": "https://[redacted]@host/v1?api-version=2&[redacted]#x",
        "env": {"DB_PASS": "[redacted]", "DATABASE_PWD": "[redacted]"},
        "headers": {"X-Custom-Auth": "[redacted]"},
        "text": "[redacted]",
    }
    said = "Is the password: yes? Mail me@home.org, see https://a.org/@me:x and task-12345678901234567890."
    assert redacted(said) == said


def test_secrets_do_not_leave_the_config() -> None:
    """By the name of the key, and by the look of the value."""
    value = {
        "config": {
            "apiKey": "abc",
            "temperature": 0,
            "headers": {"x-api-key": "abc", "Authorization": "Bearer abc"},
        },
        "env": {"OPENAI_API_KEY": "abc", "MODEL": "gpt"},
        "args": ["--key", "sk-" + "abc" * 8],
    }
    kept = redacted(value)
    assert "abc" not in str(kept)
    assert kept == {
        "config": {
            "apiKey": "[redacted]",
            "temperature": 0,
            "headers": {"x-api-key": "[redacted]", "Authorization": "[redacted]"},
        },
        "env": {"OPENAI_API_KEY": "[redacted]", "MODEL": "gpt"},
        "args": ["--key", "[redacted]"],
    }


def test_references_lead_into_other_files_and_keys_beside_them_go_over(tmp_path: Path) -> None:
    """One that leads nowhere is left as it is, as the references of a schema have to be."""
    (tmp_path / "shared.yaml").write_text("has: {type: contains, value: a}\n")
    config, findings = read(
        tmp_path,
        "defaultTest:\n  assert:\n    - $ref: 'shared.yaml#/has'\n      value: b\n"
        "    - type: is-json\n      value: {$ref: '#/definitions/x'}\n",
    )
    assert config is not None
    assert config.value["defaultTest"]["assert"] == [
        {"type": "contains", "value": "b"},
        {"type": "is-json", "value": {"$ref": "#/definitions/x"}},
    ]
    assert "is left as it is" in findings.hints[0].what
    assert config.files == {tmp_path / "shared.yaml"}


def test_references_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    """They are nobody's meaning, and no reason to hang."""
    config, _ = read(tmp_path, "a: {$ref: '#/b'}\nb: {$ref: '#/a'}\n")
    assert config is not None


def test_command_line_options_go_under_the_command_line(tmp_path: Path) -> None:
    """They choose tests and change the defaults, unless the command line says something else."""
    (tmp_path / "my.env").write_text("FROM_FILE=1\n")
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(
        "prompts: ['{{env.FROM_FILE}}']\ncommandLineOptions:\n  filterFirstN: 2\n  filterRange: '1:'\n"
        "  envPath: my.env\n  promptPrefix: P\n  var: {a: x, b: y}\n  repeat: 3\n  nonsense: 1\n"
    )
    findings = Findings()
    config = read_config(
        [path],
        Chosen(Selection(first=5), Overrides(variables={"a": "cli"}), env={}),
        findings,
    )
    assert config is not None
    assert not findings.problems
    assert "unknown option 'nonsense'" in findings.hints[0].what
    assert (config.selection.first, config.selection.range) == (5, (1, None))
    assert config.overrides.variables == {"a": "cli", "b": "y"}
    assert config.overrides.prefix == "P"
    assert config.repeats == 3
    assert config.value["prompts"] == ["1"]
    assert config.env == {"FROM_FILE": "1"}


def test_evaluate_options_may_say_which_tests_are_run(tmp_path: Path) -> None:
    """Below what the command line says, and `commandLineOptions`."""
    options = "evaluateOptions: {filterRange: '1:4'}\n"
    for more, taken in (("", (1, 4)), ("commandLineOptions: {filterRange: '2:3'}\n", (2, 3))):
        config, _ = read(tmp_path, options + more)
        assert config is not None
        assert config.selection.range == taken
    _, findings = read(tmp_path, "evaluateOptions: {filterRange: five}\n")
    assert "'five' is not a range" in findings.problems[0].what


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (
            "{filterFirstN: many}",
            "filterFirstN is 'many', not a whole number from 1 to 1,000,000,000",
        ),
        ("{var: {z: 1}}", "var.z is 1, not text"),
        ("{description: [a]}", "description is ['a'], not text"),
        ("{filterRange: '5:2'}", "the range '5:2' holds nothing"),
        ("{filterRange: five}", "'five' is not a range"),
    ],
)
def test_command_line_options_of_another_kind_are_problems(
    tmp_path: Path, options: str, what: str
) -> None:
    """Unlike unknown ones, which promptfoo tolerates."""
    _, findings = read(tmp_path, f"commandLineOptions: {options}\n")
    assert [problem.what for problem in findings.problems] == [what]


@pytest.mark.parametrize(("written", "fresh"), [("true", True), ("false", False)])
def test_no_cache_says_what_its_value_says(tmp_path: Path, written: str, fresh: bool) -> None:
    """`noCache: false` is no wish for fresh answers."""
    config, _ = read(tmp_path, f"commandLineOptions: {{noCache: {written}}}\n")
    assert config is not None
    assert (config.options.cache is False) == fresh


def test_a_delay_of_nothing_goes_over_that_of_a_file() -> None:
    """`--delay 0` is a delay that somebody asked for."""
    assert Overrides(delay_ms=0).over(Overrides(delay_ms=500)).delay_ms == 0
    assert Overrides().over(Overrides(delay_ms=500)).delay_ms == 500


def test_a_config_is_whole_when_it_is_made(tmp_path: Path) -> None:
    """All that decides it is given at once, and nothing writes to it later."""
    (tmp_path / "promptfooconfig.yaml").write_text("prompts: [a]\nevaluateOptions: {repeat: 2}\n")
    chosen = Chosen(
        Selection(first=1), Overrides(delay_ms=500), strict_prompts=True, env={"A": "1"}
    )
    config = read_config([tmp_path], chosen, Findings())
    assert config is not None
    assert (config.selection, config.overrides) == (chosen.selection, chosen.overrides)
    assert (config.strict_prompts, config.repeats, config.options.delay_s) == (True, 2, 0.5)
    for name in (field.name for field in fields(Config)):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(config, name, None)


def test_what_is_all_on_the_command_line_goes_by_the_same_rules_as_a_config(tmp_path: Path) -> None:
    """`--delay` and the pass rate of the environment, too."""
    over = Overrides(prompts=("Hi {{env.WHO}}",), providers=("echo",), delay_ms=250)
    env = {"WHO": "Ann", "PROMPTFOO_PASS_RATE_THRESHOLD": "80"}
    config = read_config([tmp_path], Chosen(overrides=over, env=env), Findings())
    assert config is not None
    assert config.value == {"prompts": ["Hi Ann"], "providers": ["echo"]}
    assert (config.options.delay_s, config.options.pass_rate) == (0.25, 0.8)


def test_several_configs_are_put_together(tmp_path: Path) -> None:
    """Lists follow one another, later keys go over earlier ones, and each part is placed in its own file."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "p.txt").write_text("x")
    (tmp_path / "a.yaml").write_text(
        "description: A\nproviders: [echo]\nprompts: [one]\nenv: {X: '1', Y: '1'}\nsharing: false\n"
        "defaultTest: {vars: {a: 1}, assert: [{type: is-json}], threshold: 0.1}\ntests: [{vars: {n: 1}}]\n"
    )
    (tmp_path / "sub" / "b.yaml").write_text(
        "description: B\ntargets: [echo, 'python:m.py']\nprompts: {'file://p.txt': P}\nenv: {X: '2'}\nsharing: true\n"
        "defaultTest: {vars: {b: 2}, assert: [{type: contains, value: z}], threshold: 0.2}\ntests:\n  - vars: {n: 2}\n"
    )
    findings = Findings()
    config = read_config(
        [tmp_path / "a.yaml", tmp_path / "sub" / "b.yaml"], Chosen(env={}), findings
    )
    assert config is not None
    value = config.value
    assert value["description"] == "A, B"
    assert value["providers"] == ["echo", "python:sub/m.py"]
    assert value["prompts"] == ["one", {"raw": "file://sub/p.txt", "label": "P"}]
    assert (config.env["X"], config.env["Y"]) == ("2", "1")
    assert value["sharing"] is False
    assert value["defaultTest"] == {
        "vars": {"a": 1, "b": 2},
        "assert": [{"type": "is-json"}, {"type": "contains", "value": "z"}],
        "threshold": 0.2,
    }
    assert [test["vars"]["n"] for test in value["tests"]] == [1, 2]
    place = config.at("tests", 1, "vars").resolved()
    assert (place.file.name, place.line) == ("b.yaml", 8)


@pytest.mark.parametrize("words", [("providers", "targets"), ("targets", "providers")])
def test_models_of_two_configs_are_one_list_whichever_word_each_uses(
    tmp_path: Path, words: tuple[str, str]
) -> None:
    """`targets` is another word for `providers`; the models of the first file come first."""
    for name, word, model in (("a", words[0], "echo"), ("b", words[1], "python:m.py")):
        (tmp_path / f"{name}.yaml").write_text(f"prompts: [p]\n{word}: [{model}]\n")
    findings = Findings()
    config = read_config([tmp_path / "a.yaml", tmp_path / "b.yaml"], Chosen(env={}), findings)
    assert config is not None
    assert (findings.problems, config.value[words[0]]) == ([], ["echo", "python:m.py"])


def test_patterns_stand_for_the_configs_that_they_match(tmp_path: Path) -> None:
    """In the order of their names; one that matches none is a problem."""
    for name in "ba":
        (tmp_path / f"{name}.yaml").write_text("x: 1")
    findings = Findings()
    found = find_configs([tmp_path / "*.yaml", tmp_path / "a.yaml", tmp_path / "*.json"], findings)
    assert [path.name for path in found] == ["a.yaml", "b.yaml"]
    assert [problem.what for problem in findings.problems] == ["matches no file"]


def test_files_of_the_environment_are_read_as_shells_would(tmp_path: Path) -> None:
    """Comments, quotes, `export`; nothing in a value is looked up."""
    path = tmp_path / ".env"
    path.write_text(
        "# a comment\nA=1 # one\nexport B='two # 2'\nC=\"l1\\nl2\"\nD=a=b\nE=\nF=$A\nG: colon\n no line\n"
    )
    assert env_file(path, Findings()) == {
        "A": "1",
        "B": "two # 2",
        "C": "l1\nl2",
        "D": "a=b",
        "E": "",
        "F": "$A",
        "G": "colon",
    }


def test_no_key_that_promptfoo_documents_or_that_another_part_refers_to_is_called_unknown(
    tmp_path: Path,
) -> None:
    """The schema of promptfoo 0.123; `$ref` and YAML's own aliases; what nothing refers to is named."""
    documented = (
        "tags: {}\ndescription: d\nproviders: [echo]\nprompts: [p]\ntests: []\nscenarios: []\ndefaultTest: {}\n"
        "outputPath: []\nsharing: false\nnunjucksFilters: {}\nenv: {}\nderivedMetrics: []\nextensions: []\n"
        "metadata: {}\nredteam: {}\nwriteLatestResults: true\ntracing: {}\nevaluateOptions: {}\n"
        "commandLineOptions: {}\n"
    )
    _, findings = read(tmp_path, documented)
    assert [str(hint) for hint in findings.hints if "unknown" in str(hint)] == []
    shared = (
        "assertionTemplates: {one: {type: equals}}\nsharedAsserts: {two: {type: equals}}\n"
        "x-base: &base {threshold: 1}\nx-list: [&item {vars: {}}]\nx-idle: &idle {a: 1}\nspare: {b: 1}\n"
        "tests: [{assert: [{$ref: '#/sharedAsserts/two'}]}, {<<: *base}, *item]\n"
    )
    _, findings = read(tmp_path, shared)
    assert [hint.what for hint in findings.hints] == [
        "unknown key 'x-idle' is not used",
        "unknown key 'spare' is not used",
    ]


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        ("in {{ env.PLACE | upper }}!", "in ROME!"),
        ("{{ env['PLACE'] | replace('r', \"R\") }}", "Rome"),
        ("{{ env.ABSENT | default('none') }} {{ env.PLACE }}", "none rome"),
        ("{{ env.PLACE + '/x' }} {{ 'at ' + env.PLACE }}", "rome/x at rome"),
        (
            "{{ env.ABSENT or 'none' }} {{ env.ABSENT }}",
            "{{ env.ABSENT or 'none' }} {{ env.ABSENT }}",
        ),
        ("{{ name | default(env.PLACE) }}", "{{ name | default(env.PLACE) }}"),
        ("{{ envelope.x | upper }} {{ 'env.' }}", "{{ envelope.x | upper }} {{ 'env.' }}"),
        ("{{ env.PLACE | nope }} {{ env.PLACE | }}", "{{ env.PLACE | nope }} {{ env.PLACE | }}"),
        ("{{ env.OPENAI_API_KEY | default('x') }}", "{{ env.OPENAI_API_KEY | default('x') }}"),
        ("{{ env.PLACE | default(env.HOME) }}", "rome"),
    ],
)
def test_tags_of_the_environment_are_filled_in_with_their_filters(written, filled, monkeypatch):
    """What the process has beside it is not seen, nor what looks like a secret; other tags are left for later."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-process")
    monkeypatch.setenv("ABSENT", "of the process")
    assert env_filled({"a": [written]}, {"PLACE": "rome"}) == {"a": [filled]}
