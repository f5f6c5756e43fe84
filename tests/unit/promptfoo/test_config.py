"""The top of a config: where it is found, what its keys say, and what is said of those that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.secrets import redacted
from evenhand.promptfoo.config import Config, find_config, read_config
from evenhand.promptfoo.findings import Findings


def read(folder: Path, text: str, **env: str) -> tuple[Config | None, Findings]:
    """A config with this text."""
    path = folder / "promptfooconfig.yaml"
    path.write_text(text)
    findings = Findings()
    return read_config(path, env, findings), findings


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


def test_a_javascript_config_is_named_as_not_supported(tmp_path: Path) -> None:
    """It is found, and it is said that it cannot be read."""
    (tmp_path / "promptfooconfig.ts").write_text("")
    findings = Findings()
    assert find_config(tmp_path, findings) is None
    assert "JavaScript, which is not supported yet" in findings.problems[0].what


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


def test_what_would_change_results_is_refused_and_what_would_not_is_a_hint(tmp_path: Path) -> None:
    """Filters of templates are a problem; sharing is not."""
    _, findings = read(tmp_path, "nunjucksFilters: {up: up.js}\nsharing: true\n")
    assert [problem.what for problem in findings.problems] == [
        "'nunjucksFilters' is not supported yet"
    ]
    assert "nothing is uploaded" in findings.hints[0].what


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
        "promptfooconfig.yaml:2:3: repeat is 'often', not a number"
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
