"""promptfoo's configs, as they are read here."""

from __future__ import annotations

from evenhand.doors.promptfoo.checking import KEYS as TEST_KEYS
from evenhand.doors.promptfoo.checking import OPTIONS as TEST_OPTIONS
from evenhand.doors.promptfoo.config import KEYS, OPTIONS
from evenhand.doors.promptfoo.models import KEYS as PROVIDER_KEYS
from evenhand.doors.promptfoo.overrides import KEYS as LINE_KEYS
from evenhand.doors.promptfoo.own_users import KEYS as USER_KEYS
from evenhand.doors.promptfoo.own_users import OWN_USER
from evenhand.doors.promptfoo.prompt_files import KEYS as PROMPT_KEYS
from evenhand.doors.schemas.assertion import assertion, assertions
from evenhand.doors.schemas.parts import (
    ANY,
    NUMBER,
    REFERENCE,
    SWITCH,
    TABLE,
    TEXT,
    TEXTS,
    Part,
    defined,
    document,
    either,
    one_or_more,
    table,
)


def schema() -> Part:
    """Of a promptfooconfig.yaml."""
    return document(
        "promptfoo config, as Evenhand reads it",
        {**_config(), "additionalProperties": {"type": "object"}},  # what `$ref` refers to
        assertion=assertion(),
        options=_options(),
        prompt=_prompt(),
        provider=_provider(),
        test=_test(),
    )


def _config() -> Part:
    tests = one_or_more(either(TEXT, defined("test"), _source(), REFERENCE))
    providers = one_or_more(either(TEXT, defined("provider"), _by_id(), REFERENCE))
    return table(
        KEYS,
        {
            "$schema": (TEXT, "This schema's address, for editors."),
            "description": (TEXT, "What this evaluation is about."),
            "tags": (TABLE, "Names and values to find the run by."),
            "prompts": (
                either(one_or_more(either(TEXT, defined("prompt"))), TABLE),
                "Prompts: texts, files (file://prompt.txt), or functions (prompt.py:name).",
            ),
            "providers": (providers, "The models: ids such as openai:gpt-5-mini."),
            "targets": (providers, "The same as providers."),
            "tests": (tests, "The test cases, or files of them (tests.csv)."),
            "scenarios": (
                {"type": "array", "items": either(TEXT, TABLE)},
                "Tests for each of several sets of variables: {config, tests}.",
            ),
            "defaultTest": (
                either(TEXT, defined("test")),
                "What every test has, unless it says otherwise.",
            ),
            "outputPath": (one_or_more(TEXT), "Also write the results to these files."),
            "assertionTemplates": (
                TABLE,
                "Assertions by name, for {$ref: '#/assertionTemplates/name'}.",
            ),
            "sharing": (ANY, "No effect: nothing is uploaded."),
            "env": (TABLE, "Environment variables for this evaluation."),
            "nunjucksFilters": (TABLE, "Filters for templates: name and JavaScript file."),
            "derivedMetrics": (
                {"type": "array", "items": TABLE},
                "Metrics computed from others: {name, value}.",
            ),
            "extensions": (TEXTS, "Hooks: file://hooks.py:function."),
            "metadata": (TABLE, "Kept with the run."),
            "evaluateOptions": (_evaluate_options(), "How the evaluation is run."),
            "commandLineOptions": (_line_options(), "Options of the command line, as defaults."),
            "tracing": (ANY, "No effect yet."),
            "redteam": (ANY, "No effect: only the evaluation is run."),
            "writeLatestResults": (SWITCH, "Whether the run is kept."),
            "promptCompat": (
                TEXT,
                "promptfoo-strict: call prompt functions as promptfoo does.",
            ),
            "evenhand": (ANY, "Settings of Evenhand's own."),
        },
    )


def _test() -> Part:
    return table(
        TEST_KEYS,
        {
            "description": (TEXT, "The test in a line."),
            "vars": (either(TABLE, TEXT, TEXTS), "The variables that fill in the prompt."),
            "assert": (assertions(), "What is expected of the output."),
            "options": (defined("options"), "Settings of this test."),
            "threshold": (
                NUMBER,
                "What the test's score must reach; by default all assertions must pass.",
            ),
            "metadata": (TABLE, "Names and values to filter by."),
            "provider": (
                _user(),
                "The model that this test asks, or who talks with the models: evenhand:user.",
            ),
            "providers": (one_or_more(TEXT), "Only for these providers."),
            "prompts": (one_or_more(TEXT), "Only for these prompts."),
            "providerOutput": (ANY, "The answer, where it is known already: nobody is asked."),
            "assertScoringFunction": (TEXT, "Computes the test's score: file://score.py:function."),
        },
    )


def _options() -> Part:
    """What is not the test's own goes to the model, so any other key is taken."""
    known = table(
        TEST_OPTIONS,
        {
            "prefix": (TEXT, "Before the prompt."),
            "suffix": (TEXT, "After the prompt."),
            "transform": (TEXT, "Changes the output: code, or file://transform.py."),
            "postprocess": (TEXT, "The former name of transform."),
            "transformVars": (TEXT, "Changes the variables before the prompt is filled in."),
            "storeOutputAs": (TEXT, "Later tests have the output under this name."),
            "rubricPrompt": (ANY, "Your own prompt for judges."),
            "provider": (ANY, "Who judges."),
            "factuality": (TABLE, "What each category of factuality scores."),
            "disableVarExpansion": (SWITCH, "A list is one value, and not one test for each item."),
            "disableConversationVar": (SWITCH, "No _conversation."),
            "disableDefaultAsserts": (SWITCH, "Without the assertions of defaultTest."),
            "runSerially": (SWITCH, "Nothing else runs meanwhile."),
            "repeat": (NUMBER, "How often this test is repeated."),
        },
    )
    return {**known, "additionalProperties": True}


def _provider() -> Part:
    return table(
        PROVIDER_KEYS,
        {
            "id": (TEXT, "openai:gpt-5-mini, anthropic:messages:…, file://provider.py, exec:…"),
            "label": (TEXT, "What it is called in results."),
            "config": (ANY, "Its settings: temperature, max_tokens, apiBaseUrl …"),
            "prompts": (one_or_more(TEXT), "Only these prompts, by label."),
            "transform": (TEXT, "Changes its output."),
            "delay": (NUMBER, "Milliseconds between its calls."),
            "env": (TABLE, "Environment variables for it."),
            "inputs": (TABLE, "No effect: for red teaming."),
        },
        required=["id"],
    )


def _user() -> Part:
    """Anything; an `evenhand:user` with the keys that it takes."""
    config = table(
        USER_KEYS,
        {
            "turns": (TEXTS, "A script: what the user says, turn by turn."),
            "goal": (TEXT, "What the user wants, for one that a model plays."),
            "facts": (TABLE, "What the user knows, by name."),
            "never_says": (TEXTS, "What the user must not say."),
            "persona": (TEXT, "How the user is and speaks."),
            "language": (TEXT, "The language the user speaks, as a code: de."),
            "model": (ANY, "Who plays the user; by default the judge."),
            "max_turns": (NUMBER, "How often the model answers at most."),
            "start": (ANY, "What was said before: a list of {role, content}, or a file."),
            "stateful": (
                {"type": "boolean"},
                "Send the latest message alone, once there is a session.",
            ),
        },
    )
    own = {"type": "object", "required": ["id"], "properties": {"id": {"const": OWN_USER}}}
    return {"if": own, "then": {"properties": {"config": either(config, REFERENCE)}}}


def _by_id() -> Part:
    """`openai:gpt-5-mini: {config: …}`."""
    return {"type": "object", "minProperties": 1, "maxProperties": 1, "not": {"required": ["id"]}}


def _source() -> Part:
    """A file of tests with settings, or a generator of them: `{path: file://tests.py:make, config: …}`."""
    return {"type": "object", "required": ["path"]}


def _prompt() -> Part:
    return table(
        PROMPT_KEYS,
        {
            "id": (TEXT, "The prompt's file, or its name."),
            "label": (TEXT, "What it is called in results."),
            "raw": (ANY, "The prompt's text."),
            "config": (TABLE, "Settings of the model for this prompt."),
            "display": (TEXT, "The former name of label."),
            "function": (ANY, "No effect: only in JavaScript."),
            "prefix": (TEXT, "Before the prompt."),
            "suffix": (TEXT, "After the prompt."),
        },
    )


def _evaluate_options() -> Part:
    return table(
        OPTIONS,
        {
            "cache": (SWITCH, "Answers may come from the cache."),
            "delay": (NUMBER, "Milliseconds between calls."),
            "maxConcurrency": (NUMBER, "Calls at a time."),
            "repeat": (NUMBER, "How often each test is repeated."),
            "showProgressBar": (SWITCH, "Whether progress is shown."),
            "timeoutMs": (NUMBER, "Milliseconds for one test."),
            "maxEvalTimeMs": (NUMBER, "Milliseconds for the whole evaluation."),
            "filterRange": (TEXT, "Only these tests: 0:10."),
            "generateSuggestions": (SWITCH, "No effect."),
            "suggestionsCount": (NUMBER, "No effect."),
            "eventSource": (ANY, "No effect."),
            "interactiveProviders": (SWITCH, "No effect."),
        },
    )


def _line_options() -> Part:
    return {"type": "object", "properties": {name: {} for name in sorted(LINE_KEYS)}}
